"""The table of emitters: an operator → the function that writes its nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ["EMITTERS", "MOST_BYTES", "OPSET", "emits"]

#: The version of ONNX's operators that files are written for.
OPSET: Final = 18
#: The largest file; with more, the parameters lie in another beside it.
MOST_BYTES: Final = (1 << 31) - (1 << 20)

#: Name with overload → the function, which takes the writer and the call's arguments in the order of the schema, and returns
#: the names of the results: one, a list of them, or None for each that is not written.
EMITTERS: Final[dict[str, Callable[..., Any]]] = {}


def emits(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that puts a function into the table under the names of aten's operators."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        EMITTERS.update({f"aten::{name}": function for name in names})
        return function

    return add
