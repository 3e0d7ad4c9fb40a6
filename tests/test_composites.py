"""A program sees the same of a composite's results as of a kernel's (tests/parity asks this of every operator)."""

import contextlib

import pytest

import torchlike
from torchlike import nn, optim

pytestmark = [
    pytest.mark.usefixtures("frozen_backend", "sparing_backend"),
]


@pytest.fixture(params=["cpu", "sparing", "frozen"])
def device(request):
    return request.param


@pytest.fixture
def leaf(device):
    return torchlike.tensor([1.0, 2.0, 3.0]).to(device).requires_grad_()


@pytest.mark.parametrize("guard", [torchlike.enable_grad, torchlike.no_grad])
def test_detach_cuts_off_the_history(leaf, guard):
    with guard():
        y = leaf * 2
        cut = y.detach()
        again = cut[1:].detach()
    for each in (cut, again, leaf.detach()):
        assert not each.requires_grad
        assert each.grad_fn is None and each.is_leaf
    assert cut.detach().cpu().numpy().tolist() == [2, 4, 6]
    assert again.cpu().numpy().tolist() == [4, 6]


def test_what_was_cut_off_stays_so_when_its_source_comes_to_require_grad(device):
    x = torchlike.ones(3).to(device)
    cut = x.detach()
    x.requires_grad_()
    assert not cut.requires_grad
    assert (cut * 2).is_leaf


def test_what_was_cut_off_shares_memory_and_versions(device):
    x = torchlike.ones(3).to(device)
    cut = x.detach()
    cut.add_(1)
    assert x.tolist() == [2, 2, 2]
    assert x._version == cut._version == 1


def test_a_fresh_result_has_not_been_written_to(leaf):
    for made in (leaf.clone(), leaf.sigmoid(), leaf.detach().repeat(2), torchlike.cat([leaf, leaf]), leaf.softmax(0)):
        assert made._version == 0
        assert not made._is_view()


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda x: x.mul_(2.5), "result type Float can't be cast to the desired output type Long"),
        (lambda x: x.add_(torchlike.ones(3).to(x.device)), "result type Float can't be cast to"),
        (
            lambda x: x.add_(torchlike.ones(2, 3, dtype=torchlike.int64).to(x.device)),
            r"doesn't match the broadcast shape",
        ),
        (lambda x: x.masked_fill_(torchlike.ones(2, 3).to(x.device) > 0, 7), r"doesn't match the broadcast shape"),
    ],
)
def test_a_write_that_changes_dtype_or_shape_is_refused_and_changes_nothing(write, text, device):
    x = torchlike.tensor([1, 2, 3]).to(device)
    with pytest.raises(RuntimeError, match=text):
        write(x)
    assert (x.dtype, x.tolist(), x._version) == (torchlike.int64, [1, 2, 3], 0)


def test_a_write_keeps_the_tensors_dtype(device):
    x = torchlike.ones(3).to(device)
    row = x[:2]
    x.add_(torchlike.ones(3, dtype=torchlike.float64).to(device))
    row.mul_(torchlike.ones(2, dtype=torchlike.float64).to(device))
    assert (x.dtype, x.tolist(), row.dtype) == (torchlike.float32, [2, 2, 2], torchlike.float32)


def test_a_resize_counts_as_a_write(device):
    x = torchlike.ones(3).to(device)
    x.resize_(2)
    assert x._version == 1


@pytest.mark.parametrize("block", [contextlib.nullcontext, torchlike.pipeline])
def test_arrays_are_read_by_their_array_type_alone(device, block):
    """The sparing device's arrays have a shape, strides and a dtype of their own kind, which nothing else knows."""

    def train(device):
        torchlike.manual_seed(0)
        layer = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(device)
        optimizer = optim.Adam(layer.parameters(), lr=0.1)
        x = torchlike.rand(8, 3).to(device)
        target = torchlike.tensor([0, 1] * 4).to(device)
        losses = []
        for _ in range(3):
            with block():
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(layer(x) + x.double().sum(1, keepdim=True).float(), target)
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
        return losses, layer[0].weight.grad.tolist()

    (losses, grad), (expected, expected_grad) = train(device), train("cpu")
    assert losses == pytest.approx(expected, rel=1e-5)
    for row, expected_row in zip(grad, expected_grad, strict=True):
        assert row == pytest.approx(expected_row, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("block", [contextlib.nullcontext, torchlike.pipeline])
def test_a_gradient_is_converted_to_what_it_is_the_gradient_of(device, block):
    x = torchlike.ones(2, 3).to(device).requires_grad_()
    y = torchlike.ones(3, dtype=torchlike.float64).to(device).requires_grad_()
    with block():
        ((x * y)[:, 1:].exp().sum() + x.double().mean()).backward()
    assert (x.grad.dtype, x.grad.shape) == (torchlike.float32, (2, 3))
    assert (y.grad.dtype, y.grad.shape) == (torchlike.float64, (3,))


def test_lerp_starts_from_the_nearer_end(device):
    start, end = torchlike.tensor([0.1, 0.0, 0.0]).to(device), torchlike.tensor([0.3, float("inf"), -0.0]).to(device)
    for weight in (1.0, torchlike.tensor([1.0, 1.0, 1.5]).to(device)):
        found = start.lerp(end, weight)
        assert found[0].item() == end[0].item()
    assert found[2].item() == 0
    assert torchlike.lerp(start, end, -2.0)[1].isnan()
