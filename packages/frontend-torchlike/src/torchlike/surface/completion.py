"""Modules of ours where torchlike stands in for torch: their names are torch's, and so are those that they lack (`shells`).

Note [Names of modules]
    A module, its classes and its functions are named as torch's from the time when torchlike stands in for torch. The module
    stays in ``sys.modules`` under its own name too, and its package is its own: imports in its functions are relative to it.
    A class whose annotations `typing.get_type_hints` would look up in another module than its own has them with that module.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any, Final, ForwardRef

from dispatch_core.tracebacks import api_boundary

from ..names.torch_homes import find_home, torch_name

__all__ = ["OWN_PACKAGES", "complete", "complete_loaded", "name_class"]

#: The packages whose modules torch has too.
OWN_PACKAGES: Final = ("torchlike", "torchlike_distributions")
#: Modules of torch that are mere objects in ours.
_OBJECTS: Final = ("_dynamo", "_inductor")
#: Packages whose dictionary programs look through.
_LATE: Final = frozenset(
    (
        "torch.distributions torch.distributions.transforms torch.nn torch.nn.modules torch.optim torch.optim.lr_scheduler"
        " torch.utils.data"
    ).split()
)


class _TorchSpec(ModuleSpec):
    """A module's spec with torch's name; see Note [Names of modules]."""

    def __init__(self, own: ModuleSpec, name: str) -> None:
        vars(self).update(vars(own))
        self.own_name, self._parent = own.name, own.parent
        self.name, self._initializing = name, False

    @property
    def parent(self) -> str | None:
        """The module's package, which relative imports begin with."""
        return self._parent


class _LateNames(ModuleType):
    """A package whose names are imported at their first use, all of them when its dictionary is asked for."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # the module's own, once it is complete
        """The names of the package, complete; see `vars`."""
        self.__class__ = ModuleType  # type: ignore[assignment]  # attributes are found faster so
        for name in dir(self):
            getattr(self, name)
        return _members_of(self)


class _NameCompletion:
    """Gives the names that a module itself lacks."""

    def __init__(self, module: ModuleType, plain: Any, names: dict[str, None]) -> None:
        self._module, self._plain, self.names = module, plain, names

    @api_boundary
    def __call__(self, name: str) -> Any:
        if name in _OBJECTS and "torch" in self.names:
            return import_module(f"torch.{name}")
        if self._plain is not None:
            try:
                return self._plain(name)
            except AttributeError as error:
                missing = error
        else:
            from ..names.lazy_names import missing_name

            missing = missing_name(self._module.__name__, name)
        if not (name.startswith("__") and name.endswith("__")):
            from ..shells.modules import MISSING, fill

            for each in self.names:
                found = fill(each, name)
                if found is not MISSING:
                    setattr(self._module, name, found)
                    return found
        raise missing


def complete(module: ModuleType, name: str) -> None:
    """Give a module of ours torch's names; ``name`` is the one by which it is imported, ours or torch's."""
    members = _members_of(module)
    completion = members.get("__getattr__")
    if isinstance(completion, _NameCompletion):
        if name.partition(".")[0] == "torch":
            completion.names.setdefault(name)
        return
    public = name if name.partition(".")[0] == "torch" else torch_name(name)
    own = members["__name__"]
    if not public:
        _name_members(module, own)
        return
    members["__getattr__"] = _NameCompletion(module, completion, {public: None})
    members.setdefault("__path__", [])  # torch's module may be a package where ours is not
    if members.get("__spec__") is not None:
        members["__spec__"] = _TorchSpec(members["__spec__"], public)
    members["__name__"] = public
    if public == "torch":
        for each in _OBJECTS:
            members.pop(each, None)
    if public in _LATE:
        module.__class__ = _LateNames
    if public == f"torch{own.removeprefix('torchlike')}":
        sys.modules.setdefault(public, module)
    _name_members(module, own)


def _name_members(module: ModuleType, own: str) -> None:
    """Name the classes and functions of a module as torch's, those that it imports too; ``own`` was the module's name."""
    for value in list(_members_of(module).values()):
        if isinstance(value, FunctionType):
            where = value.__module__
            # Pickles of torchlike's own tensors name the functions that make them again.
            if where is not None and where.startswith("torchlike") and not value.__name__.startswith("_rebuild"):
                value.__module__ = find_home(where, value.__qualname__)
        elif isinstance(value, type):
            where = value.__module__
            if type(where) is str and where.startswith("torchlike"):
                place = getattr(module.__spec__, "own_name", own) if where == own else where
                name_class(value, find_home(where, value.__qualname__), place)


def name_class(cls: type, home: str, place: str) -> None:
    """Say that a class is in the module ``home``; ``place`` is the one that its annotations name things of."""
    hints = vars(cls).get("__annotations__")
    if hints and sys.modules.get(home) is not sys.modules.get(place):
        cls.__annotations__ = {
            name: ForwardRef(hint, module=place, is_class=True) if isinstance(hint, str) else hint
            for name, hint in hints.items()
        }
    line = vars(cls).get("__firstlineno__")
    cls.__module__ = home
    if line is not None:  # from Python 3.13 on it goes with another module, and with it the class's source
        cls.__firstlineno__ = line  # type: ignore[attr-defined]  # known from 3.13 on


def _members_of(module: ModuleType) -> dict[str, Any]:
    members: dict[str, Any] = ModuleType.__getattribute__(module, "__dict__")
    return members


def complete_loaded() -> None:
    """Complete the modules that are loaded already."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in OWN_PACKAGES and isinstance(module, ModuleType):
            complete(module, module.__name__)
