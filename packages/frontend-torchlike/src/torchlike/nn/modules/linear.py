"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

from ...creation import FACTORIES
from ...tensors import Tensor
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .. import init
from ..parameter import Parameter
from .module import Module


class Linear(Module):
    """``y = x W^T + b`` (source: ``torch.nn.Linear``), filled as torch fills it.

    Shapes: ``(*, in_features)`` to ``(*, out_features)``.

    >>> Linear(2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(FACTORIES["empty"](out_features, in_features, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(FACTORIES["empty"](out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill weight and bias evenly within ``1 / sqrt(in_features)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Identity(Module):
    """Return the input; arguments of the constructor are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input
