"""The stages of pipelines, told to the profile that is open: shape rules, plans, kernels and flushes.

A pipeline calls `stage` where a stage begins. While no profile is open that is one look at a context variable; it is asked
for each flush, each plan and each shape rule that runs, and for no recorded call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, Final, Literal, Protocol

#: "meta" is a shape rule, "plan" a plan that is looked up or made, "impl" a kernel or a planned step, "flush" all that runs
#: at a flush or before a read.
StageKind = Literal["meta", "plan", "impl", "flush"]


class StageListener(Protocol):
    """A profile, as pipelines see it."""

    def stage(self, kind: StageKind, name: str, made: Iterable[object] = ()) -> AbstractContextManager[Any]:
        """Return a context manager that measures a stage; ``made`` are the values that calls recorded before stand for."""
        ...


active: Final[ContextVar[StageListener | None]] = ContextVar("dispatch_core.profile", default=None)
_nothing: Final[AbstractContextManager[Any]] = nullcontext()


def stage(kind: StageKind, name: str, made: Iterable[object] = ()) -> AbstractContextManager[Any]:
    """Return a context manager for one stage, which does nothing while no profile is open.

    >>> with stage("flush", "flush"):
    ...     pass
    """
    listener = active.get()
    return _nothing if listener is None else listener.stage(kind, name, made)


def watch(kind: StageKind, name: str, function: Callable[..., Any], made: Iterable[object] = ()) -> Callable[..., Any]:
    """Return ``function``, measured as a stage where a profile is open.

    >>> watch("impl", "len", len) is len
    True
    """
    if active.get() is None:
        return function

    def run(*args: object, **kwargs: object) -> object:
        with stage(kind, name, made):
            return function(*args, **kwargs)

    return run
