"""Functions whose calls are steps of their own in traced graphs (source: ``torch.fx.wrap``)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["WRAPPED_FUNCTIONS", "WRAPPED_METHODS", "wrap"]

_F = TypeVar("_F", bound=Callable[..., Any] | str)

#: Identity of a module's global variables, and a name among them → the variables.
WRAPPED_FUNCTIONS: Final[dict[tuple[int, str], dict[str, Any]]] = {}
#: Classes and names of their methods.
WRAPPED_METHODS: Final[list[tuple[type, str]]] = []


def wrap(fn_or_name: _F) -> _F:
    """Make a function of this module, or one that it names, a step of its own in traced graphs (source: ``torch.fx.wrap``).

    It is called at the top level of a module, with the name of a global variable or as a decorator. Calls with a proxy
    among the arguments are recorded instead of run. Raises ``NotImplementedError`` within a function, and ``RuntimeError``
    for other arguments.

    >>> import torchlike
    >>> torchlike.fx.wrap("len")  # doctest: +SKIP
    'len'
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    WRAPPED_FUNCTIONS[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name
