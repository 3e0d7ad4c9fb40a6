"""Recurrent steps with quantized weights, each of which quantizes its input by its own range.

The input's products are made of all steps at once, so its range is that of the whole sequence; the state's are made step by
step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torchlike as t

from .....quantized.packed import HalfWeight
from .....values.script_objects import ScriptObject

__all__ = ["STEPS", "CellParams", "run_layers"]

#: A state: one tensor, or two for LSTM.
State = Any


class CellParams(ScriptObject):
    """The weights of one direction of a layer: the input's and the state's."""

    __module__ = "torchlike.ao.nn.quantized.dynamic.steps"
    _kind = "rnn.CellParamsBase"

    def __init__(self, packed_ih: Any, packed_hh: Any, reduce_range: bool = True) -> None:
        self.packed_ih, self.packed_hh, self.reduce_range = packed_ih, packed_hh, reduce_range

    def _multiply(self, x: Any, packed: Any) -> Any:
        if isinstance(packed, HalfWeight):
            return packed.multiply(x)
        return t.ops.quantized.linear_dynamic(x, packed, reduce_range=self.reduce_range)

    def linear_ih(self, x: Any) -> Any:
        """Return the products of an input."""
        return self._multiply(x, self.packed_ih)

    def linear_hh(self, x: Any) -> Any:
        """Return the products of a state."""
        return self._multiply(x, self.packed_hh)

    def weights(self) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Return weight and bias of the input, and those of the state."""
        ih, hh = (
            each.unpack() if isinstance(each, HalfWeight) else t.ops.quantized.linear_unpack(each)
            for each in (self.packed_ih, self.packed_hh)
        )
        return ih, hh

    def _parts(self) -> Any:
        packed = [self.packed_ih, self.packed_hh]
        if isinstance(self.packed_ih, HalfWeight):
            return "quantized_fp16", [], [], [], packed
        biases = [bias for _, bias in self.weights()]
        return "quantized_dynamic", biases, [], [int(self.reduce_range)], packed


def restore_cell(parts: Any) -> CellParams:
    """Return the weights of one direction for the state of them."""
    kind, _, _, flags, (of_input, of_state) = parts
    if kind not in ("quantized_dynamic", "quantized_fp16"):
        raise ValueError(f"its kind is {kind!r}; quantized_dynamic and quantized_fp16 are known")
    return CellParams(of_input, of_state, bool(flags and flags[0]))


def _lstm(of_input: Any, state: State, params: CellParams) -> State:
    hidden, cell = state
    gates = (params.linear_hh(hidden) + of_input).chunk(4, 1)
    kept = gates[1].sigmoid() * cell + gates[0].sigmoid() * gates[2].tanh()
    return gates[3].sigmoid() * kept.tanh(), kept


def _gru(of_input: Any, state: State, params: CellParams) -> State:
    of_state, inputs = params.linear_hh(state).chunk(3, 1), of_input.chunk(3, 1)
    reset, update = ((of_state[at] + inputs[at]).sigmoid() for at in (0, 1))
    new = (inputs[2] + of_state[2] * reset).tanh()
    return (state - new) * update + new


#: A mode of recurrent layers → its step, of the input's products, a state and the weights.
STEPS: Final[dict[str, Callable[[Any, State, CellParams], State]]] = {
    "LSTM": _lstm,
    "GRU": _gru,
    "RNN_TANH": lambda of_input, state, params: (params.linear_hh(state) + of_input).tanh(),
    "RNN_RELU": lambda of_input, state, params: (params.linear_hh(state) + of_input).relu(),
}


def _take(state: State, count: int) -> tuple[State, State]:
    """Return the first rows of a state, and the others."""
    if isinstance(state, tuple):
        parts = [_take(each, count) for each in state]
        return tuple(one for one, _ in parts), tuple(other for _, other in parts)
    return state[:count], state[count:]


def _join(states: list[State]) -> State:
    if isinstance(states[0], tuple):
        return tuple(map(t.cat, zip(*states, strict=True)))
    return t.cat(states)


def _output(state: State) -> Any:
    return state[0] if isinstance(state, tuple) else state


def _run_steps(
    mode: str, x: Any, sizes: list[int], state: State, params: CellParams, reverse: bool
) -> tuple[Any, State]:
    """Return the outputs of one direction, of rows step by step, and the last state; ``sizes`` are the steps' rows."""
    steps = list(params.linear_ih(x).split(sizes))
    outputs: list[Any] = [None] * len(steps)
    if reverse:
        # The shortest sequences begin later: their states wait.
        now, waiting = _take(state, sizes[-1])
        for at in range(len(steps) - 1, -1, -1):
            grown = sizes[at] - len(_output(now))
            if grown:
                more, waiting = _take(waiting, grown)
                now = _join([now, more])
            now = STEPS[mode](steps[at], now, params)
            outputs[at] = _output(now)
        return t.cat(outputs), now
    now = state
    done: list[State] = []
    for at, rows in enumerate(steps):
        now, ended = _take(now, sizes[at])
        if len(_output(ended)):
            done.insert(0, ended)
        now = STEPS[mode](rows, now, params)
        outputs[at] = _output(now)
    return t.cat(outputs), _join([now, *done]) if done else now


def run_layers(
    mode: str, x: Any, sizes: list[int], states: list[State], params: list[CellParams], directions: int, dropout: Any
) -> tuple[Any, list[State]]:
    """Return the outputs of all layers, and the last states.

    ``x`` has the rows of all steps one behind the other; ``states`` and ``params`` have an entry for each direction of each
    layer; ``dropout`` is called between layers.
    """
    last = []
    for first in range(0, len(params), directions):
        if first:
            x = dropout(x)
        outputs = []
        for at in range(directions):
            found, state = _run_steps(mode, x, sizes, states[first + at], params[first + at], reverse=at == 1)
            outputs.append(found)
            last.append(state)
        x = outputs[0] if directions == 1 else t.cat(outputs, -1)
    return x, last
