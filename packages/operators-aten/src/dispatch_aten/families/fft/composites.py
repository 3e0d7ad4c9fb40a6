"""Fourier transforms of one, two and n dimensions in terms of three: complex, real to complex, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._matrices import conj
from dispatch_aten.decompositions._shared import Array, aten, cast, ndim
from dispatch_aten.dtypes import float32, float64, get_default_dtype
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError
from dispatch_aten.shapes.dims import wrap_dim, wrap_dims

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dispatch_aten.dtypes import ScalarType

_MODES: Final = {None: (0, 2), "backward": (0, 2), "forward": (2, 0), "ortho": (1, 1)}


def _scaling(norm: str | None, *, forward: bool) -> int:
    """Return torch's number of a scaling: 0 for none, 1 by the root of the size, 2 by the size."""
    if norm not in _MODES:
        raise OperatorError(f'Invalid normalization mode: "{norm}"', argument="norm")
    return _MODES[norm][not forward]


def _promote(self: Array, *, to_complex: bool = False) -> Array:
    dtype: ScalarType = dc.dtype(self)
    if not dtype.is_complex:
        if not dtype.is_floating_point:
            dtype = get_default_dtype()
        if dtype not in (float32, float64) and dc.device(self).type != "meta":
            raise DtypeError(f"Unsupported dtype {dtype.name}", argument="self")
        dtype = dtype.to_complex() if to_complex else dtype
    return cast(self, dtype)


def resize_along(self: Array, dims: Sequence[int], sizes: Sequence[int]) -> Array:
    """Return an array cut, or filled with zeros, to these sizes."""
    for dim, size in zip(dims, sizes, strict=True):
        shape = list(dc.shape(self))
        if shape[dim] > size:
            self = aten.slice.Tensor(self, dim, 0, size)
        elif shape[dim] < size:
            shape[dim] = size - shape[dim]
            self = aten.cat.default([self, aten.new_zeros.default(self, shape)], dim)
    return self


def _check_size(size: int) -> int:
    if size < 1:
        raise OperatorError(f"Invalid number of data points ({size}) specified", argument="n")
    return size


def _real_to_complex(
    name: str, self: Array, n: int | None, dim: int, norm: str | None, forward: bool, half: bool
) -> Array:
    if dc.dtype(self).is_complex:
        raise DtypeError(f"{name} expects a real input tensor, but got {dc.dtype(self).name}", argument="self")
    self, scaling = _promote(self), _scaling(norm, forward=forward)
    dim = wrap_dim(dim, ndim(self), scalar=False)
    size = _check_size(dc.shape(self)[dim] if n is None else n)
    found = aten._fft_r2c.default(resize_along(self, [dim], [size]), [dim], scaling, half)
    return found if forward else conj(found)


def _complex_to_complex(self: Array, n: int | None, dim: int, norm: str | None, forward: bool) -> Array:
    scaling = _scaling(norm, forward=forward)
    dim = wrap_dim(dim, ndim(self), scalar=False)
    size = _check_size(dc.shape(self)[dim] if n is None else n)
    return aten._fft_c2c.default(resize_along(self, [dim], [size]), [dim], scaling, forward)


