"""Pictures of graphs and of profiles: SVG, Graphviz, Mermaid, flame graphs, Chrome's trace format."""

from .chrome_trace import write_chrome_trace
from .dot_and_mermaid import to_dot, to_mermaid
from .flame_graph import FlameGraph, make_flame_graph
from .svg import to_svg

__all__ = ["FlameGraph", "make_flame_graph", "to_dot", "to_mermaid", "to_svg", "write_chrome_trace"]
