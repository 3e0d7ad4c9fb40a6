"""Graphs: programs of nodes that become Python code (source: ``torch.fx.graph``)."""

from __future__ import annotations

import contextlib
import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from ..names.lazy_names import import_lazily
from .attributes import check_target, has_reference
from .generation.code import BoxedCodeGen as _BoxedCodeGen
from .generation.code import CodeGen, PythonCode, TransformCodeFunc
from .generation.literals import custom_builtins as _custom_builtins
from .generation.literals import register_custom_builtin as _register_custom_builtin
from .generation.literals import write_path as _format_target
from .generation.namespace import UniqueNames as _Namespace
from .generation.signs import INPLACE_METHODS as inplace_methods  # noqa: N811  # torch's names
from .generation.signs import MAGIC_METHODS as magic_methods  # noqa: N811
from .generation.signs import REFLECTABLE_MAGIC_METHODS as reflectable_magic_methods  # noqa: N811
from .generation.trees import PyTreeCodeGen as _PyTreeCodeGen
from .generation.trees import PyTreeInfo as _PyTreeInfo
from .immutable_collections import immutable_dict
from .node import LEGAL_OPS, Node, Target, map_arg
from .node_order import InsertPoint, LookupTable, NodeList
from .targets import name_base
from .targets import snake_case as _snake_case

if TYPE_CHECKING:
    from .graph_module import GraphModule
else:
    GraphModule = import_lazily("torchlike.fx.graph_module", "GraphModule")

__all__ = [
    "CodeGen",
    "Graph",
    "PythonCode",
    "_BoxedCodeGen",
    "_Namespace",
    "_PyTreeCodeGen",
    "_PyTreeInfo",
    "_custom_builtins",
    "_format_target",
    "_register_custom_builtin",
    "_snake_case",
    "inplace_methods",
    "magic_methods",
    "reflectable_magic_methods",
]


