"""Every error of the dispatcher, under one root, each mixing in the builtin that a caller would expect."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AmbiguousOverloadError",
    "ArgumentError",
    "BackendError",
    "BackendNotFoundError",
    "BackendUnavailableError",
    "CaptureError",
    "ClosedOperatorError",
    "DeviceMismatchError",
    "DevkitNotFoundError",
    "DispatchError",
    "DispatchKeyError",
    "EmptyKeysetError",
    "FrontendMismatchError",
    "KernelResultError",
    "NoKernelError",
    "NoMatchingOverloadError",
    "OpCheckError",
    "OperatorNotFoundError",
    "OutOfMemoryError",
    "OverwriteWarning",
    "RegistrationError",
    "SchemaError",
    "UnknownOperatorWarning",
]


def short_repr(value: object) -> str:
    """Return a caller's value as a message shows it; its ``repr`` may be long, deep, or raise.

    >>> short_repr("x"), short_repr("y" * 200)[-4:]
    ("'x'", 'yyy…')
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # the value is the caller's
        return f"<{type(value).__name__}>"
    return text if len(text) <= 120 else f"{text[:119]}…"


class DispatchError(Exception):
    """The root of every error that the dispatcher raises.

    A message names the request, the alternatives and their origins; its last line is a hint.

    >>> print(DispatchError("nothing there", hint="look elsewhere"))
    nothing there
    Hint: look elsewhere
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        # Its message is made already, by arguments that subclasses need not keep.
        return _restore, (type(self), self.args), self.__dict__


def _restore(kind: type[DispatchError], args: tuple[Any, ...]) -> DispatchError:
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class SchemaError(DispatchError, ValueError):
    """A schema's text is malformed, or contradicts the operator that it is registered for."""


class ArgumentError(DispatchError, TypeError):
    """A call's arguments do not fit the operator's schema."""


class NoMatchingOverloadError(ArgumentError):
    """No overload of an operator fits the arguments."""


#: The name of `NoMatchingOverloadError` in the first release; no call is ambiguous, because overloads have an order.
AmbiguousOverloadError = NoMatchingOverloadError


class FrontendMismatchError(ArgumentError):
    """Tensors of two frontends, or tensors and raw arrays, stand in one call."""


class DeviceMismatchError(DispatchError, RuntimeError):
    """Arrays of two devices stand in one call that does not copy between devices."""


class KernelResultError(DispatchError, TypeError):
    """A kernel returned something else than its operator's schema or shape rule says."""


class DispatchKeyError(DispatchError, LookupError):
    """A dispatch key is unknown: a name that no key has, or a bit that no key owns."""

    # LookupError's own str() is inherited by KeyError only, so the message prints as written.


class OperatorNotFoundError(DispatchError, LookupError, AttributeError):
    """No operator, overload or namespace of that name is registered."""


class NoKernelError(DispatchError, NotImplementedError):
    """The operator has no kernel for the keys that the call arrived at."""


class EmptyKeysetError(NoKernelError):
    """A call without tensors, or with every key masked off, met an operator without a composite kernel."""


class ClosedOperatorError(DispatchError, RuntimeError):
    """A handle was called whose operator went away when its library was closed."""


class CaptureError(DispatchError, RuntimeError):
    """A captured function does something that its replay could not do, or not in the same way."""


class OpCheckError(DispatchError, AssertionError):
    """An operator contradicts its registration; raised by ``opcheck``, which names the check that failed."""


class RegistrationError(DispatchError, ValueError):
    """A registration contradicts an earlier one, or cannot be carried out."""


class BackendError(DispatchError, RuntimeError):
    """A backend plugin is missing, failed to load, was refused, or cannot open its device."""


class BackendNotFoundError(BackendError):
    """No installed plugin provides the device."""


class OutOfMemoryError(BackendError, MemoryError):
    """A device has no memory left for an array (source: ``torch.OutOfMemoryError``).

    A backend's interface names the class that it raises then; users get this one, with the backend's own as its cause.
    """


class BackendUnavailableError(BackendError):
    """The plugin is loaded, but its device cannot be opened on this machine."""


class AsyncDeviceError(BackendError):
    """A device has reported that a call failed after it had been launched; the device's own error is the cause."""


class DeviceLostError(AsyncDeviceError):
    """A device cannot go on, and refuses all work until it is reset.

    A backend raises it in a kernel, or reports it: then the core refuses the calls.
    """


class DevkitNotFoundError(DispatchError, ImportError):
    """A tool was asked for that the distribution dispatch-devkit has, and it is not installed."""


class UnknownOperatorWarning(UserWarning):
    """A kernel was registered for an operator that nothing defines, and that is named much like one that is."""


class OverwriteWarning(UserWarning):
    """A kernel took the place of another one for the same operator and dispatch key."""
