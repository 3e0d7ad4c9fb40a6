"""Packed sequences and ``ctc_loss`` on the devices of array libraries: their lengths lie on the cpu, as torch has it."""

from __future__ import annotations

import contextlib

import pytest

import torchlike
from torchlike import nn


def run(device, layer, dtype=None):
    """Return a recurrent layer's results on packed sequences, and the gradient of its input."""
    torchlike.manual_seed(0)
    net, x = getattr(nn, layer)(3, 4), torchlike.randn(3, 3, 3)
    net, x = net.to(device), x.clone().to(device).requires_grad_()
    with contextlib.nullcontext() if dtype is None else torchlike.autocast(device, dtype=dtype):
        packed = nn.utils.rnn.pack_padded_sequence(x, [2, 3, 1], enforce_sorted=False)
        output, _ = net(packed)
        padded, lengths = nn.utils.rnn.pad_packed_sequence(output, total_length=4)
    assert packed.batch_sizes.is_cpu and lengths.is_cpu and lengths.tolist() == [2, 3, 1]
    assert str(padded.device) == str(packed.data.device) == device
    padded.float().square().sum().backward()
    return padded.dtype, [each.detach().float().cpu() for each in (padded, x.grad, net.weight_hh_l0.grad)]


@pytest.mark.parametrize(
    ("device", "layer", "dtype", "tolerance"),
    [
        ("strict", "LSTM", None, 1e-5),
        ("strict", "GRU", None, 1e-5),
        ("jax", "RNN", None, 1e-5),
        ("jax", "RNN", torchlike.bfloat16, 5e-2),
    ],
)
def test_layers_take_packed_sequences_with_lengths_on_the_cpu(device, layer, dtype, tolerance):
    _, wanted = run("cpu", layer)
    found_dtype, found = run(device, layer, dtype)
    assert found_dtype is (dtype or torchlike.float32)
    for one, other in zip(found, wanted, strict=True):
        assert torchlike.allclose(one, other, rtol=tolerance, atol=tolerance)


def test_lengths_on_a_device_are_refused_before_anything_is_computed():
    x = torchlike.ones(5, 2, 3, device="jax")
    with pytest.raises(RuntimeError, match="should be a 1D CPU int64 tensor, but got 1D jax Long tensor"):
        nn.utils.rnn.pack_padded_sequence(x, torchlike.tensor([5, 3], device="jax"))
    data, sizes = nn.utils.rnn.pack_padded_sequence(x, [5, 3])[:2]
    with pytest.raises(RuntimeError, match="at least two devices"):
        nn.LSTM(3, 4)(nn.utils.rnn.PackedSequence(data, sizes))


def test_the_loss_of_alignments_takes_lengths_of_the_cpu():
    torchlike.manual_seed(0)
    scores, targets, lengths = torchlike.randn(6, 2, 4), torchlike.tensor([[1, 2], [3, 1]]), torchlike.tensor([6, 5])
    made = []
    for device in ("cpu", "jax"):
        x = scores.detach().clone().to(device).requires_grad_()
        loss = nn.functional.ctc_loss(x.log_softmax(2), targets.to(device), lengths, torchlike.tensor([2, 1]))
        loss.backward()
        made.append((loss.detach().cpu(), x.grad.cpu()))
    assert all(torchlike.allclose(one, other, atol=1e-5) for one, other in zip(*made, strict=True))
