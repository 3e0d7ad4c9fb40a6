"""Kernels made from the shape rules: what a rule describes becomes an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dispatch_aten.decompositions import IMPLICIT
from dispatch_aten.errors import ShapeError
from dispatch_aten.operators import ATEN, OperatorDef
from dispatch_aten.shapes import RULES, TensorMeta

from .arrays import MetaArray, check_writable, like_array, no_data

__all__ = ["KERNELS", "PRIMS"]

_Kernel = Callable[..., Any]
_Rule = Callable[..., Any]


def _fresh(rule: _Rule) -> _Kernel:
    """Make the kernel of an operator whose results have storages of their own."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        found = rule(*args, **kwargs)
        if isinstance(found, TensorMeta):
            return MetaArray.of(found)
        return type(found)([MetaArray.of(each) for each in found])

    return kernel


def _view(rule: _Rule) -> _Kernel:
    """Make the kernel of an operator whose results are views of its first argument."""

    def kernel(self: MetaArray, *args: Any, **kwargs: Any) -> Any:
        found = rule(self, *args, **kwargs)
        if isinstance(found, TensorMeta):
            return MetaArray.of(found, self.storage)
        return [MetaArray.of(each, self.storage) for each in found]

    return kernel


def _inplace(rule: _Rule) -> _Kernel:
    """Make the kernel of an operator that writes to its first argument: it checks, and gives the argument back."""

    def kernel(self: MetaArray, *args: Any, **kwargs: Any) -> MetaArray:
        check_writable(self)
        rule(self, *args, **kwargs)
        return self

    return kernel


def _inplace_on_expanded(functional: _Rule) -> _Kernel:
    """Make the kernel of an operator that may write to expanded arrays, from the functional operator's rule."""

    def kernel(self: MetaArray, *args: Any, **kwargs: Any) -> MetaArray:
        found = functional(self, *args, **kwargs)
        if found.shape != self.shape:
            raise ShapeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(found.shape)}",
                argument="self",
            )
        return self

    return kernel


def _resize(rule: _Rule) -> _Kernel:
    def kernel(self: MetaArray, *args: Any, **kwargs: Any) -> MetaArray:
        found = rule(self, *args, **kwargs)
        return self if found is self else MetaArray.of(found, self.storage)

    return kernel


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
    if operator.name in _ON_EXPANDED:
        return _inplace_on_expanded(RULES[_ON_EXPANDED[operator.name]])
    rule = RULES[operator.name]
    if operator.name == "resize_":
        return _resize(rule)
    if "inplace" in operator.tags:
        return _inplace(rule)
    return _view(rule) if "view" in operator.tags else _fresh(rule)


KERNELS: Final[dict[str, _Kernel]] = {
    operator.name: _kernel(operator)
    for operator in ATEN
    if operator.name in RULES and operator.name not in IMPLICIT and "out" not in operator.tags
} | {name: _without_data(f"aten::{name}") for name in _NEED_DATA}
"""Every kernel of the ``aten`` namespace, by operator name with overload; composites are left to themselves."""


def _device_put(data: Any, *, device: Any) -> MetaArray:
    return like_array(data)


PRIMS: Final[dict[str, _Kernel]] = {
    "device_get": _without_data("prims::device_get"),
    "device_put": _device_put,
}
"""The kernels of the ``prims`` namespace."""
