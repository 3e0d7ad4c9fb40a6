"""The time limit of synchronisations, and the devices that did not answer within it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Final

from dispatch_core import BackendError

from ..acl.constants import (
    ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
    ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
    ACL_ERROR_RT_WAIT_TIMEOUT,
)
from ..acl.errors import DeviceTimeoutError
from ..acl.library import bind, recent_message

VARIABLE: Final = "DISPATCH_NPU_SYNC_TIMEOUT"
"""The environment variable with the initial time limit in seconds."""

TIMED_OUT: Final = frozenset(
    {ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, ACL_ERROR_RT_WAIT_TIMEOUT}
)
"""The statuses of a synchronisation in which the device was not done in time."""

#: Function that waits → its variant with a time limit in milliseconds.
_LIMITED: Final = {
    "aclrtSynchronizeDevice": "aclrtSynchronizeDeviceWithTimeout",
    "aclrtSynchronizeEvent": "aclrtSynchronizeEventWithTimeout",
    "aclrtSynchronizeStream": "aclrtSynchronizeStreamWithTimeout",
}
#: The limit in milliseconds, None for none, and whether the environment or the program has set it.
_limit: int | None = None
_is_set = False
#: Device that did not answer → the function, its status and the toolkit's message.
_silent: Final[dict[int, tuple[str, int, str]]] = {}


def set_sync_timeout(seconds: float | None) -> None:
    """Set the time limit of every synchronisation with a device, in seconds; None, the default, for no limit.

    It is rounded up to a millisecond. A device that takes longer is not used again, see ``DeviceTimeoutError``. Raises
    ``BackendError`` for any other value than a number above 0.
    """
    global _limit, _is_set
    _limit, _is_set = _milliseconds(seconds, "a time limit"), True


def sync_timeout() -> float | None:
    """Return the time limit of synchronisations in seconds, None where there is none."""
    read_environment()
    return None if _limit is None else _limit / 1000


def read_environment() -> None:
    """Read the time limit from the environment, unless the program has set one.

    Raises ``BackendError`` where the variable is not a number of seconds above 0.
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
    except Exception:  # noqa: BLE001  # the caller's object may raise anything
        number = math.nan
    # The functions take the milliseconds as an int32_t.
    if not 0 < number * 1000 < 1 << 31:
        raise BackendError(
            f"{source} of {seconds!r} was asked for, where a number of seconds above 0 is expected",
            hint="leave it out, or let it be None, for no limit",
        )
    return math.ceil(number * 1000)


watchers: Final[list[Callable[[], None]]] = []
"""Functions that are called while a device takes long; each raises an error where it will not finish."""

#: After how many milliseconds of a wait the watchers are asked, each time.
WATCHED: Final = 20_000


def call_waiting(function: str, *handle: int) -> tuple[str, int]:
    """Call a function that waits for the device, or its variant with a time limit; return its name and its status.

    Raises what a watcher raises.
    """
    limit = _limit
    if limit is None and not watchers:
        return function, bind(function)(*handle)
    limited = _LIMITED[function]
    wait = bind(limited)
    while True:
        part = WATCHED if limit is None else min(limit, WATCHED) if watchers else limit
        status = wait(*handle, part)
        if limit is not None:
            limit -= part
        if status not in TIMED_OUT or limit == 0:
            return limited, status
        for watch in watchers:
            watch()


def mark_silent(device: int, function: str, status: int) -> None:
    """Record that a device has not answered: ``function`` returned ``status``."""
    _silent.setdefault(device, (function, status, recent_message()))


def check_answers(device: int) -> None:
    """Raise ``DeviceTimeoutError`` for a device that did not answer."""
    if device in _silent:
        raise DeviceTimeoutError(device, *_silent[device])


def has_answered(device: int | None = None) -> bool:
    """Return whether a device, by default every one, has answered within the time limit so far."""
    return device not in _silent if device is not None else not _silent
