"""Nodes of products of matrices, convolutions, pools, resizing and recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from dispatch_core.planning import Value

from .emitters import EMITTERS, emits
from .errors import OnnxExporterError
from .sizes import DynamicSize
from .writer import Writer


@emits("mm", "bmm", "matmul", "mv", "dot")
def _matmul(w: Writer, self: Value, other: Value) -> str:
    return str(w.node("MatMul", w.name(self), w.name(other)))


@emits("addmm")
def _addmm(w: Writer, self: Value, mat1: Value, mat2: Value, beta: Any = 1, alpha: Any = 1) -> str:
    source = w.transposed.get(mat2.index)
    names = [w.name(mat1), w.name(mat2 if source is None else source), w.name(self)]
    return str(w.node("Gemm", *names, alpha=float(alpha), beta=float(beta), transB=int(source is not None)))


@emits("baddbmm")
def _baddbmm(w: Writer, self: Value, batch1: Value, batch2: Value, beta: Any = 1, alpha: Any = 1) -> str:
    product = w.node("MatMul", w.name(batch1), w.name(batch2))
    if alpha != 1:
        product = w.node("Mul", product, w.constant(alpha, self.dtype))
    if beta == 0:
        return str(product)
    added = w.name(self) if beta == 1 else w.node("Mul", w.name(self), w.constant(beta, self.dtype))
    return str(w.node("Add", added, product))


@emits("convolution")
def _convolution(
    w: Writer,
    input: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> str:
    names = [w.name(input), w.name(weight), *([] if bias is None else [w.name(bias)])]
    shared: dict[str, Any] = {
        "strides": [*stride],
        "pads": [*padding, *padding],
        "dilations": [*dilation],
        "group": groups,
    }
    if transposed:
        return str(w.node("ConvTranspose", *names, output_padding=list(output_padding), **shared))
    return str(w.node("Conv", *names, **shared))


def _each(value: Any, count: int) -> list[Any]:
    """Return a number for each dimension, where one stands for all."""
    given = [value] if isinstance(value, int) else list(value)
    return given * count if len(given) == 1 else given


@emits("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(
    w: Writer, self: Value, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil: bool = False
) -> list[str | None]:
    count = len(_each(kernel, 2)) if not isinstance(kernel, int) else len(self.shape) - 2
    sizes, pads = _each(kernel, count), _each(padding, count)
    shared = {"kernel_shape": sizes, "strides": _each(stride or sizes, count), "ceil_mode": int(ceil)}
    found = _on_batch(w, self, count, "MaxPool", pads=[*pads, *pads], dilations=_each(dilation, count), **shared)
    return [found, None]


def _on_batch(w: Writer, self: Value, count: int, kind: str, **attributes: Any) -> str:
    """Add a node that takes a batch; one without a batch is a batch of one."""
    if len(self.shape) == count + 2:
        return str(w.node(kind, w.name(self), **attributes))
    found = w.node(kind, w.node("Unsqueeze", w.name(self), w.ints([0])), **attributes)
    return str(w.node("Squeeze", found, w.ints([0])))


@emits("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(
    w: Writer,
    self: Value,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> str:
    if divisor_override is not None:
        raise OnnxExporterError("an average has another divisor than its number of elements")
    count = len(kernel) if not isinstance(kernel, int) else len(self.shape) - 2
    sizes, pads = _each(kernel, count), _each(padding, count)
    shared = {"kernel_shape": sizes, "strides": _each(stride or sizes, count), "ceil_mode": int(ceil)}
    include = int(count_include_pad)
    return _on_batch(w, self, count, "AveragePool", pads=[*pads, *pads], count_include_pad=include, **shared)


def _adaptive(kind: str, count: int, w: Writer, self: Value, output_size: Any) -> str:
    wanted = _each(output_size, count)
    if all(each == 1 for each in wanted):
        return _on_batch(w, self, count, f"Global{kind}")
    sizes = [w.size(self, axis - count) for axis in range(count)]
    if any(size % out for size, out in zip(sizes, wanted, strict=True)):
        raise OnnxExporterError(f"an adaptive pool gives {wanted} of {sizes}, which are no multiples")
    steps = [size // out for size, out in zip(sizes, wanted, strict=True)]
    return _on_batch(w, self, count, kind, kernel_shape=steps, strides=steps)


def _adaptive_max(count: int, w: Writer, self: Value, output_size: Any) -> list[str | None]:
    return [_adaptive("MaxPool", count, w, self, output_size), None]


for _count in (1, 2, 3):
    EMITTERS[f"aten::_adaptive_avg_pool{_count}d"] = partial(_adaptive, "AveragePool", _count)
    EMITTERS[f"aten::adaptive_avg_pool{_count}d"] = partial(_adaptive, "AveragePool", _count)
    EMITTERS[f"aten::adaptive_max_pool{_count}d"] = partial(_adaptive_max, _count)


def _resize(w: Writer, self: Value, size: Any, scales: Sequence[Any], **attributes: Any) -> str:
    """Add a node that resizes; to a size, where that is fixed, and by factors where it follows the input's."""
    if any(isinstance(each, DynamicSize) for each in size):
        if None in scales:
            raise OnnxExporterError(
                "the size of a resized image depends on a dynamic dimension, and no factor is given"
            )
        factors = w.constant(np.array([1, 1, *scales], np.float32))
        return str(w.node("Resize", w.name(self), "", factors, **attributes))
    ends = w.node("Concat", w.node("Shape", w.name(self), start=0, end=2), w.ints(size), axis=0)
    return str(w.node("Resize", w.name(self), "", "", ends, **attributes))


