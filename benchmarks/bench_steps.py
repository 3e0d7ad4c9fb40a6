"""Training steps of small programs beside torch's: ``python benchmarks/bench_steps.py [PROGRAM ...]``.

A step is the forward pass, the loss, the gradients and the optimizer's step, on one thread: eagerly, in a pipeline that is
flushed after each step, and as a captured function. Both libraries run the same program on the same numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from harness import Measure, parser, report, run

import torchlike


@dataclass(frozen=True, slots=True)
class Program:
    """A network with its data, as functions of the library; goals of the eager and of the captured step."""

    model: Callable[[Any], Any]
    inputs: tuple[int, ...]
    optimizer: str
    eager: float | None = None
    captured: float | None = None


def _transformer(library: Any) -> Any:
    nn = library.nn
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's says that the layers will not take its quick way
        body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return nn.Sequential(body, nn.Flatten(), nn.Linear(16 * 32, 10))


def _digits(library: Any) -> Any:
    nn = library.nn
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def _mlp(library: Any) -> Any:
    nn = library.nn
    return nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 10))


def _convolution(library: Any) -> Any:
    nn = library.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)
    )


PROGRAMS: Final = {
    "digits, Adam": Program(_digits, (64, 64), "Adam", eager=1.4, captured=1.0),
    "digits, SGD": Program(_digits, (64, 64), "SGD"),
    "MLP of three layers, SGD": Program(_mlp, (32, 16), "SGD"),
    "convolution, Adam": Program(_convolution, (16, 1, 8, 8), "Adam"),
    "transformer of two layers, Adam": Program(_transformer, (8, 16, 32), "Adam", eager=1.8, captured=1.0),
}


def _make_step(library: Any, program: Program) -> Callable[[], Any]:
    """Return the program's step, a function without arguments; both libraries begin with the same weights."""
    random = np.random.default_rng(0)
    model = program.model(library)
    with library.no_grad():
        for parameter in model.parameters():
            parameter.copy_(library.tensor(random.standard_normal(tuple(parameter.shape), np.float32) * 0.1))
    data = library.tensor(random.standard_normal(program.inputs, np.float32))
    labels = library.tensor(random.integers(0, 10, program.inputs[0]))
    optimizer = getattr(library.optim, program.optimizer)(model.parameters(), lr=1e-3)
    cross_entropy = library.nn.functional.cross_entropy

    def step() -> Any:
        loss = cross_entropy(model(data), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def _in_pipeline(step: Callable[[], Any]) -> Callable[[], Any]:
    def run_step() -> Any:
        with torchlike.pipeline():
            return step()

    return run_step


def main() -> None:
    """Print a row for each program and way to run it."""
    options = parser(__doc__)
    options.add_argument("programs", nargs="*", help="beginnings of the names of programs to measure; all without")
    given = options.parse_args()
    torch.set_num_threads(1)
    measures = []
    for name, program in PROGRAMS.items():
        if given.programs and not name.startswith(tuple(given.programs)):
            continue
        ways = {
            "eager": (lambda step: step, program.eager),
            "in a pipeline": (_in_pipeline, None),
            "captured": (torchlike.capture, program.captured),
        }
        for way, (wrap, goal) in ways.items():
            ours, theirs = wrap(_make_step(torchlike, program)), _make_step(torch, program)
            if abs(float(ours()) - float(theirs())) > 1e-4:
                raise SystemExit(f"{name}, {way}: the loss differs from torch's")
            for _ in range(16):  # with Numba, chains are compiled at their tenth run
                ours()
            measures.append(Measure(f"{name}, {way}", ours, theirs, goal))
    print(report(run(measures, repeats=given.repeats, seconds=0.05), given.json))


if __name__ == "__main__":
    main()
