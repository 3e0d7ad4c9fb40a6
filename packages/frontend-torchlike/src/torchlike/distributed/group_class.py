"""Groups of processes as programs see them: with the methods of torch's (source: ``torch.distributed.ProcessGroup``)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import dispatch_aten.collectives as engines

from ..names.lazy_names import call_late

__all__ = ["ProcessGroup"]

#: The functions stand above groups, and most programs call these.
_all_gather = call_late("torchlike.distributed.collectives", "all_gather")
_all_gather_into_tensor = call_late("torchlike.distributed.collectives", "all_gather_into_tensor")
_all_reduce = call_late("torchlike.distributed.collectives", "all_reduce")
_all_reduce_coalesced = call_late("torchlike.distributed.lists", "all_reduce_coalesced")
_all_to_all = call_late("torchlike.distributed.exchanges", "all_to_all")
_all_to_all_single = call_late("torchlike.distributed.exchanges", "all_to_all_single")
_barrier = call_late("torchlike.distributed.collectives", "barrier")
_broadcast = call_late("torchlike.distributed.collectives", "broadcast")
_gather = call_late("torchlike.distributed.exchanges", "gather")
_irecv = call_late("torchlike.distributed.collectives", "irecv")
_isend = call_late("torchlike.distributed.collectives", "isend")
_monitored_barrier = call_late("torchlike.distributed.objects", "monitored_barrier")
_reduce = call_late("torchlike.distributed.collectives", "reduce")
_reduce_scatter = call_late("torchlike.distributed.collectives", "reduce_scatter")
_reduce_scatter_tensor = call_late("torchlike.distributed.collectives", "reduce_scatter_tensor")
_scatter = call_late("torchlike.distributed.exchanges", "scatter")


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
        return _all_reduce(_one(tensors), getattr(opts, "reduceOp", opts), self, async_op=True)

    def allreduce_coalesced(self, tensors: Sequence[Any], opts: Any = "sum") -> Any:
        """Combine the tensors of lists, in place."""
        return _all_reduce_coalesced(list(tensors), getattr(opts, "reduceOp", opts), self, async_op=True)

    def reduce(self, tensors: Any, root: Any = 0, op: str = "sum") -> Any:
        """Combine a tensor of each rank, in place at the root."""
        rank, op = getattr(root, "rootRank", root), getattr(root, "reduceOp", op)
        return _reduce(_one(tensors), None, op, self, async_op=True, group_dst=rank)

    def broadcast(self, tensors: Any, root: Any = 0) -> Any:
        """Give all ranks the tensor of the root, in place."""
        return _broadcast(_one(tensors), None, self, async_op=True, group_src=getattr(root, "rootRank", root))

    def allgather(self, output_tensors: Any, input_tensors: Any, opts: Any = None) -> Any:
        """Write the tensors of all ranks into those of a list."""
        return _all_gather(_one(output_tensors, list), _one(input_tensors), self, async_op=True)

    def _allgather_base(self, output: Any, input: Any, opts: Any = None) -> Any:
        return _all_gather_into_tensor(output, input, self, async_op=True)

    def gather(self, output_tensors: Any, input_tensors: Any, root: Any = 0) -> Any:
        """Write the tensors of all ranks into those of a list of the root's."""
        listed = _one(output_tensors, list) if output_tensors else None
        return _gather(
            _one(input_tensors), listed, None, self, async_op=True, group_dst=getattr(root, "rootRank", root)
        )

    def scatter(self, output_tensors: Any, input_tensors: Any, root: Any = 0) -> Any:
        """Write one of a list of the root's to each rank's tensor."""
        listed = _one(input_tensors, list) if input_tensors else None
        return _scatter(
            _one(output_tensors), listed, None, self, async_op=True, group_src=getattr(root, "rootRank", root)
        )

    def reduce_scatter(self, output_tensors: Any, input_tensors: Any, opts: Any = "sum") -> Any:
        """Combine the lists of all ranks, and write what is this rank's."""
        op = getattr(opts, "reduceOp", opts)
        return _reduce_scatter(_one(output_tensors), _one(input_tensors, list), op, self, async_op=True)

    def _reduce_scatter_base(self, output: Any, input: Any, opts: Any = "sum") -> Any:
        return _reduce_scatter_tensor(output, input, getattr(opts, "reduceOp", opts), self, async_op=True)

    def alltoall(self, output_tensors: Sequence[Any], input_tensors: Sequence[Any], opts: Any = None) -> Any:
        """Send each tensor of a list to the rank of its number, and receive theirs."""
        return _all_to_all(output_tensors, input_tensors, self, async_op=True)

    def alltoall_base(self, output: Any, input: Any, output_sizes: Any, input_sizes: Any, opts: Any = None) -> Any:
        """Send each part of a tensor to the rank of its number, and receive theirs."""
        return _all_to_all_single(output, input, output_sizes, input_sizes, self, async_op=True)

    def send(self, tensors: Any, dst_rank: int, tag: int = 0) -> Any:
        """Start to send a tensor to a rank."""
        return _isend(_one(tensors), None, self, tag, group_dst=dst_rank)

    def recv(self, tensors: Any, src_rank: int, tag: int = 0) -> Any:
        """Start to receive a tensor of a rank, in place."""
        return _irecv(_one(tensors), None, self, tag, group_src=src_rank)

    def barrier(self, opts: Any = None) -> Any:
        """Wait until all ranks have come here."""
        return _barrier(self, async_op=True)

    def monitored_barrier(self, timeout: Any = None, wait_all_ranks: bool = False) -> None:
        """Wait until all ranks have come here. Raises ``CollectiveError`` with those that are late."""
        _monitored_barrier(self, timeout, wait_all_ranks)


ProcessGroup.__module__ = "torchlike.distributed"


def _one(given: Any, kind: type | None = None) -> Any:
    """Return the single item of a list, or a tensor; with ``kind`` the single list of a list. Raises ``ValueError``."""
    if kind is None and not isinstance(given, list | tuple):
        return given
    if len(given) != 1:
        raise ValueError(f"expected a list with one item, as a rank has one, not {len(given)}")
    return given[0]
