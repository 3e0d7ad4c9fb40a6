"""Short-time Fourier transforms and their inverse: windows of a signal, transformed one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, ndim
from dispatch_aten.errors import DtypeError, OperatorError, ShapeError

if TYPE_CHECKING:
    pass


def _fail(name: str, text: str) -> ShapeError:
    return ShapeError(f"{name}: {text}", operator=f"aten::{name}")


def _fit_window(name: str, window: Array | None, like: Array, n_fft: int, win_length: int) -> Array | None:
    """Return the window with zeros on both sides; None for a window of ones as long as the transform."""
    if window is not None and dc.shape(window) != (win_length,):
        raise _fail(
            name,
            f"expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(dc.shape(window))}",
        )
    if win_length == n_fft:
        return window
    if window is None:
        dtype = dc.dtype(like)
        window = aten.new_ones.default(like, (win_length,), dtype=dtype.to_real())
    before = (n_fft - win_length) // 2
    zeros = [aten.new_zeros.default(window, (size,)) for size in (before, n_fft - win_length - before)]
    return aten.cat.default([zeros[0], window, zeros[1]], 0)


def _stft_center(
    self: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Array:
    is_complex = dc.dtype(self).is_complex or (window is not None and dc.dtype(window).is_complex)
    if return_complex is None:
        if not is_complex:
            raise OperatorError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release.",
                argument="return_complex",
            )
        return_complex = True
    if not dc.dtype(self).is_differentiable:
        raise DtypeError("stft: expected a tensor of floating point or complex values", argument="self")
    if ndim(self) not in (1, 2):
        raise _fail("stft", "expected a 1D or 2D tensor")
    signal = aten.unsqueeze.default(self, 0) if ndim(self) == 1 else self
    if center:
        signal = aten.squeeze.dim(aten.pad.default(aten.unsqueeze.default(signal, 0), [n_fft // 2] * 2, pad_mode), 0)
    length = dc.shape(signal)[1]
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if not 0 < n_fft <= length:
        raise _fail("stft", f"expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise _fail("stft", f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        raise _fail("stft", f"expected 0 < win_length <= n_fft, but got win_length={width}")
    fitted = _fit_window("stft", window, self, n_fft, width)
    frames = aten.unfold.default(signal, 1, n_fft, hop)
    if fitted is not None:
        frames = aten.mul.Tensor(frames, fitted)
    half = not is_complex if onesided is None else onesided
    if half and is_complex:
        raise OperatorError("Cannot have onesided output if window or input is complex", argument="onesided")
    scaling = int(normalized)
    if is_complex:
        found = aten._fft_c2c.default(frames, [2], scaling, True)
    else:
        found = aten._fft_r2c.default(frames, [2], scaling, half)
    found = aten.transpose.int(found, 1, 2)
    found = aten.squeeze.dim(found, 0) if ndim(self) == 1 else found
    return found if return_complex else aten.view_as_real.default(found)


def _check_istft(self: Array, n_fft: int, hop: int, width: int, onesided: bool | None) -> bool:
    """Refuse bad arguments; return whether the input holds one half of each transform."""
    shape = dc.shape(self)
    if not dc.dtype(self).is_complex:
        raise DtypeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.",
            argument="self",
        )
    if 0 in shape:
        raise _fail("istft", "input tensor cannot be empty.")
    if len(shape) not in (2, 3):
        raise _fail("istft", f"expected a tensor with 2 or 3 dimensions, but got {len(shape)}")
    half = n_fft != shape[-2] if onesided is None else onesided
    if shape[-2] != (n_fft // 2 + 1 if half else n_fft):
        wanted = "n_fft / 2 + 1 when onesided=True" if half else "n_fft when onesided=False"
        raise _fail(
            "istft", f"expected the frequency dimension of the input tensor to match {wanted}, but got {shape[-2]}"
        )
    if not 0 < hop <= width:
        raise _fail("istft", "expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise _fail("istft", "expected 0 < win_length <= n_fft")
    return half


def _add_frames(frames: Array, hop: int) -> Array:
    """Return the sum of frames that begin ``hop`` elements apart."""
    batch, count, width = dc.shape(frames)
    starts = aten.unsqueeze.default(aten.mul.Scalar(arange_like(frames, count), hop), 1)
    places = aten.reshape.default(aten.add.Tensor(starts, arange_like(frames, width)), (-1,))
    zeros = aten.new_zeros.default(frames, (batch, width + hop * (count - 1)))
    return aten.index_add.default(zeros, 1, places, aten.reshape.default(frames, (batch, count * width)))


def _istft(
    self: Array,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Array | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Array:
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    half = _check_istft(self, n_fft, hop, width, onesided)
    fitted = _fit_window("istft", window, self, n_fft, width)
    if fitted is None:
        fitted = aten.new_ones.default(self, (n_fft,), dtype=dc.dtype(self).to_real())
    signal = aten.transpose.int(aten.unsqueeze.default(self, 0) if ndim(self) == 2 else self, 1, 2)
    scaling = 1 if normalized else 2
    if return_complex:
        if half:
            raise OperatorError("Cannot have onesided output if window or input is complex", argument="onesided")
        frames = aten._fft_c2c.default(signal, [2], scaling, False)
    else:
        if dc.dtype(fitted).is_complex:
            raise DtypeError("Complex windows are incompatible with return_complex=False", argument="window")
        signal = signal if half else aten.slice.Tensor(signal, -1, 0, n_fft // 2 + 1)
        frames = aten._fft_c2r.default(signal, [2], scaling, n_fft)
    sums = _add_frames(aten.mul.Tensor(frames, fitted), hop)
    count = dc.shape(frames)[1]
    weights = _add_frames(aten.expand.default(aten.square.default(fitted), (1, count, n_fft)), hop)
    whole = dc.shape(sums)[1]
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    sums, weights = aten.slice.Tensor(sums, 1, start, end), aten.slice.Tensor(weights, 1, start, end)
    _check_weights(weights)
    found = aten.div.Tensor(sums, weights)
    if end > whole:
        zeros = aten.new_zeros.default(found, (dc.shape(found)[0], end - whole))
        found = aten.cat.default([found, zeros], 1)
    return aten.squeeze.dim(found, 0) if ndim(self) == 2 else found


def _check_weights(weights: Array) -> None:
    if dc.device(weights).type == "meta" or 0 in dc.shape(weights):
        return
    least = aten.amin.default(aten.abs.default(weights), [0, 1])
    if aten._local_scalar_dense.default(aten.lt.Scalar(least, 1e-11)):
        raise _fail("istft", "window overlap add min: 1")
