"""Products with a quantized weight (source: ``torch.ao.nn.quantized.modules.linear``)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import torchlike as t
from torchlike import nn
from torchlike.nn.modules.multihead import NonDynamicallyQuantizableLinear
from torchlike.nn.utils.fusion import fuse_linear_bn_weights
from torchlike.nn.utils.parametrize import type_before_parametrizations
from torchlike.quantized.packed import HalfWeight

from ..intrinsic import qat as fused_qat
from ..intrinsic.fused import _FusedModule
from .utils import WeightedQuantizedModule, _hide_packed_params_repr, _quantize_weight, guard_attributes

__all__ = ["Linear", "LinearPackedParams"]


def pack(weight: Any, bias: Any, dtype: Any) -> Any:
    """Return a weight as products take it, for ``qint8`` or ``float16``; ``RuntimeError`` for other dtypes."""
    if dtype == t.float16:
        return HalfWeight(weight, bias)
    if dtype != t.qint8:
        raise RuntimeError("Unsupported dtype on dynamic quantized linear!")
    return t.ops.quantized.linear_prepack(weight, None if bias is None else bias.detach())


class LinearPackedParams(nn.Module):
    """Keep weight and bias as products take them (source: ``torch.ao.nn.quantized.modules.linear.LinearPackedParams``)."""

    _version = 3
    _packed_params: Any

    def __init__(self, dtype: Any = t.qint8) -> None:
        super().__init__()
        self.dtype = dtype
        self.set_weight_bias(_empty_weight([1, 1], dtype), None)

    def set_weight_bias(self, weight: Any, bias: Any) -> None:
        """Take a quantized weight, or for ``float16`` one of floats, and a bias of floats or None."""
        self._packed_params = pack(weight, bias, self.dtype)

    def _weight_bias(self) -> Any:
        packed = self._packed_params
        return packed.unpack() if isinstance(packed, HalfWeight) else t.ops.quantized.linear_unpack(packed)

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        self.dtype = t.qint8 if version is None or version < 2 else state_dict.pop(prefix + "dtype")
        if version is None or version < 3:
            self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        else:
            self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def __repr__(self) -> str:
        return repr(self._weight_bias())


def _empty_weight(shape: list[int], dtype: Any) -> Any:
    if dtype == t.qint8:
        return t._empty_affine_quantized(shape, scale=1.0, zero_point=0, dtype=t.qint8)
    if dtype == t.float16:
        return t.zeros(shape)
    raise RuntimeError("Unsupported dtype specified for quantized Linear!")


class Linear(WeightedQuantizedModule):
    """Multiply integers by a weight of integers (source: ``torch.ao.nn.quantized.Linear``).

    ``(*, in_features)`` to ``(*, out_features)``, quantized by ``scale`` and ``zero_point``.
    """

    _version = 3
    _FLOAT_MODULE: ClassVar[Any] = (nn.Linear, NonDynamicallyQuantizableLinear)
    _operator: ClassVar[str] = "linear"
    _name: ClassVar[str] = "QuantizedLinear"

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = t.qint8) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        weight = _empty_weight([out_features, in_features], dtype)
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, t.zeros(out_features) if bias_ else None)
        self.scale, self.zero_point = 1.0, 0

    def forward(self, x: Any) -> Any:
        guard_attributes(self, "scale", "zero_point")
        guard_attributes(self._packed_params, "_packed_params")
        packed = self._packed_params._packed_params
        return getattr(t.ops.quantized, self._operator)(x, packed, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return self._name

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale},"
            f" zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return _hide_packed_params_repr(self, LinearPackedParams)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        if local_metadata.get("version") in (None, 1):
            for name in "weight", "bias":
                state_dict[f"{prefix}_packed_params.{name}"] = state_dict.pop(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _weight_bias(self) -> tuple[Any, Any]:
        found: tuple[Any, Any] = self._packed_params._weight_bias()
        return found

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take a quantized weight, and a bias of floats or None."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def _options_of(cls, mod: Any) -> dict[str, Any]:
        """Return further arguments for a layer made of an observed one."""
        return {}

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for an observed one, which has a ``qconfig``."""
        kind = type_before_parametrizations(mod)
        options, observer = cls._options_of(mod), mod.activation_post_process
        if hasattr(mod, "weight_fake_quant"):
            if kind is fused_qat.LinearBn1d:
                mod.weight, mod.bias = mod._normalized_weights(fuse_linear_bn_weights)
            of_weight = mod.weight_fake_quant
        else:
            classes = cls._FLOAT_MODULE if isinstance(cls._FLOAT_MODULE, tuple) else (cls._FLOAT_MODULE,)
            if kind not in classes:
                names = ", ".join(each.__name__ for each in classes)
                raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {names}, but got: {type(mod)}")
            mod = mod[0] if isinstance(mod, _FusedModule) else mod
            of_weight = mod.qconfig.weight()
        if not use_precomputed_fake_quant:
            of_weight(mod.weight)
        if of_weight.dtype != t.qint8:
            raise AssertionError(f"Weight observer must have dtype torch.qint8, got {of_weight.dtype}")
        made = cls(mod.in_features, mod.out_features, dtype=of_weight.dtype, **options)
        made.set_weight_bias(_quantize_weight(mod.weight.float(), of_weight), mod.bias)
        made._take_qparams(observer)
        return made
