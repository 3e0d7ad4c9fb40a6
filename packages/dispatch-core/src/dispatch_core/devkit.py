"""The names that the distribution dispatch-devkit gives the core, imported when one is first used.

Nothing else in this package names it. Without it each name ends in `DevkitNotFoundError`, and all that computes works.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeVar

from .errors import DevkitNotFoundError

if TYPE_CHECKING:
    from dispatch_devkit.command_line import main
    from dispatch_devkit.doctor import Finding, examine
    from dispatch_devkit.explanation import explain
    from dispatch_devkit.fragments import (
        list_facts,
        to_block,
        to_details,
        to_fragment,
        to_markup,
        to_note,
        to_page,
        to_part,
        to_table,
    )
    from dispatch_devkit.operator_coverage import coverage
    from dispatch_devkit.pictures import FlameGraph, make_flame_graph, to_dot, to_mermaid, to_svg, write_chrome_trace
    from dispatch_devkit.progress_bar import make_bar
    from dispatch_devkit.shown_progress import show_progress

__all__ = [
    "Finding",
    "FlameGraph",
    "coverage",
    "examine",
    "explain",
    "for_notebooks",
    "list_facts",
    "main",
    "make_bar",
    "make_flame_graph",
    "show_progress",
    "to_block",
    "to_details",
    "to_dot",
    "to_fragment",
    "to_markup",
    "to_mermaid",
    "to_note",
    "to_page",
    "to_part",
    "to_svg",
    "to_table",
    "write_chrome_trace",
]

_Shown = TypeVar("_Shown")
_PACKAGE: Final = "dispatch_devkit"
#: The package that pickles of 0.1 know as one of the core.
EXPLANATION: Final = f"{_PACKAGE}.explanation"
#: Name → its module below the package.
_MODULES: Final = {
    "main": "command_line",
    "coverage": "operator_coverage",
    "explain": "explanation",
    "make_bar": "progress_bar",
    "show_progress": "shown_progress",
    **dict.fromkeys(("Finding", "examine"), "doctor"),
    **dict.fromkeys(
        "list_facts to_block to_details to_fragment to_markup to_note to_page to_part to_table".split(), "fragments"
    ),
    **dict.fromkeys(
        ("FlameGraph", "make_flame_graph", "to_dot", "to_mermaid", "to_svg", "write_chrome_trace"), "pictures"
    ),
}


if not TYPE_CHECKING:  # it would make every misspelt name one of any type

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            module = import_module(f"{_PACKAGE}.{_MODULES[name]}")
        except ModuleNotFoundError as error:
            if error.name != _PACKAGE:  # a requirement of its own
                raise
            raise DevkitNotFoundError(
                f"{name!r} belongs to dispatch-devkit, which is not installed", hint="pip install dispatch-devkit"
            ) from None
        return getattr(module, name)


def find_former(module: str, name: str) -> object:
    """Return a name for HTML that a module of the core had in 0.1, after a warning; raises ``AttributeError`` for others."""
    if _MODULES.get(name) != "fragments":
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    path = f"{_PACKAGE}.fragments"
    warnings.warn(
        f"{module}.{name} is {path}.{name} now; the former path goes in 0.2", DeprecationWarning, stacklevel=3
    )
    return getattr(import_module(__name__), name)


def for_notebooks(show: Callable[[_Shown], str | None]) -> Callable[[_Shown], str | None]:
    """Make a method for notebooks return None without dispatch-devkit, which means that they show the text."""

    @wraps(show)
    def show_or_none(self: _Shown) -> str | None:
        try:
            return show(self)
        except DevkitNotFoundError:
            return None

    return show_or_none
