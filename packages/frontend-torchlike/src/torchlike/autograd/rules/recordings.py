"""What compiled callers are told of the kernels under the Autograd keys: see `RecordedCall` in `dispatch_core.frontends`."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import RecordedCall

from ...history.device_keys import AUTOGRAD_BITS
from ...history.grad_mode import recording_mode
from ...names.lazy_names import Tensor
from ..saved import read_version
from .derivative import Derivative

_complete: Final[Callable[[Any], Any]] = attrgetter("_state")


def _mark(tensor: Tensor) -> None:
    tensor._dispatch_mask |= AUTOGRAD_BITS[tensor._dispatch_mask]


def _is_differentiable(tensor: Tensor) -> bool:
    return dc.dtype(tensor).is_differentiable


def describe_recording(derivative: Derivative, scope: dict[str, Any]) -> RecordedCall | None:
    """Return what the generated kernel does, whose globals are ``scope``; None where compiled callers have to call it."""
    if derivative.inplace or derivative.outputs != 1 or derivative.refused:
        return None
    if derivative.view and derivative.saved_results:
        return None
    if derivative.list_inputs or not derivative.plain_arrays or len(derivative.saved_results) > 1:
        return None
    if any(suffix != "_sizes" or tensor not in derivative.kinds for tensor, suffix in derivative.metadata.values()):
        return None
    defaults = derivative.default_values
    return RecordedCall(
        enabled=recording_mode,
        below=scope["_below"],
        keys=scope["AUTO"],
        usual=scope["BELOW"],
        mask=scope["RECORDED"],
        attribute="_autograd",
        node=scope["Node_"],
        view=scope["View"],
        no_history=scope["NO_HISTORY"],
        sequence=scope["_sequence"],
        storage=scope["Storage"],
        keep=scope["Saved"],
        complete=_complete,
        version=read_version,
        mark=_mark,
        is_differentiable=_is_differentiable,
        edges=tuple(derivative.gradients),
        saved=tuple([(name, tuple(derivative.users(name))) for name in derivative.saved_inputs]),
        values=tuple([name for name in derivative.values if name not in derivative.metadata]),
        shapes=tuple([derivative.metadata[name][0] for name in derivative.values if name in derivative.metadata]),
        defaults=tuple(defaults.values()) if defaults else None,
        saves_result=bool(derivative.saved_results),
        may_be_integral=derivative.result_may_be_integral,
        is_view=derivative.view,
    )


def find_recording(runner: Any) -> RecordedCall | None:
    """Return what a runner under an Autograd key does, where it is a generated kernel that compiled callers know."""
    describe = getattr(runner, "__globals__", {}).get("_recording")
    found: RecordedCall | None = None if describe is None else describe()
    return found
