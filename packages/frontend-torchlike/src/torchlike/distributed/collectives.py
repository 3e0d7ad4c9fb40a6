"""Collectives and messages between processes, as torch names them (source: ``torch.distributed``).

Each is one of the operators of the namespace ``dispatch``. Ranks are those among all processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import dispatch_core as dc
from dispatch_aten.collectives import after
from dispatch_aten.collectives import barrier as meet

from ..history.grad_mode import no_grad
from .errors import NoProcessGroupError, for_members
from .group_class import ProcessGroup
from .process_groups import find_group, find_ranks
from .sparse_sums import sum_sparse
from .work import Work, start

__all__ = [
    "P2POp",
    "all_gather",
    "all_gather_into_tensor",
    "all_reduce",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "irecv",
    "isend",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "send",
]

_operators = dc.ops.dispatch


def find_position(name: str, group: ProcessGroup, rank: int | None, group_rank: int | None) -> int:
    """Return the number in a group of a rank among all processes, by default of its first one."""
    if group_rank is not None:
        return int(group_rank)
    if rank is None:
        return 0
    ranks = find_ranks(group)
    if rank not in ranks:
        raise NoProcessGroupError(name, f"there is no rank {rank} in a group of {list(ranks)}", "name one of them")
    return ranks.index(rank)


@for_members
def all_reduce(tensor: Any, op: str = "sum", group: Any = None, async_op: bool = False) -> Work | None:
    """Combine the tensors of all ranks, in place; sparse ones by their sum."""
    found = find_group("all_reduce", group)
    if getattr(tensor, "is_sparse", False):
        return _sum_sparse(tensor, op, found, async_op)
    with no_grad():
        return start(found, [tensor], lambda: _operators.all_reduce_(tensor, op, found), is_async=async_op)


def _sum_sparse(tensor: Any, op: str, group: ProcessGroup, is_async: bool) -> Work | None:
    if op != "sum":
        raise NoProcessGroupError("all_reduce", f"sparse tensors have no reduction {op!r}", "sum is one")
    with no_grad():
        tensor.copy_(sum_sparse(tensor, group))
    return Work([tensor]) if is_async else None


@for_members
def reduce(
    tensor: Any,
    dst: int | None = None,
    op: str = "sum",
    group: Any = None,
    async_op: bool = False,
    group_dst: Any = None,
) -> Work | None:
    """Combine the tensors of all ranks, in place at one of them."""
    found = find_group("reduce", group)
    root = find_position("reduce", found, dst, group_dst)

    def run() -> None:
        made = _operators.all_reduce(tensor, op, found)
        if found.rank == root:
            after(lambda: tensor.copy_(made))

    with no_grad():
        return start(found, [tensor], run, is_async=async_op)


@for_members
def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give all ranks the tensor of one of them, in place."""
    found = find_group("broadcast", group)
    root = find_position("broadcast", found, src, group_src)
    with no_grad():
        return start(found, [tensor], lambda: _operators.broadcast_(tensor, root, found), is_async=async_op)


@for_members
def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all ranks behind each other into one."""
    found = find_group("all_gather_into_tensor", group)
    with no_grad():
        return start(
            found,
            [output_tensor, input_tensor],
            lambda: _operators.all_gather.out(input_tensor, found, out=output_tensor),
            is_async=async_op,
        )


@for_members
def all_gather(tensor_list: Sequence[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Write the tensors of all ranks into those of a list, which have one shape."""
    found = find_group("all_gather", group)
    if len(tensor_list) != found.size:
        raise NoProcessGroupError(
            "all_gather", f"{len(tensor_list)} tensors for {found.size} ranks", "give one for each"
        )

    def run() -> None:
        made = _operators.all_gather(tensor.unsqueeze(0), found)
        for into, each in zip(tensor_list, made.unbind(0), strict=True):
            after(partial(into.copy_, each))

    with no_grad():
        return start(found, [*tensor_list, tensor], run, is_async=async_op)


@for_members
def reduce_scatter_tensor(
    output: Any, input: Any, op: str = "sum", group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine the tensors of all ranks, and write this rank's part of the result."""
    found = find_group("reduce_scatter_tensor", group)
    with no_grad():
        return start(
            found,
            [output, input],
            lambda: _operators.reduce_scatter.out(input, op, found, out=output),
            is_async=async_op,
        )


@for_members
def reduce_scatter(
    output: Any, input_list: Sequence[Any], op: str = "sum", group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine the lists of all ranks, and write what is this rank's in the result."""
    found = find_group("reduce_scatter", group)
    if len(input_list) != found.size:
        raise NoProcessGroupError(
            "reduce_scatter", f"{len(input_list)} tensors for {found.size} ranks", "give one for each"
        )

    def run() -> None:
        stacked = dc.ops.aten.stack(list(input_list), 0)
        _operators.reduce_scatter.out(stacked, op, found, out=output)

    with no_grad():
        return start(found, [output, *input_list], run, is_async=async_op)


@for_members
def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all ranks have come here."""
    meet(find_group("barrier", group))
    return Work() if async_op else None


class P2POp:
    """A message of `batch_isend_irecv`: ``op`` is `isend` or `irecv`."""

    def __init__(
        self,
        op: Any,
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise NoProcessGroupError("P2POp", "expected isend or irecv", "torch.distributed.isend is one")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = find_group("P2POp", group)
        self.peer = find_position("P2POp", self.group, peer, group_peer)


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start messages to and from other ranks all at once; return their work."""
    if not p2p_op_list or any(not isinstance(each, P2POp) for each in p2p_op_list):
        raise NoProcessGroupError(
            "batch_isend_irecv", "expected a list of P2POp, with one at least", "P2POp(isend, x, 1)"
        )
    group = p2p_op_list[0].group
    if any(each.group is not group for each in p2p_op_list):
        raise NoProcessGroupError("batch_isend_irecv", "all messages need the same group", "make a batch for each")
    sent = [each for each in p2p_op_list if each.op is isend]
    received = [each for each in p2p_op_list if each.op is irecv]

    def run() -> None:
        _operators.exchange(
            [each.tensor for each in sent],
            [each.peer for each in sent],
            [each.tensor for each in received],
            [each.peer for each in received],
            group,
        )

    with no_grad():
        work = start(group, [each.tensor for each in p2p_op_list], run, is_async=True)
    return [] if work is None else [work]


@for_members
def isend(
    tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Start to send a tensor to a rank, which receives it; return the work."""
    return batch_isend_irecv([P2POp(isend, tensor, dst, group, tag, group_dst)])[0]


@for_members
def irecv(
    tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Start to receive a tensor of a rank, in place; return the work."""
    return batch_isend_irecv([P2POp(irecv, tensor, src, group, tag, group_src)])[0]


@for_members
def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to a rank, which receives it."""
    found = find_group("send", group)
    with no_grad():
        _operators.send(tensor, find_position("send", found, dst, group_dst), found)


@for_members
def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor of a rank, in place; return the rank."""
    found = find_group("recv", group)
    if src is None and group_src is None:
        raise NoProcessGroupError("recv", "a tensor of any rank cannot be received", "name the rank that sends it")
    position = find_position("recv", found, src, group_src)
    with no_grad():
        _operators.recv_(tensor, position, found)
    return find_ranks(found)[position]
