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
from typing import Any, Final, NamedTuple

import numpy as np
import pyopencl as cl

from . import errors, streams
from .arrays import Array
from .commands import submit
from .ctypes import C_TYPES, PRELUDE
from .driver import open_context

#: Work-items that run together.
GROUP: Final = 64


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
    inner: Sequence[int] | None = None,
    numbers: Sequence[Any] = (),
    writes: int = 1,
) -> None:
    """Run a kernel on the thread's stream of its first operand's device; it writes to the first ``writes`` operands."""
    items = int(np.prod(outer, dtype=np.int64))
    steps = 1 if inner is None else int(np.prod(inner, dtype=np.int64))
    if not items:
        return
    sizes, strides = _merge(outer, [each.outer for each in operands])
    inner_sizes, inner_strides = _merge(inner or (), [each.inner for each in operands])
    geometry = [items, steps, *sizes, *inner_sizes]
    for operand, *both in zip(operands, strides, inner_strides, strict=True):
        geometry += [operand.array.storage_offset, *both[0], *both[1]]
    dtypes = tuple(str(operand.array.dtype) for operand in operands)
    kinds = tuple("double" if isinstance(number, float) else "long" for number in numbers)
    source = _write(code, dtypes, kinds, len(sizes), len(inner_sizes) if inner is not None else 0)
    arguments: list[Any] = [np.array(geometry, np.int64)]
    arguments += [operand.array.block.buffer for operand in operands]
    arguments += [np.float64(number) if isinstance(number, float) else np.int64(number) for number in numbers]
    index = operands[0].array.block.index
    reads, written = [[each.array.block for each in part] for part in (operands[writes:], operands[:writes])]
    if "FAIL" in source:
        arguments += errors.arguments(index)
        reads.append(errors.words(index))  # kernels that can fail need no order among themselves
    kernel, groups = _build(source), (-(-items // GROUP) * GROUP,)

    def enqueue(queue: Any, wait_for: Any) -> Any:
        kernel.set_args(*arguments)
        return cl.enqueue_nd_range_kernel(queue, kernel, groups, (GROUP,), wait_for=wait_for)

    submit(enqueue, streams.current(index), reads=reads, writes=written)


def _merge(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Merge dimensions that lie behind each other in every operand, so that most kernels have one; pad to a power of two."""
    merged: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for dim, size in enumerate(sizes):
        if size == 1:
            continue
        if merged and all(each[-1] == stride[dim] * size for each, stride in zip(steps, strides, strict=True)):
            merged[-1] *= size
            for each, stride in zip(steps, strides, strict=True):
                each[-1] = stride[dim]
        else:
            merged.append(size)
            for each, stride in zip(steps, strides, strict=True):
                each.append(stride[dim])
    missing = max(1, 1 << (len(merged) - 1).bit_length() if merged else 1) - len(merged)
    return [1] * missing + merged, [[0] * missing + each for each in steps]


@functools.lru_cache(4096)
def _write(code: Code, dtypes: tuple[str, ...], kinds: tuple[str, ...], outer: int, inner: int) -> str:
    """Write a program; equal texts are compiled once, so that nothing in it may differ by chance."""
    count = range(len(dtypes))
    parameters = [f"global {C_TYPES[dtype].memory} *m{i}" for i, dtype in enumerate(dtypes)]
    parameters += [f"const {kind} n{i}" for i, kind in enumerate(kinds)]
    pieces = "".join(code)
    if "FAIL" in pieces:
        parameters += ["global long *error", "const long launch"]
    starts = "".join(f"    long p{i} = g.at[{i}].offset;\n" for i in count)
    loop = ""
    if inner:
        begins = "".join(f"        long q{i} = p{i};\n" for i in count)
        loop = (
            f"    for (long step = 0; step < g.steps; ++step) {{\n{begins}"
            f"{_places('inner', 'step', 'q', inner, len(dtypes))}{code.body}\n    }}\n"
        )
    return f"""{PRELUDE}{errors.MACRO if "FAIL" in pieces else ""}
struct geometry {{
    long items, steps, outer[{outer}], inner[{max(inner, 1)}];
    struct {{ long offset, outer[{outer}], inner[{max(inner, 1)}]; }} at[{len(dtypes)}];
}};

kernel void run(const struct geometry g, {", ".join(parameters)}) {{
    long item = get_global_id(0);
    if (item >= g.items) return;
{starts}{_places("outer", "item", "p", outer, len(dtypes))}{code.before}
{loop}{code.after}
}}
"""


def _places(dims: str, number: str, position: str, rank: int, operands: int) -> str:
    """Write the statements that add the steps to a place, given by its number, to the operands' positions."""
    if rank == 1:
        return "".join(f"    {position}{i} += {number} * g.at[{i}].{dims}[0];\n" for i in range(operands))
    steps = "".join(f" {position}{i} += k * g.at[{i}].{dims}[d];" for i in range(operands))
    return f"""    for (long rest = {number}, d = {rank - 1}; d >= 0; --d) {{
        long k = rest % g.{dims}[d];
        rest /= g.{dims}[d];{steps}
    }}
"""


@functools.cache
def _build(source: str) -> Any:
    """Compile a program, which the driver keeps on the disk, too."""
    program: Any = cl.Program(open_context(), source)
    return cl.Kernel(program.build(["-w"], cache_dir=False), "run")
