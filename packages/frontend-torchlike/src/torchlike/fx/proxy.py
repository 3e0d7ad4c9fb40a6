"""Proxies: values that record the operations that they go through (source: ``torch.fx.proxy``)."""

from __future__ import annotations

import copy
import dis
import enum
import operator
import sys
import traceback as python_traceback
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import FrameType
from typing import Any, Final

from ..nn.parameter import Parameter
from ..tensors.tensor import Tensor
from . import traceback as fx_traceback
from .graph import Graph, magic_methods, reflectable_magic_methods
from .node import Node, Target, base_types, map_aggregate, map_arg
from .operator_schemas import check_for_mutable_operation
from .targets import is_overload, is_packet

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]

_OWN_FOLDER: Final = __file__.rpartition("proxy.py")[0]


class Scope:
    """The module that is being called: its path and its class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Makes a scope that of another module in a block."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope, self._prev_scope = scope, copy.copy(scope)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: object) -> None:
        self._scope.module_path, self._scope.module_type = self._prev_scope.module_path, self._prev_scope.module_type


class TraceError(ValueError):
    """Python code that cannot be traced: it asks a proxy for a value that is known only when the graph runs."""


class TracerBase:
    """Makes nodes of operations on proxies (source: ``torch.fx.proxy.TracerBase``)."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: OrderedDict[str, tuple[str, Any]]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node to the graph, and note the modules in whose calls it was made."""
        if kind == "call_function" and self.check_mutable_operations:
            check_for_mutable_operation(target, args, kwargs)  # type: ignore[arg-type]  # the target of such a node is one
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if fx_traceback.has_preserved_node_meta():
            fx_traceback.copy_current_meta(node)
        elif self.module_stack:
            node.meta["nn_module_stack"] = copy.copy(self.module_stack)
        if self.record_stack_traces and not node.stack_trace:
            lines = _user_lines(sys._getframe(1))
            if lines:
                node.stack_trace = lines
        return node

    def proxy(self, node: Node) -> Proxy:
        """Return the proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a node whose arguments may have proxies among them, and return its proxy."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def _find_user_frame(self) -> FrameType | None:
        """Return the frame of the innermost line that is not of this package."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_OWN_FOLDER):
            frame = frame.f_back
        return frame

    def create_arg(self, a: Any) -> Any:
        """Return a value as an argument of a node: proxies become nodes, in containers, too.

        Raises ``NotImplementedError`` for a value that no node can have, ``RuntimeError`` for a dict with a node in a key.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = [self.create_arg(each) for each in a]
            if hasattr(a, "_fields"):
                return type(a)(*parts)
            return tuple(parts) if type(a) is tuple or any(isinstance(each, Node) for each in parts) else type(a)(parts)
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            return {self._create_key(key): self.create_arg(each) for key, each in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if is_overload(a) or is_packet(a):
            return a
        if is_dataclass(a) and not isinstance(a, type):
            values = {field.name: self.create_arg(getattr(a, field.name)) for field in fields(a)}
            return self.create_node("call_function", type(a), (), values)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _create_key(self, key: Any) -> Any:
        if isinstance(key, str):
            return key
        key = self.create_arg(key)

        def refuse(node: Node) -> Any:
            raise RuntimeError(f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {node}")

        map_arg(key, refuse)
        return key

    def to_bool(self, obj: Proxy) -> bool:
        """Raise `TraceError`: the truth of a proxy is not known; a subclass may answer."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Raise `TraceError`: the length of a proxy is not known; a subclass may answer."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types "
            "of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """Return the keys of a proxy, for a call with ``**``: a proxy of its method's result; a subclass may answer."""
        return Attribute(obj, "keys")()


def _user_lines(frame: FrameType | None) -> str:
    """Return the lines of a program that led to a call, from its first ``forward`` on."""
    frames = [each for each in python_traceback.extract_stack(frame) if not each.filename.startswith(_OWN_FOLDER)]
    start = next((index for index, each in enumerate(frames) if each.name == "forward"), len(frames))
    return "".join(python_traceback.StackSummary.from_list(frames[start:]).format()).strip()


class GraphAppendingTracer(TracerBase):
    """Adds to a graph the operations on proxies of its nodes."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.node_name_to_scope = {}


def assert_fn(x: object) -> None:
    """Raise ``AssertionError`` where a value is not true."""
    if not x:
        raise AssertionError("Assertion failed")


def _find_instruction(frame: FrameType) -> tuple[list[dis.Instruction], int]:
    """Return the instructions of a frame's code, and the index of the one that runs."""
    instructions = list(dis.get_instructions(frame.f_code))
    return instructions, bisect_left(instructions, frame.f_lasti, key=lambda each: each.offset)


