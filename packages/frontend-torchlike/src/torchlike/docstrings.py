"""Docstrings that are composed when they are read; see `texts`, which nothing imports before."""

from __future__ import annotations

from typing import Any

from dispatch_core.lazy_text import LazyText

__all__ = ["complete", "document"]


def document(function: Any, operator: str) -> None:
    """Set the docstring of the function, or the method, of an operator."""

    def make() -> str:
        from .texts import compose_of_operator

        return compose_of_operator(function, operator)

    function.__doc__ = LazyText(make)


def complete(found: Any, namespace: str) -> None:
    """Add arguments, torch's page and an example to the docstring of a function or a class of ``torch.namespace``."""
    own = found.__doc__
    if type(own) is not str or not hasattr(found, "__qualname__"):
        return

    def make() -> str:
        from .texts import complete_text

        return complete_text(found, own, namespace)

    found.__doc__ = LazyText(make)
