"""All steps of one direction of an LSTM or GRU layer, and their gradients, in simpler operators.

Backward runs the steps again, so the workspace stays empty of meaning.
"""

from __future__ import annotations

from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, meta_of
from dispatch_aten.shapes import RULES

_LSTM: Final = 2


def _run(
    input: Array, w_ih: Array, w_hh: Array, b_ih: Array, b_hh: Array, hidden: Array, cell: Array, order: Any, mode: int
) -> list[tuple[Array, ...]]:
    """Return for each step of ``order`` its gates, the states before it, and the states after it."""
    size, found = dc.shape(w_hh)[1], []
    bias = aten.add.Tensor(b_ih, b_hh) if mode == _LSTM else b_ih
    products = aten.unbind.int(aten.linear.default(input, w_ih, bias), 0)
    turned = aten.t.default(w_hh)
    for step in order:
        before = hidden, cell
        if mode == _LSTM:
            i, f, g, o = aten.split.Tensor(aten.addmm.default(products[step], hidden, turned), size, 1)
            i, f, g, o = aten.sigmoid.default(i), aten.sigmoid.default(f), aten.tanh.default(g), aten.sigmoid.default(o)
            cell = aten.add.Tensor(aten.mul.Tensor(f, cell), aten.mul.Tensor(i, g))
            hidden = aten.mul.Tensor(o, aten.tanh.default(cell))
            gates = i, f, g, o
        else:
            r, z, n = aten.split.Tensor(products[step], size, 1)
            p, q, last = aten.split.Tensor(aten.addmm.default(b_hh, hidden, turned), size, 1)
            r, z = (aten.sigmoid.default(aten.add.Tensor(*pair)) for pair in ((r, p), (z, q)))
            n = aten.tanh.default(aten.add.Tensor(n, aten.mul.Tensor(r, last)))
            hidden = aten.add.Tensor(aten.mul.Tensor(aten.sub.Tensor(hidden, n), z), n)
            gates = r, z, n, last
        found.append((*gates, *before, hidden, cell))
    return found


def rnn_layer(
    input: Array,
    weight0: Array,
    weight1: Array,
    weight2: Array,
    weight3: Array,
    hx_: Array,
    cx_: Array,
    reverse: bool,
    batch_sizes: Any,
    mode: int,
    *rest: Any,
) -> tuple[Array, Array, Array, Array]:
    """Return the outputs of all steps, the last states, and the workspace."""
    metas = [meta_of(each) for each in (input, weight0, weight1, weight2, weight3, hx_, cx_)]
    work = RULES["mkldnn_rnn_layer"](*metas, reverse, batch_sizes, mode, *rest)[3]
    steps = dc.shape(input)[0]
    order = range(steps - 1, -1, -1) if reverse else range(steps)
    found = _run(input, weight0, weight1, weight2, weight3, hx_, cx_, order, mode)
    outputs = [each[-2] for each in found]
    output = aten.stack.default(outputs[::-1] if reverse else outputs, 0)
    states = (aten.clone.default(each, memory_format=0) for each in found[-1][-2:])
    return output, *states, aten.new_zeros.default(input, work.shape)


def _slope(gate: Array) -> Array:
    """Return the derivative of a sigmoid by its value."""
    return aten.mul.Tensor(gate, aten.rsub.Scalar(gate, 1))


def _bend(gate: Array) -> Array:
    """Return the derivative of a tangent by its value."""
    return aten.rsub.Scalar(aten.mul.Tensor(gate, gate), 1)


def _product(*factors: Array) -> Array:
    found = factors[0]
    for each in factors[1:]:
        found = aten.mul.Tensor(found, each)
    return found


def rnn_layer_backward(
    input: Array,
    weight1: Array,
    weight2: Array,
    weight3: Array,
    weight4: Array,
    hx_: Array,
    cx_tmp: Array,
    output: Array,
    hy_: Array,
    cy_: Array,
    grad_output: Array | None,
    grad_hy: Array | None,
    grad_cy: Array | None,
    reverse: bool,
    mode: int,
    *rest: Any,
) -> tuple[Array, ...]:
    """Return the gradients of the inputs, the weights, the biases and the first states."""
    steps = dc.shape(input)[0]
    order = list(range(steps - 1, -1, -1) if reverse else range(steps))
    found = _run(input, weight1, weight2, weight3, weight4, hx_, cx_tmp, order, mode)
    dh = aten.zeros_like.default(hx_) if grad_hy is None else grad_hy
    dc_ = aten.zeros_like.default(cx_tmp) if grad_cy is None else grad_cy
    ours: list[Array] = [None] * steps
    theirs, before = list(ours), list(ours)
    for step, (a, b, c, d, hidden, cell, _, after) in zip(order[::-1], found[::-1], strict=True):
        if grad_output is not None:
            dh = aten.add.Tensor(dh, aten.select.int(grad_output, 0, step))
        before[step] = hidden
        if mode == _LSTM:
            shown = aten.tanh.default(after)
            dc_ = aten.add.Tensor(dc_, _product(dh, d, _bend(shown)))
            parts = [
                _product(dc_, c, _slope(a)),
                _product(dc_, cell, _slope(b)),
                _product(dc_, a, _bend(c)),
                _product(dh, shown, _slope(d)),
            ]
            ours[step] = theirs[step] = aten.cat.default(parts, 1)
            dc_ = aten.mul.Tensor(dc_, b)
            dh = aten.mm.default(ours[step], weight2)
        else:
            new = _product(dh, aten.rsub.Scalar(b, 1), _bend(c))
            pair = [_product(new, d, _slope(a)), _product(dh, aten.sub.Tensor(hidden, c), _slope(b))]
            ours[step] = aten.cat.default([*pair, new], 1)
            theirs[step] = aten.cat.default([*pair, aten.mul.Tensor(new, a)], 1)
            dh = aten.add.Tensor(aten.mul.Tensor(dh, b), aten.mm.default(theirs[step], weight2))
    flat, other, states = (aten.cat.default(each, 0) for each in (ours, theirs, before))
    rows = aten.reshape.default(input, (-1, dc.shape(input)[2]))
    return (
        aten.reshape.default(aten.mm.default(flat, weight1), dc.shape(input)),
        aten.mm.default(aten.t.default(flat), rows),
        aten.mm.default(aten.t.default(other), states),
        aten.sum.dim_IntList(flat, [0], False),
        aten.sum.dim_IntList(other, [0], False),
        dh,
        dc_,
    )
