"""Packages whose public names are imported when they are first used: most programs use few of several hundred."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, ForwardRef

from dispatch_core.tracebacks import api_boundary

from .spelling import spell

#: Called with a package and the name that it was asked for in vain.
observers: Final[list[Callable[[str, str], object]]] = []
#: A name that a package of ours lacks → the module that torch has under it; `stand_in` fills it.
aliases: Final[dict[str, str]] = {}


class MissingNameError(AttributeError):
    """A name that a package of torchlike, or a tensor, does not have; its text says whether it is left out on purpose.

    Programs ask for many names only to see whether they are there, so the text is made when it is read.
    """

    def __init__(self, text: str, namespace: str, name: str, owner: object) -> None:
        super().__init__(text, name=name, obj=owner)
        self._namespace = namespace

    def __str__(self) -> str:
        from .left_out import explain_missing

        return super().__str__() + explain_missing(self._namespace, str(self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


def missing_name(package: str, name: str) -> MissingNameError:
    """Return the error for a public name that a package does not have, and tell the observers."""
    for observe in observers:
        observe(package, name)
    namespace = package.partition(".")[2] or "torch"
    text = f"module {spell(package)!r} has no attribute {name!r}"
    return MissingNameError(text, namespace.removesuffix(".modules"), name, sys.modules.get(package))


class LeftOut:
    """Stands in the tensor class for a name that torch's tensors have: asking for it is the error that it is not there."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def is_there(self) -> bool:
        """Return whether asking for the name gives something now."""
        return False

    @api_boundary
    def __get__(self, instance: Any, owner: type) -> Any:
        what = f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        asked = owner if instance is None else instance
        raise MissingNameError(f"{what} has no attribute {self._name!r}", "Tensor", self._name, asked)


@cache
def import_lazily(module: str, name: str) -> Any:
    """Return an annotation's stand-in for a name that is imported when ``typing.get_type_hints`` resolves them.

    For a name that type checkers alone need: its module imports the one that mentions it, or is large.
    """
    return ForwardRef(f"import_module({module!r}).{name}", module="importlib")


# For the modules that the class's own one imports.
if TYPE_CHECKING:
    from ..tensors.tensor import Tensor as Tensor  # noqa: PLC0414  # for other modules
else:
    Tensor = import_lazily("torchlike.tensors.tensor", "Tensor")


def call_late(module: str, name: str) -> Callable[..., Any]:
    """Return a function that does as another one, whose module is imported at the first call.

    >>> call_late("json", "dumps")([1])
    '[1]'
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(module), name)(*args, **kwargs)

    return call


def load_names(
    package: str,
    modules: Mapping[str, str],
    complete: Callable[[Any], None] | None = None,
    convert: Callable[[str, Any], Any] | None = None,
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    ``modules`` maps each of its modules to the public names in it, separated by spaces. A name is imported at its first
    use, and is an attribute of the package from then on; so are the modules. ``complete`` is called with each object that
    is so imported, and ``convert`` returns the object that the package has under a name.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in homes:
            found = getattr(import_module(f"{package}.{homes[name]}"), name)
            if complete is not None:
                complete(found)
            if convert is not None:
                found = convert(name, found)
        elif name in modules:
            found = import_module(f"{package}.{name}")
        elif (alias := aliases.get(f"{package}.{name}")) is not None:
            found = import_module(alias)
        else:
            raise missing_name(package, name)
        setattr(import_module(package), name, found)
        return found

    def list_names() -> list[str]:
        return sorted({*vars(import_module(package)), *homes, *(name for name in modules if "." not in name)})

    return sorted(homes), api_boundary(load), list_names


def load_table(
    module: str, table: Mapping[str, Any], *own: Any
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return the same for a module whose functions are a table's, beside its ``own`` functions and classes."""
    listed = [*(each.__name__ for each in own), *table]

    def load(name: str) -> Any:
        try:
            return table[name]
        except KeyError:
            raise missing_name(module, name) from None

    return listed, api_boundary(load), lambda: listed
