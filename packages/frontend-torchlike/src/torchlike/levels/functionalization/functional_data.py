"""The data of tensors under `functionalize`: values, with the layouts that the program sees.

Whether ``view`` is refused, and ``reshape`` copies, depends on strides, and a value that takes the place of a written
one may have others. So a record keeps the layout that the program would see, which the shape rules give, and a value
with another one is reshaped where the program views.
"""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten.shapes import TensorMeta
from dispatch_core.keys import LAYOUTS

from ...tensors.tensor import Tensor
from ...values.layouts import layout_of
from ..stack import TransformLevel
from ..tensors import LevelData, make_data


class Functional(LevelData):
    """The data of a tensor under `functionalize`: a value, and the layout that the program sees."""

    __slots__ = ("meta",)
    is_mutable = False

    meta: TensorMeta

    def strides(self) -> tuple[int, ...]:
        """Return the strides as the program sees them."""
        return self.meta.strides

    def storage_offset(self) -> int:
        """Return the offset of the first element as the program sees it."""
        return self.meta.storage_offset

    @property
    def is_displaced(self) -> bool:
        """Return whether the value has other strides than the program sees."""
        return dc.strides(self.value) != self.meta.strides

    def with_data(self, data: Functional) -> Functional:
        """Return the record of another value in the same place."""
        if data.meta.shape != self.meta.shape:
            return data
        return make_functional(data.value, data.level, self.meta)

    def to_text(self, tensor: Tensor) -> str:
        """Return the text of the tensor, in torch's layout."""
        return f"FunctionalTensor(lvl={self.level.depth}, value=\n{self._indent()}\n)"


def make_functional(value: Any, level: TransformLevel, layout: TensorMeta | None = None) -> Functional:
    """Return the record for a value, which has the layout unless another one is given.

    Raises ``TypeError`` for a tensor of a layout: its record has no strides that the shape rules know.
    """
    if getattr(value, "_dispatch_mask", 0) & LAYOUTS:
        raise TypeError(
            f"functionalize takes no tensors of layout {layout_of(value)}\n"
            "Hint: give it the components, and make the tensor inside of the function"
        )
    data: Any = make_data(Functional, value, level, is_captured=False)
    data.meta = describe(data.value) if layout is None else layout
    return data


def describe(tensor: Any) -> TensorMeta:
    """Return the description of a tensor, by which shape rules tell the layouts of others."""
    if isinstance(data := getattr(tensor, "_dispatch_data", tensor), Functional):
        return data.meta
    return TensorMeta(
        tuple(dc.shape(tensor)), tuple(dc.strides(tensor)), dc.dtype(tensor), dc.storage_offset(tensor) or 0
    )
