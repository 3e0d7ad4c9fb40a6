"""Collectives of lists of tensors, as one work (source: ``torch.distributed``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .collectives import all_gather, all_reduce
from .work import Work

__all__ = ["all_gather_coalesced", "all_reduce_coalesced"]


class _Works(Work):
    """Several works as one."""

    def __init__(self, works: Sequence[Work | None], results: Sequence[Any]) -> None:
        super().__init__(results)
        self._works = [each for each in works if each is not None]

    def wait(self, timeout: Any = None) -> bool:
        """Wait for all."""
        for each in self._works:
            each.wait(timeout)
        return True

    def is_completed(self) -> bool:
        """Return whether all are done."""
        return all(each.is_completed() for each in self._works)

    def get_future(self) -> Any:
        """Return a future of the tensors that they write to."""
        self.wait()
        return super().get_future()


def _run(start: Callable[[], Sequence[Work | None]], results: Sequence[Any], is_async: bool) -> Work | None:
    made = _Works(start(), results)
    return made if is_async else None


def all_reduce_coalesced(tensors: Any, op: str = "sum", group: Any = None, async_op: bool = False) -> Work | None:
    """Combine the tensors of lists, which have the same shapes in all ranks, in place."""
    listed = [tensors] if hasattr(tensors, "shape") else list(tensors)
    return _run(lambda: [all_reduce(each, op, group, async_op) for each in listed], listed, async_op)


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Sequence[Any], group: Any = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all ranks' lists into lists: ``output_tensor_lists[rank][place]``."""
    if not isinstance(output_tensor_lists, list):
        raise RuntimeError("Invalid function argument: output_tensor_lists should be a list")
    results = [each for listed in output_tensor_lists for each in listed]

    def start() -> list[Work | None]:
        return [
            all_gather([listed[place] for listed in output_tensor_lists], each, group, async_op)
            for place, each in enumerate(input_tensor_list)
        ]

    return _run(start, results, async_op)
