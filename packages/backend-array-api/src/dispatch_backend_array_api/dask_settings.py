"""The settings of the device ``dask``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass
class ClusterSettings:
    """Settings that the device chooses by itself; see Note [Lineage] and Note [Collecting].

    >>> settings.steps
    20
    """

    #: After how many computations in a row kept results are gathered, and the most bytes of one that is.
    steps: int = 20
    small: int = 1 << 20
    #: For how many seconds a scheduler may be out of reach.
    patience: float = 10.0
    #: How many layers of operators an array may wait for without a warning.
    depth: int = 5_000
    #: The most bytes that an operator may collect in one place; None for a quarter of the memory of this machine, or of
    #: the smallest worker.
    collect_limit: int | None = None


settings: Final = ClusterSettings()
