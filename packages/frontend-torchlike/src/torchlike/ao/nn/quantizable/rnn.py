"""LSTM by products, sums and activations that are modules (source: ``torch.ao.nn.quantizable.modules.rnn``)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, Final, Self

import torchlike as t
from torchlike import nn

from ..quantized.functional_modules import FloatFunctional

__all__ = ["LSTM", "LSTMCell"]

#: The names of the parts of the products, in their order.
_GATES: Final = ("input", "forget", "cell", "output")
#: A hidden state and the state of the cell.
State = Any


class LSTMCell(nn.Module):
    """Make a step of an LSTM by modules that can be observed (source: ``torch.ao.nn.quantizable.LSTMCell``).

    ``(N, input_dim)`` and states ``(N, hidden_dim)`` to two states; ``split_gates`` multiplies for each gate alone.

    >>> import torchlike
    >>> hidden, cell = LSTMCell(4, 3)(torchlike.ones(2, 4))
    >>> hidden.shape
    torchlike.Size([2, 3])
    """

    _FLOAT_MODULE: ClassVar[Any] = nn.LSTMCell

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.split_gates = input_dim, hidden_dim, bias, split_gates
        outputs = hidden_dim if split_gates else 4 * hidden_dim
        for name, make in (
            ("igates", lambda: nn.Linear(input_dim, outputs, bias, device, dtype)),
            ("hgates", lambda: nn.Linear(hidden_dim, outputs, bias, device, dtype)),
            ("gates", FloatFunctional),
        ):
            self.add_module(name, nn.ModuleDict({gate: make() for gate in _GATES}) if split_gates else make())
        self.input_gate, self.forget_gate = nn.Sigmoid(), nn.Sigmoid()
        self.cell_gate, self.output_gate = nn.Tanh(), nn.Sigmoid()
        self.fgate_cx, self.igate_cgate = FloatFunctional(), FloatFunctional()
        self.fgate_cx_igate_cgate, self.ogate_cy = FloatFunctional(), FloatFunctional()
        self.initial_hidden_state_qparams: tuple[float, int] = (1.0, 0)
        self.initial_cell_state_qparams: tuple[float, int] = (1.0, 0)
        self.hidden_state_dtype: Any = t.quint8
        self.cell_state_dtype: Any = t.quint8

    def forward(self, x: Any, hidden: State = None) -> State:
        if hidden is None or hidden[0] is None or hidden[1] is None:
            hidden = self.initialize_hidden(x.shape[0], x.is_quantized)
        state, cell = hidden
        products = [gates.add(igates(x), hgates(state)) for igates, hgates, gates in self._gates()]
        into, forget, new, out = products if self.split_gates else products[0].chunk(4, 1)
        into, forget = self.input_gate(into), self.forget_gate(forget)
        new, out = self.cell_gate(new), self.output_gate(out)
        kept = self.fgate_cx.mul(forget, cell)
        cell = self.fgate_cx_igate_cgate.add(kept, self.igate_cgate.mul(into, new))
        return self.ogate_cy.mul(out, t.tanh(cell)), cell

    def _gates(self) -> Iterator[tuple[Any, Any, Any]]:
        parts: Any = (self.igates, self.hgates, self.gates)
        return zip(*(each.values() if self.split_gates else [each] for each in parts), strict=True)

    def initialize_hidden(self, batch_size: int, is_quantized: bool = False) -> State:
        """Return two states of zeros."""
        made = [t.zeros((batch_size, self.hidden_size)) for _ in range(2)]
        if not is_quantized:
            return tuple(made)
        qparams = (
            (*self.initial_hidden_state_qparams, self.hidden_state_dtype),
            (*self.initial_cell_state_qparams, self.cell_state_dtype),
        )
        return tuple(t.quantize_per_tensor(zeros, *each) for zeros, each in zip(made, qparams, strict=True))

    def _get_name(self) -> str:
        return "QuantizableLSTMCell"

    @classmethod
    def from_params(cls, wi: Any, wh: Any, bi: Any = None, bh: Any = None, split_gates: bool = False) -> Self:
        """Return a cell with the weights of an input and of a state, and their biases."""
        if (bi is None) != (bh is None):
            raise AssertionError("bi and bh must both be None or both have values")
        made = cls(wi.shape[1], wh.shape[1], bi is not None, split_gates=split_gates)
        count = 4 if split_gates else 1
        for at, (igates, hgates, _) in enumerate(made._gates()):
            for layer, weight, bias in (igates, wi, bi), (hgates, wh, bh):
                layer.weight = nn.Parameter(weight.chunk(count)[at])
                if bias is not None:
                    layer.bias = nn.Parameter(bias.chunk(count)[at])
        return made

    @classmethod
    def from_float(cls, other: Any, use_precomputed_fake_quant: bool = False, split_gates: bool = False) -> Self:
        """Return a cell for another one, which has a ``qconfig``."""
        if type(other) is not cls._FLOAT_MODULE:
            raise AssertionError(f"Expected module type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig"):
            raise AssertionError("The float module must have 'qconfig'")
        values = other.weight_ih, other.weight_hh, other.bias_ih, other.bias_hh
        made = cls.from_params(*values, split_gates=split_gates)
        for each in (made, made.igates, made.hgates, *(layer for pair in made._gates() for layer in pair[:2])):
            each.qconfig = other.qconfig
        return made


class _LSTMSingleLayer(nn.Module):
    """Run a cell over the steps of a sequence."""

    def __init__(self, cell: LSTMCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Any, hidden: State = None) -> tuple[Any, State]:
        outputs = []
        for step in x.unbind(0):
            hidden = self.cell(step, hidden)
            outputs.append(hidden[0])
        return t.stack(outputs, 0), hidden


class _LSTMLayer(nn.Module):
    """Run a cell over a sequence, and perhaps another one from its end."""

    layer_fw: Any
    layer_bw: Any

    def __init__(self, cells: list[LSTMCell], batch_first: bool = False) -> None:
        super().__init__()
        self.batch_first, self.bidirectional = batch_first, len(cells) == 2
        for name, cell in zip(("layer_fw", "layer_bw"), cells, strict=False):
            self.add_module(name, _LSTMSingleLayer(cell))

    def forward(self, x: Any, hidden: State = None) -> tuple[Any, State]:
        x = x.transpose(0, 1) if self.batch_first else x
        states = [hidden]
        if self.bidirectional:
            given = (None, None) if hidden is None else hidden
            states = [tuple(None if each is None else each[at] for each in given) for at in (0, 1)]
        found, last = self.layer_fw(x, states[0])
        if self.bidirectional:
            back, other = self.layer_bw(x.flip(0), states[1])
            found = t.cat([found, back.flip(0)], found.dim() - 1)
            last = tuple(t.stack(pair, 0) for pair in zip(last, other, strict=True))
        return (found.transpose(0, 1) if self.batch_first else found), last


class LSTM(nn.Module):
    """Run an LSTM by modules that can be observed (source: ``torch.ao.nn.quantizable.LSTM``).

    ``(L, N, input_size)``, or with ``batch_first`` ``(N, L, input_size)``, to ``(L, N, directions * hidden_size)`` and
    the two last states; there is no dropout. `prepare` puts it in the place of ``nn.LSTM``.

    >>> import torchlike
    >>> LSTM(4, 3, num_layers=2)(torchlike.ones(5, 2, 4))[0].shape
    torchlike.Size([5, 2, 3])
    """

    _FLOAT_MODULE: ClassVar[Any] = nn.LSTM

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        split_gates: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(dropout, (int, float)) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, float(dropout), bidirectional
        self.training = False
        if dropout > 0:
            warnings.warn(
                "dropout option for quantizable LSTM is ignored. If you are training, please, use nn.LSTM version followed"
                " by `prepare` step.",
                stacklevel=2,
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers"
                f" greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        directions = 2 if bidirectional else 1
        # As in torch, the layers above the first take one direction's size.
        self.layers = nn.ModuleList(
            _LSTMLayer(
                [LSTMCell(size, hidden_size, bias, device, dtype, split_gates=split_gates) for _ in range(directions)]
            )
            for size in (input_size, *[hidden_size] * (num_layers - 1))
        )

    def forward(self, x: Any, hidden: State = None) -> tuple[Any, State]:
        x = x.transpose(0, 1) if self.batch_first else x
        hidden_states, cell_states = [], []
        for layer, state in zip(self.layers, self._states(x, hidden), strict=True):
            x, (last, cell) = layer(x, state)
            hidden_states.append(last)
            cell_states.append(cell)
        final = [t.stack(each).flatten(0, -3) for each in (hidden_states, cell_states)]
        return (x.transpose(0, 1) if self.batch_first else x), tuple(final)

    def _states(self, x: Any, hidden: State) -> Any:
        """Return the two states of each layer."""
        directions, batch = 2 if self.bidirectional else 1, x.size(1)
        if hidden is None:
            zeros = t.zeros(directions, batch, self.hidden_size, dtype=t.float32, device=x.device).squeeze(0)
            zeros = t.quantize_per_tensor(zeros, 1.0, 0, x.dtype) if x.is_quantized else zeros
            return [(zeros, zeros)] * self.num_layers
        if not isinstance(hidden[0], t.Tensor):
            return hidden
        sizes = self.num_layers, directions, batch, self.hidden_size
        split = [[each.squeeze(0) for each in state.reshape(*sizes).unbind(0)] for state in hidden]
        return list(zip(*split, strict=True))

    def _get_name(self) -> str:
        return "QuantizableLSTM"

    @classmethod
    def from_float(cls, other: Any, qconfig: Any = None, split_gates: bool = False) -> Any:
        """Return the observed layer for another one, which has a ``qconfig``."""
        if not isinstance(other, cls._FLOAT_MODULE):
            raise AssertionError(f"Expected module type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig") and not qconfig:
            raise AssertionError("other must have qconfig or qconfig must be provided")
        sizes = other.input_size, other.hidden_size, other.num_layers, other.bias, other.batch_first
        made = cls(*sizes, other.dropout, other.bidirectional, split_gates=split_gates)
        made.qconfig = getattr(other, "qconfig", qconfig)
        for at in range(other.num_layers):
            cells = []
            for suffix in ("", "_reverse") if other.bidirectional else ("",):
                names = (f"{what}_l{at}{suffix}" for what in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
                wi, wh, bi, bh = (getattr(other, name, None) for name in names)
                cells.append(LSTMCell.from_params(wi, wh, bi, bh, split_gates))
            made.layers[at] = _LSTMLayer(cells)
            made.layers[at].qconfig = made.qconfig
        prepare = t.ao.quantization.prepare_qat if other.training else t.ao.quantization.prepare
        return prepare(made.train(other.training), inplace=True)

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Raise ``NotImplementedError``: the quantized layer is made by ``torch.ao.nn.quantized.LSTM``."""
        raise NotImplementedError(
            "It looks like you are trying to convert a non-quantizable LSTM module\nHint: quantization.convert(model) makes"
            " quantized layers"
        )
