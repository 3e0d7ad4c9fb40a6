"""How many collectives a program needs (source: ``torch.distributed.tensor.debug``)."""

from __future__ import annotations

from collections import Counter
from typing import Any, Self

import dispatch_core as dc
from dispatch_aten.collectives import COUNTS

__all__ = ["CommDebugMode"]


class CommDebugMode:
    """Count the collectives that run in a block, in backward too, between several processes.

    Those that XLA puts into programs on jax are in the compiled program alone.

    >>> import torchlike
    >>> with CommDebugMode() as mode:
    ...     (torchlike.ones(2) * 2).sum()
    tensor(4.)
    >>> mode.get_total_counts(), dict(mode.get_comm_counts())
    (0, {})
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._tokens: list[Any] = []

    def __enter__(self) -> Self:
        if not self._tokens:
            self._counts.clear()
        self._tokens.append(COUNTS.set((*COUNTS.get(), self._counts)))
        return self

    def __exit__(self, *exception: object) -> None:
        COUNTS.reset(self._tokens.pop())

    @property
    def comm_counts(self) -> dict[Any, int]:
        """The number of calls of each operator."""
        return self.get_comm_counts()

    def get_comm_counts(self) -> dict[Any, int]:
        """Return the number of calls of each operator, ``torchlike.ops.dispatch.all_reduce`` and the like.

        One that has not run has 0.
        """
        return Counter({getattr(dc.ops.dispatch, name): count for name, count in self._counts.items()})

    def get_total_counts(self) -> int:
        """Return the number of all calls."""
        return self._counts.total()
