"""What quantized layers share: weights made integers, and states with scale and zero point."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

import torchlike as t
from dispatch_core import frontends
from torchlike import nn
from torchlike.nn.modules.module import _addindent

from ...quantization.utils import is_per_channel, is_per_tensor

__all__ = ["WeightedQuantizedModule"]


class ScaledModule(nn.Module):
    """A layer whose result has a scale and a zero point, numbers that its state has as tensors."""

    scale: Any = 1.0
    zero_point: Any = 0

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = t.tensor(self.scale)
        destination[prefix + "zero_point"] = t.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def _take_qparams(self, observer: Any) -> None:
        """Take scale and zero point from an observer; there is none where the result is not quantized."""
        if observer is not None and observer.dtype != t.float32:
            scale, zero_point = observer.calculate_qparams()
            self.scale, self.zero_point = float(scale), int(zero_point)


class WeightedQuantizedModule(ScaledModule):
    """The base of layers with a weight (source: ``torch.ao.nn.quantized.modules.utils``)."""

    _packed_params: Any

    def _weight_bias(self) -> tuple[Any, Any]:
        raise NotImplementedError

    def weight(self) -> Any:
        """Return the quantized weight."""
        return self._weight_bias()[0]

    def bias(self) -> Any:
        """Return the bias, of floats, or None."""
        return self._weight_bias()[1]


def read_qparams(module: Any) -> tuple[float, int]:
    """Return the scale and the zero point that a module has as buffers.

    A captured function takes them as constants, and records the call again where they have other values.
    """
    recording = frontends.recording()
    if recording is not None:
        arrays = [each._dispatch_data for each in (module.scale, module.zero_point)]
        if all(isinstance(each, np.ndarray) for each in arrays):
            owner, found = ref(module), (float(arrays[0].item()), int(arrays[1].item()))
            recording.guard(lambda: _read_now(owner()), found)
            return found
    return _read_now(module)


def guard_attributes(module: Any, *names: str) -> None:
    """Tell a captured function to record the call again where a module has other attributes; replays keep them."""
    recording = frontends.recording()
    if recording is not None:
        owner = ref(module)
        recording.guard(lambda: [getattr(owner(), name, None) for name in names])


def _read_now(module: Any) -> tuple[float, int]:
    return float(module.scale), int(module.zero_point)


def _quantize_weight(float_wt: Any, observer: Any) -> Any:
    """Return a weight quantized by the range that an observer saw, within the observer's integers."""
    scale, zero_point = observer.calculate_qparams()
    scheme = observer.qscheme
    if is_per_tensor(scheme):
        made = t.quantize_per_tensor(float_wt, float(scale), int(zero_point), t.qint8)
    elif scheme == t.per_channel_affine_float_qparams:
        scale, zero_point = scale.to(t.float32), zero_point.to(t.float32)
        made = t.quantize_per_channel(float_wt, scale, zero_point, observer.ch_axis, observer.dtype)
    elif is_per_channel(scheme):
        scale, zero_point = scale.to(t.float64), zero_point.to(t.int64)
        made = t.quantize_per_channel(float_wt, scale, zero_point, observer.ch_axis, t.qint8)
    else:
        raise ValueError(f"Unexpected qscheme {scheme}")
    return _clamp_weights(made, getattr(observer, "activation_post_process", observer), scale, zero_point)


def _clamp_weights(qweight: Any, observer: Any, scale: Any, zero_point: Any) -> Any:
    limits, low, high = t.iinfo(qweight.dtype), observer.quant_min, observer.quant_max
    if low <= limits.min and high >= limits.max:
        return qweight
    integers = qweight.int_repr().clamp(low, high)
    if is_per_tensor(observer.qscheme):
        return t._make_per_tensor_quantized_tensor(integers, float(scale), int(zero_point))
    return t._make_per_channel_quantized_tensor(integers, scale, zero_point, axis=observer.ch_axis)


def _hide_packed_params_repr(self: Any, params: Any) -> str:
    """Return the text of a module without its submodules of these classes."""
    lines = [each for each in self.extra_repr().split("\n") if each]
    shown = [
        f"({name}): {_addindent(repr(child), 2)}"
        for name, child in self._modules.items()
        if not isinstance(child, params)
    ]
    if len(lines) == 1 and not shown:
        return f"{self._get_name()}({lines[0]})"
    inner = "".join(f"\n  {line}" for line in (*lines, *shown))
    return f"{self._get_name()}({inner}\n)" if inner else f"{self._get_name()}()"
