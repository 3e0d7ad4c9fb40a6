"""Products of numbers with a quantized weight (source: ``torch.ao.nn.quantized.dynamic.modules.linear``)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import torchlike as t
from torchlike import nn
from torchlike.nn.modules.multihead import NonDynamicallyQuantizableLinear
from torchlike.quantized.packed import HalfWeight

from ...intrinsic import fused
from ...qat.dynamic import Linear as _TrainedLinear
from .. import linear
from ..utils import _quantize_weight, guard_attributes

__all__ = ["Linear"]


def find_weight_observer(mod: Any) -> Any:
    """Return the constructor of the observer of a module's weights."""
    from ....quantization.qconfig import default_dynamic_qconfig  # only this function needs it

    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    has_one = mod.qconfig is not None and mod.qconfig.weight is not None
    return mod.qconfig.weight if has_one else default_dynamic_qconfig.weight


class Linear(linear.Linear):
    """Multiply by a weight of integers (source: ``torch.ao.nn.quantized.dynamic.Linear``).

    ``(*, in_features)`` to ``(*, out_features)``, both of numbers.
    """

    _version = 4
    _FLOAT_MODULE: ClassVar[Any] = (nn.Linear, NonDynamicallyQuantizableLinear, fused.LinearReLU, _TrainedLinear)
    _operator, _name = "linear_dynamic", "DynamicQuantizedLinear"

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = t.qint8) -> None:
        super().__init__(in_features, out_features, bias_, dtype)
        self.version: Any = 4

    def forward(self, x: Any) -> Any:
        guard_attributes(self._packed_params, "_packed_params")
        packed, relu = self._packed_params._packed_params, self._operator != "linear_dynamic"
        if isinstance(packed, HalfWeight):
            found = packed.multiply(x)
            return (found.relu() if relu else found).to(x.dtype)
        halved = self.version is not None and self.version >= 4
        return getattr(t.ops.quantized, self._operator)(x, packed, reduce_range=halved).to(x.dtype)

    def extra_repr(self) -> str:
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        return f"{text}, qscheme={self.weight().qscheme()}" if self._packed_params.dtype == t.qint8 else text

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        self.version = local_metadata.get("version")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for another one, which has a ``qconfig``."""
        if type(mod) not in cls._FLOAT_MODULE:
            names = [each.__name__ for each in cls._FLOAT_MODULE]
            raise AssertionError(f"{cls._name}.from_float only works for one of {names}, got {type(mod)}")
        observer = find_weight_observer(mod)()
        mod = mod[0] if isinstance(mod, fused._FusedModule) else mod
        if observer.dtype not in (t.qint8, t.float16):
            raise AssertionError(
                f"The only supported dtypes for dynamic quantized linear are qint8 and float16, got: {observer.dtype}"
            )
        observer(mod.weight)
        weight = mod.weight.float()
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(_quantize_weight(weight, observer) if observer.dtype == t.qint8 else weight, mod.bias)
        return made
