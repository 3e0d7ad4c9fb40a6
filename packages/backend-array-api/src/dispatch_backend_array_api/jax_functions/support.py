"""Kernels whose arguments a shape rule checks, and the faults of values that they find.

A kernel computes LAPACK's codes on the device. Where errors are asked for they are one more check of values: read at once
where there are values, and a part of a compiled program's error word, so that the host reads nothing: see `value_checks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, Final

from dispatch_aten.shapes import RULES

from ..library import Array, ArrayLibrary, Kernel
from ..value_checks import Check, apply_check

_LOWER: Final = (1 << 32) - 1


def by_rule(name: str, compute: Callable[..., Any]) -> Callable[[ArrayLibrary], Kernel]:
    """Return what makes the kernel of ``compute(library, spec, *args)``, whose arguments the operator's rule has checked.

    ``spec`` describes the result, a tuple of several. Where none of them has elements the kernel makes them itself.
    """
    rule = RULES[name]

    def make(library: ArrayLibrary) -> Kernel:
        meta = library.meta

        @wraps(compute)
        def kernel(*args: Any, **kwargs: Any) -> Any:
            spec = rule(*map(meta, args), **{key: meta(value) for key, value in kwargs.items()})
            several = spec if type(spec) is tuple else (spec,)
            if any(each.numel for each in several):
                return compute(library, spec, *args, **kwargs)
            made = tuple(empty(library, each) for each in several)
            return made if type(spec) is tuple else made[0]

        return kernel

    return make


def by_rules(computes: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[[ArrayLibrary], Kernel]]:
    """Return the same for several operators: name → what makes the kernel."""
    return {name: by_rule(name, compute) for name, compute in computes.items()}


def empty(library: ArrayLibrary, spec: Any) -> Array:
    """Return zeros for the description of a result."""
    return library.full(spec.shape, 0, spec.dtype)


def check_codes(library: ArrayLibrary, info: Array, kind: Callable[[str], Exception], text: str) -> None:
    """Check that all of LAPACK's codes are 0; ``text`` has places for the matrix and its code."""
    apply_check(library, Check(_find_code, (info,), partial(_say, kind, text, bool(info.ndim)), splits=False))


def check_finite(library: ArrayLibrary, array: Array, kind: Callable[[str], Exception], text: str) -> None:
    """Check that all numbers are finite."""
    apply_check(library, Check(_find_infinite, (array,), partial(_say, kind, text, False)))


def _find_code(xp: Any, info: Array) -> tuple[Any, Any]:
    """Find the first matrix with a code: in one number of 64 bits its place and, below, the code."""
    codes = xp.reshape(info, (-1,)).astype(xp.int64)
    place = xp.argmax(codes != 0)
    return codes[place] != 0, (place.astype(xp.int64) << 32) | codes[place]


def _find_infinite(xp: Any, array: Array) -> tuple[Any, Any]:
    return ~xp.all(xp.isfinite(array)), 0


def _say(kind: Callable[[str], Exception], text: str, has_batch: bool, value: int) -> Exception:
    batch = f"(Batch element {value >> 32}): " if has_batch else ""
    return kind(text.format(batch=batch, code=value & _LOWER))
