"""From pending values to arrays: whoever needs an array asks here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..keys import DispatchKey
from .graph import Pending

if TYPE_CHECKING:
    from .session import Session

__all__ = ["force", "settle", "settle_argument", "settled"]

_PIPELINE = DispatchKey.Pipeline.value


def force(value: Any) -> Any:
    """Return the array of a pending value, computed now if need be; an array is returned as it is.

    What is recorded and not needed for it stays recorded. Raises the error of the step that failed.
    """
    if not isinstance(value, Pending):
        return value
    value.session.compute((value,))
    return value.value


def settle(tensor: Any) -> Any:
    """Let a frontend's ``tensor`` hold an array, up to date with everything recorded; return the array.

    A raw array or a pending value can be given too.
    """
    from .session import current  # sessions stand above

    data = getattr(tensor, "_dispatch_data", tensor)
    session = data.session if isinstance(data, Pending) else current()
    if session is not None:
        session.compute((data,))
    if isinstance(data, Pending):
        data = data.value
        if tensor is not data and hasattr(tensor, "_dispatch_mask"):
            tensor._dispatch_data = data
            tensor._dispatch_mask &= ~_PIPELINE
    return data


def settle_argument(value: Any) -> None:
    """Settle the tensors in one argument of a call."""
    for item in value if isinstance(value, (list, tuple)) else (value,):
        if isinstance(getattr(item, "_dispatch_data", None), Pending):
            settle(item)
        elif getattr(item, "_dispatch_mask", 0) & _PIPELINE:
            item._dispatch_mask &= ~_PIPELINE


def settled(value: Any, session: Session) -> Any:
    """Return an argument as a step of ``session`` keeps it: arrays in the place of what is computed already."""
    if isinstance(value, Pending):
        if value.value is not None:
            return value.value
        if value.session is not session or value.error is not None:
            return force(value)
        return value
    if isinstance(value, (list, tuple)):
        return [settled(item, session) for item in value]
    return value
