"""Ranges of integers, schemes and small questions (source: ``torch.ao.quantization.utils``)."""

from __future__ import annotations

import warnings
from typing import Any, Final

import torchlike as t
from torchlike.nn.utils.parametrize import is_parametrized

__all__ = [
    "activation_dtype",
    "calculate_qmin_qmax",
    "check_min_max_valid",
    "get_combined_dict",
    "get_qparam_dict",
    "getattr_from_fqn",
    "has_no_children_ignoring_parametrizations",
    "is_per_channel",
    "is_per_tensor",
    "to_underlying_dtype",
    "validate_qmin_qmax",
    "weight_dtype",
]

_PER_TENSOR: Final = (t.per_tensor_affine, t.per_tensor_symmetric)
_PER_CHANNEL: Final = (t.per_channel_affine, t.per_channel_affine_float_qparams, t.per_channel_symmetric)
#: A dtype's integers, whole and halved; others have 4 bits.
_RANGES: Final[dict[Any, Any]] = {
    **dict.fromkeys((t.qint8, t.int8), ((-128, 127), (-64, 63))),
    **dict.fromkeys((t.quint8, t.uint8), ((0, 255), (0, 127))),
    **dict.fromkeys((t.qint32, t.int32), ((-(2**31), 2**31 - 1),) * 2),
    t.uint16: ((0, 2**16 - 1),) * 2,
    t.int16: ((-(2**15), 2**15 - 1),) * 2,
}
_UNDERLYING: Final[dict[Any, Any]] = {
    t.quint8: t.uint8,
    t.qint8: t.int8,
    t.qint32: t.int32,
    t.quint4x2: t.uint8,
    t.quint2x4: t.uint8,
    **{each: each for each in (t.uint8, t.int8, t.int16, t.int32, t.float8_e5m2, t.float8_e4m3fn)},
}


def is_per_tensor(qscheme: Any) -> bool:
    """Return whether a scheme has one scale for a tensor."""
    return qscheme in _PER_TENSOR


def is_per_channel(qscheme: Any) -> bool:
    """Return whether a scheme has a scale for each channel."""
    return qscheme in _PER_CHANNEL


def get_combined_dict(default_dict: dict[Any, Any], additional_dict: dict[Any, Any]) -> dict[Any, Any]:
    """Return both tables as one; the second goes before the first."""
    return {**default_dict, **additional_dict}


def getattr_from_fqn(obj: Any, fqn: str) -> Any:
    """Return an attribute by its dotted name."""
    for name in fqn.split("."):
        obj = getattr(obj, name)
    return obj


def to_underlying_dtype(qdtype: Any) -> Any:
    """Return the dtype of the integers of a quantized dtype."""
    found = _UNDERLYING.get(qdtype)
    if found is None:
        raise AssertionError(f"Unsupported dtype: {qdtype}")
    return found


def activation_dtype(qconfig: Any) -> Any:
    """Return the dtype to which a configuration quantizes what flows between modules."""
    return qconfig.activation().dtype


def weight_dtype(qconfig: Any) -> Any:
    """Return the dtype to which a configuration quantizes weights."""
    return qconfig.weight().dtype


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """Return scheme, dtype, scale, zero point and axis by name."""
    observer, qscheme = observer_or_fake_quant, getattr(observer_or_fake_quant, "qscheme", None)
    if not qscheme or not getattr(observer, "has_qparams", True):
        return {"qscheme": None, "dtype": observer.dtype}
    found = {"qscheme": t.per_tensor_affine if is_per_tensor(qscheme) else qscheme, "dtype": observer.dtype}
    if is_per_channel(qscheme):
        found["qscheme"] = t.per_channel_affine if qscheme == t.per_channel_symmetric else qscheme
        found["axis"] = observer.ch_axis
    found["scale"], found["zero_point"] = observer.calculate_qparams()
    return {
        **found,
        **{name: getattr(observer, name) for name in ("quant_min", "quant_max") if hasattr(observer, name)},
    }


def validate_qmin_qmax(quant_min: int, quant_max: int) -> None:
    """Refuse a range of integers that lacks 0, or that has one element."""
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")


def calculate_qmin_qmax(
    quant_min: Any, quant_max: Any, has_customized_qrange: bool, dtype: Any, reduce_range: bool
) -> tuple[int, int]:
    """Return the range of integers, the dtype's or the one given, halved where that is asked for."""
    if not has_customized_qrange:
        whole, halved = _RANGES.get(dtype, ((0, 15),) * 2)
        return halved if reduce_range else whole
    bits = 32 if dtype in (t.qint32, t.int32) else 8
    if dtype in (t.qint8, t.int8, t.qint32, t.int32) and not 0 < quant_max - quant_min + 1 <= 2**bits:
        raise AssertionError(
            f"quantization range should be positive and not exceed the maximum bit range (={2**bits})."
        )
    return (quant_min // 2, quant_max // 2) if reduce_range else (quant_min, quant_max)


def check_min_max_valid(min_val: Any, max_val: Any) -> bool:
    """Return whether a range was observed, with a warning where not; refuse one that is the wrong way round."""
    if (
        min_val.numel() == 0
        or max_val.numel() == 0
        or (min_val.dim() == 0 and min_val == float("inf") and max_val == float("-inf"))
    ):
        warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=2)
        return False
    if (min_val > max_val).any():
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def has_no_children_ignoring_parametrizations(module: Any) -> bool:
    """Return whether a module has no others in it, parametrizations left out."""
    return not module._modules or (is_parametrized(module) and len(module._modules) == 1)
