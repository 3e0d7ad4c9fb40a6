"""The gradients of root-mean-square normalisation, both of which the function always computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, contiguous

from ..aclnn.composition import compose
from ..aclnn.conditions import is_factor, is_filled
from ..aclnn.launch import allocate_result, launch
from ..arrays import AclArray

_NAME: Final = "_fused_rms_norm_backward"


def _rms_norm_backward(
    grad_out: AclArray,
    input: AclArray,
    normalized_shape: Sequence[int],
    rstd: AclArray,
    weight: AclArray | None,
    output_mask: Sequence[bool],
) -> tuple[AclArray | None, AclArray | None]:
    spec, dtype = input.spec, input.spec.dtype
    kept = len(spec.shape) - len(normalized_shape)
    if (
        weight is None
        or not is_factor(weight, input)
        or grad_out.spec.dtype is not dtype
        or not (is_filled(spec) and kept)
    ):
        found: tuple[AclArray | None, AclArray | None] = compose(
            _NAME, grad_out, input, normalized_shape, rstd, weight, output_mask
        )
        return found
    cached_rule(_NAME)(grad_out, input, normalized_shape, rstd, weight, output_mask)
    by_input = allocate_result(contiguous(spec.shape, dtype))
    by_weight = allocate_result(contiguous(weight.spec.shape, ScalarType.Float))
    rows = rstd.view(rstd.spec.shape[:kept], rstd.spec.strides[:kept], rstd.storage_offset)
    launch("aclnnRmsNormGrad", grad_out, input, rows, weight, by_input, by_weight)
    if weight.spec.dtype is not ScalarType.Float and output_mask[1]:
        narrow = allocate_result(contiguous(weight.spec.shape, weight.spec.dtype))
        launch("aclnnCast", by_weight, weight.spec.dtype, narrow)
        by_weight = narrow
    return by_input if output_mask[0] else None, by_weight if output_mask[1] else None


KERNELS: Final[dict[str, Callable[..., Any]]] = {_NAME: _rms_norm_backward}
