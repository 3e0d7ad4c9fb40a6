"""Graphs run node by node, and changed while they run (source: ``torch.fx.interpreter``)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..nn.modules.module import Module
from . import traceback as fx_traceback
from .attributes import read_attribute
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, Target, map_aggregate, map_arg
from .node_order import find_last_uses
from .proxy import Proxy
from .tracing.tracer import Tracer

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node; subclasses change how each kind of node is run (source: ``torch.fx.Interpreter``).

    Values are dropped after their last use, unless ``garbage_collect_values`` is False.

    >>> import torchlike
    >>> class Doubled(Interpreter):
    ...     def call_method(self, target, args, kwargs):
    ...         return 2 * super().call_method(target, args, kwargs)
    >>> module = torchlike.fx.symbolic_trace(lambda x: x.relu())
    >>> Doubled(module).run(torchlike.tensor([-1.0, 1.0]))
    tensor([0., 2.])
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph  # type: ignore[assignment]  # the module runs one
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses = find_last_uses(self.graph.nodes) if garbage_collect_values else {}

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """Run the graph and return its result.

        ``initial_env`` has values of nodes that are not run; without ``enable_io_processing`` the arguments are those of the
        placeholders, and the result the output's. An error of a node tells which node it was.
        """
        self.env = {} if initial_env is None else initial_env
        self.args_iter: Iterator[Any] = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if not self.extra_traceback:
                    raise
                where = f"While executing {node.format_node()}\nOriginal traceback:\n{node.stack_trace}"
                error.args = (f"{error.args[0]}\n\n{where}" if error.args else where, *error.args[1:])
                if isinstance(error, KeyError):
                    raise RuntimeError(*error.args) from error
                raise
            for used in self.user_to_last_uses.get(node, ()):
                del self.env[used]
            if node.op == "output":
                value = self.env[node]
                return self.graph.process_outputs(value) if enable_io_processing else value
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph with the values of the placeholders in a list, which is emptied."""
        nodes = self.graph.find_nodes(op="placeholder")
        if len(args_list) != len(nodes):
            detail = "extra arguments" if len(args_list) > len(nodes) else "missing arguments"
            raise RuntimeError(
                f"Interpreter.boxed_run expected {len(nodes)} arguments for placeholders but received "
                f"{len(args_list)} ({detail})"
            )
        env = dict(zip(nodes, args_list, strict=True))
        args_list.clear()
        return self.run(initial_env=env)

    @contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"):
            yield

    def run_node(self, n: Node) -> Any:
        """Run one node and return its value: the method named by its kind is called with its target and its arguments."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the next argument, or the default; raises ``RuntimeError`` where there is neither."""
        assert isinstance(target, str), f"Expected target to be str, got {type(target)}"
        if target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return an attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        assert not isinstance(target, str), "target should not be a string for call_function"
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of the first argument."""
        assert isinstance(target, str), f"Expected target to be str, got {type(target)}"
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a submodule."""
        assert isinstance(target, str), f"Expected target to be str, got {type(target)}"
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return the attribute at a path of the module; raises ``RuntimeError`` where there is none."""
        return read_attribute(self.module, target)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a node as values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Return arguments with the value of each node in them; raises ``RuntimeError`` for one that has none yet."""

        def load(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, load)


class Transformer(Interpreter):
    """Makes another module of a module with a graph; subclasses change its nodes (source: ``torch.fx.Transformer``).

    >>> import torchlike
    >>> class Sigmoids(Transformer):
    ...     def call_method(self, target, args, kwargs):
    ...         return super().call_method("sigmoid" if target == "relu" else target, args, kwargs)
    >>> module = torchlike.fx.symbolic_trace(lambda x: x.relu())
    >>> Sigmoids(module).transform()(torchlike.zeros(1))
    tensor([0.5000])
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            """Adds to the new graph, in which all submodules are steps of their own."""

            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}

            def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
                """Return True."""
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add an input, and return its proxy."""
        assert isinstance(target, str), f"Expected target to be str, got {type(target)}"
        default = args[0] if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add an attribute of the module, and return its proxy."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add a call of a submodule, and return its proxy."""
        module = self.fetch_attr(str(target))
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add a call of a function, and return its proxy."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return the new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            new = self.new_graph.output(
                map_aggregate(result, lambda each: each.node if isinstance(each, Proxy) else each)
            )
            new.meta.update(self.graph.output_node().meta)
        return GraphModule(self.module, self.new_graph)
