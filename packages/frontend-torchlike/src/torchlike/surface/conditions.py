"""Conditions that a program states, and errors where one does not hold (source: ``torch._check`` and its like)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..overriding.handling import PLAIN, call_override, list_overloaded

__all__: list[str] = []


def _assert(condition: Any, message: str) -> None:
    """Raise ``AssertionError`` where a condition does not hold."""
    if type(condition) not in PLAIN and (found := list_overloaded([condition])):
        call_override(_assert, found, (condition, message), {})
        return
    assert condition, message  # as torch


def _make_check(error: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Callable[[], Any] | None = None) -> None:
        if not isinstance(cond, bool):
            if hasattr(cond, "_dispatch_mask"):
                raise TypeError(
                    "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
                    "that all elements are true."
                )
            raise TypeError(f"cond must be a bool, but got {type(cond)}")
        if cond:
            return
        if message is not None and not callable(message):
            raise TypeError("message must be a callable")
        raise error(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
            if message is None
            else str(message())
        )

    check.__doc__ = (
        f"Raise ``{error.__name__}``, with the text that ``message()`` returns, where a condition does not hold."
    )
    return check


_check, _check_index, _check_value = _make_check(RuntimeError), _make_check(IndexError), _make_check(ValueError)
_check_type, _check_not_implemented = _make_check(TypeError), _make_check(NotImplementedError)


def _check_tensor_all(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ``RuntimeError`` where an element of a tensor of bools is False; ``TypeError`` for other conditions."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise an error of a class where a condition does not hold, with the text that ``message()`` returns."""
    _make_check(error_type)(cond, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise an error of a class where an element of a tensor of bools is False; ``TypeError`` for other conditions."""
    if not hasattr(cond, "_dispatch_mask"):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    _check_with(error_type, bool(cond.all().item()), message)
