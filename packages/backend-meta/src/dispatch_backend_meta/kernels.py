"""Kernels made from the shape rules: what a rule describes becomes an array.

A kernel is an operator's rule, which remembers its answers, and one of the functions here, which make of an answer what
the kernel returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.decompositions import IMPLICIT
from dispatch_aten.operators import ATEN, OperatorDef
from dispatch_aten.shapes import RULES, TensorMeta, cached_rule, check_output_shape

from .arrays import MetaArray, like_array, no_data

__all__ = ["KERNELS", "PRIMS"]

_Kernel = Callable[..., Any]
_new = object.__new__


def _fresh(found: Any, first: MetaArray | None) -> Any:
    """Make results that have storages of their own."""
    if found.__class__ is not TensorMeta:
        return tuple(map(MetaArray.of, found))
    # As ``MetaArray.of`` does it: a call more would cost as much as the rest.
    array = _new(MetaArray)
    array.spec = found
    array.storage_offset = 0
    array.owner = None
    return array


def _view(found: Any, first: MetaArray) -> Any:
    """Make results that are views of the first argument."""
    if found.__class__ is not TensorMeta:
        return [MetaArray.of(each, first) for each in found]
    offset = found.storage_offset
    array = _new(MetaArray)
    array.spec = found.at_start() if offset else found
    array.storage_offset = first.storage_offset + offset
    array.owner = first.owner or first
    return array


def _written(found: TensorMeta, first: MetaArray) -> MetaArray:
    """Give back the first argument, which the operator writes to."""
    return first


def _written_expanded(found: TensorMeta, first: MetaArray) -> MetaArray:
    """Give back the first argument, which may be expanded; ``found`` is what the functional operator would return."""
    check_output_shape(found.shape, first.shape)
    return first


def _resized(found: TensorMeta, first: MetaArray) -> MetaArray:
    return first if found is first.spec else MetaArray.of(found, first)


_strided: Final = cached_rule("as_strided")


def _as_strided(self: MetaArray, size: Any, stride: Any, storage_offset: int | None = None) -> MetaArray:
    """View the storage itself: an offset that is given is counted from its start."""
    found = _strided(self, size, stride, storage_offset)
    array = MetaArray.of(found, self)
    if storage_offset is not None:
        array.storage_offset = storage_offset
    return array


def _beyond(self: MetaArray, size: Any, stride: Any, storage_offset: int | None = None) -> str:
    """Say, where a view reaches beyond what its base shows, that there may be no memory: meta's arrays have none to miss."""
    begin = self.storage_offset
    first = begin if storage_offset is None else storage_offset
    last = first + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    end = begin + sum((length - 1) * step for length, step in zip(self.shape, self.strides, strict=True))
    is_inside = not all(size) or (all(self.shape) and begin <= first and last <= end)
    return "" if is_inside else "how far the memory reaches is seen in the array"


_as_strided.doubts = _beyond  # type: ignore[attr-defined]  # pipelines ask it


def _without_data(operator: str) -> _Kernel:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        raise no_data(operator)

    return kernel


_ON_EXPANDED: Final = {
    "fill_.Scalar": "fill.Scalar",
    "zero_": "alias",
    "index_put_": "index_put",
    "masked_fill_.Scalar": "masked_fill.Scalar",
    "masked_fill_.Tensor": "masked_fill.Tensor",
}
"""Operators that torch lets write to expanded tensors, and whose rule makes their other checks."""

_NEED_DATA: Final = ("_local_scalar_dense",)


def _kernel(operator: OperatorDef) -> _Kernel:
    name = operator.name
    if name == "as_strided":
        return _as_strided
    if name in _ON_EXPANDED:
        return cached_rule(_ON_EXPANDED[name], _written_expanded)
    if name == "resize_":
        return cached_rule(name, _resized)
    if "inplace" in operator.tags:
        return cached_rule(name, _written)
    return cached_rule(name, _view if "view" in operator.tags else _fresh)


KERNELS: Final[dict[str, _Kernel]] = {
    operator.name: _kernel(operator)
    for operator in ATEN
    if operator.name in RULES and operator.name not in IMPLICIT and "out" not in operator.tags
} | {name: _without_data(f"aten::{name}") for name in _NEED_DATA}
"""Every kernel of the ``aten`` namespace, by operator name with overload; composites are left to themselves."""


def _device_put(data: Any, *, device: Any) -> MetaArray:
    return like_array(data)


def _may_be_shared(data: Any, *, device: Any) -> str:
    """Say, where a copy would be laid out without the gaps of the host's array, that other devices may share its memory."""
    copied = like_array(data).strides
    shared = tuple(step // data.itemsize for step in data.strides)
    return "" if copied == shared else "the array may lie in the host's memory, as that does"


_device_put.doubts = _may_be_shared  # type: ignore[attr-defined]  # what compares results asks it


PRIMS: Final[dict[str, _Kernel]] = {
    "device_get": _without_data("prims::device_get"),
    "device_put": _device_put,
}
"""The kernels of the ``prims`` namespace."""
