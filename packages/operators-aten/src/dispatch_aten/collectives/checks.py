"""What collectives refuse before they touch anything, and the shapes of what they make."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import dispatch_core as dc

from ..dtypes import ScalarType
from ..errors import DtypeError, OperatorError
from .groups import ProcessGroup

__all__ = [
    "REDUCTIONS",
    "check_group",
    "check_out",
    "check_peer",
    "check_rank",
    "check_reduction",
    "gathered_shape",
    "scattered_shape",
]

_BITS: Final = ("band", "bor", "bxor")
REDUCTIONS: Final = ("sum", "avg", "product", "min", "max", *_BITS)
"""The ways to combine the arrays of the ranks."""


def check_group(group: object) -> ProcessGroup:
    """Return a group; raises ``OperatorError`` for anything else."""
    if not isinstance(group, ProcessGroup):
        raise OperatorError(f"expected a ProcessGroup as the group, not {type(group).__name__}")
    return group


def check_rank(group: ProcessGroup, rank: int, what: str = "rank") -> None:
    """Raise ``OperatorError`` for a rank that a group has not."""
    if not 0 <= rank < group.size:
        raise OperatorError(f"there is no {what} {rank} in a group of {group.size}")


def check_peer(group: ProcessGroup, rank: int) -> None:
    """Raise ``OperatorError`` for a rank that is not another one of a group."""
    check_rank(group, rank)
    if rank == group.rank:
        raise OperatorError(f"rank {rank} is this process itself; data is sent to another one")


def check_reduction(name: str, op: str, dtype: ScalarType) -> None:
    """Raise ``OperatorError`` for an unknown reduction, ``DtypeError`` for numbers that cannot be combined so."""
    if op not in REDUCTIONS:
        raise OperatorError(f"{name}: there is no reduction {op!r}", hint=f"choose from {', '.join(REDUCTIONS)}")
    if op == "avg" and not (dtype.is_floating_point or dtype.is_complex):
        raise DtypeError(f"{name}: the average of {dtype} is no {dtype}", hint="reduce by sum, and divide")
    if op in _BITS and (dtype.is_floating_point or dtype.is_complex):
        raise DtypeError(f"{name}: {op} does not take {dtype}", hint="whole numbers and truth values have bits")
    if dtype.is_complex and op not in ("sum", "avg"):
        raise DtypeError(f"{name}: {op} does not take {dtype}", hint="sum and avg do")


def scattered_shape(shape: Sequence[int], size: int) -> list[int]:
    """Return the shape of a rank's part; raises ``OperatorError`` where there are no equal parts."""
    if not shape or shape[0] % size:
        raise OperatorError(
            f"reduce_scatter: the first dimension of {list(shape)} has no {size} equal parts",
            hint="pad it to a multiple of the number of ranks",
        )
    return [shape[0] // size, *shape[1:]]


def gathered_shape(shape: Sequence[int], size: int) -> list[int]:
    """Return the shape of the arrays of all ranks behind each other."""
    return [size * shape[0], *shape[1:]] if shape else [size]


def check_out(name: str, out: Any, shape: Sequence[int], dtype: object) -> None:
    """Raise ``OperatorError`` for a tensor to write to that has not the elements of a shape."""
    if prod(dc.shape(out)) != prod(shape) or dc.dtype(out) is not dtype:
        raise OperatorError(
            f"{name}: expected {list(shape)} of {dtype} to write to, not {list(dc.shape(out))} of {dc.dtype(out)}"
        )
