"""Backward: from gradients of results to gradients of leaves, node by node in the reverse order of their making.

A node's number is higher than those of all nodes that it depends on, so descending numbers are a topological order and
no recursion is needed: graphs may be as deep as memory allows. Leaves run as soon as their last contribution is there.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from contextvars import ContextVar
from functools import cache, cached_property, lru_cache
from operator import attrgetter
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_core.frontends import CAPTURING, STREAMS_CHOSEN, has_masks
from dispatch_core.interrupts import Leaving, by_subscript

from ..history.captures import check_hook, current_part
from ..history.grad_mode import enable_grad, no_grad
from ..history.graph_settings import anomaly_mode, node_observers
from ..history.metadata import Meta, is_plain, to_scalar_type
from ..history.node import Edge, Leaf, Node, Output
from ..names.lazy_names import Tensor
from .accumulation import accumulate, add_gradients
from .saved import check_cut

_sequence: Final = attrgetter("seq")
_Buffers = dict[Node, "list[Tensor | None]"]


class Run:
    """A backward that runs."""

    #: The callbacks that the user's functions have queued for its end.
    queued: Sequence[Callable[[], object]] = ()
    #: The nodes that it comes to, in their order, and its leaves.
    order: Sequence[Node] = ()
    leaves: Container[Node] = ()
    #: The nodes that run, and those whose gradients are asked for; None where all nodes run.
    needed: tuple[Container[Node], Container[Node]] | None = None

    @cached_property
    def notes(self) -> dict[object, Any]:
        """Notes of hooks on several tensors, until the run is over."""
        return {}

    def queue(self, callback: Callable[[], object]) -> None:
        """Call a function when it is over."""
        if isinstance(self.queued, list):
            self.queued.append(callback)
        else:
            self.queued = [callback]

    def reaches(self, node: Node) -> bool:
        """Return whether a gradient can come to a node, so that its hooks are called."""
        is_there = node in self.leaves or node in self.order
        return is_there and (self.needed is None or any(node in each for each in self.needed))


#: The backward that this thread or task runs; None outside of one.
_current: Final[ContextVar[Run | None]] = ContextVar("torchlike.backward_run", default=None)
_set_current: Final = by_subscript(_current.set)


def queue_callback(callback: Callable[[], object]) -> None:
    """Call a function when the backward that runs now is over; ``RuntimeError`` outside of one."""
    run = _current.get()
    if run is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    run.queue(callback)


def is_running() -> bool:
    """Return whether this thread or task runs backward."""
    return _current.get() is not None


def current_run() -> Run:
    """Return the backward that runs now, for the hooks that it calls."""
    run = _current.get()
    assert run is not None, "hooks are called by backward"
    return run


def execute(
    roots: Sequence[tuple[Edge, Tensor]],
    *,
    keep_graph: bool,
    create_graph: bool,
    captures: Sequence[Edge] | None = None,
    accumulates: bool = False,
) -> list[Tensor | None]:
    """Run backward, and then the functions that hooks and nodes have queued; see `_execute`."""
    run = Run()
    with _Backward(run):
        wanted = None if captures is None else _Captures(captures, accumulates)
        if not _run_compiled(roots, keep_graph, create_graph, wanted, run):
            with enable_grad() if create_graph else no_grad():  # a call alone: see Note [Where an interrupt falls]
                _execute(roots, keep_graph, create_graph, wanted, run)
        _call_queued(run)
    return [] if wanted is None else [wanted.found[edge] for edge in wanted.edges]


class _Backward(Leaving):
    """The block in which a backward runs; hooks that have entered blocks and not left them have left them after it."""

    __slots__ = ("_observers", "_outer", "_run")

    def __init__(self, run: Run) -> None:
        self._run, self._outer, self._observers = run, _current.get(), node_observers.get()

    def __enter__(self) -> None:
        _set_current[self._run]  # the last thing: see Note [Where an interrupt falls]

    def _leave(self) -> None:
        """Restore what was before; called again after an interrupt, it does the rest."""
        _current.set(self._outer)
        if node_observers.get() is not self._observers:
            # A hook has entered a block and not left it, or the other way round.
            for each in reversed(node_observers.get()):
                if each not in self._observers and (block := getattr(each, "block", None)) is not None:
                    block.__exit__()
            node_observers.set(self._observers)


def _call_queued(run: Run) -> None:
    for callback in run.queued:  # one may queue others
        callback()


def _run_compiled(
    roots: Sequence[tuple[Edge, Tensor]], keep_graph: bool, create_graph: bool, wanted: _Captures | None, run: Run
) -> bool:
    """Run backward in compiled code, and return whether that was possible; nothing is done where it is not."""
    compiled = _find_compiled()
    if compiled is None or CAPTURING or STREAMS_CHOSEN or Leaf.was_cut or anomaly_mode.get()[0]:
        return False
    return compiled(roots, keep_graph, create_graph, create_graph or has_masks(), run, wanted) is None


@cache
def _find_compiled() -> Callable[..., Any] | None:
    """Return the engine in compiled code, or None."""
    from .compiled_engine import make_compiled

    return make_compiled(
        run_hooks=_run_hooks, run_post_hooks=_run_post_hooks, fit=_fit_gradient, finish_leaf=_finish_leaf
    )


class _Captures:
    """The edges whose gradients are asked for, instead of those of all leaves."""

    def __init__(self, edges: Sequence[Edge], accumulates: bool) -> None:
        self.edges = [(edge.node, edge.output_nr) for edge in edges]
        self.found: dict[tuple[Node, int], Tensor | None] = dict.fromkeys(self.edges)
        self.nodes = {node for node, _ in self.edges}
        #: Whether the gradients are also added to ``.grad``: leaves take them, and nodes that are asked for run.
        self.accumulates = accumulates


def _execute(
    roots: Sequence[tuple[Edge, Tensor]], keep_graph: bool, create_graph: bool, wanted: _Captures | None, run: Run
) -> None:
    """Run backward from ``roots``, pairs of an edge and the gradient that enters there.

    Without captures gradients are accumulated into leaves; with them only the nodes that they need run, and their
    gradients are kept there (None where a gradient never arrives).
    """
    is_checked, refuses_nan = anomaly_mode.get()
    order, waiting, feeds = _sort_nodes([edge.node for edge, _ in roots], create_graph or is_checked or has_masks())
    run.order, run.leaves = order, waiting
    buffers: _Buffers = {}
    streams = _order_streams() if STREAMS_CHOSEN else None
    for edge, grad in roots:
        _add_gradient(buffers, edge, grad)
        if streams is not None:
            streams.begin(edge.node, grad)
    _check_capture(order, waiting)
    needed: set[Node] | None = None
    if wanted is not None:
        needed = _find_nodes_above(order, wanted.nodes)
        if wanted.accumulates:
            needed |= wanted.nodes
        run.needed = needed, wanted.nodes
    run_node = _run_node
    if is_checked:
        from .anomaly_mode import check

        run_node = check(_run_node, refuses_nan)
    if Leaf.was_cut:
        check_cut(order if needed is None else needed)
    for leaf in [leaf for leaf, count in waiting.items() if not count]:
        _finish_leaf(leaf, buffers, wanted, create_graph)
    try:
        for node in order:
            grads = buffers.pop(node, None)
            if grads is not None:
                runs = needed is None or node in needed
                is_wanted = wanted is not None and node in wanted.nodes
                if streams is not None:
                    streams.enter(node, grads, buffers)
                has_hooks = node.tensor_hooks is not None or node.retained is not None or node.pre_hooks is not None
                if is_wanted or (has_hooks and runs):
                    _run_hooks(node, grads, wanted, runs)
                if runs:
                    run_node(node, grads, buffers)
                    if not keep_graph:
                        node.release()
                if streams is not None:
                    streams.leave(node)
                    if is_wanted:
                        streams.come_to(node, grads)
                grads = None  # a leaf takes a gradient as its own that nothing else holds
            for leaf in feeds.get(node, ()):
                waiting[leaf] -= 1
                if not waiting[leaf]:
                    if streams is not None:
                        streams.come_to(leaf, buffers.get(leaf))
                    _finish_leaf(leaf, buffers, wanted, create_graph)
    finally:
        if streams is not None:
            streams.leave()


def _order_streams() -> Any:
    """Return what runs nodes on the streams of their forward calls."""
    from .stream_order import StreamOrder

    return StreamOrder()


def _sort_nodes(roots: list[Node], is_seen: bool) -> tuple[list[Node], dict[Node, int], dict[Node, list[Node]]]:
    """Return the nodes that can be reached, latest first, the number of edges to each leaf, and each node's leaves.

    Where their calls are observed (``is_seen``), short nodes are taken apart.
    """
    waiting: dict[Node, int] = {}
    feeds: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    stack = []
    for node in roots:
        if node.is_leaf:
            waiting.setdefault(node, 0)
        elif node not in seen:
            seen.add(node)
            stack.append(node)
    while stack:
        node = stack.pop()
        if node.is_short and (is_seen or not node.is_current()):
            node.take_apart()
        for edge in node.next:
            if edge is None:
                continue
            source = edge.node if isinstance(edge, Output) else edge
            if source in seen:
                continue
            if source.is_leaf:
                waiting[source] = waiting.get(source, 0) + 1
                feeds.setdefault(node, []).append(source)
            else:
                seen.add(source)
                stack.append(source)
    return sorted(seen, key=_sequence, reverse=True), waiting, feeds


def _check_capture(order: list[Node], leaves: Iterable[Node]) -> None:
    """Refuse a backward that a replay could not do again: through a graph made before, or with functions of the user's."""
    part = current_part()
    if part is None:
        return
    if order and order[-1].seq <= part.first:
        part.recording.refuse(
            "Backward runs through a graph that was made before the call", "compute the loss within the function, too"
        )
    for node in (*order, *leaves):
        on_results = [hook for hooks in (node.tensor_hooks or {}).values() for hook in hooks.values()]
        others = (node.pre_hooks, node.post_hooks, getattr(node, "post_accumulate", None))
        for hook in (*on_results, *[hook for hooks in others if hooks for hook in hooks.values()]):
            check_hook(hook, "A hook on a gradient,")


