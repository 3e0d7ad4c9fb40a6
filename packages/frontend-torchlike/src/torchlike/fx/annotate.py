"""Types of values, noted while a function is traced (source: ``torch.fx.annotate``)."""

from __future__ import annotations

from typing import Any

from .proxy import Proxy

__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """Give the node of a proxy a type, and return the value; ``RuntimeError`` where it has one.

    >>> import torchlike
    >>> traced = torchlike.fx.symbolic_trace(lambda x: annotate(x + 1, int))
    >>> traced.graph.find_nodes(op="call_function", target=torchlike.fx.proxy.operator.add)[0].type
    <class 'int'>
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                "Tried to annotate a value that already had a type on it! Existing type is "
                f"{val.node.type} and new type is {type}. This could happen if you tried to annotate a function parameter "
                "value (in which case you should use the type slot on the function signature) or you called annotate on the "
                "same value twice"
            )
        val.node.type = type
    return val
