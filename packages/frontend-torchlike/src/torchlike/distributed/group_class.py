"""Groups of processes as programs see them: with the methods of torch's (source: ``torch.distributed.ProcessGroup``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import dispatch_aten.collectives as engines

__all__ = ["ProcessGroup"]


class _Number(int):
    """A number that torch's programs ask for by a call."""

    def __call__(self) -> int:
        return int(self)


class ProcessGroup(engines.ProcessGroup):
    """Processes with a number each: the ``rank()`` of this one, and their number, ``size()``.

    `new_group` makes one, and `torch.distributed.group.WORLD` is that of all. Its methods are torch's, beside which
    the functions of ``torch.distributed`` do the same: they start a collective, and return its work. Options are those of
    classes such as `AllreduceOptions`.
    """

    def __init__(self, rank: int = 0, size: int = 1, *args: Any, **kwargs: Any) -> None:
        super().__init__(rank, size, *args, **kwargs)
        self.rank, self.size = _Number(rank), _Number(size)
        self.group_desc = "undefined"

    @property
    def group_name(self) -> str:
        """The name that no other group has."""
        return self.name

    def get_group_store(self) -> Any:
        """Return the store of the processes; None where there is one process."""
        return self.store

    def set_timeout(self, timeout: timedelta | float) -> None:
        """Set for how long the processes wait for each other."""
        self.timeout = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)

    def shutdown(self) -> None:
        """Give back what devices have opened for the group."""
        self.close()

    def allreduce(self, tensors: Any, opts: Any = "sum") -> Any:
        """Combine a tensor of each rank, in place."""
        from .collectives import all_reduce

        return all_reduce(_one(tensors), getattr(opts, "reduceOp", opts), self, async_op=True)

    def allreduce_coalesced(self, tensors: Sequence[Any], opts: Any = "sum") -> Any:
        """Combine the tensors of lists, in place."""
        from .lists import all_reduce_coalesced

        return all_reduce_coalesced(list(tensors), getattr(opts, "reduceOp", opts), self, async_op=True)

    def reduce(self, tensors: Any, root: Any = 0, op: str = "sum") -> Any:
        """Combine a tensor of each rank, in place at the root."""
        from .collectives import reduce

        rank, op = getattr(root, "rootRank", root), getattr(root, "reduceOp", op)
        return reduce(_one(tensors), None, op, self, async_op=True, group_dst=rank)

    def broadcast(self, tensors: Any, root: Any = 0) -> Any:
        """Give all ranks the tensor of the root, in place."""
        from .collectives import broadcast

        return broadcast(_one(tensors), None, self, async_op=True, group_src=getattr(root, "rootRank", root))

    def allgather(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        """Write the tensors of all ranks into those of a list."""
        from .collectives import all_gather

        return all_gather(_one(output_tensors, list), _one(input_tensors), self, async_op=True)

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Any:
        from .collectives import all_gather_into_tensor

        return all_gather_into_tensor(output, input, self, async_op=True)

    def gather(self, output_tensors: Any, input_tensors: Any, root: Any = 0) -> Any:
        """Write the tensors of all ranks into those of a list of the root's."""
        from .exchanges import gather

        listed = _one(output_tensors, list) if output_tensors else None
        return gather(_one(input_tensors), listed, None, self, async_op=True, group_dst=getattr(root, "rootRank", root))

    def scatter(self, output_tensors: Any, input_tensors: Any, root: Any = 0) -> Any:
        """Write one of a list of the root's to each rank's tensor."""
        from .exchanges import scatter

        listed = _one(input_tensors, list) if input_tensors else None
        return scatter(
            _one(output_tensors), listed, None, self, async_op=True, group_src=getattr(root, "rootRank", root)
        )

    def reduce_scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = "sum") -> Any:
        """Combine the lists of all ranks, and write what is this rank's."""
        from .collectives import reduce_scatter

        op = getattr(opts, "reduceOp", opts)
        return reduce_scatter(_one(output_tensors), _one(input_tensors, list), op, self, async_op=True)

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = "sum") -> Any:
        from .collectives import reduce_scatter_tensor

        return reduce_scatter_tensor(output, input, getattr(opts, "reduceOp", opts), self, async_op=True)

    def alltoall(self, output_tensors: Sequence[Any], input_tensors: Sequence[Any], opts: Any = None) -> Any:
        """Send each tensor of a list to the rank of its number, and receive theirs."""
        from .exchanges import all_to_all

        return all_to_all(output_tensors, input_tensors, self, async_op=True)

    def alltoall_base(self, output: Any, input: Any, output_sizes: Any, input_sizes: Any, opts: Any = None) -> Any:
        """Send each part of a tensor to the rank of its number, and receive theirs."""
        from .exchanges import all_to_all_single

        return all_to_all_single(output, input, output_sizes, input_sizes, self, async_op=True)

    def send(self, tensors: Any, dst_rank: int, tag: int = 0) -> Any:
        """Start to send a tensor to a rank."""
        from .collectives import isend

        return isend(_one(tensors), None, self, tag, group_dst=dst_rank)

    def recv(self, tensors: Any, src_rank: int, tag: int = 0) -> Any:
        """Start to receive a tensor of a rank, in place."""
        from .collectives import irecv

        return irecv(_one(tensors), None, self, tag, group_src=src_rank)

    def barrier(self, opts: Any = None) -> Any:
        """Wait until all ranks have come here."""
        from .collectives import barrier

        return barrier(self, async_op=True)

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """Wait until all ranks have come here. Raises ``CollectiveError`` with those that are late."""
        from .objects import monitored_barrier

        monitored_barrier(self, timeout, wait_all_ranks)


ProcessGroup.__module__ = "torchlike.distributed"


def _one(given: Any, kind: type | None = None) -> Any:
    """Return the single item of a list, or a tensor; with ``kind`` the single list of a list. Raises ``ValueError``."""
    if kind is None and not isinstance(given, list | tuple):
        return given
    if len(given) != 1:
        raise ValueError(f"expected a list with one item, as a rank has one, not {len(given)}")
    return given[0]
