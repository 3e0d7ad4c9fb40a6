"""Operators that are others where their tensors are in parts: averages of losses are sums, norms are roots of sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.placements import Partial, Replicate, Shard, normalize

from .batch_norms import BATCH_NORMS
from .class_losses import CLASS_LOSSES, find_loss
from .moves import count_from, move
from .plans import PartOperator
from .tensor import Spec, record_of, wrap_part

__all__ = ["find_rewrite"]

_aten, _own = dc.ops.aten, dc.ops.dispatch
_MEAN, _SUM = 1, 2
#: The number of torch's ``contiguous_format``.
_CONTIGUOUS: Final = 0


def find_rewrite(operator: PartOperator) -> Callable[..., Any] | None:
    """Return the function for an operator that is computed by others; None for all else."""
    base = operator.name.partition(".")[0]
    if operator.writes:
        return None
    if base in _BY_NAME:
        return _BY_NAME[base]
    if base in _LOSSES:
        return _average_backward if base.endswith("_backward") else _average
    return None


def _is_in_parts(values: Sequence[Any]) -> bool:
    """Return whether a tensor among arguments lies in parts on several processes."""
    records = filter(None, map(record_of, values))
    return any(not each.spec.is_whole and each.spec.mesh.size() > 1 for each in records)


def _count(values: Sequence[Any]) -> int:
    """Return the number of elements of tensors that are broadcast."""
    shapes = [dc.shape(each) for each in values if hasattr(each, "_dispatch_data")]
    ndim = max(map(len, shapes))
    padded = [(1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes]
    return prod(max(sizes) if 0 not in sizes else 0 for sizes in zip(*padded, strict=True))


def _average(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    at = operator.names.index("reduction")
    if values[at] != _MEAN or not _is_in_parts(values):
        return run(operator, values)
    return _aten.div(run(operator, [*values[:at], _SUM, *values[at + 1 :]]), _count(values))


def _average_backward(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    at = operator.names.index("reduction")
    if values[at] != _MEAN or not _is_in_parts(values):
        return run(operator, values)
    gradient = _aten.div(values[0], _count(values[1:]))
    return run(operator, [gradient, *values[1:at], _SUM, *values[at + 1 :]])


def _nll_loss(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return the loss and the weights that an average was divided by: they are summed over all processes."""
    if (found := find_loss(operator, values)) is not None:
        return found
    at = operator.names.index("reduction")
    if values[at] != _MEAN or not _is_in_parts(values):
        return run(operator, values)
    loss, weight = run(operator, [*values[:at], _SUM, *values[at + 1 :]])
    weight = _whole(weight)
    return _aten.div(loss, weight), weight


def _whole(x: Any) -> Any:
    spec = x._dispatch_data.spec.without_partial
    return _own.redistribute(x, spec.mesh, spec.placements)


def _norm(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return a norm: powers are summed over all processes, the greatest or least element is that of all."""
    x, order, dim, keepdim, dtype = values
    if not _is_in_parts([x]):
        return run(operator, values)
    whole = _whole(x)
    dims = None if dim is None else list(dim)
    size = _aten.abs(whole if dtype is None else _aten._to_copy(whole, dtype=dtype))
    if order in (inf, -inf):
        every = dims or list(range(len(dc.shape(x))))
        found = (_aten.amax if order > 0 else _aten.amin)(size, every, keepdim)
        return _whole(found)
    if order == 0:
        return _whole(
            _aten.sum.dim_IntList(_aten._to_copy(_aten.ne.Scalar(size, 0), dtype=dc.dtype(size)), dims, keepdim)
        )
    powers = _aten.mul(size, size) if order == 2 else _aten.pow(size, order)
    total = _whole(_aten.sum.dim_IntList(powers, dims, keepdim))
    return _aten.sqrt(total) if order == 2 else _aten.pow(total, 1 / order)


def _mean(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return an average: where parts are of several sizes, the sum is divided."""
    x, spec = values[0], values[0]._dispatch_data.spec
    counts = {each.dim: count for each, count in zip(spec.placements, spec.mesh.shape, strict=True) if each.is_shard()}
    if all(spec.size[dim] % count == 0 for dim, count in counts.items()):
        return run(operator, values)
    dim, keepdim = values[1:3] if "dim" in operator.names else (None, False)
    total = _aten.sum.dim_IntList(x, dim, keepdim, dtype=values[-1])
    return _aten.div(total, prod(spec.size) / max(prod(dc.shape(total)), 1))


def _embed(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return rows of a table that is cut at its rows: each process gives those that it has, which are summed."""
    weight, indices = record_of(values[0]), record_of(values[1])
    if weight is None:
        return run(operator, values)  # which refuses an ordinary table beside placed indices
    spec = weight.spec
    cut = [each.is_shard(0) and count > 1 for each, count in zip(spec.placements, spec.mesh.shape, strict=True)]
    if indices is None or not any(cut) or any(each.is_partial() for each in spec.placements):
        return run(operator, values)
    found = indices.spec
    here = [
        now if place.is_replicate() else Replicate()
        for place, now in zip(spec.placements, found.placements, strict=True)
    ]
    target = Spec(spec.mesh, here, found.size)
    start, count = spec.parts[0]
    own, absent = count_from(move(indices.local, found, target), start, count, spec.size[0])
    table = weight.local if count else _aten.new_zeros(weight.local, [1, spec.local_size[1]])
    rows = operator.call([table, own, -1, False, False])
    rows = _aten.masked_fill.Scalar(rows, _aten.unsqueeze(absent, -1), 0)
    last = len(found.size)
    made = [
        Partial() if is_cut else Shard(last) if place.is_shard(1) else now
        for is_cut, place, now in zip(cut, spec.placements, here, strict=True)
    ]
    return wrap_part(rows, Spec(spec.mesh, made, [*found.size, spec.size[1]]))


def _squeeze(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return a tensor without dimensions of size 1: a part's may be of size 1 where the whole's is not."""
    size = values[0]._dispatch_data.spec.size
    chosen = normalize(values[1] if len(values) > 1 else None, len(size))
    dims = [dim for dim in chosen if size[dim] == 1] if size else []
    if operator.name == "squeeze.dims" and [*values[1]] == dims:
        return run(operator, values)
    return _aten.squeeze.dims(values[0], dims)


def _view(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return a view in another shape, or a copy of a part that cannot be viewed so; see Note [Alike in all processes]."""
    try:
        return run(operator, values)
    except RuntimeError:
        record = values[0]._dispatch_data
        local = _aten.clone(record.local, memory_format=_CONTIGUOUS)
        return run(operator, [wrap_part(local, record.spec), *values[1:]])


#: Losses of elements, whose averages are sums that are divided.
_LOSSES: Final = frozenset(
    "mse_loss mse_loss_backward smooth_l1_loss smooth_l1_loss_backward huber_loss binary_cross_entropy"
    " binary_cross_entropy_with_logits soft_margin_loss".split()
)


def _copy_to(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Copy the parts, which may come to another device: the record is one of that."""
    found = run(operator, values)
    record = record_of(found)
    assert record is not None  # the result lies as the tensor does
    return found if dc.device(record.local) == found.device else wrap_part(record.local, record.spec)


_BY_NAME: Final[dict[str, Callable[..., Any]]] = {
    "_to_copy": _copy_to,
    **BATCH_NORMS,
    **CLASS_LOSSES,
    "nll_loss_forward": _nll_loss,
    "linalg_vector_norm": _norm,
    "mean": _mean,
    "embedding": _embed,
    "squeeze": _squeeze,
    **dict.fromkeys(("view", "view_as_complex"), _view),
}
