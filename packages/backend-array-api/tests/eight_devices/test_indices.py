"""Devices by their numbers: the thread's, calls of tensors on two of them, and copies from one to another."""

from __future__ import annotations

import threading

import jax
import numpy as np
import pytest
from placed_writes import CUT, MESH, place, placements

import dispatch_core as dc
import torchlike as torch

nn = torch.nn
FACTORIES = {
    "ones": lambda: torch.ones(4, device="jax"),
    "empty": lambda: torch.empty(4, device="jax"),
    "full": lambda: torch.full((4,), 2.0, device="jax"),
    "arange": lambda: torch.arange(4, device="jax"),
    "tensor": lambda: torch.tensor([1, 2], device="jax"),
    "randn": lambda: torch.randn(4, device="jax"),
    "to": lambda: torch.ones(4).to("jax"),
    "layer": lambda: nn.Linear(2, 2, device="jax").weight,
    "eye": lambda: torch.eye(3, device="jax"),
    "as_tensor": lambda: torch.as_tensor(np.ones(3), device="jax"),
}
WAYS = {
    "module's": lambda: torch.jax.device(3),
    "a string": lambda: torch.jax.device("jax:3"),
    "module by name": lambda: torch.get_device_module("jax").device(3),
    "device_of": lambda: torch.jax.device_of(torch.ones(1, device="jax:3")),
}


@pytest.fixture
def home():
    return torch.arange(4.0, device="jax") + 1


@pytest.fixture
def third():
    return torch.arange(4.0).to("jax:3")


@pytest.mark.parametrize("way", WAYS)
def test_factories_honor_the_thread_s_device(way, home):
    with WAYS[way]():
        assert torch.jax.current_device() == 3
        assert {name: str(make().device) for name, make in FACTORIES.items()} == dict.fromkeys(FACTORIES, "jax:3")
        assert str((home + home).device) == str(home.to("jax").device) == "jax"
        assert placements(place(home.reshape(2, 2), MESH["data"], CUT[0]).to("jax")) is not None
        with dc.pipeline():
            assert str((torch.ones(2, device="jax") + 1).device) == "jax:3"
    assert torch.jax.current_device() == 0
    assert str(torch.ones(2, device="jax").device) == "jax"


def test_a_device_is_set_for_this_thread(third):
    found = []
    torch.jax.set_device("jax:3")
    try:
        assert str(torch.ones(2, device="jax").device) == "jax:3"
        other = threading.Thread(target=lambda: found.append(torch.jax.current_device()))
        other.start()
        other.join()
        assert (found, torch.jax.current_device()) == ([0], 3)
        assert str((torch.ones(4, device="jax") + third).device) == "jax:3"
        with torch.jax.device(1):
            assert torch.jax.current_device() == 1
        with torch.jax.device(-1), torch.jax.device(None):
            assert torch.jax.current_device() == 3
    finally:
        torch.jax.set_device(0)
    with pytest.raises(dc.BackendUnavailableError, match="there are 8"):
        torch.jax.set_device(8)
    with pytest.raises(RuntimeError), torch.jax.device(2):
        raise RuntimeError
    assert torch.jax.current_device() == 0


MIXED = {
    "add": lambda x, y: x + y,
    "mul_": lambda x, y: x.mul_(y),
    "out": lambda x, y: torch.add(y, y, out=x),
    "cat": lambda x, y: torch.cat([x, y]),
    "where": lambda x, y: torch.where(x > 1, x, y),
    "linear": lambda x, y: nn.functional.linear(x, y[None]),
    "index": lambda x, y: x[y.long()],
    "a number": lambda x, y: x.sum() + y,
    "foreach": lambda x, y: torch._foreach_add([x], [y]),
    "layer_norm": lambda x, y: nn.functional.layer_norm(x, (4,), y),
    "equal": torch.equal,
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("first", ["jax", "jax:0", "jax:2"])
def test_tensors_of_two_devices_are_refused(name, first, third):
    x = torch.arange(4.0).to(first)
    for pair in ((x, third), (third, x)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            MIXED[name](*pair)
    with dc.pipeline(), pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        MIXED[name](x, third)
    assert (x.tolist(), third.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_the_default_device_is_the_first(home):
    first = torch.ones(4, device="jax:0")
    assert str((home + first).device) == "jax:0"
    assert (home + torch.tensor(2.0)).tolist() == [3, 4, 5, 6]  # a number of the cpu, as in torch


def test_a_number_of_the_cpu_meets_every_device(third):
    assert (third + torch.tensor(2.0)).tolist() == [2, 3, 4, 5]
    assert str((third * 2).device) == "jax:3"


@pytest.mark.parametrize("block", [False, True])
def test_copies_cross_devices_without_the_host(block, home, third, monkeypatch):
    monkeypatch.setattr("dispatch_backend_array_api.devices.jax.read", pytest.fail)
    copies = [home.clone(), third.clone(), third.to("jax:1")]
    with dc.pipeline() if block else torch.jax.device(None):
        made = [third.to("jax:5"), home.to("jax:5"), home.to("jax:5", torch.float64), third.to("jax:0")]
        copies[0].copy_(third)
        copies[1].copy_(home)
        copies[2].copy_(third.double())
        whole = place(torch.ones(8, 4, device="jax"), MESH, *CUT).to("jax:2")
    monkeypatch.undo()
    assert [str(each.device) for each in made] == ["jax:5", "jax:5", "jax:5", "jax:0"]
    assert [each.tolist() for each in made] == [[0, 1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4], [0, 1, 2, 3]]
    assert [str(each.device) for each in copies] == ["jax", "jax:3", "jax:1"]
    assert [each.tolist() for each in copies] == [[0, 1, 2, 3], [1, 2, 3, 4], [0, 1, 2, 3]]
    assert (str(whole.device), whole.sum().item()) == ("jax:2", 32)


def test_a_copy_to_another_device_has_a_gradient(home):
    home.requires_grad_()
    (home.to("jax:3") ** 2).sum().backward()
    assert (str(home.grad.device), home.grad.tolist()) == ("jax", [2, 4, 6, 8])


def test_copies_from_the_host_go_to_the_device_alone(monkeypatch):
    places, put = [], jax.device_put
    monkeypatch.setattr(jax, "device_put", lambda *args: (places.append((made := put(*args)).devices()), made)[1])
    torch.arange(4.0).to("jax:6")
    torch.tensor([1, 2], device="jax:6")
    assert places
    assert all(each == {jax.devices()[6]} for each in places)
