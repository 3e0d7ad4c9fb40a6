"""Reductions, running sums, and products of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import RULES

from ..library import Array, ArrayLibrary, Kernel, axes

_FOLDS: Final = {"amax": "max", "amin": "min"}
_PLACES: Final = {"argmax": "argmax", "argmin": "argmin"}
_PRODUCTS: Final = ("mm", "bmm", "mv", "dot")


def _sum(library: ArrayLibrary, name: str, function: Callable[..., Any]) -> Kernel:
    """Make a sum or product, which is computed in the dtype of its result."""
    rule, seen = RULES[name], dict[Any, ScalarType]()

    def kernel(self: Array, dim: Any = None, keepdim: bool = False, *, dtype: ScalarType | None = None) -> Array:
        key = self.dtype, dtype
        wanted = seen.get(key)
        if wanted is None:
            wanted = seen[key] = rule(library.meta(self), dim, keepdim, dtype=dtype).dtype
        where = axes(dim) if self.ndim else None  # torch takes 0 and -1 for an array without dimensions
        return function(library.cast(self, wanted), axis=where, dtype=library.dtype(wanted), keepdims=keepdim)

    return kernel


def _fold(library: ArrayLibrary, name: str, function: Callable[..., Any]) -> Kernel:
    rule = RULES[name]

    def kernel(self: Array, dim: Any = (), keepdim: bool = False) -> Array:
        if not all(self.shape):
            rule(library.meta(self), dim, keepdim)  # it refuses what has no greatest element
        dtype = library.dtype_of(self)
        if not all(self.shape) or not self.ndim:
            shape = rule(library.meta(self), dim, keepdim).shape
            return library.xp.reshape(self, shape) if all(self.shape) else library.full(shape, 0, dtype)
        if dtype is ScalarType.Bool:
            found = function(library.cast(self, ScalarType.Byte), axis=axes(dim), keepdims=keepdim)
            return library.cast(found, dtype)
        return function(self, axis=axes(dim), keepdims=keepdim)

    return kernel


def _place(library: ArrayLibrary, name: str, function: Callable[..., Any]) -> Kernel:
    rule = RULES[name]

    def kernel(self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
        if not all(self.shape) or not self.ndim:
            return library.full(rule(library.meta(self), dim, keepdim).shape, 0, ScalarType.Long)
        if library.dtype_of(self) is ScalarType.Bool:
            self = library.cast(self, ScalarType.Byte)
        return library.indices(function(self, axis=dim, keepdims=keepdim))

    return kernel


def _running(library: ArrayLibrary, name: str, function: Callable[..., Any]) -> Kernel:
    rule = RULES[name]

    def kernel(self: Array, dim: int, *, dtype: ScalarType | None = None) -> Array:
        wanted = rule(library.meta(self), dim, dtype=dtype).dtype
        self = library.cast(self, wanted)
        return function(self, axis=dim, dtype=library.dtype(wanted)) if self.ndim else self

    return kernel


def _truth(library: ArrayLibrary, function: Callable[..., Any]) -> tuple[Kernel, Kernel]:
    def whole(self: Array) -> Array:
        return back(function(self), self)

    def along(self: Array, dim: Any, keepdim: bool = False) -> Array:
        return back(function(self, axis=axes(dim), keepdims=keepdim), self)

    def back(found: Array, self: Array) -> Array:
        return library.cast(found, ScalarType.Byte) if library.dtype_of(self) is ScalarType.Byte else found

    return whole, along


def _product(library: ArrayLibrary, name: str) -> Kernel:
    rule, matmul = RULES[name], library.xp.matmul

    def kernel(self: Array, other: Array) -> Array:
        if self.dtype != other.dtype or self.shape[-1:] != other.shape[-2:][:1]:
            rule(library.meta(self), library.meta(other))
        return matmul(self, other)

    return kernel


def make(library: ArrayLibrary) -> dict[str, Kernel]:
    """Return the kernels for a library."""
    xp = library.xp
    made: dict[str, Kernel] = {name: _product(library, name) for name in _PRODUCTS}
    for name, standard in _FOLDS.items():
        made[name] = _fold(library, name, getattr(xp, standard))
    for name, standard in _PLACES.items():
        made[name] = _place(library, name, getattr(xp, standard))
    made["sum.dim_IntList"] = _sum(library, "sum.dim_IntList", xp.sum)
    made["prod.dim_int"] = _sum(library, "prod.dim_int", xp.prod)
    for name, standard in (("cumsum", "cumulative_sum"), ("cumprod", "cumulative_prod")):
        if (function := getattr(xp, standard, None)) is not None:
            made[name] = _running(library, name, function)
    for name in ("any", "all"):
        made[name], made[f"{name}.dim"] = _truth(library, getattr(xp, name))
    return made
