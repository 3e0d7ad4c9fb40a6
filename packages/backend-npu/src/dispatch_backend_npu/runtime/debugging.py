"""Dumps of operators' arrays by the toolkit, and the time limit of a single operator on the device."""

from __future__ import annotations

import os

from dispatch_core import BackendError

from ..acl.library import call
from .device import ensure

__all__ = ["finalize_dump", "init_dump", "set_dump", "set_op_timeout"]


def init_dump() -> None:
    """Make the toolkit ready to write the arrays of operators to files; `set_dump` says which."""
    ensure()
    call("aclmdlInitDump")


def set_dump(path: str | os.PathLike[str]) -> None:
    """Give the toolkit a configuration, a file of JSON that names the arrays to write.

    Raises ``BackendError`` where there is no such file.
    """
    if not os.path.isfile(path):  # noqa: PTH113
        raise BackendError(
            f"there is no file {os.fspath(path)!r} with a configuration of dumps",
            hint="it is a file of JSON; the toolkit's manual of aclmdlSetDump describes it",
        )
    ensure()
    call("aclmdlSetDump", os.fsencode(os.path.realpath(path)))


def finalize_dump() -> None:
    """End what `init_dump` has begun."""
    ensure()
    call("aclmdlFinalizeDump")


def set_op_timeout(milliseconds: int) -> None:
    """Set how long a single operator may run on the device, which then reports a fault.

    Raises ``BackendError`` for any other value than a whole number from 1 to 2**32 - 1.
    """
    if type(milliseconds) is not int or not 0 < milliseconds < 1 << 32:
        raise BackendError(
            f"the time limit of an operator is a whole number of milliseconds above 0, not {milliseconds!r}",
            hint="it counts while the device works on the operator; set_sync_timeout() limits how long a program waits",
        )
    ensure()
    call("aclrtSetOpExecuteTimeOutWithMs", milliseconds)
