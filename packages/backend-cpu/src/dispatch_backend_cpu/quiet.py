"""Calling NumPy without its floating-point warnings, and without changing the user's settings.

Torch divides by zero and overflows in silence; NumPy warns, and raises where the user asked for that by ``np.seterr`` or by
turning warnings into errors.

Note [Quiet by context]
NumPy keeps its error state in a context variable. A ``Context`` of our own, in which that state says "ignore", is entered
for the length of one NumPy call by ``Context.run``: some 20 ns, against about 1 µs for ``np.errstate``. Only one thread can
be inside a ``Context`` at a time (and not twice); whoever finds it occupied takes ``np.errstate`` instead.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

__all__ = ["loud_retry", "quiet", "run"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_context: Final = Context()
_context.run(np.seterr, all="ignore")

run: Final = _context.run
"""``run(fn, *args, **kwargs)``: call ``fn`` quietly; ``RuntimeError`` if another call is inside at that moment."""


def loud_retry(error: RuntimeError, fn: Callable[..., _R], *args: Any, **kwargs: Any) -> _R:
    """Call ``fn`` under ``np.errstate`` if ``error`` says that ``run`` was occupied, else raise ``error`` again."""
    if not str(error).startswith("cannot enter context"):
        raise error
    with np.errstate(all="ignore"):
        return fn(*args, **kwargs)


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
        return loud_retry(occupied, kernel, *args, **kwargs)

    return quietly
