"""Graphs of recorded calls: as data and text, run again, and drawn."""

from __future__ import annotations

from .model import Call, Constant, Graph, GraphStep, ValueInfo, ValueRef, Wrap, values_in

__all__ = ["Call", "Constant", "Graph", "GraphStep", "ValueInfo", "ValueRef", "Wrap", "values_in"]
