"""Nodes of reductions, sorts and normalizations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dispatch_core.planning import Value

from .emitters import EMITTERS, emits
from .errors import OnnxExporterError
from .writer import Writer

#: Reductions that are one node: ``name`` over all dimensions or some, ``name.overload`` of the latter.
_REDUCTIONS: Final = (
    "sum.dim_IntList ReduceSum; mean.dim ReduceMean; amax ReduceMax; amin ReduceMin; logsumexp ReduceLogSumExp;"
    "prod.dim_int ReduceProd; max ReduceMax; min ReduceMin; sum ReduceSum; mean ReduceMean; prod ReduceProd"
)


def _reduce(kind: str, w: Writer, self: Value, dim: Any = None, keepdim: bool = False, *_: Any) -> str:
    made = w.results[0]
    assert made is not None
    return reduce(w, kind, w.cast(self, made.dtype), dim, keepdim)


def reduce(w: Writer, kind: str, name: str, dim: Any = None, keepdim: bool = False) -> str:
    """Return the name of a reduction over ``dim``: a dimension, several, or all for None and an empty list."""
    axes = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return str(w.node(kind, name, *([w.ints(axes)] if axes else []), keepdims=int(keepdim)))


def _reduce_all(kind: str, w: Writer, self: Value, *_: Any) -> str:
    return _reduce(kind, w, self)


for _name, _kind in (each.split() for each in _REDUCTIONS.split(";")):
    whole = _name in ("max", "min", "sum", "mean", "prod")
    EMITTERS[f"aten::{_name}"] = partial(_reduce_all if whole else _reduce, _kind)


@emits("any", "any.dim", "any.dims", "all", "all.dim", "all.dims")
def _any(w: Writer, self: Value, dim: Any = None, keepdim: bool = False, *, kind: str = "ReduceMax") -> str:
    as_bool = w.cast(self, "bool")
    return w.cast_name(reduce(w, kind, w.cast_name(as_bool, "int32"), dim, keepdim), "bool")


EMITTERS.update({f"aten::all{each}": partial(_any, kind="ReduceMin") for each in ("", ".dim", ".dims")})


@emits("max.dim", "min.dim")
def _max_dim(w: Writer, self: Value, dim: int, keepdim: bool = False, *, kind: str = "Max") -> list[str]:
    found = reduce(w, f"Reduce{kind}", w.name(self), dim, keepdim)
    return [found, str(w.node(f"Arg{kind}", w.name(self), axis=dim, keepdims=int(keepdim)))]


EMITTERS["aten::min.dim"] = partial(_max_dim, kind="Min")


@emits("argmax", "argmin")
def _argmax(w: Writer, self: Value, dim: int | None = None, keepdim: bool = False, *, kind: str = "ArgMax") -> str:
    if dim is None:
        found = w.node(kind, w.reshape(w.name(self), [-1]), axis=0, keepdims=0)
        return w.reshape(found, [1] * len(self.shape)) if keepdim else str(found)
    return str(w.node(kind, w.name(self), axis=dim, keepdims=int(keepdim)))


EMITTERS["aten::argmin"] = partial(_argmax, kind="ArgMin")


@emits("var.correction", "std.correction")
def _var(
    w: Writer, self: Value, dim: Any = None, correction: Any = None, keepdim: bool = False, *, root: bool = False
) -> str:
    axes = list(range(len(self.shape))) if not dim and dim != 0 else [dim] if isinstance(dim, int) else list(dim)
    x = w.name(self)
    apart = w.node("Sub", x, reduce(w, "ReduceMean", x, axes, keepdim=True))
    total = reduce(w, "ReduceSum", w.node("Mul", apart, apart), axes, keepdim)
    count = math.prod(w.size(self, axis) for axis in axes)
    found = w.node("Div", total, w.constant(count - (1 if correction is None else correction), self.dtype))
    return str(w.node("Sqrt", found) if root else found)


EMITTERS["aten::std.correction"] = partial(_var, root=True)


@emits("linalg_vector_norm")
def _norm(w: Writer, self: Value, order: Any = 2, dim: Any = None, keepdim: bool = False, *_: Any) -> str:
    name = w.name(self)
    if order in (1, 2):
        return reduce(w, f"ReduceL{int(order)}", name, dim, keepdim)
    if order in (math.inf, -math.inf):
        return reduce(w, "ReduceMax" if order > 0 else "ReduceMin", w.node("Abs", name), dim, keepdim)
    total = reduce(w, "ReduceSum", w.node("Pow", w.node("Abs", name), w.constant(order, self.dtype)), dim, keepdim)
    return str(w.node("Pow", total, w.constant(1 / order, self.dtype)))


@emits("cumsum")
def _cumsum(w: Writer, self: Value, dim: int, *_: Any) -> str:
    made = w.results[0]
    assert made is not None
    return str(w.node("CumSum", w.cast(self, made.dtype), w.scalar(dim)))


@emits("topk")
def _topk(w: Writer, self: Value, k: Any, dim: int = -1, largest: bool = True, is_sorted: bool = True) -> list[str]:
    return list(
        w.node("TopK", w.name(self), w.ints([k]), results=2, axis=dim, largest=int(largest), sorted=int(is_sorted))
    )


@emits("sort")
def _sort(w: Writer, self: Value, dim: int = -1, descending: bool = False) -> list[str]:
    return _topk(w, self, w.shape(self)[dim], dim, descending)


@emits("sort.stable")
def _sort_stable(w: Writer, self: Value, stable: Any, dim: int = -1, descending: bool = False) -> list[str]:
    return _sort(w, self, dim, descending)


@emits("_softmax", "_log_softmax")
def _softmax(w: Writer, self: Value, dim: int, half_to_float: bool = False, *, kind: str = "Softmax") -> str:
    made = w.results[0]
    assert made is not None
    return str(w.node(kind, w.cast(self, made.dtype), axis=dim))


EMITTERS["aten::_log_softmax"] = partial(_softmax, kind="LogSoftmax")


@emits("_safe_softmax")
def _safe_softmax(w: Writer, self: Value, dim: int, dtype: Any = None) -> str:
    found = _softmax(w, self, dim)
    # Rows of minus infinity alone.
    return str(w.node("Where", w.node("IsNaN", found), w.constant(0, self.dtype), found))


def _name_or_fill(w: Writer, value: Value | None, otherwise: float, shape: Sequence[int], like: Value) -> str:
    """Return the name of a weight or bias, or of the constant that stands for one that is not there."""
    if value is not None:
        return w.cast(value, like.dtype)
    one = w.constant(otherwise, like.dtype)
    return str(w.node("Expand", one, w.ints(shape)))


@emits("native_layer_norm")
def _layer_norm(
    w: Writer, input: Value, normalized_shape: Any, weight: Value | None, bias: Value | None, eps: float
) -> list[str | None]:
    scale = _name_or_fill(w, weight, 1, normalized_shape, input)
    shift = [] if bias is None else [w.cast(bias, input.dtype)]
    axis = -len(normalized_shape)
    return [w.node("LayerNormalization", w.name(input), scale, *shift, axis=axis, epsilon=eps), None, None]


def _spread(w: Writer, value: Value | None, rank: int) -> str | None:
    """Return the name of a vector for the channels, shaped to stand beside an array of ``rank`` dimensions."""
    return None if value is None else w.reshape(w.name(value), [-1, *[1] * (rank - 2)])


def _scale(w: Writer, name: str, weight: Value | None, bias: Value | None, rank: int) -> str:
    for kind, value in (("Mul", _spread(w, weight, rank)), ("Add", _spread(w, bias, rank))):
        name = name if value is None else str(w.node(kind, name, value))
    return name


@emits("native_group_norm")
def _group_norm(
    w: Writer, input: Value, weight: Value | None, bias: Value | None, n: Any, c: Any, hw: Any, group: int, eps: float
) -> list[str | None]:
    name = w.name(input)
    grouped = w.node("Reshape", name, w.ints([0, group, -1]))
    ones, zeros = (w.constant([number] * group, input.dtype) for number in (1, 0))
    alike = w.node("InstanceNormalization", grouped, ones, zeros, epsilon=eps)
    whole = w.node("Reshape", alike, w.node("Shape", name))
    return [_scale(w, whole, weight, bias, len(input.shape)), None, None]


@emits("_native_batch_norm_legit_no_training")
def _batch_norm(
    w: Writer,
    input: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value,
    var: Value,
    momentum: float,
    eps: float,
) -> list[str | None]:
    channels = [w.size(mean, 0)]
    scale, shift = _name_or_fill(w, weight, 1, channels, input), _name_or_fill(w, bias, 0, channels, input)
    names = [w.name(input), scale, shift, w.name(mean), w.name(var)]
    return [w.node("BatchNormalization", *names, epsilon=eps), None, None]


@emits("_native_batch_norm_legit.no_stats")
def _batch_norm_of_batch(
    w: Writer, input: Value, weight: Value | None, bias: Value | None, training: bool, momentum: float, eps: float
) -> list[str | None]:
    axes, x = [0, *range(2, len(input.shape))], w.name(input)
    apart = w.node("Sub", x, reduce(w, "ReduceMean", x, axes, keepdim=True))
    var = reduce(w, "ReduceMean", w.node("Mul", apart, apart), axes, keepdim=True)
    alike = w.node("Div", apart, w.node("Sqrt", w.node("Add", var, w.constant(eps, input.dtype))))
    return [_scale(w, str(alike), weight, bias, len(input.shape)), None, None]


@emits("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional")
def _batch_norm_in_training(w: Writer, *_: Any) -> None:
    raise OnnxExporterError("batch normalization is in its training mode: call eval() on the model")
