"""Classes derived from `Tensor`: how their tensors are made, and what they do where they override nothing themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.keys import DispatchKeySet

from ..functions.operator_functions import METHODS
from ..history.differentiable import Differentiable
from ..methods.python_operators import FORWARD_OPERATORS, PYTHON_OPERATORS
from ..names.lazy_attributes import LazyAttribute, LazyProperty
from ..names.lazy_names import LeftOut
from ..overriding import handling
from ..overriding.wrapping import make_method
from ..tensors.overriding_classes import CLASSES, DISABLED, DISABLED_DISPATCH, PYTHON
from ..tensors.tensor import Tensor
from .table import UNLISTED, read, read_operators

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

    _dispatch_mask = property(_get_mask, _set_mask)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a tensor with data as `Tensor` does."""
        return Tensor._construct(cls, *args, **kwargs)


del Overridable.__torch_function__  # which kept it from being derived from itself

_begun: list[bool] = []


def begin(keys: int) -> None:
    """Prepare for the first classes whose tensors have these keys."""
    if keys & CLASSES and not _begun:
        _begun.append(True)
        handling.begin()
        dc.registry.ensure_fallback(dc.DispatchKey["TorchFunction"], _handle, with_keyset=True)
        _complete()


def _handle(keyset: DispatchKeySet, op: Any, *args: Any, **kwargs: Any) -> Any:
    """Hand the call of an operator to the classes of its arguments."""
    found = handling.find_overriding((*args, *kwargs.values())) if handling.are_classes_asked() else []
    if not found:
        return op.redispatch(keyset - "TorchFunction", *args, **kwargs)
    return handling.call_override(op, found, args, kwargs)


def _complete() -> None:
    """Set the methods and properties that look for overrides in `Overridable`; those of operators look themselves."""
    own = METHODS.keys() | FORWARD_OPERATORS
    operators = read_operators()
    for name in {*read()["Tensor"], *UNLISTED.split()} - own:
        if (method := _find(name)) is not None:
            maker = partial(_make, name, operators.get(name, name), method)
            setattr(Overridable, name, LazyAttribute(Overridable, name, maker))
    for word in read()["properties"]:
        name = word.partition(".")[0]
        if (method := _find(name)) is not None:
            setattr(Overridable, name, LazyProperty(Overridable, name, partial(_make_property, name)))


def _find(name: str) -> Any:
    """Return the attribute of the tensor class, as it stands there, or None where it has none of the name."""
    found = next((vars(kind)[name] for kind in Tensor.__mro__ if name in vars(kind) and kind is not object), None)
    return None if isinstance(found, LeftOut) else found


def _make(name: str, public: str, _: Any) -> Callable[..., Any]:
    plain = getattr(Tensor, name)
    if name.startswith("__r") and (forward := f"__{name[3:]}") in PYTHON_OPERATORS:
        return make_reflected(plain, forward, public)
    return make_method(plain, lambda: getattr(Tensor, public), name)


def make_reflected(plain: Callable[..., Any], forward: str, public: str) -> Callable[..., Any]:
    """Return the method of ``other + self``: where another tensor stands first, it is that one's own operator."""
    method = make_method(plain, lambda: getattr(Tensor, public), plain.__name__)

    def method_from_right(self: Any, other: Any) -> Any:
        if isinstance(other, Tensor):
            return getattr(type(other), forward)(other, self)
        return method(self, other)

    return method_from_right


def _make_property(name: str) -> property:
    plain = getattr(Tensor, name)
    assert isinstance(plain, property)
    assert plain.fget is not None
    return property(
        make_method(plain.fget, lambda: getattr(Tensor, name).__get__, name),
        None if plain.fset is None else make_method(plain.fset, lambda: getattr(Tensor, name).__set__, name),
        None if plain.fdel is None else make_method(plain.fdel, lambda: getattr(Tensor, name).__delete__, name),
        doc=plain.__doc__,
    )


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
