"""The number of devices on this machine, their name, and the toolkit's versions.

Without a toolkit, nothing here raises, and nothing is loaded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

from dispatch_core import BackendError

from ..acl import toolkit
from ..acl.constants import ACL_ERROR_UNINITIALIZE
from ..acl.library import bind
from ..acl.prototypes import COLLECTIVES
from .chips import check_chip, find_chip
from .device import init, soc_name


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
    if not count.value:
        return 0, f"the Ascend runtime in {toolkit.find_folder()} finds no device"
    return (0, reason) if (reason := _describe_fatal()) else (count.value, "")


def _describe_fatal() -> str:
    """Return the fault of the installation, or of the chip, by which no operator can run, ``""`` where there is none."""
    from ..acl.installation import find_faults  # only those who ask for devices need it

    folder = toolkit.find_folder()
    reason = "" if folder is None else next((str(fault) for fault in find_faults(folder) if fault.is_fatal), "")
    if not reason:
        try:
            check_chip(soc_name())
        except BackendError as error:
            reason = str(error)
    return reason


def has_collectives() -> bool:
    """Return whether the toolkit has a library of collectives (HCCL). Raises nothing."""
    folder = toolkit.find_folder()
    try:
        return folder is not None and bool(toolkit.find_files(folder, COLLECTIVES))
    except OSError:
        return False


def installation_faults() -> list[str]:
    """Return the faults of the toolkit's installation, each with its remedy; none where there is no toolkit.

    It loads the toolkit, if it can, to ask for the chip's name.

    >>> all("Hint: " in fault for fault in installation_faults())
    True
    """
    from ..acl.installation import find_faults

    folder = toolkit.find_folder()
    if folder is None:
        return []
    name = device_name()
    chip = find_chip(name)
    return [str(fault) for fault in find_faults(folder, chip=name, family="" if chip is None else chip.family)]


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
    return soc_name() if is_available() else ""


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
    return toolkit.find_operators_folder(environment)