def _any(name: str, *, forward: bool) -> Callable[..., Array]:
    """Make ``fft`` or ``ifft``."""

    def kernel(self: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
        if dc.dtype(self).is_complex:
            return _complex_to_complex(self, n, dim, norm, forward)
        return _real_to_complex(name, self, n, dim, norm, forward, False)

    return kernel


def _half(name: str, *, forward: bool) -> Callable[..., Array]:
    """Make ``rfft`` or ``ihfft``."""

    def kernel(self: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
        return _real_to_complex(name, self, n, dim, norm, forward, True)

    return kernel


def _to_real(*, forward: bool) -> Callable[..., Array]:
    """Make ``hfft`` or ``irfft``."""

    def kernel(self: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
        self, scaling = _promote(self, to_complex=True), _scaling(norm, forward=forward)
        dim = wrap_dim(dim, ndim(self), scalar=False)
        size = _check_size(2 * (dc.shape(self)[dim] - 1) if n is None else n)
        if n is not None:
            self = resize_along(self, [dim], [size // 2 + 1])
        return aten._fft_c2r.default(conj(self) if forward else self, [dim], scaling, size)

    return kernel


_Sizes = int | list[int] | tuple[int, ...] | None


def _read_dims(self: Array, s: _Sizes, dim: _Sizes) -> tuple[list[int], list[int]]:
    """Return the dimensions that are transformed, and their sizes."""
    shape = dc.shape(self)
    given = [s] if isinstance(s, int) else s
    dims = [dim] if isinstance(dim, int) else dim
    if given is not None and dims is not None and len(given) != len(dims):
        raise ShapeError("When given, dim and shape arguments must have the same length", argument="s")
    if given is not None and len(given) > len(shape):
        raise ShapeError(
            f"Got shape with {len(given)} values but input tensor only has {len(shape)} dimensions.", argument="s"
        )
    if dims is None:
        wrapped = list(range(len(shape)))[len(shape) - len(given) if given is not None else 0 :]
    else:
        wrapped = [wrap_dim(each, len(shape), scalar=False) for each in dims]
        if len(set(wrapped)) < len(wrapped):
            raise OperatorError("FFT dims must be unique", argument="dim")
    sizes = [shape[each] for each in wrapped]
    if given is not None:
        sizes = [have if wanted == -1 else wanted for have, wanted in zip(sizes, given, strict=True)]
    for size in sizes:
        _check_size(size)
    return wrapped, sizes


def _need_dims(name: str, dims: Sequence[int]) -> None:
    if not dims:
        raise OperatorError(f"{name} must transform at least one axis", argument="dim")


_PAIR: Final = (-2, -1)


def _many(*, forward: bool, dims: Any = None) -> Callable[..., Array]:
    """Make ``fftn`` or ``ifftn``."""

    def kernel(self: Array, s: _Sizes = None, dim: _Sizes = dims, norm: str | None = None) -> Array:
        self, scaling = _promote(self, to_complex=True), _scaling(norm, forward=forward)
        wrapped, sizes = _read_dims(self, s, dim)
        return aten._fft_c2c.default(resize_along(self, wrapped, sizes), wrapped, scaling, forward)

    return kernel


def _rfftn(dims: Any = None) -> Callable[..., Array]:
    def kernel(self: Array, s: _Sizes = None, dim: _Sizes = dims, norm: str | None = None) -> Array:
        if dc.dtype(self).is_complex:
            raise DtypeError(
                f"rfftn expects a real-valued input tensor, but got {dc.dtype(self).name}", argument="self"
            )
        self, scaling = _promote(self), _scaling(norm, forward=True)
        wrapped, sizes = _read_dims(self, s, dim)
        _need_dims("rfftn", wrapped)
        return aten._fft_r2c.default(resize_along(self, wrapped, sizes), wrapped, scaling, True)

    return kernel


def _read_half(name: str, self: Array, s: _Sizes, dim: _Sizes) -> tuple[list[int], list[int], int]:
    """Return the dimensions, the sizes of the input, and the number of real elements along the last dimension."""
    wrapped, sizes = _read_dims(self, s, dim)
    _need_dims(name, wrapped)
    given = [s] if isinstance(s, int) else s
    last = sizes[-1] if given is not None and given[-1] != -1 else 2 * (dc.shape(self)[wrapped[-1]] - 1)
    _check_size(last)
    return wrapped, [*sizes[:-1], last // 2 + 1], last


def _irfftn(dims: Any = None) -> Callable[..., Array]:
    def kernel(self: Array, s: _Sizes = None, dim: _Sizes = dims, norm: str | None = None) -> Array:
        self, scaling = _promote(self, to_complex=True), _scaling(norm, forward=False)
        wrapped, sizes, last = _read_half("irfftn", self, s, dim)
        return aten._fft_c2r.default(resize_along(self, wrapped, sizes), wrapped, scaling, last)

    return kernel


def _hfftn(dims: Any = None) -> Callable[..., Array]:
    def kernel(self: Array, s: _Sizes = None, dim: _Sizes = dims, norm: str | None = None) -> Array:
        self, scaling = _promote(self, to_complex=True), _scaling(norm, forward=True)
        wrapped, sizes, last = _read_half("hfftn", self, s, dim)
        self = resize_along(self, wrapped, sizes)
        if len(wrapped) > 1:
            self = aten._fft_c2c.default(self, wrapped[:-1], scaling, True)
        return aten._fft_c2r.default(conj(self), wrapped[-1:], scaling, last)

    return kernel


def _ihfftn(dims: Any = None) -> Callable[..., Array]:
    def kernel(self: Array, s: _Sizes = None, dim: _Sizes = dims, norm: str | None = None) -> Array:
        if dc.dtype(self).is_complex:
            raise DtypeError(
                f"ihfftn expects a real-valued input tensor, but got {dc.dtype(self).name}", argument="self"
            )
        self, scaling = _promote(self), _scaling(norm, forward=False)
        wrapped, sizes = _read_dims(self, s, dim)
        _need_dims("ihfftn", wrapped)
        self = conj(aten._fft_r2c.default(resize_along(self, wrapped, sizes), wrapped[-1:], scaling, True))
        return aten._fft_c2c.default(self, wrapped[:-1], scaling, False) if len(wrapped) > 1 else self

    return kernel


def _shift(*, back: bool) -> Callable[..., Array]:
    def kernel(self: Array, dim: int | Sequence[int] | None = None) -> Array:
        dims = wrap_dims(dim, ndim(self)) if dim is not None else range(ndim(self))
        shifts = [(dc.shape(self)[each] + back) // 2 for each in dims]
        return aten.roll.default(self, shifts, list(dims))

    return kernel
