"""Collectives in which each rank gets something else: scattering, gathering, all to all (source: ``torch.distributed``).

They are messages between the ranks, all at once; what a rank sends to itself is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dispatch_core as dc
from dispatch_aten.collectives import ProcessGroup

from ..history.grad_mode import no_grad
from .collectives import find_position
from .errors import NoProcessGroupError, for_members
from .process_groups import find_group
from .work import Work, start

__all__ = ["all_to_all", "all_to_all_single", "gather", "scatter"]


def _swap(
    group: ProcessGroup, sends: Sequence[tuple[Any, int]], receives: Sequence[tuple[Any, int]], is_async: bool
) -> Work | None:
    """Send tensors to positions in a group, and receive others from such."""
    own = [each for each, rank in sends if rank == group.rank]
    sends = [each for each in sends if each[1] != group.rank]
    into = [each for each, rank in receives if rank == group.rank]
    receives = [each for each in receives if each[1] != group.rank]

    def run() -> None:
        for target, source in zip(into, own, strict=True):
            target.copy_(source)
        dc.ops.dispatch.exchange(
            [each for each, _ in sends],
            [rank for _, rank in sends],
            [each for each, _ in receives],
            [rank for _, rank in receives],
            group,
        )

    with no_grad():
        tensors = [*own, *into, *(each for each, _ in (*sends, *receives))]
        return start(group, tensors, run, is_async=is_async)


def _check_count(name: str, group: ProcessGroup, tensors: Sequence[Any] | None) -> list[tuple[Any, int]]:
    """Return a list of tensors, one for each rank, with the ranks."""
    if tensors is None or len(tensors) != group.size:
        count = "no" if tensors is None else len(tensors)
        raise NoProcessGroupError(name, f"{count} tensors for {group.size} ranks", "give one for each")
    return [(each, rank) for rank, each in enumerate(tensors)]


@for_members
def scatter(
    tensor: Any,
    scatter_list: Sequence[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Write to each rank's tensor one of a list of one rank's, by default the first."""
    found = find_group("scatter", group)
    root = find_position("scatter", found, src, group_src)
    sends = _check_count("scatter", found, scatter_list) if found.rank == root else []
    return _swap(found, sends, [(tensor, root)], async_op)


@for_members
def gather(
    tensor: Any,
    gather_list: Sequence[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Write the tensors of all ranks to a list of one rank's, by default the first."""
    found = find_group("gather", group)
    root = find_position("gather", found, dst, group_dst)
    receives = _check_count("gather", found, gather_list) if found.rank == root else []
    return _swap(found, [(tensor, root)], receives, async_op)


@for_members
def all_to_all(
    output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: Any = None, async_op: bool = False
) -> Work | None:
    """Send each tensor of a list to the rank of its number, and receive theirs."""
    found = find_group("all_to_all", group)
    sends = _check_count("all_to_all", found, input_tensor_list)
    return _swap(found, sends, _check_count("all_to_all", found, output_tensor_list), async_op)


@for_members
def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send each part of a tensor's first dimension to the rank of its number, and receive theirs."""
    found = find_group("all_to_all_single", group)
    parts = [
        _split("all_to_all_single", found, *each) for each in ((input, input_split_sizes), (output, output_split_sizes))
    ]
    return _swap(found, parts[0], parts[1], async_op)


def _split(name: str, group: ProcessGroup, tensor: Any, sizes: Sequence[int] | None) -> list[tuple[Any, int]]:
    """Return the parts of a tensor, equal ones by default, with the ranks."""
    length = tensor.shape[0] if tensor.dim() else 0
    if not sizes and (not length or length % group.size):
        raise NoProcessGroupError(
            name, f"{length} rows have no {group.size} equal parts", "name the sizes of the parts"
        )
    sizes = list(sizes) if sizes else [length // group.size] * group.size
    if len(sizes) != group.size or sum(sizes) != length:
        raise NoProcessGroupError(
            name, f"parts of {sizes} rows are not those of {length}", "one for each rank, of all rows"
        )
    return [(each, rank) for rank, each in enumerate(tensor.split(sizes))]
