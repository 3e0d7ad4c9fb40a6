"""Kernels of recurrent networks: all steps of one direction of a layer, and their gradients.

The inputs' products of all steps come first, and the weights' gradients of all steps last, each as one product; a step
multiplies the state alone. A sigmoid is a tangent: ``sigmoid(x) = tanh(x / 2) / 2 + 1 / 2``, so all gates of a step are
one call. Each step's values for backward stand in the workspace: the gates, and an LSTM's cell or a GRU's last term.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...arrays import Array
from ...kernel_table import KernelTable
from ..support.rule_kernels import make_kernel

KERNELS: Final = KernelTable()

_LSTM: Final = 2


def _order(steps: int, reverse: bool) -> Any:
    return range(steps - 1, -1, -1) if reverse else range(steps)


def _run_lstm(gates: Array, weight: Array, hidden: Array, cell: Array, order: Any, output: Array, work: Array) -> Array:
    """Fill output and workspace, and return the last cell; ``gates`` are the products of the inputs."""
    size = hidden.shape[1]
    halves = np.full(4 * size, 0.5, gates.dtype)
    halves[2 * size : 3 * size] = 1
    shift = np.where(halves == 1, np.zeros((), gates.dtype), halves)
    gates, weight = gates * halves, np.ascontiguousarray(weight.T) * halves
    for step in order:
        found = hidden @ weight
        found += gates[step]
        np.tanh(found, found)
        found *= halves
        found += shift
        work[step, :, : 4 * size] = found
        cell = found[:, size : 2 * size] * cell
        cell += found[:, :size] * found[:, 2 * size : 3 * size]
        work[step, :, 4 * size :] = cell
        hidden = np.multiply(found[:, 3 * size :], np.tanh(cell), output[step])
    return cell


def _run_gru(gates: Array, weight: Array, bias: Array, hidden: Array, order: Any, output: Array, work: Array) -> None:
    size = hidden.shape[1]
    weight = np.ascontiguousarray(weight.T)
    for step in order:
        theirs = hidden @ weight
        theirs += bias
        found = gates[step, :, : 2 * size] + theirs[:, : 2 * size]
        found *= 0.5
        np.tanh(found, found)
        found *= 0.5
        found += 0.5
        last = theirs[:, 2 * size :]
        new = np.tanh(gates[step, :, 2 * size :] + found[:, :size] * last)
        work[step, :, : 2 * size] = found
        work[step, :, 2 * size : 3 * size] = new
        work[step, :, 3 * size :] = last
        kept = hidden - new
        kept *= found[:, size:]
        hidden = np.add(kept, new, output[step])


def _layer(
    spec: Any,
    input: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array,
    b_hh: Array,
    hx: Array,
    cx: Array,
    reverse: bool,
    batch_sizes: Any,
    mode: int,
    *_: Any,
) -> tuple[Array, ...]:
    steps, batch, width = input.shape
    bias = b_ih + b_hh if mode == _LSTM else b_ih
    gates = (input.reshape(-1, width) @ w_ih.T + bias).reshape(steps, batch, -1)
    output, work = (np.empty(each.shape, input.dtype) for each in (spec[0], spec[3]))
    order = _order(steps, reverse)
    cell = cx
    if mode == _LSTM:
        cell = _run_lstm(gates, w_hh, hx, cx, order, output, work)
    else:
        _run_gru(gates, w_hh, b_hh, hx, order, output, work)
    return output, output[order[-1]].copy(), cell.copy(), work


def _shift(states: Array, first: Array, reverse: bool) -> Array:
    """Return for each step the state before it."""
    found = np.empty_like(states)
    if reverse:
        found[:-1], found[-1] = states[1:], first
    else:
        found[1:], found[0] = states[:-1], first
    return found


def _step_back_lstm(
    work: Array, w_hh: Array, cells: Array, grad_output: Array | None, dh: Array, dc: Array, order: Any
) -> tuple[Array, Array, Array]:
    """Return the gradients of the gates' arguments, and of the first states."""
    size = w_hh.shape[1]
    gates = work[:, :, : 4 * size]
    slopes = gates * (1 - gates)
    new = gates[:, :, 2 * size : 3 * size]
    slopes[:, :, 2 * size : 3 * size] = 1 - new * new
    shown = np.tanh(work[:, :, 4 * size :])
    bent = gates[:, :, 3 * size :] * (1 - shown * shown)
    found = np.empty_like(gates)
    for step in order:
        if grad_output is not None:
            dh = dh + grad_output[step]
        dc = dc + dh * bent[step]
        each, gate = found[step], gates[step]
        np.multiply(dc, gate[:, 2 * size : 3 * size], each[:, :size])
        np.multiply(dc, cells[step], each[:, size : 2 * size])
        np.multiply(dc, gate[:, :size], each[:, 2 * size : 3 * size])
        np.multiply(dh, shown[step], each[:, 3 * size :])
        each *= slopes[step]
        dc = dc * gate[:, size : 2 * size]
        dh = each @ w_hh
    return found, dh, dc


