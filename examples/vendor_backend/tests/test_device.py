"""The device as its users see it; run for every build of the example that is installed (``VENDOR_DEVICES``)."""

from __future__ import annotations

import copy
import os
import pickle

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike import nn, optim

DEVICES = os.environ.get("VENDOR_DEVICES", "toy").split(",")
NAN = float("nan")


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def grid(device):
    return torchlike.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], device=device)


def put(values, device):
    return dc.ops.prims.device_put(np.array(values), device=dc.Device(device))


def test_a_factory_and_a_sum(device):
    result = torchlike.ones(2, device=device) + 1
    assert result.tolist() == [2, 2]
    assert result.device == torchlike.device(device)
    assert repr(result) == f"tensor([2., 2.], device='{device}')"


def test_its_arrays_are_its_own(device, grid):
    kind = type(grid._dispatch_data)
    assert kind.__module__ == f"{device}_backend.arrays"
    assert not isinstance(grid._dispatch_data, np.ndarray)
    assert kind is type(grid[0]._dispatch_data) is type((grid > 2)._dispatch_data)


@pytest.mark.parametrize(
    "make",
    [
        lambda **place: torchlike.zeros(2, 3, **place),
        lambda **place: torchlike.zeros(2, dtype=torchlike.uint8, **place),
        lambda **place: torchlike.ones(2, dtype=torchlike.uint8, **place),
        lambda **place: torchlike.full((2,), -1, dtype=torchlike.uint8, **place),
        lambda **place: torchlike.full((2, 2), 7, **place),
        lambda **place: torchlike.full((2,), True, **place),
        lambda **place: torchlike.arange(5, **place),
        lambda **place: torchlike.arange(1, 2, 0.25, **place),
        lambda **place: torchlike.eye(3, 2, **place),
        lambda **place: torchlike.linspace(0, 1, 5, **place),
        lambda **place: torchlike.tensor([[1, 2], [3, 4]], **place),
        lambda **place: torchlike.empty(2, 3, **place).zero_(),
        lambda **place: torchlike.zeros(0, 3, **place),
    ],
)
def test_factories_give_what_they_give_on_the_cpu(make, device):
    made, expected = make(device=device), make()
    assert made.device.type == device
    assert (made.dtype, made.shape, made.tolist()) == (expected.dtype, expected.shape, expected.tolist())


def test_random_numbers_come_from_a_stream_of_the_devices_own(device):
    torchlike.manual_seed(3)
    expected = [torchlike.rand(3).tolist(), torchlike.randn(2, 2).tolist(), torchlike.randint(9, (4,)).tolist()]
    torchlike.manual_seed(3)
    drawn = [torchlike.rand(3, device=device), torchlike.randn(2, 2, device=device)]
    drawn.append(torchlike.randint(9, (4,), device=device))
    assert [tensor.tolist() for tensor in drawn] == expected
    generator = torchlike.Generator(device).manual_seed(5)
    first = torchlike.rand(3, device=device, generator=generator).tolist()
    state = generator.get_state()
    second = torchlike.rand(3, device=device, generator=generator).tolist()
    generator.set_state(state)
    assert torchlike.rand(3, device=device, generator=generator).tolist() == second != first
    assert generator.manual_seed(5) is generator
    assert torchlike.rand(3, device=device, generator=generator).tolist() == first


