"""Shape rules of sampling at the points of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.families.pooling.adaptive_shapes import check_gradient
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BICUBIC: Final = 2
"""The number of cubic interpolation, which images alone have."""


def check_grid(input: TensorMeta, grid: TensorMeta, mode: int, count: int | None) -> int:
    """Return the number of dimensions that are sampled, or raise torch's error."""
    shape, points = input.shape, grid.shape
    both = f"but got input with sizes {list(shape)} and grid with sizes {list(points)}"
    if not shape or not points or shape[0] != points[0]:
        raise ShapeError(f"grid_sampler(): expected grid and input to have same batch size, {both}", argument="grid")
    if points[-1] != len(shape) - 2:
        raise ShapeError(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but got grid with sizes "
            f"{list(points)}",
            argument="grid",
        )
    for dim, size in enumerate(shape[2:], 2):
        if not size:
            raise ShapeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(shape)} with dimension {dim} being empty",
                argument="input",
            )
    wanted = (4, 5) if count is None else (count + 2,)
    if len(shape) not in wanted or len(points) != len(shape):
        ranks = " or ".join(f"{each}D" for each in wanted)
        raise ShapeError(
            f"grid_sampler(): expected {ranks} input and grid with same number of dimensions, {both}", argument="grid"
        )
    if len(shape) == 5 and mode == BICUBIC:
        raise OperatorError(
            "grid_sampler(): bicubic interpolation only supports 4D input", argument="interpolation_mode"
        )
    if input.dtype != grid.dtype:
        raise OperatorError(f"expected scalar type {input.dtype.name} but found {grid.dtype.name}", argument="grid")
    refuse_kinds(f"grid_sampler_{len(shape) - 2}d_cpu_kernel_impl", "bic", input.dtype)
    return len(shape) - 2


def _sample(count: int) -> Callable[..., TensorMeta]:
    def rule(
        input: TensorMeta, grid: TensorMeta, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> TensorMeta:
        check_grid(input, grid, interpolation_mode, count)
        return contiguous((*input.shape[:2], *grid.shape[1:-1]), input.dtype)

    return rule


def _sample_backward(count: int) -> Callable[..., tuple[TensorMeta, TensorMeta]]:
    def rule(
        grad_output: TensorMeta,
        input: TensorMeta,
        grid: TensorMeta,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
        output_mask: Sequence[bool],
    ) -> tuple[TensorMeta, TensorMeta]:
        check_grid(input, grid, interpolation_mode, count)
        check_gradient(grad_output, (*input.shape[:2], *grid.shape[1:-1]))
        # A result that is not asked for has no elements.
        by_input, by_grid = (
            contiguous(each.shape if asked else (0,), each.dtype)
            for each, asked in zip((input, grid), output_mask, strict=True)
        )
        return by_input, by_grid

    return rule
