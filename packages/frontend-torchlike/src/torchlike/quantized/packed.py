"""Packed parameters: quantized weights as the operators multiply with them (source: torch's classes of the same names)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_core import frontends

from ..tensors.tensor import Tensor
from .products import find_block, find_units
from .tensor import Quantized, is_quantized, record_of, wrap_quantized


class PackedParams:
    """A weight, and perhaps a bias; a copy or a pickle has the tensors that were packed."""

    __module__ = "torchlike.quantized"
    _wanted = (ScalarType.QInt8,)

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        if not is_quantized(weight) or weight.dtype not in self._wanted:
            raise (RuntimeError if is_quantized(weight) else NotImplementedError)(
                f"{type(self).__name__}: expected a weight of dtype {' or '.join(map(repr, self._wanted))}, but got"
                f" {weight.dtype!r}\nHint: quantize_per_tensor() makes one"
            )
        record = record_of(weight.clone())
        scale = record.scale.float().double() if isinstance(record.scale, Tensor) else float(np.float32(record.scale))
        if self._wanted == (ScalarType.QUInt8,):
            scale = record.scale
        self._weight = wrap_quantized(record.integers, scale, record.zero_point, record.dtype, record.axis)
        self._bias = None if bias is None else bias.detach().to(ScalarType.Float)
        self._floats = self._arrange(record.integers.to(ScalarType.Float))
        self._zero_points = self._find_zero_points()
        self._units: Any = None
        self._blocks: tuple[tuple[int, ScalarType], int] | None = None

    def unpack(self) -> tuple[Tensor, Tensor | None]:
        """Return the weight and the bias."""
        return self._weight, self._bias

    def weight(self) -> Tensor:
        """Return the weight."""
        return self._weight

    def bias(self) -> Tensor | None:
        """Return the bias."""
        return self._bias

    def set_bias(self, bias: Tensor | None) -> None:
        """Replace the bias."""
        self._bias = bias

    @property
    def record(self) -> Quantized:
        """The record of the weight."""
        return record_of(self._weight)

    @staticmethod
    def _arrange(floats: Tensor) -> Tensor:
        return floats

    def factors(self) -> tuple[Tensor, Any]:
        """Return the integers as float32, as they are multiplied with, and the zero points, None where all are zero."""
        return self._floats, self._zero_points

    def block(self, zero_point: int, dtype: ScalarType) -> int:
        """Return what `find_block` does, kept for the next call with that zero point and dtype."""
        if self._blocks is None or self._blocks[0] != (zero_point, dtype):
            self._blocks = (zero_point, dtype), find_block(self._floats, zero_point, dtype)
        return self._blocks[1]

    def _find_zero_points(self) -> Any:
        found = self.record.zero_point
        return (
            None
            if (isinstance(found, Tensor) and not found.any()) or (not isinstance(found, Tensor) and not found)
            else found
        )

    def units(self, input_scale: float, output_scale: float, shape: list[int]) -> tuple[Tensor | None, Tensor, Tensor]:
        """Return what `find_units` does, kept for the next call of the same scales."""
        known = self._units
        if known is not None and known[:2] == (input_scale, output_scale) and known[2] is self._bias:
            found: tuple[Tensor | None, Tensor, Tensor] = known[3]
            return found
        made = find_units(input_scale, self.record.scale, output_scale, self._bias, shape)
        if frontends.recording() is None:  # a recording's own tensors are of one call
            self._units = input_scale, output_scale, self._bias, made
        return made

    def __reduce__(self) -> Any:
        return type(self), self.unpack()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({tuple(self._weight.shape)}, {self.record.scheme!r})"


def _check_bias(weight: Tensor, bias: Tensor | None, outputs: int) -> None:
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise RuntimeError(
            f"bias should have {outputs} elements, as the weight of size {list(weight.shape)} has outputs, but got size"
            f" {list(bias.shape)}"
        )


class LinearPackedParamsBase(PackedParams):
    """The weight of a linear layer, of ``(outputs, inputs)``."""

    __module__ = "torchlike.quantized"

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        if weight.dim() != 2:
            raise RuntimeError(f"the weight of a linear layer should have 2 dimensions, but got {weight.dim()}")
        _check_bias(weight, bias, weight.shape[0])
        super().__init__(weight, bias)

    @staticmethod
    def _arrange(floats: Tensor) -> Tensor:
        return floats.t().contiguous()


class ConvPackedParamsBase(PackedParams):
    """The weight of a convolution, and how it is applied; of one dimension as of two."""

    __module__ = "torchlike.quantized"

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        sizes: tuple[list[int], list[int], list[int], list[int]],
        groups: int,
        transpose: bool,
    ) -> None:
        _check_bias(weight, bias, weight.shape[1] * groups if transpose else weight.shape[0])
        super().__init__(weight, bias)
        #: Steps, padding, padding of the output, steps within the window.
        self._sizes = sizes
        self._groups, self._transpose = groups, transpose

    @staticmethod
    def _arrange(floats: Tensor) -> Tensor:
        return floats.contiguous()  # convolutions in the order of channels are quicker, with the copies of 8 bits

    def stride(self) -> list[int]:
        """Return the steps of the window."""
        return self._sizes[0]

    def padding(self) -> list[int]:
        """Return the padding."""
        return self._sizes[1]

    def output_padding(self) -> list[int]:
        """Return the padding of a transposed convolution's output."""
        return self._sizes[2]

    def dilation(self) -> list[int]:
        """Return the steps within the window."""
        return self._sizes[3]

    def groups(self) -> int:
        """Return the number of groups of channels."""
        return self._groups

    def transpose(self) -> bool:
        """Return whether the convolution is transposed."""
        return self._transpose

    def __reduce__(self) -> Any:
        return type(self), (*self.unpack(), self._sizes, self._groups, self._transpose)


class Conv2dPackedParamsBase(ConvPackedParamsBase):
    """The weight of a convolution over one or two dimensions."""

    __module__ = "torchlike.quantized"


class Conv3dPackedParamsBase(ConvPackedParamsBase):
    """The weight of a convolution over three dimensions."""

    __module__ = "torchlike.quantized"


class EmbeddingPackedParamsBase(PackedParams):
    """The rows of an embedding, each with parameters of its own."""

    __module__ = "torchlike.quantized"
    _wanted = (ScalarType.QUInt8,)

    def rows(self, indices: Tensor) -> Tensor:
        """Return rows in float32."""
        record = self.record
        if record.axis != 0:
            raise RuntimeError("expected a weight that is quantized per channel, of axis 0")
        chosen = record.integers.index_select(0, indices.reshape(-1)).to(ScalarType.Float)
        scales, offsets = record.scale.float(), -record.zero_point.float() * record.scale.float()
        at = indices.reshape(-1)
        return chosen * scales.index_select(0, at).unsqueeze(1) + offsets.index_select(0, at).unsqueeze(1)
