"""The base of passes over graphs (source: ``torch.fx.passes.infra.pass_base``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from ....nn.modules.module import Module
from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """A module after a pass, and whether the pass changed it."""

    graph_module: Module
    modified: bool


class PassBase(ABC):
    """A pass: a subclass changes a module's graph in ``call``.

    >>> import torchlike
    >>> class Clean(PassBase):
    ...     def call(self, graph_module):
    ...         return PassResult(graph_module, graph_module.graph.eliminate_dead_code())
    >>> Clean()(torchlike.fx.symbolic_trace(lambda x: (x + 1, x)[1])).modified
    True
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Change a module and return the result."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  # a subclass may have none
        """Raise an error for a module that the pass does not take; called before it."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027  # as above
        """Raise an error for a module that the pass should not have left so; called after it."""
