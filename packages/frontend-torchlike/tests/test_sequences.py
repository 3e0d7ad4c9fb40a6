"""Sequences: recurrent layers, packed sequences, attention and bags of embeddings against NumPy and algebra."""

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.decompositions import EXPLICIT
from torchlike import nn
from torchlike.nn import functional as F


def draw(*shape):
    return torchlike.randn(*shape, dtype=torchlike.float64)


def close(found, wanted):
    np.testing.assert_allclose(found.detach().numpy(), np.asarray(wanted), rtol=1e-10, atol=1e-12)


def test_an_lstm_is_its_cell_step_by_step():
    layer, cell = nn.LSTM(3, 4).double(), nn.LSTMCell(3, 4).double()
    cell.load_state_dict({name: getattr(layer, f"{name}_l0") for name in cell.state_dict()})
    x = draw(5, 2, 3)
    output, (hidden, last) = layer(x)
    state = None
    for step, each in enumerate(x):
        state = cell(each, state)
        close(output[step], state[0].detach().numpy())
    close(hidden[0], state[0].detach().numpy())
    close(last[0], state[1].detach().numpy())


def test_a_gru_computes_its_formula():
    cell = nn.GRUCell(2, 3).double()
    x, h = draw(4, 2).numpy(), draw(4, 3).numpy()
    ours, theirs = (
        given @ getattr(cell, f"weight_{name}").detach().numpy().T + getattr(cell, f"bias_{name}").detach().numpy()
        for given, name in ((x, "ih"), (h, "hh"))
    )
    gates = 1 / (1 + np.exp(-(ours + theirs)[:, :6]))
    new = np.tanh(ours[:, 6:] + gates[:, :3] * theirs[:, 6:])
    close(cell(torchlike.tensor(x), torchlike.tensor(h)), (h - new) * gates[:, 3:] + new)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_packed_sequences_give_what_each_sequence_gives_alone(kind):
    layer = kind(3, 4, num_layers=2, bidirectional=True).double()
    parts = [draw(length, 3) for length in (2, 5, 1)]
    packed = nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)
    outputs = nn.utils.rnn.unpack_sequence(layer(packed)[0])
    for part, output in zip(parts, outputs, strict=True):
        close(output, layer(part)[0].detach().numpy())


def test_packing_and_padding_are_inverse():
    padded, lengths = draw(4, 3, 2), torchlike.tensor([2, 4, 1])
    packed = nn.utils.rnn.pack_padded_sequence(padded, lengths, enforce_sorted=False)
    found, counts = nn.utils.rnn.pad_packed_sequence(packed, padding_value=-1.0)
    assert counts.tolist() == lengths.tolist()
    for lane, length in enumerate(lengths.tolist()):
        close(found[:length, lane], padded[:length, lane].numpy())
        assert (found[length:, lane] == -1).all()


def test_attention_averages_the_values_that_are_shown():
    q, v = draw(1, 2, 3, 4), draw(1, 2, 3, 4)
    only_first = torchlike.tensor([[True, False, False]] * 3)
    close(F.scaled_dot_product_attention(q, q, v, only_first), v[:, :, :1].expand(1, 2, 3, 4).numpy())
    nothing = torchlike.zeros(3, 3, dtype=torchlike.bool)
    assert not F.scaled_dot_product_attention(q, q, v, nothing).any()
    close(F.scaled_dot_product_attention(q * 0, q, v), v.mean(2, keepdim=True).expand(1, 2, 3, 4).numpy())
    causal = F.scaled_dot_product_attention(q, q, v, is_causal=True)
    close(causal[:, :, 0], v[:, :, 0].numpy())


def test_bags_of_embeddings_reduce_their_rows():
    weight = draw(5, 3)
    table, indices, offsets = weight.numpy(), torchlike.tensor([0, 2, 2, 4]), torchlike.tensor([0, 1, 1])
    for mode, reduce in (("sum", np.sum), ("mean", np.mean), ("max", np.max)):
        wanted = [reduce(table[[0]], 0), np.zeros(3), reduce(table[[2, 2, 4]], 0)]
        close(F.embedding_bag(indices, weight, offsets, mode=mode), wanted)
    layer = nn.Embedding(3, 2, max_norm=1.0)
    assert layer(torchlike.tensor([0, 1, 2])).norm(dim=1).max().item() <= 1 + 1e-5


