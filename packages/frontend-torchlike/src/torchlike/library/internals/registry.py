"""Registrations beside kernels: fakes, and rules for modes (source: ``torch._library.simple_registry``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...utils.dispatch_rules import RULES
from ..fakes import Kernel, list_fakes

__all__ = ["find_torch_dispatch_rule", "singleton"]


class _FakeHolder:
    """The fakes of an operator, the newest last."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname

    @property
    def kernels(self) -> list[Kernel]:
        """Return all of them."""
        return list_fakes(self.qualname)

    @property
    def kernel(self) -> Kernel | None:
        """Return the one that runs, or None."""
        held = self.kernels
        return held[-1] if held else None


class _RuleHolder:
    """The rules of an operator for modes and subclasses."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname

    def find(self, torch_dispatch_class: type) -> Callable[..., Any] | None:
        """Return the rule for a class, or None."""
        return RULES.get((self.qualname, torch_dispatch_class))


class _OfOperator:
    """What is registered for one operator."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.fake_impl = _FakeHolder(qualname)
        self.torch_dispatch_rules = _RuleHolder(qualname)


class _Operators:
    """The entries of operators, by their names."""

    def find(self, qualname: str) -> _OfOperator:
        """Return an operator's entry, which is there for every name."""
        return _OfOperator(qualname)


singleton: Final = _Operators()


def find_torch_dispatch_rule(op: Any, torch_dispatch_class: type) -> Callable[..., Any] | None:
    """Return the rule by which objects of a class handle an operator, or None."""
    return RULES.get((op.name, torch_dispatch_class))