UNARY = [
    lambda x: -x,
    lambda x: x.abs(),
    lambda x: x.relu(),
    lambda x: x.sigmoid(),
    lambda x: x.exp(),
    lambda x: (x + 3).log(),
    lambda x: (x + 3).sqrt(),
    lambda x: x**2,
    lambda x: x + 1,
    lambda x: 2 - x,
    lambda x: 2 / x,
    lambda x: x / 2,
    lambda x: x.add(x, alpha=3),
    lambda x: x.sign(),
    lambda x: x.clamp(-1, 1),
    lambda x: x.isnan(),
    lambda x: x.to(torchlike.float64),
    lambda x: x > 0,
    lambda x: x >= 1,
    lambda x: x < x.T.contiguous().view(2, 3),
    lambda x: x <= 1,
    lambda x: x == 1,
    lambda x: x != x,  # nan is found by comparing it with itself
    lambda x: torchlike.maximum(x, x.flatten()[:3]),
    lambda x: torchlike.minimum(x.flatten()[:3], x),
    lambda x: torchlike.logical_and(x, x > 0),
    lambda x: torchlike.logical_or(x, x > 0),
    lambda x: torchlike.logical_xor(x, x > 0),
    lambda x: torchlike.where(x > 0, x, 7),
    lambda x: x.masked_fill(x > 0, 9),
    lambda x: x.sum(),
    lambda x: x.sum(1, keepdim=True),
    lambda x: x.mean(0),
    lambda x: x.amax(),
    lambda x: x.amin(1),
    lambda x: x.argmax(1),
    lambda x: x.argmin(),
    lambda x: x.max(1).values,
    lambda x: x.min(0).indices,
    lambda x: x.var(),
    lambda x: x.any(),
    lambda x: x.all(1),
    lambda x: x.softmax(1),
    lambda x: x.log_softmax(0),
    lambda x: x @ x.T,
    lambda x: x.T @ x[:, 0],
    lambda x: torchlike.bmm(x.expand(2, 2, 3), x.T.expand(2, 3, 2)),
    lambda x: x[0],
    lambda x: x[:, 1:],
    lambda x: x[..., None, 0],
    lambda x: x.T,
    lambda x: x.reshape(3, 2),
    lambda x: x.unbind(1)[2],
    lambda x: x.repeat(2, 1),
    lambda x: torchlike.cat([x, x[:1]]),
    lambda x: torchlike.cat([x, x > 0], 1),
    lambda x: torchlike.stack([x, x], 1),
    torchlike.tril,
    torchlike.zeros_like,
    lambda x: torchlike.select_scatter(x, torchlike.ones(3).to(x.device), 0, 1),
    lambda x: x + torchlike.tensor(2.0),
]


