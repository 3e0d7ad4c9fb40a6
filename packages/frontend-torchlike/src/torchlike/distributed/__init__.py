"""Processes that work together, which there are none of here (source: ``torch.distributed``)."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["get_rank", "get_world_size", "is_available", "is_initialized", "is_torchelastic_launched"]


def is_available() -> bool:
    """Return False."""
    return False


def is_initialized() -> bool:
    """Return False."""
    return False


def is_torchelastic_launched() -> bool:
    """Return False."""
    return False


is_nccl_available = is_gloo_available = is_mpi_available = is_ucc_available = is_available


class NoProcessGroupError(RuntimeError, ValueError):
    """A call that needs several processes: torch raises ``ValueError`` where no group of them was initialized."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"torch.distributed.{name}: processes do not communicate here; run the program in one process\n"
            "Hint: is_initialized() and is_available() are False here; programs that ask them first do without"
        )


def _refuse(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise NoProcessGroupError(name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raise ``NoProcessGroupError``: processes do not communicate here."
    return function


_REFUSED = (
    "all_gather all_gather_object all_reduce all_to_all barrier broadcast broadcast_object_list destroy_process_group"
    " gather get_backend get_rank get_world_size init_process_group irecv isend new_group recv reduce reduce_scatter"
    " scatter send monitored_barrier"
)
globals().update({name: _refuse(name) for name in _REFUSED.split()})


class group:  # noqa: N801  # torch's name
    """The group of all processes: None, as a program is one process here (source: ``torch.distributed.group``)."""

    WORLD: Any = None


class GroupMember:
    """The same group under its older name (source: ``torch.distributed.GroupMember``)."""

    WORLD: Any = None
    NON_GROUP_MEMBER: Any = -100


class ReduceOp:
    """The ways to combine the numbers of processes (source: ``torch.distributed.ReduceOp``)."""

    SUM, AVG, PRODUCT, MIN, MAX = "sum", "avg", "product", "min", "max"
