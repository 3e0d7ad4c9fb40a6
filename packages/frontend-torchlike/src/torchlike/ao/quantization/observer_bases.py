"""The bases of observers: modules that see what flows, and tell the scale and the zero point for it."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Final

import torchlike as t
from torchlike import nn

from .constructors import Constructible
from .utils import calculate_qmin_qmax, check_min_max_valid, is_per_channel, is_per_tensor, validate_qmin_qmax

_EPS: Final = t.finfo(t.float32).eps
_DTYPES: Final = (
    *(t.qint8, t.quint8, t.quint4x2, t.qint32, t.int8, t.uint8, t.int16, t.int32),
    *(t.float8_e5m2, t.float8_e4m3fn, t.uint16),
)


class ObserverBase(Constructible, nn.Module, abc.ABC):
    """The base of observers (source: ``torch.ao.quantization.ObserverBase``).

    A subclass defines ``forward``, which returns what it is given, and ``calculate_qparams``.
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @abc.abstractmethod
    def forward(self, x: Any) -> Any:
        """Look at a tensor, and return it."""

    @abc.abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the scale and the zero point."""


class UniformQuantizationObserverBase(ObserverBase):
    """The base of observers of a range (source: ``torch.ao.quantization.UniformQuantizationObserverBase``)."""

    _version = 3
    #: What a kind refuses: schemes, dynamic quantization, and symmetric ranges of unsigned integers that are halved.
    _allows: ClassVar[Any] = None
    _may_be_dynamic: ClassVar[bool] = True
    _halves_symmetric: ClassVar[bool] = True
    eps: t.Tensor
    min_val: t.Tensor
    max_val: t.Tensor

    def __init__(
        self,
        dtype: Any = t.quint8,
        qscheme: Any = t.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict[str, Any] | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        name = type(self).__name__
        if type(self)._allows is not None and not type(self)._allows(qscheme):
            raise NotImplementedError(f"{name} has no scheme {qscheme}")
        if is_dynamic and not self._may_be_dynamic:
            raise NotImplementedError(f"{name} doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self._options = {key: value for key, value in (factory_kwargs or {}).items() if value is not None}
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", t.tensor([eps], **self._options))
        if not (is_per_tensor(qscheme) or is_per_channel(qscheme)):
            raise AssertionError(f"{name} takes a scheme per tensor or per channel, not {qscheme}")
        if dtype not in _DTYPES:
            raise AssertionError(f"{name} takes one of the dtypes {_DTYPES}, not {dtype}")
        is_symmetric = qscheme in (t.per_tensor_symmetric, t.per_channel_symmetric)
        if self._halves_symmetric is False and is_symmetric and reduce_range and dtype == t.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if quant_min is not None and quant_max is not None:
            validate_qmin_qmax(quant_min, quant_max)
        self.quant_min, self.quant_max = calculate_qmin_qmax(
            quant_min, quant_max, self.has_customized_qrange, dtype, reduce_range
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        if local_metadata.get("version") in (None, 1):
            state_dict[prefix + "eps"] = t.tensor([_EPS])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def _calculate_qparams(self, min_val: Any, max_val: Any) -> tuple[Any, Any]:
        """Return scale and zero point for a range, with at least one dimension."""
        if not check_min_max_valid(min_val, max_val):
            return t.tensor([1.0], device=min_val.device.type), t.tensor([0], device=min_val.device.type)
        low, high, steps = self.quant_min, self.quant_max, float(self.quant_max - self.quant_min)
        zeros = t.zeros_like(min_val)
        least, greatest = t.min(min_val, zeros), t.max(max_val, zeros)
        zero_point = t.zeros(least.size(), dtype=t.int64, device=least.device)
        if self.qscheme in (t.per_tensor_symmetric, t.per_channel_symmetric):
            scale = t.max(t.max(-least, greatest) / (steps / 2), self.eps)
            if self.dtype in (t.quint8, t.uint8):
                zero_point += (low + high) // 2 if self.has_customized_qrange else 128
            elif self.dtype == t.uint16:
                zero_point += 2**15
        elif self.qscheme == t.per_channel_affine_float_qparams:
            scale = (max_val - min_val) / steps
            scale = t.where(scale > self.eps, scale, t.ones_like(scale))
            zero_point = -1 * min_val / scale
        else:
            scale = t.max((greatest - least) / steps, self.eps)
            zero_point = t.clamp(low - t.round(least / scale).to(t.int32), low, high)
        return scale.reshape(-1) if not scale.dim() else scale, (
            zero_point if zero_point.dim() else zero_point.reshape(-1)
        )

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" if hasattr(self, "min_val") else ""

    def reset_min_max_vals(self) -> None:
        """Forget the range."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")
