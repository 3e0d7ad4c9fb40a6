"""The number of devices on this machine, their name, and the toolkit's versions.

Without a toolkit, nothing here raises, and nothing is loaded.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

from dispatch_core import BackendError

from ..acl import toolkit
from ..acl.constants import ACL_ERROR_UNINITIALIZE
from ..acl.library import bind
from .device import init


def _count_devices() -> tuple[int, str]:
    """Return the number of devices and, where it is 0, the reason."""
    if toolkit.find_folder() is None:
        return 0, toolkit.describe_search()
    count = ctypes.c_uint32()
    try:
        status = bind("aclrtGetDeviceCount")(ctypes.byref(count))
        if status == ACL_ERROR_UNINITIALIZE:  # Undocumented: whether a call before aclInit is allowed.
            init()
            status = bind("aclrtGetDeviceCount")(ctypes.byref(count))
    except BackendError as error:
        return 0, str(error)
    if status:
        from ..acl.codes import error_name  # only failures need the names

        return 0, (
            f"the Ascend runtime is in {toolkit.find_folder()}, but finds no device: aclrtGetDeviceCount returned {status}"
            f" ({error_name(status)})"
        )
    return count.value, "" if count.value else f"the Ascend runtime in {toolkit.find_folder()} finds no device"


def device_count() -> int:
    """Return the number of devices; 0 where there is no toolkit or no driver."""
    return _count_devices()[0]


def is_available() -> bool:
    """Return whether an NPU can be opened on this machine."""
    return _count_devices()[0] > 0


def unavailable_reason() -> str:
    """Return why no NPU can be opened on this machine, with the files and folders of the search; ``""`` where one can.

    >>> bool(unavailable_reason()) is not is_available()
    True
    """
    return _count_devices()[1]


def device_name() -> str:
    """Return the chip's own name, ``""`` where there is none; a simulator's name says so."""
    if not is_available():
        return ""
    name: bytes | None = bind("aclrtGetSocName")()
    return name.decode(errors="replace") if name else ""


def versions() -> dict[str, str]:
    """Return the versions of runtime and toolkit, each ``""`` where it is unknown, and their folder.

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
    """Return the folder of the operators' binaries, which the toolkit finds by ``ASCEND_OPP_PATH``; None without one.

    Where the variable is not set, it is the folder that ``set_env.sh`` would name, if it exists. Sets no variable.
    """
    environment = os.environ if environment is None else environment
    named = environment.get("ASCEND_OPP_PATH")
    folder = toolkit.find_folder(environment)
    candidates = [named] if named else []
    if folder is not None:
        home = folder.removesuffix("/lib64")
        candidates += [f"{home}/opp", f"{home.rpartition('/')[0]}/opp"]
    return next((path for path in candidates if toolkit.is_folder(path)), None)
