"""The standard's functions of elements: rows of two tables over torchlike's, promoted as the standard says."""

from __future__ import annotations

__name__ = "torchlike.array_api.elementwise"  # see Note [Public paths]

from collections.abc import Callable
from typing import Any, Final

from torchlike.functions.operator_functions import FUNCTIONS
from torchlike.tensors.tensor import Tensor

from .operands import promote

__all__ = ["clip", "expm1", "floor_divide", "remainder", "round", "sign"]

#: The standard's function of one array → torchlike's, and its results.
_UNARY: Final = {
    "abs": ("abs", "the absolute values of the elements"),
    "acos": ("acos", "the arcs whose cosines are the elements"),
    "acosh": ("acosh", "the numbers whose hyperbolic cosines are the elements"),
    "asin": ("asin", "the arcs whose sines are the elements"),
    "asinh": ("asinh", "the numbers whose hyperbolic sines are the elements"),
    "atan": ("atan", "the arcs whose tangents are the elements"),
    "atanh": ("atanh", "the numbers whose hyperbolic tangents are the elements"),
    "bitwise_invert": ("bitwise_not", "the elements with every bit inverted"),
    "ceil": ("ceil", "the least integers that are not less than the elements"),
    "conj": ("conj", "the complex conjugates of the elements"),
    "cos": ("cos", "the cosines of the elements"),
    "cosh": ("cosh", "the hyperbolic cosines of the elements"),
    "exp": ("exp", "e to the power of the elements"),
    "floor": ("floor", "the greatest integers that are not greater than the elements"),
    "imag": ("imag", "the imaginary parts of the elements"),
    "isfinite": ("isfinite", "whether each element is neither infinite nor NaN"),
    "isinf": ("isinf", "whether each element is infinite"),
    "isnan": ("isnan", "whether each element is NaN"),
    "log": ("log", "the natural logarithms of the elements"),
    "log10": ("log10", "the logarithms of the elements to base 10"),
    "log1p": ("log1p", "the natural logarithms of the elements plus 1, precise near 0"),
    "log2": ("log2", "the logarithms of the elements to base 2"),
    "logical_not": ("logical_not", "whether each element is false"),
    "negative": ("neg", "the negatives of the elements"),
    "positive": ("positive", "the elements"),
    "real": ("real", "the real parts of the elements"),
    "reciprocal": ("reciprocal", "1 over the elements"),
    "signbit": ("signbit", "whether each element's sign bit is set"),
    "sin": ("sin", "the sines of the elements"),
    "sinh": ("sinh", "the hyperbolic sines of the elements"),
    "sqrt": ("sqrt", "the square roots of the elements"),
    "square": ("square", "the squares of the elements"),
    "tan": ("tan", "the tangents of the elements"),
    "tanh": ("tanh", "the hyperbolic tangents of the elements"),
    "trunc": ("trunc", "the elements without their fractions"),
}
#: The same for two arrays, or an array and a number.
_BINARY: Final = {
    "add": ("add", "the sums of the elements"),
    "atan2": ("atan2", "the arcs whose tangents are x1 / x2, in the quadrant of both signs"),
    "bitwise_and": ("bitwise_and", "the bits that are set in both elements"),
    "bitwise_left_shift": ("bitwise_left_shift", "the bits of x1 shifted to the left by x2"),
    "bitwise_or": ("bitwise_or", "the bits that are set in either element"),
    "bitwise_right_shift": ("bitwise_right_shift", "the bits of x1 shifted to the right by x2"),
    "bitwise_xor": ("bitwise_xor", "the bits that are set in one of the elements"),
    "copysign": ("copysign", "the elements of x1 with the signs of x2"),
    "divide": ("div", "the quotients of the elements"),
    "equal": ("eq", "whether the elements are equal"),
    "greater": ("gt", "whether x1 is greater than x2"),
    "greater_equal": ("ge", "whether x1 is not less than x2"),
    "hypot": ("hypot", "the lengths of the hypotenuses over the elements"),
    "less": ("lt", "whether x1 is less than x2"),
    "less_equal": ("le", "whether x1 is not greater than x2"),
    "logaddexp": ("logaddexp", "the logarithms of the sums of the elements' exponentials"),
    "logical_and": ("logical_and", "whether both elements are true"),
    "logical_or": ("logical_or", "whether either element is true"),
    "logical_xor": ("logical_xor", "whether one of the elements is true"),
    "maximum": ("maximum", "the greater of the elements"),
    "minimum": ("minimum", "the lesser of the elements"),
    "multiply": ("mul", "the products of the elements"),
    "nextafter": ("nextafter", "the next numbers after x1 towards x2"),
    "not_equal": ("ne", "whether the elements differ"),
    "pow": ("pow", "x1 to the power of x2"),
    "subtract": ("sub", "the differences of the elements"),
}


