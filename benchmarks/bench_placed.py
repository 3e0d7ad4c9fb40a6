"""Captured training steps on jax beside the same steps written with ``jax.jit``: ``python benchmarks/bench_placed.py``.

A step is the loss, its gradient and Adam; the one by hand is one function whose parameters and means are donated, and whose
count of steps stays on the device. Below the table: where the time of a captured step goes. The rows of eight devices are
measured in a process of their own, because JAX counts its devices once.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from harness import Measure, Row, parser, report, run
from jax.sharding import NamedSharding, PartitionSpec

import torchlike
from dispatch_backend_array_api import xla
from torchlike import nn
from torchlike.distributed._composable import replicate
from torchlike.distributed.tensor import Shard, distribute_tensor, init_device_mesh
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation

DEVICES: Final = 8
RATE, BETAS, EPS = 3e-3, (0.9, 0.999), 1e-8
CLASSES, INPUTS = 10, 64
VOCABULARY, WIDTH, HEADS, LAYERS, BLOCK, SEQUENCES = 65, 64, 4, 2, 32, 8
#: How much longer than the function by hand the compiled function of a captured step may take.
OF_XLA: Final = 1.15


class _Block(nn.Module):
    """A block of attention and feed-forward layers."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.take, self.give = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        rows, length, _ = x.shape
        parts = self.take(self.before(x)).view(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=True)
        x = x + self.give(found.transpose(1, 2).reshape(rows, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.between(x))))


class _GPT(nn.Module):
    """A transformer that tells the next of each character."""

    def __init__(self) -> None:
        super().__init__()
        self.characters, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.blocks = nn.ModuleList([_Block() for _ in range(LAYERS)])
        self.last, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x: Any) -> Any:
        found = self.characters(x) + self.places.weight
        for block in self.blocks:
            found = block(found)
        return self.head(self.last(found)).view(-1, VOCABULARY)


