"""Interpolation, sampling at the points of a grid, and shuffles of pixels and channels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import Any

import dispatch_core as dc
from dispatch_aten.shapes import scale_sizes

from ...functions.operator_functions import FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from . import poolings

pixel_shuffle, pixel_unshuffle = FUNCTIONS["pixel_shuffle"], FUNCTIONS["pixel_unshuffle"]
channel_shuffle, native_channel_shuffle = FUNCTIONS["channel_shuffle"], FUNCTIONS["native_channel_shuffle"]

#: Mode → operators by the input's number of dimensions.
_OPERATORS = {
    "nearest": {ndim: f"upsample_nearest{ndim - 2}d" for ndim in (3, 4, 5)},
    "nearest-exact": {ndim: f"_upsample_nearest_exact{ndim - 2}d" for ndim in (3, 4, 5)},
    "linear": {3: "upsample_linear1d"},
    "bilinear": {4: "upsample_bilinear2d"},
    "trilinear": {5: "upsample_trilinear3d"},
    "bicubic": {4: "upsample_bicubic2d"},
    "lanczos": {4: "_upsample_lanczos2d_aa"},
}
_WITHOUT_CORNERS = ("nearest", "area", "nearest-exact")
_SMOOTH = {
    "bilinear": "_upsample_bilinear2d_aa",
    "bicubic": "_upsample_bicubic2d_aa",
    "lanczos": "_upsample_lanczos2d_aa",
}


def _spread_sizes(input: Tensor, values: Any, what: str) -> list[Any]:
    count = len(input.shape) - 2
    listed = values if isinstance(values, (list, tuple)) else [values]
    if not all(isinstance(each, (Real, Tensor)) for each in listed):
        raise TypeError(f"expected {what} to be numbers, but got {[type(each).__name__ for each in listed[:5]]}")
    if listed is not values:
        return [values] * count
    if len(values) != count:
        whose = "Input and output" if what == "output size" else f"Input and {what}"
        raise ValueError(
            f"{whose} must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(input.shape[2:])} and {what} of {values}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
            f"and {what} in (o1, o2, ...,oK) format."
        )
    return list(values)


def _choose_sizes(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None, mode: str
) -> tuple[list[int] | None, list[float] | None]:
    """Return the output's size or the scale factors; the other is None."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        sizes = _spread_sizes(input, size, "output size")
        if any(
            isinstance(each, (float, str)) or (isinstance(each, Tensor) and each.is_floating_point()) for each in sizes
        ):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size "
                f"with types {[type(each) for each in sizes]}"
            )
        return [int(each) for each in sizes], None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales = [float(each) for each in _spread_sizes(input, scale_factor, "scale_factor")]
    if recompute or mode == "area":
        return scale_sizes(input.shape[2:], scales, "scale_factor"), None
    return None, scales


def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Return images of another size: ``(N, C, …)`` to ``size``, or ``scale_factor`` times as large.

    ``mode`` is ``"nearest"``, ``"nearest-exact"``, ``"linear"``, ``"bilinear"``, ``"bicubic"``, ``"trilinear"``,
    ``"area"`` or ``"lanczos"``; ``antialias`` widens the kernels where the result is smaller.

    >>> import torchlike
    >>> interpolate(torchlike.tensor([[[1., 3.]]]), scale_factor=2, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    check_tensor(input, "interpolate")
    if not isinstance(mode, str):
        raise TypeError(f"mode must be str, not {type(mode).__name__}")
    ndim = len(input.shape)
    if mode in _WITHOUT_CORNERS:
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    sizes, scales = _choose_sizes(input, size, scale_factor, recompute_scale_factor, mode)
    if antialias and not (mode in _SMOOTH and ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "area" and ndim in (3, 4, 5):
        pool: Any = (poolings.adaptive_avg_pool1d, poolings.adaptive_avg_pool2d, poolings.adaptive_avg_pool3d)[ndim - 3]
        return pool(input, sizes)
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError(
            "Lanczos mode does not support align_corners=True"
            if align_corners
            else "Lanczos mode requires antialias=True"
        )
    name = _SMOOTH[mode] if antialias else _OPERATORS.get(mode, {}).get(ndim)
    if name is None:
        raise NotImplementedError(_describe_unsupported(mode, ndim))
    options = [] if mode in _WITHOUT_CORNERS else [align_corners]
    return getattr(dc.ops.aten, name).vec(input, sizes, *options, scales)


def _describe_unsupported(mode: str, ndim: int) -> str:
    if ndim in (3, 4, 5) and mode in ("linear", "bilinear", "trilinear"):
        return f"Got {ndim}D input, but {mode} mode needs {next(iter(_OPERATORS[mode]))}D input"
    return (
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: nearest | linear | "
        f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def _warn_of_interpolate(name: str) -> None:
    text = f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead."
    warnings.warn(text, UserWarning, stacklevel=3)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Return images of another size; ``interpolate`` is the newer name."""
    _warn_of_interpolate("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Return images of another size, each element that of the nearest; ``interpolate`` is the newer name."""
    _warn_of_interpolate("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Return images of another size, corners on corners; ``interpolate`` is the newer name."""
    _warn_of_interpolate("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def _choose_corners(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            UserWarning,
            stacklevel=3,
        )
    return bool(align_corners)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Return the images at the points of a grid: ``(N, C, H, W)`` at ``(N, h, w, 2)`` is ``(N, C, h, w)``.

    Points are pairs from -1 to 1, the place in the width first; volumes have points of three numbers.
    """
    for name, value, known in (
        ("mode", mode, GRID_SAMPLE_INTERPOLATION_MODES),
        ("padding_mode", padding_mode, GRID_SAMPLE_PADDING_MODES),
    ):
        if not isinstance(value, str):
            raise TypeError(f"{name} must be str, not {type(value).__name__}")
        if value not in known:
            *first, last = (f"'{each}'" for each in known)
            comma = "," if name == "padding_mode" else ""
            raise ValueError(
                f"nn.functional.grid_sample(): expected {name} to be {', '.join(first)}{comma} or {last}, but got: '{value}'"
            )
    corners = _choose_corners(align_corners)
    numbers = GRID_SAMPLE_INTERPOLATION_MODES[mode], GRID_SAMPLE_PADDING_MODES[padding_mode]
    return FUNCTIONS["grid_sampler"](input, grid, *numbers, corners)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return the grid that ``grid_sample`` takes for affine maps: ``(N, 2, 3)`` and ``(N, C, H, W)`` to ``(N, H, W, 2)``."""
    check_tensor(theta, "affine_grid", "theta")
    corners = _choose_corners(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    count = len(size) - 2
    if count not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    if len(theta.shape) != 3 or tuple(theta.shape[1:]) != (count, count + 1):
        raise ValueError(
            f"Expected a batch of {count}D affine matrices of shape Nx{count}x{count + 1} for size {size}. Got "
            f"{theta.shape}."
        )
    if corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not "
            "an intended use case of affine_grid. See the documentation of affine_grid for details.",
            UserWarning,
            stacklevel=2,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return FUNCTIONS["affine_grid_generator"](theta, list(size), corners)
