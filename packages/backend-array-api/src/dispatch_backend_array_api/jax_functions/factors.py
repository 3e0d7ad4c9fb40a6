"""Factors of matrices by ``jax.lax.linalg``: Cholesky's, triangular ones, and orthogonal ones."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax.lax import linalg

from dispatch_aten.errors import LinAlgError, OperatorError

from ..library import Array, ArrayLibrary
from .support import by_rules, check_codes, empty

_INDEFINITE: Final = (
    "linalg.cholesky: {batch}The factorization could not be completed because the input is not positive-definite "
    "(the leading minor of order {code} is not positive-definite)."
)
_ZERO_PIVOT: Final = (
    "torch.linalg.lu_factor: {batch}U[{code},{code}] is zero and using it on lu_solve would result in a division by zero."
    " If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


def adjoint(matrices: Array) -> Array:
    """Return the conjugates of matrices, transposed."""
    return jnp.swapaxes(matrices.conj(), -1, -2)


@partial(jax.jit, static_argnames="upper")
def _factorize_definite(matrices: Array, *, upper: bool) -> tuple[Array, Array]:
    """Return lower or upper factors, of which one triangle is read, and the codes."""
    lower = adjoint(matrices) if upper else matrices
    found = linalg.cholesky(lower, symmetrize_input=False)
    has_failed = jnp.isnan(found).any((-2, -1))
    found, codes = jax.lax.cond(
        has_failed.any(),
        _factorize_step_by_step,
        lambda _, found, failed: (found, _no_codes(failed)),
        lower,
        found,
        has_failed,
    )
    return adjoint(found) if upper else found, codes


def _no_codes(like: Array) -> Array:
    return jnp.zeros(like.shape, jnp.int32)


def _factorize_step_by_step(matrices: Array, found: Array, has_failed: Array) -> tuple[Array, Array]:
    """Return the factors, those that have failed as far as they go, and the orders at which they fail as codes.

    JAX makes all of such a factor nan, and keeps LAPACK's code to itself. As LAPACK leaves it, its columns are those of the
    factor up to the wrong one, and the matrix's own from there on.
    """
    rows = jnp.arange(matrices.shape[-1])

    def step(order: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        factors, codes = state
        own = jax.lax.dynamic_index_in_dim(factors, order, -1, keepdims=False)
        done = jnp.where(rows < order, factors, 0)
        row = jax.lax.dynamic_index_in_dim(done, order, -2, keepdims=False)
        rest = own - (done @ row.conj()[..., None])[..., 0]
        pivot = jax.lax.dynamic_index_in_dim(rest, order, -1).real
        is_positive, is_next = pivot > 0, (codes == 0)[..., None]
        root = jnp.sqrt(jnp.where(is_positive, pivot, 1))
        column = jnp.where(rows == order, jnp.where(is_positive, root, pivot), jnp.where(is_positive, rest / root, own))
        column = jnp.where(is_next & (rows >= order), column, own)
        codes = jnp.where(is_next & ~is_positive, order.astype(jnp.int32) + 1, codes[..., None])[..., 0]
        return jnp.where(rows == order, column[..., None], factors), codes

    start = jnp.tril(matrices), _no_codes(has_failed)
    factors, codes = jax.lax.fori_loop(0, matrices.shape[-1], step, start)
    return jnp.where(has_failed[..., None, None], jnp.tril(factors), found), jnp.where(has_failed, codes, 0)


def _cholesky_ex(
    library: ArrayLibrary, spec: Any, self: Array, *, upper: bool = False, check_errors: bool = False
) -> tuple[Array, Array]:
    if not spec[0].numel:
        return empty(library, spec[0]), empty(library, spec[1])
    found, info = _factorize_definite(self, upper=upper)
    if check_errors:
        check_codes(library, info, LinAlgError, _INDEFINITE)
    return found, info


@partial(jax.jit)
def factorize(matrices: Array) -> tuple[Array, Array, Array, Array]:
    """Return compact triangular factors, the exchanges and the order of rows, counted from 0, and the codes."""
    found, exchanges, order = linalg.lu(matrices)
    is_zero = jnp.diagonal(found, 0, -2, -1) == 0
    codes = jnp.where(is_zero.any(-1), is_zero.argmax(-1) + 1, 0).astype(jnp.int32)
    return found, exchanges, order, codes


def _lu_factor_ex(
    library: ArrayLibrary, spec: Any, A: Array, *, pivot: bool = True, check_errors: bool = False
) -> tuple[Array, ...]:
    if not pivot:
        raise OperatorError("linalg.lu_factor: LU without pivoting is not implemented on jax", argument="pivot")
    if not spec[0].numel:
        return tuple(empty(library, each) for each in spec)
    found, exchanges, _, info = factorize(A)
    if check_errors:
        check_codes(library, info, OperatorError, _ZERO_PIVOT)
    return found, exchanges + 1, info


@partial(jax.jit, static_argnames="size")
def _order_of(pivots: Array, size: int) -> Array:
    return linalg.lu_pivots_to_permutation(pivots.astype(jnp.int32) - 1, size)


def _lu_unpack(
    library: ArrayLibrary,
    spec: Any,
    LU_data: Array,
    LU_pivots: Array,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[Array, ...]:
    P, L, U = (empty(library, each) for each in spec)
    rows, inner = LU_data.shape[-2], min(LU_data.shape[-2:])
    if unpack_pivots and P.size:
        order = _order_of(LU_pivots, rows) if inner else jnp.broadcast_to(jnp.arange(rows), P.shape[:-1])
        P = (jnp.arange(rows)[:, None] == order[..., None, :]).astype(LU_data.dtype)
    if unpack_data:
        L = jnp.tril(LU_data[..., :inner], -1) + jnp.eye(rows, inner, dtype=LU_data.dtype)
        U = jnp.triu(LU_data[..., :inner, :])
    return P, L, U


_qr = jax.jit(linalg.qr, static_argnames="full_matrices")


def _linalg_qr(library: ArrayLibrary, spec: Any, A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    if not A.size:  # a square factor of no columns is a unit matrix
        unit = jnp.eye(*spec[0].shape[-2:], dtype=A.dtype) if mode == "complete" else jnp.zeros((), A.dtype)
        return jnp.broadcast_to(unit, spec[0].shape), empty(library, spec[1])
    Q, R = _qr(A, full_matrices=mode == "complete")
    return empty(library, spec[0]) if mode == "r" else Q, R


@partial(jax.jit)
def _geqrf(A: Array) -> tuple[Array, Array]:
    turned, factors = jnp.linalg.qr(A, mode="raw")
    return jnp.swapaxes(turned, -1, -2), factors


def _of_geqrf(library: ArrayLibrary, spec: Any, self: Array) -> tuple[Array, Array]:
    return _geqrf(self)


#: Operator → function of the library that makes the kernel.
KERNELS: Final = by_rules(
    {
        "linalg_cholesky_ex": _cholesky_ex,
        "linalg_lu_factor_ex": _lu_factor_ex,
        "lu_unpack": _lu_unpack,
        "linalg_qr": _linalg_qr,
        "geqrf": _of_geqrf,
    }
)
