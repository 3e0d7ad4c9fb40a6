"""Numbers in the places of tensors: torch's overloads of arithmetic take them, ``torch.ops.aten.mul.Tensor(x, 2)``.

Note [Overloads with numbers]
    ``x * 2`` is a call of ``aten::mul.Tensor`` in torch, of ``aten::mul.Scalar`` here, which needs no tensor of the number.
    Handlers of classes and of modes, which tell operators apart by their overloads, get the former.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from dispatch_core.frontends import refused_calls

from ..overriding.callers import find_called

__all__ = ["find_shown", "show_call"]

_NUMBERS: Final = frozenset({bool, int, float, complex})
#: The operators whose overloads for tensors take numbers in torch, too.
_NAMES: Final = ("add", "sub", "mul", "div", "divide", "multiply", "subtract", "true_divide", "floor_divide")
_ARITHMETIC: Final = frozenset([*_NAMES, *(f"{name}_" for name in _NAMES)])
#: The overloads that are not seen in torch, and those that stand for them.
_SHOWN: Final = {"Scalar": "Tensor", "Scalar_mode": "Tensor_mode"}


def show_call(op: Any, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, tuple[Any, ...], Any]:
    """Return the overload that handlers get for a call, and its arguments; see Note [Overloads with numbers]."""
    shown = find_shown(op)
    if shown is not op and len(args) > 2:
        return shown, args[:2], {**(kwargs or {}), "alpha": args[2]}
    return shown, args, kwargs


@lru_cache(maxsize=256)
def find_shown(op: Any) -> Any:
    """Return the overload that handlers get for calls of another; see Note [Overloads with numbers]."""
    if op.namespace != "aten" or op._opname not in _ARITHMETIC or op.overload_name not in _SHOWN:
        return op
    name = _SHOWN[op.overload_name]
    return getattr(op.packet, name if name in op.packet.overloads() else "default")


def _answer_numbers(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a program's call of an overload with a number where it has a tensor."""
    if getattr(called, "_opname", None) not in _ARITHMETIC or called.namespace != "aten" or len(args) != 2:
        return NotImplemented
    if type(args[1]) not in _NUMBERS or "Tensor" not in str(called.schema.arguments[1].type) or not find_called(called):
        return NotImplemented
    return called.packet(*args, **kwargs)


refused_calls.append(_answer_numbers)