def _find_nodes_above(order: list[Node], goals: set[Node]) -> set[Node]:
    """Return the nodes below which a goal lies."""
    found: set[Node] = set()
    for node in reversed(order):
        for edge in node.next:
            source = edge.node if isinstance(edge, Output) else edge
            if source in goals or source in found:
                found.add(node)
                break
    return found


def _add_gradient(buffers: _Buffers, edge: Edge, grad: Tensor) -> None:
    """Add a gradient to those that have arrived at ``edge``."""
    node = edge.node
    arrived = buffers.get(node)
    if arrived is None:
        if node.metas is None:
            buffers[node] = [grad]
            return
        arrived = buffers[node] = [None] * node.outputs
    number = edge.output_nr
    before = arrived[number]
    arrived[number] = grad if before is None else add_gradients(before, grad)


def _run_hooks(node: Node, grads: list[Tensor | None], wanted: _Captures | None, runs: bool) -> None:
    """Run the hooks on the node's results, keep and capture their gradients; then those on the node, if it ``runs``."""
    if node.tensor_hooks is not None:
        for number, hooks in node.tensor_hooks.items():
            grad = grads[number]
            for hook in list(hooks.values()):
                changed = hook(grad)
                grad = grad if changed is None else _check_shape(grad, changed)
            grads[number] = grad
    if node.retained is not None and wanted is None:
        for number, state in node.retained.items():
            grad = grads[number]
            if grad is not None:
                state.grad = grad.clone() if state.grad is None else add_gradients(state.grad, grad)
    if wanted is not None:
        for number, grad in enumerate(grads):
            if (node, number) in wanted.found:
                wanted.found[node, number] = grad
    if runs and node.pre_hooks is not None:
        for hook in list(node.pre_hooks.values()):
            changed = hook(tuple(grads))
            if changed is not None:
                grads[:] = changed if isinstance(changed, (tuple, list)) else (changed,)


