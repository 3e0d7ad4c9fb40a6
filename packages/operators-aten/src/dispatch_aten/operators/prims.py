"""Schemas of the primitives that move data between devices, which every backend implements."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
[data_dependent_output]
device_get(Tensor self) -> Any
[factory]
device_put(Any data, *, Device device) -> Tensor
"""
