"""Modules by paths that documents and pickles of 0.1 name and that 0.2 takes away, each with a warning."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from ..devkit import EXPLANATION

__all__ = ["AliasLoader", "alias", "find_former"]

#: Former path → the present one.
_FORMER: Final = {
    "dispatch_core.cache_folders": "dispatch_core.files.cache_folders",
    "dispatch_core.distributions": "dispatch_core.surroundings.distributions",
    "dispatch_core.explanation": EXPLANATION,
    "dispatch_core.graph": "dispatch_pipelines.graph",
    "dispatch_core.logs": "dispatch_core.surroundings.logs",
    "dispatch_core.origins": "dispatch_core.bookkeeping.origins",
    "dispatch_core.pipelines.errors": "dispatch_pipelines.record.errors",
    "dispatch_core.pipelines.handle": "dispatch_pipelines.run.handle",
    "dispatch_core.pipelines.stats": "dispatch_pipelines.record.stats",
}


class AliasLoader:
    """Gives a module, or an object in it (after a colon), that is loaded already, or loads it under its own name."""

    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module itself."""
        name, _, attribute = self._target.partition(":")
        module: Any = import_module(name)
        found: ModuleType = getattr(module, attribute) if attribute else module
        # The import system gives the module the new spec; its own one is put back below.
        self._spec = found.__spec__
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Put the module's own spec back: it is executed already."""
        module.__spec__ = self._spec


def find_former(name: str, table: dict[str, str] = _FORMER) -> ModuleSpec | None:
    """Return the spec of a module by a former path, after a warning; None for other names."""
    target = table.get(name)
    if target is None:
        return None
    warnings.warn(f"the module {name} is {target} now; the former path goes in 0.2", DeprecationWarning, stacklevel=3)
    return alias(name, target)


def alias(name: str, target: str) -> ModuleSpec:
    """Return the spec by which a module has a second name."""
    return ModuleSpec(name, AliasLoader(target))  # type: ignore[arg-type]
