"""Operators of an optimizer's step that are composed of others, in one call each for floats of one dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.decompositions import EXPLICIT

from ..library import Array, ArrayLibrary, Kernel, is_number

#: Operator → the name of the argument that is a number, and its default.
_NUMBERS: Final[dict[str, tuple[str, Any]]] = {
    "addcmul": ("value", 1),
    "addcdiv": ("value", 1),
    "lerp.Scalar": ("weight", None),
}


def make(library: ArrayLibrary) -> dict[str, Kernel]:
    """Return the kernels for a library."""
    xp = library.xp

    def scale(array: Array, by: Any) -> Array:
        if is_number(by) and by == 1:
            return array
        return array * library.full((), by, library.dtype_of(array))

    formulas: dict[str, Callable[..., Array]] = {
        "addcmul": lambda self, one, other, value: self + scale(one * other, value),
        "addcdiv": lambda self, one, other, value: self + scale(xp.divide(one, other), value),
        "lerp.Scalar": lambda self, end, weight: self + scale(end - self, weight),
    }
    return {name: _of_floats(library, name, formula) for name, formula in formulas.items()}


def _of_floats(library: ArrayLibrary, name: str, formula: Callable[..., Array]) -> Kernel:
    """Return the kernel of a formula for floats of one dtype; the operator's composition serves the others."""
    number, default = _NUMBERS[name]
    floats = {dtype for dtype, kind in library.scalar_types.items() if kind.is_floating_point}

    def kernel(*args: Any, **keywords: Any) -> Array:
        arrays, rest = (args, ()) if number in keywords or default is not None else (args[:-1], args[-1:])
        dtype = arrays[0].dtype
        if dtype in floats and all(each.dtype == dtype and each.ndim for each in arrays):
            return formula(*arrays, *(rest or (keywords.get(number, default),)))
        return EXPLICIT[name](*args, **keywords)

    return kernel
