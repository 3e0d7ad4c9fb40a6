"""Tracebacks that end at the user's line: a public call leaves out the frames of the dispatcher and its packages.

Note [Frames that are left out]
    The outermost public call is where an error leaves the dispatcher. There `trim_traceback` takes the frames of hidden
    packages and of generated code out of the error's traceback and of those that it is chained to; the frames of the user's
    kernels, hooks and modules, and of other libraries, stay. A handler costs a call that succeeds nothing, so calls have one
    in place of a wrapper. An error that a hidden package did not raise on purpose is not a fault of the call: it gets a
    note. ``DISPATCH_TRACEBACK=full`` keeps everything. Interrupts keep their frames (source: ``jax._src.traceback_util``).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, wraps
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Final, ParamSpec, TypeVar

from .errors import DispatchError, OutOfMemoryError

__all__ = ["GENERATED", "api_boundary", "hide_frames", "is_own_frame", "line_of", "trim_traceback", "warn_caller"]

P = ParamSpec("P")
R = TypeVar("R")

#: How the file names of generated code begin.
GENERATED: Final = "<dispatch "
#: Root packages.
_HIDDEN: Final = {__name__.partition(".")[0]}
#: Device → the classes of its backend's errors that say that it has no memory left.
_MEMORY_ERRORS: Final[dict[str, type[BaseException] | tuple[type[BaseException], ...]]] = {}
#: Says that an error has been looked at: an outer call finds other frames, and cannot tell any more who raised it.
_MARK: Final = "_dispatch_trimmed"


def hide_frames(package: str) -> None:
    """Leave the frames of ``package`` and of all modules in it out of tracebacks: see Note [Frames that are left out]."""
    _HIDDEN.add(package)


def trim_traceback(error: BaseException) -> None:
    """Take hidden frames out of an error that is about to be raised again; see Note [Frames that are left out].

    Of frames outside, that of the caller among them, nothing is lost: they join the traceback as the error passes them.
    Raises ``OutOfMemoryError`` in place of an error by which a device's backend says so.

    >>> def call(kernel):
    ...     try:
    ...         return kernel()
    ...     except Exception as error:
    ...         trim_traceback(error)
    ...         raise
    """
    for classes in _MEMORY_ERRORS.values():
        if isinstance(error, classes) and not isinstance(error, OutOfMemoryError):
            _cut(error)
            raise OutOfMemoryError(str(error)) from error
    _cut(error)


def note_memory_errors(device: str, classes: type[BaseException] | tuple[type[BaseException], ...] | None) -> None:
    """Note the classes of a backend's errors that say that a device has no memory left; None takes them back."""
    if classes is None:
        _MEMORY_ERRORS.pop(device, None)
    else:
        _MEMORY_ERRORS[device] = classes


def _cut(error: BaseException) -> None:
    """Take hidden frames out of an error and those that it is chained to."""
    if os.environ.get("DISPATCH_TRACEBACK", "").strip().lower() == "full":
        return
    todo, seen = [error], {id(None)}
    while todo:
        each = todo.pop()
        shown, count = _split(each.__traceback__)
        if count:
            if each is error:
                _add_note(error, count)
            each.__traceback__ = shown
        seen.add(id(each))
        chained = [each.__cause__, None if each.__suppress_context__ else each.__context__]
        if isinstance(each, BaseExceptionGroup):
            chained += each.exceptions
        todo += [other for other in chained if other is not None and id(other) not in seen]


def _split(trace: TracebackType | None) -> tuple[TracebackType | None, int]:
    """Return a traceback without its hidden frames, and their number."""
    shown, count = [], 0
    while trace is not None:
        if is_own_frame(trace.tb_frame):
            count += 1
        else:
            shown.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for each in reversed(shown):
        kept = TracebackType(kept, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return kept, count


def is_own_frame(frame: FrameType) -> bool:
    """Return whether tracebacks leave the frame out: one of a package that `hide_frames` names, or of generated code."""
    if frame.f_code.co_filename.startswith(GENERATED):
        return True
    return _package_of(str(frame.f_globals.get("__name__"))) in _HIDDEN


@lru_cache(maxsize=1024)
def _package_of(module: str) -> str:
    return module.partition(".")[0]


def warn_caller(text: str) -> None:
    """Warn about the user's line that called, past the frames that tracebacks leave out.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("mind this")
    >>> caught[0].filename == warn_caller.__code__.co_filename
    False
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_own_frame(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def _add_note(error: BaseException, count: int) -> None:
    """Say how to see all frames of an error that a hidden frame has met with: one that it raised tells its reason.

    The boundary's own frame only calls; an error there is about the arguments.
    """
    if isinstance(error, DispatchError) or hasattr(error, _MARK):
        return
    with suppress(Exception):  # a class of the user's may refuse it
        setattr(error, _MARK, True)
        if isinstance(error, TypeError) and _name_kernel(error):
            return
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace is error.__traceback__:
        return
    from opcode import opmap  # only errors need it

    if is_own_frame(trace.tb_frame) and trace.tb_frame.f_code.co_code[trace.tb_lasti] != opmap["RAISE_VARARGS"]:
        frames = "1 frame" if count == 1 else f"{count} frames"
        error.add_note(f"Hint: DISPATCH_TRACEBACK=full shows {frames} of dispatch_core's that are left out here")


def _name_kernel(error: TypeError) -> bool:
    """Name the kernel that does not take its operator's arguments, in a note; return whether there is one."""
    trace, operator = error.__traceback__, ""
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        label = frame.f_code.co_filename
        if label.startswith(GENERATED):
            operator = label.removesuffix(">").partition(" of ")[2].partition(",")[0]
    known = {**frame.f_globals, **frame.f_locals} if operator and is_own_frame(frame) else {}
    kernel = known.get("__kernel", known.get("kernel"))
    kernel = getattr(kernel, "func", kernel)  # a partial's
    if not isinstance(kernel, FunctionType) or not str(error).startswith(f"{kernel.__qualname__}()"):
        return False
    place = f"{kernel.__code__.co_filename}:{kernel.__code__.co_firstlineno}"
    error.add_note(f"Kernel of {operator}: {kernel.__module__}.{kernel.__qualname__} ({place})")
    error.add_note("Hint: a kernel takes the arguments of its operator's schema, in that order")
    return True


def api_boundary(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function that is called rarely a boundary of Note [Frames that are left out].

    >>> import dispatch_core as dc
    >>> import traceback
    >>> try:
    ...     dc.Library("shop", "DEF").define("total(Tnsor x) -> Tensor")
    ... except dc.SchemaError as error:
    ...     len(traceback.extract_tb(error.__traceback__))
    1
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    return call


def line_of(code: CodeType, offset: int) -> str:
    """Return file and line of an instruction, as ``file:line``."""
    number = next(
        (line for start, end, line in code.co_lines() if start <= offset < end and line is not None),
        code.co_firstlineno,
    )
    return f"{code.co_filename}:{number}"
