"""Nodes that represent those of a composite's parts, where one function on arrays computes what all of them would.

Note [A short node is taken apart when it is looked at]
    A composite such as ``linear`` makes a node for each operator that it calls. Where the device has a short way with a
    gradient (`dispatch_core.operators.candidates`), one node serves for all of them. Programs cannot tell: the node is
    taken apart, into the nodes that the usual way makes, when a program asks for it or a node that leads to it, and when a
    backward begins that is profiled, traced, recorded in a pipeline or for backward again, or checked for anomalies. It
    becomes the last of those nodes, so those who hold it see no change; the others get numbers just below its own. The
    usual way runs for that once more, in a context without masks. Operators whose nodes are always taken apart go the
    usual way for most calls.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from functools import partial
from threading import RLock
from typing import Any, ClassVar, Final

import numpy as np

from dispatch_core.calls import define, describe_front, indent, make_function
from dispatch_core.frontends import array_types
from dispatch_core.keys import AUTOGRAD, DispatchKey, exclude_keys

from ...history.device_keys import AUTOGRAD_BITS
from ...history.grad_mode import is_grad_enabled
from ...history.node import Leaf, Node, next_sequence, sequence
from ...history.views import View
from ...tensors.tensor import Tensor, bare
from ..saved import NO_HISTORY, make_released_error, make_version_error, read_state, read_version
from .derivative import list_parameters
from .kernel_source import write_edges, write_version
from .kernels import format_node_name
from .recordings import describe_short

#: How many calls go the usual way after a node was taken apart.
_USUAL: Final = 32
#: Attributes of a short node that go when it is taken apart.
_OF_CALLS: Final = frozenset({"call", "kept", "next", "versions"})
_TAKING_APART: Final = RLock()


class _Released:
    """The facts of an argument once it was freed: enough to make nodes of the same kind."""

    __slots__ = ("dtype", "shape")

    def __init__(self, tensor: Tensor) -> None:
        self.shape, self.dtype = tensor._shape_and_dtype()


class ShortNode(Node):
    """A node instead of several; see Note [A short node is taken apart when it is looked at]."""

    is_short = True
    #: The arguments of the call, and the versions of those that are tensors; values that the device's formula keeps.
    call: tuple[Any, ...]
    versions: tuple[int, ...]
    kept: Any
    #: The places of the tensors among the arguments.
    places: ClassVar[tuple[int, ...]]
    #: And those of the tensors that backward needs.
    keeps: ClassVar[tuple[int, ...]]
    #: Which of the tensors backward needs, and for the gradients of which.
    users: ClassVar[dict[int, tuple[int, ...]]]
    usual: ClassVar[Callable[..., Any]]
    below: ClassVar[int]
    #: How many of the next calls go the usual way.
    debt: ClassVar[list[int]]
    #: The operator, and the number of its registrations that the node's kernel is for.
    op: ClassVar[Any]
    generation: ClassVar[int]

    @property
    def grad_fn(self) -> Node:
        return self.take_apart()

    @property
    def known_grad_fn(self) -> Node:
        return self

    @property
    def saved(self) -> Any:
        """The arguments that backward needs, None once they were freed."""
        return None if self.kept is None else tuple(self.call[place] for place in self.keeps)

    def is_current(self) -> bool:
        """Return whether calls of the operator still take the short way."""
        return bool(self.generation == self.op.generation)

    def release(self) -> None:
        self.kept = None
        self.call = tuple(_Released(each) if isinstance(each, Tensor) else each for each in self.call)

    def take_apart(self) -> Node:
        """Become the last of the nodes that the usual way makes, unless backward's values were changed since."""
        with _TAKING_APART:
            return self._take_apart() if self.is_short else self  # another thread may have been faster

    def _is_needed(self, number: int) -> bool:
        """Return whether backward needs the tensor of a number among the tensors."""
        return any(self.next[user] is not None for user in self.users.get(number, ()))

    def _take_apart(self) -> Node:
        values, start = list(self.call), next_sequence()
        for number, (place, version, edge) in enumerate(zip(self.places, self.versions, self.next, strict=True)):
            value = values[place]
            if isinstance(value, _Released):
                values[place] = _stand_in(np.zeros(value.shape, value.dtype), self.below, edge)
            elif value is None:
                continue
            elif read_version(value) != version and self._is_needed(number):
                return self
            elif _edge_of(value) is not edge:
                values[place] = _stand_in(value._dispatch_data, self.below, edge)
        self.debt[0] = _USUAL
        off = [edge for edge in self.next if isinstance(edge, Leaf) and not edge.requires_grad]
        for leaf in off:  # one that requires grad no more keeps its place in graphs
            leaf.requires_grad = True
        try:
            made = Context().run(self._call_usual, values)
        finally:
            for leaf in off:
                leaf.requires_grad = False
        self._become(made._state.edge.node, start)
        return self

    def _call_usual(self, values: list[Any]) -> Any:
        with exclude_keys(DispatchKey.Tracer):  # under masks there are no short ways, for the parts either
            return self.usual(*values)

    def _become(self, last: Node, start: int) -> None:
        found, stack = [], [last]
        seen = {last}
        while stack:
            node = stack.pop()
            found.append(node)
            for edge in node.next:
                if edge is not None and not edge.node.is_leaf and edge.node.seq > start and edge.node not in seen:
                    seen.add(edge.node)
                    stack.append(edge.node)
        found.sort(key=lambda node: node.seq)
        for number, node in enumerate(found, 1):
            node.seq = self.seq - 1 + number / len(found)
            if self.kept is None:
                node.release()
        own = {name: value for name, value in vars(self).items() if name not in _OF_CALLS}
        self.__dict__ = vars(last) | own
        self.__class__ = type(last)  # type: ignore[assignment]  # both are plain classes

    def recompute(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the inputs by the usual way, run once more on arguments without a history."""
        from ..engine import execute

        values, edges = list(self.call), []
        for number, (place, version, edge) in enumerate(zip(self.places, self.versions, self.next, strict=True)):
            value = values[place]
            if value is not None and read_version(value) != version and self._is_needed(number):
                raise make_version_error(value, version)
            if edge is not None:
                leaf = Leaf()
                leaf.requires_grad = True
                values[place] = _stand_in(value._dispatch_data, self.below, leaf)
                leaf.tensor = lambda tensor=values[place]: tensor  # type: ignore[misc]  # as a weak reference would
                edges.append(leaf)
        made = Context().run(self._call_usual, values)
        found = iter(execute([(made._state.edge, grad)], keep_graph=False, create_graph=False, captures=edges))
        return tuple(None if edge is None else next(found) for edge in self.next)


def _stand_in(data: Any, below: int, edge: Any) -> Tensor:
    tensor = bare()
    tensor._dispatch_data, tensor._dispatch_mask = data, below
    if edge is not None:
        tensor._dispatch_mask = below | AUTOGRAD_BITS[below]
        tensor._autograd = edge
    return tensor


def _edge_of(tensor: Tensor) -> Any:
    if not tensor._dispatch_mask & AUTOGRAD:
        return None
    state = read_state(tensor)
    return state.edge if state.requires_grad else None


def _write_kernel(parameters: str, tensors: dict[str, str], keeps: dict[str, tuple[str, ...]]) -> str:
    """Return the source of the kernel; ``tensors`` are the arguments that are tensors, with their kinds."""
    optional = {name for name, kind in tensors.items() if kind == "optional"}
    arrays = {name: f"{name}._dispatch_data" for name in tensors}
    arrays |= {name: f"None if {name} is None else {arrays[name]}" for name in optional}
    given = ", ".join(arrays.get(name, name) for name in parameters.split(", "))
    usual = f"return _usual({parameters})"
    recorded = ["if _debt[0]:", "    _debt[0] -= 1", f"    {usual}"]
    for name, users in keeps.items():
        # A result that no gradient needs, such as the input of a layer that is not trained, is not kept alive.
        unused = " and ".join(f"e_{user} is None" for user in users)
        recorded += [f"if {unused} and e_{name} is not None and not e_{name}.node.is_leaf:", f"    {usual}"]
    # The usual way raises its own errors, outside of the handler, which would be their context.
    recorded += ["try:", f"    _f = _forward({given})", "except Exception:", "    _f = NotImplemented"]
    recorded += ["if _f is NotImplemented:", f"    {usual}"]
    recorded += [line for name in tensors for line in write_version(name)]
    recorded += ["_n = Node_()", f"_n.next = ({', '.join(f'e_{name}' for name in tensors)},)"]
    recorded += ["_n.seq = _next(_sequence)", f"_n.call = ({parameters},)"]
    recorded += [f"_n.versions = ({', '.join(f'v_{name}' for name in tensors)},)"]
    recorded += ["_r = _bare()", "_d, _n.kept = _f", "_n.meta = _d.shape, _d.dtype"]
    recorded += ["_r._dispatch_data, _r._dispatch_mask, _r._autograd = _d, RECORDED, _n", "return _r"]
    wanted = " or ".join(f"e_{name} is not None" for name in tensors)
    body = [*write_edges(tensors, (), optional), f"if {wanted}:", *indent(recorded)]
    return define(f"kernel({parameters})", ["if _grad_enabled():", *indent(body), f"return _short({parameters})"])


def _write_apply(parameters: str, tensors: list[str], keeps: dict[str, tuple[str, ...]]) -> str:
    """Return the source of ``apply``: check backward's values, and compute all gradients at once."""
    lines = ["grad = grads[0]", "if grad is None:", f"    return (None,) * {len(tensors)}"]
    lines += ["if node.kept is None:", "    raise make_released_error()"]
    lines += [f"{parameters}, = node.call", f"{', '.join(f'before_{name}' for name in tensors)}, = node.versions"]
    lines += [f"{', '.join(f'w_{name}' for name in tensors)}, = wanted = node.next"]
    for name, users in keeps.items():
        check = [*write_version(name), f"if v_{name} != before_{name}:"]
        check += [f"    raise make_version_error({name}, before_{name})"]
        lines += [f"if {' or '.join(f'w_{user} is not None' for user in users)}:", *indent(check)]
    lines += ["if type(grad._dispatch_data) is not ARRAY:", "    return node.recompute(grad)"]
    lines += ["try:", "    found = backward(node.kept, grad._dispatch_data, wanted)", "except Exception:"]
    lines += ["    found = NotImplemented", "if found is NotImplemented:", "    return node.recompute(grad)"]
    for number, name in enumerate(tensors):
        made = [f"g_{name} = bare()", f"g_{name}._dispatch_data, g_{name}._dispatch_mask = found[{number}], BELOW"]
        lines += [f"g_{name} = None", f"if w_{name} is not None:", *indent(made)]
    return define("apply(node, grads)", [*lines, f"return ({', '.join(f'g_{name}' for name in tensors)},)"])


def make_runner(op: Any, mask: int, gradient: Any, usual: Callable[..., Any], short: Callable[..., Any]) -> Any:
    """Make the runner of an operator whose short way has a gradient, for calls with an Autograd key in ``mask``."""
    schema, below = op.schema, mask & ~AUTOGRAD
    tensors = {each.argument.name: each.kind for each in schema.tensor_arguments}
    (array,) = (known.type for known in array_types(mask))
    parameters, names = list_parameters(schema), list(tensors)
    read = {"make_version_error": make_version_error, "_read_version": read_version}
    apply = make_function(
        _write_apply(parameters, names, gradient.keeps),
        f"short backward of {op.name}",
        {**read, "make_released_error": make_released_error, "ARRAY": array, "BELOW": below, "bare": bare}
        | {"backward": gradient.backward},
    )
    places = [argument.name for argument in schema.arguments]
    body = {"apply": apply, "places": tuple(places.index(name) for name in names), "usual": staticmethod(usual)}
    body |= {"keeps": tuple(map(places.index, gradient.keeps)), "below": below, "debt": [0]}
    body["users"] = {names.index(name): tuple(map(names.index, users)) for name, users in gradient.keeps.items()}
    body |= {"op": staticmethod(op), "generation": op.generation}
    cls: Any = type(format_node_name(op.name), (ShortNode,), body)
    scope = {
        **read,
        "_grad_enabled": is_grad_enabled,
        "_debt": cls.debt,
        "_usual": usual,
        "_short": short,
        "Node_": cls,
    }
    scope |= {"_forward": gradient.forward, "_next": next, "_sequence": sequence, "_bare": bare, "View": View}
    scope |= {"AUTO": mask & AUTOGRAD, "RECORDED": below | AUTOGRAD_BITS[below], "NO_HISTORY": NO_HISTORY}
    kernel = make_function(_write_kernel(parameters, tensors, gradient.keeps), f"short autograd of {op.name}", scope)
    if describe_front()[0]:
        scope["_recording"] = partial(describe_short, gradient, names, scope)
    return kernel
