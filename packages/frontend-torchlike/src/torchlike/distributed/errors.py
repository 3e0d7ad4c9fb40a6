"""The errors of a program that asks for other processes, or for a group that there is not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = ["NoProcessGroupError", "NotInGroupError", "for_members"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


class NoProcessGroupError(RuntimeError, ValueError):
    """A call that needs several processes: torch raises ``ValueError`` where no group of them was initialized."""

    def __init__(self, name: str, reason: str = "", hint: str = "") -> None:
        reason = reason or "Default process group has not been initialized"
        hint = hint or (
            "init_process_group() makes it: of one process with nothing installed, of several by mpirun and "
            "dispatch-backend-cpu[mpi], or by torchlike.distributed.run and dispatch-backend-cpu[gloo]"
        )
        super().__init__(f"torch.distributed.{name}: {reason}\nHint: {hint}")


NoProcessGroupError.__module__ = "torchlike.distributed"


class NotInGroupError(NoProcessGroupError):
    """A question about a group that this process is not in."""

    def __init__(self, name: str) -> None:
        super().__init__(
            name, "Invalid process group specified: this process is not in it", "ask where get_rank(group) is not -1"
        )


def for_members(function: Callable[_P, _T]) -> Callable[_P, _T | None]:
    """Return a function that warns and returns None in a process that is not in the group, as torch's do."""

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        try:
            return function(*args, **kwargs)
        except NotInGroupError as error:
            warnings.warn(f"Running {function.__name__} on a process that is not in the group: {error}", stacklevel=2)
            return None

    return call
