"""Products of matrices and vectors: the batch is a leading dimension, which `matmul` of the level below takes as it is."""

from __future__ import annotations

from typing import Any, Final

from dispatch_aten.errors import ShapeError

from .calls import Batch, BatchedCall, Rule, align, aten, dtype_of, rank_of, shape_of, with_batch


def matmul(left: Any, right: Any, size: int) -> Any:
    """Return the product of two tensors, with the batch in front, by the rules of ``matmul`` for their logical shapes."""
    if type(left) is not Batch and type(right) is not Batch:
        return with_batch(aten.matmul.default(left, right), size)
    left_rank, right_rank = rank_of(left), rank_of(right)
    if not left_rank or not right_rank:
        raise ShapeError(
            f"both arguments to matmul need to be at least 1D, but they are {left_rank}D and {right_rank}D"
        )
    if type(right) is not Batch and right_rank <= 2:
        return aten.matmul.default(left.tensor, right)  # one product of all rows
    is_row, is_column = left_rank == 1, right_rank == 1
    left, right = _add_dim(left, -2) if is_row else left, _add_dim(right, -1) if is_column else right
    rank = max(rank_of(left), rank_of(right))
    product = aten.matmul.default(align(left, rank), align(right, rank))
    if is_column:
        product = aten.squeeze.dim(product, -1)
    return aten.squeeze.dim(product, -1 if is_column else -2) if is_row else product


def _add_dim(value: Any, dim: int) -> Any:
    if type(value) is Batch:
        return Batch(aten.unsqueeze.default(value.tensor, dim))
    return aten.unsqueeze.default(value, dim)


def product(left: str, right: str, left_rank: int, right_rank: int) -> Rule:
    """Return the rule of a product of tensors of two arguments, which have these logical ranks."""

    def rule(call: BatchedCall) -> Any:
        _check(call, {left: left_rank, right: right_rank})
        return matmul(call[left], call[right], call.size)

    return rule


def _check(call: BatchedCall, ranks: dict[str, int]) -> None:
    for name, rank in ranks.items():
        if call.rank(name) != rank:
            raise ShapeError(f"expected a {rank}D tensor, but got {call.rank(name)}D", argument=name)
    left, right = ranks
    if dtype_of(call[left]) != dtype_of(call[right]):
        call.run(**{name: _first(call[name]) for name in ranks})  # refused, in torch's words


def _first(value: Any) -> Any:
    return value.tensor[0] if type(value) is Batch else value


def added_product(left: str, right: str, left_rank: int, right_rank: int) -> Rule:
    """Return the rule of ``beta * self + alpha * (left @ right)``; with a beta of 0 ``self`` does not count."""

    def rule(call: BatchedCall) -> Any:
        _check(call, {left: left_rank, right: right_rank})
        found = matmul(call[left], call[right], call.size)
        alpha, beta = call["alpha"], call["beta"]
        if beta == 0:
            return found if alpha == 1 else aten.mul.Scalar(found, alpha)
        own = call["self"]
        if rank_of(own) >= len(found.shape):
            raise ShapeError(f"self of shape {list(shape_of(own))} does not broadcast to {list(found.shape[1:])}")
        own = align(own, len(found.shape) - 1)
        return aten.add.Tensor(own if beta == 1 else aten.mul.Scalar(own, beta), found, alpha=alpha)

    return rule


def _matmul(call: BatchedCall) -> Any:
    return matmul(call["self"], call["other"], call.size)


def _linear(call: BatchedCall) -> Any:
    # The bias is added by itself, as in torch: under autocast the sum has the bias's own dtype.
    weight, bias = call["weight"], call["bias"]
    if type(weight) is not Batch:
        found = call.run(input=call.with_batch("input"), bias=None)
    else:
        turned = Batch(aten.transpose.int(weight.tensor, 1, 2)) if rank_of(weight) == 2 else weight
        found = matmul(call["input"], turned, call.size)
    if bias is None:
        return found
    rank = max(len(found.shape) - 1, rank_of(bias))
    return aten.add.Tensor(align(Batch(found), rank), align(bias, rank))


def _vdot(call: BatchedCall) -> Any:
    own = call["self"]
    if dtype_of(own).is_complex:
        own = Batch(aten.conj_physical.default(own.tensor)) if type(own) is Batch else aten.conj_physical.default(own)
    return matmul(own, call["other"], call.size)


def _outer(call: BatchedCall) -> Any:
    _check(call, {"self": 1, "vec2": 1})
    left, right = _add_dim(call["self"], -1), _add_dim(call["vec2"], -2)
    return aten.mul.Tensor(align(left, 2), align(right, 2))


RULES: Final[dict[str, Rule]] = {
    "mm": product("self", "mat2", 2, 2),
    "bmm": product("self", "mat2", 3, 3),
    "mv": product("self", "vec", 2, 1),
    "dot": product("self", "tensor", 1, 1),
    "vdot": _vdot,
    "matmul": _matmul,
    "outer": _outer,
    "ger": _outer,
    "linear": _linear,
    "addmm": added_product("mat1", "mat2", 2, 2),
    "addmv": added_product("mat", "vec", 2, 1),
    "baddbmm": added_product("batch1", "batch2", 3, 3),
}
