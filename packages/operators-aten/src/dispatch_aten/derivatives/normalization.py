"""Derivative formulas of normalizations; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

_LAYER: Final = "native_layer_norm_backward(grad, input, normalized_shape, result1, result2, weight, bias, "
_GROUP: Final = "native_group_norm_backward(grad, input, result1, result2, weight, N, C, HxW, group, "
_BATCH: Final = "native_batch_norm_backward(grad, input, weight, None, None, result1, result2, True, eps, "
_EVALUATION: Final = (
    "native_batch_norm_backward(grad, input, weight, running_mean, running_var, None, None, False, eps, "
)


def _first(backward: str) -> dict[str, str]:
    """Return the formulas of a normalization: each takes one of the results of one call of its backward operator."""
    return {
        name: f"{backward}grad_input_mask)[{place}] if grad is not None else None"
        for place, name in enumerate(("input", "weight", "bias"))
    }


def _second(frame: str, mean: str, rstd: str) -> dict[str, str]:
    return {
        name: f"differentiate_normalization('{name}', {frame}, grads, grad_out, input, {mean}, {rstd}, weight)"
        for name in ("grad_out", "input", "weight")
    }


#: torch lets gradients flow into the mean and deviation of group_norm alone.
_GROUP_INPUT: Final = (
    f"differentiate_statistics({_first(_GROUP)['input']}, grads, "
    "frame_groups(N, C, HxW, group), input, result1, result2)"
)

FORMULAS: Final[dict[str, dict[str, str]]] = {
    "native_layer_norm": _first(_LAYER),
    "native_group_norm": _first(_GROUP) | {"input": _GROUP_INPUT},
    "_native_batch_norm_legit.no_stats": _first(_BATCH),
    "_native_batch_norm_legit_functional": _first(_BATCH),
    "_native_batch_norm_legit_no_training": _first(_EVALUATION),
    "native_layer_norm_backward": _second("frame_layers(input_sizes, normalized_shape)", "mean", "rstd"),
    "native_group_norm_backward": _second("frame_groups(N, C, HxW, group)", "mean", "rstd"),
    "native_batch_norm_backward": _second(
        "frame_batch(input_sizes, train)",
        "save_mean if train else running_mean",
        "save_invstd if train else deviate(running_var, eps)",
    ),
}

DIFFERENTIABLE_OUTPUTS: Final = {
    "native_layer_norm": (True, False, False),
    "native_group_norm": (True, True, True),
    "_native_batch_norm_legit_no_training": (True, False, False),
    "_native_batch_norm_legit.no_stats": (True, False, False),
    "_native_batch_norm_legit_functional": (True, False, False, False, False),
}
