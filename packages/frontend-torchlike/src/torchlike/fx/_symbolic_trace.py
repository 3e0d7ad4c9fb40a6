"""`symbolic_trace`, and what belongs to it, under torch's name for their module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..nn.modules.module import Module
from .graph_module import GraphModule
from .tracing.placeholders import PH, PHBase, PHWithMeta, _assert_is_none
from .tracing.tracer import ProxyableClassMeta, Tracer, is_fx_symbolic_tracing, is_fx_tracing
from .tracing.wrapped import WRAPPED_FUNCTIONS as _wrapped_fns_to_patch  # noqa: N811  # torch's names
from .tracing.wrapped import WRAPPED_METHODS as _wrapped_methods_to_patch  # noqa: N811
from .tracing.wrapped import wrap

__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "ProxyableClassMeta",
    "Tracer",
    "_assert_is_none",
    "_wrapped_fns_to_patch",
    "_wrapped_methods_to_patch",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | tuple[Any, ...] | None = None
) -> GraphModule:
    """Return a module that does what a module or function does, as a graph that can be changed (source: ``symbolic_trace``).

    It is called once, with a proxy for each argument, or the value that ``concrete_args`` has for it. Conditions on proxies
    raise `TraceError`. Modules of ``torch.nn`` are single steps.

    >>> import torchlike
    >>> module = symbolic_trace(lambda x, y: (x + y).relu())
    >>> print(module.code.strip())
    def forward(self, x, y):
        add = x + y;  x = y = None
        relu = add.relu();  add = None
        return relu
    >>> module(torchlike.ones(1), -2)
    tensor([0.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
