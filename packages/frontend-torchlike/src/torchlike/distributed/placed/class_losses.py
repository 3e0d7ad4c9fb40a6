"""Losses of classes that lie in parts: each process looks at its own classes, and few numbers go between them.

Note [Softmax of classes in parts]
    The logarithm of a softmax needs the greatest element and a sum of each row, which is all that is combined. It is
    computed so within a cross entropy and in a block of `loss_parallel`; elsewhere classes are put together, as torch does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.placements import Partial, Replicate, Shard

from .moves import count_from, move
from .ordinary import are_whole
from .plans import PartOperator
from .tensor import Spec, record_of, wrap_part

__all__ = ["CLASS_LOSSES", "by_classes", "find_loss"]

_aten, _own = dc.ops.aten, dc.ops.dispatch
_NONE, _MEAN, _SUM = 0, 1, 2
#: The label of samples that no class of this process has.
_ABSENT: Final = -100
_is_by_classes: Final[ContextVar[bool]] = ContextVar("torchlike.placed_by_classes", default=False)


@contextmanager
def by_classes() -> Iterator[None]:
    """Leave classes in parts; see Note [Softmax of classes in parts]."""
    token = _is_by_classes.set(True)
    try:
        yield
    finally:
        _is_by_classes.reset(token)


def _is_cut(spec: Spec, dim: int) -> bool:
    places = zip(spec.placements, spec.mesh.shape, strict=True)
    return any(count > 1 and each.is_shard(dim) for each, count in places)


def _combine(local: Any, spec: Spec, dim: int, way: str) -> Any:
    """Return the numbers of rows, of which each process has those of its part of a dimension, combined."""
    made = [Partial(way) if each.is_shard(dim) else each for each in spec.placements]
    size = [1 if each == dim else length for each, length in enumerate(spec.size)]
    before = Spec(spec.mesh, made, size)
    return wrap_part(move(local, before, before.without_partial), before.without_partial)


def _log_softmax(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    x, dim, widens = values
    spec: Spec = x._dispatch_data.spec.without_partial
    dim %= max(len(spec.size), 1)
    if not (_is_by_classes.get() and _is_cut(spec, dim)):
        return run(operator, values)
    dtype = dc.dtype(x)
    x = _own.redistribute(x, spec.mesh, spec.placements)
    if dtype in (ScalarType.Half, ScalarType.BFloat16):
        x = _aten._to_copy(x, dtype=ScalarType.Float)
    local = x._dispatch_data.local
    shape = [1 if each == dim else length for each, length in enumerate(dc.shape(local))]
    is_empty = not dc.shape(local)[dim]
    top = _aten.new_full(local, shape, -inf) if is_empty else _aten.amax(local, [dim], True)
    apart = _aten.sub(x, _combine(top, spec, dim, "max"))
    powers = _aten.exp(apart)._dispatch_data.local
    found = _aten.sub(apart, _aten.log(_combine(_aten.sum.dim_IntList(powers, [dim], True), spec, dim, "sum")))
    return found if widens or dc.dtype(found) is dtype else _aten._to_copy(found, dtype=dtype)


def _differentiate(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return the gradient of a softmax, or of its logarithm, whose result lies in parts of its rows."""
    gradient, output, dim, dtype = values
    spec: Spec = output._dispatch_data.spec
    dim %= max(len(spec.size), 1)
    if any(each.is_partial() for each in spec.placements) or not _is_cut(spec, dim):
        return run(operator, values)
    given = _own.redistribute(gradient, spec.mesh, spec.placements)
    is_log = operator.name.startswith("_log")
    product = given if is_log else _aten.mul(given, output)
    total = _combine(_aten.sum.dim_IntList(product._dispatch_data.local, [dim], True), spec, dim, "sum")
    found = _aten.sub(product, _aten.mul(_aten.exp(output) if is_log else output, total))
    return found if dc.dtype(found) is dtype else _aten._to_copy(found, dtype=dtype)


def _lay(value: Any, spec: Spec, placements: Sequence[Any]) -> Any:
    """Return this process's part of a tensor that is to lie so; None for None."""
    if value is None:
        return None
    record = record_of(value)
    if record is None:
        size = tuple(dc.shape(value))
        return move(value, Spec(spec.mesh, (Replicate(),) * len(placements), size), Spec(spec.mesh, placements, size))
    return move(record.local, record.spec, Spec(spec.mesh, placements, record.spec.size))


