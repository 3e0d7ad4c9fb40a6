"""Packages whose public names are imported when they are first used: most programs use few of several hundred."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

#: Called with a package and the name that it was asked for in vain.
observers: Final[list[Callable[[str, str], object]]] = []


def load_names(
    package: str, modules: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    ``modules`` maps each of its modules to the public names in it, separated by spaces. A name is imported at its first
    use, and is an attribute of the package from then on; so are the modules.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in homes:
            found = getattr(import_module(f"{package}.{homes[name]}"), name)
        elif name in modules:
            found = import_module(f"{package}.{name}")
        else:
            for observe in observers:
                observe(package, name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        setattr(sys.modules[package], name, found)
        return found

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return sorted(homes), load, list_names
