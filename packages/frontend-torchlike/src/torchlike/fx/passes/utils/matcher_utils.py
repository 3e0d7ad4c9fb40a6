"""Patterns found in graphs (source: ``torch.fx.passes.utils.matcher_utils``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....tensors.tensor import Tensor
from ...attributes import read_attribute
from ...graph import Graph
from ...node import Node
from ...targets import is_overload

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place in a graph where a pattern is: the pattern's nodes → the graph's."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    #: What stands where the pattern has its inputs: nodes, or values.
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)


class SubgraphMatcher:
    """Finds a pattern in graphs (source: ``SubgraphMatcher``).

    Placeholders of the pattern match any value, unless ``match_placeholder``; with ``ignore_literals`` numbers and other
    plain arguments may differ. Matches that share a node with an earlier one are left out, unless
    ``remove_overlapping_matches``
    is False. Raises ``ValueError`` for an empty pattern, ``AssertionError`` for one with nodes that nothing uses.

    >>> import torchlike
    >>> trace = torchlike.fx.symbolic_trace
    >>> matcher = SubgraphMatcher(trace(lambda a: a.neg().relu()).graph)
    >>> [match.returning_nodes for match in matcher.match(trace(lambda x: x.neg().relu().neg().relu()).graph)]
    [[relu], [relu_1]]
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            assert node.users or node.op == "output" or node.is_impure(), (
                "SubgraphMatcher cannot be initialized with an pattern with dead code"
            )
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        # A result that another part of the pattern uses is found from there.
        self.pattern_anchors = (
            [output] if match_output else [node for node in output.all_input_nodes if len(node.users) == 1]
        )

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Return the places where the pattern is; nodes whose name has ``node_name_match`` in it match in any case."""
        self._name = node_name_match
        found = []
        candidates = [[node for node in graph.nodes if self._fits(anchor, node)] for anchor in self.pattern_anchors]
        for nodes in self._place(0, candidates, {}) if candidates and all(candidates) else ():
            if self._is_contained(nodes) and _can_be_one(self._inner(nodes)):
                found.append(nodes)
        if self.remove_overlapping_matches:
            found = self._without_overlaps(found)
        return [
            InternalMatch(
                self.pattern_anchors,
                nodes,
                [nodes[node] for node in self.pattern_placeholder_nodes],
                [nodes[node] for node in self.pattern_returning_nodes],
            )
            for nodes in found
        ]

    def _place(
        self, index: int, candidates: Sequence[Sequence[Node]], nodes: dict[Node, Any]
    ) -> Iterator[dict[Node, Any]]:
        """Yield the ways to place the anchors from an index on, beside those that are placed."""
        if index == len(candidates):
            yield nodes
            return
        for node in candidates[index]:
            tried = dict(nodes)
            if self._match_node(self.pattern_anchors[index], node, tried):
                yield from self._place(index + 1, candidates, tried)

    def _fits(self, pattern: Node, node: Node) -> bool:
        """Return whether a node does what one of the pattern does, whatever their arguments are."""
        if pattern.op == "placeholder" and not self.match_placeholder:
            return True
        if self._name and self._name in node.name:
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            values = [read_attribute(each.graph.owning_module, each.target) for each in (pattern, node)]
            if type(values[0]) is not type(values[1]):
                return False
            if not isinstance(values[0], Tensor):
                raise RuntimeError(f"Unsupported type {values[0]} when matching attributes")
            return True
        return bool(pattern.target == node.target)

    def _match_node(self, pattern: Node, node: Node, nodes: dict[Node, Any]) -> bool:
        """Return whether a node and all that it depends on match; ``nodes`` gets the pairs."""
        if pattern in nodes:
            return nodes[pattern] is node
        if any(each is node for each in nodes.values()) or not self._fits(pattern, node):
            return False
        nodes[pattern] = node
        if pattern.op == "placeholder":
            return True
        pairs = _pair_arguments(pattern, node)
        return pairs is not None and self._match_values(*pairs, nodes)

    def _match_values(self, pattern: Sequence[Any], values: Sequence[Any], nodes: dict[Node, Any]) -> bool:
        return len(pattern) == len(values) and all(
            self._match_value(each, value, nodes) for each, value in zip(pattern, values, strict=True)
        )

    def _match_value(self, pattern: Any, value: Any, nodes: dict[Node, Any]) -> bool:
        if isinstance(pattern, Node) and isinstance(value, Node):
            return self._match_node(pattern, value, nodes)
        if isinstance(pattern, (list, tuple)) and isinstance(value, (list, tuple)):
            return self._match_values(pattern, value, nodes)
        if isinstance(pattern, Node) and pattern.op == "placeholder":
            if pattern in nodes:
                return bool(nodes[pattern] == value) or self.ignore_literals
            nodes[pattern] = value
            return True
        if isinstance(pattern, Node) or isinstance(value, Node):
            return self.ignore_literals
        return self.ignore_literals or (type(pattern) is type(value) and bool(pattern == value))

    def _inner(self, nodes: dict[Node, Any]) -> list[Node]:
        """Return the nodes of a match that a replacement takes away."""
        return [node for pattern, node in nodes.items() if pattern.op not in ("placeholder", "output")]

    def _is_contained(self, nodes: dict[Node, Any]) -> bool:
        """Return whether only results are used by nodes outside of a match."""
        inside = {node for pattern, node in nodes.items() if pattern.op != "placeholder"}
        results = {nodes[node] for node in self.pattern_returning_nodes if node.op != "placeholder"}
        return all(user in inside for node in inside - results for user in node.users)

    def _without_overlaps(self, found: list[dict[Node, Any]]) -> list[dict[Node, Any]]:
        taken: set[Node] = set()
        kept = []
        for nodes in found:
            inner = set(self._inner(nodes))
            if not inner & taken:
                taken |= inner
                kept.append(nodes)
        return kept


def _pair_arguments(pattern: Node, node: Node) -> tuple[list[Any], list[Any]] | None:
    """Return the arguments of both nodes, None where their numbers or names differ.

    Those of overloads are completed by the schema's defaults.
    """
    if len(pattern.args) == len(node.args) and list(pattern.kwargs) == list(node.kwargs):
        return [*pattern.args, *pattern.kwargs.values()], [*node.args, *node.kwargs.values()]
    if pattern.op != "call_function" or not is_overload(pattern.target):
        return None
    completed = []
    for each in (pattern, node):
        values = []
        for index, argument in enumerate(pattern.target.schema.arguments):
            if argument.name in each.kwargs:
                values.append(each.kwargs[argument.name])
            elif index < len(each.args) and not argument.kwarg_only:
                values.append(each.args[index])
            else:
                values.append(argument.value)
        completed.append(values)
    return completed[0], completed[1]


def _can_be_one(nodes: list[Node]) -> bool:
    """Return whether nodes can become one step: no path leads from one to another by way of a node outside."""
    inside = set(nodes)
    last = max((node._sort_key for node in nodes), default=())
    todo = [user for node in nodes for user in node.users if user not in inside]
    seen: set[Node] = set()
    while todo:
        node = todo.pop()
        if node in inside:
            return False
        if node in seen or node._sort_key > last:
            continue
        seen.add(node)
        todo += node.users
    return True
