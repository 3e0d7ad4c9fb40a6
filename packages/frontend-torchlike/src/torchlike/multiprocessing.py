"""Processes, as Python has them (source: ``torch.multiprocessing``); tensors are sent as copies."""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403  # torch's module has all its names
from typing import Any

__all__ = [*multiprocessing.__all__]  # noqa: PLE0604  # Python's own list
__all__ += ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes"]


def get_all_sharing_strategies() -> set[str]:
    """Return the ways to share tensors, of which none is used."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """Return the way to share tensors."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Check the name of a way to share tensors: they are always copied."""
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"Invalid sharing strategy: {new_strategy}")


def start_processes(
    fn: Any,
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Call ``fn(number, *args)`` in processes; return them, or nothing after they have ended.

    Raises ``RuntimeError`` where one failed.
    """
    context = multiprocessing.get_context(start_method)
    processes = [context.Process(target=fn, args=(number, *args), daemon=daemon) for number in range(nprocs)]  # type: ignore[attr-defined]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    for number, process in enumerate(processes):
        if process.exitcode:
            raise RuntimeError(f"process {number} terminated with exit code {process.exitcode}")
    return None


def spawn(fn: Any, args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False) -> Any:
    """Call ``fn(number, *args)`` in processes that begin afresh (source: ``torch.multiprocessing.spawn``)."""
    return start_processes(fn, args, nprocs, join, daemon)
