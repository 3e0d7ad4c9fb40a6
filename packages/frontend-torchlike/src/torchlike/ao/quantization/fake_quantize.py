"""Simulated quantization as modules (source: ``torch.ao.quantization.fake_quantize``)."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Final

import torchlike as t
from torchlike import nn

from .constructors import Constructible
from .observer import (
    FixedQParamsObserver,
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)
from .utils import is_per_channel, is_per_tensor

__all__ = [
    "FakeQuantize",
    "FakeQuantizeBase",
    "FixedQParamsFakeQuantize",
    "FusedMovingAvgObsFakeQuantize",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
]


class FakeQuantizeBase(Constructible, nn.Module, abc.ABC):
    """The base of simulated quantization, which has two switches (source: ``torch.ao.quantization.FakeQuantizeBase``)."""

    fake_quant_enabled: t.Tensor
    observer_enabled: t.Tensor

    def __init__(self) -> None:
        super().__init__()
        self._make_switches(t.uint8)

    def _make_switches(self, dtype: Any) -> None:
        # Tensors, so that they can be changed where copies of the module run on other devices.
        for name in "fake_quant_enabled", "observer_enabled":
            self.register_buffer(name, t.tensor([1], dtype=dtype))

    @abc.abstractmethod
    def forward(self, x: Any) -> Any:
        """Return a tensor rounded to numbers that integers represent."""

    @abc.abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the scale and the zero point."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round what flows, or leave it as it is."""
        self.fake_quant_enabled[0] = int(enabled)

    def disable_fake_quant(self) -> None:
        """Leave what flows as it is."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Observe what flows, or leave the scale as it is."""
        self.observer_enabled[0] = int(enabled)

    def disable_observer(self) -> None:
        """Leave the scale as it is."""
        self.enable_observer(False)


class FakeQuantize(FakeQuantizeBase):
    """Observe a range, and round to the numbers that integers represent (source: ``torch.ao.quantization.FakeQuantize``).

    ``observer`` is a class of observers, or a constructor of one; further arguments are its own.

    >>> import torchlike
    >>> FakeQuantize(quant_min=0, quant_max=3)(torchlike.tensor([0.0, 0.4, 1.3, 3.0]))
    tensor([0., 0., 1., 3.])
    """

    #: The attributes in the module's text.
    _shown: ClassVar = (
        "fake_quant_enabled observer_enabled quant_min quant_max dtype qscheme ch_axis scale zero_point".split()
    )
    scale: t.Tensor
    zero_point: t.Tensor

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            dtype = observer_kwargs.get("dtype", t.quint8)
            given = getattr(getattr(observer, "p", None), "keywords", {})
            limits = t.iinfo(given.get("dtype", dtype))
            if limits.min > quant_min:
                raise AssertionError("quant_min out of bound")
            if quant_max > limits.max:
                raise AssertionError("quant_max out of bound")
            observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        made = observer(**observer_kwargs, is_dynamic=is_dynamic)
        self.activation_post_process = made
        self.quant_min, self.quant_max, self.is_dynamic = made.quant_min, made.quant_max, made.is_dynamic
        self.dtype, self.qscheme, self.ch_axis = made.dtype, made.qscheme, getattr(made, "ch_axis", -1)
        if not (is_per_channel(self.qscheme) or is_per_tensor(self.qscheme)):
            raise AssertionError(
                "Only per channel and per tensor quantization are supported in fake quantize"
                f" got qscheme: {self.qscheme}"
            )
        self.is_per_channel = is_per_channel(self.qscheme)
        has_floats = self.qscheme == t.per_channel_affine_float_qparams
        self.register_buffer("scale", t.tensor([1.0], dtype=t.float32))
        self.register_buffer("zero_point", t.tensor([0], dtype=t.float32 if has_floats else t.int32))

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # as torch's
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Any) -> Any:  # torch's name
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            for own, new in zip((self.scale, self.zero_point), self.calculate_qparams(), strict=True):
                own.resize_(new.shape)
                own.copy_(new)
        if self.fake_quant_enabled[0] != 1:
            return X
        limits = self.activation_post_process.quant_min, self.activation_post_process.quant_max
        if self.is_per_channel:
            return t.fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis, *limits)
        return t.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, *limits)

    def extra_repr(self) -> str:
        owners = (self, self.activation_post_process)
        values = ((name, next(getattr(each, name) for each in owners if hasattr(each, name))) for name in self._shown)
        return ", ".join(f"{name}={value}" for name, value in values)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"], destination[prefix + "zero_point"] = self.scale, self.zero_point

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any, *rest: Any
    ) -> None:
        for own, name in (self.scale, "scale"), (self.zero_point, "zero_point"):
            if prefix + name in state_dict:
                own.resize_(state_dict[prefix + name].shape)
            elif strict:
                missing_keys.append(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *rest)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Round by a scale and a zero point that are known (source: ``torch.ao.quantization.FixedQParamsFakeQuantize``)."""

    _shown: ClassVar = "fake_quant_enabled observer_enabled scale zero_point dtype quant_min quant_max qscheme".split()

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(f"{type(self).__name__}'s observer must be a FixedQParamsObserver")
        self._observer_ctr = observer
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point
        if not is_per_tensor(self.qscheme):
            raise AssertionError(f"{type(self).__name__} supports schemes per tensor, not {self.qscheme}")

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # as torch's
        return self.scale, self.zero_point


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Do both by one operator (source: ``torch.ao.quantization.FusedMovingAvgObsFakeQuantize``)."""

    _shown: ClassVar = [*FixedQParamsFakeQuantize._shown, "reduce_range"]

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        kinds = MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver
        if not isinstance(self.activation_post_process, kinds):
            raise AssertionError("Fused observer+fake_quant module only works with MovingAverageMinMaxObserver")
        self._make_switches(t.int64)
        self.is_symmetric_quant = self.qscheme in (t.per_channel_symmetric, t.per_tensor_symmetric)

    def forward(self, X: Any) -> Any:  # torch's name
        observer: Any = self.activation_post_process
        return t.fused_moving_avg_obs_fake_quant(
            X,
            self.observer_enabled,
            self.fake_quant_enabled,
            observer.min_val,
            observer.max_val,
            self.scale,
            self.zero_point,
            observer.averaging_constant,
            observer.quant_min,
            observer.quant_max,
            self.ch_axis,
            self.is_per_channel,
            self.is_symmetric_quant,
        )


