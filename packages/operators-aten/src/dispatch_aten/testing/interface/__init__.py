"""Checks of a device beside its operators: indices, leaks, and the parts of its interface, those that it has."""

from __future__ import annotations

from .own_kernels import check_place_and_memory
from .parts import PARTS, check_part

__all__ = ["PARTS", "check_part", "check_place_and_memory"]
