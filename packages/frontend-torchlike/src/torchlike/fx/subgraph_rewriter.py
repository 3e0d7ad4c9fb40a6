"""Patterns in graphs replaced by others (source: ``torch.fx.subgraph_rewriter``)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..nn.modules.module import Module
from ._symbolic_trace import symbolic_trace
from .attributes import copy_attribute
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

Filter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """A place where a pattern was: its last node, and the pattern's nodes with those of the graph."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A place where a pattern was, and the nodes that are there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def _graph_of(pattern: Callable[..., Any] | Graph | GraphModule) -> Graph:
    if isinstance(pattern, GraphModule):
        return pattern.graph
    return pattern if isinstance(pattern, Graph) else symbolic_trace(pattern).graph


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule, replacement: Callable[..., Any] | GraphModule
) -> list[Match]:
    """Replace a pattern wherever it is in a module's graph, and return the places (source: ``torch.fx.replace_pattern``).

    Both are functions, which are traced, or modules with graphs, and take the same number of arguments, which represent any
    values. Places that share a node with an earlier one, and those whose inner values are used elsewhere, stay.

    >>> import torchlike
    >>> module = torchlike.fx.symbolic_trace(lambda x, y: (x + y).relu() + (x + 1).relu())
    >>> found = replace_pattern(module, lambda a, b: (a + b).relu(), lambda a, b: (a * b).sigmoid())
    >>> len(found)
    2
    >>> print(module.code.strip())
    def forward(self, x, y):
        mul = x * y;  y = None
        sigmoid = mul.sigmoid();  mul = None
        mul_1 = x * 1;  x = None
        sigmoid_1 = mul_1.sigmoid();  mul_1 = None
        add_2 = sigmoid + sigmoid_1;  sigmoid = sigmoid_1 = None
        return add_2
    """
    return [Match(each.anchor, each.nodes_map) for each in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule | None = None,
    match_filters: list[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """Replace a pattern at the places for which all filters return True; see `replace_pattern`.

    Each is called with the match, the graph and the pattern; ``replacement_callback``, with the same, returns the graph that
    takes the place. Raises ``AssertionError`` where neither it nor a replacement is given, and where the numbers of
    arguments or results differ.
    """
    graph, sought = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(sought, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(graph, node_name_match)
        if all(keep(match, graph, sought) for keep in match_filters or ())
    ]
    assert replacement is not None or replacement_callback is not None, (
        "Must provide either a replacement GraphModule or a replacement callback"
    )
    common = None if replacement is None else _graph_of(replacement)
    replaced: dict[Node, Node] = {}
    found = []
    for match in matches:
        new = common if replacement_callback is None else replacement_callback(match, graph, sought)
        assert new is not None
        nodes = _replace(graph, match, new, replaced)
        for node in reversed(sought.nodes):
            if node.op not in ("placeholder", "output"):
                graph.erase_node(match.nodes_map[node])
        found.append(ReplacedPatterns(match.anchors[0], match.nodes_map, nodes))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return found


def _replace(graph: Graph, match: InternalMatch, new: Graph, replaced: dict[Node, Node]) -> list[Node]:
    """Copy a graph to the place of a match, and return its nodes; ``replaced`` has the results of earlier matches."""
    placeholders = [node for node in new.nodes if node.op == "placeholder"]
    given = match.placeholder_nodes
    assert len(given) == len(placeholders), f"Placeholder count mismatch: {len(given)} vs {len(placeholders)}"
    for pattern, value in list(match.nodes_map.items()):
        if pattern.op == "placeholder" and isinstance(value, Node):
            match.nodes_map[pattern] = replaced.get(value, value)
    given[:] = [replaced.get(value, value) if isinstance(value, Node) else value for value in given]
    value_of: dict[Node, Any] = dict(zip(placeholders, given, strict=True))
    users = {user for node in match.returning_nodes for user in node.users}
    place = min(users) if users else max(match.returning_nodes).next
    with graph.inserting_before(place):
        results = graph.graph_copy(new, value_of)
    results = (results,) if isinstance(results, Node) else tuple(results)
    former = match.returning_nodes
    assert len(former) == len(results), f"Returning nodes count mismatch: {len(former)} vs {len(results)}"
    for node, result in zip(former, results, strict=True):
        node.replace_all_uses_with(result)
        replaced[node] = result
    return [node for node in value_of.values() if not any(node is each for each in given)]


def _take_attributes(gm: GraphModule, replacement: Module) -> None:
    """Give a module the attributes of a replacement that its graph names, and delete submodules that it does not name."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    copied = copy.deepcopy(replacement)
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _has(gm, node.target):
            continue
        if not _has(replacement, node.target):
            raise RuntimeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {node.target}, but the '
                "referenced attribute does not exist in the replacement GraphModule"
            )
        copy_attribute(copied, gm, node.target)
    gm.graph.lint()


def _has(module: Any, path: str) -> bool:
    for part in path.split("."):
        module = getattr(module, part, None)
    return module is not None
