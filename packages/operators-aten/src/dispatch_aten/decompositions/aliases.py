"""Operators that are other operators under another name."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.families import facts_of, family_of
from dispatch_aten.operators import ATEN_BY_NAME, KIND_OF
from dispatch_aten.variants import is_inplace
from dispatch_core.caches import LazyTable

from ._shared import aten

if TYPE_CHECKING:
    from collections.abc import Callable


def _find_target(name: str) -> str:
    """Return the overload that another one calls, by its row; raise ``KeyError`` where there is none.

    What represents a family represents every overload but those that write to ``out``.
    """
    own = facts_of(name)
    if "calls" in own:
        return own["calls"][0]
    if "out" in ATEN_BY_NAME[name].tags:
        raise KeyError(name)
    facts = family_of(name).facts
    target = (facts.get("calls") or facts.get("alias") or ("",))[0]
    _, dot, overload = name.partition(".")
    found = target if "." in target else f"{target}{'_' if is_inplace(name) else ''}{dot}{overload}"
    if found not in KIND_OF or ("." in target and (dot or is_inplace(name))):
        raise KeyError(name)
    return found


TARGETS: Final[LazyTable[str]] = LazyTable(_find_target, lambda: (name for name in KIND_OF if name in TARGETS))
"""Each alias, and the overload that it stands for."""


def forward(target: str) -> Callable[..., Any]:
    """Make the kernel that calls another operator."""
    find = attrgetter(target if "." in target else f"{target}.default")

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return find(aten)(*args, **kwargs)

    return kernel
