"""Eigenvalues, singular values, and exponentials of matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import jax.scipy.linalg
from jax.lax import linalg

from dispatch_aten.errors import LinAlgError, OperatorError

from ..library import Array, ArrayLibrary
from .support import by_rules, check_finite, empty

_ILL: Final = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues"
    " (error code: 1)."
)
#: As often JAX squares the exponential of a matrix that it has halved.
_SQUARINGS: Final = 16


@partial(jax.jit, static_argnames=("lower"))
def _find_symmetric(matrices: Array, *, lower: bool) -> tuple[Array, Array]:
    vectors, values = linalg.eigh(matrices, lower=lower, symmetrize_input=False)
    return values, vectors


def _eigh(library: ArrayLibrary, spec: Any, A: Array, UPLO: str = "L", compute_v: bool = True) -> tuple[Array, Array]:
    values, vectors = _find_symmetric(A, lower=UPLO.upper() == "L")
    check_finite(library, values, LinAlgError, f"linalg.eigh: {_ILL}")
    return values, vectors if compute_v else empty(library, spec[1])


_eig_of = jax.jit(partial(linalg.eig, compute_left_eigenvectors=False), static_argnames="compute_right_eigenvectors")


def _eig(library: ArrayLibrary, spec: Any, self: Array) -> tuple[Array, Array]:
    _check_eig(library, self, "linalg.eig")
    values, vectors = _eig_of(self, compute_right_eigenvectors=True)
    return values, vectors


def _eigvals(library: ArrayLibrary, spec: Any, self: Array) -> Array:
    _check_eig(library, self, "linalg.eigvals")
    return _eig_of(self, compute_right_eigenvectors=False)[0]


def _check_eig(library: ArrayLibrary, self: Array, api: str) -> None:
    check_finite(library, self, OperatorError, f"torch.{api}: input tensor should not contain infs or NaNs.")


_svd_of = jax.jit(linalg.svd, static_argnames=("full_matrices", "compute_uv"))


@partial(jax.jit)
def _without_infinite(matrices: Array, values: Array) -> Array:
    """Return singular values, zeros for a matrix with an infinity: those are nan without an error, as LAPACK's are."""
    return jnp.where(jnp.isinf(matrices).any((-2, -1))[..., None], 0, values)


def _svd(
    library: ArrayLibrary,
    spec: Any,
    A: Array,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> tuple[Array, ...]:
    if not A.size:  # square factors of no singular values are unit matrices
        U, S, Vh = (empty(library, each) for each in spec)
        if compute_uv:
            U, Vh = (jnp.broadcast_to(jnp.eye(*each.shape[-2:], dtype=A.dtype), each.shape) for each in (U, Vh))
        return U, S, Vh
    if not compute_uv:
        S = _svd_of(A, full_matrices=False, compute_uv=False)
        U = Vh = empty(library, spec[0])
    else:
        U, S, Vh = _svd_of(A, full_matrices=full_matrices, compute_uv=True)
    check_finite(library, _without_infinite(A, S), LinAlgError, f"linalg.svd: {_ILL}")
    return U, S, Vh


@partial(jax.jit)
def _exponentiate(matrices: Array) -> Array:
    """Return exponentials; JAX's are nan where it would have to square more often than it is told."""
    size = jnp.abs(matrices).sum(-2).max(-1)
    more = jnp.where(jnp.isfinite(size), jnp.ceil(jnp.log2(jnp.maximum(size, 1))) - _SQUARINGS, 0)
    left = jnp.maximum(more, 0).astype(jnp.int32)
    found = jax.scipy.linalg.expm(matrices / (2.0**left)[..., None, None].astype(size.dtype), max_squarings=_SQUARINGS)

    def square(state: tuple[Array, Array]) -> tuple[Array, Array]:
        found, left = state
        return jnp.where((left > 0)[..., None, None], found @ found, found), left - 1

    return jax.lax.while_loop(lambda state: (state[1] > 0).any(), square, (found, left))[0]


def _matrix_exp(library: ArrayLibrary, spec: Any, self: Array) -> Array:
    wide = self.astype(jnp.float32) if self.dtype.itemsize == 2 else self
    return _exponentiate(wide).astype(self.dtype)


_COMPUTE: Final[dict[str, Callable[..., Any]]] = {
    "_linalg_eigh": _eigh,
    "_linalg_svd": _svd,
    "linalg_matrix_exp": _matrix_exp,
}
if jax.default_backend() in (
    "cpu",
    "gpu",
):  # JAX has no eigenvalues of other matrices elsewhere, so the host finds them
    _COMPUTE.update({"linalg_eig": _eig, "_linalg_eigvals": _eigvals})
#: Operator → function of the library that makes the kernel.
KERNELS: Final = by_rules(_COMPUTE)
