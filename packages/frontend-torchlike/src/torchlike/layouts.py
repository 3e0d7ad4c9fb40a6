"""Layouts of tensors that programs write: records of tensors in the place of an array.

`dispatch_core.frontends.TensorLayout` makes a layout known; this module has torchlike's side of it: `wrap` makes a tensor of
a record, `LayoutData` says what a record may answer itself, and `layout` is the class of ``tensor.layout``.
docs/guides/write-a-layout.md writes one from nothing.

>>> from dataclasses import dataclass
>>> import torchlike
>>> from dispatch_core.frontends import TensorLayout
>>> @dataclass
... class Repeated:
...     value: torchlike.Tensor
...     times: int
>>> repeated = TensorLayout(
...     "RepeatedValue", Repeated, component="value",
...     shape=lambda record: (record.times,), dtype=lambda record: record.value.dtype,
... )
>>> x = wrap(repeated.make(value=torchlike.tensor(2.0), times=3))
>>> x, x.shape, record_of(x).times
(tensor(size=(3,), dtype=torchlike.float32, layout=torchlike.repeated), torchlike.Size([3]), 3)
"""

from __future__ import annotations

from typing import Any

from dispatch_core.frontends import find_layout

from .tensors.tensor import Tensor, frontend
from .values.layouts import LayoutData, layout

__all__ = ["LayoutData", "frontend", "layout", "record_of", "wrap"]


def wrap(record: Any) -> Tensor:
    """Return the tensor of a layout's record, which ``make`` has made or the record's own class.

    Raises ``ArgumentError`` for another object.
    """
    known = find_layout(type(record))
    return frontend.wrap(record if known is None else known.replace(record))


def record_of(tensor: Tensor) -> Any:
    """Return the record of a tensor of a layout."""
    return tensor._dispatch_data
