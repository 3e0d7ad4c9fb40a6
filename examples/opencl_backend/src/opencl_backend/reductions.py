"""Kernels whose work-items go through a dimension: reductions, cumulative ones, and matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, wrap_dim, wrap_dims

from .arrays import Array, empty
from .ctypes import C_TYPES
from .nest import Code, Operand, run

#: Operator → the step from a result ``r`` and a value ``a`` to the next, and the first result. A nan stays.
FOLDS: Final = {
    "sum": ("r + a", "0"),
    "prod": ("r * a", "1"),
    "amax": ("r != r || r >= a ? r : a", "lowest"),
    "amin": ("r != r || r <= a ? r : a", "highest"),
    "hash_tensor": ("r ^ a", "0"),
}


def write_fold(name: str, taken: str, result: ScalarType, stores: str) -> Code:
    """Write a fold of ``m1`` into ``m0``, which is stored at ``p0`` after all steps, or at ``q0`` after each."""
    kind, (step, first) = C_TYPES[str(result)], FOLDS[name]
    # Sums are wider than their results; a greatest value is one of the values.
    total = kind.total if first in "01" else kind.value
    value = C_TYPES[taken].load.format(m="m1", p="q1")
    if name == "hash_tensor" and taken.startswith("float"):
        value = f"as_long((double){value})"  # the bits as they are
    value = kind.convert.format(x=value)
    stored = kind.write_store("m0", stores, "r")
    step = f"        {total} a = {value}; r = {step};{f' {stored}' if stores == 'q0' else ''}"
    return Code(f"    {total} r = {limit(first, result)};", step, f"    {stored}" if stores == "p0" else "")


def limit(name: str, dtype: ScalarType) -> str:
    """Return the least or the greatest value of a dtype in C; other texts are numbers themselves."""
    if name in "01":
        return name
    if dtype.is_floating_point:
        return "-INFINITY" if name == "lowest" else "INFINITY"
    low, high = dtype.bounds if dtype.is_integral else (0, 1)
    return f"({low + 1}L - 1)" if name == "lowest" else f"{high}{'' if dtype.is_signed else 'U'}L"


def keep(steps: Sequence[int], dims: Sequence[int]) -> tuple[int, ...]:
    """Return what belongs to the other dimensions."""
    return tuple(step for dim, step in enumerate(steps) if dim not in dims)


def _reduce(name: str) -> Callable[..., Array]:
    rule, fold = cached_rule(name), name.partition(".")[0]

    def kernel(self: Array, dim: Any, *arguments: Any, **keywords: Any) -> Array:
        result = empty(rule(self, dim, *arguments, **keywords), self.block.index)
        dims = wrap_dims(dim, len(self.shape)) if self.shape else ()
        is_kept = len(result.shape) == len(self.shape)
        steps = keep(result.strides, dims) if is_kept else result.strides
        code = write_fold(fold, str(self.dtype), result.dtype, "p0")
        inner = [self.shape[each] for each in dims]
        operands = [
            Operand(result, steps, (0,) * len(dims)),
            Operand(self, keep(self.strides, dims), tuple(self.strides[each] for each in dims)),
        ]
        run(code, operands, keep(self.shape, dims), inner)
        return result

    return kernel


def _accumulate(name: str) -> Callable[..., Array]:
    rule, fold = cached_rule(name), name.removeprefix("cum")

    def kernel(self: Array, dim: int, **options: Any) -> Array:
        result = empty(rule(self, dim, **options), self.block.index)
        accumulate_into(result, self, fold, dim)
        return result

    return kernel


def accumulate_into(result: Array, self: Array, fold: str, dim: int) -> None:
    """Store the folds of the values up to each one along a dimension."""
    dims = (wrap_dim(dim, len(self.shape)),) if self.shape else ()
    operands = [
        Operand(each, keep(each.strides, dims), tuple(each.strides[d] for d in dims)) for each in (result, self)
    ]
    code = write_fold(fold, str(self.dtype), result.dtype, "q0")
    run(code, operands, keep(self.shape, dims), [self.shape[d] for d in dims])


def _multiply(name: str) -> Callable[..., Array]:
    rule = cached_rule(name)

    def kernel(self: Array, mat2: Array) -> Array:
        result = empty(rule(self, mat2), self.block.index)
        kind = C_TYPES[str(result.dtype)]
        factors = [C_TYPES[str(self.dtype)].load.format(m=f"m{i}", p=f"q{i}") for i in (1, 2)]
        code = Code(
            f"    {kind.total} r = 0;",
            f"        r += ({kind.total}){factors[0]} * {factors[1]};",
            f"    {kind.write_store('m0', 'p0', 'r')}",
        )
        (*batch, rows, inner), (*others, _, columns) = self.strides, mat2.strides
        operands = [
            Operand(result, result.strides, (0,)),
            Operand(self, (*batch, rows, 0), (inner,)),
            Operand(mat2, (*others, 0, columns), (mat2.strides[-2],)),
        ]
        run(code, operands, result.shape, self.shape[-1:])
        return result

    return kernel


ATEN: Final[dict[str, Callable[..., Array]]] = {
    **{name: _reduce(name) for name in ("sum.dim_IntList", "prod.dim_int", "amax", "amin", "hash_tensor")},
    **{name: _accumulate(name) for name in ("cumsum", "cumprod")},
    **{name: _multiply(name) for name in ("mm", "bmm")},
}
