"""Python's operators where all overrides decline: the other operand's own method is asked, as Python does.

A method of a tensor cannot return ``NotImplemented`` to Python there, as the code around its override would go on then.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from ..overriding.handling import make_override
from ..tensors.tensor import Tensor

_SYMBOLS: Final = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "** or pow()",
    "matmul": "@",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}
_COMPARISONS: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_TURNED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def make_operator_override(
    python: str, find_public: Callable[[], Any]
) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """Return the function by which a method of ``self + other`` is handed to overrides, then to the other operand.

    ``python`` is the method's name without underscores. Raises ``TypeError`` where nothing answers.
    """
    ask = make_override(find_public)

    def override(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return ask(args, kwargs)
        except TypeError as error:
            if len(args) != 2:
                raise
            return _ask_other(python, *args, error)

    return override


def _ask_other(python: str, left: Any, right: Any, error: TypeError) -> Any:
    """Return what the right operand's own method answers; raises ``TypeError`` in Python's words where it declines."""
    kinds = f"'{type(left).__name__}' and '{type(right).__name__}'"
    if python in _COMPARISONS:
        turned = None if isinstance(right, Tensor) else _find(type(right), f"__{_TURNED.get(python, python)}__")
        found = NotImplemented if turned is None else turned(right, left)
        if found is not NotImplemented:
            return found
        if python in ("eq", "ne"):
            return (left is right) == (python == "eq")
        raise TypeError(f"'{_COMPARISONS[python]}' not supported between instances of {kinds}") from error
    plain = python.removeprefix("i")
    if python in _SYMBOLS:
        reflected = _find(type(right), f"__r{python}__") if type(left) is not type(right) else None
        found = NotImplemented if reflected is None else reflected(right, left)
        if found is not NotImplemented:
            return found
        raise TypeError(f"unsupported operand type(s) for {_SYMBOLS[python]}: {kinds}") from error
    try:  # an operator in place, instead of which Python takes the plain one
        return getattr(operator, f"__{plain}__")(left, right)
    except TypeError:
        symbol = _SYMBOLS[plain].partition(" ")[0]
        raise TypeError(f"unsupported operand type(s) for {symbol}=: {kinds}") from error


def _find(kind: type, name: str) -> Any:
    """Return a method of a class, but not of the class's own class."""
    return getattr(kind, name) if any(name in vars(each) for each in kind.__mro__) else None
