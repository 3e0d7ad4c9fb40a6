"""Parts of a graph that need no input, computed once (source: ``torch.fx.experimental.const_fold``)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from ... import nn
from ...creation.factories import tensor
from ...nn.modules.module import Module
from ...nn.parameter import Parameter
from ...tensors.tensor import Tensor
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg
from ..passes.split_module import split_module

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A module that computes its constants at its first call, and keeps them as parameters."""

    def __init__(
        self,
        root: Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cpu",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constants, which happens once."""
        name = self.fx_const_folded_attrs_name
        if self.const_subgraph_module is None or name is None:
            return
        assert not self.has_folding_been_run, "Folding has already been run"
        self.has_folding_been_run = True
        found = self.const_subgraph_module()
        is_several = isinstance(found, tuple)
        setattr(self, name, nn.ParameterList(map(self._keep, found)) if is_several else self._keep(found))

    def _keep(self, value: Tensor | int) -> Parameter:
        if isinstance(value, int):
            return Parameter(tensor([float(value)], device=self.device_for_folded_attrs), requires_grad=False)
        return Parameter(value.detach().clone(), requires_grad=value.requires_grad)


def get_unique_attr_name_in_module(mod_traced: Module, name: str) -> str:
    """Return a name that a module has no attribute of.

    >>> import torchlike
    >>> get_unique_attr_name_in_module(torchlike.nn.Linear(1, 1), "weight")
    'weight_1'
    """
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    if name[0].isdigit():
        name = f"_{name}"
    while hasattr(mod_traced, name):
        found = re.match(r"(.*)_(\d+)$", name)
        name = f"{name}_1" if found is None else f"{found[1]}_{int(found[2]) + 1}"
    return name


def _inline_module(gm: GraphModule, inline_mod_name: str, run_dce: bool = True) -> dict[Node, Any]:
    """Put the nodes of a submodule in the place of its call, and return its nodes with those."""
    inner = gm.get_submodule(inline_mod_name)
    assert isinstance(inner, GraphModule), f"Expected GraphModule, got {type(inner)}"
    call = gm.graph.find_nodes(op="call_module", target=inline_mod_name)[0]
    given = iter(call.args)
    value_of: dict[Node, Any] = {}
    for node in inner.graph.nodes:
        if node.op == "placeholder":
            value_of[node] = value = call.kwargs[node.name] if node.name in call.kwargs else next(given)
            if isinstance(value, Node):
                value.meta = node.meta.copy()
    with gm.graph.inserting_before(call):
        result = gm.graph.graph_copy(inner.graph, value_of)
    if isinstance(result, Node):
        call.replace_all_uses_with(result)
    else:
        for user in list(call.users):
            if user.op == "call_function" and user.target is operator.getitem and isinstance(user.args[1], int):
                user.replace_all_uses_with(result[user.args[1]])
                value_of[user] = result[user.args[1]]
                gm.graph.erase_node(user)
            else:
                user.args = map_arg(user.args, lambda node: result if node is call else node)
    gm.graph.erase_node(call)
    if run_dce:
        gm.graph.eliminate_dead_code()
    return value_of


def split_const_subgraphs(
    module: Module,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """Return a module that computes all that needs no input once, at its first call (source: ``split_const_subgraphs``).

    Nodes for which ``skip_folding_node_fn`` returns True, and those with effects, are computed at every call.

    >>> import torchlike
    >>> class Scaled(torchlike.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = torchlike.nn.Parameter(torchlike.ones(2))
    ...     def forward(self, x):
    ...         return x * (self.scale + self.scale)
    >>> folded = split_const_subgraphs(Scaled())
    >>> folded(torchlike.ones(2)).tolist(), folded.graph.find_nodes(op="call_function", target=operator.add)
    ([2.0, 2.0], [])
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant: set[Node] = set()
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output") or (skip_folding_node_fn is not None and skip_folding_node_fn(node)):
            continue
        if (node.op == "get_attr" or constant.issuperset(node.all_input_nodes)) and not _has_effects(traced, node):
            constant.add(node)
    if all(node.op == "get_attr" for node in constant):
        return FoldedGraphModule(traced, traced.graph)
    split = split_module(traced, module, lambda node: 0 if node in constant else 1)
    folding, rest = split.get_submodule("submod_0"), getattr(split, "submod_1", None)
    assert isinstance(folding, GraphModule)
    for inner in (folding, rest):
        for node in inner.graph.nodes if inner is not None else ():
            if node.op == "call_module":
                setattr(split, node.target, getattr(inner, node.target))
    call = split.graph.find_nodes(op="call_module", target="submod_0")[0]
    alone = GraphModule(split, folding.graph)
    for node, given in zip(alone.graph.find_nodes(op="placeholder"), call.args, strict=True):
        with alone.graph.inserting_before(node):
            read = alone.graph.create_node("get_attr", given.target)  # of ``split``, for whose graph it is
        read.meta = node.meta.copy()
        node.replace_all_uses_with(read)
        alone.graph.erase_node(node)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    is_several = isinstance(alone.graph.output_node().args[0], tuple)
    setattr(split, name, nn.ParameterList() if is_several else Parameter(tensor([])))
    with split.graph.inserting_before(call):
        folded = split.graph.get_attr(name)
    folded.meta = call.meta.copy()
    call.replace_all_uses_with(folded)
    if rest is not None:
        _inline_module(split, "submod_1")
    split.graph.eliminate_dead_code()
    return FoldedGraphModule(split, split.graph, alone.graph, name, device_for_folded_attrs)


def _has_effects(module: GraphModule, node: Node) -> bool:
    if node.is_impure():
        return True
    inner = module.get_submodule(node.target) if node.op == "call_module" else None
    return isinstance(inner, GraphModule) and any(
        each.op not in ("placeholder", "output") and _has_effects(inner, each) for each in inner.graph.nodes
    )
