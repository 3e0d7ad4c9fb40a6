"""The composite kernels of operators, for calls that a function of aclnn does not take.

A function takes fewer scalar types than its operator (``dtypes``), or demands more of other arguments (``CONDITIONS`` of
the table). Such a call is composed of other operators, as it is where a backend has no kernel, or computed in a wider type;
an operator for which there is neither is computed by the host, and counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions import EXPLICIT, IMPLICIT
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DataDependentShapeError
from dispatch_aten.shapes import TensorMeta, cached_rule, rule_key
from dispatch_aten.variants import functional_of
from dispatch_core import Device

from ..arrays import AclArray
from ..runtime.device import current
from .calls import NotTakenError
from .launch import allocate_result, forbid_collecting
from .table import OPERATORS


class _ThreadCompositions(threading.local):
    """The operators that the thread composes, each within the one before it, with the type of their first tensor."""

    calls: tuple[tuple[str, ScalarType | None], ...] = ()


_thread: Final = _ThreadCompositions()


def compose(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call an operator's composite kernel; one that writes computes its result apart, and copies it.

    The host computes an operator that its own composition calls.
    """
    forbid_collecting()
    outer = _thread.calls
    call = name, next((each.dtype for each in args if isinstance(each, AclArray)), None)
    if call in outer:
        return dc.host_kernel(f"aten::{name}")(*args, **kwargs)
    _thread.calls = (*outer, call)
    try:
        wide = _find_wide(name, args, kwargs)
        return _compose(name, *args, **kwargs) if wide is None else _compute_in(wide, name, args, kwargs)
    finally:
        _thread.calls = outer


def _compose(name: str, *args: Any, **kwargs: Any) -> Any:
    if name in _TO_WHOLE and args[0].dtype.is_integral:
        return _lay_out(dc.ops.aten.clone(args[0]), cached_rule(name)(*args))
    if name in _RUNNING and args[0].dtype is ScalarType.Bool:
        return _find_operator(name)(_convert(args[0], ScalarType.Long), *args[1:], **kwargs)
    composite = EXPLICIT.get(name) or IMPLICIT.get(name)
    if composite is not None:
        try:
            specs = cached_rule(name)(*args, **kwargs)
        except DataDependentShapeError:  # Such a result is laid out by what makes it.
            return composite(*args, **kwargs)
        found = composite(*args, **kwargs)
        return tuple(map(_lay_out, found, specs)) if isinstance(found, (list, tuple)) else _lay_out(found, specs)
    functional = functional_of(name)
    if functional is None:
        return dc.host_kernel(f"aten::{name}")(*args, **kwargs)
    cached_rule(name)(*args, **kwargs)  # refuses a result that does not fit what is written
    return dc.ops.aten.copy_(args[0], _find_operator(functional)(*args, **kwargs))


def _find_operator(name: str) -> Any:
    packet, _, overload = name.partition(".")
    return getattr(getattr(dc.ops.aten, packet), overload or "default")


#: Operators that leave integers as they are.
_TO_WHOLE: Final = frozenset(("ceil", "floor", "round", "trunc"))
#: Operators whose functions take no truth values, which count as numbers.
_RUNNING: Final = frozenset(("cumsum", "cumprod"))
#: Operators that ask for the limits of their tensors' type.
_OF_LIMITS: Final = frozenset(("nan_to_num",))
#: Operators whose results are within the range of their tensors' type: a chip may cut off what is beyond, and not wrap it.
_WITHIN: Final = frozenset(
    """
    sign maximum minimum relu threshold hardtanh clamp_min clamp_max remainder fmod bitwise_and bitwise_or bitwise_xor
    """.split()
)
_SHORT_INTEGERS: Final = frozenset((ScalarType.Byte, ScalarType.Char, ScalarType.Short))
_INTEGERS: Final = _SHORT_INTEGERS | {ScalarType.Int, ScalarType.Long, ScalarType.Bool}
_SHORT_FLOATS: Final = frozenset((ScalarType.Half, ScalarType.BFloat16))


def _find_wide(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> ScalarType | None:
    """Return a type in which an element-wise function gives the same once it is rounded; None where there is none.

    16-bit floats are computed as floats of 32 bits, and so are integers whose results are floats, as torch does; short
    integers as integers of 32 bits, where the result fits.
    """
    if name not in OPERATORS or functional_of(name) is not None or name.partition(".")[0] in _OF_LIMITS:
        return None
    if "pointwise" not in _find_operator(name).tags:
        return None
    spec = cached_rule(name)(*args, **kwargs)
    found = {each.dtype for each in (*args, *kwargs.values()) if isinstance(each, AclArray)}
    if isinstance(spec, TensorMeta) and found:
        if found <= _SHORT_FLOATS or (found <= _INTEGERS and spec.dtype.is_floating_point):
            return ScalarType.Float
        if found <= _SHORT_INTEGERS and (spec.dtype is ScalarType.Bool or name.partition(".")[0] in _WITHIN):
            return ScalarType.Int
    return None


def _compute_in(wide: ScalarType, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call an operator on copies of its tensors of a wider type, and return the result as its rule describes it."""
    spec = cached_rule(name)(*args, **kwargs)
    result = _find_operator(name)(
        *[_convert(each, wide) for each in args], **{key: _convert(each, wide) for key, each in kwargs.items()}
    )
    return _lay_out(_convert(result, spec.dtype), spec)


def _convert(value: Any, dtype: ScalarType) -> Any:
    if not isinstance(value, AclArray) or value.dtype is dtype:
        return value
    return dc.ops.aten._to_copy(value, dtype=dtype)


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
