"""The last way to batch a call: the operator runs for each row, and the results are stacked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_core.frontends import included_mask, keys_of
from dispatch_core.keys import AUTOCAST

from .batching import Batch
from .refusals import NotBatchableError

__all__ = ["LOOPS", "has_fresh_results", "run_rows"]

#: How often each operator was run row by row in this process.
LOOPS: Final[Counter[str]] = Counter()


def has_fresh_results(op: Any) -> bool:
    """Return whether an operator writes to no argument, and returns no part of one."""
    schema = op.schema
    return not schema.is_mutable and all(each.alias is None for each in schema.returns)


def run_rows(op: Any, size: int, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Run an operator for each row of its batched arguments, and return the results stacked.

    Raises `NotBatchableError` for an operator that writes to an argument or returns a part of one, and for an empty batch.
    """
    if not has_fresh_results(op):
        raise NotBatchableError(
            f"Batching rule not implemented for {op.name}; the fallback path doesn't work on out= or view ops."
        )
    if not size:
        raise NotBatchableError(f"The fallback path does not support vmap over dims of size 0 (operator {op.name})")
    LOOPS[op.name] += 1

    def select(row: int, value: Any) -> Any:
        if type(value) is Batch:
            return dc.ops.aten.select.int(value.tensor, 0, row)
        return [select(row, each) for each in value] if isinstance(value, (list, tuple)) else value

    rows = []
    for row in range(size):
        given = [select(row, value) for value in args]
        rows.append(op(*given, **{name: select(row, value) for name, value in kwargs.items()}))
    # The results have the dtypes that the operator gave them.
    with dc.exclude_keys(*keys_of(included_mask() & AUTOCAST)):
        return _stack(op, rows)


def _stack(op: Any, rows: list[Any]) -> Any:
    first = rows[0]
    if isinstance(first, (list, tuple)):
        return type(first)(_stack(op, [row[place] for row in rows]) for place in range(len(first)))
    if first is None:
        return None
    if not hasattr(first, "_dispatch_mask"):
        raise RuntimeError(f"vmap: {op.name} returns {type(first).__name__} for each row, which cannot be stacked")
    if len({tuple(dc.shape(row)) for row in rows}) > 1:
        raise RuntimeError(f"vmap: {op.name} returns results of different shapes for the rows, which cannot be stacked")
    return dc.ops.aten.stack.default(rows, 0)
