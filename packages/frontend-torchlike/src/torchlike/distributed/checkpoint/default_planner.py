"""The planners that there are (source: ``torch.distributed.checkpoint.default_planner``)."""

from __future__ import annotations

from dataclasses import dataclass

from .planner import LoadPlanner, SavePlanner

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner"]


@dataclass
class DefaultSavePlanner(SavePlanner):
    """Each process writes its own parts, once (source: torch's); states are flattened, whatever is asked."""

    flatten_state_dict: bool = True
    flatten_sharded_tensors: bool = True
    dedup_replicated_tensors: bool | None = None
    dedup_save_to_lowest_rank: bool = False
    enable_plan_caching: bool = False


@dataclass
class DefaultLoadPlanner(LoadPlanner):
    """Each process reads its own parts (source: torch's).

    With ``allow_partial_load`` names that a checkpoint does not have stay as they are.

    >>> DefaultLoadPlanner(allow_partial_load=True).allow_partial_load
    True
    """

    flatten_state_dict: bool = True
    flatten_sharded_tensors: bool = True
    allow_partial_load: bool = False