def _step_back_gru(
    work: Array, w_hh: Array, before: Array, grad_output: Array | None, dh: Array, order: Any
) -> tuple[Array, Array, Array]:
    """Return the gradients of the inputs' products, of the states' products, and of the first state."""
    size = w_hh.shape[1]
    reset, keep, new, last = (work[:, :, place * size : (place + 1) * size] for place in range(4))
    slope = 1 - new * new
    ours = np.empty((*work.shape[:2], 3 * size), work.dtype)
    theirs = np.empty_like(ours)
    for step in order:
        if grad_output is not None:
            dh = dh + grad_output[step]
        r, z = reset[step], keep[step]
        dn = dh * (1 - z) * slope[step]
        each = ours[step]
        each[:, :size] = dn * last[step] * r * (1 - r)
        each[:, size : 2 * size] = dh * (before[step] - new[step]) * z * (1 - z)
        each[:, 2 * size :] = dn
        other = theirs[step]
        other[:, : 2 * size] = each[:, : 2 * size]
        np.multiply(dn, r, other[:, 2 * size :])
        dh = dh * z + other @ w_hh
    return ours, theirs, dh


def _layer_backward(
    spec: Any,
    input: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array,
    b_hh: Array,
    hx: Array,
    cx: Array,
    output: Array,
    hy: Array,
    cy: Array,
    grad_output: Array | None,
    grad_hy: Array | None,
    grad_cy: Array | None,
    reverse: bool,
    mode: int,
    *rest: Any,
) -> tuple[Array, ...]:
    work: Array = rest[-1]
    steps, batch, width = input.shape
    size = hx.shape[1]
    order = _order(steps, not reverse)
    dh = np.zeros_like(hx) if grad_hy is None else grad_hy
    dc = np.zeros_like(cx) if grad_cy is None else grad_cy
    before = _shift(output, hx, reverse)
    if mode == _LSTM:
        cells = _shift(work[:, :, 4 * size :], cx, reverse)
        ours, dh, dc = _step_back_lstm(work, w_hh, cells, grad_output, dh, dc, order)
        theirs = ours
    else:
        ours, theirs, dh = _step_back_gru(work, w_hh, before, grad_output, dh, order)
    flat, other = ours.reshape(steps * batch, -1), theirs.reshape(steps * batch, -1)
    return (
        (flat @ w_ih).reshape(input.shape),
        flat.T @ input.reshape(-1, width),
        other.T @ before.reshape(-1, size),
        flat.sum(0),
        other.sum(0),
        dh,
        dc,
    )


KERNELS.update(
    {
        "mkldnn_rnn_layer": make_kernel("mkldnn_rnn_layer", _layer),
        "mkldnn_rnn_layer_backward": make_kernel("mkldnn_rnn_layer_backward", _layer_backward),
    }
)