def disable_fake_quant(mod: Any) -> None:
    """Turn the rounding of a module off, for ``Module.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_fake_quant()


def enable_fake_quant(mod: Any) -> None:
    """Turn the rounding of a module on, for ``Module.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_fake_quant()


def disable_observer(mod: Any) -> None:
    """Turn the observer of a module off, for ``Module.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.disable_observer()


def enable_observer(mod: Any) -> None:
    """Turn the observer of a module on, for ``Module.apply``."""
    if isinstance(mod, FakeQuantizeBase):
        mod.enable_observer()


_BYTES: Final = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255, "dtype": t.quint8}
_SIGNED: Final = {"quant_min": -128, "quant_max": 127, "dtype": t.qint8}
_WEIGHT: Final = {"observer": MovingAverageMinMaxObserver, "qscheme": t.per_tensor_symmetric}
_CHANNELS: Final = {"observer": MovingAveragePerChannelMinMaxObserver, "qscheme": t.per_channel_symmetric}
_WITHOUT_LEAST: Final = {"quant_min": -127, "quant_max": 127, "dtype": t.qint8, "eps": 2**-12}
_ROWS: Final = {
    "observer": MovingAveragePerChannelMinMaxObserver,
    "qscheme": t.per_channel_affine_float_qparams,
    "ch_axis": 0,
    "averaging_constant": 1,
}
_whole = {"qscheme": t.per_tensor_affine, "reduce_range": True}

default_fake_quant = FakeQuantize.with_args(**_BYTES, **_whole)
default_weight_fake_quant = FakeQuantize.with_args(**_WEIGHT, **_SIGNED, reduce_range=False)
default_dynamic_fake_quant = FakeQuantize.with_args(**_BYTES, is_dynamic=True, averaging_constant=1)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_per_channel_weight_fake_quant = FakeQuantize.with_args(**_CHANNELS, **_SIGNED, reduce_range=False, ch_axis=0)
default_embedding_fake_quant = FakeQuantize.with_args(**_ROWS, dtype=t.quint8, quant_min=0, quant_max=255)
default_embedding_fake_quant_4bit = FakeQuantize.with_args(**_ROWS, dtype=t.quint4x2)
default_histogram_fake_quant = FakeQuantize.with_args(**{**_BYTES, "observer": HistogramObserver}, **_whole)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_BYTES)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_WEIGHT, **_SIGNED)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_CHANNELS, **_SIGNED)
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(**_WEIGHT, **_WITHOUT_LEAST)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    **_CHANNELS, **_WITHOUT_LEAST
)
