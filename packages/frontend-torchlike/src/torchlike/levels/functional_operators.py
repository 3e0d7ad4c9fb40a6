"""Functional overloads of operators that exist in place alone, for `functionalize` and for graphs without writes.

Their namespace is ``functionalize``: ``functionalize::uniform`` returns the numbers that ``aten::uniform_`` would write,
drawn in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import dispatch_core as dc

__all__ = ["functional_of"]

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
