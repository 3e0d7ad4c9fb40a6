"""Observers of the range of what flows through a network (source: ``torch.ao.quantization.observer``)."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any, ClassVar, Final, NoReturn

import torchlike as t

from .constructors import Constructible
from .constructors import _PartialWrapper as _PartialWrapper  # noqa: PLC0414  # torch's module has it
from .histogram import HistogramObserver
from .observer_bases import ObserverBase, UniformQuantizationObserverBase
from .utils import is_per_channel, is_per_tensor

__all__ = [
    "FixedQParamsObserver",
    "HistogramObserver",
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "NoopObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "RecordingObserver",
    "ReuseInputObserver",
    "UniformQuantizationObserverBase",
    "get_observer_state_dict",
    "load_observer_state_dict",
]
_ObserverBase = UniformQuantizationObserverBase


class MinMaxObserver(UniformQuantizationObserverBase):
    """Observe the smallest and the greatest element of all calls (source: ``torch.ao.quantization.MinMaxObserver``).

    >>> import torchlike
    >>> observer = MinMaxObserver()
    >>> _ = observer(torchlike.tensor([-1.0, 0.5, 4.1]))
    >>> observer.calculate_qparams()
    (tensor([0.0200]), tensor([50], dtype=torchlike.int32))
    """

    _allows: ClassVar[Any] = staticmethod(is_per_tensor)
    _halves_symmetric = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.register_buffer("min_val", t.tensor(float("inf"), **self._options))
        self.register_buffer("max_val", t.tensor(float("-inf"), **self._options))

    def _find_range(self, x: Any) -> tuple[Any, Any]:
        found: tuple[Any, Any] = t.aminmax(x.to(self.min_val.dtype))
        return found

    def _join(self, old: Any, new: Any, join: Any) -> Any:
        """Return the new end of the range from the old one and that of a call."""
        return join(new, old)

    def _is_new(self) -> bool:
        return False

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        low, high = self._find_range(x_orig.detach())
        if not self._is_new():
            low, high = self._join(self.min_val, low, t.min), self._join(self.max_val, high, t.max)
        for own, found in (self.min_val, low), (self.max_val, high):
            own.resize_(found.shape)
            own.copy_(found)
        return x_orig

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # as torch's
        return self._calculate_qparams(self.min_val, self.max_val)

    def reset_min_max_vals(self) -> None:
        """Forget the range."""
        self.min_val.copy_(t.tensor(float("inf")))
        self.max_val.copy_(t.tensor(float("-inf")))


class _MovingAverage(UniformQuantizationObserverBase):
    """The part of observers whose range moves towards that of each call, by ``averaging_constant`` of the way."""

    def __init__(self, averaging_constant: float = 0.01, *args: Any, is_dynamic: bool = False, **kwargs: Any) -> None:
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                f"{type(self).__name__} doesn't support dynamic quantization for averaging constant of {averaging_constant}"
            )
        options: dict[str, Any] = {**kwargs, "is_dynamic": is_dynamic}
        super().__init__(*args, **options)
        self.averaging_constant = averaging_constant

    def _join(self, old: Any, new: Any, join: Any) -> Any:
        return old + self.averaging_constant * (new - old)


class MovingAverageMinMaxObserver(_MovingAverage, MinMaxObserver):
    """Observe moving averages of the range (source: ``torch.ao.quantization.MovingAverageMinMaxObserver``)."""

    def _is_new(self) -> bool:
        return bool(self.min_val == float("inf") and self.max_val == float("-inf"))


class PerChannelMinMaxObserver(MinMaxObserver):
    """Observe the range of each channel (source: ``torch.ao.quantization.PerChannelMinMaxObserver``)."""

    _allows: ClassVar[Any] = staticmethod(is_per_channel)
    _may_be_dynamic = False

    def __init__(
        self, ch_axis: int = 0, dtype: Any = t.quint8, qscheme: Any = t.per_channel_affine, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(dtype, qscheme, *args, **kwargs)
        self.ch_axis = ch_axis
        self.reset_min_max_vals()

    def _find_range(self, x: Any) -> tuple[Any, Any]:
        rows = x.transpose(0, self.ch_axis).to(self.min_val.dtype).flatten(start_dim=1)
        found: tuple[Any, Any] = t.aminmax(rows, dim=1)
        return found

    def _is_new(self) -> bool:
        return self.min_val.numel() == 0 or self.max_val.numel() == 0

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: Any, missing_keys: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        plural = "s" if version is not None and version < 3 else ""
        for own, name in (self.min_val, f"min_val{plural}"), (self.max_val, f"max_val{plural}"):
            value = state_dict.get(prefix + name)
            if value is not None:
                own.resize_(value.shape)
            elif strict:
                missing_keys.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, missing_keys, *rest)

    def reset_min_max_vals(self) -> None:
        """Forget the ranges."""
        self.min_val, self.max_val = t.tensor([], **self._options), t.tensor([], **self._options)


class MovingAveragePerChannelMinMaxObserver(_MovingAverage, PerChannelMinMaxObserver):
    """Observe moving averages of channels' ranges (source: ``torch.ao.quantization``)."""


