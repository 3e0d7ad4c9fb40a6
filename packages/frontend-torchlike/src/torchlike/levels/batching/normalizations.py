"""Normalizations: those of samples run with more samples, those of a batch with more channels.

Weights and biases of each row are applied to the normalized tensor.
"""

from __future__ import annotations

from typing import Any, Final

from dispatch_aten.gradients import FUNCTIONS

from ..stack import current_levels
from .calls import Batch, BatchedCall, Rule, align, aten
from .empty_batches import run_on_a_row


def _scale_and_shift(found: Any, weight: Any, bias: Any, lay_out: Any) -> Any:
    """Apply a weight and a bias, each None, batched or not, after ``lay_out`` has brought them to the logical rank."""
    if weight is not None:
        found = aten.mul.Tensor(found, lay_out(weight))
    return found if bias is None else aten.add.Tensor(found, lay_out(bias))


def _layer_norm(call: BatchedCall) -> Any:
    if not call.is_batched("weight") and not call.is_batched("bias"):
        return call.run(input=call.with_batch("input"))
    found, mean, rstd = call.run(input=call.with_batch("input"), weight=None, bias=None)
    rank = call.rank("input")
    found = _scale_and_shift(found, call["weight"], call["bias"], lambda each: align(each, rank))
    return found, mean, rstd


def _layer_norm_backward(call: BatchedCall) -> Any:
    grad, own, mean, rstd = (call.with_batch(name) for name in ("grad_out", "input", "mean", "rstd"))
    wants_input, wants_weight, wants_bias = call["output_mask"]
    rank, weight = call.rank("input"), call["weight"]
    outer = list(range(1, rank + 1 - len(call["normalized_shape"])))
    found: list[Any] = [None, None, None]
    if wants_input:
        scaled = grad
        if type(weight) is Batch:
            scaled, weight = aten.mul.Tensor(grad, align(weight, rank)), None
        changed = {"grad_out": scaled, "input": own, "mean": mean, "rstd": rstd, "weight": weight, "bias": None}
        found[0] = call.run(**changed, output_mask=[True, False, False])[0]
    if wants_weight:
        if current_levels() or own.requires_grad:
            # Transforms below may differentiate the gradient, to which mean and deviation are functions of the input.
            frame = FUNCTIONS["frame_layers"](own.shape, call["normalized_shape"])
            mean, rstd = FUNCTIONS["link_statistics"](frame, own, mean, rstd)
        normalized = aten.mul.Tensor(aten.sub.Tensor(own, mean), rstd)
        found[1] = _sum(aten.mul.Tensor(grad, aten._to_copy.default(normalized, dtype=grad.dtype)), outer)
    if wants_bias:
        found[2] = _sum(grad, outer)
    return tuple(found)


def _sum(tensor: Any, dims: list[int]) -> Any:
    return aten.sum.dim_IntList(tensor, dims) if dims else tensor


def _samples(tensor: Any) -> Any:
    return aten.reshape.default(tensor, (tensor.shape[0] * tensor.shape[1], *tensor.shape[2:]))


def _parts(tensor: Any, size: int) -> Any:
    shape = tensor.shape
    return aten.view.default(tensor, (size, shape[0] // size, *shape[1:]))


def _by_channel(rank: int) -> Any:
    """Return a function that lays a vector of channels out for tensors of a logical rank."""

    def lay_out(value: Any) -> Any:
        tensor = value.tensor if type(value) is Batch else value
        batch = [tensor.shape[0], 1] if type(value) is Batch else []
        return aten.view.default(tensor, (*batch, tensor.shape[-1], *[1] * (rank - 2)))

    return lay_out


def _group_norm(call: BatchedCall) -> Any:
    weight, bias, count = call["weight"], call["bias"], call.size * call["N"]
    is_plain = type(weight) is not Batch and type(bias) is not Batch
    changed = {} if is_plain else {"weight": None, "bias": None}
    results = call.run(input=_samples(call.with_batch("input")), N=count, **changed)
    found, mean, rstd = (_parts(each, call.size) for each in results)
    if not is_plain:
        found = _scale_and_shift(found, weight, bias, _by_channel(call.rank("input")))
    return found, mean, rstd


def _group_norm_backward(call: BatchedCall) -> Any:
    grad, own, mean, rstd = (call.with_batch(name) for name in ("grad_out", "input", "mean", "rstd"))
    wants_input, wants_weight, wants_bias = call["output_mask"]
    rank, weight, groups = call.rank("input"), call["weight"], call["group"]
    others = [1, *range(3, rank + 1)]
    found: list[Any] = [None, None, None]
    if wants_input:
        scaled = grad
        if type(weight) is Batch:
            scaled, weight = aten.mul.Tensor(grad, _by_channel(rank)(weight)), None
        made = call.run(
            grad_out=_samples(scaled),
            input=_samples(own),
            mean=_samples(mean),
            rstd=_samples(rstd),
            weight=weight,
            N=call.size * call["N"],
            output_mask=[True, False, False],
        )[0]
        found[0] = _parts(made, call.size)
    if wants_weight:
        group = [call.size, call["N"], groups]
        parted = aten.reshape.default(own, (*group, call["C"] // groups * call["HxW"]))
        mean, rstd = (aten.reshape.default(each, (*group, 1)) for each in (mean, rstd))
        normalized = aten.reshape.default(aten.mul.Tensor(aten.sub.Tensor(parted, mean), rstd), own.shape)
        found[1] = _sum(aten.mul.Tensor(grad, normalized), others)
    if wants_bias:
        found[2] = _sum(grad, others)
    return tuple(found)


_BATCH_NORMS: Final = """
    _native_batch_norm_legit.no_stats _native_batch_norm_legit_functional _native_batch_norm_legit_no_training
    native_batch_norm_backward
"""
_STATISTICS: Final = ("weight", "bias", "running_mean", "running_var", "save_mean", "save_invstd")


def _batch_norm(call: BatchedCall) -> Any:
    """Call a batch normalization whose channels are those of all rows."""
    changed = {}
    for name in call.tensors():
        tensor = call.with_batch(name)
        changed[name] = _join_vectors(tensor) if name in _STATISTICS else _join_channels(tensor)
    results = call.run(**changed)
    return tuple(None if each is None else _part_channels(each, call.size) for each in results)


def _join_vectors(tensor: Any) -> Any:
    return aten.reshape.default(tensor, (tensor.shape[0] * tensor.shape[1],))


def _join_channels(tensor: Any) -> Any:
    size, samples, channels, *rest = tensor.shape
    return aten.reshape.default(aten.transpose.int(tensor, 0, 1), (samples, size * channels, *rest))


def _part_channels(tensor: Any, size: int) -> Any:
    if len(tensor.shape) == 1:
        return aten.view.default(tensor, (size, tensor.shape[0] // size))
    samples, channels, *rest = tensor.shape
    parted = aten.reshape.default(tensor, (samples, size, channels // size, *rest))
    return aten.transpose.int(parted, 0, 1)


RULES: Final[dict[str, Rule]] = {
    "native_layer_norm": _layer_norm,
    "native_layer_norm_backward": _layer_norm_backward,
    "native_group_norm": run_on_a_row(_group_norm),
    "native_group_norm_backward": run_on_a_row(_group_norm_backward),
    **dict.fromkeys(_BATCH_NORMS.split(), run_on_a_row(_batch_norm)),
}
