"""The samples of one of several processes (source: ``torch.utils.data.distributed``)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from dispatch_core.lazy_text import repr_by_attributes

from ...creation.factories import FACTORIES
from ...random import Generator
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[Any]):
    """Every ``num_replicas``-th index, from ``rank`` on (source: ``torch.utils.data.DistributedSampler``).

    Both numbers are those of the group of all processes, or must be given.
    """

    __repr__ = repr_by_attributes("dataset", "num_replicas", "rank", "shuffle", "epoch")

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from ... import distributed

            if not distributed.is_initialized():
                raise RuntimeError("Requires distributed package to be available")
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.drop_last, self.shuffle, self.seed = 0, drop_last, shuffle, seed
        count = len(dataset)
        if drop_last and count % num_replicas:
            count -= num_replicas
        self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        indices = list(range(count))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = FACTORIES["randperm"](count, generator=generator).tolist()
        if not self.drop_last and self.total_size > count:
            indices = (indices * math.ceil(self.total_size / count))[: self.total_size]
        return iter(indices[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose another order for the next epoch."""
        self.epoch = epoch
