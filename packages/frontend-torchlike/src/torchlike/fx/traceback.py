"""The ``meta`` that nodes take over from those that they are made of (source: ``torch.fx.traceback``)."""

from __future__ import annotations

import copy
import functools
import traceback as python_traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from .node import Node

__all__ = [
    "annotate",
    "annotate_fn",
    "copy_current_meta",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "set_current_meta",
    "set_stack_trace",
]

_F = TypeVar("_F", bound=Callable[..., Any])
#: Entries of ``meta`` that new nodes take over.
_COPIED: Final = (
    "nn_module_stack torch_fn source_fn_stack original_aten recompute ac_graph_id from_node quantization_tag custom"
    " partitioner_tag"
).split()
_meta: Final[ContextVar[dict[str, Any]]] = ContextVar("fx_current_meta")
_preserved: Final[ContextVar[bool]] = ContextVar("fx_preserve_node_meta", default=False)


@contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Copy the current node's ``meta`` to the nodes that are made within a block.

    >>> import torchlike
    >>> module = torchlike.fx.symbolic_trace(lambda x: x.relu())
    >>> for node in module.graph.nodes:
    ...     node.meta["custom"] = {"part": "head"}
    >>> with preserve_node_meta():
    ...     copied = torchlike.fx.Transformer(module).transform()
    >>> next(iter(copied.graph.find_nodes(op="call_method", target="relu"))).meta["custom"]
    {'part': 'head'}
    """
    outer_meta = _meta.set(dict(get_current_meta()))
    outer = _preserved.set(enable)
    try:
        yield
    finally:
        _preserved.reset(outer)
        _meta.reset(outer_meta)


def has_preserved_node_meta() -> bool:
    """Return whether new nodes take over ``meta``."""
    return _preserved.get()


def get_current_meta() -> dict[str, Any]:
    """Return the ``meta`` that new nodes take over."""
    return _meta.get({})


def set_stack_trace(stack: list[str]) -> None:
    """Give new nodes these lines of Python as their origin, where they take over ``meta``."""
    if _preserved.get() and stack:
        get_current_meta()["stack_trace"] = "".join(stack)


@contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Add entries to ``meta["custom"]`` of the nodes that are made within a block.

    >>> with preserve_node_meta(), annotate({"part": "head"}):
    ...     get_current_meta()["custom"]
    {'part': 'head'}
    """
    former = get_current_meta()
    outer = _meta.set({**former, "custom": {**former.get("custom", {}), **annotation_dict}})
    try:
        yield
    finally:
        _meta.reset(outer)


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[_F], _F]:
    """Return a decorator of functions that are called within `annotate`."""

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]  # it is called as the function is

    return decorate


@contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[dict[str, Any]]:
    """Make a node's ``meta`` that which new nodes take over, in a block, where they do so."""
    if not _preserved.get() or not node.meta:
        yield get_current_meta()
        return
    former = get_current_meta()
    joined = dict(node.meta)
    if "custom" in former or "custom" in joined:
        joined["custom"] = {**former.get("custom", {}), **joined.get("custom", {})}
    joined["from_node"] = [node]
    outer = _meta.set(joined)
    try:
        yield joined
    finally:
        _meta.reset(outer)


def copy_current_meta(node: Node) -> None:
    """Copy to a new node the ``meta`` that it takes over."""
    current = get_current_meta()
    if current.get("stack_trace"):
        node.stack_trace = current["stack_trace"]
    for name in _COPIED:
        if name in current:
            node.meta[name] = copy.copy(current[name])


def format_stack() -> list[str]:
    """Return the lines of Python that new nodes have as their origin, or those of this call."""
    if _preserved.get():
        return [str(get_current_meta().get("stack_trace", ""))]
    return python_traceback.format_list(python_traceback.extract_stack()[:-1])
