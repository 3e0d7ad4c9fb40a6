"""The frames of normalizations: which part of an input is brought to mean 0 and variance 1, and which shares a weight."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, widen

if TYPE_CHECKING:
    from collections.abc import Sequence


def _view(self: Any, shape: Sequence[int]) -> Any:
    return None if self is None else aten.reshape.default(widen(self), shape)


class Frame(NamedTuple):
    """A shape to see an input in, and its dimensions along which elements share statistics, or a weight."""

    shape: Sequence[int]
    dims: list[int]
    weight_dims: list[int]
    is_fixed: bool = False
    """Whether mean and deviation are given, and no functions of the input."""

    @property
    def elements(self) -> int:
        """The number of elements that share a mean."""
        return max(math.prod(self.shape[dim] for dim in self.dims), 1)

    def view(self, array: Any) -> Any:
        """Return an array of the input's shape as the frame sees it."""
        return _view(array, self.shape)

    def view_statistics(self, array: Any) -> Any:
        """Return means or deviations so that they broadcast with the input."""
        return _view(array, [1 if dim in self.dims else size for dim, size in enumerate(self.shape)])

    def view_weight(self, array: Any) -> Any:
        """Return a weight or a bias so that it broadcasts with the input."""
        return _view(array, [1 if dim in self.weight_dims else size for dim, size in enumerate(self.shape)])

    def average(self, array: Array) -> Array:
        """Return the mean over the elements that share statistics."""
        return aten.mean.dim(array, self.dims, True)

    def sum_weight(self, array: Array, shape: Sequence[int]) -> Array:
        """Return the sum over the elements that share a weight, in the weight's shape."""
        total = aten.sum.dim_IntList(array, self.weight_dims, True) if self.weight_dims else array
        return aten.reshape.default(total, shape)


def frame_layers(sizes: Sequence[int], normalized_shape: Sequence[int]) -> Frame:
    """Return the frame of a normalization over the last dimensions."""
    kept = len(sizes) - len(normalized_shape)
    return Frame(tuple(sizes), list(range(kept, len(sizes))), list(range(kept)))


def frame_groups(batch: int, channels: int, area: int, group: int) -> Frame:
    """Return the frame of a normalization over groups of channels."""
    return Frame((batch, group, channels // group, area), [2, 3], [0, 3])


def frame_batch(sizes: Sequence[int], train: bool = True) -> Frame:
    """Return the frame of a normalization of each channel over all samples, or by given statistics."""
    dims = [0, *range(2, len(sizes))]
    return Frame(tuple(sizes), dims, dims, not train)


def differentiate(
    frame: Frame,
    grad: Array,
    input: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    weight_shape: Sequence[int],
    mask: Sequence[bool],
) -> list[Array | None]:
    """Return the gradients of input, weight and bias; None for those that ``mask`` leaves out."""
    grad = frame.view(grad)
    sizes = dc.shape(input)
    found: list[Array | None] = [None, None, None]
    if mask[0] or mask[1]:
        mean, rstd, weight = frame.view_statistics(mean), frame.view_statistics(rstd), frame.view_weight(weight)
        normal = aten.mul.Tensor(aten.sub.Tensor(frame.view(input), mean), rstd)
        if mask[0]:
            steep = grad if weight is None else aten.mul.Tensor(grad, weight)
            found[0] = aten.reshape.default(aten.mul.Tensor(project(frame, steep, normal), rstd), sizes)
        if mask[1]:
            found[1] = frame.sum_weight(aten.mul.Tensor(grad, normal), weight_shape)
    if mask[2]:
        found[2] = frame.sum_weight(grad, weight_shape)
    return found


def project(frame: Frame, array: Array, normal: Array) -> Array:
    """Return an array without its mean and its share of ``normal``, in which directions a normalization is flat."""
    if frame.is_fixed:
        return array
    tilt = aten.mul.Tensor(normal, frame.average(aten.mul.Tensor(array, normal)))
    return aten.sub.Tensor(aten.sub.Tensor(array, frame.average(array)), tilt)
