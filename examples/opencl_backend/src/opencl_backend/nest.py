"""The one shape of all kernels: a nest of loops over arrays with strides.

A work-item has a place in the outer dimensions, and goes in order through the inner ones, if there are any. A kernel brings
three pieces of C: ``before``, ``body``, which runs at each inner place, and ``after``. They read these names:

* ``m0``, ``m1``, …: the memories of the operands; ``n0``, ``n1``, …: numbers
* ``p0``, ``p1``, …: the operands' positions at the outer place; ``q0``, ``q1``, …: those at the inner one
* ``FAIL(kind, value, limit)`` reports an error; see `errors`
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
import pyopencl as cl

from . import errors
from .arrays import C_TYPES, Array
from .driver import open_context
from .memory import submit

#: Work-items that run together.
GROUP: Final = 64
#: At the start of each program. Without contraction a chain has the bits of its calls one by one.
PRELUDE: Final = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

float round_half(float x) {
    ushort bits;
    vstore_half_rte(x, 0, (half *)&bits);
    return vload_half(0, (half *)&bits);
}
"""


class Operand(NamedTuple):
    """An array with the steps by which it follows the outer and the inner dimensions."""

    array: Array
    outer: tuple[int, ...]
    inner: tuple[int, ...] = ()


class Code(NamedTuple):
    """The pieces of a kernel."""

    before: str = ""
    body: str = ""
    after: str = ""


def run(
    code: Code,
    operands: Sequence[Operand],
    outer: Sequence[int],
    inner: Sequence[int] = (),
    numbers: Sequence[Any] = (),
    writes: int = 1,
) -> None:
    """Run a kernel on the thread's stream of its first operand's device; it writes to the first ``writes`` operands."""
    items, arrays = prod(outer), [each.array for each in operands]
    if not items:
        return
    dims = _merge(outer, [each.outer for each in operands])
    inner_dims = _merge(inner, [each.inner for each in operands]) if code.body else []
    missing = max(4 - len(dims), 0)
    dtypes = tuple(each.dtype.short for each in arrays)
    kinds = tuple("double" if isinstance(each, float) else "long" for each in numbers)
    source = _write(code, dtypes, kinds, len(dims) + missing, len(inner_dims))
    columns = [(items, *(each.storage_offset for each in arrays)), *dims, *dims[:1] * missing, *inner_dims]
    geometry = np.array(columns, np.int64).T.copy()
    arguments: list[Any] = [geometry, *(each.block.buffer for each in arrays)]
    arguments += [np.float64(each) if isinstance(each, float) else np.int64(each) for each in numbers]
    blocks, index = [each.block for each in arrays], arrays[0].block.index
    reads, written = blocks[writes:], blocks[:writes]
    if "FAIL" in source:
        arguments += errors.arguments(index)
        reads.append(errors.words(index))  # kernels that can fail need no order among themselves
    kernel, groups = _find_kernel(source, len(dims)), (-(-items // GROUP) * GROUP,)
    submit(kernel, groups, (GROUP,), *arguments, reads=reads, writes=written)


def _merge(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return a size and a step of each operand for each dimension, those that lie behind each other everywhere being one.

    Their number is a power of two: the last ones may have no steps.
    """
    dims: list[tuple[int, ...]] = []
    for size, *steps in zip(sizes, *strides, strict=True):
        if dims and size != 1 and all(above == step * size for above, step in zip(dims[-1][1:], steps, strict=True)):
            dims[-1] = (dims[-1][0] * size, *steps)
        elif size != 1:
            dims.append((size, *steps))
    missing = (1 << max(len(dims) - 1, 0).bit_length()) - len(dims)
    return dims + [(1, *[0] * len(strides))] * missing


@functools.lru_cache(4096)
def _write(code: Code, dtypes: tuple[str, ...], kinds: tuple[str, ...], outer: int, inner: int) -> str:
    """Write a program; equal texts are compiled once, so that nothing in it may differ by chance."""
    count, can_fail = len(dtypes), "FAIL" in "".join(code)
    parameters = [f"global {C_TYPES[dtype].memory} *m{i}" for i, dtype in enumerate(dtypes)]
    parameters += [f"const {kind} n{i}" for i, kind in enumerate(kinds)]
    parameters += ["global long *error", "const long launch"] if can_fail else []
    starts = "".join(f"    long p{i} = g.at[{i}].first;\n" for i in range(count))
    begins = "".join(f"    long q{i} = p{i};\n" for i in range(count))
    loop = f"""    long steps = 1;
    for (int d = 0; d < {inner}; ++d) steps *= g.size.inner[d];
    for (long step = 0; step < steps; ++step) {{
{begins}{_places("inner", "step", "q", inner, count)}{code.body}
    }}
"""
    kernels = [
        f"""
kernel void rank{rank}(const struct geometry g, {", ".join(parameters)}) {{
    long item = get_global_id(0);
    if (item >= g.size.first) return;
{starts}{_places("outer", "item", "p", rank, count)}{code.before}
{loop if inner else ""}{code.after}
}}
"""
        for rank in sorted({1, 2, 4, outer})  # a program for each rank would take longer to compile
    ]
    return f"""{PRELUDE}{errors.MACRO if can_fail else ""}
struct dimensions {{ long first, outer[{outer}]{f", inner[{inner}]" if inner else ""}; }};
struct geometry {{ struct dimensions size, at[{count}]; }};
{"".join(kernels)}"""


def _places(dims: str, number: str, position: str, rank: int, operands: int) -> str:
    """Write the statements that add the steps to a place, given by its number, to the operands' positions."""
    steps = " ".join(f"{position}{i} += k * g.at[{i}].{dims}[d];" for i in range(operands))
    return f"""    for (long rest = {number}, d = {rank - 1}; d >= 0; --d) if (!d || g.size.{dims}[d] != 1) {{
        long k = d ? rest % g.size.{dims}[d] : rest;
        rest /= d ? g.size.{dims}[d] : 1;
        {steps}
    }}
"""


@functools.cache
def _build(source: str) -> Any:
    """Compile a program, which the driver keeps on the disk, too."""
    program: Any = cl.Program(open_context(), source)
    return program.build(["-w"], cache_dir=False)


@functools.cache
def _find_kernel(source: str, rank: int) -> Any:
    return cl.Kernel(_build(source), f"rank{rank}")
