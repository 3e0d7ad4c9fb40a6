"""Special functions of ``jax.scipy.special``, where they have the cpu's values for all numbers, and functions of integers.

JAX has ``polygamma`` and ``zeta``, too; for negative numbers they are wrong, so the host computes them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Final

import jax
import jax.numpy as jnp
import jax.scipy.special as scipy

from ..kernels.pointwise import binary, unary
from ..library import Array, ArrayLibrary, Kernel
from .support import by_rule


def _widely(function: Callable[..., Array], least: int = 4) -> Callable[..., Array]:
    """Return a compiled function that computes in a float of at least so many bytes, and rounds once."""

    @partial(jax.jit)
    @wraps(function)
    def compute(*arrays: Array) -> Array:
        dtype = arrays[0].dtype
        if jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize < least:
            arrays = tuple(each.astype(f"float{8 * least}") for each in arrays)
        return function(*arrays).astype(dtype)

    return compute


def _digamma(array: Array) -> Array:
    """Return the derivative of ``lgamma``, at zeros an infinity by their signs, where JAX has nan."""
    return jnp.where(array == 0, -jnp.copysign(jnp.inf, array), scipy.digamma(array))


def _log_ndtr(array: Array) -> Array:
    """Return the logarithm of the normal distribution; near its 1 from the rest, which JAX rounds away."""
    return jnp.where(array < -1, scipy.log_ndtr(array), jnp.log1p(-scipy.erfc(array * 0.5**0.5) / 2))


def _gamma_part(function: Callable[..., Array], at_zero: int, shape: Array, array: Array) -> Array:
    """Return a part of the gamma function with its limits for a shape of 0 and of infinity, where JAX has nan."""
    found = function(shape, array)
    found = jnp.where((shape == 0) & (array > 0), at_zero, found)
    return jnp.where((shape == jnp.inf) & (array >= 0), jnp.where(array < jnp.inf, 1 - at_zero, jnp.nan), found)


def _frexp(library: ArrayLibrary, spec: Any, self: Array) -> tuple[Array, ...]:
    return tuple(jnp.frexp(self))


_UNARY: Final[dict[str, Any]] = {
    "lgamma": _widely(scipy.gammaln),
    "digamma": _widely(_digamma),
    "erfinv": _widely(scipy.erfinv),
    "special_ndtri": _widely(scipy.ndtri),
    "special_log_ndtr": _widely(_log_ndtr),
    **dict.fromkeys(("i0", "special_modified_bessel_i0"), _widely(scipy.i0)),
    **dict.fromkeys(("special_i1", "special_modified_bessel_i1"), _widely(scipy.i1)),
    "special_i0e": _widely(scipy.i0e),
    "special_i1e": _widely(scipy.i1e),
}
if hasattr(scipy, "erfcx"):
    _UNARY["special_erfcx"] = _widely(scipy.erfcx, 8)  # JAX's of 9.25 in float32 is 0
_BINARY: Final = {
    "igamma": _widely(partial(_gamma_part, scipy.gammainc, 1)),
    "igammac": _widely(partial(_gamma_part, scipy.gammaincc, 0)),
    "gcd": jnp.gcd,
    "lcm": jnp.lcm,
}


def _make(kind: Callable[..., Kernel], name: str, function: Any, library: ArrayLibrary) -> Kernel:
    return kind(library, name, function)


#: Operator → function of the library that makes the kernel.
KERNELS: Final[dict[str, Callable[[ArrayLibrary], Kernel]]] = {
    **{name: partial(_make, unary, name, function) for name, function in _UNARY.items()},
    **{name: partial(_make, binary, name, function) for name, function in _BINARY.items()},
    "frexp.Tensor": by_rule("frexp.Tensor", _frexp),
}
