"""The docstrings and signatures of operators' functions, made when they are first read: few programs read any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from dispatch_core.lazy_text import LazyText
from dispatch_core.signatures import LazySignature

if TYPE_CHECKING:
    from inspect import Signature


def describe(function: Any, name: str, kind: Literal["function", "method", "factory"] = "function") -> None:
    """Set the docstring and the signatures of the function of an operator, of its method, or of a factory."""

    def compose() -> str:
        from ..names.texts import compose_of_operator

        return compose_of_operator(function, name)

    def sign() -> Iterable[Signature]:
        from . import function_signatures

        return function_signatures.MAKERS[kind](name)

    function.__doc__, function.__signature__ = LazyText(compose), LazySignature(sign)
