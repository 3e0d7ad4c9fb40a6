"""Kernels from the shape rules: a rule describes a result, and the kernel creates an array of it.

A kernel is an operator's rule, which keeps its answers, and one of the functions here, which turns an answer into the
kernel's results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions import IMPLICIT
from dispatch_aten.operators import ATEN_BY_NAME, OperatorDef
from dispatch_aten.operators import PRIMS as _PRIMS
from dispatch_aten.shapes import RULES, RULES_ON_EXPANDED, TensorMeta, cached_rule, check_output_shape, storage_extent
from dispatch_core.caches import LazyTable

from .arrays import MetaArray, describe_array, no_data_error

_Kernel = Callable[..., Any]
_new = object.__new__


def _to_fresh(specs: Any, first: MetaArray | None) -> Any:
    """Make results that have storages of their own."""
    if specs.__class__ is not TensorMeta:
        return tuple(map(MetaArray.from_spec, specs))
    # As in ``MetaArray.from_spec``, whose call would cost as much as the rest.
    array = _new(MetaArray)
    array.spec = specs
    array.storage_offset = 0
    array.owner = None
    return array


def _to_view(specs: Any, first: MetaArray) -> Any:
    """Make results that are views of the first argument."""
    if specs.__class__ is not TensorMeta:
        return [MetaArray.from_spec(each, first) for each in specs]
    if first.storage_offset and specs.dtype is not first.spec.dtype:
        return MetaArray.from_spec(specs, first)
    offset = specs.storage_offset
    array = _new(MetaArray)
    array.spec = specs.at_start() if offset else specs
    array.storage_offset = first.storage_offset + offset
    array.owner = first.owner or first
    return array


def _return_first(specs: TensorMeta, first: MetaArray) -> MetaArray:
    """Return the first argument, to which the operator writes."""
    return first


def _check_and_return_first(specs: TensorMeta, first: MetaArray) -> MetaArray:
    """Return the first argument, which may be expanded; ``specs`` describes the result of the functional operator."""
    check_output_shape(specs.shape, first.shape)
    return first


def _resize(specs: TensorMeta, first: MetaArray) -> MetaArray:
    return first if specs is first.spec else MetaArray.from_spec(specs, first)


_as_strided_rule: Final = cached_rule("as_strided")


def _as_strided(self: MetaArray, size: Any, stride: Any, storage_offset: int | None = None) -> MetaArray:
    """View the storage itself: an explicit offset counts from its beginning."""
    specs = _as_strided_rule(self, size, stride, storage_offset)
    array = MetaArray.from_spec(specs, self)
    if storage_offset is not None:
        array.storage_offset = storage_offset
    return array


def _doubt_view(self: MetaArray, size: Any, stride: Any, storage_offset: int | None = None) -> str:
    """Return why a view that exceeds its base may fail elsewhere, else ``""``: meta has no memory to exceed."""
    begin = self.storage_offset
    first = begin if storage_offset is None else storage_offset
    stop, end = first + storage_extent(size, stride), begin + storage_extent(self.shape, self.strides)
    is_inside = not all(size) or (all(self.shape) and begin <= first and stop <= end)
    return "" if is_inside else "only the array knows where its memory ends"


dc.KernelTraits(doubts=_doubt_view)(_as_strided)


def _refuse(operator: str) -> _Kernel:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        raise no_data_error(operator)

    return kernel


_NEED_DATA: Final = ("_local_scalar_dense",)


def _kernel(operator: OperatorDef) -> _Kernel:
    name = operator.name
    if name == "as_strided":
        return _as_strided
    if name in RULES_ON_EXPANDED:
        return cached_rule(RULES_ON_EXPANDED[name], _check_and_return_first)
    if name == "resize_":
        return cached_rule(name, _resize)
    if "inplace" in operator.tags:
        return cached_rule(name, _return_first)
    return cached_rule(name, _to_view if "view" in operator.tags else _to_fresh)


def _make_kernel(name: str) -> _Kernel:
    if name in _NEED_DATA:
        return _refuse(f"aten::{name}")
    operator = ATEN_BY_NAME[name]
    if "out" in operator.tags or name not in RULES or name in IMPLICIT:
        raise KeyError(name)
    return _kernel(operator)


def _list_kernels() -> list[str]:
    return [name for name in ATEN_BY_NAME if name in KERNELS]


KERNELS: Final[LazyTable[_Kernel]] = LazyTable(_make_kernel, _list_kernels)
"""Every kernel of the ``aten`` namespace, by operator name with overload; composites need none."""


def _device_put(data: Any, *, device: Any) -> MetaArray:
    return describe_array(data)


def _doubt_copy(data: Any, *, device: Any) -> str:
    """Return why the strides of a copy may differ on another device, which may share the memory of the host's array."""
    copied = describe_array(data).strides
    shared = tuple(step // data.itemsize for step in data.strides)
    return "" if copied == shared else "the array may share the memory of the host's array"


dc.KernelTraits(doubts=_doubt_copy)(_device_put)


def _write_nothing(*args: Any, **kwargs: Any) -> None:
    """Do a step of an optimizer, which gives nothing and leaves shapes as they are."""


_RULES: Final[dict[str, _Kernel]] = {
    row.name: cached_rule(f"prims::{row.name}", _to_fresh) for row in _PRIMS if f"prims::{row.name}" in RULES
}
PRIMS: Final[dict[str, _Kernel]] = {
    **_RULES,
    "device_get": _refuse("prims::device_get"),
    "device_put": _device_put,
    "adam_": _write_nothing,
    "sgd_": _write_nothing,
}
"""The kernels of the ``prims`` namespace."""
