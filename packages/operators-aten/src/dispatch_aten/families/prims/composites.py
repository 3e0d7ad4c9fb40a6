"""The primitives in terms of other operators, for devices that do not bring them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, has_kernel, has_views, overload, serve
from dispatch_aten.decompositions._writes import scatter_into
from dispatch_aten.dtypes import int64
from dispatch_aten.errors import OperatorError
from dispatch_aten.shapes import RULES, contiguous
from dispatch_core.frontends import to_data

from .optimizers import adam_step, sgd_step

if TYPE_CHECKING:
    from collections.abc import Callable


def _by_view(name: str, view: str) -> Callable[..., Array]:
    """Make a primitive of the rule of a view and ``as_strided``, which arrays without strides take as row-major."""

    def kernel(self: Array, *args: Any) -> Array:
        RULES[f"prims::{name}"](contiguous(dc.shape(self), dc.dtype(self)), *args)
        if has_views(self):
            return aten.clone.default(overload(view)(self, *args), memory_format=0)
        if not has_kernel("aten::as_strided", self):
            device = dc.device(self)
            raise dc.NoKernelError(
                f"prims::{name}: no kernel for device {device}, whose arrays have no strides",
                hint="required_kernels(mutable=False, strided=False) of dispatch_aten.decompositions lists what it needs",
            )
        meta = RULES[view](contiguous(dc.shape(self), dc.dtype(self)), *args)
        # The result is an array of its own, which a frontend shall not take for a view.
        found = aten.as_strided.default(to_data(self), meta.shape, meta.strides, meta.storage_offset)
        return dc.wrap_like(self, found)

    return serve(kernel, viewed=True)


def _take(self: Array, index: Array) -> Array:
    flat = aten.reshape.default(self, (-1,))
    found = aten.index.Tensor(flat, [aten.reshape.default(index, (-1,))])
    return aten.reshape.default(found, dc.shape(index))


def _slice_scatter(self: Array, src: Array, dim: int, start: int, end: int, step: int) -> Array:
    if has_views(self) and dc.is_mutable(self):
        copy = aten.clone.default(self, memory_format=0)
        return scatter_into(copy, [(aten.slice.Tensor, (dim, start, end, step))], src)
    line = aten.arange.start_step(start, end, step, dtype=int64, device=dc.device(self))
    indices = [None] * dim + [dc.wrap_like(self, line)]
    return aten.index_put.default(self, indices, src, False)


def _pin_memory(self: Array, device: str) -> Array:
    """Refuse any tensor: the backend of the host has a kernel."""
    raise OperatorError(
        f"cannot pin a tensor on {dc.device(self)}: only dense CPU tensors can be pinned", argument="self"
    )


PRIMITIVES: Final[dict[str, Callable[..., Any]]] = {
    "pin_memory": _pin_memory,
    "reshape": _by_view("reshape", "reshape"),
    "permute": _by_view("permute", "permute"),
    "slice": _by_view("slice", "slice.Tensor"),
    "broadcast_to": _by_view("broadcast_to", "expand"),
    "take": _take,
    "slice_scatter": _slice_scatter,
    "adam_": adam_step,
    "sgd_": sgd_step,
}
