"""The layer that sees the nodes of the graph as they are made, for hooks on saved tensors and for anomaly mode.

A fallback under ``PythonTLSSnapshot``, which the context managers include: other calls pay nothing. A composite
operator's parts go through it too, so every node is seen, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final, TypeAlias

import dispatch_core as dc

from ..history.captures import refuse
from ..history.graph_settings import node_observers, refused_by_captures, write_observers
from ..history.node import Node, TensorState, next_sequence
from .inplace import CopySlices
from .rules.fallback import find_tensors

Observer: TypeAlias = Callable[[Node, Sequence[Any]], None]

KEY: Final = dc.DispatchKey.PythonTLSSnapshot


def _run_observed(keyset: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a call below the layer, and show the nodes that it made to the observers (the boxed fallback)."""
    if refused_by_captures():
        refuse("A hook on saved tensors, or anomaly mode, is on", "leave its block: a replay shows no nodes to it")
    if watchers := write_observers.get():
        with dc.exclude_keys(KEY):
            _show_written(op, args, kwargs, watchers)
    before = next_sequence()
    result = op.redispatch(keyset - KEY, *args, **kwargs)
    if observers := node_observers.get():
        results = list(find_tensors(result if isinstance(result, (list, tuple)) else (result,)))
        for node in dict.fromkeys(each for tensor in results for each in _list_nodes(tensor)):
            if node is not None and node.seq > before and not node.was_observed:
                node.was_observed = True
                show(node, results, observers)
    return result


def _list_nodes(tensor: Any) -> Iterator[Node | None]:
    """Yield the nodes that may be those of the call that gave a tensor: of a view that was written to, its base's, too."""
    state = getattr(tensor, "_autograd", None)
    if isinstance(state, TensorState):
        yield state.known_grad_fn
        base: Any = getattr(state, "base", None) if state.is_view else None
        if base is not None and isinstance(node := base._state.known_grad_fn, CopySlices):
            yield node
            yield node.fn


def _show_written(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], watchers: tuple[Callable[[Any], Any], ...]
) -> None:
    for number, argument in enumerate(op.schema.arguments):
        if argument.is_write:
            value = args[number] if number < len(args) else kwargs.get(argument.name)
            for tensor in find_tensors([value]):
                for watch in watchers:
                    watch(tensor)


def show(node: Node, results: Sequence[Any], observers: tuple[Observer, ...]) -> None:
    """Show a new node and the results of its call to observers; their own calls are not observed."""
    alone = [observer for observer in observers if getattr(observer, "is_alone", False)]
    called = [observer for observer in observers if observer not in alone[:-1]]
    with dc.exclude_keys(KEY):
        for observer in called:
            observer(node, results)


@contextmanager
def observe(observer: Observer) -> Iterator[None]:
    """Tell ``observer`` of every node that this thread or task makes in the block."""
    token = node_observers.set((*node_observers.get(), observer))
    try:
        with ExitStack() as stack:
            stack.enter_context(dc.include_keys(KEY))
            yield
    finally:
        node_observers.reset(token)


_library: Final = dc.Library("_", "IMPL")
with dc.registry.transaction(level="backend"):
    _library.fallback(_run_observed, KEY, with_keyset=True)
