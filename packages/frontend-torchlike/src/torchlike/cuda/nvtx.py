"""Marks for NVIDIA's profilers, which need CUDA (source: ``torch.cuda.nvtx``).

Code that is decorated with a range can be imported; setting a mark raises the error of a torch without CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _refuse() -> NoReturn:
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build?\n"
        "Hint: torchlike.profiler.profile measures here"
    )


def range_push(msg: str) -> int:
    """Raise ``RuntimeError``, as torch does without CUDA (source: ``torch.cuda.nvtx.range_push``)."""
    _refuse()


def range_pop() -> int:
    """Raise ``RuntimeError``, as torch does without CUDA (source: ``torch.cuda.nvtx.range_pop``)."""
    _refuse()


def range_start(msg: str) -> int:
    """Raise ``RuntimeError`` (source: ``torch.cuda.nvtx.range_start``)."""
    _refuse()


def range_end(range_id: int) -> None:
    """Raise ``RuntimeError`` (source: ``torch.cuda.nvtx.range_end``)."""
    _refuse()


def mark(msg: str) -> None:
    """Raise ``RuntimeError``, as torch does without CUDA (source: ``torch.cuda.nvtx.mark``)."""
    _refuse()


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Return a context, or a decorator, that raises ``RuntimeError`` when it is entered (source: ``torch.cuda.nvtx.range``).

    >>> @range("step")
    ... def step(): ...
    >>> step()
    Traceback (most recent call last):
    RuntimeError: NVTX functions not installed. Are you sure you have a CUDA build?
    Hint: torchlike.profiler.profile measures here
    """
    range_push(msg.format(*args, **kwargs))
    yield
