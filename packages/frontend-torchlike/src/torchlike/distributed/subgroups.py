"""Groups beside each other, and numbers of ranks in them (source: ``torch.distributed``)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .process_groups import count_groups, find_group, find_ranks, get_process_group_ranks, get_rank, new_group

__all__ = [
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "new_subgroups",
    "new_subgroups_by_enumeration",
]


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Return this process's of groups of ``group_size`` ranks that follow each other, and all of them.

    Raises ``ValueError`` for a size that does not divide the number of processes, and without one.
    """
    if group_size is None:
        raise ValueError("new_subgroups: group_size is missing\nHint: give the number of processes of each group")
    ranks = get_process_group_ranks(group)
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if len(ranks) < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({len(ranks)})")
    if len(ranks) % group_size:
        raise ValueError(f"The world size ({len(ranks)}) must be divisible by '{group_size=}'")
    parts = [ranks[start : start + group_size] for start in range(0, len(ranks), group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Return this process's of groups whose ranks are listed, None where it is in none, and all of them.

    Raises ``ValueError`` without groups, and for a rank in two.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {seen[rank]} and {ranks}")
            seen[rank] = ranks
    made = [new_group(ranks, timeout, backend, pg_options, group_desc=group_desc) for ranks in ranks_per_subgroup_list]
    own = next((group for group, ranks in zip(made, ranks_per_subgroup_list, strict=True) if get_rank() in ranks), None)
    return own, made


def get_group_rank(group: Any, global_rank: int) -> int:
    """Return the number in a group of a rank among all processes. Raises ``ValueError`` for one that is not in it."""
    ranks = find_ranks(find_group("get_group_rank", group))
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """Return the number among all processes of a rank of a group. Raises ``ValueError`` for one that is not in it."""
    ranks = find_ranks(find_group("get_global_rank", group))
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Return the number of this process on its machine, which a launcher tells. Raises ``RuntimeError`` without one."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def get_pg_count() -> int:
    """Return the number of groups that this process has made."""
    return count_groups()
