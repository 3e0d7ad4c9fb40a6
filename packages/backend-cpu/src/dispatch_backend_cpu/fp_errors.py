"""Calling NumPy without its floating-point warnings, and without changing the user's settings.

Torch divides by zero and overflows in silence; NumPy warns, and raises where the user asked for that by ``np.seterr`` or by
turning warnings into errors.

Note [Quiet by context]
NumPy keeps its error state in a context variable. A ``Context`` of our own, in which that state says "ignore", is entered
for the length of one NumPy call by ``Context.run``: some 20 ns, against about 1 µs for ``np.errstate``. Only one thread can
be inside a ``Context`` at a time (and not twice). A thread that finds the process's occupied takes its own, which it makes
then; to take its own from the start would cost every call the look at a thread-local, another 26 ns. A thread that is
inside both, because a quiet call called another and that a third, takes ``np.errstate``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

from dispatch_aten.errors import OperatorError

__all__ = ["overflow", "quiet", "run", "run_elsewhere"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _quiet_context() -> Context:
    made = Context()
    made.run(np.seterr, all="ignore")
    return made


run: Final = _quiet_context().run
"""``run(fn, *args, **kwargs)``: call ``fn`` quietly; ``RuntimeError`` if another call is inside at that moment."""


class _Thread(threading.local):
    """A thread's own context, made when the thread first finds the process's occupied."""

    def __init__(self) -> None:
        self.run = _quiet_context().run


_thread: Final = _Thread()


def run_elsewhere(error: RuntimeError, fn: Callable[..., _R], *args: Any, **kwargs: Any) -> _R:
    """Call ``fn`` quietly in the thread's own context if ``error`` says that ``run`` was occupied, else raise ``error``."""
    if not _is_occupied(error):
        raise error
    try:
        return _thread.run(fn, *args, **kwargs)
    except RuntimeError as nested:
        if not _is_occupied(nested):
            raise
    with np.errstate(all="ignore"):
        return fn(*args, **kwargs)


def _is_occupied(error: RuntimeError) -> bool:
    return str(error).startswith("cannot enter context")


def overflow(error: OverflowError) -> OperatorError:
    """Return torch's error for a number that its type cannot hold; ``error`` is Python's or NumPy's."""
    return OperatorError(f"value cannot be converted without overflow: {error}")


def quiet(kernel: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function that calls NumPy run without NumPy's warnings.

    >>> import numpy as np
    >>> @quiet
    ... def inverse(x): return 1 / x
    >>> float(inverse(np.zeros(())))
    inf
    """

    @wraps(kernel)
    def quietly(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return run(kernel, *args, **kwargs)
        except RuntimeError as error:
            occupied = error
        except OverflowError as error:
            raise overflow(error) from None
        try:
            return run_elsewhere(occupied, kernel, *args, **kwargs)
        except OverflowError as error:
            raise overflow(error) from None

    return quietly
