"""Reductions whose arguments aclnn takes in another form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import cached_rule, is_contiguous

from ..aclnn.launch import allocate_result, forbid_collecting, launch
from ..arrays import AclArray
from .copy import KERNELS as COPIES
from .view import KERNELS as VIEWS


def _flatten(self: AclArray) -> AclArray:
    """Return the elements in row-major order, in one dimension; a copy only of arrays that are not row-major."""
    spec = self.spec
    if not is_contiguous(spec.shape, spec.strides):
        self = COPIES["clone"](self, memory_format=0)
    flat: AclArray = VIEWS["view"](self, (spec.numel,))
    return flat


def _make_index_of_extreme(name: str, function: str) -> Callable[..., AclArray]:
    rule = cached_rule(name)

    def kernel(self: AclArray, dim: int | None = None, keepdim: bool = False) -> AclArray:
        array = allocate_result(rule(self, dim, keepdim))
        if dim is None:
            row = array if not keepdim else array.view((), (), 0)
            launch(function, _flatten(self), 0, False, row)
        elif self.spec.shape:
            launch(function, self, dim, keepdim, array)
        else:
            launch("aclnnInplaceZero", array)
        return array

    return kernel


def _make_variance(name: str, function: str) -> Callable[..., Any]:
    """Make the kernel of a variance or its root; the host computes one whose correction is not an integer."""
    rule = cached_rule(name)

    def kernel(self: AclArray, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        specs = rule(self, dim, correction=correction, keepdim=keepdim)
        freedom = 1 if correction is None else correction
        if int(freedom) != freedom:
            forbid_collecting()
            return dc.host_kernel(f"aten::{name}")(self, dim, correction=correction, keepdim=keepdim)
        results = [allocate_result(spec) for spec in (specs if isinstance(specs, tuple) else (specs,))]
        launch(function, self, _dims(dim), int(freedom), keepdim, *results)
        return tuple(results) if isinstance(specs, tuple) else results[0]

    return kernel


def _dims(dim: Any) -> Any:
    return () if dim is None else (dim,) if isinstance(dim, int) else dim


_aminmax_rule: Final = cached_rule("aminmax")


def _aminmax(self: AclArray, *, dim: int | None = None, keepdim: bool = False) -> tuple[AclArray, AclArray]:
    low, high = map(allocate_result, _aminmax_rule(self, dim=dim, keepdim=keepdim))
    if dim is None:
        launch("aclnnAminmaxAll", self, low.view((), (), 0), high.view((), (), 0))
    else:
        launch("aclnnAminmaxDim", self, dim, keepdim, low, high)
    return low, high


def _make_test(name: str, function: str) -> Callable[..., AclArray]:
    """Make the kernel of ``any.dims`` or ``all.dims``, where an empty list means no dimension, and none all of them."""
    rule = cached_rule(name)

    def kernel(self: AclArray, dim: Any = None, keepdim: bool = False) -> AclArray:
        array = allocate_result(rule(self, dim, keepdim))
        if dim is None or isinstance(dim, int) or len(dim):
            launch(function, self, _dims(dim), keepdim, array)
        else:
            # The result may be of bytes, which no comparison returns.
            launch("aclnnInplaceCopy", array, COPIES["_to_copy"](self, dtype=ScalarType.Bool))
        return array

    return kernel


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "argmax": _make_index_of_extreme("argmax", "aclnnArgMax"),
    "argmin": _make_index_of_extreme("argmin", "aclnnArgMin"),
    "var.correction": _make_variance("var.correction", "aclnnVarCorrection"),
    "std.correction": _make_variance("std.correction", "aclnnStd"),
    "var_mean.correction": _make_variance("var_mean.correction", "aclnnVarMean"),
    "aminmax": _aminmax,
    "any.dims": _make_test("any.dims", "aclnnAny"),
    "all.dims": _make_test("all.dims", "aclnnAll"),
}
