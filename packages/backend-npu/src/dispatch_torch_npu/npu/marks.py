"""``mstx``: marks and ranges for profiles, as ranges of torch's profiler."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from typing import Any, Final, Self

import torchlike

__all__ = ["annotate", "mstx"]

_numbers: Final = itertools.count(1)
_open: Final[dict[int, Any]] = {}
_stacks: Final = threading.local()


class annotate:  # noqa: N801  # torch_npu's own name
    """A range as a block or a decorator (source: ``torch_npu.npu.mstx.annotate``).

    >>> with annotate("step"):
    ...     pass
    """

    def __init__(self, message: str = "", stream: Any = None, domain: str = "default") -> None:
        self.message = message
        self._block: Any = None

    def __enter__(self) -> Self:
        self._block = _enter(self.message)
        return self

    def __exit__(self, *error: object) -> None:
        self._block.__exit__(None, None, None)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function, whose calls are ranges of its name unless the range has one."""
        message = self.message or function.__name__

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with annotate(message):
                return function(*args, **kwargs)

        return call


class mstx:  # noqa: N801  # torch_npu's own name
    """Marks and ranges; streams and domains are taken, and not told apart (source: ``torch_npu.npu.mstx``).

    >>> number = mstx.range_start("step")
    >>> mstx.range_end(number)
    """

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """Set a mark, a range without a length."""
        with annotate(message):
            pass

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begin a range and return its number."""
        number = next(_numbers)
        _open[number] = _enter(message)
        return number

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """End the range of a number; other numbers change nothing."""
        block = _open.pop(range_id, None)
        if block is not None:
            block.__exit__(None, None, None)

    @staticmethod
    def range_push(message: str, stream: Any = None, domain: str = "default") -> int:
        """Begin a range within those that are open in this thread, and return their number before it."""
        stack = _stack()
        stack.append(_enter(message))
        return len(stack) - 1

    @staticmethod
    def range_pop(domain: str = "default") -> int:
        """End the innermost range of this thread and return the number of those around it; -1 where none is open."""
        stack = _stack()
        if not stack:
            return -1
        stack.pop().__exit__(None, None, None)
        return len(stack)

    @staticmethod
    def mstx_range(message: str, stream: Any = None, domain: str = "default") -> annotate:
        """Return a decorator whose function's calls are ranges."""
        return annotate(message)


def _stack() -> list[Any]:
    if not hasattr(_stacks, "blocks"):
        _stacks.blocks = []
    found: list[Any] = _stacks.blocks
    return found


def _enter(message: str) -> Any:
    if not isinstance(message, str) or not message:
        raise TypeError(f"a mark's message is a text, not {message!r}")
    block = torchlike.profiler.record_function(message)
    block.__enter__()
    return block


mstx.annotate = annotate  # type: ignore[attr-defined]  # as torch_npu has it, a class within a class
