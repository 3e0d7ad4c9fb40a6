"""How a module is quantized: the constructors of two observers (source: ``torch.ao.quantization.qconfig``)."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any, Final, Self, TypeAlias

import torchlike as t
from torchlike import nn

from . import fake_quantize as fakes
from . import observer as observers
from .constructors import _PartialWrapper

__all__ = [
    "QConfig",
    "QConfigAny",
    "QConfigDynamic",
    "get_default_qat_qconfig",
    "get_default_qconfig",
    "qconfig_equals",
]

_BACKENDS: Final = ["fbgemm", "x86", "qnnpack", "onednn"]
#: Backends that leave a bit of what flows unused, so that sums of two products fit 16 bits.
_HALVING: Final = ("fbgemm", "x86")


class QConfig(namedtuple("QConfig", ["activation", "weight"])):  # noqa: PYI024  # torch's class
    """Two constructors of observers: for what flows, and for weights (source: ``torch.ao.quantization.QConfig``).

    >>> import torchlike
    >>> from torchlike.ao import quantization
    >>> config = QConfig(quantization.MinMaxObserver, quantization.MinMaxObserver.with_args(dtype=torchlike.qint8))
    >>> config.weight().quant_min
    -128
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> Self:
        if isinstance(activation, nn.Module) or isinstance(weight, nn.Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


class QConfigDynamic(QConfig):
    """The former `QConfig` of dynamic quantization (source: ``torch.ao.quantization.QConfigDynamic``)."""

    __slots__ = ()

    def __new__(cls, activation: Any = nn.Identity, weight: Any = nn.Identity) -> Self:
        warnings.warn("`QConfigDynamic` is deprecated, use `QConfig` instead", FutureWarning, stacklevel=2)
        return super().__new__(cls, activation, weight)


QConfigAny: TypeAlias = QConfig | None


def _placeholder(**options: Any) -> Any:
    return observers.PlaceholderObserver.with_args(**options)


_ROUNDED = {"dtype": t.qint8, "reduce_range": False, "eps": 2**-12}
_symmetric = observers.HistogramObserver.with_args(**_ROUNDED)
_symmetric_trained = fakes.FusedMovingAvgObsFakeQuantize.with_args(
    observer=observers.MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, **_ROUNDED
)
_nothing = observers.NoopObserver.with_args(dtype=t.float32)

default_qconfig = QConfig(observers.default_observer, observers.default_weight_observer)
default_debug_qconfig = QConfig(observers.default_debug_observer, observers.default_weight_observer)
default_per_channel_qconfig = QConfig(observers.default_observer, observers.default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(observers.default_dynamic_quant_observer, observers.default_weight_observer)
float16_dynamic_qconfig = QConfig(_placeholder(dtype=t.float16, is_dynamic=True), _placeholder(dtype=t.float16))
float16_static_qconfig = QConfig(_placeholder(dtype=t.float16), _placeholder(dtype=t.float16))
per_channel_dynamic_qconfig = QConfig(
    observers.default_dynamic_quant_observer, observers.default_per_channel_weight_observer
)
float_qparams_weight_only_qconfig = QConfig(
    observers.default_placeholder_observer, observers.default_float_qparams_observer
)
float_qparams_weight_only_qconfig_4bit = QConfig(
    observers.default_placeholder_observer, observers.default_float_qparams_observer_4bit
)
default_qat_qconfig = QConfig(fakes.default_fake_quant, fakes.default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(fakes.default_dynamic_fake_quant, fakes.default_weight_fake_quant)
default_weight_only_qconfig = QConfig(nn.Identity, fakes.default_weight_fake_quant)
default_activation_only_qconfig = QConfig(fakes.default_fake_quant, nn.Identity)
default_qat_qconfig_v2 = QConfig(fakes.default_fused_act_fake_quant, fakes.default_fused_wt_fake_quant)
default_reuse_input_qconfig = QConfig(observers.default_reuse_input_observer, observers.NoopObserver)
default_symmetric_qnnpack_qconfig = QConfig(_symmetric, observers.weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    _symmetric, observers.per_channel_weight_observer_range_neg_127_to_127
)
default_embedding_qat_qconfig = QConfig(_nothing, fakes.default_embedding_fake_quant)
default_embedding_qat_qconfig_4bit = QConfig(_nothing, fakes.default_embedding_fake_quant_4bit)
default_quint8_weight_qconfig = QConfig(observers.HistogramObserver, observers.MinMaxObserver)
default_symmetric_qnnpack_qat_qconfig = QConfig(_symmetric_trained, fakes.fused_wt_fake_quant_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _symmetric_trained, fakes.fused_per_channel_wt_fake_quant_range_neg_127_to_127
)


def _check(backend: str, version: int, versions: tuple[int, ...], name: str) -> None:
    if backend not in _BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {_BACKENDS}")
    if version not in versions:
        raise AssertionError(f"Version number: {version} in {name} is not supported. It must be one of {versions}")


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """Return the configuration of networks that are quantized after training, for one of torch's libraries."""
    _check(backend, version, (0,), "get_default_qconfig")
    weight = "default_weight_observer" if backend == "qnnpack" else "default_per_channel_weight_observer"
    activation = observers.HistogramObserver.with_args(reduce_range=backend in _HALVING)
    return QConfig(activation, getattr(observers, weight))


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """Return the configuration of networks that are trained with simulated quantization."""
    _check(backend, version, (0, 1), "get_default_qat_qconfig")
    kind = fakes.FusedMovingAvgObsFakeQuantize if version else fakes.FakeQuantize
    weight = {
        (True, 0): fakes.default_weight_fake_quant,
        (True, 1): fakes.default_fused_wt_fake_quant,
        (False, 0): fakes.default_per_channel_weight_fake_quant,
        (False, 1): fakes.default_fused_per_channel_wt_fake_quant,
    }[backend == "qnnpack", version]
    halved = {} if backend == "onednn" else {"reduce_range": backend in _HALVING}
    activation = kind.with_args(observer=observers.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **halved)
    return QConfig(activation, weight)


def _assert_valid_qconfig(qconfig: Any, mod: Any) -> None:
    """Refuse weights of transposed convolutions by channel."""
    transposed = nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d
    if qconfig is None or not isinstance(mod, transposed) or qconfig.weight is None:
        return
    if isinstance(qconfig.weight(), observers.PerChannelMinMaxObserver):
        raise AssertionError("Per channel weight observer is not supported yet for ConvTranspose{n}d.")


def _add_module_to_qconfig_obs_ctr(qconfig: Any, module: Any) -> Any:
    """Return a configuration whose observers lie on the device of a module."""
    if module is None or qconfig is None or qconfig._fields != ("activation", "weight"):
        return qconfig

    def find_device() -> Any:
        devices = {each.device for each in (*module.parameters(), *module.buffers())}
        return {"device": next(iter(devices))} if devices else None

    def place(constructor: Any) -> Any:
        try:
            constructor.with_args(factory_kwargs=None)()
        except (AttributeError, TypeError):
            return constructor
        return constructor.with_callable_args(factory_kwargs=find_device)

    return QConfig(place(qconfig.activation), place(qconfig.weight))


def _are_equal(one: Any, other: Any) -> bool:
    if not (isinstance(one, _PartialWrapper) and isinstance(other, _PartialWrapper)):
        return bool(one == other)
    ours, theirs = dict(one.p.keywords), dict(other.p.keywords)
    if "observer" in ours and "observer" in theirs and not _are_equal(ours.pop("observer"), theirs.pop("observer")):
        return False
    return bool(one.p.func == other.p.func and one.p.args == other.p.args and ours == theirs)


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Return whether two configurations make equal observers."""
    if q1 is None or q2 is None:
        return q1 is q2
    return _are_equal(q1.activation, q2.activation) and _are_equal(q1.weight, q2.weight)


def _activation_is_memoryless(qconfig: Any) -> bool:
    """Return whether each call's range takes the place of the one before."""
    made = qconfig.activation()
    made = getattr(made, "activation_post_process", made) if isinstance(made, fakes.FakeQuantizeBase) else made
    return bool(getattr(made, "averaging_constant", None) == 1)
