"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

from ...creation.factories import FACTORIES
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike, DTypeLike
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .. import init
from ..parameter import Parameter
from ..uninitialized import UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module


class Linear(Module):
    """``y = x W^T + b`` (source: ``torch.nn.Linear``), filled as torch fills it.

    Shapes: ``(*, in_features)`` to ``(*, out_features)``.

    >>> Linear(2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """

    bias: Parameter | Any  # None without one; programs know which

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
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


class Bilinear(Module):
    """``y = x1^T A x2 + b`` (source: ``torch.nn.Bilinear``)."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        options = {"device": device, "dtype": dtype}
        self.weight = Parameter(FACTORIES["empty"](out_features, in1_features, in2_features, **options))
        self.register_parameter("bias", Parameter(FACTORIES["empty"](out_features, **options)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill weight and bias evenly within ``1 / sqrt(in1_features)``."""
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A ``Linear`` that learns ``in_features`` from the first input."""

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: DeviceLike = None, dtype: DTypeLike = None
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Fill the parameters once they have a shape."""
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Materialize the parameters for the features of ``input``."""
        check_tensor(input, type(self).__name__)
        if not self.has_uninitialized_params():
            if not self.in_features:
                self.in_features = input.shape[-1]
            return
        self.in_features = input.shape[-1]
        weight: Any = self.weight
        weight.materialize((self.out_features, self.in_features))
        bias: Any = self.bias
        if bias is not None:
            bias.materialize((self.out_features,))
        self.reset_parameters()
