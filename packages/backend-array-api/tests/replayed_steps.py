"""Captured steps of training on jax: small nets, optimizers and a schedule, on one device or data-parallel on a mesh."""

from collections import Counter
from typing import Any, NamedTuple

import jax

import torchlike
from dispatch_backend_array_api.devices.jax import backend
from torchlike import nn
from torchlike.distributed._composable import replicate
from torchlike.distributed.tensor import Shard, distribute_tensor
from torchlike.nn import functional as F  # torch's own abbreviation

optim = torchlike.optim
OPTIMIZERS = {
    "SGD": lambda parameters: optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda parameters: optim.Adam(parameters, lr=0.01),
    "AdamW": lambda parameters: optim.AdamW(parameters, lr=0.01),
}
#: Characters, size of their vectors, heads of attention, and characters of a sequence.
MANY, WIDTH, HEADS, BLOCK = 17, 16, 2, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.take, self.give = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        rows, length, _ = x.shape
        parts = self.take(self.before(x)).view(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=True)
        x = x + self.give(found.transpose(1, 2).reshape(rows, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.between(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.characters, self.places = nn.Embedding(MANY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.block, self.last, self.head = Block(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, MANY)

    def forward(self, x):
        found = self.characters(x) + self.places.weight
        return self.head(self.last(self.block(found))).view(-1, MANY)


class Step(NamedTuple):
    """A captured step that has been replayed, and what it is made of."""

    net: Any
    rule: Any
    schedule: Any
    batch: tuple[Any, ...]
    run: Any


def make_batch(kind):
    if kind == "GPT":
        return torchlike.randint(0, MANY, (16, BLOCK)), torchlike.randint(0, MANY, (16 * BLOCK,))
    return torchlike.randn(64, 64), torchlike.randint(0, 10, (64,))


def make_step(kind, optimizer, mesh=None, schedule=None):
    """Return a `Step` for an ``"MLP"`` or a ``"GPT"``; ``schedule`` makes a schedule of the optimizer."""
    torchlike.manual_seed(0)
    net = GPT() if kind == "GPT" else nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    net, batch = net.to("jax"), make_batch(kind)
    if mesh is None:
        batch = tuple(each.to("jax") for each in batch)
    else:
        replicate(net, device_mesh=mesh)
        batch = tuple(distribute_tensor(each, mesh, [Shard(0)]) for each in batch)
    rule = OPTIMIZERS[optimizer](net.parameters())
    planned = None if schedule is None else schedule(rule)

    def step(x, y):
        rule.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        rule.step()
        if planned is not None:
            planned.step()
        return loss.detach()

    captured = torchlike.capture(step)
    for _ in range(5):
        captured(*batch).item()
    assert captured.stats().replays
    return Step(net, rule, planned, batch, captured)


def count_transfers(monkeypatch):
    """Return a counter of reads by the bridge, and of the arrays that are put on devices."""
    found, put, get = Counter(), jax.device_put, backend.library.get

    def count_puts(what, *where, **options):
        found["put"] += len(jax.tree.leaves(what))
        return put(what, *where, **options)

    def count_reads(array):
        found["read"] += 1
        return get(array)

    monkeypatch.setattr(jax, "device_put", count_puts)
    monkeypatch.setattr(backend.library, "get", count_reads)
    return found


def run_guarded(step, times=3):
    """Return the losses of replays that may transfer nothing, read afterwards."""
    with jax.transfer_guard("disallow_explicit"):
        losses = [jax.block_until_ready(step.run(*step.batch)._dispatch_data) for _ in range(times)]
    return [float(each) for each in losses]
