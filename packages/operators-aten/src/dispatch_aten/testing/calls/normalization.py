"""Right calls of operators of ``normalization.rows`` that follow one pattern."""

from __future__ import annotations

from itertools import product
from typing import Any, Final

from dispatch_core import ops

from ..drawing import MASKS, CallRow, Draw, Make, call


def _backward_of(name: str, mask: tuple[bool, ...]) -> Make:
    """Make a call of a normalization's backward from its forward."""

    def make(r: Draw) -> tuple[Any, ...]:
        input, weight, bias = r.f(2, 4, 3), r.f(4), r.f(4)
        if name == "native_layer_norm":
            weight, bias = r.f(3), r.f(3)
            _, mean, rstd = ops.aten.native_layer_norm(input, [3], weight, bias, 1e-5)
            return r.f(2, 4, 3), input, [3], mean, rstd, weight, bias, list(mask)
        if name == "native_group_norm":
            _, mean, rstd = ops.aten.native_group_norm(input, weight, bias, 2, 4, 3, 2, 1e-5)
            return r.f(2, 4, 3), input, mean, rstd, weight, 2, 4, 3, 2, list(mask)
        _, mean, rstd = ops.aten.native_batch_norm(input, weight, bias, None, None, True, 0.1, 1e-5)
        return r.f(2, 4, 3), input, weight, None, None, mean, rstd, True, 1e-5, list(mask)

    return make


def _rms_norm_backward(mask: tuple[bool, ...]) -> Make:
    """Make a call of the backward of RMS normalization from its forward."""

    def make(r: Draw) -> tuple[Any, ...]:
        input, weight = r.f(2, 4, 3), r.f(3)
        _, rstd = ops.aten._fused_rms_norm(input, [3], weight, 1e-5)
        return r.f(2, 4, 3), input, [3], rstd, weight, list(mask)

    return make


CALLS: Final[tuple[CallRow, ...]] = (
    *(call("_fused_rms_norm_backward", _rms_norm_backward(mask)) for mask in product((True, False), repeat=2)),
    *(
        call(f"{name}_backward", _backward_of(name, mask))
        for name in ("native_layer_norm", "native_group_norm", "native_batch_norm")
        for mask in MASKS
    ),
)
