"""Reductions, scans, sorting and other operators along dimensions, which the schema names and which are logical."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from .calls import BatchedCall, Rule, aten, bind, map_results, overload, rank_of, shift, shift_all, with_batch


def along_dims(call: BatchedCall, *, name: str = "dim", empty_is_all: bool = True) -> Any:
    """Call an operator with its dimensions behind the batch.

    None means every dimension but the batch, and so does an empty list where ``empty_is_all``. Tensors without dimensions
    have one for the call, and so do their results, which lose it again.
    """
    dims = call[name]
    tensors = _tensors(call)
    rank = max(len(tensor.shape) for tensor in tensors.values()) - 1
    if dims is None or (empty_is_all and dims in ([], ())):
        return _over_all(call, tensors, name)
    if rank == 0:
        tensors = {each: aten.unsqueeze.default(tensor, 1) for each, tensor in tensors.items()}
    shifted = shift(dims, rank) if isinstance(dims, int) else shift_all(dims, rank)
    result = call.run(**tensors, **{name: shifted})
    return result if rank else map_results(result, lambda each: aten.view.default(each, (call.size,)))


def _tensors(call: BatchedCall) -> dict[str, Any]:
    """Return the tensors with the batch in front and, where they broadcast, dimensions of size 1 behind it."""
    names = tuple(call.tensors())
    rank = max(call.rank(name) for name in names)
    found = {}
    for name in names:
        tensor = call.with_batch(name)
        missing = rank - rank_of(call[name])
        if missing:
            tensor = aten.view.default(tensor, (call.size, *[1] * missing, *tensor.shape[1:]))
        found[name] = tensor
    return found


def _over_all(call: BatchedCall, tensors: dict[str, Any], name: str) -> Any:
    [(first, tensor)] = tensors.items()
    rank = len(tensor.shape) - 1
    tensor, dims = _whole_rows(tensor, is_list=_takes_list(call.op, name))
    result = call.run(**{first: tensor, name: dims})
    if not rank or (dims == 1 and rank > 1 and call.values.get("keepdim")):
        return map_results(result, lambda each: aten.view.default(each, (call.size, *[1] * rank)))
    return result


def _takes_list(op: Any, name: str) -> bool:
    """Return whether an argument is a list of dimensions."""
    return any(each.name == name and "[" in str(each.type) for each in op.schema.arguments)


def _whole_rows(tensor: Any, *, is_list: bool) -> tuple[Any, int | list[int]]:
    """Return a tensor and the dimensions of its rows: all where an operator takes several, else of the flattened tensor."""
    shape = tensor.shape
    if is_list and len(shape) > 1:
        return tensor, list(range(1, len(shape)))
    return _flatten(tensor), [1] if is_list else 1


def _flatten(tensor: Any) -> Any:
    shape = tensor.shape
    return tensor if len(shape) == 2 else aten.reshape.default(tensor, (shape[0], prod(shape[1:])))


def full(by_dim: str, *, index: int | None = None) -> Rule:
    """Return the rule of an operator that reduces over everything: the overload with a dimension, on whole rows."""

    def rule(call: BatchedCall) -> Any:
        op = overload(by_dim)
        [(name, tensor)] = _tensors(call).items()
        if index is not None and not prod(tensor.shape[1:]):
            return with_batch(call.op(aten.new_empty.default(tensor, [0])), call.size)
        tensor, dims = _whole_rows(tensor, is_list=_takes_list(op, "dim"))
        given = bind(op, (), call.values | {name: tensor, "dim": dims, "keepdim": False})
        result = BatchedCall(op, call.size, given).run()
        return result if index is None else result[index]

    return rule


def _only_listed(call: BatchedCall) -> Any:
    return along_dims(call, empty_is_all=False)


def _flip(call: BatchedCall) -> Any:
    return along_dims(call, name="dims", empty_is_all=False)


def _roll(call: BatchedCall) -> Any:
    if call["dims"]:
        return along_dims(call, name="dims")
    tensor = call.with_batch("self")
    rolled = call.run(self=_flatten(tensor), dims=[1])
    return aten.view.default(rolled, tensor.shape)


_ALONG: Final = """
    sum.dim_IntList mean.dim prod.dim_int amax amin max.dim min.dim argmax argmin any.dim all.dim var.correction
    std.correction var_mean.correction norm.ScalarOpt_dim norm.ScalarOpt_dim_dtype linalg_vector_norm logsumexp aminmax
    count_nonzero count_nonzero.dim_IntList cumsum cumprod cummax cummin cummaxmin_backward logcumsumexp sort sort.stable
    topk kthvalue mode median.dim nanmedian.dim _softmax _log_softmax _softmax_backward_data _log_softmax_backward_data
    _safe_softmax glu glu_backward _fft_c2c _fft_c2r _fft_r2c linalg_cross
"""

RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(_ALONG.split(), along_dims),
    **dict.fromkeys(["any.dims", "all.dims"], _only_listed),
    "sum": full("sum.dim_IntList"),
    "mean": full("mean.dim"),
    "prod": full("prod.dim_int"),
    "max": full("amax"),
    "min": full("amin"),
    "any": full("any.dim"),
    "all": full("all.dim"),
    "median": full("median.dim", index=0),
    "nanmedian": full("nanmedian.dim", index=0),
    "norm.Scalar": full("norm.ScalarOpt_dim"),
    "norm.ScalarOpt_dtype": full("norm.ScalarOpt_dim_dtype"),
    "flip": _flip,
    "roll": _roll,
}
