"""A module with a graph as several modules, which one calls (source: ``torch.fx.passes.split_module``)."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

from ...nn.modules.module import Module
from ..attributes import read_attribute
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """The nodes that become one submodule, what they need, and what others need of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {self.inputs},\n outputs: {self.outputs},\n"
            f" partitions depended on: {self.dependencies},\n partition dependents: {self.dependents}"
        )


class _Splitter:
    """Splits one module."""

    def __init__(self, module: GraphModule, split: Callable[[Node], int], affix: str | None) -> None:
        self.module, self.graph = module, module.graph
        self.nodes = {node.name: node for node in self.graph.nodes}
        self.partitions: dict[str, Partition] = {}
        self.home: dict[Node, str] = {}
        for node in self.graph.nodes:
            if node.op in ("placeholder", "get_attr", "output"):
                continue
            name = str(split(node)) if affix is None else f"{affix}_{split(node)}"
            self.home[node] = name
            self.partitions.setdefault(name, Partition(name)).node_names.append(node.name)
        for node in self.graph.nodes:
            for used in node.all_input_nodes:
                self._note_use(used, None if node.op == "output" else node)

    def _note_use(self, used: Node, user: Node | None) -> None:
        """Note what a node of one part, or the output, takes from another one."""
        source, place = self.home.get(used), None if user is None else self.home.get(user)
        if source == place:
            return
        if source is not None:
            self.partitions[source].outputs[used.name] = None
            if place is not None:
                self.partitions[source].dependents[place] = None
                self.partitions[place].dependencies[source] = None
        if place is not None:
            self.partitions[place].inputs[used.name] = None

    def sort(self) -> list[str]:
        """Return the names of the parts, each after those that it needs; ``RuntimeError`` where they need each other."""
        ready = [name for name, part in self.partitions.items() if not part.dependencies]
        found: list[str] = []
        while ready:
            name = ready.pop()
            found.append(name)
            for dependent in self.partitions[name].dependents:
                needed = self.partitions[dependent].dependencies
                needed.pop(name)
                if not needed:
                    ready.append(dependent)
        if len(found) != len(self.partitions):
            raise RuntimeError("cycle exists between partitions!")
        return found

    def add_inputs(self, part: Partition, keep_names: bool) -> None:
        """Give a part its placeholders; submodules of its graph that are values come last, and are its own."""
        modules: list[Node] = []
        others: list[Node] = []
        for name in part.inputs:
            node = self.nodes[name]
            is_module = node.op == "get_attr" and isinstance(read_attribute(self.module, node.target), Module)
            (modules if is_module else others).append(node)
        part.inputs = {}
        for index, node in enumerate(others):
            made = part.graph.placeholder(node.name if keep_names else f"arg_{index}", type_expr=node.type)
            part.inputs[node.name] = None
            made.meta = node.meta.copy()
            part.environment[node] = made
        for node in modules:
            part.targets[node.target] = read_attribute(self.module, node.target)
            part.environment[node] = made = part.graph.get_attr(node.target)
            made.meta = node.meta.copy()

    def copy_nodes(self, qualname_map: dict[str, str] | None, keep_names: bool) -> None:
        """Copy the nodes to their parts."""
        for node, name in self.home.items():
            part = self.partitions[name]
            args, kwargs = (map_arg(each, part.environment.__getitem__) for each in (node.args, node.kwargs))
            target = node.target
            if node.op == "call_module":
                target = node.target.replace(".", "_")
                part.targets[target] = read_attribute(self.module, node.target)
                if qualname_map is not None:
                    qualname_map[f"{part.submod_name}.{target}"] = node.target
            copied = part.graph.create_node(
                node.op, target, args, dict(kwargs), node.name if keep_names else None, node.type
            )
            copied.meta = node.meta.copy()
            part.environment[node] = copied


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], int],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """Return a module with a submodule ``submod_N`` for each number that ``split_callback(node)`` returns.

    ``qualname_map`` gets the new paths of submodules and the old ones. The submodules are called as they need each other, or
    with ``keep_original_order`` as their first nodes came. Raises ``RuntimeError`` where two of them need each other.

    >>> import torchlike
    >>> module = torchlike.fx.symbolic_trace(lambda x, y: (x + y).relu())
    >>> split = split_module(module, module, lambda node: node.op == "call_method")
    >>> print(split.code.strip())
    def forward(self, x, y):
        submod_false = self.submod_False(x, y);  x = y = None
        submod_true = self.submod_True(submod_false);  submod_false = None
        return submod_true
    """
    splitter = _Splitter(m, split_callback, partition_affix)
    original = list(splitter.partitions)
    order = splitter.sort()
    for name in order:
        splitter.add_inputs(splitter.partitions[name], keep_original_input_name)
    splitter.copy_nodes(qualname_map, bool(keep_original_node_name))
    base = Graph()
    env: dict[str, Node] = {}
    attributes: dict[str, Any] = {}

    def add(node: Node) -> None:
        if node.name in env:
            return
        if node.op == "placeholder":
            default = node.args[0] if node.args else inspect.Signature.empty
            name = node.name if keep_original_node_name else node.target
            env[node.name] = base.placeholder(name, type_expr=node.type, default_value=default)
        elif node.op == "get_attr":
            env[node.name] = base.get_attr(node.target)
            attributes[node.target] = read_attribute(m, node.target)
        else:
            return
        env[node.name].meta = node.meta.copy()

    nodes = list(m.graph.nodes)
    for node in nodes:
        if not keep_original_order or node.op == "placeholder" or not original:
            add(node)
    for name in original if keep_original_order else order:
        part = splitter.partitions[name]
        for each in part.inputs:
            add(splitter.nodes[each])
        values = tuple(part.environment[splitter.nodes[each]] for each in part.outputs)
        is_single = len(values) == 1 and not tuple_return
        part.graph.output(values[0] if is_single else values)
        attributes[part.submod_name] = GraphModule(part.targets, part.graph)
        result = base.call_module(part.submod_name, tuple(env[each] for each in part.inputs))
        for index, each in enumerate(part.outputs):
            env[each] = result if is_single else base.call_function(operator.getitem, (result, index))
    for node in nodes:
        if node.op == "output":
            for used in node.all_input_nodes:
                add(used)
            base.output(map_arg(node.args[0], lambda each: env[each.name]))
    made = GraphModule(attributes, base)
    made.meta["partition_names"] = {part.submod_name for part in splitter.partitions.values()}
    return made
