"""Activations."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_core.caches import LazyTable

from ...functions.operator_functions import FUNCTIONAL, FUNCTIONS
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor

#: The names here that are operators' own functions; each is made when it is first asked for.
_SAME: Final = {
    **dict.fromkeys("celu_ elu_ gelu hardshrink hardtanh_ leaky_relu_ prelu relu_ rrelu_".split(), ""),
    **dict.fromkeys("selu_ softplus softshrink threshold_".split(), ""),
    "logsigmoid": "log_sigmoid",
}


def __getattr__(name: str) -> Any:
    if name not in _SAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = _OPERATORS[_SAME[name] or name]
    found.__qualname__ = name  # where pickle looks for it
    return found


def _find(name: str) -> Callable[..., Tensor]:
    found: Callable[..., Tensor] = (FUNCTIONS if name in FUNCTIONS else FUNCTIONAL)[name]
    return found


_OPERATORS: Final[LazyTable[Callable[..., Tensor]]] = LazyTable(_find, lambda: [*FUNCTIONS, *FUNCTIONAL])


def sigmoid(input: Tensor) -> Tensor:
    """Return ``1 / (1 + exp(-input))``, by the tensor's method, as torch."""
    method = getattr(input, "sigmoid", None)
    return FUNCTIONS["sigmoid"](input) if method is None else method()  # which says what it takes


def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent, by the tensor's method, as torch."""
    method = getattr(input, "tanh", None)
    return FUNCTIONS["tanh"](input) if method is None else method()


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``max(input, 0)``, element by element."""
    return FUNCTIONS["relu_" if inplace else "relu"](input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is above ``threshold``, ``value`` elsewhere."""
    return _OPERATORS["threshold_" if inplace else "threshold"](input, threshold, value)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``input`` between the bounds.

    Raises ``ValueError`` where ``min_val`` is greater than ``max_val``.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _OPERATORS["hardtanh_" if inplace else "hardtanh"](input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``min(max(input, 0), 6)``."""
    return _OPERATORS["relu6_" if inplace else "relu6"](input)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the scaled ``elu`` that keeps mean 0 and variance 1 (Klambauer et al., 2017)."""
    return _OPERATORS["selu_" if inplace else "selu"](input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * sigmoid(input)``."""
    return _OPERATORS["silu_" if inplace else "silu"](input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * tanh(softplus(input))``."""
    return _OPERATORS["mish_" if inplace else "mish"](input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``input * relu6(input + 3) / 6``."""
    return _OPERATORS["hardswish_" if inplace else "hardswish"](input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``relu6(input + 3) / 6``."""
    return _OPERATORS["hardsigmoid_" if inplace else "hardsigmoid"](input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    return _OPERATORS["celu_" if inplace else "celu"](input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, ``negative_slope * input`` elsewhere."""
    return _OPERATORS["leaky_relu_" if inplace else "leaky_relu"](input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``input`` where it is positive, ``alpha * (exp(input) - 1)`` elsewhere."""
    return _OPERATORS["elu_" if inplace else "elu"](input, alpha)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Return ``leaky_relu`` with slopes drawn from ``lower`` to ``upper`` while training, with their mean otherwise."""
    return _OPERATORS["rrelu_" if inplace else "rrelu"](input, lower, upper, training)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Return the first half along ``dim`` times the sigmoid of the second."""
    check_tensor(input, "glu")
    if not input.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return FUNCTIONAL["glu"](input, dim)


def tanhshrink(input: Tensor) -> Tensor:
    """Return ``input - tanh(input)``."""
    check_tensor(input, "tanhshrink")
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """Return ``input / (1 + abs(input))``."""
    check_tensor(input, "softsign")
    return input / (input.abs() + 1)


def _choose_dim(name: str, input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
        stacklevel=3,
    )
    return 0 if len(dc.shape(input)) in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: ScalarType | None = None) -> Tensor:
    """Return exponentials that add up to one along ``dim``."""
    return FUNCTIONS["softmax"](input, _choose_dim("softmax", input, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: ScalarType | None = None) -> Tensor:
    """Return ``softmax`` of the negated input."""
    return FUNCTIONS["softmax"](-input, _choose_dim("softmin", input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: ScalarType | None = None) -> Tensor:
    """Return the logarithm of ``softmax``, computed without overflow."""
    return FUNCTIONS["log_softmax"](input, _choose_dim("log_softmax", input, dim), dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw from the Gumbel-softmax distribution (Jang et al., 2017), as one-hot vectors with its gradient if ``hard``."""
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    check_tensor(logits, "gumbel_softmax", "logits")
    empty_like, zeros_like = FUNCTIONS["empty_like"], FUNCTIONS["zeros_like"]
    noise: Any = -empty_like(logits, memory_format=0).exponential_().log()
    soft: Tensor = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return zeros_like(logits, memory_format=0).scatter_(dim, index, 1.0) - soft.detach() + soft