def test_the_loss_of_sequences_adds_up_all_ways():
    log_probs = draw(3, 1, 3).log_softmax(2)
    chances = np.exp(log_probs.numpy()[:, 0])
    ways = [
        path
        for path in np.ndindex(3, 3, 3)
        if [a for a, b in zip(path, (0, *path), strict=False) if a and a != b] == [1]
    ]
    total = sum(np.prod([chances[step, label] for step, label in enumerate(path)]) for path in ways)
    loss = F.ctc_loss(log_probs, torchlike.tensor([[1]]), [3], [1], reduction="sum")
    close(loss, -np.log(total))


def test_lazy_parameters_have_no_shape_and_no_elements():
    weight = nn.UninitializedParameter(dtype=torchlike.float64)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        weight.shape  # noqa: B018  # reading is the test
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        weight + 1  # adding is the test
    weight.materialize((2, 3))
    assert type(weight) is nn.Parameter and weight.shape == (2, 3) and weight.dtype == torchlike.float64


def test_hooks_around_backward_see_and_change_gradients():
    layer, seen = nn.Linear(2, 2, bias=False), []
    layer.register_full_backward_pre_hook(lambda module, grads: (2 * grads[0],))
    handle = layer.register_full_backward_hook(lambda module, inputs, outputs: seen.append((inputs, outputs)))
    x = torchlike.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    ((inputs, outputs),) = seen
    assert outputs[0].tolist() == [[2.0, 2.0]] and inputs[0].tolist() == x.grad.tolist()
    handle.remove()
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_backward_hook(print)


def test_hooks_around_forward_run_in_order_and_after_errors():
    class Failing(nn.Module):
        def forward(self, x, scale=1):
            if scale < 0:
                raise ValueError("negative")
            return x * scale

    module, seen = Failing(), []
    module.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"scale": kwargs["scale"] * 2}), with_kwargs=True
    )
    module.register_forward_hook(lambda module, args, result: seen.append("second"))
    module.register_forward_hook(lambda module, args, result: seen.append("first"), prepend=True)
    module.register_forward_hook(
        lambda module, args, kwargs, result: seen.append(result), with_kwargs=True, always_call=True
    )
    with nn.modules.module.register_module_forward_hook(lambda module, args, result: seen.append("all")):
        assert module(torchlike.tensor(3.0), scale=2).item() == 12
    assert seen[:3] == ["all", "first", "second"] and seen[3].item() == 12
    with pytest.raises(ValueError, match="negative"):
        module(torchlike.tensor(3.0), scale=-1)
    assert seen[4:] == [None]


def test_parameter_containers_register_their_tensors():
    held = nn.ParameterList([torchlike.ones(2), torchlike.zeros(1)])
    held += [torchlike.ones(3)]
    assert [name for name, _ in held.named_parameters()] == ["0", "1", "2"] and len(held[1:]) == 2
    by_name = nn.ParameterDict({"b": torchlike.ones(1), "a": torchlike.ones(2)})
    assert list(by_name) == ["a", "b"] and by_name.pop("a").shape == (2,)
    assert list((by_name | {"c": torchlike.ones(1)}).keys()) == ["b", "c"]
    with pytest.raises(RuntimeError, match="should not be called"):
        held()


@pytest.mark.parametrize("mode", [2, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_recurrent_layers_kernel_computes_as_simpler_operators_do(mode, reverse):
    rng = np.random.default_rng(0)
    rows = {2: 16, 3: 12}[mode]
    shapes = [(5, 2, 3), (rows, 3), (rows, 4), (rows,), (rows,), (2, 4), (2, 4)]
    tensors = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    options = (reverse, [], mode, 4, 1, True, False, False, True)
    results = dc.ops.aten.mkldnn_rnn_layer.default(*tensors, *options)
    composed = EXPLICIT["mkldnn_rnn_layer"](*tensors, *options)
    for one, other in zip(results[:2], composed[:2], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    grads = [rng.standard_normal(shape).astype(np.float32) for shape in ((5, 2, 4), (2, 4), (2, 4))]
    for given in (grads, [grads[0], None, None], [None, grads[1], None]):
        rest = (reverse, mode, 4, 1, True, True, False, [], False, results[3])
        name, args = "mkldnn_rnn_layer_backward", (*tensors, *results[:3], *given, *rest)
        for one, other in zip(getattr(dc.ops.aten, name).default(*args), EXPLICIT[name](*args), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
