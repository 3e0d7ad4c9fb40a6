"""torch's modules and the kinds of their names, which ``tools/record_torch_modules.py`` wrote into ``torch_tree.txt``."""

from __future__ import annotations

import re
from functools import cache
from pkgutil import get_data
from typing import Final, NamedTuple, cast

__all__ = ["ShellName", "has_module", "list_modules", "read_module"]

_HEAD: Final = re.compile(r"^\[(.+)\]\n", re.MULTILINE)


class ShellName(NamedTuple):
    """One name of a module: its kind, and what the kind needs: bases, members, a value, the module that it is taken from."""

    kind: str
    detail: str = ""


@cache
def _blocks() -> dict[str, str]:
    """Return the text of each module."""
    data = cast("bytes", get_data("torchlike.shells", "torch_tree.txt"))
    parts = _HEAD.split(data.decode())
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def has_module(name: str) -> bool:
    """Return whether torch has a module."""
    return name in _blocks()


def list_modules() -> list[str]:
    """Return the names of torch's modules."""
    return [*_blocks()]


@cache
def read_module(name: str) -> dict[str, ShellName]:
    """Return the names of one of torch's modules, an empty dictionary for one that torch lacks.

    >>> read_module("torch.fx.node")["Node"].kind
    'class'
    """
    found: dict[str, ShellName] = {}
    for line in _blocks().get(name, "").replace("\n ", " ").splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "constant":
            constant, _, value = rest.partition(" = ")
            found[constant] = ShellName(kind, value)
        elif kind in ("from", "module"):
            home, _, names = rest.partition(" ")
            home = f"{name.rpartition('.')[0]}{home}" if home.startswith(".") else home
            for each in names.split():
                original, _, alias = each.rpartition(":")
                found[alias] = ShellName(kind, f"{home}:{original or alias}" if kind == "from" else home)
        else:
            for each in rest.split():
                own, _, detail = each.partition("(")
                found[own] = ShellName(kind, detail.removesuffix(")"))
    return found
