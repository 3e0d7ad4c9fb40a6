"""What can go wrong on the way to the device: no toolkit, a function that it lacks, a call that failed."""

from __future__ import annotations

from typing import Final

from dispatch_core.errors import BackendError, BackendUnavailableError

from .codes import error_name

__all__ = [
    "AclError",
    "AclWarning",
    "DeviceTimeoutError",
    "FunctionNotFoundError",
    "OutOfMemoryError",
    "ToolkitNotFoundError",
    "ToolkitVersionError",
]


class ToolkitNotFoundError(BackendUnavailableError):
    """The toolkit's libraries are not on this machine, or cannot be loaded."""


class ToolkitVersionError(ToolkitNotFoundError):
    """The toolkit that is here is older than the backend can work with."""


class FunctionNotFoundError(BackendError):
    """The toolkit that is here has no function of that name."""


#: What helps where the toolkit's own message does not say it.
_HINTS: Final = {
    100039: "this is a library to link with, not one to run: take its folder, devlib, out of the environment",
    107001: "torchlike.npu.device_count() says how many devices there are",
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

    ``function`` is its name, ``code`` what it returned, ``symbol`` what the toolkit's headers call that, ``detail`` what
    ``aclGetRecentErrMsg`` told, ``""`` where it told nothing.

    >>> print(AclError("aclnnAdd", 561107))
    aclnnAdd failed with 561107 (ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND)
    Hint: source the toolkit's set_env.sh, which sets ASCEND_OPP_PATH
    """

    def __init__(self, function: str, code: int, detail: str = "", *, hint: str | None = None) -> None:
        self.function, self.code, self.symbol, self.detail = function, code, error_name(code), detail.strip()
        super().__init__(_told(function, code, detail), hint=hint or _HINTS.get(code))


def _told(function: str, code: int, detail: str) -> str:
    text = f"{function} failed with {code} ({error_name(code)})"
    return f"{text}: {detail.strip()}" if detail.strip() else text


class AclWarning(RuntimeWarning):
    """A function of ACL did not succeed, and the program goes on: it was to destroy something, or to make calls cheaper.

    ``function`` and ``code`` are as for ``AclError``.

    >>> print(AclWarning("aclDestroyTensor", 561103))
    aclDestroyTensor failed with 561103 (ACLNN_ERR_INNER_NULLPTR); later failures of this kind are not told
    """

    def __init__(self, function: str, code: int, detail: str = "") -> None:
        self.function, self.code, self.symbol, self.detail = function, code, error_name(code), detail.strip()
        super().__init__(f"{_told(function, code, detail)}; later failures of this kind are not told")


class DeviceTimeoutError(AclError, TimeoutError):
    """A device was not done within the time limit of a synchronisation, and does no more work in this process.

    Whatever is asked of that device later is refused with the same error. What it was working with is neither freed nor
    used again. ``device`` is its number; the rest is as for ``AclError``.
    """

    def __init__(self, device: int, function: str, code: int, detail: str = "") -> None:
        self.device = device
        told = f"npu:{device} did not finish its work in time, and does no more in this process"
        super().__init__(
            function,
            code,
            f"{told} ({detail.strip()})" if detail.strip() else told,
            hint="start a new process; what the device was working with is kept until this one ends",
        )


class OutOfMemoryError(AclError, MemoryError):
    """The device has no room for an allocation, even after everything that was cached was given back."""
