"""Functions written in Python whose arguments may override them, as packages take them from their modules."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Final

from ..names.spelling import spell

__all__ = ["convert", "convert_layer_function"]

_NAMES: Final = frozenset(
    "dequantize dsmm fused_moving_avg_obs_fake_quant get_device hsmm hspmm int_repr is_complex is_distributed"
    " is_floating_point is_inference is_signed lu numel pca_lowrank q_per_channel_axis q_per_channel_scales"
    " q_per_channel_zero_points q_scale q_zero_point quantize_per_channel quantize_per_tensor"
    " quantize_per_tensor_dynamic quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d saddmm smm spmm"
    " sspaddmm svd_lowrank sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum unique unravel_index".split()
)


def convert(name: str, found: Any) -> Any:
    """Return what torchlike has under a name: a function of the list asks its arguments for overrides."""
    if name not in _NAMES:
        return found
    from .wrapping import make_overridable

    made = make_overridable(found, "torch", name)
    made.__module__ = spell()  # where pickle finds it
    return made


def convert_layer_function(name: str, found: Any) -> Any:
    """Return what ``nn.functional`` has under a name: functions of operators ask by themselves, the others are wrapped.

    See Note [Functions written in Python] in `overriding.wrapping`.
    """
    if type(found) is not FunctionType or "__lazy" in found.__globals__ or name in ("sigmoid", "tanh"):
        return found  # the last two call methods, which ask
    from .wrapping import make_overridable

    made = make_overridable(found, "nn.functional", name)
    made.__module__ = spell("torchlike.nn.functional")  # where pickle finds it
    return made
