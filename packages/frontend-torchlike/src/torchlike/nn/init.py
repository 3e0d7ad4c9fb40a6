"""Ways to fill a parameter before training (source: ``torch.nn.init``)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, ParamSpec

from ..creation.factories import FACTORIES
from ..functions.operator_functions import FUNCTIONS, METHODS, NAMESPACES
from ..history.grad_mode import no_grad
from ..names.docstrings import complete_all
from ..overriding.wrapping import make_overridable
from ..tensors.arguments import check_tensor
from ..tensors.tensor import Tensor

__all__ = [
    "Literal",
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_GAINS = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3}
_GAINS |= {f"conv_transpose{rank}d": 1.0 for rank in (1, 2, 3)}
_GAINS |= {"relu": math.sqrt(2.0), "selu": 3.0 / 4}


_P = ParamSpec("_P")


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


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return the numbers of inputs and outputs that one element of a weight connects."""
    check_tensor(tensor, "init", "tensor")
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _overridable(function: Callable[_P, Tensor]) -> Callable[_P, Tensor]:
    """Return the function with a look for overrides before it."""
    return make_overridable(function, "nn.init", function.__name__)


def _find_plain(function: Any) -> Callable[..., Tensor]:
    """Return the function without that look."""
    plain: Callable[..., Tensor] = function.__wrapped__
    return plain


@_overridable
@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers drawn evenly from ``a`` to ``b``."""
    return METHODS["uniform_"](tensor, a, b, generator=generator)


@_overridable
@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normally distributed numbers."""
    return METHODS["normal_"](tensor, mean, std, generator=generator)


@_overridable
@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number."""
    return METHODS["fill_"](tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill the tensor with ones in place, and return it."""
    return _no_grad_fill_(tensor, 1.0)


@no_grad()
def _no_grad_zero_(tensor: Tensor) -> Tensor:  # torch keeps the name to itself, and programs import it all the same
    return METHODS["zero_"](tensor)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill the tensor with zeros in place, and return it."""
    return _no_grad_zero_(tensor)


def _normal_share(x: float) -> float:
    """Return the share of the normal distribution below ``x``."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


@no_grad()
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill with normally distributed numbers from ``a`` to ``b``: others are drawn again."""
    check_tensor(tensor, "trunc_normal_", "tensor")
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
            stacklevel=3,
        )
    if _normal_share((b - mean) / std) - _normal_share((a - mean) / std) > 0.3:
        found = _draw_inside(tensor, mean, std, a, b, generator)
    else:
        found = _reject_uniform(tensor, mean, std, a, b, generator)
    return METHODS["copy_"](tensor, found)


def _draw_inside(tensor: Any, mean: float, std: float, low: float, high: float, generator: Any) -> Any:
    """Draw normally distributed numbers, until all lie within the bounds as the tensor's dtype has them."""
    bounds = [tensor.new_tensor(bound, device="cpu").item() for bound in (low, high)]
    found = tensor.normal_(mean, std, generator=generator)
    while (wrong := (found < bounds[0]) | (found > bounds[1])).any():
        again = FUNCTIONS["empty_like"](found).normal_(mean, std, generator=generator)
        found = FUNCTIONS["where"](wrong, again, found)
    return found


