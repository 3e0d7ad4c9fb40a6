"""Python's operators on tensors, by torch's functions of the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dispatch_core as dc

from .functions import FUNCTIONS, METHODS, NUMBER_FIRST, NUMBER_OVERLOADS, PLAIN_NUMBERS, TENSOR_OVERLOADS
from .indexing import getitem, setitem
from .tensors import Tensor
from .ufuncs import call_with_array

_NUMBERS: Final = (bool, int, float, complex, np.generic)
_TAKEN: Final = (Tensor, *_NUMBERS)

#: Python's binary operators: the special method's name and the torch function.
_OPERATORS: Final = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")


def _make_forward(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the method of ``self + other``: the overload for two tensors itself, where there is one."""
    direct, numbers = TENSOR_OVERLOADS.get(name), NUMBER_OVERLOADS.get(name)
    if direct is None or numbers is None:

        def method(self: Tensor, other: Any) -> Any:
            return function(self, other) if isinstance(other, _TAKEN) else call_with_array(function, self, other)

        return method

    def slow_path(self: Tensor, other: Any, **_: Any) -> Any:
        if type(other) in PLAIN_NUMBERS:
            return numbers(self, other)
        return function(self, other) if isinstance(other, _TAKEN) else call_with_array(function, self, other)

    return dc.rename_arguments(direct, name, Tensor, slow_path, slow_path_types=PLAIN_NUMBERS)


def _make_reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, _TAKEN):
            return NotImplemented
        return function(other.item() if isinstance(other, np.generic) else other, self)

    return method


def _make_operators() -> dict[str, Callable[..., Any]]:
    made: dict[str, Callable[..., Any]] = {}
    for python, name in _OPERATORS.items():
        if name not in FUNCTIONS:
            continue
        made[f"__{python}__"] = _make_forward(name, FUNCTIONS[name])
        made[f"__r{python}__"] = _make_reflected(NUMBER_FIRST.get(name, FUNCTIONS[name]))
        if f"{name}_" in METHODS:
            made[f"__i{python}__"] = _make_forward(f"{name}_", METHODS[f"{name}_"])
    for name in _COMPARISONS:
        made[f"__{name}__"] = _make_forward(name, FUNCTIONS[name])
    made["__neg__"] = FUNCTIONS["neg"]
    made["__abs__"] = FUNCTIONS["abs"]
    made["__pos__"] = FUNCTIONS["positive"]
    made["__invert__"] = FUNCTIONS["bitwise_not"]
    made["__getitem__"] = getitem
    made["__setitem__"] = setitem
    return made


#: Special method's name → its function.
PYTHON_OPERATORS: Final = _make_operators()