@emits("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def _nearest(w: Writer, self: Value, size: Any, *scales: Any) -> str:
    shared = {"coordinate_transformation_mode": "asymmetric", "mode": "nearest", "nearest_mode": "floor"}
    return _resize(w, self, size, scales or [None], **shared)


def _interpolate(mode: str, w: Writer, self: Value, size: Any, align_corners: bool, *scales: Any) -> str:
    where = "align_corners" if align_corners else "half_pixel" if mode == "cubic" else "pytorch_half_pixel"
    cubic = {"cubic_coeff_a": -0.75} if mode == "cubic" else {}
    return _resize(w, self, size, scales or [None], coordinate_transformation_mode=where, mode=mode, **cubic)


EMITTERS.update(
    {f"aten::upsample_{n}": partial(_interpolate, "linear") for n in ("linear1d", "bilinear2d", "trilinear3d")}
)
EMITTERS["aten::upsample_bicubic2d"] = partial(_interpolate, "cubic")

#: Kind of recurrent layer → its node, and torch's gates in ONNX's order: input, output, forget, cell; update, reset, new.
_RECURRENT: Final = {2: ("LSTM", [0, 3, 1, 2]), 3: ("GRU", [1, 0, 2])}


@emits("mkldnn_rnn_layer")
def _recurrent(
    w: Writer,
    input: Value,
    weight: Value,
    recurrent: Value,
    bias: Value,
    recurrent_bias: Value,
    hidden: Value,
    cell: Value,
    reverse: bool,
    batch_sizes: Any,
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    *_: Any,
) -> list[str | None]:
    if mode not in _RECURRENT:
        raise OnnxExporterError("a recurrent layer is neither an LSTM nor a GRU")
    kind, order = _RECURRENT[mode]
    gates = np.arange(len(order) * hidden_size).reshape(len(order), hidden_size)[order].reshape(-1)

    def order_gates(value: Value) -> str:
        return str(w.node("Gather", w.name(value), w.constant(gates), axis=0))

    def lift(name: str) -> str:
        return str(w.node("Unsqueeze", name, w.ints([0])))

    both = lift(w.node("Concat", order_gates(bias), order_gates(recurrent_bias), axis=0)) if has_biases else ""
    names = [w.name(input), lift(order_gates(weight)), lift(order_gates(recurrent)), both, ""]
    states = [hidden, cell] if kind == "LSTM" else [hidden]
    given = [w.name(each) if len(each.shape) == len(input.shape) else lift(w.name(each)) for each in states]
    own = {"linear_before_reset": 1} if kind == "GRU" else {}
    direction = "reverse" if reverse else "forward"
    made = w.node(kind, *names, *given, results=1 + len(states), hidden_size=hidden_size, direction=direction, **own)
    whole = w.node("Squeeze", made[0], w.ints([1]))
    last = [
        each if len(state.shape) == len(input.shape) else w.node("Squeeze", each, w.ints([0]))
        for each, state in zip(made[1:], states, strict=True)
    ]
    return [whole, *last, *[None] * (3 - len(last))]
