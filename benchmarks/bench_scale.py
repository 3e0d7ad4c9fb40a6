"""Calls and memory where many operators are registered: ``python benchmarks/bench_scale.py``.

A setting is a number of operators and a number of vendors' backends. Each sample is a fresh process, the settings take
turns, and a cell is the minimum over its samples as a ratio to the first setting.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
import timeit
import tracemalloc

from harness import parser

import dispatch_core as dc
import torchlike

#: (operators, vendors); the others are compared with the first.
SETTINGS = ((10, 3), (1_000, 3), (10_000, 3), (10, 30), (10_000, 30))
SCHEMA = "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
#: A call may cost so much more than in the smallest setting; the rest, about 5 %, is noise of fresh processes.
AT_MOST = 1.10
LOOPS = 5_000
#: Bytes for each operator that is never called.
MOST_BYTES = 4_000


def _kernel(a, b, *, alpha=1):
    return a


class _Array:
    """The base of the vendors' array types."""

    shape = (1,)
    dtype = "float32"


def _vendors(count: int) -> list[type]:
    """Register so many backends, each with a key and an array type of its own, and return the types."""
    found = []
    for number in range(count):
        cls = type(f"Array{number}", (_Array,), {})
        array_type = dc.ArrayType(cls, shape=lambda array: array.shape, dtype=lambda array: array.dtype)
        dc.registry.add_backend(dc.BackendInfo(f"vendor{number}", "", (array_type,)))
        found.append(cls)
    return found


def _operators(library: dc.Library, start: int, stop: int) -> float:
    """Define operators, each with a kernel for cpu; return the microseconds for each."""
    started = time.perf_counter()
    for number in range(start, stop):
        library.define(f"f{number}{SCHEMA}")
        library.impl(f"f{number}", _kernel, "CPU")
    return (time.perf_counter() - started) / max(1, stop - start) * 1e6


def measure(operators: int, vendors: int) -> dict[str, float]:
    """Return nanoseconds of a call, and microseconds of the steps that are made once, in this process."""
    types = _vendors(vendors)
    tensor = torchlike.ones(1)
    library = dc.Library("scale", "DEF")
    _operators(library, 0, operators - 10)
    found = {"registering an operator, us": _operators(library, operators - 10, operators)}
    name = f"f{operators // 2}"
    for cls in types:
        library.impl(name, _kernel, dc.device_key(f"vendor{types.index(cls)}"))
    packet, op, full = getattr(dc.ops.scale, name), getattr(dc.ops.scale, name).default, f"scale::{name}"
    # Else the collector, which is due sooner where much was made, would be measured.
    gc.collect()
    started = time.perf_counter()
    op(tensor, tensor)
    found["the first call of an operator, us"] = (time.perf_counter() - started) * 1e6
    first, last, cpu = types[0](), types[-1](), dc.DispatchKeySet("CPU")
    raw = dc.ops.scale.f0.default if operators // 2 else op
    for cls in (types[0], types[-1]):
        library.impl("f0", _kernel, dc.device_key(f"vendor{types.index(cls)}"), allow_override=True)
    calls = {
        "call of an overload, ns": lambda: op(tensor, tensor),
        "call of a packet, ns": lambda: packet(tensor, tensor),
        "call by name, ns": lambda: dc.dispatch(full, tensor, tensor),
        "redispatch, ns": lambda: op.redispatch(cpu, tensor, tensor),
        "the first vendor's arrays, ns": lambda: raw(first, first),
        "the last vendor's arrays, ns": lambda: raw(last, last),
    }
    for label, call in calls.items():
        found[label] = min(timeit.repeat(call, number=LOOPS, repeat=9)) / LOOPS * 1e9
    return found


def weigh(count: int = 10_000) -> dict[str, float]:
    """Return the bytes for each operator: all that Python allocates for it and keeps, as tracemalloc counts it.

    Schema, entry, tables, names and what takes it back are in it; the kernel's function and the caller's text are not.
    """
    library = dc.Library("scale", "DEF")
    _operators(library, 0, 100)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]

    def since() -> float:
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / count

    for number in range(100, 100 + count):
        library.define(f"f{number}{SCHEMA}")
    found = {"defined": since()}
    for number in range(100, 100 + count):
        library.impl(f"f{number}", _kernel, "CPU")
    found["defined, with a kernel"] = since()
    handles = [getattr(dc.ops.scale, f"f{number}").default for number in range(100, 100 + count)]
    found["the same, and its handle looked up"] = since()
    assert len(handles) == count
    return found


def _sample(*arguments: object) -> dict[str, float]:
    """Run this script in a fresh process and return its output."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def main() -> None:
    """Print the tables and, where asked, write the figures as JSON."""
    options = parser(__doc__, repeats=5)
    options.add_argument("--measure", type=int, nargs=2, metavar=("OPERATORS", "VENDORS"), help="one sample, as JSON")
    options.add_argument("--weigh", action="store_true", help="the weight of an operator, as JSON")
    arguments = options.parse_args()
    if arguments.measure or arguments.weigh:
        print(json.dumps(weigh() if arguments.weigh else measure(*arguments.measure)))
        return
    samples = {setting: [] for setting in SETTINGS}
    for _ in range(arguments.repeats):
        for setting, taken in samples.items():
            taken.append(_sample("--measure", *setting))
    least = {
        setting: {label: min(sample[label] for sample in taken) for label in taken[0]}
        for setting, taken in samples.items()
    }
    weight = _sample("--weigh")
    base, *others = SETTINGS
    heads = [f"{operators:,} op, {vendors} v" for operators, vendors in others]
    print(f"{'measure':<34} {'10 op, 3 v':>10} {''.join(f'{head:>16}' for head in heads)} {'at most':>8}")
    for label, figure in least[base].items():
        ratios = [least[setting][label] / figure for setting in others]
        goal = AT_MOST if label.endswith("ns") else None
        verdict = "" if goal is None else f"{goal:>8.2f} {'ok' if max(ratios) <= goal else 'missed'}"
        print(f"{label:<34} {figure:>10.1f} {''.join(f'{ratio:>16.3f}' for ratio in ratios)} {verdict}".rstrip())
    print(f"\n{'bytes for each operator never called':<45} {'at most':>8}")
    for label, figure in weight.items():
        # A handle that is looked up is about to be called.
        verdict = "" if "handle" in label else f"{MOST_BYTES:>8} {'ok' if figure <= MOST_BYTES else 'missed'}"
        print(f"{label:<36} {figure:>8.0f} {verdict}".rstrip())
    if arguments.json is not None:
        rows = [
            {"operators": operators, "vendors": vendors} | least[operators, vendors] for operators, vendors in SETTINGS
        ]
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({"settings": rows, "bytes": weight}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
