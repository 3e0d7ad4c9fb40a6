"""The error for names of torch_npu that are not served, and the functions and classes that raise it when they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dispatch_core import BackendError

__all__ = ["NotServedError", "refuse", "refusing_class", "refusing_function"]


class NotServedError(BackendError, NotImplementedError):
    """A name or an argument of torch_npu that is not served here; the message has the reason.

    >>> refuse("torch_npu.npu_nothing()", "nothing computes it", "leave it out")
    Traceback (most recent call last):
    dispatch_torch_npu.refusals.NotServedError: torch_npu.npu_nothing() is not served: nothing computes it
    Hint: leave it out
    """


def refuse(name: str, reason: str, hint: str) -> NoReturn:
    """Raise the error for a name, with the reason and a hint."""
    raise NotServedError(f"{name} is not served: {reason}", hint=hint)


def refusing_function(path: str, reason: str, hint: str) -> Callable[..., Any]:
    """Return a function that is refused when it is called: programs import it, and ask for it, before."""

    def function(*args: Any, **kwargs: Any) -> Any:
        refuse(f"{path}()", reason, hint)

    function.__name__ = function.__qualname__ = path.rpartition(".")[2]
    function.__doc__ = f"Raise ``NotServedError``: {reason}."
    return function


def refusing_class(path: str, reason: str, hint: str) -> type:
    """Return a class without instances: programs name it in annotations and ask for it."""

    def refuse_instance(cls: type, *args: Any, **kwargs: Any) -> Any:
        refuse(path, reason, hint)

    members = {"__new__": refuse_instance, "__doc__": f"Raise ``NotServedError``: {reason}."}
    return type(path.rpartition(".")[2], (), members)
