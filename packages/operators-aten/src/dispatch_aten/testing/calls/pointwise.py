"""Right calls of the operators of ``operators.pointwise``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("remainder.Scalar_Tensor", lambda r: (5.5, r.f(4))),
    call("add.Tensor sub.Tensor", lambda r: (r.f(2, 3), r.f(2, 1)), alpha=-2.5),
    call("rsub.Scalar", lambda r: (r.f(2, 3), 2, 3)),
    call("pow.Tensor_Scalar", lambda r: (r.f(2, 3), 3)),
    call("pow.Tensor_Scalar", lambda r: (r.f(2, 3), 0)),
    call("pow.Tensor_Scalar", lambda r: (np.zeros(3), 2)),
    call("pow.Tensor_Tensor", lambda r: (r.f(3, low=0.1, high=2.0), r.f(2, 3))),
    call("pow.Tensor_Tensor", lambda r: (np.array([0.0, 0.0, 2.0]), np.array([0.0, 2.0, 0.0]))),
    call("pow.Scalar", lambda r: (2.5, r.f(3))),
    call("pow.Scalar", lambda r: (0, np.array([0.0, 1.0]))),
    call("div.Tensor_mode", lambda r: (r.f(3), r.f(2, 3)), rounding_mode="floor"),
    call("div.Tensor_mode", lambda r: (r.f(3), r.f(2, 3)), rounding_mode="trunc"),
    call("div.Tensor_mode", lambda r: (r.f(3), r.f(2, 3)), rounding_mode=None),
    call("div.Scalar_mode", lambda r: (r.f(3), 0.7), rounding_mode="trunc"),
    call("round.decimals", lambda r: (r.f(3),), decimals=2),
    call("clamp", lambda r: (r.f(9), -0.5, 0.5)),
    call("clamp", lambda r: (r.i(9, 9), 2, None)),
    call("clamp.Tensor", lambda r: (r.f(2, 9), r.f(9), r.f(9))),
    call("lerp.Scalar", lambda r: (r.f(2, 3), r.f(3), 0.3)),
    call("lerp.Tensor", lambda r: (r.f(2, 3), r.f(3), r.f(2, 1))),
    call("addcmul addcdiv", lambda r: (r.f(2, 3), r.f(3), r.f(2, 1)), value=1.5),
    call("where.self", lambda r: (r.b(2, 3), r.f(3), r.f(2, 1))),
    call("where.ScalarSelf", lambda r: (r.b(2, 3), -1.5, r.f(2, 3))),
    call("where.ScalarSelf", lambda r: (r.b(2, 3), 2, r.f(2, 1))),
    call("where.ScalarOther", lambda r: (r.b(2, 3), r.f(2, 3), 0)),
    call("where.ScalarOther", lambda r: (r.b(2, 3), r.i(4, 3), 2.5)),
    call("where.ScalarOther", lambda r: (r.b(2, 3), r.f(2, 3), 2.5)),
    call("where.Scalar", lambda r: (r.b(2, 3), 1, 2.5)),
    call("masked_fill.Scalar", lambda r: (r.f(2, 3), r.b(3), 2)),
    call("masked_fill.Tensor", lambda r: (r.f(3), r.b(2, 3), r.f())),
    call(
        "abs cos sin neg exp exp2 expm1 erf erfc tanh sigmoid atan asinh sinh cosh tan sign frac isnan isinf "
        "isfinite square floor ceil round trunc logical_not reciprocal nan_to_num positive negative absolute "
        "signbit deg2rad rad2deg arctan fix frexp.Tensor",
        lambda r: (r.f(2, 3),),
    ),
    call("log log2 log10 log1p sqrt rsqrt", lambda r: (r.f(2, 3, low=0.1, high=3.0),)),
    call("asin acos atanh", lambda r: (r.f(2, 3, low=-0.9, high=0.9),)),
    call("acosh", lambda r: (r.f(2, 3, low=1.1, high=3.0),)),
    call(
        "add.Tensor sub.Tensor rsub.Tensor mul.Tensor div.Tensor maximum minimum atan2 remainder.Tensor "
        "fmod.Tensor logical_and logical_or logical_xor copysign.Tensor hypot fmax fmin logaddexp logaddexp2 "
        "nextafter arctan2 ldexp.Tensor subtract.Tensor multiply.Tensor divide.Tensor floor_divide "
        "clamp_min.Tensor clamp_max.Tensor",
        lambda r: (r.f(2, 3), r.f(3)),
    ),
    call(
        "add.Scalar sub.Scalar rsub.Scalar mul.Scalar div.Scalar remainder.Scalar fmod.Scalar "
        "floor_divide.Scalar clamp_min clamp_max",
        lambda r: (r.f(2, 3), 0.7),
    ),
    call("bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor", lambda r: (r.i(9, 2, 3), r.i(9, 3))),
    call("bitwise_not", lambda r: (r.i(9, 2, 3),)),
    call("where", lambda r: (r.b(2, 3),)),
    call("gcd lcm", lambda r: (r.i(40, 9) - 20, r.i(40, 2, 9) - 20)),
    call("heaviside float_power.Tensor_Tensor", lambda r: (r.p(2, 3), r.f(3))),
    call("float_power.Tensor_Scalar copysign.Scalar", lambda r: (r.f(3), 2)),
    call("float_power.Scalar", lambda r: (2, r.f(3, low=0.1, high=2.0))),
    call("__and__.Tensor __or__.Tensor __xor__.Tensor", lambda r: (r.i(9, 4), r.i(9, 4))),
    call(
        "__and__.Scalar __or__.Scalar __xor__.Scalar bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar",
        lambda r: (r.i(9, 4), 5),
    ),
    call("bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor bitwise_xor.Scalar_Tensor", lambda r: (5, r.i(9, 4))),
    call("bitwise_left_shift.Tensor bitwise_right_shift.Tensor", lambda r: (r.i(99, 9) - 50, r.i(80, 2, 9) - 8)),
    call(
        "bitwise_left_shift.Tensor bitwise_right_shift.Tensor",
        lambda r: (r.i(99, 20).astype("int8"), np.arange(-5, 15).astype("int8")),
    ),
    call(
        "bitwise_left_shift.Tensor bitwise_right_shift.Tensor",
        lambda r: (r.i(256, 20).astype("uint8"), np.arange(20).astype("uint8")),
    ),
    call("bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor_Scalar", lambda r: (r.i(99, 9) - 50, 3)),
    call("bitwise_left_shift.Scalar_Tensor bitwise_right_shift.Scalar_Tensor", lambda r: (-5, r.i(80, 9) - 8)),
)
