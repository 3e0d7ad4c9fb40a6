"""Kernels of recurrent networks."""

from __future__ import annotations

from typing import Final

from ..kernel_table import KernelTable

KERNELS: Final = KernelTable()
