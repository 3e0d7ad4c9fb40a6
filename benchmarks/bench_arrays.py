"""Pipelines on jax beside bare JAX and torch on one thread: ``python benchmarks/bench_arrays.py``.

The chain of ten operators of ``bench_pipeline.py``, in a pipeline of its own each time, beside ``jax.jit`` of the same; and
steps of the digits example, Adam included, beside a step that is written in JAX and compiled as one function; captured
steps with error words beside the same without. Below the
table: two epochs of the digits from a fresh start, compiling included.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from bench_pipeline import chain, inputs
from harness import Measure, parser, report, run

import dispatch_core as dc
import torchlike
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation

#: Elements → goals against ``jax.jit`` and against torch.
GOALS = {1_000: (3.0, 3.0), 100_000: (1.3, 1.0), 10_000_000: (1.05, 0.12)}
RATE, BETAS, EPS, BATCH, HIDDEN = 3e-3, (0.9, 0.999), 1e-8, 64, 128


def _wait(tensor: Any) -> None:
    data = tensor._dispatch_data
    getattr(data, "value", data).block_until_ready()


def _in_pipeline(arrays: list[Any]) -> None:
    with dc.pipeline():
        found = chain(torchlike, *arrays)
    _wait(found)


def _chains() -> list[Measure]:
    measures = []
    for size, (of_jit, of_torch) in GOALS.items():
        ours = inputs(lambda array: torchlike.from_numpy(array).to("jax"), size)
        theirs = [tensor._dispatch_data for tensor in ours]
        compiled = jax.jit(lambda a, b, c: chain(jnp, a, b, c))
        bare = partial(lambda call, arrays: call(*arrays).block_until_ready(), compiled, theirs)
        call = partial(_in_pipeline, ours)
        for _ in range(20):
            call()
        name = f"chain of ten, {size:,} elements"
        measures.append(Measure(f"{name} / jax.jit", call, bare, of_jit))
        measures.append(
            Measure(f"{name} / torch", call, partial(chain, torch, *inputs(torch.from_numpy, size)), of_torch)
        )
    return measures


def _images() -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.random((1437, 64), np.float32), random.integers(0, 10, 1437)


def _make_ours(hidden: int = HIDDEN) -> tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]:
    torchlike.manual_seed(0)
    nn = torchlike.nn
    model = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10)).to("jax")
    optimizer = torchlike.optim.Adam(model.parameters(), lr=RATE, betas=BETAS, eps=EPS)

    def step(x: Any, target: Any) -> Any:
        loss = F.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda array: torchlike.from_numpy(array).to("jax")


def _make_bare() -> tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]:
    random = np.random.default_rng(0)
    shapes = [(HIDDEN, 64), (HIDDEN,), (10, HIDDEN), (10,)]
    weights = [jnp.asarray(random.standard_normal(shape, np.float32) / 8) for shape in shapes]
    state = [weights, [jnp.zeros_like(each) for each in weights], [jnp.zeros_like(each) for each in weights], 0]

    def loss_of(given: Any, x: Any, target: Any) -> Any:
        w1, b1, w2, b2 = given
        logs = jax.nn.log_softmax(jax.nn.relu(x @ w1.T + b1) @ w2.T + b2)
        return -jnp.take_along_axis(logs, target[:, None], 1).mean()

    @jax.jit
    def update(given: Any, first: Any, second: Any, count: Any, x: Any, target: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(given, x, target)
        first = [BETAS[0] * m + (1 - BETAS[0]) * g for m, g in zip(first, grads, strict=True)]
        second = [BETAS[1] * v + (1 - BETAS[1]) * g * g for v, g in zip(second, grads, strict=True)]
        size, root = RATE / (1 - BETAS[0] ** count), jnp.sqrt(1 - BETAS[1] ** count)
        moved = [w - size * m / (jnp.sqrt(v) / root + EPS) for w, m, v in zip(given, first, second, strict=True)]
        return loss, moved, first, second

    def step(x: Any, target: Any) -> Any:
        state[3] += 1
        loss, *state[:3] = update(*state, x, target)
        return loss

    return step, jnp.asarray


def _repeat(step: Callable[[Any, Any], Any], put: Callable[[Any], Any], pipe: Any) -> Callable[[], None]:
    images, labels = _images()
    x, target = put(images[:BATCH]), put(labels[:BATCH])

    def call() -> None:
        with pipe():
            loss = step(x, target)
        _wait(loss) if hasattr(loss, "_dispatch_data") else loss.block_until_ready()

    for _ in range(20):
        call()
    return call


def _steps() -> list[Measure]:
    bare = _repeat(*_make_bare(), nullcontext)
    return [
        Measure("digits, a step in a pipeline / bare JAX", _repeat(*_make_ours(), dc.pipeline), bare, 1.0),
        Measure("digits, a step without / bare JAX", _repeat(*_make_ours(), nullcontext), bare),
    ]


def _capture(batch: int, hidden: int, *, check_indices: bool) -> Callable[[], Any]:
    images, labels = _images()
    step, put = _make_ours(hidden)
    replay = torchlike.capture(lambda x, target: step(x, target).detach(), check_indices=check_indices)
    call = partial(replay, put(images[:batch]), put(labels[:batch]))
    for _ in range(5):
        call()
    return call


def _words() -> list[Measure]:
    """Compare captured steps whose programs look at their labels with such that do not."""
    found = []
    for batch, hidden, goal in ((64, 256, 1.03), (16, 32, None), (1, 8, None)):
        ours, theirs = (_capture(batch, hidden, check_indices=check) for check in (True, False))
        found.append(Measure(f"captured step, batch {batch}, {hidden} units / without error words", ours, theirs, goal))
    return found


def _two_epochs(step: Callable[[Any, Any], Any], put: Callable[[Any], Any], pipe: Any) -> float:
    """Return the seconds of two epochs from a fresh start."""
    images, labels = map(put, _images())
    started = time.perf_counter()
    with pipe() as opened:
        for _ in range(2):
            order = put(np.random.default_rng(0).permutation(len(images)))
            for start in range(0, len(images), BATCH):
                batch = order[start : start + BATCH]
                loss = step(images[batch], labels[batch])
                if opened is not None:
                    opened.flush()
    _wait(loss) if hasattr(loss, "_dispatch_data") else loss.block_until_ready()
    return time.perf_counter() - started


def main() -> None:
    """Print the table and, where asked, write it as JSON."""
    arguments = parser(__doc__).parse_args()
    torch.set_num_threads(1)
    figures = {
        "digits, two epochs, eager, seconds": _two_epochs(*_make_ours(), nullcontext),
        "digits, two epochs, in a pipeline, seconds": _two_epochs(*_make_ours(), dc.pipeline),
        "digits, two epochs, bare JAX, seconds (the aim)": _two_epochs(*_make_bare(), nullcontext),
    }
    # Other libraries compute in threads of their own, and the program waits for them.
    rows = run([*_chains(), *_steps(), *_words()], repeats=arguments.repeats, clock=time.perf_counter)
    print(report(rows, arguments.json))
    for name, figure in figures.items():
        print(f"{name:<70} {figure:>10.3f}")
    if arguments.json is not None:
        arguments.json.with_suffix(".more.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
