"""Compilers of torch: a program means the same without one (source: ``torch.compiler``)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

__all__ = [
    "allow_in_graph",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]


#: Settings of torch's compiler, which are kept and change nothing.
_dynamo = _inductor = SimpleNamespace(config=SimpleNamespace())


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Return a function or module unchanged, or a decorator that does (source: ``torch.compile``).

    It computes the same; `torchlike.pipeline` is the way to run steps together here.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if function is None:
            raise RuntimeError("Model can't be None")
        return function

    return decorate if model is None else decorate(model)


def is_compiling() -> bool:
    """Return False: nothing is being compiled."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn: Any = None, recursive: bool = True, **_: Any) -> Any:
    """Return a function unchanged, or a decorator that does."""
    return fn if fn is not None else disable


def allow_in_graph(fn: Any) -> Any:
    """Return a function unchanged."""
    return fn


def reset() -> None:
    """Do nothing: nothing was compiled."""


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no graphs of CUDA."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Return no compilers."""
    return []


def set_stance(*args: Any, **kwargs: Any) -> AbstractContextManager[None]:
    """Do nothing: there is no compiler to choose."""
    return nullcontext()


vars(_dynamo).update(reset=reset, disable=disable, allow_in_graph=allow_in_graph, is_compiling=is_compiling)
