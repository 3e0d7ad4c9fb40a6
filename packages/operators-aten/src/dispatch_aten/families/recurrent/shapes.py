"""Shape rules of recurrent networks and losses of sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import float32, float64
from dispatch_aten.errors import OperatorError, ShapeError, UnsupportedError
from dispatch_aten.shapes.meta import TensorMeta, contiguous

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHILE: Final = "(while checking arguments for ctc_loss_allocate_outputs)"


def _check_ctc(
    log_probs: TensorMeta,
    targets: TensorMeta,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int,
) -> int:
    """Return the number of places of the longest target with blanks around its labels."""
    if log_probs.dtype not in (float32, float64):
        raise UnsupportedError(f"\"ctc_loss_cpu\" not implemented for '{log_probs.dtype.name}'")
    steps, batch, classes = log_probs.shape
    if not batch:
        raise OperatorError("log_probs tensor must not be empty", argument="log_probs")
    if not 0 <= blank < classes:
        raise OperatorError("blank must be in label range", argument="blank")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise OperatorError(f"{name} must be of size batch_size", argument=name)
        if any(length < 0 for length in lengths):
            raise OperatorError(
                f"Expected {name} to have value at least 0, but got value {min(lengths)} {_WHILE}", argument=name
            )
    longest = max(target_lengths)
    if targets.ndim == 1 and targets.numel != sum(target_lengths):
        raise ShapeError(
            f"Expected tensor to have size {sum(target_lengths)} at dimension 0, but got size {targets.numel} for argument "
            f"#2 'targets' {_WHILE}",
            argument="targets",
        )
    if targets.ndim != 1:
        if targets.shape[0] != batch:
            raise ShapeError(
                f"Expected tensor to have size {batch} at dimension 0, but got size {targets.shape[0]} for argument #2 "
                f"'targets' {_WHILE}",
                argument="targets",
            )
        if targets.shape[1] < longest:
            raise ShapeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} for "
                f"argument #2 'targets' {_WHILE}",
                argument="targets",
            )
    if max(input_lengths) > steps:
        raise OperatorError(
            f"Expected input_lengths to have value at most {steps}, but got value {max(input_lengths)} {_WHILE}",
            argument="input_lengths",
        )
    return 2 * longest + 1


def _ctc_loss(
    log_probs: TensorMeta,
    targets: TensorMeta,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[TensorMeta, TensorMeta]:
    width = _check_ctc(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, _ = log_probs.shape
    return contiguous((batch,), log_probs.dtype), contiguous((batch, steps, width), log_probs.dtype)


def _ctc_loss_backward(
    grad: TensorMeta,
    log_probs: TensorMeta,
    targets: TensorMeta,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: TensorMeta,
    log_alpha: TensorMeta,
    blank: int,
    zero_infinity: bool = False,
) -> TensorMeta:
    _check_ctc(log_probs, targets, input_lengths, target_lengths, blank)
    return contiguous(log_probs.shape, log_probs.dtype)


#: Parts of the workspace beside the gates: torch's numbers for an LSTM and gated units, whose last is one more.
_PARTS: Final = {2: 5, 3: 4}


def _rnn_layer(
    input: TensorMeta, weight0: TensorMeta, weight1: TensorMeta, *rest: Any
) -> tuple[TensorMeta, TensorMeta, TensorMeta, TensorMeta]:
    hx, mode = rest[2], rest[6]
    if mode not in _PARTS:
        raise OperatorError(f"expected a mode of an LSTM (2) or gated units (3), but got {mode}", argument="mode")
    steps, batch, _ = input.shape
    size = weight1.shape[1]
    state = contiguous(hx.shape, input.dtype)
    return (
        contiguous((steps, batch, size), input.dtype),
        state,
        state,
        contiguous((steps, batch, _PARTS[mode] * size), input.dtype),
    )


def _rnn_layer_backward(input: TensorMeta, *rest: Any) -> tuple[TensorMeta, ...]:
    return tuple(contiguous(each.shape, each.dtype) for each in (input, *rest[:6]))
