"""Batching rules: how `vmap` calls an operator once for all rows of a batch."""

from __future__ import annotations

from .calls import Batch
from .table import find_rule, find_rule_in_order

__all__ = ["Batch", "find_rule", "find_rule_in_order"]