class FixedQParamsObserver(ObserverBase):
    """Tell a scale and a zero point that are known (source: ``torch.ao.quantization.FixedQParamsObserver``)."""

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = t.quint8,
        qscheme: Any = t.per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", t.tensor([scale], dtype=t.float32))
        self.register_buffer("zero_point", t.tensor([zero_point], dtype=t.int32))

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # as torch's
        return self.scale, self.zero_point


class _Unscaled(ObserverBase):
    """An observer that looks at nothing, and knows no scale."""

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self) -> NoReturn:  # type: ignore[override]  # as torch's
        raise Exception(f"calculate_qparams should not be called for {type(self).__name__}")  # noqa: TRY002  # torch's class


class PlaceholderObserver(_Unscaled):
    """Stand for a dtype, where nothing is observed (source: ``torch.ao.quantization.PlaceholderObserver``)."""

    def __init__(
        self,
        dtype: Any = t.float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = t.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max = quant_min, quant_max
        self.eps = t.finfo(t.float32).eps if eps is None else eps
        self.custom_op = custom_op_name
        if compute_dtype:
            warnings.warn("Please use `is_dynamic` instead of `compute_dtype`.", stacklevel=2)

    has_qparams = False

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class RecordingObserver(_Unscaled):
    """Keep every tensor (source: ``torch.ao.quantization.RecordingObserver``)."""

    def __init__(self, dtype: Any = t.quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Any] = []

    def forward(self, x: Any) -> Any:
        self.tensor_val.append(x.clone())
        return x

    def get_tensor_value(self) -> list[Any]:
        """Return the tensors."""
        return self.tensor_val


class NoopObserver(_Unscaled):
    """Stand where nothing is observed and nothing is quantized (source: ``torch.ao.quantization.NoopObserver``)."""

    def __init__(self, dtype: Any = t.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name


class ReuseInputObserver(_Unscaled):
    """Stand for the observer of the input (source: ``torch.ao.quantization.ReuseInputObserver``)."""

    def __init__(self) -> None:
        super().__init__(t.quint8, is_dynamic=False)


def _is_activation_post_process(module: Any) -> bool:
    return isinstance(module, Constructible)


def get_observer_state_dict(mod: Any) -> OrderedDict[str, Any]:
    """Return the part of a module's state that belongs to observers."""
    state = mod.state_dict()
    found: Any = OrderedDict((key, value) for key, value in state.items() if "activation_post_process" in key)
    found._metadata = state._metadata
    return found


def load_observer_state_dict(mod: Any, obs_dict: Any) -> None:
    """Load what `get_observer_state_dict` returned; refuse names that are missing or unknown."""
    missing: list[str] = []
    unknown: list[str] = []
    for name, module in mod.named_modules():
        if _is_activation_post_process(module):
            module._load_from_state_dict(obs_dict, f"{name}.", {}, False, missing, unknown, [])
    for keys, what in (missing, "Missing"), (unknown, "Unexpected"):
        for key in keys:
            if "observer" in key or "activation_post_process" in key:
                raise Exception(f"{what} keys for observer {key} in state_dict")  # noqa: TRY002  # torch's class


_SYMMETRIC: Final = {"dtype": t.qint8, "qscheme": t.per_tensor_symmetric}
_BY_CHANNEL: Final = {"dtype": t.qint8, "qscheme": t.per_channel_symmetric}
_WITHOUT_LEAST: Final = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
_BYTES: Final = {"dtype": t.quint8, "quant_min": 0, "quant_max": 255}
_FLOAT_POINTS: Final = {"qscheme": t.per_channel_affine_float_qparams, "ch_axis": 0}

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(**_SYMMETRIC)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(**_SYMMETRIC, **_WITHOUT_LEAST)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(**_BY_CHANNEL)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(**_BY_CHANNEL, **_WITHOUT_LEAST)
default_dynamic_quant_observer = PlaceholderObserver.with_args(**_BYTES, is_dynamic=True)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(dtype=t.quint8, **_FLOAT_POINTS)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(dtype=t.quint4x2, **_FLOAT_POINTS)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(scale=2 / 256, zero_point=128, **_BYTES)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(scale=1 / 256, zero_point=0, **_BYTES)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer = ReuseInputObserver
