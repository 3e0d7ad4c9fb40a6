"""The attributes of the tensor class as programs name them, ``Tensor.size``, beside those that instances find.

Note [Attributes of the class]
    Methods that are written in Python, and properties, look for no overrides: tensors that override find others before
    them, in `overrides.subclasses.Overridable`. But a program may also call ``Tensor.size(x)``. So the metaclass has a data
    descriptor of the same name, which the class is asked by and instances are not: it gives the public object, one and
    the same, which looks for overrides. It is what handlers get as ``func``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Final

from ..history.differentiable import Differentiable
from ..names.lazy_attributes import LazyAttribute, LazyProperty
from ..tensors.overriding_classes import COMPLETE
from ..tensors.tensor import Tensor
from .handling import make_override
from .table import UNLISTED, read
from .wrapping import make_method

_META: Final = type(Tensor)
_OWN: Final = (Tensor, Differentiable)


class Accessor:
    """Gets, sets or deletes a property, as ``Tensor.shape.__get__`` does, and looks for overrides."""

    def __init__(self, owner: property, name: str, plain: Callable[..., Any]) -> None:
        self.__self__, self.__name__, self.__wrapped__ = owner, name, plain
        self.__qualname__ = f"getset_descriptor.{name}"
        self.__annotations__ = getattr(plain, "__annotations__", {})
        self._ask = make_override(lambda: self)

    def __call__(self, instance: Any, *given: Any) -> Any:
        if instance is None:
            return self.__self__
        if self.__name__ == "__get__":
            given = ()  # the class, which tells nothing
        found = self._ask((instance, *given), {})
        return self.__wrapped__(instance, *given) if found is NotImplemented else found

    def __repr__(self) -> str:
        return f"<method-wrapper {self.__name__!r} of {self.__self__!r}>"


class PublicProperty(property):
    """A property of tensors as the class shows it: what it is asked for by name looks for overrides."""

    def __init__(self, name: str, plain: property) -> None:
        ways = {"__get__": plain.fget, "__set__": plain.fset, "__delete__": plain.fdel}
        found = {way: Accessor(self, way, function) for way, function in ways.items() if function is not None}
        super().__init__(found.get("__get__"), found.get("__set__"), found.get("__delete__"), plain.__doc__)
        # Before the methods of the class, which only programs that name them look up here.
        self.__dict__.update(found)
        self.__name__ = name  # a property's own from Python 3.13 on


class PublicAttribute:
    """The metaclass's descriptor of a method or a property; see Note [Attributes of the class]."""

    __slots__ = ("_name", "_public")

    def __init__(self, name: str) -> None:
        self._name, self._public = name, None

    def __get__(self, owner: Any, meta: type) -> Any:
        if owner is None:
            return self
        for kind in owner.__mro__:
            own = vars(kind)
            if self._name in own:
                if kind in _OWN or (COMPLETE and kind.__dict__.get("_adds_keys")):
                    return self._find()
                found = own[self._name]
                bind = getattr(type(found), "__get__", None)
                return found if bind is None else bind(found, None, owner)
        raise AttributeError(f"type object {owner.__name__!r} has no attribute {self._name!r}")

    def _find(self) -> Any:
        if self._public is None:
            plain = _find_plain(self._name)
            if isinstance(plain, LazyAttribute):
                plain = plain.value
            if not is_overridable_name(self._name):
                return plain
            if isinstance(plain, property):
                plain = PublicProperty(self._name, plain)
            elif isinstance(plain, FunctionType):
                plain = make_method(plain, lambda: self._public, self._name)
            self._public = plain
        return self._public

    def __set__(self, owner: Any, value: Any) -> None:
        if owner is Tensor and not isinstance(vars(Tensor).get(self._name), LazyAttribute):
            self._public = value  # a program's own
        self._as_plain(lambda: type.__setattr__(owner, self._name, value))

    def __delete__(self, owner: Any) -> None:
        self._as_plain(lambda: type.__delattr__(owner, self._name))

    def set_plainly(self, owner: Any, value: Any) -> None:
        """Set the attribute of a class that instances find."""
        self._as_plain(lambda: type.__setattr__(owner, self._name, value))

    def _as_plain(self, change: Callable[[], None]) -> None:
        """Change the attribute of a class, which the metaclass's own of the same name would prevent."""
        delattr(_META, self._name)
        try:
            change()
        finally:
            setattr(_META, self._name, self)


def _find_plain(name: str) -> Any:
    return next(vars(kind)[name] for kind in _OWN if name in vars(kind))


def is_property(name: str) -> bool:
    """Return whether an attribute of the tensor class is a property."""
    return isinstance(_find_plain(name), property | LazyProperty)


def is_overridable_name(name: str) -> bool:
    """Return whether torch's attribute of the name may be overridden."""
    table = read()
    return name in table["Tensor"] or f"{name}.__get__" in table["properties"] or name in UNLISTED.split()


def list_published() -> list[str]:
    """Return the names of the attributes that `publish` has shown and that may be overridden."""
    return [name for name, value in vars(_META).items() if type(value) is PublicAttribute and is_overridable_name(name)]


def publish_to_instances() -> None:
    """Show the attributes that look for overrides to instances, too, as modes ask for every call.

    It is done when a mode is first entered, and stays so.
    """
    for name in list_published():
        public = getattr(Tensor, name)
        owner = next(kind for kind in _OWN if name in vars(kind))
        type.__setattr__(owner, name, public) if owner is Differentiable else vars(_META)[name].set_plainly(
            owner, public
        )


def publish(names: Iterable[str]) -> None:
    """Show methods and properties of the tensor class as objects that look for overrides."""
    for name in names:
        setattr(_META, name, PublicAttribute(name))