def _describe(function: Any, name: str, sentence: str) -> Callable[..., Tensor]:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "torchlike.array_api"
    function.__doc__ = f"Return {sentence} (source: the array API standard's ``{name}``)."
    return function


def _make_unary(name: str, source: str, sentence: str) -> Callable[..., Tensor]:
    def function(x: Tensor, /) -> Tensor:
        return FUNCTIONS[source](x)

    return _describe(function, name, sentence)


def _make_binary(name: str, source: str, sentence: str) -> Callable[..., Tensor]:
    def function(x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
        return FUNCTIONS[source](*promote(x1, x2))

    return _describe(function, name, sentence)


ELEMENTWISE: Final = {
    **{name: _make_unary(name, *row) for name, row in _UNARY.items()},
    **{name: _make_binary(name, *row) for name, row in _BINARY.items()},
}
"""The functions by name."""


def clip(x: Tensor, /, min: Tensor | complex | None = None, max: Tensor | complex | None = None) -> Tensor:
    """Return the elements, those below ``min`` as ``min`` and those above ``max`` as ``max``, in the dtype of ``x``.

    >>> import torchlike
    >>> clip(torchlike.tensor([1., 5., 9.]), 2, 8)
    tensor([2., 5., 8.])
    """
    for bound, function in ((min, "maximum"), (max, "minimum")):
        if bound is not None:
            x = FUNCTIONS[function](*_promote_bound(x, bound))
    return x.clone() if min is None and max is None else x


def expm1(x: Tensor, /) -> Tensor:
    """Return e to the power of the elements, less 1, precise near 0.

    >>> import torchlike
    >>> expm1(torchlike.tensor([0., 1e-12]))
    tensor([0.0000e+00, 1.0000e-12])
    """
    found = FUNCTIONS["expm1"](x)
    if not x.is_complex():
        return found
    # The formula for small numbers multiplies an infinite real part by a sine that may be 0.
    found = FUNCTIONS["where"](FUNCTIONS["isfinite"](x.real), found, FUNCTIONS["exp"](x) - 1)
    return FUNCTIONS["complex"](found.real + 0.0, found.imag)  # of -0 the real part is 0, as the standard says


def floor_divide(x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """Return the quotients of the elements, rounded down; infinite where ``x1`` is, as the standard says.

    >>> import torchlike
    >>> floor_divide(torchlike.tensor([7., float("inf")]), 2)
    tensor([3., inf])
    """
    first, second = promote(x1, x2)
    found = FUNCTIONS["floor_divide"](first, second)
    if not first.is_floating_point():
        return found
    # torch computes the remainder first, which an infinite number does not have.
    is_infinite = FUNCTIONS["isinf"](first) | FUNCTIONS["isinf"](second)
    return FUNCTIONS["where"](is_infinite, FUNCTIONS["floor"](first / second), found)


def remainder(x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """Return the remainders of x1 / x2, with the signs of ``x2``, those of zeros too.

    >>> import torchlike
    >>> remainder(torchlike.tensor([7., -7.]), 4)
    tensor([3., 1.])
    """
    first, second = promote(x1, x2)
    found = FUNCTIONS["remainder"](first, second)
    if not first.is_floating_point():
        return found
    return FUNCTIONS["where"](found == 0, FUNCTIONS["copysign"](found, second), found)


def round(x: Tensor, /) -> Tensor:
    """Return the nearest integers, the even one between two; of complex numbers both parts are rounded.

    >>> import torchlike
    >>> round(torchlike.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    """
    function = FUNCTIONS["round"]
    return FUNCTIONS["complex"](function(x.real), function(x.imag)) if x.is_complex() else function(x)


def sign(x: Tensor, /) -> Tensor:
    """Return the signs of the elements, NaN for NaN, and for complex numbers those of length 1.

    >>> import torchlike
    >>> sign(torchlike.tensor([-2., 0., float("nan")]))
    tensor([-1.,  0., nan])
    """
    found = FUNCTIONS["sgn"](x)
    return found if x.dtype.is_integral else FUNCTIONS["where"](FUNCTIONS["isnan"](x), x, found)


def _promote_bound(x: Tensor, bound: Any) -> tuple[Tensor, ...]:
    found = promote(x, bound)
    if found[0].dtype is not x.dtype:
        raise TypeError(f"clip: {x.dtype} elements cannot hold bounds of {found[0].dtype}\nHint: cast one with astype")
    return found
