"""Ways to fill a parameter before training (source: ``torch.nn.init``)."""

from __future__ import annotations

import math
from typing import Any

from ..arguments import check_tensor
from ..functions import METHODS
from ..history.grad_mode import no_grad
from ..tensors import Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_GAINS = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3}
_GAINS |= {"relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor that keeps the variance through a nonlinearity.

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else _to_float(param, "param")
        return math.sqrt(2.0 / (1 + slope * slope))
    if not isinstance(nonlinearity, str):
        raise TypeError(f"nonlinearity must be str, not {type(nonlinearity).__name__}")
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _to_float(value: Any, name: str) -> float:
    """Return a number as a float; raises ``TypeError`` for anything else, and for numbers beyond a float's range."""
    try:
        return float(value)
    except Exception as error:  # noqa: BLE001  # the conversion is the caller's, and may raise anything
        raise TypeError(f"{name} must be float, not {type(value).__name__}: {error}") from None


def _count_fans(tensor: Tensor) -> tuple[int, int]:
    """Return the numbers of inputs and outputs that one element of a weight connects."""
    check_tensor(tensor, "init", "tensor")
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers drawn evenly from ``a`` to ``b``."""
    return METHODS["uniform_"](tensor, a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normally distributed numbers."""
    return METHODS["normal_"](tensor, mean, std, generator=generator)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number."""
    return METHODS["fill_"](tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill evenly so that variance is kept forward and backward (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _count_fans(tensor)
    bound = math.sqrt(3.0) * _to_float(gain, "gain") * math.sqrt(2.0 / max(fan_in + fan_out, 1))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill normally so that variance is kept forward and backward (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _count_fans(tensor)
    return normal_(tensor, 0.0, _to_float(gain, "gain") * math.sqrt(2.0 / max(fan_in + fan_out, 1)), generator)


def _compute_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if not isinstance(mode, str):
        raise TypeError(f"mode must be str, not {type(mode).__name__}")
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return calculate_gain(nonlinearity, a) / math.sqrt(max(_count_fans(tensor)[mode == "fan_out"], 1))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill evenly so that variance is kept through rectifiers (He et al., 2015)."""
    bound = math.sqrt(3.0) * _compute_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill normally so that variance is kept through rectifiers (He et al., 2015)."""
    return normal_(tensor, 0.0, _compute_std(tensor, a, mode, nonlinearity), generator)
