"""Packed parameters: quantized weights as the operators multiply with them (source: torch's classes of the same names)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_core import exclude_keys, frontends, ops

from ..creation.factories import as_tensor
from ..tensors.tensor import Tensor
from ..values.script_objects import ScriptObject
from .products import find_block, find_units
from .tensor import Quantized, is_quantized, record_of, wrap_quantized

#: How many pairs of scales a weight keeps the units of.
_KEPT: Final = 16


class PackedParams(ScriptObject):
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
        if frontends.recording() is None:  # a function that is captured in a pipeline takes them for constants
            for each in (self._bias, scale):
                if isinstance(each, Tensor):
                    frontends.materialize(each)
        self._floats = self._arrange(record.integers.to(ScalarType.Float))
        self._zero_points = self._find_zero_points()
        self._units: dict[tuple[float, float], Any] = {}
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
        """Return what `find_units` does, kept for the next calls of the same scales; a captured function's are constants."""
        key = input_scale, output_scale
        known = self._units.get(key)
        if known is not None and known[0] is self._bias:
            found: tuple[Tensor | None, Tensor, Tensor] = known[1]
            return found
        recording = frontends.recording()
        values = [each for each in (self._bias, self.record.scale) if isinstance(each, Tensor)]
        if recording is not None and any(map(recording.is_made, values)):  # they are of this call
            return find_units(input_scale, self.record.scale, output_scale, self._bias, shape)
        with nullcontext() if recording is None else exclude_keys("Pipeline"):
            made = find_units(input_scale, self.record.scale, output_scale, self._bias, shape)
        if len(self._units) >= _KEPT:
            self._units.clear()
        self._units[key] = self._bias, made
        return made

    def _parts(self) -> Any:
        return self.unpack()

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
    _kind = "quantized.LinearPackedParamsBase"

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        if weight.dim() != 2:
            raise RuntimeError(f"the weight of a linear layer should have 2 dimensions, but got {weight.dim()}")
        _check_bias(weight, bias, weight.shape[0])
        super().__init__(weight, bias)

    @staticmethod
    def _arrange(floats: Tensor) -> Tensor:
        return floats.t().contiguous()


def check_numbers(x: Tensor) -> None:
    """Raise ``RuntimeError`` for an input of another dtype than those that are quantized by their own range."""
    if x.dtype != ScalarType.Float:
        raise RuntimeError(f"expected scalar type Float but found {x.dtype.name}\nHint: x.float() makes it one")


class HalfWeight(ScriptObject):
    """A weight of a linear layer that was rounded to ``float16``, and a bias or None."""

    __module__ = "torchlike.quantized"
    _kind = "quantized.LinearPackedParamsBase"

    def __init__(self, weight: Any, bias: Any) -> None:
        self.weight = weight.detach().to(ScalarType.Half).to(ScalarType.Float)
        self.bias = None if bias is None else bias.detach()

    def unpack(self) -> tuple[Any, Any]:
        """Return the weight, in ``float32``, and the bias."""
        return self.weight, self.bias

    def multiply(self, x: Any) -> Any:
        """Return ``x`` times the weight, in ``float32``."""
        check_numbers(x)
        return ops.aten.linear(x, self.weight, self.bias)

    def _parts(self) -> Any:
        return self.unpack()


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

    def _parts(self) -> Any:
        stride, padding, output_padding, dilation = self._sizes
        numbers = [len(stride), *stride, *padding, *dilation, *output_padding, self._groups, int(self._transpose)]
        weight, bias = self.unpack()
        return "2", [as_tensor(numbers, dtype=ScalarType.Short), weight], [bias]


class Conv2dPackedParamsBase(ConvPackedParamsBase):
    """The weight of a convolution over one or two dimensions."""

    __module__ = "torchlike.quantized"
    _kind = "quantized.Conv2dPackedParamsBase"


class Conv3dPackedParamsBase(ConvPackedParamsBase):
    """The weight of a convolution over three dimensions."""

    __module__ = "torchlike.quantized"
    _kind = "quantized.Conv3dPackedParamsBase"


class EmbeddingPackedParamsBase(PackedParams):
    """The rows of an embedding, each with parameters of its own."""

    __module__ = "torchlike.quantized"
    _kind = "quantized.EmbeddingPackedParamsBase"
    _wanted = (ScalarType.QUInt8,)

    def _parts(self) -> Any:
        return 1, [self._weight], [], [8]

    def rows(self, indices: Tensor) -> Tensor:
        """Return rows in float32."""
        record = self.record
        if record.axis != 0:
            raise RuntimeError("expected a weight that is quantized per channel, of axis 0")
        chosen = record.integers.index_select(0, indices.reshape(-1)).to(ScalarType.Float)
        scales, offsets = record.scale.float(), -record.zero_point.float() * record.scale.float()
        at = indices.reshape(-1)
        return chosen * scales.index_select(0, at).unsqueeze(1) + offsets.index_select(0, at).unsqueeze(1)


def restore_linear(parts: Any) -> ScriptObject:
    """Return the weight of a linear layer for the state of one."""
    weight, bias = parts
    return LinearPackedParamsBase(weight, bias) if is_quantized(weight) else HalfWeight(weight, bias)


def _restore_convolution(kind: type[ConvPackedParamsBase], parts: Any) -> ConvPackedParamsBase:
    version, (numbers, weight), (bias,) = parts
    dims, *rest = numbers.tolist()
    if version != "2" or len(rest) != 4 * dims + 2:
        raise ValueError(f"its version is {version!r}, and it has {len(rest)} numbers")
    stride, padding, dilation, output_padding = (rest[at * dims : (at + 1) * dims] for at in range(4))
    return kind(weight, bias, (stride, padding, output_padding, dilation), rest[-2], bool(rest[-1]))


def restore_conv2d(parts: Any) -> ScriptObject:
    """Return the weight of a convolution over one or two dimensions for the state of one."""
    return _restore_convolution(Conv2dPackedParamsBase, parts)


def restore_conv3d(parts: Any) -> ScriptObject:
    """Return the weight of a convolution over three dimensions for the state of one."""
    return _restore_convolution(Conv3dPackedParamsBase, parts)


def restore_embedding(parts: Any) -> ScriptObject:
    """Return the rows of an embedding for the state of them."""
    _, (weight,), _, (bits,) = parts
    if bits != 8:
        raise ValueError(f"its rows have {bits} bits, and 8 are known")
    return EmbeddingPackedParamsBase(weight)
