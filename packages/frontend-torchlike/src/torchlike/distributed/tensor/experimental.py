"""Tensors on a mesh beside ordinary ones (source: ``torch.distributed.tensor.experimental``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..placed.ordinary import taken_as_whole

__all__ = ["implicit_replication"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Take ordinary tensors beside those of several processes, in this block, for ones that are whole in each process.

    >>> import torchlike
    >>> from torchlike.distributed.tensor import Shard, distribute_tensor, init_device_mesh
    >>> x = distribute_tensor(torchlike.ones(2), init_device_mesh("cpu", (1,)), [Shard(0)])
    >>> with implicit_replication():
    ...     print((x + torchlike.tensor([1.0, 2.0])).full_tensor())
    tensor([2., 3.])
    """
    with taken_as_whole():
        yield
