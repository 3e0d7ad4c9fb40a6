"""From pending values to arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dispatch_core.arrays import access, owners
from dispatch_core.arrays.frontend import CAPTURING
from dispatch_core.arrays.layouts import components_of
from dispatch_core.keys.table import DispatchKey

from .blocks import current, finish
from .liveness import RANDOM, required_steps
from .pending import Pending

if TYPE_CHECKING:
    from ..run.session import Session

_PIPELINE = DispatchKey.Pipeline.value


def materialize_value(value: object) -> Any:
    """Return the array of a pending value, computed now if need be; an array is returned as it is.

    Steps that it does not need stay recorded. Raises the error of the step that failed.
    """
    if not isinstance(value, Pending):
        return value
    _bring_up_to_date((value,))
    return value.value


def materialize(tensor: Any) -> Any:
    """Store in a frontend's ``tensor`` its array, up to date with every recorded step; return the array.

    ``tensor`` may also be a raw array or a pending value. One of a layout keeps its record, whose tensors hold arrays then.
    """
    data = access.to_data(tensor)
    for component in components_of(data):
        materialize(component)
    _bring_up_to_date((data,))
    if isinstance(data, Pending):
        data = data.value
    if tensor is not data and getattr(tensor, "_dispatch_mask", 0) & _PIPELINE:
        tensor._dispatch_data = data
        tensor._dispatch_mask &= ~_PIPELINE
    return data


def materialize_argument(value: object) -> Any:
    """Materialize the tensors and arrays in one argument of a call, lists of them included, and return the argument."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(materialize_argument, value)) if any(map(_is_ours, value)) else value
    if not _is_ours(value):
        return value
    data = materialize(value)
    return data if isinstance(value, Pending) else value


owners.WAITING.append(materialize_argument)


def _is_ours(value: object) -> bool:
    return type(value) in owners.TYPE_MASKS or hasattr(value, "_dispatch_data")


def run_random_steps() -> None:
    """Run every recorded step that draws random numbers, before a generator's state is read or changed.

    Raises ``CaptureError`` in a captured function's call, which a replay could not do again.
    """
    draw_recorded()
    for each in CAPTURING[:]:
        if each.is_here():
            each.refuse_state()


def draw_recorded() -> None:
    """Run every recorded step that draws random numbers, before another one draws."""
    _bring_up_to_date((RANDOM,))


def is_pending(tensor: object) -> bool:
    """Return whether recorded steps must run before a tensor, an array or a pending value can be read."""
    data = access.to_data(tensor)
    if components := components_of(data):
        return any(map(is_pending, components))
    if isinstance(data, Pending) and (data.error or data.memory.error) is not None:
        return False
    return any(required_steps(session.steps, (data,), ()) for session in _sessions((data,)))


def _bring_up_to_date(values: Sequence[Any]) -> None:
    """Run the steps that the values need, in every pipeline. Raises the error of a step that failed."""
    finish()
    for session in _sessions(values):
        session.compute(values)


def _sessions(values: Sequence[Any]) -> Iterator[Session]:
    """Yield the sessions that may have recorded something about the values: the one open here, then the values' own."""
    here = current()
    if here is not None:
        yield here
    for value in values:
        if isinstance(value, Pending) and value.session is not here:
            yield value.session


def to_step_argument(value: object, session: Session) -> Any:
    """Return a tensor argument as a step of ``session`` keeps it: an array instead of a value that is computed."""
    if isinstance(value, Pending):
        shared = value.shared
        if value.error is not None or (shared is not None and shared.error is not None):
            return materialize_value(value)
        if value.session is not session and (value.value is None or not value.session.is_empty):
            return materialize_value(value)
        return value if value.value is None else value.value
    return value
