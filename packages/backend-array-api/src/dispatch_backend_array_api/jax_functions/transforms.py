"""Fourier transforms by ``jax.numpy.fft``, and the parts of complex numbers and the bits of elements as other arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp

from dispatch_aten.dtypes import ScalarType

from ..library import Array, ArrayLibrary
from .support import by_rules

#: torch's numbers for no scaling, by the root of the size and by the size → NumPy's names, forward and inverse.
_NORMS: Final[tuple[tuple[Any, ...], tuple[Any, ...]]] = (
    ("backward", "ortho", "forward"),
    ("forward", "ortho", "backward"),
)
_FUNCTIONS: Final = {name: getattr(jnp.fft, name) for name in ("fftn", "ifftn", "rfftn", "irfftn")}


@partial(jax.jit, static_argnames=("name", "sizes", "dim", "norm"))
def _call(array: Array, *, name: str, sizes: tuple[int, ...] | None, dim: tuple[int, ...], norm: str) -> Array:
    return _FUNCTIONS[name](array, sizes, dim, norm)


def _transform(
    library: ArrayLibrary, spec: Any, self: Array, dim: Sequence[int], normalization: int, option: int
) -> Array:
    """Transform complex numbers, forward or not; real ones, to one half or not; or one half to ``option`` real ones."""
    if not dim:
        return self
    is_real, forward, sizes = not library.dtype_of(self).is_complex, True, None
    if spec.dtype.is_floating_point:
        name, forward, sizes = "irfftn", False, tuple(spec.shape[each] for each in dim)
    elif is_real:
        name = "rfftn" if option else "fftn"
    else:
        name, forward = ("fftn", True) if option else ("ifftn", False)
    return _call(self, name=name, sizes=sizes, dim=tuple(dim), norm=_NORMS[not forward][normalization])


def _view_as_real(library: ArrayLibrary, spec: Any, self: Array) -> Array:
    return jnp.stack([self.real, self.imag], -1)


def _view_as_complex(library: ArrayLibrary, spec: Any, self: Array) -> Array:
    return jax.lax.complex(self[..., 0], self[..., 1])


def _view_dtype(library: ArrayLibrary, spec: Any, self: Array, dtype: ScalarType) -> Array:
    """Show the bits of elements as those of another dtype; complex numbers as pairs, and bools as bytes."""
    wanted, whole = library.dtype(dtype), self
    if self.dtype == wanted:
        return self
    if library.dtype_of(self).is_complex:
        whole = jnp.stack([self.real, self.imag], -1).reshape(*self.shape[:-1], -1)
    elif self.dtype == bool:
        whole = self.astype(jnp.uint8)
    part = jnp.dtype(wanted)
    if dtype.is_complex:
        part = jnp.zeros((), wanted).real.dtype
    elif dtype is ScalarType.Bool:
        part = jnp.dtype(jnp.uint8)
    have, want = whole.dtype.itemsize, part.itemsize
    if have < want:
        whole = whole.reshape(*whole.shape[:-1], -1, want // have)
    found = jax.lax.bitcast_convert_type(whole, part)
    if have > want:
        found = found.reshape(*found.shape[:-2], -1)
    if dtype.is_complex:
        found = jax.lax.complex(found[..., ::2], found[..., 1::2])
    return (found != 0 if dtype is ScalarType.Bool else found).reshape(spec.shape)


#: Operator → function of the library that makes the kernel.
KERNELS: Final = by_rules(
    {
        **dict.fromkeys(("_fft_c2c", "_fft_c2r", "_fft_r2c"), _transform),
        "view_as_real": _view_as_real,
        "view_as_complex": _view_as_complex,
        "view.dtype": _view_dtype,
    }
)
