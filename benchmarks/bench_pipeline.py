"""Costs and savings of a pipeline, against torch on one thread: ``python benchmarks/bench_pipeline.py``.

Ten element-wise operators on three float32 arrays, inside a pipeline of their own that is opened and left each time. The
plan is kept from the second run on; what the first one costs is printed below the table, with the peak of memory. The chain
on 10,000,000 elements is measured twice: as it is, and with freed memory kept by malloc, because most of torch's time there
is the kernel's for new pages.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import torch
from harness import Measure, parser, report, run

import dispatch_core as dc
import torchlike
from dispatch_backend_cpu.memory import empty_cache

SIZES = (1, 1_000, 100_000, 10_000_000)
#: Goals as ratios: with NumPy alone and with Numba against torch, and with Numba against torch.compile.
GOALS = {1: (1.3, 1.0, 0.6), 1_000: (1.3, 1.0, 0.6), 100_000: (1.0, 0.25, 0.7), 10_000_000: (0.13, 0.06, 0.5)}

#: Elements of arrays that the user holds; the last are as many as are copied.
HELD_SIZES = (1, 1_000, 16_000)

#: Goals of the captured chain, with NumPy alone and with Numba, against torch.
CAPTURED_GOALS = {1: (0.40, 0.15), 1_000: (0.40, 0.15), 100_000: (None, 0.20)}


def chain(library: Any, a: Any, b: Any, c: Any) -> Any:
    """Apply ten element-wise operators: four inputs and outputs to move, ten results."""
    t = a * b
    t = t + c
    t = t * 0.5
    t = t - a
    t = library.maximum(t, b)
    t = t + 1.5
    t = t * c
    t = library.minimum(t, a)
    t = t * t
    return t - b


def inputs(make: Callable[[Any], Any], size: int) -> list[Any]:
    """Return the three inputs as tensors."""
    random = np.random.default_rng(0)
    return [make(random.standard_normal(size, dtype=np.float32)) for _ in range(3)]


def in_pipeline(arrays: list[Any]) -> Any:
    """Run the chain in a pipeline."""
    with dc.pipeline():
        found = chain(torchlike, *arrays)
    return found


def _held_measures() -> list[Measure]:
    """Measure the chain on arrays that the user holds, whose memory is copied for each call that reads it."""
    measures = []
    for size in HELD_SIZES:
        given = [np.ones(size, np.float32) for _ in range(3)]
        held = [torchlike.from_numpy(array) for array in given]
        owned = [torchlike.from_numpy(array.copy()) for array in given]
        call, base = partial(_in_pipeline_holding, held, given), partial(in_pipeline, owned)
        for _ in range(20):
            call()
            base()
        measures.append(Measure(f"chain of ten, {size:,} elements, held by the user / owned", call, base, 1.3))
    return measures


def _in_pipeline_holding(arrays: list[Any], given: list[Any]) -> Any:
    """Run the chain while ``given``, the arrays in whose memory the tensors lie, are held."""
    return in_pipeline(arrays)


def _keep_memory() -> None:
    """Make malloc keep what is freed, however large (source: ``mallopt``)."""
    trim_threshold, mmap_max = -1, -4
    libc = ctypes.CDLL(None)
    if not (libc.mallopt(mmap_max, 0) and libc.mallopt(trim_threshold, -1)):
        raise SystemExit("malloc does not take these settings")


def _measure_with_memory_kept(repeats: int) -> None:
    """Measure the longest chain in a process of its own, where memory is kept; that takes glibc's malloc."""
    if platform.libc_ver()[0] != "glibc":
        print("not measured with memory kept: there is no glibc here")
        return
    subprocess.run([sys.executable, __file__, "--keep-memory", "--repeats", str(repeats)], check=True)


def _measures(*, compiled: bool, sizes: Sequence[int] = SIZES, note: str = "") -> list[Measure]:
    jit = os.environ.get("DISPATCH_CPU_JIT", "") != "0" and find_spec("numba") is not None
    form = "Numba" if jit else "NumPy"
    measures = []
    for size in sizes:
        ours, theirs = inputs(torchlike.from_numpy, size), inputs(torch.from_numpy, size)
        alone, with_jit, of_compiled = GOALS[size]
        eager, call = partial(chain, torch, *theirs), partial(in_pipeline, ours)
        replay = partial(torchlike.capture(partial(chain, torchlike)), *ours)
        for _ in range(20):
            call()
            replay()
        name = f"chain of ten, {size:,} elements, {form}{note}"
        measures.append(Measure(f"{name} / torch", call, eager, with_jit if jit else alone))
        goal = CAPTURED_GOALS.get(size, (None, None))[jit]
        measures.append(Measure(f"captured {name} / torch", replay, eager, goal))
        if compiled:
            fast = torch.compile(lambda a, b, c: chain(torch, a, b, c))
            measures.append(
                Measure(f"{name} / torch.compile", call, partial(fast, *theirs), of_compiled if jit else None)
            )
    return measures


