"""Solutions of linear systems, inverses and determinants, by triangular factors."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.lax import linalg

from dispatch_aten.errors import LinAlgError

from ..library import Array, ArrayLibrary
from .factors import factorize
from .support import by_rules, check_codes, empty

_SINGULAR: Final = "linalg.solve: {batch}The solver failed because the input matrix is singular."
_NOT_INVERTIBLE: Final = (
    "linalg.inv: {batch}The diagonal element {code} is zero, the inversion could not be completed because the input matrix"
    " is singular."
)


def _solve(factors: Array, sides: Array, *, lower: bool, unit: bool = False, left: bool = True) -> Array:
    """Solve by one triangle of matrices that have the batch of the right-hand sides."""
    return linalg.triangular_solve(factors, sides, left_side=left, lower=lower, unit_diagonal=unit)


@partial(jax.jit, static_argnames=("upper", "left", "unit"))
def _solve_triangle(factors: Array, sides: Array, *, upper: bool, left: bool, unit: bool) -> Array:
    batch = jnp.broadcast_shapes(factors.shape[:-2], sides.shape[:-2])
    factors, sides = (jnp.broadcast_to(each, (*batch, *each.shape[-2:])) for each in (factors, sides))
    return _solve(factors, sides, lower=not upper, unit=unit, left=left)


def _solve_triangular(
    library: ArrayLibrary,
    spec: Any,
    self: Array,
    B: Array,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Array:
    return _solve_triangle(self, B, upper=upper, left=left, unit=unitriangular)


@partial(jax.jit, static_argnames="left")
def _solve_by_factors(factors: Array, order: Array, sides: Array, *, left: bool) -> Array:
    batch = jnp.broadcast_shapes(factors.shape[:-2], sides.shape[:-2])
    factors, sides = (jnp.broadcast_to(each, (*batch, *each.shape[-2:])) for each in (factors, sides))
    order = jnp.broadcast_to(order, (*batch, order.shape[-1]))
    if left:
        sides = jnp.take_along_axis(sides, order[..., :, None], -2)
        return _solve(factors, _solve(factors, sides, lower=True, unit=True), lower=False)
    found = _solve(factors, _solve(factors, sides, lower=False, left=False), lower=True, unit=True, left=False)
    return jnp.take_along_axis(found, jnp.argsort(order)[..., None, :], -1)


def _solve_ex(
    library: ArrayLibrary, spec: Any, A: Array, B: Array, *, left: bool = True, check_errors: bool = False
) -> tuple[Array, ...]:
    if not spec[1].numel:
        return tuple(empty(library, each) for each in spec)
    factors, exchanges, order, info = factorize(A)
    if check_errors:
        check_codes(library, info, LinAlgError, _SINGULAR)
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    found = empty(library, spec[0])
    if found.size:
        found = _solve_by_factors(factors, order, B[..., None] if vector else B, left=left)
        found = found[..., 0] if vector else found
    return found, factors, exchanges + 1, info


def _inv_ex(library: ArrayLibrary, spec: Any, A: Array, *, check_errors: bool = False) -> tuple[Array, Array]:
    if not spec[0].numel:
        return empty(library, spec[0]), empty(library, spec[1])
    factors, _, order, info = factorize(A)
    if check_errors:
        check_codes(library, info, LinAlgError, _NOT_INVERTIBLE)
    return _solve_by_factors(factors, order, jnp.eye(A.shape[-1], dtype=A.dtype), left=True), info


@partial(jax.jit)
def _sign_of(exchanges: Array) -> Array:
    """Return 1 or -1 for an even or an odd number of exchanged rows."""
    count = (exchanges != jnp.arange(exchanges.shape[-1])).sum(-1)
    return 1 - 2 * (count % 2)


def _det(library: ArrayLibrary, spec: Any, A: Array) -> tuple[Array, ...]:
    if not spec[1].numel:  # the product of no numbers is 1
        return library.full(spec[0].shape, 1, spec[0].dtype), *(empty(library, each) for each in spec[1:])
    factors, exchanges, _, _ = factorize(A)
    product = jnp.diagonal(factors, 0, -2, -1).prod(-1)
    return product * _sign_of(exchanges).astype(A.dtype), factors, exchanges + 1


def _slogdet(library: ArrayLibrary, spec: Any, A: Array) -> tuple[Array, ...]:
    if not spec[2].numel:
        return library.full(spec[0].shape, 1, spec[0].dtype), *(empty(library, each) for each in spec[1:])
    factors, exchanges, _, _ = factorize(A)
    values = jnp.diagonal(factors, 0, -2, -1)
    sizes = jnp.abs(values)
    sign = (values / jnp.where(sizes == 0, 1, sizes)).prod(-1) * _sign_of(exchanges).astype(A.dtype)
    return sign, jnp.log(sizes).sum(-1), factors, exchanges + 1


#: Operator → function of the library that makes the kernel.
KERNELS: Final = by_rules(
    {
        "linalg_solve_triangular": _solve_triangular,
        "_linalg_solve_ex": _solve_ex,
        "linalg_inv_ex": _inv_ex,
        "_linalg_det": _det,
        "_linalg_slogdet": _slogdet,
    }
)
