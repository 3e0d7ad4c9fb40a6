"""The composite kernels of operators, for calls that a function of aclnn does not take.

A function takes fewer scalar types than its operator (``dtypes``), or demands more of other arguments (``CONDITIONS`` of
the table). Such a call is composed of other operators, as it is where a backend has no kernel; an operator that cannot be
composed is computed by the host, and counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT
from dispatch_aten.errors import DataDependentShapeError
from dispatch_aten.shapes import TensorMeta, cached_rule, rule_key
from dispatch_aten.variants import functional_of
from dispatch_core import Device

from ..runtime.device import current
from .calls import NotTakenError
from .launch import allocate_result, forbid_collecting


class _ThreadCompositions(threading.local):
    """The operators that the thread composes, each within the one before it."""

    names: tuple[str, ...] = ()


_thread: Final = _ThreadCompositions()


def compose(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call an operator's composite kernel; one that writes computes its result apart, and copies it.

    The host computes an operator that its own composition calls.
    """
    forbid_collecting()
    outer = _thread.names
    if name in outer:
        return dc.host_kernel(f"aten::{name}")(*args, **kwargs)
    _thread.names = (*outer, name)
    try:
        return _compose(name, *args, **kwargs)
    finally:
        _thread.names = outer


def _compose(name: str, *args: Any, **kwargs: Any) -> Any:
    if name in EXPLICIT:
        try:
            specs = cached_rule(name)(*args, **kwargs)
        except DataDependentShapeError:  # Such a result is laid out by what makes it.
            return EXPLICIT[name](*args, **kwargs)
        found = EXPLICIT[name](*args, **kwargs)
        return tuple(map(_lay_out, found, specs)) if isinstance(found, (list, tuple)) else _lay_out(found, specs)
    functional = functional_of(name)
    if functional is None:
        return dc.host_kernel(f"aten::{name}")(*args, **kwargs)
    cached_rule(name)(*args, **kwargs)  # refuses a result that does not fit what is written
    packet, _, overload = functional.partition(".")
    result = getattr(getattr(dc.ops.aten, packet), overload or "default")(*args, **kwargs)
    return dc.ops.aten.copy_(args[0], result)


def composed_where_refused(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that composes a call of which a function does not take the scalar types.

    A factory that is not told a device makes its result on the thread's.
    """
    is_factory = "device" in rule_key(name).names

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return kernel(*args, **kwargs)
        except NotTakenError:
            if is_factory and kwargs.get("device") is None:
                kwargs["device"] = Device("npu", current())
            return compose(name, *args, **kwargs)

    return run


def _lay_out(array: Any, spec: TensorMeta | None) -> Any:
    """Return a result as the operator's rule describes it: a copy where its parts leave another layout."""
    if array is None or spec is None or array.spec == spec:
        return array
    copy = allocate_result(spec)
    return dc.ops.aten.copy_(copy, array) if spec.numel else copy
