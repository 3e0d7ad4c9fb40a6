"""How long the host waits for a device, as long as it takes or no longer than the user allows, and which did not answer."""

from __future__ import annotations

import math
import os
from typing import Final

from dispatch_core.errors import BackendError

from ..acl.constants import (
    ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
    ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
    ACL_ERROR_RT_WAIT_TIMEOUT,
)
from ..acl.errors import DeviceTimeoutError
from ..acl.library import bind, recent_message

__all__ = [
    "TIMED_OUT",
    "VARIABLE",
    "ask",
    "check_answers",
    "give_up",
    "has_answered",
    "read_environment",
    "set_sync_timeout",
    "sync_timeout",
]

VARIABLE: Final = "DISPATCH_NPU_SYNC_TIMEOUT"
"""The environment variable that gives the time limit, in seconds, that a program begins with."""

TIMED_OUT: Final = frozenset(
    {ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, ACL_ERROR_RT_WAIT_TIMEOUT}
)
"""What a synchronisation answers where the device was not done in time."""

#: Each function that waits, and the one that does so with a time limit in milliseconds.
_LIMITED: Final = {
    "aclrtSynchronizeDevice": "aclrtSynchronizeDeviceWithTimeout",
    "aclrtSynchronizeEvent": "aclrtSynchronizeEventWithTimeout",
    "aclrtSynchronizeStream": "aclrtSynchronizeStreamWithTimeout",
}
#: The limit in milliseconds, None for none, and whether the environment or the program has said so.
_limit: int | None = None
_is_set = False
#: Devices that did not answer, and the function, the code and the words that told it.
_silent: Final[dict[int, tuple[str, int, str]]] = {}


def set_sync_timeout(seconds: float | None) -> None:
    """Let every synchronisation with a device take this long at most, to a millisecond; None, the default, sets no limit.

    A device that takes longer is given up, see ``DeviceTimeoutError``. Raises ``BackendError`` for what is no number of
    seconds above 0.
    """
    global _limit, _is_set
    _limit, _is_set = _milliseconds(seconds, "a time limit"), True


def sync_timeout() -> float | None:
    """Return the time limit of synchronisations in seconds, None where there is none."""
    read_environment()
    return None if _limit is None else _limit / 1000


def read_environment() -> None:
    """Take the time limit from the environment, unless the program has set one.

    Raises ``BackendError`` where the variable is no number of seconds above 0.
    """
    global _limit, _is_set
    if not _is_set:
        text = os.environ.get(VARIABLE, "")
        _limit, _is_set = _milliseconds(text or None, VARIABLE), True


def _milliseconds(seconds: float | str | None, source: str) -> int | None:
    if seconds is None:
        return None
    try:
        number = float(seconds)
    except Exception:  # noqa: BLE001  # the conversion is the caller's, and may raise anything
        number = math.nan
    # The functions take the milliseconds as an int32_t.
    if not 0 < number * 1000 < 1 << 31:
        raise BackendError(
            f"{source} of {seconds!r} was asked for, where a number of seconds above 0 is expected",
            hint="leave it out, or let it be None, for no limit",
        )
    return math.ceil(number * 1000)


def ask(function: str, *handle: int) -> tuple[str, int]:
    """Call a function that waits for the device, or its twin with a time limit; return which one, and its status."""
    limit = _limit
    if limit is None:
        return function, bind(function)(*handle)
    limited = _LIMITED[function]
    return limited, bind(limited)(*handle, limit)


def give_up(device: int, function: str, status: int) -> None:
    """Note that a device has not answered: ``function`` gave ``status``."""
    _silent.setdefault(device, (function, status, recent_message()))


def check_answers(device: int) -> None:
    """Raise ``DeviceTimeoutError`` for a device that did not answer."""
    if device in _silent:
        raise DeviceTimeoutError(device, *_silent[device])


def has_answered(device: int | None = None) -> bool:
    """Say whether a device, or every one, has answered within the time limit so far."""
    return device not in _silent if device is not None else not _silent
