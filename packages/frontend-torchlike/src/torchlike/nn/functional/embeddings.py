"""Embeddings, bags of them, and one-hot vectors."""

from __future__ import annotations

import warnings
from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ...creation.factories import FACTORIES
from ...functions.operator_functions import FUNCTIONAL, FUNCTIONS
from ...history.grad_mode import is_grad_enabled, no_grad
from ...tensors.arguments import check_tensor
from ...tensors.arrays import is_recording
from ...tensors.tensor import Tensor

one_hot = FUNCTIONAL["one_hot"]
_MODES = {"sum": 0, "mean": 1, "max": 2}


def _find_padding(padding_idx: int | None, weight: Tensor) -> int:
    """Return the row that takes no gradient, -1 for none."""
    if padding_idx is None:
        return -1
    rows = weight.size(0)
    if not -rows <= padding_idx < max(rows, 1):
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx + rows if padding_idx < 0 else padding_idx


def _shorten(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    with no_grad():
        dc.ops.aten.embedding_renorm_(weight, input, max_norm, norm_type)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Return the rows of ``weight`` that ``input`` names; with ``max_norm`` longer ones are shortened in place first.

    With ``sparse`` the gradient of ``weight`` is a sparse tensor of these rows.
    """
    check_tensor(input, "embedding")
    check_tensor(weight, "embedding", "weight")
    padding = _find_padding(padding_idx, weight)
    if max_norm is not None:
        input = input.contiguous()
        _shorten(weight, input, max_norm, norm_type)
    if sparse and weight.requires_grad and is_grad_enabled():
        from ...sparse.functions import embed  # few programs have sparse gradients

        return embed(weight, input, padding, scale_grad_by_freq)
    return FUNCTIONS["embedding"](weight, input, padding, scale_grad_by_freq)


def _check_first(offsets: Tensor) -> None:
    """Refuse offsets that begin behind the first index; a pipeline, which reads no values, takes them."""
    if not offsets.numel() or offsets.is_meta or is_recording(offsets):
        return
    first = offsets[0].item()
    if first:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{first}"
        )


def _list_bags(input: Tensor, weights: Tensor | None) -> tuple[Any, Any, bool, Tensor | None]:
    """Return the indices of nested bags one after another, where each begins, and where the last ends; and their weights."""
    if weights is not None and not weights.is_nested:
        raise ValueError("If input is nested, then per_sample_weights must be nested if specified")
    whole: Any = input.contiguous()
    values = None if weights is None else weights.contiguous().values().reshape(-1)
    return whole.values().reshape(-1), whole.offsets(), True, values


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return for each bag of rows of ``weight`` their sum, mean or maximum.

    A bag is a row of ``input``, which may be nested, or of a one-dimensional ``input`` the part from one of ``offsets`` to
    the next. With ``sparse`` the gradient of ``weight`` is a sparse tensor of the rows that were read.

    >>> import torchlike
    >>> weight = torchlike.tensor([[1., 2.], [3., 4.]])
    >>> embedding_bag(torchlike.tensor([[0, 1], [1, 1]]), weight, mode="sum")
    tensor([[4., 6.],
            [6., 8.]])
    """
    check_tensor(input, "embedding_bag")
    check_tensor(weight, "embedding_bag", "weight")
    if offsets is not None:
        check_tensor(offsets, "embedding_bag", "offsets")
    if per_sample_weights is not None:
        check_tensor(per_sample_weights, "embedding_bag", "per_sample_weights")
    if weight.dtype == ScalarType.Long and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
            UserWarning,
            stacklevel=2,
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same "
            f"shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.is_nested and input.dim() == 2:
        input, offsets, include_last_offset, per_sample_weights = _list_bags(input, per_sample_weights)
    elif input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        rows, width = input.shape
        offsets = FACTORIES["arange"](0, max(rows, 1), dtype=input.dtype, device=input.device)[:rows] * width
        include_last_offset = False
        input = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        _check_first(offsets)
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    _check_mode(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        _shorten(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if sparse and weight.requires_grad and is_grad_enabled():
        from ...sparse.functions import embed_bags  # few programs have sparse gradients

        weight, input, padding_idx = embed_bags(weight, input, padding_idx, scale_grad_by_freq)
        scale_grad_by_freq = False
    found: tuple[Tensor, ...] = dc.ops.aten.embedding_bag.padding_idx(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _MODES[mode],
        False,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
    return found[0]


def _check_mode(mode: str, scale_grad_by_freq: bool, sparse: bool) -> None:
    if mode not in _MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
