"""Right calls of the operators of ``operators.normalization``: names, and a function that draws their arguments."""

from __future__ import annotations

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


CALLS: Final[tuple[CallRow, ...]] = (
    call("_weight_norm", lambda r: (r.f(4, 3), r.f(4, 1))),
    call("batch_norm", lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), r.f(4), r.p(4), False, 0.1, 1e-5, False)),
    call("batch_norm instance_norm", lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), None, None, True, 0.1, 1e-5, False)),
    call("native_batch_norm", lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), None, None, True, 0.1, 1e-5)),
    call("_native_batch_norm_legit.no_stats", lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), True, 0.1, 1e-5)),
    call(
        "_native_batch_norm_legit_functional",
        lambda r: (
            r.f(2, 4, 3),
            r.f(4),
            r.f(4),
            r.f(4),
            r.p(4),
            True,
            0.1,
            1e-5,
        ),
    ),
    call("_native_batch_norm_legit_no_training", lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), r.f(4), r.p(4), 0.1, 1e-5)),
    call("group_norm", lambda r: (r.f(2, 4, 3), 2, r.f(4), r.f(4))),
    call("native_group_norm", lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), 2, 4, 3, 2, 1e-5)),
    call("layer_norm rms_norm", lambda r: (r.f(2, 4, 3), [4, 3], r.f(4, 3))),
    call("native_layer_norm", lambda r: (r.f(2, 4, 3), [3], r.f(3), r.f(3), 1e-5)),
    *(
        call(f"{name}_backward", _backward_of(name, mask))
        for name in ("native_layer_norm", "native_group_norm", "native_batch_norm")
        for mask in MASKS
    ),
)
