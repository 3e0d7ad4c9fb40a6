"""The record of a quantized tensor.

Note [Quantized tensors]
    ``integers`` is an ordinary tensor of int8, uint8 or int32, in whose memory the views of a quantized tensor lie. It
    represents ``(integers - zero_point) * scale``. Of a tensor that is quantized per tensor these are two numbers; else
    they are tensors with an element for each index of the dimension ``axis``. A record is never changed: an operation that
    gives a tensor other parameters gives it another record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NoReturn

import dispatch_core as dc
from dispatch_aten.dtypes import QUANTIZED, ScalarType
from dispatch_core.frontends import TensorLayout
from dispatch_core.keys import AUTOCAST, AUTOGRAD

from ..tensors.arrays import read_printable
from ..tensors.printing import add_notes, write_elements
from ..tensors.tensor import Tensor, wrap
from ..values.layouts import LayoutData, layout, strided
from ..values.qschemes import per_channel_affine, per_channel_affine_float_qparams, per_tensor_affine, qscheme


@dataclass(slots=True, frozen=True)
class Quantized(LayoutData):
    """The data of a quantized tensor; see Note [Quantized tensors]."""

    integers: Tensor
    scale: Any
    zero_point: Any
    dtype: ScalarType
    axis: int | None = None

    layout: ClassVar[layout] = strided

    @property
    def scheme(self) -> qscheme:
        """Return how the numbers map to integers."""
        if self.axis is None:
            return per_tensor_affine
        return per_channel_affine_float_qparams if self.zero_point.is_floating_point() else per_channel_affine

    def refuse(self, what: str) -> NoReturn:
        """Raise the error for a question that quantized tensors do not answer."""
        raise TypeError(
            f"{what} is not supported for quantized tensors: got unsupported ScalarType {self.dtype.name}\n"
            f"Hint: {QUANTIZED_LAYOUT.hint}"
        )

    def to_text(self, tensor: Tensor) -> str:
        """Return the numbers and the parameters, as torch does."""
        notes = [] if tensor.device.type == "cpu" else [f"device='{tensor.device}'"]
        notes += [f"size={tuple(tensor.shape)}", f"dtype={self.dtype!r}", f"quantization_scheme={self.scheme!r}"]
        notes += [f"scale={self.scale}", f"zero_point={self.zero_point}"]
        if self.axis is not None:
            notes.append(f"axis={self.axis}")
        if tensor.is_meta:
            body = "..."
        else:
            body = write_elements(read_printable(tensor.dequantize()), len("tensor(")) if tensor.numel() else "[]"
        return add_notes("tensor(" + body, notes, len("tensor("))


QUANTIZED_LAYOUT: Final = TensorLayout(
    "Quantized",
    Quantized,
    component="integers",
    shape=lambda record: dc.shape(record.integers),
    dtype=lambda record: record.dtype,
    strides=lambda record: dc.strides(record.integers),
    hint="x.dequantize() has the numbers, and x.int_repr() the integers",
    passed_by=AUTOGRAD | AUTOCAST,  # integers have no history, and their products no lower precision
)


def wrap_quantized(integers: Tensor, scale: Any, zero_point: Any, dtype: ScalarType, axis: int | None = None) -> Tensor:
    """Return the quantized tensor of these components, which are not looked at."""
    record = QUANTIZED_LAYOUT.make(integers=integers, scale=scale, zero_point=zero_point, dtype=dtype, axis=axis)
    return wrap(record)


def is_quantized(value: object) -> bool:
    """Return whether a value is a quantized tensor."""
    return isinstance(getattr(value, "_dispatch_data", None), Quantized)


def record_of(tensor: Tensor) -> Quantized:
    """Return the record of a quantized tensor."""
    record: Quantized = tensor._dispatch_data
    return record


def with_integers(record: Quantized, integers: Tensor) -> Tensor:
    """Return a quantized tensor of other integers with the parameters of a record."""
    return wrap_quantized(integers, record.scale, record.zero_point, record.dtype, record.axis)


def become(self: Tensor, record: Quantized) -> Tensor:
    """Give a quantized tensor another record, tell its history that it was written to, and return it."""
    self._dispatch_data = record
    self._count_write()
    return self


def map_record(tensor: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Return a quantized tensor whose integers and parameters are those of another after a function of tensors."""
    record = record_of(tensor)
    scale, zero_point = (
        change(each) if isinstance(each, Tensor) else each for each in (record.scale, record.zero_point)
    )
    return wrap_quantized(change(record.integers), scale, zero_point, record.dtype, record.axis)


def expect_dtype(
    dtype: Any, words: str = "Creation of quantized tensor requires quantized dtype like torch.quint8"
) -> ScalarType:
    """Return the type of the integers of a quantized dtype; raises ``RuntimeError`` for another."""
    found = QUANTIZED.get(dtype)
    if found is None:
        raise RuntimeError(f"{words}\nHint: the quantized dtypes are {', '.join(map(repr, QUANTIZED))}")
    return found
