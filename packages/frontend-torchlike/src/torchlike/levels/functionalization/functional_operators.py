"""The operators that `functionalize` calls instead of others: of those that write, make views, or are primitives.

Functional overloads of operators that exist in place alone are defined here. Their namespace is ``functionalize``:
``functionalize::uniform`` returns the numbers that ``aten::uniform_`` would write, drawn in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import dispatch_core as dc

_NAMES: Final = (
    "bernoulli_.float cauchy_ exponential_ fill_diagonal_ geometric_ log_normal_ normal_ random_ random_.from random_.to"
    " uniform_"
).split()
_library: Final = dc.Library("functionalize", "DEF")


@cache
def functional_of(op: Any) -> Any:
    """Return the functional overload of an operator that has one here, or None.

    >>> functional_of(dc.ops.aten.uniform_.default).name
    'functionalize::uniform'
    """
    name = op.name.removeprefix("aten::")
    if name == op.name or name not in _NAMES:
        return None
    packet, dot, overload = name.partition(".")
    text = str(op.schema).removeprefix("aten::").replace("(a!)", "")
    full = _library.define(packet[:-1] + dot + overload + text[text.index("(") :], tags=[*op.tags - {"inplace"}])
    _library.impl(full, _make_kernel(op))
    return getattr(getattr(dc.ops.functionalize, packet[:-1]), overload or "default")


def _make_kernel(op: Any) -> Callable[..., Any]:
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return op(dc.ops.aten.clone(self), *args, **kwargs)

    return run


#: The primitives of which the inverses of views are made → operators that do the same and can be differentiated.
_DIFFERENTIABLE: Final = {
    "prims::broadcast_to": "expand",
    "prims::permute": "permute",
    "prims::reshape": "reshape",
    "prims::slice": "slice.Tensor",
    "prims::slice_scatter": "slice_scatter",
    "prims::take": "take",
}


def find_differentiable(op: Any) -> Any:
    """Return the operator that represents a primitive; any other as it is."""
    name = _DIFFERENTIABLE.get(op.name)
    return op if name is None else _overload(*name.split("."))


def _overload(packet: str, overload: str = "default") -> Any:
    return getattr(getattr(dc.ops.aten, packet), overload)


def find_copy(op: Any) -> Any:
    """Return the operator that copies a view's elements; the view itself where there is none."""
    try:
        return _overload(f"{op.name.removeprefix('aten::').partition('.')[0]}_copy", op.overload_name)
    except (AttributeError, dc.OperatorNotFoundError):
        return op
