"""A small net that is trained on a mesh, one step as on one device: data-parallel, in shards, or cut by layers."""

from typing import NamedTuple

import dispatch_core as dc
import torchlike as torch
from dispatch_aten.placements import Replicate, Shard
from dispatch_aten.placements.operators import placement_of

nn = torch.nn
#: Plan → parameter → the dimension of it that the mesh's last dimension cuts; None where no parameter is placed.
PLANS = {
    "batches alone": None,
    "whole": {},
    "in shards": {"0.weight": 0, "0.bias": 0, "2.weight": 1},
    "by layers": {"0.weight": 0, "2.weight": 1},
}


class Trained(NamedTuple):
    losses: list
    parameters: list
    places: list


def place(tensor, mesh, *placements):
    return dc.ops.dispatch.redistribute(tensor, mesh, placements)


def placements(tensor):
    found = placement_of(tensor)
    return None if found is None else found[1]


def train(plan, mesh, optimizer, block, steps=6):
    """Return losses, parameters, and the placements of parameters, gradients and states after each step."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 10)).to("jax")
    batches = [(torch.randn(16, 16).to("jax"), torch.randint(0, 10, (16,)).to("jax")) for _ in range(steps)]
    last = mesh.ndim - 1
    if plan is not None:
        whole = [Replicate()] * last
        for name, each in [*net.named_parameters()] if PLANS[plan] is not None else ():
            dim = PLANS[plan].get(name)
            made = place(each.detach(), mesh, *whole, Replicate() if dim is None else Shard(dim))
            owner, _, own = name.rpartition(".")
            setattr(net.get_submodule(owner), own, nn.Parameter(made))
        by_batch = (Shard(0), *[Replicate()] * last)
        batches = [tuple(place(each, mesh, *by_batch) for each in batch) for batch in batches]
    options = {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-3} if optimizer == "SGD" else {"lr": 0.01}
    rule = getattr(torch.optim, optimizer)(net.parameters(), **options)

    def step(x, y):
        rule.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        rule.step()
        return loss.detach()

    def where():
        own = [each for state in rule.state.values() for each in state.values() if torch.is_tensor(each) and each.dim()]
        return [placements(each) for weight in net.parameters() for each in (weight, weight.grad, *own)]

    called, losses, places = dc.capture(step) if block == "capture" else step, [], []
    for x, y in batches:
        if block == "pipeline":
            with dc.pipeline():
                loss = called(x, y)
        else:
            loss = called(x, y)
        losses.append(loss.item())
        places.append(where())
    assert block != "capture" or called.stats().replays
    return Trained(losses, [each.detach().cpu().numpy() for each in net.parameters()], places)
