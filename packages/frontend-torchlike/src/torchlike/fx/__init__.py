"""Graphs of modules and functions: traced, changed, and run as Python code (source: ``torch.fx``).

>>> import torchlike
>>> module = torchlike.fx.symbolic_trace(lambda x: x.neg() + 1)
>>> print(module.graph)
graph():
    %x : [num_users=1] = placeholder[target=x]
    %neg : [num_users=1] = call_method[target=neg](args = (%x,), kwargs = {})
    %add : [num_users=1] = call_function[target=operator.add](args = (%neg, 1), kwargs = {})
    return add
"""

from . import immutable_collections
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "immutable_collections",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
