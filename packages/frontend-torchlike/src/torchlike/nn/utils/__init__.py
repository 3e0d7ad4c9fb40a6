"""Helpers for networks (source: ``torch.nn.utils``); each module is imported when one of its names is first used."""

from __future__ import annotations

from typing import Final

from ...names.lazy_names import load_names

_NAMES: Final = {
    "clip_grad": "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "init": "skip_init",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
    "parametrizations": "",
    "parametrize": "",
    "prune": "",
    "rnn": "",
    "spectral_normalization": "remove_spectral_norm spectral_norm",
    "stateless": "",
    "weight_normalization": "remove_weight_norm weight_norm",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
