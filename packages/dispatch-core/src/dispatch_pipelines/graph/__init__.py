"""Graphs of recorded calls: as data and text, run again, and drawn."""

from __future__ import annotations

from .model import Constant, Graph, GraphNode, GraphStep, Wrap
from .nodes import Node, Value, values_in

__all__ = ["Constant", "Graph", "GraphNode", "GraphStep", "Node", "Value", "Wrap", "values_in"]
