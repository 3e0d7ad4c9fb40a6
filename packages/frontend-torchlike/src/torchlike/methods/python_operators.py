"""Python's operators on tensors, by torch's functions of the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

import dispatch_core as dc

from ..functions.operator_functions import FUNCTIONS, METHODS, NUMBER_FIRST, PLAIN_NUMBERS
from ..overriding.handling import PLAIN, make_override, overrides_any
from ..overriding.mode_stack import ENTERED
from ..signatures.overload_choice import BINARY_OVERLOADS
from ..tensors.tensor import Tensor
from .declining import make_operator_override
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
#: Operators whose calls are handed to overrides as those of a method with a name of its own; others as themselves.
_HANDED_ON: Final = {
    **{name: name for name in "add ge gt le lt matmul mul ne sub".split()},
    **{f"i{name}": f"{name}_" for name in ("add", "mul", "sub")},
    "ifloordiv": "floor_divide_",
    "imod": "remainder_",
    "itruediv": "div_",
    "mod": "remainder",
    "truediv": "div",
    "radd": "add",
    "rand": "bitwise_and",
    "rmul": "mul",
    "ror": "bitwise_or",
    "rxor": "bitwise_xor",
}
_COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge")


def _make_forward(name: str, function: Callable[..., Any], python: str) -> Callable[..., Any]:
    """Make the method of ``self + other``: the overload for two tensors itself, where there is one."""
    override = make_operator_override(python, lambda: find_method(_HANDED_ON.get(python, f"__{python}__")))
    direct, numbers = BINARY_OVERLOADS.get(name, (None, None))
    if direct is None:

        def method(self: Tensor, other: Any) -> Any:
            if (found := override((self, other), {})) is not NotImplemented:
                return found
            return function(self, other) if isinstance(other, _TAKEN) else call_with_array(function, self, other)

        return _name(method, python)

    def slow_path(self: Tensor, other: Any, **_: Any) -> Any:
        if type(other) in PLAIN_NUMBERS:
            return numbers(self, other)
        return function(self, other) if isinstance(other, _TAKEN) else call_with_array(function, self, other)

    made = dc.rename_arguments(
        direct,
        name,
        Tensor,
        slow_path,
        slow_path_types=PLAIN_NUMBERS,
        override=override,
        overrides=overrides_any,
        plain_types=PLAIN,
        numbers=numbers,
    )
    return _name(made, python)


def _name(method: Callable[..., Any], python: str) -> Callable[..., Any]:
    """Give a method the name that torch's has, by which handlers of overrides know it."""
    method.__name__ = {"pow": "pow", "ipow": "pow_", "itruediv": "__idiv__"}.get(python, f"__{python}__")
    method.__qualname__ = f"Tensor.{method.__name__}"
    return method


def _make_reflect(function: Callable[..., Any], python: str) -> Callable[..., Any]:
    override = make_override(lambda: find_method(_HANDED_ON.get(f"r{python}", f"__r{python}__")))

    def method(self: Tensor, other: Any) -> Any:
        if type(other) not in PLAIN_NUMBERS or type(self) is not Tensor or ENTERED:
            try:
                found = override((self, other), {})
            except TypeError:  # all have declined, and Python tells so
                return NotImplemented
            if found is not NotImplemented or not isinstance(other, _TAKEN):
                return found
        if not isinstance(self, Tensor):
            raise TypeError(f"a reflected operator of tensors doesn't apply to a {type(self).__name__!r} object")
        return function(other.item() if isinstance(other, np.generic) else other, self)

    method.__name__ = method.__qualname__ = f"__r{python}__"
    return method


_Maker = Callable[[], Callable[..., Any]]


def find_method(name: str) -> Any:
    """Return a method of tensors, as handlers of overrides get it."""
    return getattr(Tensor, name)


def _forward(python: str, name: str) -> _Maker:
    return lambda: _make_forward(name, FUNCTIONS[name] if name in FUNCTIONS else METHODS[name], python)


def _reflect(python: str, name: str) -> _Maker:
    return lambda: _make_reflect(NUMBER_FIRST[name] if name in NUMBER_FIRST else FUNCTIONS[name], python)


def _import_indexing(name: str) -> Callable[..., Any]:
    from . import indexing  # it names operators, which defines them

    made: Callable[..., Any] = getattr(indexing, name)
    made.__name__ = f"__{name}__"
    return made


def _invert(self: Tensor) -> Tensor:
    if (ENTERED or type(self) is not Tensor) and (found := _ask_invert((self,), {})) is not NotImplemented:
        return found
    if self.is_floating_point() or self.is_complex():
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return FUNCTIONS["bitwise_not"](self)


_invert.__name__ = "__invert__"
_ask_invert: Final = make_override(lambda: Tensor.__invert__)


def _make_operators() -> dict[str, _Maker]:
    made: dict[str, _Maker] = {}
    for python, name in _OPERATORS.items():
        if name not in FUNCTIONS:
            continue
        made[f"__{python}__"], made[f"__r{python}__"] = _forward(python, name), _reflect(python, name)
        if f"{name}_" in METHODS:
            made[f"__i{python}__"] = _forward(f"i{python}", f"{name}_")
    made |= {f"__{name}__": _forward(name, name) for name in _COMPARISONS}
    unary = {"neg": "neg", "abs": "abs", "pos": "positive"}
    made |= {f"__{python}__": partial(find_method, name) for python, name in unary.items()}
    made["__invert__"] = lambda: _invert
    made |= {"__div__": made["__truediv__"], "__rdiv__": made["__rtruediv__"]}  # Python 2's, which torch keeps
    return made | {
        "__getitem__": partial(_import_indexing, "getitem"),
        "__setitem__": partial(_import_indexing, "setitem"),
    }


#: Special method's name → the function that makes it.
PYTHON_OPERATORS: Final = _make_operators()
