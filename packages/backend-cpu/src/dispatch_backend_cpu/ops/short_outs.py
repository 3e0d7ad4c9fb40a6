"""Short ways of ``out=`` overloads: an output of the result's shape and dtype gets a copy of what the kernel returns.

All other outputs, those that must be resized or converted, are left to the usual way, and so are its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ..arrays import Array
from ..kernel_table import Kernel
from .rule_kernels import check_overlap

#: Functional operator → its overload with an output, where that is not ``name.out``.
_NAMED: Final = {
    **{f"{name}.Tensor": f"{name}.out" for name in "add sub mul div copysign".split()},
    **{
        f"{name}.{kind}": f"{name}.{kind}_out"
        for name in "eq ne lt le gt ge remainder".split()
        for kind in ("Tensor", "Scalar")
    },
    **{f"pow.{kind}": f"pow.{kind}_out" for kind in ("Tensor_Tensor", "Tensor_Scalar", "Scalar")},
    "lerp.Scalar": "lerp.Scalar_out",
    "lerp.Tensor": "lerp.Tensor_out",
    "where.self": "where.self_out",
    "sum.dim_IntList": "sum.IntList_out",
    "mean.dim": "mean.out",
    "prod.dim_int": "prod.int_out",
    "any.dim": "any.out",
    "all.dim": "all.out",
}
_PLAIN: Final = """
    neg abs sign exp expm1 log log2 log1p sqrt rsqrt reciprocal sin cos tan tanh atan2 sigmoid erf floor ceil round trunc
    clamp clamp_min clamp_max maximum minimum addcmul addcdiv logical_and logical_or logical_not floor_divide amax amin
    argmax argmin cumsum mm bmm mv dot addmm baddbmm
"""


def _write_result(functional: Kernel) -> Callable[..., Any]:
    def way(*args: Any, out: Array, **kwargs: Any) -> Any:
        check_overlap(out, *args)
        found = functional(*args, **kwargs)
        if found.dtype is not out.dtype or found.shape != out.shape:
            return NotImplemented
        np.copyto(out, found)
        return out

    return way


def make_short_outs(kernels: Mapping[str, Kernel]) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Return the short ways of overloads with an output, made of the functional operators' kernels."""
    named = {**{name: f"{name}.out" for name in _PLAIN.split()}, **_NAMED}
    return {overload: (_write_result(kernels[name]), {"parts": (name, "copy_")}) for name, overload in named.items()}
