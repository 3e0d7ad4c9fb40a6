"""Classes derived from `Tensor`: how their tensors are made, and what they do where they override nothing themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import look_for_classes
from dispatch_core.keys import DispatchKeySet

from ..history.differentiable import Differentiable
from ..names.lazy_attributes import LazyAttribute, LazyProperty
from ..overriding import handling
from ..overriding.callers import find_called, leave_out_defaults
from ..overriding.public_attributes import is_property, list_published
from ..overriding.table import read
from ..tensors.overriding_classes import CLASSES, DISABLED, DISABLED_DISPATCH, DISPATCHING, PYTHON
from ..tensors.tensor import Tensor
from .dispatch import read_device

_mask: Final[Any] = vars(Differentiable)["_dispatch_mask"]
_read_mask, _write_mask = _mask.__get__, _mask.__set__


def _get_mask(self: Any) -> int:
    """Return the mask with the keys of the class; see Note [Overriding classes] in `tensors.overriding_classes`."""
    kind = type(self)
    mask: int = _read_mask(self)
    if kind.__torch_function__ is not DISABLED:
        mask |= CLASSES
    if kind.__torch_dispatch__ is not DISABLED_DISPATCH:
        mask |= PYTHON
    return mask


def _set_mask(self: Any, mask: int) -> None:
    _write_mask(self, mask & ~(CLASSES | PYTHON))


class Overridable(Tensor):
    """Stands before `Tensor` in the order of classes that override functions; see Note [Overriding classes]."""

    __slots__ = ()
    __module__ = "torchlike"
    __torch_function__ = DISABLED
    _adds_keys = True

    _dispatch_mask = property(_get_mask, _set_mask)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a tensor with data as `Tensor` does."""
        return Tensor._construct(cls, *args, **kwargs)


del Overridable.__torch_function__  # which kept it from being derived from itself

_begun: list[bool] = []


def begin(keys: int) -> None:
    """Prepare for the first classes whose tensors have these keys."""
    if keys & PYTHON:
        look_for_classes()
        DISPATCHING[:] = [True]
    if not _begun:
        _begun.append(True)
        handling.begin()
        dc.registry.ensure_fallback(dc.DispatchKey.TorchFunction, _handle, with_keyset=True)
        _complete()


def _handle(keyset: DispatchKeySet, op: Any, *args: Any, **kwargs: Any) -> Any:
    """Hand the call of an operator to the classes of its arguments."""
    found = handling.find_overriding((*args, *kwargs.values())) if handling.are_classes_asked() else []
    called = find_called(op) if found else None
    if called is None or handling.is_skipped(called):
        return op.redispatch(keyset - "TorchFunction", *args, **kwargs)
    return handling.call_override(called, found, *leave_out_defaults(op, args, kwargs))


def _complete() -> None:
    """Set the methods and properties in `Overridable` that are not found to be overridden in a call of an operator.

    See Note [Attributes of the class] in `overriding.public_attributes`.
    """
    shown: Any = Tensor.device
    shown.__get__.__wrapped__ = read_device(shown.__get__.__wrapped__)
    for name in list_published():
        kind = LazyProperty if is_property(name) else LazyAttribute
        setattr(Overridable, name, kind(Overridable, name, partial(getattr, Tensor, name)))


@lru_cache(maxsize=1)
def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Return the functions whose results `Tensor.__torch_function__` leaves as they are (source: ``torch.overrides``)."""
    return {getattr(Tensor, word.partition(".")[0]).__get__ for word in read()["plain results"]}


def as_class(value: Any, cls: type) -> Any:
    """Return a result with its tensors, also those in lists and tuples, as objects of a class."""
    if cls is Tensor:
        return value
    if isinstance(value, Tensor) and not isinstance(value, cls):
        return value.as_subclass(cls)
    if isinstance(value, tuple | list):
        made = [as_class(each, cls) for each in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


def default_torch_function(
    cls: type, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """Call a function without overrides, and return its tensors as objects of the class.

    ``NotImplemented`` where an argument's class is not a base of it (source: ``torch.Tensor.__torch_function__``).
    """
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    with dc.exclude_keys("TorchFunction"):
        result = func(*args, **(kwargs or {}))
    return result if func in get_default_nowrap_functions() else as_class(result, cls)
