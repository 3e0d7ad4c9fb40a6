"""Functions of the formulas of resampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, widen
from dispatch_aten.families.resampling.grids import GridPoints

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["differentiate_grid"]


def differentiate_grid(
    wanted: str, grads: Sequence[Any], grad_output: Array, input: Array, grid: Array, *options: Any
) -> Any:
    """Return the gradient that ``grid_sampler_2d_backward``, or its kind, sends to one of its tensors.

    ``grads`` are the gradients of its two results. Its first result adds ``grad_output`` times weights to images, the second
    sums it up over the elements around each point, times derivatives of these weights.
    """
    to_input, to_grid = (None if each is None else widen(each) for each in grads)
    grad_output, input, grid = widen(grad_output), widen(input), widen(grid)
    points = GridPoints(dc.shape(input)[2:], grid, *options)
    dims = range(len(points.sizes))
    numbers = None
    if to_grid is not None:
        flat = aten.reshape.default(to_grid, [points.batch, 1, 1, points.points, len(dims)])
        numbers = [aten.select.int(flat, 4, len(dims) - 1 - dim) for dim in dims]

    def lean(*by: int) -> Array | None:
        """Return the derivatives of the weights along the direction that the second result's gradient has."""
        found = None
        for dim in dims:
            slope = points.weigh(dim, *by)
            if numbers is not None and slope is not None:
                part = aten.mul.Tensor(numbers[dim], slope)
                found = part if found is None else aten.add.Tensor(found, part)
        return found

    if wanted == "grad_output":
        weights = [(to_input, points.weigh()), (input, lean())]
        parts = [
            aten.mul.Tensor(points.take(image), weight)
            for image, weight in weights
            if image is not None and weight is not None
        ]
        return points.sum_up(_add(parts)) if parts else aten.zeros_like.default(grad_output)
    slope = points.spread(grad_output)
    if wanted == "input":
        leaning = lean()
        return aten.zeros_like.default(input) if leaning is None else points.send(aten.mul.Tensor(slope, leaning))
    lines: list[Array | None] = []
    for dim in dims:
        weights = [(to_input, points.weigh(dim)), (input, lean(dim))]
        parts = [
            aten.mul.Tensor(aten.sum.dim_IntList(aten.mul.Tensor(slope, points.take(image)), [1], True), weight)
            for image, weight in weights
            if image is not None and weight is not None
        ]
        lines.append(_add(parts) if parts else None)
    return points.join(lines, grid)


def _add(parts: list[Array]) -> Array:
    found = parts[0]
    for part in parts[1:]:
        found = aten.add.Tensor(found, part)
    return found