@pytest.mark.parametrize("function", UNARY)
@pytest.mark.parametrize("values", [[[0.5, -1.0, 1.0], [2.0, -0.5, 1.0]], [[1.0, NAN, -1.0], [NAN, -0.0, 2.0]]])
def test_operators_give_what_they_give_on_the_cpu(function, values, device):
    result, expected = function(torchlike.tensor(values, device=device)), function(torchlike.tensor(values))
    assert result.device.type == device
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(result.cpu().numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [torchlike.int64, torchlike.uint8, torchlike.bool])
def test_integers_and_truth_values_are_reduced_and_compared(dtype, device):
    values = torchlike.tensor([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    here = values.to(device)
    for function in (lambda x: x.sum(0), lambda x: x.amin(0), lambda x: x.amax(1), lambda x: x == 1, lambda x: x + 2):
        assert function(here).tolist() == function(values).tolist()
        assert function(here).dtype == function(values).dtype


def test_values_come_to_the_device_as_they_lie_on_the_host(grid, device):
    for host in (grid.cpu().t(), grid.cpu()[:, ::2], grid.cpu().expand(2, 2, 3)):
        there = host.to(device)
        expected = host.clone() if dc.has_strides(there) else host.contiguous()
        assert (there.tolist(), there.stride()) == (host.tolist(), expected.stride())


def test_values_leave_the_device_as_python_numbers_and_through_the_host(grid):
    assert grid.sum().item() == 15
    assert bool(grid.any())
    assert float(grid[1, 2]) == 5
    assert grid.cpu().numpy().tolist() == grid.tolist()
    with pytest.raises(TypeError, match=r"can't convert \w+ device type tensor to numpy"):
        grid.numpy()


def test_views_share_storage(grid):
    row, column, flat = grid[1], grid[:, 0], grid.view(6)
    grid.add_(10)
    assert row.tolist() == [13, 14, 15]
    column.mul_(2)
    assert flat.tolist() == [20, 11, 12, 26, 14, 15]
    grid.T[0] = 1
    grid[0, 1:] = torchlike.tensor([5.0, 6.0])
    assert grid.tolist() == [[1, 5, 6], [1, 14, 15]]
    assert grid._version == row._version == 4


def test_in_place_and_out_come_from_the_functional_operators(grid, device):
    assert grid.sub_(1).relu_() is grid
    assert grid.tolist() == [[0, 0, 1], [2, 3, 4]]
    out = torchlike.empty(0, device=device)
    assert torchlike.mul(grid, grid, out=out) is out
    assert out.tolist() == [[0, 0, 1], [4, 9, 16]]
    with pytest.raises(RuntimeError):
        grid.add_(torchlike.ones(5, device=device))
    assert grid.resize_(4).tolist() == [0, 0, 1, 2]


def test_a_factory_writes_to_out(device):
    out = torchlike.empty(3, device=device)
    assert torchlike.ones(3, out=out) is out
    assert out.tolist() == [1, 1, 1]


def test_gradients_flow(device):
    x = torchlike.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
    (x @ x).relu().sum().backward()
    assert x.grad.device.type == device
    assert x.grad.tolist() == [[7, 11], [9, 13]]
    y = torchlike.ones(3, requires_grad=True)
    (y.to(device) * 2).exp().sum().backward()
    assert y.grad.device.type == "cpu"


def test_gradients_flow_through_views_and_writes(device):
    x = torchlike.ones(3, device=device, requires_grad=True)
    base = torchlike.zeros(2, 3, device=device)
    base[1].add_(x).mul_(2)
    (base * base)[:, 1:].sum().backward()
    assert x.grad.tolist() == [0, 8, 8]


def test_detach_cuts_off_the_history(grid):
    y = grid.requires_grad_() * 2
    cut = y.detach()
    assert not cut.requires_grad and cut.is_leaf
    assert cut.cpu().numpy().tolist() == [[0, 2, 4], [6, 8, 10]]
    with torchlike.no_grad():
        assert not y.detach().requires_grad


@pytest.mark.parametrize(
    "use",
    [
        lambda place: torchlike.ones(2, device=place),
        lambda place: torchlike.ones(2).to(place),
        lambda place: torchlike.tensor([1.0], device=place),
        lambda place: torchlike.ones(2, device=place.type).to(place),
        lambda place: torchlike.ones(2, device=place.type).new_empty(2, device=place),
        lambda place: torchlike.zeros_like(torchlike.ones(2, device=place.type), device=place),
        lambda place: nn.Linear(2, 2).to(place),
    ],
)
def test_an_index_out_of_range_is_refused(use, device):
    assert use(torchlike.device(device, 0)) is not None
    with pytest.raises(dc.BackendUnavailableError) as caught:
        use(torchlike.device(device, 1))
    assert f"There is no device '{device}:1': of the devices of {device}-backend 0.1.0 there is one" in str(
        caught.value
    )


def test_a_layer_that_is_made_on_the_device_trains_there(device):
    torchlike.manual_seed(0)
    layer = nn.Linear(3, 1, device=device)
    x = torchlike.rand(32, 3, device=device)
    target = x.sum(1, keepdim=True)
    optimizer = optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(layer(x), target)
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-3


def test_tensors_are_copied_and_pickled_on_their_device(grid, device):
    for other in (copy.deepcopy(grid), pickle.loads(pickle.dumps(grid)), grid.clone()):
        assert other.device.type == device
        assert other.tolist() == grid.tolist()
        other.zero_()
        assert grid.sum().item() == 15


def test_raw_arrays_go_through_the_same_operators(device):
    array = put([1.0, 4.0], device)
    result = dc.ops.aten.sub(dc.ops.aten.sqrt(array), array)
    assert type(result) is type(array)
    assert (dc.shape(result), dc.device(result)) == ((2,), dc.Device(device))
    assert dc.ops.prims.device_get(result).tolist() == [0, -2]
    assert dc.ops.prims.device_get(dc.ops.aten.cat([array, array])).tolist() == [1, 4, 1, 4]
    ones = dc.ops.aten.eye(2, device=dc.Device(device))
    assert dc.ops.prims.device_get(ones).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("tanh", lambda x: x.tanh()),
        ("cumsum", lambda x: x.cumsum(0)),
        ("sort.stable", torchlike.sort),
        ("index.Tensor", lambda x: x[x > 0]),
        ("erf", nn.functional.gelu),
        ("pow.Tensor_Tensor", lambda x: x**x),
    ],
)
def test_an_operator_that_nothing_serves_fails_by_name(name, call, grid, device):
    with pytest.raises(dc.NoKernelError) as caught:
        call(grid)
    text = str(caught.value)
    key = dc.device_key(device)
    assert text.startswith(f"aten::{name}: no kernel for {key.label}, the highest key of DispatchKeySet(")
    assert f"Hint: the backend for device '{device}' does not implement this operator" in text


@pytest.mark.parametrize("other", ["cpu", *DEVICES])
def test_two_devices_in_one_call_are_refused_by_name(other, grid, device):
    if other == device:
        assert (grid + torchlike.ones(3, device=other)).device.type == device
        return
    with pytest.raises(dc.DeviceMismatchError) as caught:
        grid + torchlike.ones(3, device=other)
    assert f"'self' on {device}, 'other' on {other}" in str(caught.value)
    with pytest.raises(dc.DeviceMismatchError) as caught:
        dc.ops.aten.add(put([1.0], device), put([1.0], other))
    assert f"'self' on {device}, 'other' on {other}" in str(caught.value)
    assert grid.to(other).tolist() == grid.tolist()


def test_the_profiler_shows_the_key_by_the_devices_name(grid, device):
    with dc.profile() as profiled:
        grid.exp()
    (row,) = [row for row in profiled.key_averages() if row.name == "aten::exp"]
    assert row.keys == {dc.device_key(device).label}
