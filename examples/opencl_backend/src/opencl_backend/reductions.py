"""Kernels whose work-items go through dimensions: reductions, cumulative ones, and matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, wrap_dims

from .arrays import C_TYPES, Array, empty, read, write
from .nest import Code, Operand, run

#: Operator → the step from a result ``r`` and a value ``a`` to the next, and the first result. A nan stays.
FOLDS: Final = {
    "sum.dim_IntList": ("r + a", "0"),
    "prod.dim_int": ("r * a", "1"),
    "cumsum": ("r + a", "0"),
    "cumprod": ("r * a", "1"),
    "amax": ("r != r || r >= a ? r : a", "lowest"),
    "amin": ("r != r || r <= a ? r : a", "highest"),
}


def _find_limit(name: str, dtype: ScalarType) -> str:
    """Return the least or the greatest value of a dtype in C."""
    if dtype.is_floating_point:
        return "-INFINITY" if name == "lowest" else "INFINITY"
    low, high = dtype.bounds if dtype.is_integral else (0, 1)
    return f"({low + 1}L - 1)" if name == "lowest" else f"{high}L"


def _make_fold(name: str) -> Callable[..., Array]:
    rule, (step, first), is_cumulative = cached_rule(name), FOLDS[name], name.startswith("cum")

    def kernel(self: Array, dim: Any, *arguments: Any, **keywords: Any) -> Array:
        result = empty(rule(self, dim, *arguments, **keywords), self.block.index)
        kind, is_sum = C_TYPES[result.dtype.short], first in "01"
        # Sums are wider than their results; a greatest value is one of the values.
        total, start = (kind.total, first) if is_sum else (kind.value, _find_limit(first, result.dtype))
        body = f"        {total} a = {kind.convert.format(read(self.dtype.short, 1, 'q1'))}; r = {step};"
        store = "    " + write(result.dtype.short, 0, "q0" if is_cumulative else "p0", "r")
        code = Code(f"    {total} r = {start};", body + store * is_cumulative, store * (not is_cumulative))

        dims = wrap_dims(dim, len(self.shape)) if self.shape else ()
        kept = [each for each in range(len(self.shape)) if each not in dims]
        places = kept if len(result.shape) == len(self.shape) else range(len(kept))
        within = tuple(result.strides[each] if is_cumulative else 0 for each in dims)
        operands = [
            Operand(result, tuple(result.strides[each] for each in places), within),
            Operand(self, tuple(self.strides[each] for each in kept), tuple(self.strides[each] for each in dims)),
        ]
        run(code, operands, [self.shape[each] for each in kept], [self.shape[each] for each in dims])
        return result

    return kernel


def _make_product(name: str) -> Callable[..., Array]:
    rule = cached_rule(name)

    def kernel(self: Array, mat2: Array) -> Array:
        result = empty(rule(self, mat2), self.block.index)
        total = C_TYPES[result.dtype.short].total
        body = f"        r += ({total}){read(self.dtype.short, 1, 'q1')} * {read(mat2.dtype.short, 2, 'q2')};"
        (*batch, rows, inner), (*others, steps, columns) = self.strides, mat2.strides
        operands = [
            Operand(result, result.strides, (0,)),
            Operand(self, (*batch, rows, 0), (inner,)),
            Operand(mat2, (*others, 0, columns), (steps,)),
        ]
        code = Code(f"    {total} r = 0;", body, "    " + write(result.dtype.short, 0, "p0", "r"))
        run(code, operands, result.shape, self.shape[-1:])
        return result

    return kernel


ATEN: Final = {name: _make_fold(name) for name in FOLDS} | {name: _make_product(name) for name in ("mm", "bmm")}
