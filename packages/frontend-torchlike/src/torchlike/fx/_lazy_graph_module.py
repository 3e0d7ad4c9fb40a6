"""Modules with graphs, made at once (source: ``torch.fx._lazy_graph_module``, where their code may be made later)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .graph_module import GraphModule

__all__ = ["_make_graph_module", "_use_lazy_graph_module"]


def _make_graph_module(*args: Any, graph_module_cls: type[GraphModule] | None = None, **kwargs: Any) -> GraphModule:
    """Return a `GraphModule`, or a module of another class, with the arguments of its class."""
    return (graph_module_cls or GraphModule)(*args, **kwargs)


@contextmanager
def _use_lazy_graph_module(should_use: bool) -> Iterator[None]:
    """Do nothing within a block: code is made when a graph is."""
    yield
