"""Docstrings that are composed when they are read; see `texts`, which nothing imports before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any, Final

from dispatch_core.lazy_text import LazyText

from .spelling import spell

#: Folders of torchlike whose paths are no public ones.
_INNER: Final = frozenset("creation functions surface tensors values".split())


def complete(found: Any, namespace: str, name: str = "") -> None:
    """Add arguments, torch's page and an example to the docstring of a function or a class of ``torch.namespace``.

    ``name`` is torch's name for it, its own by default.
    """
    own = found.__doc__
    if type(own) is not str or not hasattr(found, "__qualname__"):
        return

    def make() -> str:
        from .texts import complete_text

        return complete_text(found, own, namespace, name or found.__name__)

    found.__doc__ = LazyText(make)


def complete_function(found: Any, namespace: str, name: str = "") -> None:
    """Do as `complete` for a function, and nothing for other objects; a function of ``torch`` itself says ``torchlike``."""
    if isinstance(found, FunctionType):
        complete(found, namespace, name)
        if namespace == "torch" and found.__module__.partition(".")[2].partition(".")[0] in _INNER:
            found.__module__ = spell()


def complete_all(members: Mapping[str, Any], names: Iterable[str], namespace: str) -> None:
    """Do as `complete` for each function of a module, or a class, that has one of the names."""
    for name in names:
        complete_function(members.get(name), namespace, name)