def _linear(w: dict[str, Any], name: str, x: Any) -> Any:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def _norm(w: dict[str, Any], name: str, x: Any) -> Any:
    return jax.nn.standardize(x, epsilon=1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


def _mlp_by_hand(w: dict[str, Any], x: Any) -> Any:
    return _linear(w, "2", jax.nn.relu(_linear(w, "0", x)))


def _gpt_by_hand(w: dict[str, Any], x: Any) -> Any:
    rows, length = x.shape
    found = w["characters.weight"][x] + w["places.weight"]
    for number in range(LAYERS):
        name = f"blocks.{number}"
        parts = _linear(w, f"{name}.take", _norm(w, f"{name}.before", found))
        q, k, v = parts.reshape(rows, length, 3, HEADS, WIDTH // HEADS).transpose(2, 0, 3, 1, 4)
        scores = jnp.where(jnp.tri(length, dtype=bool), q @ k.mT / math.sqrt(WIDTH // HEADS), -jnp.inf)
        mixed = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(rows, length, WIDTH)
        found = found + _linear(w, f"{name}.give", mixed)
        up = jax.nn.gelu(_linear(w, f"{name}.up", _norm(w, f"{name}.between", found)), approximate=False)
        found = found + _linear(w, f"{name}.down", up)
    return _linear(w, "head", _norm(w, "last", found)).reshape(-1, VOCABULARY)


def _make_bare(scores: Callable[..., Any], weights: dict[str, Any], x: Any, target: Any) -> Callable[[], Any]:
    """Return a step by hand, which begins with copies of some weights."""

    def loss_of(given: Any, x: Any, target: Any) -> Any:
        logs = jax.nn.log_softmax(scores(given, x))
        return -jnp.take_along_axis(logs, target[:, None], 1).mean()

    @partial(jax.jit, donate_argnums=(0, 1, 2, 3))
    def update(given: Any, first: Any, second: Any, count: Any, x: Any, target: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(given, x, target)
        count = count + 1
        first = jax.tree.map(lambda m, g: BETAS[0] * m + (1 - BETAS[0]) * g, first, grads)
        second = jax.tree.map(lambda v, g: BETAS[1] * v + (1 - BETAS[1]) * g * g, second, grads)
        size, root = RATE / (1 - BETAS[0] ** count), jnp.sqrt(1 - BETAS[1] ** count)
        moved = jax.tree.map(lambda w, m, v: w - size * m / (jnp.sqrt(v) / root + EPS), given, first, second)
        return loss, moved, first, second, count

    count = jnp.zeros((), jnp.float32)
    where = next(iter(weights.values())).sharding
    if isinstance(where, NamedSharding):
        count = jax.device_put(count, NamedSharding(where.mesh, PartitionSpec()))
    state = [{name: jnp.copy(each) for name, each in weights.items()}, *(_zeros(weights) for _ in range(2)), count]

    def step() -> Any:
        loss, *state[:] = update(*state, x, target)
        return loss

    return step


def _zeros(weights: dict[str, Any]) -> dict[str, Any]:
    return {name: jax.device_put(jnp.zeros_like(each), each.sharding) for name, each in weights.items()}


def _capture(net: Any, x: Any, target: Any) -> Callable[[], Any]:
    optimizer = torchlike.optim.Adam(net.parameters(), lr=RATE, betas=BETAS, eps=EPS)

    def step(x: Any, target: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return partial(torchlike.capture(step), x, target)


def _wait_for(step: Callable[[], Any]) -> Callable[[], None]:
    def call() -> None:
        found = step()
        getattr(found, "_dispatch_data", found).block_until_ready()

    return call


def _find_function(step: Callable[[], Any]) -> Callable[[], Any]:
    """Return the call of a captured step's compiled function alone; its results take the place of arrays it uses up."""
    found: list[Any] = []
    prepare = xla.Compiled.prepare

    def note(self: Any, values: list[Any]) -> Any:
        function, *rest = prepare(self, values)

        def call(*arguments: Any) -> Any:
            found.append((self, function, jax.tree.map(lambda each: each.copy(), [*arguments])))
            return function(*arguments)

        return call, *rest

    xla.Compiled.prepare = note  # type: ignore[method-assign]
    try:
        step()
    finally:
        xla.Compiled.prepare = prepare  # type: ignore[method-assign]
    ((compiled, function, arguments),) = found
    places = [3 + compiled._taken.index(index) for index in compiled.donated]

    def call() -> Any:
        with jax.enable_x64(True):
            results, *_ = function(*arguments)
        for place, result in zip(places, results, strict=False):
            arguments[place] = result
        return results[-1]

    return call


def _compare(
    name: str,
    net: Any,
    scores: Callable[..., Any],
    batch: Sequence[Any],
    goal: float,
    parts: dict[str, Callable[[], Any]],
) -> list[Measure]:
    """Compare a captured step, and XLA's part of it, with the step by hand; add to ``parts`` what the rest is."""
    x, target = batch
    weights = {name: each._dispatch_data for name, each in net.named_parameters()}
    arrays = [each._dispatch_data for each in batch]
    # As JAX's own programs have them.
    arrays = [each.astype(np.int32) if each.dtype == np.int64 else each for each in arrays]
    bare = _wait_for(_make_bare(scores, weights, *arrays))
    step = _capture(net, x, target)
    ours = _wait_for(step)
    for _ in range(5):
        ours()
        bare()
    (variant,) = step.func._variants
    parts[f"{name}: guards"] = partial(variant.guard, step.args, {})
    return [
        Measure(f"{name}, captured / by hand", ours, bare, goal),
        Measure(f"{name}, XLA's call alone / by hand", _wait_for(_find_function(step)), bare, OF_XLA),
    ]


def _make_mlp() -> Any:
    return nn.Sequential(nn.Linear(INPUTS, 128), nn.ReLU(), nn.Linear(128, CLASSES)).to("jax")


def _make_batch(count: int) -> tuple[Any, Any]:
    return torchlike.randn(count, INPUTS).to("jax"), torchlike.randint(0, CLASSES, (count,)).to("jax")


def _on_one_device(parts: dict[str, Callable[[], Any]]) -> list[Measure]:
    found = []
    for count, goal in ((64, 1.5), (4096, 1.05)):
        found += _compare(f"MLP, batch {count:,}", _make_mlp(), _mlp_by_hand, _make_batch(count), goal, parts)
    characters = [
        torchlike.randint(0, VOCABULARY, shape).to("jax") for shape in ((SEQUENCES, BLOCK), (SEQUENCES * BLOCK,))
    ]
    return found + _compare("GPT", _GPT().to("jax"), _gpt_by_hand, characters, 1.2, parts)


def _on_mesh(parts: dict[str, Callable[[], Any]]) -> list[Measure]:
    mesh, net = init_device_mesh("jax", (DEVICES,)), _make_mlp()
    replicate(net, device_mesh=mesh)
    batch = [distribute_tensor(each, mesh, [Shard(0)]) for each in _make_batch(512)]
    return _compare(f"MLP, batch 512, {DEVICES} devices", net, _mlp_by_hand, batch, 1.3, parts)


def _measure_mesh(repeats: int) -> list[Row]:
    """Return the rows of several devices."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        command = [sys.executable, __file__, "--child", "--repeats", str(repeats), "--json", str(path)]
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"XLA_FLAGS": flags.strip()})
        return [Row(**each) for each in json.loads(path.read_text(encoding="utf-8"))]


def _tell_parts(rows: Sequence[Row], parts: dict[str, Callable[[], Any]]) -> str:
    """Return a table of where the time of captured steps goes, in microseconds."""
    lines = [
        "",
        f"{'where the time goes, microseconds':<40} {'all':>9} {'by hand':>9} {'XLA':>9} {'guards':>9} {'rest':>9}",
    ]
    guards = [min(timeit.repeat(part, number=50, repeat=20)) / 50 * 1e6 for part in parts.values()]
    for step, alone, guard in zip(rows[::2], rows[1::2], guards, strict=True):
        found = step.ours / 1e3, step.reference / 1e3, alone.ours / 1e3, guard
        figures = "".join(f" {each:>9.0f}" for each in (*found, found[0] - found[2] - guard))
        lines.append(f"{step.name.partition(', captured')[0]:<40}{figures}")
    return "\n".join(lines)


def main() -> None:
    """Print the tables and, where asked, write the first one as JSON."""
    made = parser(__doc__, repeats=40)
    made.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = made.parse_args()
    torchlike.manual_seed(0)
    parts: dict[str, Callable[[], Any]] = {}
    measures = _on_mesh(parts) if arguments.child else _on_one_device(parts)
    # Other libraries compute in threads of their own, and the program waits for them.
    rows = run(measures, repeats=arguments.repeats, clock=time.perf_counter)
    others = [] if arguments.child else _measure_mesh(arguments.repeats)
    print(report([*rows, *others], arguments.json, reference="by hand"))
    print(_tell_parts(rows, parts))


if __name__ == "__main__":
    main()
