"""The gradients of sampling at the points of a grid: the function takes a tensor for each of them, asked for or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.shapes import cached_rule, contiguous

from ..aclnn.composition import compose
from ..aclnn.conditions import is_sampled
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray

_FUNCTIONS: Final = {2: "aclnnGridSampler2DBackward", 3: "aclnnGridSampler3DBackward"}


def _grid_sampler_backward(count: int) -> Callable[..., tuple[AclArray | None, AclArray | None]]:
    name = f"grid_sampler_{count}d_backward"
    rule = cached_rule(name)

    def kernel(
        grad_output: AclArray,
        input: AclArray,
        grid: AclArray,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
        output_mask: Sequence[bool],
    ) -> tuple[AclArray | None, AclArray | None]:
        tensors, options = (grad_output, input, grid), (interpolation_mode, padding_mode, align_corners)
        # CANN 8.1 has no gradient of cubic interpolation.
        is_taken = interpolation_mode < 2 and grad_output.dtype is input.dtype and any(output_mask)
        if not is_taken or not is_sampled(input, grid, interpolation_mode, padding_mode):
            composed: tuple[AclArray | None, AclArray | None] = compose(name, *tensors, *options, output_mask)
            return composed
        rule(*tensors, *options, output_mask)
        by_input, by_grid = (allocate_result(contiguous(each.shape, each.dtype)) for each in (input, grid))
        launch(_FUNCTIONS[count], *tensors, *options, [*output_mask], by_input, by_grid)
        return by_input if output_mask[0] else None, by_grid if output_mask[1] else None

    return kernel


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    f"grid_sampler_{count}d_backward": _grid_sampler_backward(count) for count in (2, 3)
}
