"""What this machine has: whether there is a device, how many, what they are called, and versions.

Nothing here raises where there is no toolkit. Without one, nothing is loaded either.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

from dispatch_core.errors import BackendError

from ..acl import toolkit
from ..acl.constants import ACL_ERROR_UNINITIALIZE
from ..acl.library import bind
from .device import init

__all__ = ["device_count", "device_name", "is_available", "model_directory", "unavailable_reason", "versions"]


def _ask() -> tuple[int, str]:
    """Give how many devices there are and, where there is none, why."""
    if toolkit.find_folder() is None:
        return 0, toolkit.not_found()
    count = ctypes.c_uint32()
    try:
        status = bind("aclrtGetDeviceCount")(ctypes.byref(count))
        if status == ACL_ERROR_UNINITIALIZE:  # No document says whether it may be asked before the runtime is open.
            init()
            status = bind("aclrtGetDeviceCount")(ctypes.byref(count))
    except BackendError as error:
        return 0, str(error)
    if status:
        from ..acl.codes import error_name  # read when something has failed, and not before

        return 0, (
            f"the Ascend runtime is in {toolkit.find_folder()}, but finds no device: aclrtGetDeviceCount answered {status}"
            f" ({error_name(status)})"
        )
    return count.value, "" if count.value else f"the Ascend runtime in {toolkit.find_folder()} finds no device"


def device_count() -> int:
    """Give how many devices there are; 0 where there is no toolkit or no driver."""
    return _ask()[0]


def is_available() -> bool:
    """Say whether an NPU can be opened on this machine."""
    return _ask()[0] > 0


def unavailable_reason() -> str:
    """Say why no NPU can be opened on this machine: what was looked for, and where; ``""`` where one can.

    >>> bool(unavailable_reason()) is not is_available()
    True
    """
    return _ask()[1]


def device_name() -> str:
    """Give what the chip calls itself, ``""`` where there is none. A simulator says that it is one."""
    if not is_available():
        return ""
    name: bytes | None = bind("aclrtGetSocName")()
    return name.decode(errors="replace") if name else ""


def versions() -> dict[str, str]:
    """Give the versions of runtime and toolkit, each ``""`` where it is not known, and the folder they are in.

    >>> sorted(versions())
    ['folder', 'runtime', 'toolkit']
    """
    folder = toolkit.find_folder()
    if folder is None:
        return {"runtime": "", "toolkit": "", "folder": ""}
    runtime = ""
    try:
        numbers = [ctypes.c_int32() for _ in range(3)]
        if not bind("aclrtGetVersion")(*map(ctypes.byref, numbers)):
            runtime = ".".join(str(number.value) for number in numbers)
    except BackendError:
        pass
    return {"runtime": runtime, "toolkit": toolkit.version(folder), "folder": folder}


def model_directory(environment: Mapping[str, str] | None = None) -> str | None:
    """Give the folder of the operators' binaries, which the toolkit finds by ``ASCEND_OPP_PATH``; None without one.

    Where the variable is not set, it is the folder that ``set_env.sh`` would name, if that is there. Nothing is set.
    """
    environment = os.environ if environment is None else environment
    named = environment.get("ASCEND_OPP_PATH")
    folder = toolkit.find_folder(environment)
    candidates = [named] if named else []
    if folder is not None:
        home = folder.removesuffix("/lib64")
        candidates += [f"{home}/opp", f"{home.rpartition('/')[0]}/opp"]
    return next((path for path in candidates if toolkit.is_folder(path)), None)
