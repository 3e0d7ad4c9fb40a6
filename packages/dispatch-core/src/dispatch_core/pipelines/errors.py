"""The error of a step that failed when it was run."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .. import arrays
from ..errors import DispatchError
from .graph import Pending

if TYPE_CHECKING:
    from .graph import Step

__all__ = ["PipelineError", "step_error"]


class PipelineError(DispatchError, RuntimeError):
    """A recorded step failed when it was run; the cause is what its kernel raised, and it is of that class too."""


def step_error(step: Step, raised: BaseException) -> PipelineError:
    """Return the error for a step whose kernel raised: the operator, its arguments, and where it was called."""
    arguments = ", ".join(_described(value) for value in step.inputs())
    place = f"\nRecorded at {step.line}" if step.line else ""
    raised_as: Any = type(raised)
    kind = _class_for(raised_as)
    error: Any = kind.__new__(kind)
    error.args = (f"{step.name}({arguments}) failed in a pipeline: {type(raised).__name__}: {raised}{place}",)
    error.__cause__ = raised
    found: PipelineError = error
    return found


def _described(value: Any) -> str:
    value = value.meta if isinstance(value, Pending) else value
    return f"{arrays.dtype(value)}{list(arrays.shape(value))}"


@lru_cache(maxsize=256)
def _class_for(kind: Any) -> Any:
    """Return a class that is caught by whoever catches ``kind``, where Python lets one be made."""
    if issubclass(PipelineError, kind):
        return PipelineError
    try:
        made: Any = type(kind.__name__, (PipelineError, kind), {"__str__": lambda self: str(self.args[0])})
        made.__new__(made)
    except TypeError:
        return PipelineError
    return made
