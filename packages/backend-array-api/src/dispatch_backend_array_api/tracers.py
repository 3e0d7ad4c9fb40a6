"""JAX's tracers: the values of a function that ``jax.jit`` or another transformation of the program's own is following.

Note [A program's own jax.jit]
    Inside such a function every call of JAX gives a tracer, even of arrays that have values, and a tracer means nothing once
    the function has been followed. So a kernel whose arguments are all arrays with values computes at once: a tensor stays
    a tensor, and is a constant of the function. Raw arrays that are tracers go through operators as through JAX's own
    functions. Their values cannot be read: that is refused, with the name of the function.

Note [64 bits]
    JAX computes in 32 bits unless ``jax_enable_x64`` is set, and makes an int64 array an int32 one without a word. The
    operators' integers are 64 bits wide, so every kernel runs with it on, in its own thread and for as long as it runs: the
    program's own calls of JAX go on as it has set them. They meet 64-bit arrays of ours where it takes their data.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Final

import jax
import numpy as np

from dispatch_core import BackendError

_FOLLOWED: Final = re.compile(r"while tracing the function (?P<function>.+?) for (?P<by>\w+)\.?")


#: Types whose values are no tracers; the look-up is quicker than asking for an instance.
_PLAIN: Final = frozenset({type(jax.numpy.zeros(())), float, int, bool, complex, type(None)})


def is_following() -> bool:
    """Return whether this thread follows or runs a pipeline's program for us."""
    return bool(_own.depth)


class _Own(threading.local):
    """Whether this thread follows a pipeline's program for us."""

    depth = 0


_own: Final = _Own()


def keep_values(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Make a kernel compute at once where all its arguments have values; see Note [A program's own jax.jit]."""

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        found = kernel(*args, **kwargs)
        if type(found) in _PLAIN or _own.depth or not _has_tracers((found,)) or _has_tracers((*args, *kwargs.values())):
            return found
        with jax.ensure_compile_time_eval():
            return kernel(*args, **kwargs)

    return run


def keep_planned_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Do the same for a planner's function, whose first argument may be the list that it reads and writes."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        values = args[0] if type(args[0]) is list else []
        given = [*values, *args[1:]] if values else args
        _own.depth += 1
        try:
            found = function(*args, **kwargs)
            if _has_tracers((values, found)) and not _has_tracers(given):
                with jax.ensure_compile_time_eval():
                    found = function(*args, **kwargs)
            return found
        finally:
            _own.depth -= 1

    return run


def _has_tracers(values: Iterable[Any]) -> bool:
    return any(
        _has_tracers(value) if isinstance(value, tuple | list) else isinstance(value, jax.core.Tracer)
        for value in values
        if type(value) not in _PLAIN
    )


def read(array: Any) -> Any:
    """Return an array's values as NumPy's; raise ``BackendError`` for a tracer, which names the function it belongs to.

    Those of an array of several processes come together in each: all of them have to read it.
    """
    try:
        if not isinstance(array, jax.core.Tracer) and not array.is_fully_addressable and not array.is_fully_replicated:
            from jax.experimental.multihost_utils import process_allgather  # for few programs

            return process_allgather(array, tiled=True)
        return np.asarray(array)
    except jax.errors.TracerArrayConversionError as error:
        found = _FOLLOWED.search(str(error))
        whose = "of a function that JAX follows" if found is None else f"of jax.{found['by']}, in {found['function']}"
        raise BackendError(
            f"device 'jax': the values of {array.aval.str_short()} are asked for, which is a tracer {whose}:"
            " it has none until that function is called",
            hint="read values outside of the function, or return the array from it",
        ) from error


def _settle(value: Any) -> Any:
    """Return an array with a dtype that gives way to no number's, as that of the user's ``jnp.full(3, 2.0)`` does."""
    return jax.lax.convert_element_type(value, value.dtype) if getattr(value, "weak_type", False) else value


def in_64_bits(kernel: Callable[..., Any], settle: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """Make a kernel compute in 64 bits; see Note [64 bits]. ``settle`` may replace the arrays that it is given."""

    def prepare(value: Any) -> Any:
        return _settle(value if settle is None else settle(value))

    each = _settle if settle is None else prepare

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        with jax.enable_x64(True):
            return kernel(*map(each, args), **kwargs)

    return run