def _recording(repeats: int) -> tuple[float, float]:
    """Return the cost of recording one addition, and of torch.add on one element, both in nanoseconds.

    The flush, and dropping unused results, are not part of it.
    """
    ours, theirs, count = torchlike.ones(1), torch.ones(1), 400
    add, other = torchlike.add, torch.add
    best = [float("inf")] * 2
    for _ in range(repeats * 20):
        with dc.pipeline():
            add(ours, ours)
            started = time.process_time_ns()
            for _ in range(count):
                add(ours, ours)
            best[0] = min(best[0], (time.process_time_ns() - started) / count)
        started = time.process_time_ns()
        for _ in range(count):
            other(theirs, theirs)
        best[1] = min(best[1], (time.process_time_ns() - started) / count)
    return best[0], best[1]


def _digits(hidden: int, repeats: int) -> float:
    """Return the time of an epoch of the digits example in a pipeline, divided by the time without."""
    spec = spec_from_file_location("train_digits", Path(__file__).parents[1] / "examples" / "train_digits.py")
    assert spec is not None
    assert spec.loader is not None
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    images, labels, _, _ = example.load_digits("cpu", 0)
    best = []
    runs = []
    for pipe in (nullcontext, dc.pipeline):
        torchlike.manual_seed(0)
        model = example.make_model(images.shape[1], hidden, "cpu")
        optimizer = torchlike.optim.Adam(model.parameters(), lr=3e-3)
        runs.append((pipe, model, optimizer))
        best.append(float("inf"))
    for _ in range(repeats + 1):
        for place, (pipe, model, optimizer) in enumerate(runs):
            started = time.process_time()
            with pipe() as opened:
                for _ in example.train_epoch(model, optimizer, images, labels, 64, opened):
                    pass
            best[place] = min(best[place], time.process_time() - started)
    return best[1] / best[0]


def _first_runs() -> dict[str, float]:
    """Return the cost of the first run in milliseconds, with nothing planned."""
    from dispatch_pipelines.program import plan

    found = {}
    for size in SIZES:
        arrays = inputs(torchlike.from_numpy, size)
        plan.clear()
        started = time.process_time()
        in_pipeline(arrays)
        found[f"first run, {size:,} elements, ms"] = (time.process_time() - started) * 1e3
    return found


def _peak(size: int) -> float:
    """Return the peak of memory while the chain runs, over that of its inputs and output."""
    arrays = inputs(torchlike.from_numpy, size)
    in_pipeline(arrays)
    # NumPy tells the tracer of every block; none of those kept is to be used again.
    empty_cache()
    tracemalloc.start()
    in_pipeline(arrays)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    needed = 4 * size
    return (3 * needed + peak) / (4 * needed)


def main() -> None:
    """Print the table and, where asked, write it as JSON."""
    options = parser(__doc__)
    options.add_argument(
        "--compile", action="store_true", help="compare with torch.compile too, which needs a C++ compiler"
    )
    options.add_argument(
        "--keep-memory", action="store_true", help="measure the longest chain alone, with memory kept by malloc"
    )
    arguments = options.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if arguments.keep_memory:
        _keep_memory()
        print(report(run(_measures(compiled=False, sizes=SIZES[-1:], note=", memory kept"), repeats=arguments.repeats)))
        return
    figures = _first_runs()
    print(
        report(
            run([*_measures(compiled=arguments.compile), *_held_measures()], repeats=arguments.repeats), arguments.json
        )
    )
    _measure_with_memory_kept(arguments.repeats)
    ours, theirs = _recording(arguments.repeats)
    figures["recording one add / torch.add (at most 0.80)"] = ours / theirs
    figures["peak memory / inputs and output, 10,000,000 elements (at most 1.30)"] = _peak(10_000_000)
    figures["digits, hidden size 128, in a pipeline / without (at most 1.15)"] = _digits(128, arguments.repeats)
    figures["digits, hidden size 2,048, in a pipeline / without (at most 1.00)"] = _digits(2048, arguments.repeats // 3)
    for name, figure in figures.items():
        print(f"{name:<70} {figure:>10.3f}")
    if arguments.json is not None:
        arguments.json.with_suffix(".more.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
