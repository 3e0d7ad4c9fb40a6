"""The nodes of a graph in their order, by their targets and last uses, and the place of new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Reversible
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..names.lazy_names import import_lazily
from .node import Node

if TYPE_CHECKING:
    from .graph import Graph
else:
    Graph = import_lazily("torchlike.fx.graph", "Graph")

__all__ = ["InsertPoint", "LookupTable", "NodeList", "find_last_uses"]


class NodeList:
    """The nodes of a graph, in order; they may be changed while a loop runs over them.

    >>> import torchlike
    >>> graph = torchlike.fx.Graph()
    >>> x, y = graph.placeholder("x"), graph.placeholder("y")
    >>> len(graph.nodes), list(reversed(graph.nodes))
    (2, [y, x])
    """

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        assert direction in ("_next", "_prev"), f"direction must be '_next' or '_prev', got {direction}"
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        return self._walk(self.direction)

    def __reversed__(self) -> Iterator[Node]:
        return self._walk("_prev" if self.direction == "_next" else "_next")

    def _walk(self, direction: str) -> Iterator[Node]:
        root = self.graph._root
        node: Node = getattr(root, direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, direction)


class InsertPoint:
    """Puts new nodes at another place within a block."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.graph._insert = self.orig_insert


class LookupTable:
    """The nodes of a graph by their kind, and by the functions that they call."""

    def __init__(self) -> None:
        self.table: dict[tuple[str, Any], dict[Node, None]] = {}

    @staticmethod
    def _key(node: Node) -> tuple[str, Any]:
        return node.op, node.target if node.op == "call_function" else None

    def __contains__(self, node: Node) -> bool:
        return node in self.table.get(self._key(node), {})

    def insert(self, node: Node) -> None:
        """Add a node."""
        self.table.setdefault(self._key(node), {})[node] = None

    def remove(self, node: Node) -> None:
        """Take a node out."""
        self.table[self._key(node)].pop(node)

    def find_nodes(self, *, op: str, target: Any = None) -> list[Node]:
        """Return the nodes of a kind; those that call a function, or have this target."""
        if op == "call_function":
            assert target is not None, "target must not be None for call_function op"
            return list(self.table.get((op, target), {}))
        found = list(self.table.get((op, None), {}))
        return found if target is None else [node for node in found if node.target == target]


def find_last_uses(nodes: Reversible[Node]) -> dict[Node, list[Node]]:
    """Return the nodes that each node is the last one to use.

    >>> import torchlike
    >>> find_last_uses(torchlike.fx.symbolic_trace(lambda x: x.neg() + x).graph.nodes)
    {output: [add], add: [neg, x]}
    """
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = {}
    for user in reversed(nodes):
        for node in user.all_input_nodes:
            if node not in seen:
                seen.add(node)
                found.setdefault(user, []).append(node)
    return found
