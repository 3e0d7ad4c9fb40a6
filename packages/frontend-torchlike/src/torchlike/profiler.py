"""Torch's profiler, which is not there; `dispatch_core.profile` counts and times calls (source: ``torch.profiler``)."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any, NoReturn, Self

__all__ = ["ProfilerActivity", "profile", "record_function", "schedule", "tensorboard_trace_handler"]


class record_function(ContextDecorator):  # noqa: N801  # torch's name
    """A named part of a program, which nothing records (source: ``torch.profiler.record_function``)."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class ProfilerActivity:
    """The places that a profiler looks at (source: ``torch.profiler.ProfilerActivity``)."""

    CPU, CUDA, XPU = "cpu", "cuda", "xpu"


def _refuse(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.profiler.{name} is not implemented; dispatch_core.profile() counts and times calls"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raise ``NotImplementedError``: ``dispatch_core.profile`` counts and times calls."
    return function


profile, schedule, tensorboard_trace_handler = map(_refuse, ("profile", "schedule", "tensorboard_trace_handler"))
