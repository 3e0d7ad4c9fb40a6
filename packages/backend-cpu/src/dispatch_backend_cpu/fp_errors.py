"""Calls of NumPy that ignore floating-point errors, without changing the user's settings.

Torch divides by zero and overflows in silence; NumPy warns, and raises where the user asked for that by ``np.seterr`` or by
turning warnings into errors.

NumPy keeps its error state in a context variable. A ``Context`` of our own, in which that state says "ignore", is entered
for the length of one NumPy call by ``Context.run``: some 20 ns, against about 1 µs for ``np.errstate``. Only one thread can
be inside a ``Context`` at a time, and only once. A thread that finds the process's context occupied takes a context of its
own; to begin with that one would cost every call the look at a thread-local, another 26 ns. A thread that is inside both,
because calls are nested three deep, takes ``np.errstate``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

from dispatch_aten.errors import OperatorError

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")


def _make_context() -> Context:
    context = Context()
    context.run(np.seterr, all="ignore")
    return context


CONTEXT: Final = _make_context()
"""The process's context, which `run` enters."""

run: Final = CONTEXT.run
"""``run(fn, *args, **kwargs)``: call ``fn`` without floating-point errors; ``RuntimeError`` if the context is occupied."""


class _ThreadContext(threading.local):
    """A thread's own context, made when the thread first finds the process's occupied."""

    def __init__(self) -> None:
        self.run = _make_context().run


_thread: Final = _ThreadContext()


def retry_under_errstate(fn: Callable[..., _R], *args: Any, **kwargs: Any) -> _R:
    """Call ``fn`` as ``run`` does where that was occupied: in the thread's own context, else under ``np.errstate``."""
    try:
        return _thread.run(fn, *args, **kwargs)
    except RuntimeError as error:
        if _was_entered(error):
            raise
    with np.errstate(all="ignore"):
        return fn(*args, **kwargs)


def quietly(fn: Callable[..., _R], *args: Any, **kwargs: Any) -> _R:
    """Call ``fn`` without floating-point errors, wherever it is called from: also inside ``run``."""
    try:
        return run(fn, *args, **kwargs)
    except RuntimeError as error:
        if _was_entered(error):
            raise
    return retry_under_errstate(fn, *args, **kwargs)


def settle(error: Exception) -> None:
    """Raise the error of a function that ``run`` was to call, as torch's; return where the context was occupied."""
    if isinstance(error, OverflowError):
        raise OperatorError(f"value cannot be converted without overflow: {error}") from None
    if not isinstance(error, RuntimeError) or _was_entered(error):
        raise error


def _was_entered(error: RuntimeError) -> bool:
    """Return whether a function has raised the error, and not ``Context.run``, beneath which there is no frame."""
    traceback = error.__traceback__
    return traceback is not None and traceback.tb_next is not None


def ignore_fp_errors(kernel: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make a function that calls NumPy ignore floating-point errors.

    It raises torch's error, an ``OperatorError``, for a number that its type cannot hold.

    >>> import numpy as np
    >>> @ignore_fp_errors
    ... def inverse(x): return 1 / x
    >>> float(inverse(np.zeros(())))
    inf
    """

    @wraps(kernel)
    def ignoring(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            try:
                return run(kernel, *args, **kwargs)
            except RuntimeError as error:
                if _was_entered(error):
                    raise
            return retry_under_errstate(kernel, *args, **kwargs)
        except OverflowError as error:
            raise OperatorError(f"value cannot be converted without overflow: {error}") from None

    return ignoring


def ignore_fp_errors_in_step(step: Callable[[_T], object]) -> Callable[[_T], None]:
    """Do the same for a function of one argument that returns nothing, which takes half as long to call."""

    @wraps(step)
    def ignoring(values: _T) -> None:
        try:
            try:
                run(step, values)
            except RuntimeError as error:
                if _was_entered(error):
                    raise
                retry_under_errstate(step, values)
        except OverflowError as error:
            raise OperatorError(f"value cannot be converted without overflow: {error}") from None

    return ignoring
