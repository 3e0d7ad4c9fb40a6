"""What compiled callers are told of the kernels under the Autograd keys: see `RecordedCall` in `dispatch_core.frontends`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.calls import define, make_function
from dispatch_core.frontends import RecordedCall

from ...history.device_keys import AUTOGRAD_BITS
from ...history.grad_mode import recording_mode
from ...history.metadata import is_plain
from ...history.node import Storage, sequence
from ...history.views import View
from ...names.lazy_names import Tensor
from ..inplace import check_inplace
from ..saved import NO_HISTORY, Saved, make_storage, read_version
from .derivative import Derivative
from .kernel_source import write_attaching

#: The most results that compiled callers keep for backward.
_KEPT: Final = 3

_complete: Final[Callable[[Any], Any]] = attrgetter("_state")


def _mark(tensor: Tensor) -> None:
    tensor._dispatch_mask |= AUTOGRAD_BITS[tensor._dispatch_mask]


#: Whether elements of a dtype, as arrays have it, have gradients; filled as it is asked.
_DIFFERENTIABLE: Final[dict[Any, bool]] = {}


def _is_differentiable(tensor: Tensor) -> bool:
    found: bool = dc.dtype(tensor).is_differentiable
    if is_plain[type(tensor._dispatch_data)]:
        _DIFFERENTIABLE[tensor._dispatch_data.dtype] = found
    return found


def _keep_part(result: Tensor, number: int) -> Saved:
    return Saved(result, make_storage(result), number)


def _keep_shared(result: Tensor, number: int) -> Saved:
    return Saved(result, result._state.shared_storage(), number)


def _states(scope: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a recording that tell of states and nodes."""
    return {
        "enabled": recording_mode,
        "keys": scope["AUTO"],
        "mask": scope["RECORDED"],
        "attribute": "_autograd",
        "node": scope["Node_"],
        "view": View,
        "no_history": NO_HISTORY,
        "sequence": sequence,
        "storage": Storage,
        "keep": Saved,
        "complete": _complete,
        "version": read_version,
        "mark": _mark,
        "is_differentiable": _is_differentiable,
        "differentiable": _DIFFERENTIABLE,
    }


def describe_recording(derivative: Derivative, scope: dict[str, Any]) -> RecordedCall | None:
    """Return what the generated kernel does, whose globals are ``scope``; None where compiled callers have to call it."""
    is_lone = derivative.outputs == 1
    if (
        derivative.refused
        or not derivative.plain_arrays
        or derivative.leaves_out
        or len(derivative.saved_results) > _KEPT
    ):
        return None
    attach = keep_result = None
    if derivative.inplace or not is_lone:
        given = "self, _n" if derivative.inplace else "_r, _n"
        lines = write_attaching(derivative)
        attach = make_function(define(f"attach({given})", lines), f"history of {derivative.op.name}", scope)
        keep_result = _keep_shared if derivative.inplace else _keep_part
    elif derivative.view:
        keep_result = _keep_shared
    facts: list[tuple[str | int, Any]] = []
    for name in derivative.metadata:
        tensor, suffix = derivative.metadata[name]
        owner = tensor if derivative.is_early(name) else derivative.results.index(tensor)
        is_shape = suffix == "_sizes" and derivative.is_early(name)
        facts.append((owner, None if is_shape else derivative.helpers[f"_read{suffix}"]))
    defaults = derivative.default_values
    return RecordedCall(
        **_states(scope),
        below=scope["_below"],
        usual=scope["BELOW"],
        edges=tuple(derivative.gradients),
        saved=tuple([(name, tuple(derivative.users(name))) for name in derivative.saved_inputs]),
        values=tuple([name for name in derivative.values if name not in derivative.metadata]),
        facts=tuple(facts),
        defaults=tuple(defaults.values()) if defaults else None,
        kept=tuple([derivative.results.index(name) for name in derivative.saved_results]),
        results=1 if derivative.inplace else derivative.outputs,
        may_be_integral=derivative.result_may_be_integral,
        is_view=derivative.view and is_lone,
        check=check_inplace if derivative.inplace else None,
        copy=scope["_clone"] if derivative.inplace and "self" in derivative.saved_inputs else None,
        attach=attach,
        keep_result=keep_result,
    )


def describe_short(gradient: Any, tensors: Sequence[str], scope: dict[str, Any]) -> RecordedCall:
    """Return what the kernel of a short way does, whose globals are ``scope``."""
    return RecordedCall(
        **_states(scope),
        below=scope["_short"],
        usual=scope["Node_"].below,
        edges=tuple(tensors),
        forward=scope["_forward"],
        usual_way=scope["_usual"],
        debt=scope["_debt"],
        needed=tuple([(name, tuple(users)) for name, users in gradient.keeps.items()]),
    )


def find_recording(runner: Any) -> RecordedCall | None:
    """Return what a runner under an Autograd key does, where it is a generated kernel that compiled callers know."""
    describe = getattr(runner, "__globals__", {}).get("_recording")
    found: RecordedCall | None = None if describe is None else describe()
    return found
