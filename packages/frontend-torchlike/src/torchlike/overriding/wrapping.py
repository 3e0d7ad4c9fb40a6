"""Functions that are written in Python, with a look at the arguments before each call."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from .handling import PLAIN, make_override
from .mode_stack import ENTERED as MODES


def make_method(plain: Callable[..., Any], find_public: Callable[[], Any], name: str) -> Callable[..., Any]:
    """Return a method of overriding classes that asks for overrides, and else does as the plain one."""
    override = make_override(find_public)

    def method(*args: Any, **kwargs: Any) -> Any:
        found = override(args, kwargs)
        return plain(*args, **kwargs) if found is NotImplemented else found

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = getattr(plain, "__doc__", None)
    return method


def make_overridable(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that asks the classes of its arguments for overrides, and else does as the plain one.

    Its public function is itself.
    """
    override = make_override(lambda: function)

    def function(*args: Any, **kwargs: Any) -> Any:
        for each in args:
            if type(each) not in PLAIN:
                break
        else:
            if not kwargs and not MODES:
                return plain(*args)
        found = override(args, kwargs)
        return plain(*args, **kwargs) if found is NotImplemented else found

    update_wrapper(function, plain)
    return function