def _own_labels(spec: Spec, target: Any, ignored: int) -> Any:
    """Return the labels of this process's samples, counted from its first class; see `_ABSENT`."""
    local = _lay(target, spec, [each if each.is_shard(0) else Replicate() for each in spec.placements])
    is_ignored = _aten.eq.Scalar(local, ignored)
    # The kernel refuses a label that there is not, which is none of an absent class.
    none = _aten.masked_fill.Scalar(local, _aten.eq.Scalar(local, _ABSENT), _ABSENT - 1)
    own, absent = count_from(none, *spec.parts[1], spec.size[1])
    return _aten.masked_fill.Scalar(own, _aten.logical_or(absent, is_ignored), _ABSENT)


def _of_classes(spec: Spec) -> list[Any]:
    """Return how one number for each class lies."""
    return [Shard(0) if each.is_shard(1) else Replicate() for each in spec.placements]


def _with_a_class(local: Any) -> Any:
    """Return logarithms of probabilities, with a class where this process has none."""
    return local if dc.shape(local)[1] else _aten.new_zeros(local, [dc.shape(local)[0], 1])


def find_loss(operator: PartOperator, values: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return the loss and the weights of samples whose classes lie in parts, by their numbers; None for all others."""
    x, target, weight, reduction, ignored = values
    spec: Spec = x._dispatch_data.spec
    if not _takes(spec, target, weight):
        return None
    labels = _own_labels(spec, target, ignored)
    own_weight = _lay(weight, spec, _of_classes(spec))
    if own_weight is not None and not dc.shape(own_weight)[0]:
        own_weight = _aten.new_zeros(own_weight, [1])
    how = _NONE if reduction == _NONE else _SUM
    found = operator.call([_with_a_class(x._dispatch_data.local), labels, own_weight, how, _ABSENT])
    rows = [Partial() if each.is_shard(1) or (each.is_shard() and how) else each for each in spec.placements]
    ones = [Partial() if each.is_shard() else each for each in spec.placements]
    loss = wrap_part(found[0], Spec(spec.mesh, rows, () if how else spec.size[:1]))
    total = wrap_part(found[1], Spec(spec.mesh, ones, ()))
    if reduction != _MEAN:
        return loss, total
    total = _own.redistribute(total, spec.mesh, total._dispatch_data.spec.without_partial.placements)
    return _aten.div(loss, total), total


def _takes(spec: Spec, target: Any, weight: Any) -> bool:
    """Return whether classes lie in parts, and all else as tensors on the mesh."""
    if len(spec.size) != 2 or not _is_cut(spec, 1) or any(each.is_partial() for each in spec.placements):
        return False
    others = [record_of(each) for each in (target, weight) if each is not None]
    return all(are_whole() if each is None else each.spec.mesh is spec.mesh for each in others)


def _nll_loss_backward(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    gradient, x, target, weight, reduction, ignored, total = values
    spec: Spec = x._dispatch_data.spec
    if not _takes(spec, target, weight) or record_of(gradient) is None or record_of(total) is None:
        return run(operator, values)
    local = x._dispatch_data.local
    whole = [Replicate()] * len(spec.placements)
    rows = [each if each.is_shard(0) and reduction == _NONE else Replicate() for each in spec.placements]
    given, labels = _lay(gradient, spec, rows), _own_labels(spec, target, ignored)
    own_weight, total = _lay(weight, spec, _of_classes(spec)), _lay(total, spec, whole)
    if not dc.shape(local)[1]:  # after all that other processes have a part in
        return wrap_part(_aten.zeros_like(local), spec)
    return wrap_part(operator.call([given, local, labels, own_weight, reduction, _ABSENT, total]), spec)


#: The operators of losses that look at each process's classes.
CLASS_LOSSES: Final[dict[str, Callable[..., Any]]] = {
    "_log_softmax": _log_softmax,
    "_log_softmax_backward_data": _differentiate,
    "_softmax_backward_data": _differentiate,
    "nll_loss_backward": _nll_loss_backward,
}
