"""Views, whose results share the batch's memory, and operators that only say other dimensions and sizes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.errors import OperatorError

from .calls import BatchedCall, Rule, aten, shift, shift_all, wrap_dim


def at_dims(*names: str, sizes: str = "") -> Rule:
    """Return the rule of an operator with dimensions in arguments of these names, and a size in another.

    Raises ``DimensionError`` for tensors without dimensions.
    """

    def rule(call: BatchedCall) -> Any:
        tensors: dict[str, Any] = {name: call.with_batch(name) for name in call.tensors()}
        rank = len(call[sizes]) if sizes else call.rank(next(iter(tensors)))
        if sizes:
            tensors[sizes] = (call.size, *call[sizes])
        return call.run(**tensors, **{name: wrap_dim(call[name], rank) for name in names})

    return rule


def as_it_is(call: BatchedCall) -> Any:
    """Call an operator that does not care for leading dimensions."""
    return call.run(**{name: call.with_batch(name) for name in call.tensors()})


def at_size(name: str) -> Rule:
    """Return the rule of an operator whose size, in the argument of that name, is the logical one."""

    def rule(call: BatchedCall) -> Any:
        return call.run(self=call.with_batch("self"), **{name: _size(call, call[name])})

    return rule


def _size(call: BatchedCall, size: Any) -> tuple[int, ...]:
    """Return a logical size with the batch's before it; -1 is computed, which the batch's own size may not be."""
    size = list(size)
    if size.count(-1) == 1:
        known = prod(each for each in size if each != -1)
        elements = prod(call.shape("self"))
        if known and elements % known == 0:
            size[size.index(-1)] = elements // known
    return (call.size, *size)


def _expand(call: BatchedCall) -> Any:
    size = list(call["size"])
    tensor = call.with_batch("self")
    missing = len(size) - call.rank("self")
    if missing < 0:
        return aten.expand.default(tensor, (call.size, *size))  # refused, in torch's words
    if missing:
        tensor = aten.view.default(tensor, (call.size, *[1] * missing, *tensor.shape[1:]))
    return aten.expand.default(tensor, (call.size, *size))


def _permute(call: BatchedCall) -> Any:
    return aten.permute.default(call.with_batch("self"), (0, *shift_all(call["dims"], call.rank("self"))))


def _matrix_transpose(call: BatchedCall) -> Any:
    tensor, rank = call.with_batch("self"), call.rank("self")
    return aten.transpose.int(tensor, 1, 2) if _is_matrix(rank) else aten.alias.default(tensor)


def _is_matrix(rank: int) -> bool:
    if rank > 2:
        raise OperatorError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    return rank == 2


def _transpose(call: BatchedCall) -> Any:
    rank, tensor = call.rank("self"), call.with_batch("self")
    dims = shift(call["dim0"], rank), shift(call["dim1"], rank)
    return aten.transpose.int(tensor, *dims) if rank else aten.alias.default(tensor)


def _transpose_in_place(call: BatchedCall) -> Any:
    rank, tensor = call.rank("self"), call["self"].tensor
    if "dim0" in call.values:
        return aten.transpose_.default(tensor, shift(call["dim0"], rank), shift(call["dim1"], rank)) if rank else tensor
    return aten.transpose_.default(tensor, 1, 2) if _is_matrix(rank) else tensor


def _unsqueeze(call: BatchedCall) -> Any:
    return call.run(self=call.with_batch("self"), dim=shift(call["dim"], call.rank("self") + 1))


def _squeeze(dims_of: Callable[[BatchedCall], list[int]], op: Any) -> Rule:
    def rule(call: BatchedCall) -> Any:
        return op(call.with_batch("self"), dims_of(call))

    return rule


def _all_dims(call: BatchedCall) -> list[int]:
    return [place + 1 for place, size in enumerate(call.shape("self")) if size == 1]


def _given_dims(call: BatchedCall) -> list[int]:
    shape = call.shape("self")
    return [dim for dim in shift_all(call["dim"], len(shape)) if shape and shape[dim - 1] == 1]


def _as_strided(call: BatchedCall) -> Any:
    # The offset is that of the first row; the others lie as far from it as they do in the batch.
    tensor = call.with_batch("self")
    size, stride = [call.size, *call["size"]], [dc.strides(tensor)[0], *call["stride"]]
    return aten.as_strided.default(tensor, size, stride, call["storage_offset"])


def _unfold(call: BatchedCall) -> Any:
    tensor, rank = call.with_batch("self"), call.rank("self")
    if rank:
        return call.run(self=tensor, dimension=shift(call["dimension"], rank))
    found = call.run(self=aten.unsqueeze.default(tensor, 1), dimension=shift(call["dimension"], rank))
    return aten.squeeze.dim(found, 1)


def _unfold_backward(call: BatchedCall) -> Any:
    sizes, grad = call["input_sizes"], call.with_batch("grad_in")
    if not sizes:
        return aten.view.default(call.run(grad_in=grad, input_sizes=[call.size, 1], dim=1), (call.size,))
    return call.run(grad_in=grad, input_sizes=[call.size, *sizes], dim=shift(call["dim"], len(sizes)))


def _diag_embed(call: BatchedCall) -> Any:
    rank = call.rank("self") + 1
    dims = {name: wrap_dim(call[name], rank) for name in ("dim1", "dim2")}
    return call.run(self=call.with_batch("self"), **dims)


def _repeat(call: BatchedCall) -> Any:
    repeats, shape = list(call["repeats"]), call.shape("self")
    missing = len(repeats) - len(shape)
    tensor = call.with_batch("self")
    if missing > 0:
        tensor = aten.view.default(tensor, (call.size, *[1] * missing, *shape))
    return aten.repeat.default(tensor, [1, *repeats])


def _view_dtype(call: BatchedCall) -> Any:
    tensor = call.with_batch("self")
    if call.rank("self") == 0 and tensor.dtype.itemsize != call["dtype"].itemsize:
        tensor = tensor[0]  # refused, in torch's words
    return call.run(self=tensor)


def _copy_options(call: BatchedCall) -> Any:
    # A memory format other than the plain one is of four or five dimensions; the batch adds one.
    plain = call.values.get("memory_format")
    return call.run(self=call.with_batch("self"), memory_format=plain if plain in _PLAIN else None)


_PLAIN: Final = (None, 0, 1)

RULES: Final[dict[str, Rule]] = {
    "view": at_size("size"),
    "reshape": at_size("shape"),
    "_unsafe_view": at_size("size"),
    "view.dtype": _view_dtype,
    "as_strided": _as_strided,
    "select.int": at_dims("dim"),
    "slice.Tensor": at_dims("dim"),
    "split.Tensor": at_dims("dim"),
    "split_with_sizes": at_dims("dim"),
    "unbind.int": at_dims("dim"),
    "diagonal": at_dims("dim1", "dim2"),
    "expand": _expand,
    "permute": _permute,
    "transpose.int": _transpose,
    "t": _matrix_transpose,
    "squeeze": _squeeze(_all_dims, aten.squeeze.dims),
    "squeeze.dim": _squeeze(_given_dims, aten.squeeze.dims),
    "squeeze.dims": _squeeze(_given_dims, aten.squeeze.dims),
    "unsqueeze": _unsqueeze,
    "unfold": _unfold,
    "repeat": _repeat,
    "clone": _copy_options,
    "_to_copy": _copy_options,
    **dict.fromkeys("detach alias view_as_real view_as_complex constant_pad_nd native_dropout".split(), as_it_is),
    "diag_embed": _diag_embed,
    "squeeze_": _squeeze(_all_dims, aten.squeeze_.dims),
    "squeeze_.dim": _squeeze(_given_dims, aten.squeeze_.dims),
    "squeeze_.dims": _squeeze(_given_dims, aten.squeeze_.dims),
    "unsqueeze_": _unsqueeze,
    "transpose_": _transpose_in_place,
    "t_": _transpose_in_place,
    "select_backward": at_dims("dim", sizes="input_sizes"),
    "slice_backward": at_dims("dim", sizes="input_sizes"),
    "diagonal_backward": at_dims("dim1", "dim2", sizes="input_sizes"),
    "unfold_backward": _unfold_backward,
    "select_scatter": at_dims("dim"),
    "slice_scatter": at_dims("dim"),
    "diagonal_scatter": at_dims("dim1", "dim2"),
}
