"""Modules of torch that torchlike lacks, and the names that modules of ours lack.

Note [Ours, a shell, or absent]
    A name of torch is ours where we have it, also in a module that is a shell otherwise (`real_parts`). Else a shell has it
    by its kind. A module of ours is completed in the same way, but for what computes: the table lists no functions of such
    modules, and `torch.nn`, `torch.optim` and `torch.distributions` are not completed by their own kinds of classes.
    Programs ask by ``hasattr`` whether there is something to compute with, and have another way where there is not.
"""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from dispatch_core.tracebacks import api_boundary

from ..names.lazy_names import missing_name
from .parts import make
from .real_parts import OURS, REAL
from .table import ShellName, has_module, read_module

__all__ = ["MISSING", "Shell", "fill"]

#: Says that a name is not there; None can be one's value.
MISSING: Final = object()
#: Modules in which instances of classes compute, and the names of those that do not.
_COMPUTES: Final = re.compile(r"torch\.(nn|optim|distributions)\b(?!\.(parallel|attention))")
_BASES: Final = re.compile(
    r"\bModule\b|Optimizer|Distribution|Transform|Constraint|LRScheduler|_\w*(Norm|NdBase|Nd)\b|Function\b"
)


class Shell(ModuleType):
    """A module of torch by name only; its names are made when they are first used."""

    @api_boundary
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        found = _find(self.__name__, name)
        if found is MISSING:
            raise missing_name(self.__name__, name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *read_module(self.__name__)})


def fill(module: str, name: str) -> Any:
    """Return a name that a module of ours lacks, `MISSING` where it stays absent; see Note [Ours, a shell, or absent]."""
    entry = read_module(module).get(name)
    if entry is not None and entry.kind == "from":
        home, _, original = entry.detail.partition(":")
        if not isinstance(import_module(home), Shell):
            return _find(module, name)  # by its own rule
        kind, bases = read_module(home).get(original, ShellName("function"))
    else:
        kind, bases = entry or ShellName("module")
    inner = _COMPUTES.match(module)
    if kind == "class" and inner and _BASES.search(bases):
        package = import_module(inner[0])
        return getattr(package, name) if name in dir(package) else MISSING
    return _find(module, name)


def _find(module: str, name: str) -> Any:
    path = f"{module}.{name}"
    if path in REAL:
        return _load(REAL[path])
    if module in OURS and not has_module(path) and name in dir(ours := import_module(OURS[module])):
        return getattr(ours, name)
    entry = read_module(module).get(name)
    if entry is None:
        return import_module(path) if has_module(path) else MISSING
    if entry.kind == "module":
        return import_module(entry.detail)
    if entry.kind == "from":
        home, _, original = entry.detail.partition(":")
        owner = import_module(home)
        if owner is not import_module(module) or (original != name and original in dir(owner)):
            return getattr(owner, original, MISSING)
        # Both are names of one module of ours, which lacks the object.
        path, entry = f"{home}.{original}", read_module(home).get(original, entry)
        if entry.kind == "from":
            return MISSING
    return make(path, entry.kind, entry.detail, _load_class)


def _load_class(path: str) -> Any:
    """Return a base class by torch's path, None where it is not there."""
    home, _, name = path.rpartition(".")
    return getattr(import_module(home), name, None)


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    found: Any = import_module(module)
    for each in name.split(".") if name else ():
        found = getattr(found, each)
    return found
