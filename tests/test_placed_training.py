"""Training over several processes gives what one device gives: data-parallel and tensor-parallel, SGD and Adam."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from ranks_in_threads import run_ranks
from test_placed_tensors import full, place

import torchlike as torch
from torchlike.distributed.tensor import DeviceMesh, Replicate, Shard

F = torch.nn.functional
STEPS = 20


class MLP(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(6, 8), torch.nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return self.down(self.up(x).relu())


class Block(torch.nn.Module):
    """A transformer's block over an embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(10, 8)
        # A bias of the keys has no gradient but errors of rounding, of which Adam makes steps.
        self.first, self.second = torch.nn.LayerNorm(8), torch.nn.LayerNorm(8)
        self.query, self.key, self.value = (torch.nn.Linear(8, 8, each) for each in (True, False, True))
        self.out, self.up, self.down = torch.nn.Linear(8, 8), torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        x = self.tokens(x)
        y = self.first(x)
        heads = [layer(y).unflatten(-1, (2, 4)).transpose(1, 2) for layer in (self.query, self.key, self.value)]
        x = x + self.out(F.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2))
        x = x + self.down(F.gelu(self.up(self.second(x))))
        return self.head(x.mean(1))


#: The parameters that are cut in tensor-parallel training, and the dimension.
CUT = {"up.weight": 0, "up.bias": 0, "down.weight": 1, "query.weight": 0, "key.weight": 0, "value.weight": 0}
CUT |= {"query.bias": 0, "value.bias": 0, "out.weight": 1}


def train(model: Any, batches: Any, kind: str, mesh: Any = None) -> list[float]:
    """Train, and return the losses; each step has two batches of which the gradients are summed."""
    settings: Any = {"lr": 0.05, "weight_decay": 0.1}
    optimizer = (
        torch.optim.SGD(model.parameters(), momentum=0.9, **settings)
        if kind == "SGD"
        else getattr(torch.optim, kind)(model.parameters(), **settings)
    )
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        for x, y in batches[step % 2 :][:2]:
            loss = F.cross_entropy(model(x), y)
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(float(full(loss.detach())))
    return losses


def place_model(model: Any, mesh: DeviceMesh, ways: dict[str, int]) -> Any:
    """Return a copy of a model whose parameters lie on a mesh; `ways` has those that are cut along its last dimension."""
    made = copy.deepcopy(model)
    for name, parameter in list(made.named_parameters()):
        owner, _, last = name.rpartition(".")
        placements: list[Any] = [Replicate()] * mesh.ndim
        if name in ways:
            placements[-1] = Shard(ways[name])
        module = made.get_submodule(owner)
        setattr(module, last, torch.nn.Parameter(place(parameter.detach(), mesh, placements)))
    return made


@pytest.mark.parametrize(
    ("kind", "dtype", "tolerance"), [("SGD", "float32", 1e-5), ("SGD", "float64", 1e-12), ("Adam", "float64", 1e-12)]
)
@pytest.mark.parametrize("net", ["MLP", "Block"])
@pytest.mark.parametrize("way", ["data", "tensor", "sharded", "both"])
def test_training_is_that_of_one_device(way: str, net: str, kind: str, dtype: str, tolerance: float) -> None:
    torch.manual_seed(3)
    kind_of = getattr(torch, dtype)
    model = {"MLP": MLP, "Block": Block}[net]().to(kind_of)
    batches = []
    for _ in range(3):
        x = torch.randn(8, 6, dtype=kind_of) if net == "MLP" else torch.randint(0, 10, (8, 5))
        batches.append((x, torch.randint(0, 4, (8,))))
    single = copy.deepcopy(model)
    expected = train(single, batches, kind)
    shape = (2, 2) if way == "both" else (2,)

    def run(mesh: DeviceMesh) -> None:
        cut = {"data": {}, "tensor": CUT, "both": CUT}.get(way)
        if cut is None:
            cut = {name: 0 for name, each in model.named_parameters()}
        placed = place_model(model, mesh, cut)
        lay: list[Any] = [Shard(0)] if way != "tensor" else [Replicate()]
        lay += [Replicate()] * (mesh.ndim - 1)
        there = [(place(x, mesh, lay), place(y, mesh, lay)) for x, y in batches]
        found = train(placed, there, kind, mesh)
        np.testing.assert_allclose(found, expected, tolerance, tolerance)
        for (name, one), other in zip(placed.named_parameters(), single.parameters(), strict=True):
            np.testing.assert_allclose(
                full(one.detach()).numpy(), other.detach().numpy(), 10 * tolerance, tolerance, err_msg=name
            )

    run_ranks(shape, run)
