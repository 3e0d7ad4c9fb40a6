"""Recurrent networks in terms of simpler operators.

The inputs of all steps are multiplied at once; a step then is one ``addmm`` and its gates. Where a cell adds both its
biases, they go into the first product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, ndim, overload
from dispatch_aten.dtypes import float32
from dispatch_aten.errors import OperatorError
from dispatch_aten.families.recurrent.packed import read_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class _Weights(NamedTuple):
    """The parameters of one direction of one layer."""

    w_ih: Array
    w_hh: Array
    b_ih: Array | None = None
    b_hh: Array | None = None
    #: The projection of an LSTM's results.
    w_hr: Array | None = None


class _Prepared(NamedTuple):
    """The parts of a direction that all its steps share: the products of its inputs, and the weights of its states."""

    inputs: list[Array]
    w_hh: Array
    b_hh: Array | None
    w_hr: Array | None


def _product(bias: Array | None, state: Array, weight: Array) -> Array:
    return aten.mm.default(state, weight) if bias is None else aten.addmm.default(bias, state, weight)


def _lstm_step(gates: Array, state: tuple[Array, ...], part: _Prepared) -> tuple[Array, ...]:
    hidden, cell = state
    gates = aten.addmm.default(gates, hidden, part.w_hh)
    take, keep, new, show = aten.split.Tensor(gates, dc.shape(gates)[1] // 4, 1)
    kept = aten.mul.Tensor(aten.sigmoid.default(keep), cell)
    cell = aten.add.Tensor(kept, aten.mul.Tensor(aten.sigmoid.default(take), aten.tanh.default(new)))
    hidden = aten.mul.Tensor(aten.sigmoid.default(show), aten.tanh.default(cell))
    if part.w_hr is not None:
        hidden = aten.mm.default(hidden, part.w_hr)
    return hidden, cell


def _gru_step(gates: Array, state: tuple[Array, ...], part: _Prepared) -> tuple[Array, ...]:
    (hidden,) = state
    size = dc.shape(gates)[1] // 3
    ours, new = aten.split_with_sizes.default(gates, [2 * size, size], 1)
    theirs, old = aten.split_with_sizes.default(_product(part.b_hh, hidden, part.w_hh), [2 * size, size], 1)
    reset, keep = aten.split.Tensor(aten.sigmoid.default(aten.add.Tensor(ours, theirs)), size, 1)
    new = aten.tanh.default(aten.add.Tensor(new, aten.mul.Tensor(reset, old)))
    return (aten.add.Tensor(aten.mul.Tensor(aten.sub.Tensor(hidden, new), keep), new),)


def _elman_step(function: str) -> Callable[..., tuple[Array, ...]]:
    def step(gates: Array, state: tuple[Array, ...], part: _Prepared) -> tuple[Array, ...]:
        return (overload(function)(aten.addmm.default(gates, state[0], part.w_hh)),)

    return step


class _Cell(NamedTuple):
    """A kind of network: its step, how many gates it has, and whether the second bias is added within the step."""

    step: Callable[..., tuple[Array, ...]]
    gates: int
    keeps_bias: bool = False


_CELLS: Final = {
    "lstm": _Cell(_lstm_step, 4),
    "gru": _Cell(_gru_step, 3, keeps_bias=True),
    "rnn_tanh": _Cell(_elman_step("tanh"), 1),
    "rnn_relu": _Cell(_elman_step("relu"), 1),
}


def _multiply_inputs(cell: _Cell, inputs: Array, weights: _Weights) -> Array:
    """Return the inputs of all steps times their weights, with the biases that can be added at once."""
    bias = weights.b_ih
    if bias is not None and weights.b_hh is not None and not cell.keeps_bias:
        bias = aten.add.Tensor(bias, weights.b_hh)
    return aten.linear.default(inputs, weights.w_ih, bias)


def _prepare(cell: _Cell, inputs: list[Array], weights: _Weights) -> _Prepared:
    projection = None if weights.w_hr is None else aten.t.default(weights.w_hr)
    return _Prepared(inputs, aten.t.default(weights.w_hh), weights.b_hh if cell.keeps_bias else None, projection)


def _run_steps(
    cell: _Cell, inputs: Array, state: tuple[Array, ...], weights: _Weights, *, reverse: bool
) -> tuple[list[Array], tuple[Array, ...]]:
    """Run one direction of a layer over steps of equal batches."""
    products = list(aten.unbind.int(_multiply_inputs(cell, inputs, weights), 0))
    part = _prepare(cell, products[::-1] if reverse else products, weights)
    outputs = []
    for gates in part.inputs:
        state = cell.step(gates, state, part)
        outputs.append(state[0])
    return (outputs[::-1] if reverse else outputs), state


def _run_packed_steps(
    cell: _Cell, inputs: Array, sizes: list[int], state: tuple[Array, ...], weights: _Weights, *, reverse: bool
) -> tuple[list[Array], tuple[Array, ...]]:
    """Run one direction of a layer over steps whose batches get smaller as sequences end."""
    products = list(aten.split_with_sizes.default(_multiply_inputs(cell, inputs, weights), sizes, 0))
    part = _prepare(cell, products, weights)
    outputs: list[Array] = [None] * len(sizes)
    first = state
    running = sizes[-1] if reverse else sizes[0]
    state = tuple(aten.slice.Tensor(each, 0, 0, running) for each in first) if reverse else first
    finished: list[tuple[Array, ...]] = []
    for step in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        size = sizes[step]
        if size > running:
            begun = (aten.slice.Tensor(each, 0, running, size) for each in first)
            state = tuple(aten.cat.default(list(pair), 0) for pair in zip(state, begun, strict=True))
        elif size < running:
            finished.append(tuple(aten.slice.Tensor(each, 0, size, running) for each in state))
            state = tuple(aten.slice.Tensor(each, 0, 0, size) for each in state)
        running = size
        state = cell.step(part.inputs[step], state, part)
        outputs[step] = state[0]
    if finished:
        finished.append(state)
        state = tuple(aten.cat.default(list(parts[::-1]), 0) for parts in zip(*finished, strict=True))
    return outputs, state


#: torch's numbers for the kinds of networks.
_MODES: Final = {"lstm": 2, "gru": 3}


def _is_fused(inputs: Array, *state: Array) -> bool:
    has_one_dtype = all(dc.dtype(each) == float32 for each in (inputs, *state))
    return has_one_dtype and dc.device(inputs).type == "cpu" and 0 not in dc.shape(inputs)


def _run_fused(
    name: str, inputs: Array, state: tuple[Array, ...], weights: _Weights, *, reverse: bool
) -> tuple[Array, tuple[Array, ...]]:
    """Run one direction of a layer by one operator."""
    hidden = state[0]
    cell = state[1] if len(state) == 2 else aten.zeros_like.default(hidden)
    has_biases = weights.b_ih is not None
    size = dc.shape(hidden)[1]
    empty = None if has_biases else aten.new_zeros.default(hidden, (dc.shape(weights.w_hh)[0],))
    output, hidden, cell, _ = aten.mkldnn_rnn_layer.default(
        inputs,
        weights.w_ih,
        weights.w_hh,
        weights.b_ih if has_biases else empty,
        weights.b_hh if has_biases else empty,
        hidden,
        cell,
        reverse,
        [],
        _MODES[name],
        size,
        1,
        has_biases,
        False,
        False,
        True,
    )
    return output, ((hidden, cell) if len(state) == 2 else (hidden,))


def _group_weights(
    name: str, params: Sequence[Array], count: int, *, has_biases: bool, projected: bool
) -> list[_Weights]:
    """Return the parameters by layer and direction."""
    each = (4 if has_biases else 2) + projected
    if len(params) != count * each:
        raise OperatorError("got an incorrect number of RNN parameters", operator=f"aten::{name}", argument="params")
    grouped = []
    for start in range(0, len(params), each):
        found = list(params[start : start + each])
        projection = found.pop() if projected else None
        grouped.append(_Weights(*found)._replace(w_hr=projection))
    return grouped


def _run_layers(
    name: str,
    inputs: Array,
    sizes: list[int] | None,
    hx: tuple[Array, ...],
    params: Sequence[Array],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Array, ...]:
    """Run all layers, of steps along the first dimension or, with ``sizes``, packed; return outputs and last states."""
    cell = _CELLS[name]
    directions = 2 if bidirectional else 1
    projected = len(hx) == 2 and dc.shape(hx[0])[2] != dc.shape(hx[1])[2]
    weights = _group_weights(name, params, num_layers * directions, has_biases=has_biases, projected=projected)
    firsts = list(zip(*(aten.unbind.int(each, 0) for each in hx), strict=True))
    if len(firsts) != len(weights):
        raise OperatorError(
            f"Expected hidden states for {len(weights)} layers and directions, got {len(firsts)}",
            operator=f"aten::{name}",
            argument="hx",
        )
    # The cpu has one operator for all steps; as torch's, it serves one dtype, and its gradient has no gradient.
    fused = sizes is None and not projected and name in _MODES and _is_fused(inputs, *hx)
    lasts: list[tuple[Array, ...]] = []
    for layer in range(num_layers):
        sides = []
        for direction in range(directions):
            place = layer * directions + direction
            if fused:
                output, last = _run_fused(name, inputs, firsts[place], weights[place], reverse=direction == 1)
                sides.append(output)
            elif sizes is None:
                outputs, last = _run_steps(cell, inputs, firsts[place], weights[place], reverse=direction == 1)
                sides.append(aten.stack.default(outputs, 0))
            else:
                outputs, last = _run_packed_steps(
                    cell, inputs, sizes, firsts[place], weights[place], reverse=direction == 1
                )
                sides.append(aten.cat.default(outputs, 0))
            lasts.append(last)
        inputs = sides[0] if directions == 1 else aten.cat.default(sides, -1)
        if dropout and train and layer < num_layers - 1:
            inputs = aten.dropout.default(inputs, dropout, True)
    return inputs, *(aten.stack.default(list(states), 0) for states in zip(*lasts, strict=True))


def _check_lstm_states(hx: Sequence[Array], name: str) -> tuple[Array, ...]:
    if len(hx) != 2:
        raise OperatorError(f"{name} expects two hidden states", operator=f"aten::{name}", argument="hx")
    return tuple(hx)


def _make_network(name: str) -> Callable[..., tuple[Array, ...]]:
    def kernel(
        input: Array,
        hx: Any,
        params: Sequence[Array],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Array, ...]:
        states = _check_lstm_states(hx, name) if name == "lstm" else (hx,)
        if ndim(input) != 3:
            raise OperatorError("input must have 3 dimensions", operator=f"aten::{name}", argument="input")
        if batch_first:
            input = aten.transpose.int(input, 0, 1)
        if not dc.shape(input)[0]:
            raise OperatorError("Expected sequence length to be larger than 0 in RNN", operator=f"aten::{name}")
        output, *last = _run_layers(
            name, input, None, states, params, has_biases, num_layers, dropout, train, bidirectional
        )
        return (aten.transpose.int(output, 0, 1) if batch_first else output), *last

    return kernel


def _make_packed_network(name: str) -> Callable[..., tuple[Array, ...]]:
    def kernel(
        data: Array,
        batch_sizes: Array,
        hx: Any,
        params: Sequence[Array],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> tuple[Array, ...]:
        states = _check_lstm_states(hx, name) if name == "lstm" else (hx,)
        sizes = read_sizes(batch_sizes)
        return _run_layers(name, data, sizes, states, params, has_biases, num_layers, dropout, train, bidirectional)

    return kernel


def _check_cell(name: str, input: Array, state: Array, w_ih: Array, w_hh: Array, gates: int, label: str) -> None:
    """Refuse arguments of a cell whose sizes do not fit."""
    if dc.shape(input)[1:] != dc.shape(w_ih)[1:]:
        raise OperatorError(
            f"input has inconsistent input_size: got {dc.shape(input)[1]} expected {dc.shape(w_ih)[1]}",
            operator=f"aten::{name}",
            argument="input",
        )
    size = dc.shape(w_hh)[1]
    if dc.shape(input)[0] != dc.shape(state)[0]:
        raise OperatorError(
            f"Input batch size {dc.shape(input)[0]} doesn't match hidden{label} batch size {dc.shape(state)[0]}",
            operator=f"aten::{name}",
            argument="hx",
        )
    if dc.shape(state)[1] != size or dc.shape(w_hh)[0] != gates * size:
        raise OperatorError(
            f"hidden{label} has inconsistent hidden_size: got {dc.shape(state)[1]}, expected {size}",
            operator=f"aten::{name}",
            argument="hx",
        )


def _make_cell(name: str) -> Callable[..., Any]:
    cell = _CELLS[name.removesuffix("_cell")]

    def kernel(
        input: Array, hx: Any, w_ih: Array, w_hh: Array, b_ih: Array | None = None, b_hh: Array | None = None
    ) -> Any:
        states = _check_lstm_states(hx, name) if name == "lstm_cell" else (hx,)
        for place, state in enumerate(states):
            _check_cell(name, input, state, w_ih, w_hh, cell.gates, str(place))
        weights = _Weights(w_ih, w_hh, b_ih, b_hh)
        gates = _multiply_inputs(cell, input, weights)
        found = cell.step(gates, states, _prepare(cell, [], weights))
        return found if len(found) == 2 else found[0]

    return kernel
