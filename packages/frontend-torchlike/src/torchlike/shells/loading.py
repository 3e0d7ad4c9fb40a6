"""The import of shells; `stand_in` asks for a shell where there is no module of ours."""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .modules import Shell
from .parts import observers
from .table import has_module

__all__ = ["find_shell"]


class _ShellLoader:
    """Makes a shell: there is nothing to execute."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module, whose names are made at their first use."""
        return Shell(spec.name, f"The names of ``{spec.name}``, which refuse at the use.")

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


def find_shell(name: str, observe: Callable[[str], object]) -> Any:
    """Return the spec of a module of torch that torchlike lacks, None where torch has none.

    ``observe`` is called with the path of each name of a shell that is used.
    """
    observers[:] = [observe]
    return ModuleSpec(name, _ShellLoader(), is_package=True) if has_module(name) else None  # type: ignore[arg-type]
