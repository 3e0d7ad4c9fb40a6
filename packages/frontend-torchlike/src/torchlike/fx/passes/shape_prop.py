"""Shapes and dtypes of the values in a graph, found by running it (source: ``torch.fx.passes.shape_prop``)."""

from __future__ import annotations

import traceback
from typing import Any, Final, NamedTuple

from ...tensors.tensor import Tensor
from ...values.dtypes import dtype, memory_format
from ...values.layouts import strided
from ...values.size import Size
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """A tensor's shape, dtype and strides."""

    shape: Size
    dtype: dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    is_strided = result.layout == strided
    found = None
    if include_contiguity and is_strided:
        found = next((each for each in _FORMATS if _is_in_format(result, each)), None)
    return TensorMetadata(
        result.shape,
        result.dtype,
        result.requires_grad,
        result.stride() if is_strided else (),
        found,
        False,
        {},
    )


_FORMATS: Final = [each for each in memory_format if each.name != "preserve_format"]


def _is_in_format(tensor: Tensor, wanted: Any) -> bool:
    dimensions = {"channels_last": 4, "channels_last_3d": 5}.get(wanted.name)
    return dimensions in (None, tensor.ndim) and tensor.is_contiguous(memory_format=wanted)


class ShapeProp(Interpreter):
    """Runs a graph and notes the shape, dtype and strides of each value in ``node.meta["tensor_meta"]``.

    With arguments on the device ``meta``, nothing is computed.

    >>> import torchlike
    >>> module = torchlike.fx.symbolic_trace(lambda x: x.sum(0))
    >>> ShapeProp(module).propagate(torchlike.ones(2, 3))
    tensor([2., 2., 2.])
    >>> module.graph.find_nodes(op="call_method", target="sum")[0].meta["tensor_meta"].shape
    torchlike.Size([3])
    """

    def __init__(self, gm: GraphModule, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.real_module = self.module
        if fake_mode is not None:
            raise NotImplementedError("there are no fake tensors here: propagate arguments on the device meta instead")

    def run_node(self, n: Node) -> Any:
        """Run a node, note its value's shape, and return the value; an error names the node."""
        try:
            result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def extract(value: Any) -> Any:
            nonlocal found
            if isinstance(value, Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        noted = map_aggregate(result, extract)
        if found:
            n.meta["tensor_meta"] = noted
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with arguments, and return its result."""
        return self.run(*args)
