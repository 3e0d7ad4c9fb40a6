"""Random numbers of tensors over several processes: each draws those of the whole, and keeps its part's.

So results are those of one device. All processes' generators have to be in one state, as after ``manual_seed``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import dispatch_core as dc

from .moves import move
from .plans import PartOperator
from .tensor import PlacedPart, Spec, wrap_part

__all__ = ["find_draw"]

_aten: Final = dc.ops.aten
#: Operators whose numbers do not depend on the elements of their first argument, besides those that write to it.
_FREE: Final = frozenset(
    "rand_like randn_like randint_like cauchy exponential geometric log_normal normal_functional random uniform".split()
)


def find_draw(operator: PartOperator) -> Callable[..., Any] | None:
    """Return the function for an operator that draws; None for one that does not, or whose probabilities are a tensor."""
    if "nondeterministic_seeded" not in operator.tags:
        return None
    base, _, overload = operator.name.partition(".")
    if base == "native_dropout":
        return _drop
    if operator.writes:  # its name is that of the operator that returns what it writes, if there is one
        return _draw_into if operator.writes == (0,) and len(operator.tensors) == 1 else None
    return _draw_like if base in _FREE or (base == "bernoulli" and overload == "p") else None


def _draw_into(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Write numbers into a tensor: those of the whole are drawn."""
    record = values[0]._dispatch_data
    if record.spec.is_whole:
        operator.call([record.local, *values[1:]])
    else:
        whole = operator.call([_aten.new_empty(record.local, record.spec.size), *values[1:]])
        _aten.copy_(record.local, move(whole, record.spec.whole, record.spec))
    return values[0]


def _draw_like(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return numbers that lie as a tensor does."""
    record: PlacedPart = values[0]._dispatch_data
    spec: Spec = record.spec.without_partial
    like = record.local if spec.is_whole else _aten.new_empty(record.local, spec.size)
    return wrap_part(move(operator.call([like, *values[1:]]), spec.whole, spec), spec)


def _drop(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return a tensor with elements dropped out, and which were kept."""
    record, p, train = values[0]._dispatch_data, *values[1:]
    spec: Spec = record.spec.without_partial
    local = move(record.local, record.spec, spec)
    if spec.is_whole or train is False:
        found = operator.call([local, p, train])
    else:
        _, kept = operator.call([_aten.new_empty(local, spec.size), p, train])
        mask = move(kept, spec.whole, spec)
        found = _aten.mul(_aten.mul(local, mask), 0.0 if p == 1 else 1 / (1 - p)), mask
    return tuple(wrap_part(each, spec) for each in found)
