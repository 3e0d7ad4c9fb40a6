"""The cost of bfloat16, beside our own float32 and torch's bfloat16: ``python benchmarks/bench_low_precision.py [ROW ...]``.

One thread; square matrices of 1, 4,096 and 65,536 elements. Torch multiplies with instructions for bfloat16 where the
processor has them, as the first line tells: elsewhere a ratio to its products means little.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import torch
from harness import Measure, parser, report, run

import torchlike

_FLAGS: Final = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "avx512_fp16")
#: Sides of square matrices, of 1, 4,096 and 65,536 elements.
_SIDES: Final = (1, 64, 256)
_Call = Callable[..., object]
#: Operator → a call of it, its tensors (a matrix or a vector each), and what the ratios to float32 and to torch should stay
#: under, by the side.
_CALLS: Final[dict[str, tuple[_Call, str, dict[int, float], dict[int, float]]]] = {
    "matmul": (lambda library, a, b: library.matmul(a, b), "mm", {256: 1.3}, {1: 3.5}),
    "linear": (
        lambda library, *tensors: library.nn.functional.linear(*tensors),
        "mmv",
        {256: 1.3},
        {1: 3.5},
    ),
    "add": (lambda library, a, b: library.add(a, b), "mm", {}, dict.fromkeys(_SIDES, 4.5)),
    "cat": (lambda library, a, b: library.cat([a, b]), "mm", dict.fromkeys(_SIDES, 1.3), {}),
    "stack": (lambda library, a, b: library.stack([a, b]), "mm", dict.fromkeys(_SIDES, 1.3), {}),
    "view": (lambda _, a: a.view(-1), "m", dict.fromkeys(_SIDES, 1.3), {}),
    "t": (lambda _, a: a.t(), "m", dict.fromkeys(_SIDES, 1.3), {}),
    "slice": (lambda _, a: a[:1], "m", dict.fromkeys(_SIDES, 1.3), {}),
    "clone": (lambda _, a: a.clone(), "m", dict.fromkeys(_SIDES, 1.3), {}),
    "transposed copy": (lambda _, a: a.t().contiguous(), "m", dict.fromkeys(_SIDES, 1.3), {}),
}


def read_flags() -> str:
    """Return which of the instructions that matter the processor has."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return "the processor's flags are not known"
    known = next((line for line in text.splitlines() if line.startswith("flags")), "").split()
    return "the processor has " + ", ".join(f"{'' if flag in known else 'no '}{flag}" for flag in _FLAGS)


def _measures() -> Iterator[Measure]:
    for name, (call, shapes, to_float, to_torch) in _CALLS.items():
        for side in _SIDES:
            sizes = [(side, side) if shape == "m" else (side,) for shape in shapes]

            def bind(library: Any, dtype: str, sizes: Any = sizes, call: _Call = call) -> Callable[[], object]:
                tensors = [library.ones(*size, dtype=getattr(library, dtype)) for size in sizes]
                return lambda: call(library, *tensors)

            ours, row = bind(torchlike, "bfloat16"), f"{name}, {side * side:,} element{'s' * (side > 1)}"
            yield Measure(f"{row} / our float32", ours, bind(torchlike, "float32"), to_float.get(side))
            yield Measure(f"{row} / torch", ours, bind(torch, "bfloat16"), to_torch.get(side))


def main() -> None:
    """Print the table and, where asked, write it as JSON."""
    options = parser(__doc__)
    options.add_argument("rows", nargs="*", help="beginnings of the names of rows to measure; all without")
    given = options.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(read_flags())
    wanted = [each for each in _measures() if not given.rows or each.name.startswith(tuple(given.rows))]
    print(report(run(wanted, repeats=given.repeats), given.json, reference="other"))


if __name__ == "__main__":
    main()
