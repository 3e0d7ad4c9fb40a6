"""The errors of the toolkit: it is missing or too old, it lacks a function, a call has failed."""

from __future__ import annotations

from typing import Final

import dispatch_core as dc
from dispatch_core import BackendError, BackendUnavailableError

from .codes import error_name


class ToolkitNotFoundError(BackendUnavailableError):
    """The toolkit's libraries are not on this machine, or cannot be loaded."""


class ToolkitVersionError(ToolkitNotFoundError):
    """The toolkit on this machine is older than the oldest that the backend supports."""


class FunctionNotFoundError(BackendError):
    """The toolkit on this machine has no function of that name."""


#: Hints by code, for errors whose own message does not help.
_HINTS: Final = {
    100039: "this is a library to link with, not one to run: take its folder, devlib, out of the environment",
    107001: "torchlike.npu.device_count() returns the number of devices",
    107002: "a thread must open a device before it calls the runtime: runtime.device.ensure()",
    161001: "an argument that the operator needs was a null pointer",
    207004: "the driver sees no device: npu-smi info lists them",
    507899: "the driver is missing or does not answer: npu-smi info lists its devices",
    561003: "the toolkit has no binary of this operator for this chip and these dtypes",
    561107: "source the toolkit's set_env.sh, which sets ASCEND_OPP_PATH",
    561112: "install the package of operator binaries for this chip, and source the toolkit's set_env.sh",
}


class AclError(BackendError):
    """A function of ACL did not succeed.

    ``function`` is its name, ``code`` its status, ``symbol`` the name of that status in the toolkit's headers, ``detail``
    the message of ``aclGetRecentErrMsg``, which may be ``""``.

    >>> print(AclError("aclnnAdd", 561107))
    aclnnAdd failed with 561107 (ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND)
    Hint: source the toolkit's set_env.sh, which sets ASCEND_OPP_PATH
    """

    def __init__(self, function: str, code: int, detail: str = "", *, hint: str | None = None) -> None:
        self.function, self.code, self.symbol, self.detail = function, code, error_name(code), detail.strip()
        super().__init__(_message(function, code, detail), hint=hint or _HINTS.get(code))


def _message(function: str, code: int, detail: str) -> str:
    text = f"{function} failed with {code} ({error_name(code)})"
    return f"{text}: {detail.strip()}" if detail.strip() else text


class AclWarning(RuntimeWarning):
    """A function of ACL that destroys an object, or makes calls cheaper, did not succeed; the program goes on.

    ``function`` and ``code`` are as for ``AclError``.

    >>> print(AclWarning("aclDestroyTensor", 561103))
    aclDestroyTensor failed with 561103 (ACLNN_ERR_INNER_NULLPTR); later failures of this kind are not reported
    """

    def __init__(self, function: str, code: int, detail: str = "") -> None:
        self.function, self.code, self.symbol, self.detail = function, code, error_name(code), detail.strip()
        super().__init__(f"{_message(function, code, detail)}; later failures of this kind are not reported")


class DeviceTimeoutError(AclError, TimeoutError):
    """A device was not done within the time limit of a synchronisation, and does no more work in this process.

    Every later call to that device raises the same error. Its streams, memory, descriptors and executors are neither freed
    nor used again. ``device`` is its number; the rest is as for ``AclError``.
    """

    def __init__(self, device: int, function: str, code: int, detail: str = "") -> None:
        self.device = device
        reason = f"npu:{device} did not finish its work in time, and does no more in this process"
        super().__init__(
            function,
            code,
            f"{reason} ({detail.strip()})" if detail.strip() else reason,
            hint="start a new process; the device's memory is kept until this one ends",
        )


class OutOfMemoryError(AclError, dc.OutOfMemoryError):
    """The device has no room for an allocation, even after the cache was emptied."""
