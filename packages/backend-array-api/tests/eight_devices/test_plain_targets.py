"""Tensors that no program has placed: what is written to them from a mesh does not place them."""

from __future__ import annotations

import numpy as np
import pytest
from placed_writes import CAPTURED, CUT, MESH, WRITES, place, placements

import dispatch_core as dc
import torchlike as torch
from torchlike.distributed.tensor import DTensor

nn = torch.nn


def assign(x, y):
    x.data = y


def add_assign(x, y):
    x += y


#: Writes from a tensor of the same shape that lies otherwise.
MORE = {
    "data": assign,
    "+=": add_assign,
    "several": lambda x, y: torch._foreach_copy_([x], [y]),
    "out of mm": lambda x, y: torch.mm(y, y[:4], out=x),
    "out of cat": lambda x, y: torch.cat([y[:4], y[4:]], out=x),
    "index_copy_": lambda x, y: x.index_copy_(0, torch.arange(8, device="jax"), y),
    "a row": lambda x, y: x[2].copy_(y[1]),
    "where": lambda x, y: torch.where(y > 3, y, -y, out=x),
    "two outputs": lambda x, y: torch.sort(y, out=(x, torch.empty(8, 4, dtype=torch.int64, device="jax"))),
    "cumsum_": lambda x, y: x.add_(y).cumsum_(0),
    "bmm in place": lambda x, y: x.addmm_(y, y[:4]),
}
ALL = WRITES | MORE
#: Factories' draws, for which the source does not matter, are left out.
BLOCKS = [
    *((block, name) for block in ("eager", "pipeline") for name in ALL),
    *(("captured", name) for name in [*CAPTURED, *MORE] if name != "data"),
]


def run(block, write, x, y):
    if block == "eager":
        write(x, y)
    elif block == "pipeline":
        with dc.pipeline():
            write(x, y)
    else:
        captured = dc.capture(lambda x, y: (write(x, y), None)[1])
        for _ in range(4):
            x = torch.arange(32.0, device="jax").reshape(8, 4) + 0
            captured(x, y)
        assert captured.stats().replays
    return x


@pytest.mark.parametrize(("block", "name"), BLOCKS)
def test_a_plain_tensor_that_is_written_from_a_mesh_stays_plain(block, name):
    plain = torch.arange(32.0, device="jax").reshape(8, 4) + 0
    wanted, x, y = plain.clone(), plain.clone(), plain + 1
    torch.manual_seed(0)
    ALL[name](wanted, y)
    torch.manual_seed(0)
    x = run(block, ALL[name], x, place(y, MESH, *CUT))
    assert not isinstance(x, DTensor)
    assert str(x.device) == "jax"
    assert not dc.frontends.materialize(x).committed
    np.testing.assert_allclose(x.cpu(), wanted.cpu(), rtol=1e-6)
    assert placements(x + place(y, MESH, *CUT)) == CUT


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("bmm in place", "out of mm")])
def test_a_placed_tensor_stays_placed_as_it_is(name):
    plain = torch.arange(32.0, device="jax").reshape(8, 4) + 1
    x = place(plain.clone(), MESH, *CUT)
    ALL[name](x, plain)
    assert (isinstance(x, DTensor), placements(x)) == (True, CUT)


def test_gradients_and_states_of_plain_parameters_are_plain():
    net = nn.Linear(4, 2).to("jax")
    rule = torch.optim.Adam(net.parameters())
    for _ in range(2):
        rule.zero_grad()
        net(place(torch.ones(8, 4, device="jax"), MESH, *CUT)).sum().backward()
        rule.step()
    states = [each for state in rule.state.values() for each in state.values() if torch.is_tensor(each)]
    assert not any(isinstance(each, DTensor) for weight in net.parameters() for each in (weight, weight.grad, *states))


def test_a_tensor_is_not_set_to_memory_of_other_devices():
    x, y = torch.zeros(8, 4, device="jax"), place(torch.ones(8, 4, device="jax"), MESH, *CUT)
    for one, other in ((x, y), (y, x)):
        with pytest.raises(RuntimeError, match="lies on other devices"):
            one.set_(other)
    assert x.tolist() == [[0.0] * 4] * 8
