"""Run the cpu's kernels on chunks, on workers: tasks name this module, which they have installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dispatch_core as dc


@dataclass(frozen=True)
class Hole:
    """The place of an array among the arguments of a call."""

    place: int


def run_on_chunks(*chunks: Any, operator: str, args: tuple[Any, ...], options: Any, part: int | None = None) -> Any:
    """Call an operator of the cpu on chunks, which stand where ``args`` has holes; ``part`` chooses one of its results.

    >>> run_on_chunks(np.zeros(2), operator="aten::erf", args=(Hole(0),), options=())
    array([0., 0.])
    """
    namespace, _, name = operator.rpartition("::")
    packet, _, overload = name.partition(".")
    op = getattr(getattr(getattr(dc.ops, namespace), packet), overload or "default")
    given = [np.asarray(chunks[each.place]) if isinstance(each, Hole) else each for each in args]
    found = op(*given, **dict(options))
    # A program that computes in its own thread may have a pipeline open, which has recorded the call.
    made = tuple([np.asarray(each) for each in found]) if isinstance(found, tuple) else np.asarray(found)
    return made if part is None else made[part]


def if_full_rank(residuals: Any, rank: Any, columns: int) -> Any:
    """Return the residuals of least squares, which a matrix of a lower rank has none of, as LAPACK says it.

    >>> if_full_rank(np.ones(2), 2, 3)
    array([], dtype=float64)
    """
    return residuals if rank == columns else residuals[:0]