def _check_shape(grad: Tensor | None, changed: Tensor) -> Tensor:
    if grad is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if changed.shape != grad.shape:
        raise RuntimeError(
            f"hook '<hook>' has changed the size of value: got {list(changed.shape)}, expected {list(grad.shape)}"
        )
    return changed


def _run_node(node: Node, grads: list[Tensor | None], buffers: _Buffers) -> None:
    results = node.apply(grads)
    if node.post_hooks is not None:
        results = _run_post_hooks(node, results, grads)
    for edge, grad in zip(node.next, results, strict=True):
        if edge is None:
            continue
        if grad is None:
            # The node runs all the same: its hooks, and functions of the user's, see that no gradient came.
            if edge.node not in buffers:
                buffers[edge.node] = [None] * edge.node.outputs
            continue
        # Most edges are nodes of one result, or leaves: for them this is `get_meta` and `_add_gradient`, without the calls.
        single: Any = edge
        if type(edge) is Leaf:
            tensor = edge.tensor()
            meta = None if tensor is None or not edge.requires_grad else tensor._shape_and_dtype()
        elif isinstance(edge, Output) or edge.metas is not None:
            single, meta = None, edge.get_meta(edge.output_nr)
        else:
            meta = edge.get_meta(0) if edge.is_leaf else edge.meta
        if meta is not None:
            data = grad._dispatch_data
            found = (data.shape, data.dtype) if is_plain[type(data)] else grad._shape_and_dtype()
            if found != meta:
                index = next(number for number, each in enumerate(results) if each is grad)
                grad = _fit_gradient(grad, meta, node, index)  # noqa: PLW2901  # the fitted gradient takes its place
        if single is None or single in buffers:
            _add_gradient(buffers, edge, grad)
        else:
            buffers[single] = [grad]


