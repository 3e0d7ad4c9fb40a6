"""A linear layer and cross entropy in one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dispatch_aten.dtypes import ScalarType, bfloat16, float16, float32, float64

from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike, DTypeLike
from .. import functional as F  # noqa: N812  # torch's own abbreviation
from .linear import Linear
from .loss import _WeightedLoss


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """How torch may cut the computation into chunks; it is checked, and has no effect here.

    Raises ``ValueError`` for values that torch refuses.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in {"auto", "accurate", "balanced", "compact"}:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = str(self.chunking_method).partition(":")
            factor = factor if colon else "1"
            if name != "aspect_ratio" or not factor.isdigit() or int(factor) < 1:
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if not any(self.acc_dtype is each for each in (None, float16, bfloat16, float32, float64)):
            raise ValueError(
                "acc_dtype must be one of {None, torchlike.float16, torchlike.bfloat16, torchlike.float32, "
                f"torchlike.float64}}, got {_name(self.acc_dtype)}. Pass acc_dtype=None to let the op pick automatically."
            )


def _name(value: Any) -> str:
    """Return a dtype's name; of anything else, whose text may be endless, that of its class."""
    return str(value) if isinstance(value, ScalarType) else type(value).__name__


class LinearCrossEntropyLoss(_WeightedLoss):
    """The cross entropy of a linear layer's scores (source: ``torch.nn.LinearCrossEntropyLoss``)."""

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None:
            check_tensor(weight, "LinearCrossEntropyLoss", "weight")
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features, self.options = num_classes, out_features, options
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        count = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, count, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias: Tensor | None = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