def _is_asserted(frame: FrameType) -> bool:
    """Return whether a frame asks for a truth in order to raise ``AssertionError`` where it is false."""
    instructions, at = _find_instruction(frame)
    jumps = [
        index for index in range(at, min(at + 4, len(instructions))) if "JUMP_IF_TRUE" in instructions[index].opname
    ]
    return bool(jumps) and instructions[jumps[0] + 1].opname in ("LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT")


class Proxy:
    """The value of a node, which records what is done with it (source: ``torch.fx.Proxy``).

    Functions of this library, operators, methods and attributes add nodes to the graph. Its truth and its length are
    not known, so it cannot decide a condition (`TraceError`).

    >>> import torchlike
    >>> graph = torchlike.fx.Graph()
    >>> x = Proxy(graph.placeholder("x"))
    >>> y = (x + 1).relu()
    >>> y, list(graph.nodes)
    (Proxy(relu), [x, add, relu])
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k.startswith("_dispatch_"):  # the dispatcher asks whether it is a tensor
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {k!r}", name=k, obj=self)
        # A method's call becomes one node, so nothing is recorded yet.
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        copied = Proxy.__new__(Proxy)
        for name, value in self.__dict__.items():
            try:
                copied.__dict__[name] = copy.deepcopy(value, memo)
            except Exception:  # noqa: BLE001  # what cannot be copied is shared
                copied.__dict__[name] = copy.copy(value)
        return copied

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        instructions, at = _find_instruction(frame)
        if instructions[at].opname == "UNPACK_SEQUENCE":  # the program says how many there are
            return iter([self[index] for index in range(instructions[at].argval)])  # type: ignore[index]  # it is set below
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _is_asserted(sys._getframe(1)):
            self.tracer.create_proxy("call_function", assert_fn, (self,), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Return the keys for a call with ``**``, as the tracer answers."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None
    ) -> Any:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def note(value: Any) -> Any:
            if isinstance(value, cls):
                tracers[value.tracer] = None
            return value

        map_aggregate((args, kwargs), note)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        tracer = next(iter(tracers))
        name = getattr(orig_method, "__name__", "")
        if _is_method(orig_method):
            if name in ("__get__", "__set__") and hasattr(orig_method, "__self__"):
                name = getattr(orig_method.__self__, "__name__", name)
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy(
            "call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(orig_method)
        )


def _is_method(function: Any) -> bool:
    """Return whether a function is a method or a property of tensors, and not also a function."""
    qualified = getattr(function, "__qualname__", "")
    return qualified.startswith("Tensor.") or isinstance(getattr(function, "__self__", None), property)


class Attribute(Proxy):
    """An attribute of a proxy: a method that will be called, or else a value, whose node is made when it is used."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr = root, attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]  # made at its first use
        """The node of the value."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter's proxy that knows the parameter's shape, so that conditions on it can be decided."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Parameter) -> None:
        super().__init__(node, tracer)
        assert isinstance(param, Parameter), f"Expected Parameter, got {type(param)}"
        self.param: Tensor = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape."""
        return self.param.shape

    def size(self) -> Any:
        """Return the parameter's shape."""
        return self.param.size()

    def dim(self) -> int:
        """Return the parameter's number of dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The parameter's number of dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """Return how many elements the parameter has."""
        return self.param.numel()

    def nelement(self) -> int:
        """Return how many elements the parameter has."""
        return self.param.numel()


def _make_operator(name: str) -> Callable[..., Proxy]:
    target = getattr(operator, name)

    def apply(*args: Any, **kwargs: Any) -> Proxy:
        tracer: TracerBase = args[0].tracer
        return tracer.create_proxy("call_function", target, args, kwargs)

    return apply


def _make_reflected(name: str) -> Callable[[Proxy, Any], Proxy]:
    target = getattr(operator, name)

    def apply(self: Proxy, left: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (left, self), {})

    return apply


def _add_operators() -> None:
    """Give proxies Python's operators."""
    for prefix, names, make in (("", magic_methods, _make_operator), ("r", reflectable_magic_methods, _make_reflected)):
        for name in names:
            if hasattr(operator, name):
                method: Any = make(name)
                method.__name__ = f"__{prefix}{name.strip('_')}__"
                method.__qualname__ = f"Proxy.{method.__name__}"
                setattr(Proxy, method.__name__, method)


_add_operators()
