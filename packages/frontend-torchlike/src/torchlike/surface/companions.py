"""Packages beside torch, ``torch_acme``: where torchlike stands in for torch, a vendor's distribution answers their imports.

The distribution names its own package by an entry point of the group ``dispatch_core.companions``. As with torch's modules,
both names are one module. Names that begin with ``torch_`` are looked for alone, so that other imports cost nothing.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from dispatch_core.surroundings.former_paths import AliasLoader

from .missing_names import note_module

__all__ = ["PREFIX", "find_companion"]

PREFIX: Final = "torch_"
#: The function of a companion's package that is called once, with torchlike, when a program first imports it.
_BEGIN: Final = "stand_beside"


class _CompanionLoader(AliasLoader):
    """Gives a module of the vendor's package by the name that programs import."""

    def __init__(self, name: str, target: str) -> None:
        super().__init__(target)
        self._is_whole = "." not in name

    def exec_module(self, module: ModuleType) -> None:
        """Tell the package that programs use it beside torchlike."""
        super().exec_module(module)
        begin = getattr(module, _BEGIN, None) if self._is_whole else None
        if begin is not None:
            begin(sys.modules["torchlike"])


def find_companion(name: str) -> ModuleSpec | None:
    """Return the spec of a module of a package beside torch; None where no distribution names one."""
    top, _, rest = name.partition(".")
    package = _list_companions().get(top)
    if package is None:
        return None
    own = f"{package}.{rest}" if rest else package
    try:
        is_there = own in sys.modules or importlib.util.find_spec(own) is not None
    except ModuleNotFoundError:  # its parent is a plain module, or is not there
        is_there = False
    if not is_there:
        note_module(name)
        return None
    return ModuleSpec(name, _CompanionLoader(name, own), is_package=True)  # type: ignore[arg-type]  # it has a loader's methods


@cache
def _list_companions() -> dict[str, str]:
    from dispatch_core.tools import find_companions  # it reads what is installed, which few programs need this early

    return find_companions()
