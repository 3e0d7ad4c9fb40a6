"""Comparing elements with those of the cpu: by the tolerance of their dtype, up to signs where several answers are right."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from ..operators import ATEN_BY_NAME
from .drawing import Array

#: Dtype → relative and absolute tolerance; other dtypes are equal.
TOLERANCES: Final = {
    "float16": (1e-2, 1e-2),
    "bfloat16": (5e-2, 5e-2),
    "float32": (1e-4, 1e-5),
    "complex64": (1e-4, 1e-5),
    "float64": (1e-7, 1e-9),
    "complex128": (1e-7, 1e-9),
}
#: How much further apart sums of many elements may be, which cancel out in an order of the device's own.
_OF_MANY: Final = 32
#: Operators whose results have no values to compare: memory as it is found.
_UNINITIALIZED: Final = re.compile(r"(new_)?empty(_|\.|$)|resize_|set_$")
#: Operators that draw where a probability says so; it is 0 in their samples.
_DRAWS_NOTHING: Final = re.compile(r"_?scaled_dot_product_")
#: Decompositions with several right answers, which differ by signs.
_UP_TO_SIGN: Final = re.compile(r"(_?linalg_)?(eig|eigh|svd|qr)(\.|$)|geqrf")
#: Operators whose results may have a zero of either sign: of two equal elements torch, too, takes one by the number of
#: elements, and sums begin with a zero or with their first element.
_EITHER_ZERO: Final = re.compile(
    r"(a?(max|min)|aminmax|maximum|minimum|(max|min)\.(other|dim_max|dim_min)|(clamp|clip)(_min|_max)?_?\.Tensor|softshrink|lerp)(\..*|_)?"
)


class DisagreementError(AssertionError):
    """The device does something else than the cpu."""


def has_no_values(name: str) -> bool:
    """Return whether an operator's results are random, or memory as it is found."""
    tags = ATEN_BY_NAME[name].tags if name in ATEN_BY_NAME and not _DRAWS_NOTHING.match(name) else ()
    return "nondeterministic_seeded" in tags or _UNINITIALIZED.match(name) is not None


def is_up_to_sign(name: str) -> bool:
    """Return whether an operator has several right answers, which differ by signs."""
    return _UP_TO_SIGN.match(name) is not None


def may_have_either_zero(name: str) -> bool:
    """Return whether a zero of an operator's results may have either sign."""
    return _EITHER_ZERO.fullmatch(name) is not None


def coarsest_of(arrays: list[Array]) -> str:
    """Return the dtype of the fewest digits among arrays; "" where none has floats."""
    names = {array.dtype.name for array in arrays} & TOLERANCES.keys()
    return max(names, key=TOLERANCES.__getitem__, default="")


def compare_values(
    name: str, where: str, found: Array, other: Array, coarsest: str = "", *, loosely: bool = False
) -> None:
    """Compare elements within the tolerance of their dtype, or of the ``coarsest`` one of a call.

    Raises ``DisagreementError`` that shows the first difference.
    """
    if found.dtype != other.dtype or found.shape != other.shape:
        raise DisagreementError(
            f"{where} comes to the host as {found.dtype}{list(found.shape)}, the cpu's as {other.dtype}{list(other.shape)}"
        )
    if found.tobytes() == other.tobytes():
        return
    if is_up_to_sign(name):
        found, other = np.abs(found), np.abs(other)
    exact = (0.0, 0.0)
    rtol, atol = TOLERANCES.get(found.dtype.name, exact)
    if rtol:
        rtol, atol = max((rtol, atol), TOLERANCES.get(coarsest, exact))
        atol *= _OF_MANY if loosely else 1
    equal = np.isclose(found, other, rtol, atol, equal_nan=True) if rtol else np.asarray(found == other)
    if not equal.all():
        place = tuple(int(index) for index in np.argwhere(~equal)[0])
        count = int(np.count_nonzero(~equal))
        raise DisagreementError(
            f"{where} is {found[place]!r} at {list(place)}, the cpu's {other[place]!r};"
            f" {count} of {found.size} elements differ"
        )


def compare_signs(where: str, found: Array, other: Any) -> None:
    """Compare the signs of zeros, which compare as equal."""
    if not isinstance(other, np.ndarray) or other.dtype.kind != "f":
        return
    differ = (other == 0) & (np.signbit(found) != np.signbit(other))
    if differ.any():
        place = tuple(int(index) for index in np.argwhere(differ)[0])
        raise DisagreementError(f"{where} is {found[place]!r} at {list(place)}, the cpu's {other[place]!r}")
