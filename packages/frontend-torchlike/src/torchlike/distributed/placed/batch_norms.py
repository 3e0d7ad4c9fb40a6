"""Batch norm of tensors in parts: the statistics are those of the whole batch, as sums over the processes.

Note [Statistics of a batch in parts]
    The average is summed first, and then the squares of what differs from it, so that the variance is as exact as on one
    device. The sums of backward, for the weight and for the bias, go between the processes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan, prod
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.placements import split

from .plans import PartOperator
from .tensor import Spec

__all__ = ["BATCH_NORMS"]

_aten, _own = dc.ops.aten, dc.ops.dispatch
_SINGLE: Final = (ScalarType.Half, ScalarType.BFloat16)


def _is_cut(spec: Spec) -> bool:
    """Return whether a batch lies in parts along another dimension than the channels."""
    return any(
        count > 1 and each.is_shard() and not each.is_shard(1)
        for each, count in zip(spec.placements, spec.mesh.shape, strict=True)
    )


def _lay(x: Any, spec: Spec) -> Any:
    return x if x._dispatch_data.spec is spec else _own.redistribute(x, spec.mesh, spec.placements)


def _whole(x: Any) -> Any:
    return _lay(x, x._dispatch_data.spec.without_partial)


def _widen(x: Any) -> Any:
    return _aten._to_copy(x, dtype=ScalarType.Float) if dc.dtype(x) in _SINGLE else x


def _like(x: Any, like: Any) -> Any:
    dtype = dc.dtype(like)
    return x if dc.dtype(x) is dtype else _aten._to_copy(x, dtype=dtype)


def _normalize(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return the normalized batch, its statistics and, where there are some, the running ones after it.

    See Note [Statistics of a batch in parts].
    """
    x, weight, bias, *running, training, momentum, eps = values
    spec = x._dispatch_data.spec.without_partial
    if not training or not _is_cut(spec):
        return run(operator, values)
    x = _lay(x, spec)
    size = spec.size
    shape, dims = [1, -1, *[1] * (len(size) - 2)], [dim for dim in range(len(size)) if dim != 1]
    count = prod(size) // size[1]
    wide = _widen(x)
    mean = _aten.div(_whole(_aten.sum.dim_IntList(wide, dims)), count)
    apart = _aten.sub(wide, _aten.view(mean, shape))
    variance = _aten.div(_whole(_aten.sum.dim_IntList(_aten.mul(apart, apart), dims)), count)
    rstd = _aten.rsqrt(_aten.add(variance, eps))
    made = _scale(apart, rstd, weight, bias, shape)
    unbiased = _aten.mul(variance, count / (count - 1) if count > 1 else nan)
    moved = [
        _like(_aten.add(_aten.mul(old, 1 - momentum), _aten.mul(new, momentum)), old)
        for old, new in zip(running, (mean, unbiased), strict=False)
    ]
    return (_like(made, x), mean, rstd, *moved)


def _scale(apart: Any, rstd: Any, weight: Any, bias: Any, shape: list[int]) -> Any:
    made = _times(apart, rstd if weight is None else _aten.mul(rstd, _widen(weight)), shape)
    return made if bias is None else _aten.add(made, _aten.view(_widen(bias), shape))


def _evaluate(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return the batch, normalized by running statistics: by other operators where a process has nothing of it."""
    x, weight, bias, mean, variance, _, eps = values
    spec = x._dispatch_data.spec
    last = [*spec.size]  # the sizes of the last part
    for each, count in zip(spec.placements, spec.mesh.shape, strict=True):
        if each.is_shard():
            last[each.dim] = split(last[each.dim], count, count - 1)[1]
    if all(last):
        return run(operator, values)
    shape = [1, -1, *[1] * (len(spec.size) - 2)]
    rstd = _aten.rsqrt(_aten.add(_widen(variance), eps))
    made = _scale(_aten.sub(_widen(x), _aten.view(_widen(mean), shape)), rstd, weight, bias, shape)
    nothing = _aten.new_empty(mean, [0])
    return _like(made, x), nothing, nothing


def _differentiate(operator: PartOperator, run: Any, values: Sequence[Any]) -> Any:
    """Return the gradients of the batch, the weight and the bias."""
    gradient, x, weight, old_mean, old_variance, mean, rstd, training, eps, mask = values
    spec = x._dispatch_data.spec.without_partial
    if not _is_cut(spec):
        return run(operator, values)
    x, given = _lay(x, spec), _widen(_lay(gradient, spec))
    size = spec.size
    shape, dims = [1, -1, *[1] * (len(size) - 2)], [dim for dim in range(len(size)) if dim != 1]
    count = prod(size) // size[1]
    if not training:
        mean, rstd = _widen(old_mean), _aten.rsqrt(_aten.add(_widen(old_variance), eps))
    apart = _aten.sub(_widen(x), _aten.view(mean, shape))
    of_bias, of_weight = (_aten.sum.dim_IntList(each, dims) for each in (given, _aten.mul(given, apart)))
    if training:
        both = _whole(_aten.stack([of_bias, of_weight]))
        of_bias, of_weight = (_aten.select(both, 0, index) for index in (0, 1))
    found = None
    if mask[0]:
        found = given
        if training:
            slope = _aten.div(_aten.mul(_aten.mul(rstd, rstd), of_weight), count)
            found = _aten.sub(
                _aten.sub(given, _aten.view(_aten.div(of_bias, count), shape)), _times(apart, slope, shape)
            )
        found = _like(_times(found, rstd if weight is None else _aten.mul(rstd, _widen(weight)), shape), x)
    like = x if weight is None else weight
    of_weight = _like(_aten.mul(of_weight, rstd), like) if mask[1] else None
    return found, of_weight, _like(of_bias, like) if mask[2] else None


def _times(x: Any, of_channels: Any, shape: list[int]) -> Any:
    return _aten.mul(x, _aten.view(of_channels, shape))


#: The operators that are computed by others where a batch lies in parts.
BATCH_NORMS: Final[dict[str, Callable[..., Any]]] = {
    "_native_batch_norm_legit": _normalize,
    "_native_batch_norm_legit_functional": _normalize,
    "_native_batch_norm_legit_no_training": _evaluate,
    "native_batch_norm_backward": _differentiate,
}
