"""Short ways of ``out=`` overloads: an output of the result's shape and dtype gets a copy of the kernel's result.

All other outputs, those that must be resized or converted, are left to the usual way, and so are its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from dispatch_core.frontends import WINDOWS

from ...arrays import Array
from ...fp_errors import run
from ...kernel_table import Kernel
from ..support.constants import NUMBERS
from ..support.rule_kernels import check_overlap

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


def _fits(out: Array, first: Array) -> bool:
    """Return whether a ufunc of arrays like ``first`` can write its result to ``out``, which no other array overlaps."""
    return (
        out.dtype is first.dtype
        and out.dtype in NUMBERS
        and out.shape == first.shape
        and ((base := out.base) is None or isinstance(base, WINDOWS))
        and ((base := first.base) is None or isinstance(base, WINDOWS))
        and out.flags.writeable
    )


def _write_unary(ufunc: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def way(self: Array, out: Array) -> Any:
        return run(ufunc, self, out) if _fits(out, self) else general(self, out=out)

    return way


def _write_binary(ufunc: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def way(self: Array, other: Array, out: Array) -> Any:
        return run(ufunc, self, other, out) if _fits(out, self) and _fits(out, other) else general(self, other, out=out)

    return way


def _write_scaled(ufunc: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def way(self: Array, other: Array, alpha: Any, out: Array) -> Any:
        if alpha.__class__ is int and alpha == 1 and _fits(out, self) and _fits(out, other):
            return run(ufunc, self, other, out)
        return general(self, other, alpha=alpha, out=out)

    return way


#: Functional operators that are a ufunc for ``float32`` and ``float64`` → the maker of their way, and the ufunc.
_UFUNCS: Final[dict[str, tuple[Callable[..., Callable[..., Any]], Callable[..., Any]]]] = {
    "add.Tensor": (_write_scaled, np.add),
    "sub.Tensor": (_write_scaled, np.subtract),
    "mul.Tensor": (_write_binary, np.multiply),
    "div.Tensor": (_write_binary, np.divide),
    **{name: (_write_unary, getattr(np, name)) for name in "exp log log2 sqrt sin cos tanh floor ceil trunc".split()},
}


def make_short_outs(kernels: Mapping[str, Kernel]) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Return the short ways of overloads with an output, made of the functional operators' kernels."""
    named = {**{name: f"{name}.out" for name in _PLAIN.split()}, **_NAMED}
    ways = {name: _write_result(kernels[name]) for name in named}
    ways |= {name: make(ufunc, ways[name]) for name, (make, ufunc) in _UFUNCS.items()}
    return {overload: (ways[name], {"parts": (name, "copy_")}) for name, overload in named.items()}