def _run_post_hooks(node: Node, results: tuple[Any, ...], grads: list[Tensor | None]) -> tuple[Any, ...]:
    """Return the results of a node's call as the hooks after it leave them."""
    for hook in list((node.post_hooks or {}).values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results = changed if isinstance(changed, tuple) else (changed,)
    return results


def _fit_gradient(grad: Tensor, meta: Meta, node: Node, index: int) -> Tensor:
    """Reduce a gradient to the shape and dtype of its tensor."""
    shape, dtype = meta
    found_shape, found_dtype = grad._shape_and_dtype()
    if found_shape != shape:
        if not _can_expand_to(shape, found_shape):
            index -= getattr(node, "unnumbered", 0)
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {index} - got {list(found_shape)} "
                f"but expected shape compatible with {list(shape)}"
            )
        grad = sum_to(grad, shape)
    if found_dtype is not dtype and dc.dtype(grad) is not to_scalar_type(dtype):
        grad = cast(grad, to_scalar_type(dtype))
    return grad


def _can_expand_to(shape: tuple[int, ...], wide: tuple[int, ...]) -> bool:
    """Return whether ``shape`` broadcasts to ``wide``."""
    if len(shape) > len(wide):
        return False
    tail = wide[len(wide) - len(shape) :]
    return all(a in (1, b) for a, b in zip(shape, tail, strict=True))


@lru_cache(maxsize=1024)
def _find_repeated(wide: tuple[int, ...], shape: tuple[int, ...]) -> tuple[tuple[int, ...], bool, bool]:
    """Return the dimensions in which ``shape`` was repeated, whether they are kept, and whether the sum is reshaped."""
    lead = len(wide) - len(shape)
    inner = [lead + i for i, size in enumerate(shape) if size == 1 and wide[lead + i] != 1]
    # Without other dimensions to sum, the leading ones need not be kept.
    return (*range(lead), *inner), bool(inner), bool(lead and inner)


def sum_to(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Undo a broadcast: sum over the dimensions in which ``shape`` was repeated (source: ``Tensor.sum_to_size``)."""
    dims, keeps, is_reshaped = _find_repeated(tuple(dc.shape(grad)), tuple(shape))
    if dims:
        grad = dc.ops.aten.sum.dim_IntList(grad, list(dims), keeps)
    return grad.reshape(shape) if is_reshaped else grad


def cast(grad: Tensor, dtype: ScalarType) -> Tensor:
    """Convert a gradient to the dtype of its tensor; conversion to a real type takes the real part."""
    return grad.to(dtype)


def _finish_leaf(leaf: Node, buffers: _Buffers, wanted: _Captures | None, create_graph: bool) -> None:
    """Run a leaf's hooks on the sum of its contributions, and accumulate it unless its gradient is captured."""
    grads = buffers.pop(leaf, None)
    if grads is None or (wanted is not None and leaf not in wanted.nodes):
        return
    runs = wanted is None or wanted.accumulates
    if wanted is not None or leaf.tensor_hooks is not None or leaf.retained is not None or leaf.pre_hooks is not None:
        _run_hooks(leaf, grads, wanted, runs)
    if not runs:
        return
    # A first gradient becomes ``.grad`` itself.
    kept = None if leaf.post_hooks is None or leaf.grad is None else (grads[0],)
    if grads[0] is not None:
        accumulate(leaf, grads, create_graph)
    if leaf.post_hooks is not None:
        for hook in list(leaf.post_hooks.values()):
            hook((), (leaf.grad,) if kept is None else kept)