def _reject_uniform(tensor: Any, mean: float, std: float, low: float, high: float, generator: Any) -> Any:
    """Draw evenly within the bounds, and keep a number by its density: quicker far from the mean."""
    peak = -0.5 * ((max(low, min(mean, high)) - mean) / std) ** 2
    chances = FUNCTIONS["empty_like"](tensor)

    def is_rejected(numbers: Any) -> Any:
        densities = numbers.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return chances.uniform_(generator=generator).log_().gt(densities)

    found = tensor.uniform_(low, high, generator=generator)
    pending = is_rejected(found)
    while pending.any():
        again = FUNCTIONS["empty_like"](tensor).uniform_(low, high, generator=generator)
        found = FUNCTIONS["where"](pending, again, found)
        pending = FUNCTIONS["where"](pending, is_rejected(again), pending)
    return found


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity."""
    check_tensor(tensor, "eye_", "tensor")
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    METHODS["zero_"](tensor)
    METHODS["diagonal"](tensor).fill_(1)
    return tensor


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it passes as many channels on as it can, in each of ``groups``."""
    check_tensor(tensor, "dirac_", "tensor")
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    shape = tensor.shape
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    METHODS["zero_"](tensor)
    each = shape[0] // groups
    centre = tuple(size // 2 for size in shape[2:])
    for channel in range(min(each, shape[1])):
        for group in range(groups):
            tensor[(group * each + channel, channel, *centre)] = 1
    return tensor


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with an orthogonal matrix, all but the first dimension counting as one (Saxe et al., 2013)."""
    check_tensor(tensor, "orthogonal_", "tensor")
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    drawn: Any = METHODS["new_empty"](tensor, (rows, columns)).normal_(0, 1, generator=generator)
    q, r = NAMESPACES["linalg"]["qr"](drawn.t() if rows < columns else drawn)
    # The signs of the diagonal make the distribution even.
    q = q * r.diagonal().sign()
    METHODS["copy_"](tensor, (q.t() if rows < columns else q).reshape(tensor.shape))
    return METHODS["mul_"](tensor, gain)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normally distributed numbers, and a share ``sparsity`` of each column with zeros."""
    check_tensor(tensor, "sparse_", "tensor")
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    count = math.ceil(sparsity * rows)
    METHODS["normal_"](tensor, 0, std, generator=generator)
    for column in range(columns):
        # torch does not draw these from ``generator`` either.
        tensor[FACTORIES["randperm"](rows)[:count], column] = 0
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill evenly so that variance is kept forward and backward (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * _to_float(gain, "gain") * math.sqrt(2.0 / max(fan_in + fan_out, 1))
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill normally so that variance is kept forward and backward (Glorot and Bengio, 2010)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return _no_grad_normal_(tensor, 0.0, _to_float(gain, "gain") * math.sqrt(2.0 / max(fan_in + fan_out, 1)), generator)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """Return the number that the mode ``"fan_in"`` or ``"fan_out"`` names; raises ``ValueError`` for others."""
    if not isinstance(mode, str):
        raise TypeError(f"mode must be str, not {type(mode).__name__}")
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def _compute_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(max(_calculate_correct_fan(tensor, mode), 1))


def _is_empty(tensor: Tensor) -> bool:
    """Return whether a tensor has no elements, and warn if so."""
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


@_overridable
def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill evenly so that variance is kept through rectifiers (He et al., 2015)."""
    check_tensor(tensor, "kaiming_uniform_", "tensor")
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _compute_std(tensor, a, mode, nonlinearity)
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill normally so that variance is kept through rectifiers (He et al., 2015)."""
    check_tensor(tensor, "kaiming_normal_", "tensor")
    if _is_empty(tensor):
        return tensor
    return _no_grad_normal_(tensor, 0.0, _compute_std(tensor, a, mode, nonlinearity), generator)


def _deprecate(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new = function.__name__
    old = new.removesuffix("_")

    @wraps(function)
    def warn_and_call(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    warn_and_call.__name__ = warn_and_call.__qualname__ = old
    return warn_and_call


uniform, normal, constant = _deprecate(uniform_), _deprecate(normal_), _deprecate(constant_)
eye, dirac, orthogonal, sparse = _deprecate(eye_), _deprecate(dirac_), _deprecate(orthogonal_), _deprecate(sparse_)
xavier_uniform, xavier_normal = _deprecate(xavier_uniform_), _deprecate(xavier_normal_)
kaiming_uniform, kaiming_normal = _deprecate(kaiming_uniform_), _deprecate(kaiming_normal_)

#: Names that torch keeps to itself, and that programs import all the same.
_no_grad_fill_, _no_grad_normal_, _no_grad_uniform_ = map(_find_plain, (constant_, normal_, uniform_))
_no_grad_trunc_normal_ = trunc_normal_


complete_all(globals(), __all__, "nn.init")