class Graph:
    """A program of nodes, from placeholders to one output (source: ``torch.fx.Graph``).

    It is made by `symbolic_trace`, or node by node; a `GraphModule` runs it.

    >>> import torchlike
    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(torchlike.add, (x, 1))
    >>> out = graph.output(y)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %add : [num_users=1] = call_function[target=torchlike.add](args = (%x, 1), kwargs = {})
        return add
    >>> torchlike.fx.GraphModule({}, graph)(torchlike.ones(2))
    tensor([2., 2.])
    """

    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: type | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}
        self._find_nodes_lookup_table = LookupTable()

    @property
    def owning_module(self) -> GraphModule | None:
        """The module that runs the graph."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: GraphModule | None) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> NodeList:
        """The nodes, in order."""
        return NodeList(self)

    def output_node(self) -> Node:
        """Return the last node, which is the output; raises ``AssertionError`` where there is none yet."""
        node = next(iter(reversed(self.nodes)), self._root)
        assert node.op == "output", f"Expected output node, got op={node.op}"
        return node

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Return the nodes of a kind, with this target if one is given (source: ``Graph.find_nodes``).

        They come in the graph's order unless ``sort`` is False; functions are found without a walk through the graph.

        >>> import torchlike
        >>> graph = torchlike.fx.symbolic_trace(lambda x: x.relu() + x.relu()).graph
        >>> graph.find_nodes(op="call_method", target="relu")
        [relu, relu_1]
        """
        found = self._find_nodes_lookup_table.find_nodes(op=op, target=target)
        return sorted(found) if sort else found

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copy the nodes of another graph to the place for new ones, and return the value of its output.

        ``val_map`` gets the copy of each node; nodes that it has are not copied. With ``return_output_node``, a pair of
        the value and the other graph's output comes back; None where it has no output.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda each: val_map[each])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda each: val_map[each])
        return None

    def __deepcopy__(self, memo: dict[Any, Any] | None = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        value_of: dict[Any, Any] = {} if memo is None else memo
        output = copied.graph_copy(self, value_of, return_output_node=True)
        copied._codegen = copy.deepcopy(self._codegen)
        if output is not None:
            value, old = output
            copied.output(value, type_expr=old.type).meta = copy.copy(old.meta)
        return copied

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node at the place for new ones, which is the end unless a block chose another.

        ``name`` is made unique. Raises ``AssertionError`` for an unknown kind and for arguments that are not a tuple and
        a dict, ``ValueError`` for a target that is not a function where one is called, or not a string elsewhere.

        >>> graph = Graph()
        >>> graph.create_node("placeholder", "x"), graph.create_node("placeholder", "x", name="x")
        (x, x_1)
        """
        args = args or ()
        assert isinstance(args, tuple), f"args must be a tuple, got {type(args)}"
        assert isinstance(kwargs or {}, dict), f"kwargs must be a dict, got {type(kwargs)}"
        unique = self._graph_namespace.create_name(self._target_to_str(target) if name is None else name, None)
        node = Node(self, unique, op, target, args, kwargs or immutable_dict(), type_expr)
        self._call_hooks("_create_node_hooks", node)
        self._graph_namespace.associate_name_with_obj(unique, node)
        self._insert(node)
        self._find_nodes_lookup_table.insert(node)
        self._len += 1
        return node

    def _call_hooks(self, name: str, node: Node) -> None:
        for hook in getattr(self._owning_module, name, None) or ():
            hook(node)

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the placeholders for the arguments of a call: the leaves, where those are containers."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Return the result of a call for the value of the output."""
        return self._codegen.process_outputs(out)

    def erase_node(self, to_erase: Node) -> None:
        """Remove a node that no other one uses; raises ``RuntimeError`` where one does, or for a node of another graph.

        >>> graph = Graph()
        >>> graph.erase_node(graph.placeholder("x"))
        >>> len(graph.nodes)
        0
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        self._call_hooks("_erase_node_hooks", to_erase)
        self._find_nodes_lookup_table.remove(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs(map_arg(to_erase.args, lambda _: None), map_arg(to_erase.kwargs, lambda _: None))

    def inserting_before(self, n: Node | None = None) -> InsertPoint:
        """Put new nodes before a node, in a block; without one, at the beginning.

        >>> import torchlike
        >>> graph = Graph()
        >>> y = graph.placeholder("y")
        >>> with graph.inserting_before(y):
        ...     x = graph.placeholder("x")
        >>> list(graph.nodes)
        [x, y]
        """
        if n is None:
            return self.inserting_after(self._root)
        assert n.graph is self, "Node to insert before is not in graph."
        return InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> InsertPoint:
        """Put new nodes after a node, in a block; without one, at the end."""
        if n is None:
            return self.inserting_before(self._root)
        assert n.graph is self, "Node to insert after is not in graph."
        return InsertPoint(self, n.append)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty) -> Node:
        """Add an input: the argument ``name`` of the code's function, perhaps with a default."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add the value of a parameter, a buffer or a submodule at a path below the module that runs the graph.

        Where that module has none there, a warning says so.
        """
        if self._owning_module is not None and not has_reference(self._owning_module, qualified_name):
            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary "
                "Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of the submodule at a path; the module that runs the graph has it, else an error is raised."""
        if self._owning_module is not None:
            self._owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add a call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """Add a copy of a node, of another graph perhaps, with ``arg_transform`` of each node among its arguments.

        >>> import torchlike
        >>> graph, other = Graph(), Graph()
        >>> x = other.placeholder("x")
        >>> y = graph.placeholder("y")
        >>> graph.node_copy(other.call_function(torchlike.relu, (x,)), lambda node: y).args
        (y,)
        """
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """Add the output, whose value is the graph's result."""
        return self.create_node(op="output", target="output", args=(result,), type_expr=type_expr)

    def _target_to_str(self, target: Target | None) -> str:
        return name_base(target)

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:
        """Return the graph as Python code; ``root_module`` is the name of the module in it (source: ``Graph.python_code``).

        ``verbose`` adds the lines that nodes come from and the shapes of values, as far as ``meta`` has them.

        >>> import torchlike
        >>> graph = torchlike.fx.symbolic_trace(lambda x: x * 2).graph
        >>> print(graph.python_code("self").src.strip())
        def forward(self, x):
            mul = x * 2;  x = None
            return mul
        """
        namespace = _Namespace()
        former = {node: node._repr_fn for node in self.nodes}
        try:
            for node in former:
                node._repr_fn = lambda each: namespace.create_name(each.name, each)
            return self._codegen._gen_python_code(
                self.nodes,
                root_module,
                namespace,
                verbose=verbose,
                include_stride=include_stride,
                include_device=include_device,
                colored=colored,
                expanded_def=expanded_def,
                additional_meta=additional_meta or [],
            )
        finally:
            for node, function in former.items():
                node._repr_fn = function

    def __str__(self) -> str:
        lines = [node.format_node() for node in self.nodes]
        return "\n    ".join(["graph():", *(line for line in lines if line)])

    def print_tabular(self) -> None:
        """Print the nodes as a table.

        >>> import torchlike
        >>> torchlike.fx.symbolic_trace(lambda x: x.relu()).graph.print_tabular()
        opcode       name    target    args     kwargs
        -----------  ------  --------  -------  --------
        placeholder  x       x         ()       {}
        call_method  relu    relu      (x,)     {}
        output       output  output    (relu,)  {}
        """
        head = ["opcode", "name", "target", "args", "kwargs"]
        rows = [head] + [
            [str(each) for each in (node.op, node.name, node.target, node.args, node.kwargs)] for node in self.nodes
        ]
        # The head has two columns more than its text, as torch's tables have.
        widths = [max(len(row[column]) + 2 * (row is head) for row in rows) for column in range(len(head))]
        rows.insert(1, ["-" * width for width in widths])
        for row in rows:
            line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
            print(line.rstrip())  # noqa: T201  # what it is for

    def lint(self) -> None:
        """Raise an error where the graph is not well formed (source: ``Graph.lint``).

        Every argument belongs to the graph and comes before its users, names are unique, and the module that runs the graph
        has the attributes and submodules that nodes name.

        >>> import torchlike
        >>> graph = Graph()
        >>> x = graph.placeholder("x")
        >>> with graph.inserting_before(x):
        ...     y = graph.call_function(torchlike.relu, (x,))
        >>> graph.lint()
        Traceback (most recent call last):
            ...
        RuntimeError: Argument 'x' of Node 'relu' was used before it has been defined! Please check that Nodes in the graph are topologically ordered
        ...
        """  # noqa: E501  # torch's text
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.op not in LEGAL_OPS:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node not in self._find_nodes_lookup_table:
                raise RuntimeError(f"Node '{node}' is not added to the side table")
            for argument in node.all_input_nodes:
                self._check_argument(argument, node, seen)
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self._owning_module is not None:
            for node in self.nodes:
                if node.op in ("get_attr", "call_module"):
                    check_target(self._owning_module, node)

    def _check_argument(self, argument: Node, node: Node, seen: set[Node]) -> None:
        if argument.graph is not self:
            raise RuntimeError(
                f"Argument '{argument}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you "
                "are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n"
                f"{self}"
            )
        if argument not in seen:
            raise RuntimeError(
                f"Argument '{argument}' of Node '{node}' was used before it has been defined! Please check that Nodes in "
                f"the graph are topologically ordered\n{self}"
            )

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove nodes that nothing uses, and return whether there were any (source: ``Graph.eliminate_dead_code``).

        Nodes that do something besides stay: those for which ``is_impure_node(node)`` is true, or by default
        ``node.is_impure()``. The graph is checked by `lint` first.

        >>> import torchlike
        >>> module = torchlike.fx.symbolic_trace(lambda x: (x + 1, x.relu())[1])
        >>> module.graph.eliminate_dead_code(), list(module.graph.nodes)
        (True, [x, relu, output])
        """
        self.lint()
        is_impure = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not is_impure(node):
                self.erase_node(node)
                changed = True
        if self._owning_module is not None:
            named = {node.target for node in self.find_nodes(op="get_attr", sort=False)}
            for name, child in self._owning_module.named_children():
                inner = getattr(child, "_graph", None)
                if name in named and isinstance(inner, Graph):
                    changed |= inner.eliminate_dead_code()
                    child.recompile()  # type: ignore[operator]  # the child has a graph
        return changed

    def set_codegen(self, codegen: CodeGen) -> None:
        """Choose the object that writes the graph's code."""
        self._codegen = codegen

    def on_generate_code(
        self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]
    ) -> AbstractContextManager[None]:
        r"""Change the lines of the code when it is generated (source: ``Graph.on_generate_code``).

        ``make_transformer(former)`` returns a function of the list of lines; after a ``with`` block the former one is back.

        >>> import torchlike
        >>> module = torchlike.fx.symbolic_trace(lambda x: x + 1)
        >>> with module.graph.on_generate_code(lambda former: lambda lines: ["print('called')\n", *lines]):
        ...     _ = module.recompile()
        >>> module(torchlike.ones(1))
        called
        tensor([2.])
        """
        codegen = self._codegen
        former = codegen._body_transformer
        codegen._body_transformer = make_transformer(former)

        @contextlib.contextmanager
        def restore() -> Iterator[None]:
            try:
                yield
            finally:
                codegen._body_transformer = former

        return restore()

    def _clear_nodes(self) -> None:
        """Remove all nodes."""
        for node in reversed(self.nodes):
            node.meta.clear()
            self.erase_node(node)
