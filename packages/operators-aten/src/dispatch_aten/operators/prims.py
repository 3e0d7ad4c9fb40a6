"""Schemas of the primitives that move data between devices, which every backend implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._table import Blocks

__all__ = ["BLOCKS"]

BLOCKS: Final[Blocks] = (
    (
        ("data_dependent_output",),
        """
device_get(Tensor self) -> Any
""",
    ),
    (
        ("factory",),
        """
device_put(Any data, *, Device device) -> Tensor
""",
    ),
)
