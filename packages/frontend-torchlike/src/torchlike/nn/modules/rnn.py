"""Recurrent layers (source: ``torch.nn.modules.rnn``)."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import dispatch_core as dc

from ...creation.factories import FACTORIES
from ...functions.operator_functions import FUNCTIONS
from ...history.graph_settings import is_any_autocast_enabled
from ...overriding.mode_stack import ENTERED
from ...tensors.arguments import check_tensor
from ...tensors.tensor import Tensor
from ...values.argument_types import DeviceLike, DTypeLike
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module
from .parts.rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

#: How many gates the weights of a kind of network hold.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _check_tensor(value: Any, function: str, name: str = "input") -> None:
    """Refuse a value that is neither a tensor nor an object whose class overrides functions of tensors."""
    if not hasattr(value, "__torch_function__"):
        check_tensor(value, function, name)


def _check_arguments(
    input_size: Any, hidden_size: Any, num_layers: int, bias: Any, batch_first: Any, dropout: Any, proj_size: int
) -> None:
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    for name, value, kind in (
        ("bias", bias, bool),
        ("batch_first", batch_first, bool),
        ("input_size", input_size, int),
        ("hidden_size", hidden_size, int),
    ):
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """The base of recurrent layers: weights by layer and direction, packed sequences, and the first states.

    Weights are ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0``, ``weight_hr_l0`` (projections), with
    ``_reverse`` added for the second direction.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        _check_arguments(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                UserWarning,
                stacklevel=3,
            )
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        rows, real_size = _GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            width = real_size * (1 + bidirectional) if layer else input_size
            shapes: dict[str, Any] = {"weight_ih": (rows, width), "weight_hh": (rows, real_size)}
            if bias:
                shapes |= {"bias_ih": rows, "bias_hh": rows}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(FACTORIES["empty"](shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of every layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: weights lie where they are (source: ``torch.nn.RNNBase.flatten_parameters``)."""

    def reset_parameters(self) -> None:
        """Fill all weights evenly within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input of another dtype, number of dimensions or width."""
        _check_tensor(input, type(self).__name__)
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype != weight.dtype and not is_any_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype!r}) does not match weight dtype ({weight.dtype!r}). Convert input: "
                f"input.to({weight.dtype!r}), or convert model: model.to({input.dtype!r})"
            )
        wanted = 3 if batch_sizes is None else 2
        if input.dim() != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of a state."""
        _check_tensor(input, type(self).__name__)
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (1 + self.bidirectional), batch, self.proj_size or self.hidden_size

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of an LSTM's cell state."""
        return *self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Refuse a state of another shape."""
        _check_tensor(hx, type(self).__name__, "hx")
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Refuse an input or a state that does not fit the layer."""
        self.check_input(input, batch_sizes)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        if self.mode != "LSTM":
            self.check_hidden_size(hidden, expected)
            return
        self.check_hidden_size(hidden[0], expected, "Expected hidden[0] size {}, got {}")
        cell = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(hidden[1], cell, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the state with its batch in another order."""
        if permutation is None:
            return hx
        if isinstance(hx, Tensor):
            return hx.index_select(1, permutation)
        return tuple(each.index_select(1, permutation) for each in hx)

    def _make_states(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        """Return states of zeros."""
        shapes = [self.get_expected_hidden_size(input, batch_sizes)]
        if self.mode == "LSTM":
            shapes.append(self.get_expected_cell_size(input, batch_sizes))
        states = tuple(FACTORIES["zeros"](shape, dtype=input.dtype, device=input.device) for shape in shapes)
        return states if self.mode == "LSTM" else states[0]

    def _check_states(self, hx: Any) -> None:
        """Refuse a state that is not a pair of tensors for an LSTM, or a tensor for another layer."""
        name, is_pair = type(self).__name__, self.mode == "LSTM"
        if is_pair and not (isinstance(hx, (tuple, list)) and len(hx) == 2):
            raise TypeError(
                f"{name}(): argument 'hx' must be a pair of Tensors, not {type(hx).__name__}\n"
                "Hint: pass (h_0, c_0), as the layer returns them beside its output"
            )
        for each in hx if is_pair else (hx,):
            _check_tensor(each, name, "hx")

    def _check_dims(self, input: Tensor, hx: Any) -> None:
        _check_tensor(input, type(self).__name__)
        name = self.mode.partition("_")[0]
        if input.dim() not in (2, 3):
            tensor = " tensor" if name == "RNN" else ""
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{tensor} instead")
        if hx is None:
            return
        self._check_states(hx)
        wanted, batched = input.dim(), "batched" if input.dim() == 3 else "unbatched"
        if name == "LSTM" and any(each.dim() != wanted for each in hx):
            raise RuntimeError(
                f"For {batched} {wanted}-D input, hx and cx should also be {wanted}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors"
            )
        if name != "LSTM" and hx.dim() != wanted:
            raise RuntimeError(
                f"For {batched} {wanted}-D input, hx should also be {wanted}-D but got {hx.dim()}-D tensor"
            )

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        self._check_dims(input, hx)
        is_batched = input.dim() == 3
        if not is_batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            if hx is not None:
                hx = hx.unsqueeze(1) if isinstance(hx, Tensor) else tuple(each.unsqueeze(1) for each in hx)
        if hx is None:
            hx = self._make_states(input, None)
        self.check_forward_args(input, hx, None)
        output, *states = self._find_operator(input, "input")(
            input,
            hx if isinstance(hx, Tensor) else list(hx),
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if not is_batched:
            output = output.squeeze(0 if self.batch_first else 1)
            states = [each.squeeze(1) for each in states]
        return output, (tuple(states) if self.mode == "LSTM" else states[0])

    def _find_operator(self, input: Any, overload: str) -> Any:
        """Return the operator, or for an input of a class of its own the function that asks for overrides."""
        name = self.mode.lower()
        is_plain = type(input) is Tensor and not ENTERED
        return getattr(getattr(dc.ops.aten, name), overload) if is_plain else FUNCTIONS[name]

    def _forward_packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        input, batch_sizes, sorted_indices, unsorted_indices = packed
        if hx is not None:
            self._check_states(hx)
        hx = self._make_states(input, batch_sizes) if hx is None else self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(input, hx, batch_sizes)
        output, *states = self._find_operator(input, "data")(
            input,
            batch_sizes,
            hx if isinstance(hx, Tensor) else list(hx),
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        found = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return found, self.permute_hidden(tuple(states) if self.mode == "LSTM" else states[0], unsorted_indices)

    def extra_repr(self) -> str:
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        shown = [f"{self.input_size}, {self.hidden_size}"]
        if self.proj_size:
            shown.append(f"proj_size={self.proj_size}")
        shown += [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join(shown)


class RNN(RNNBase):
    """Layers of ``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or ``relu`` (source: ``torch.nn.RNN``).

    Shapes: ``(L, N, input_size)`` to ``(L, N, D * hidden_size)`` with ``D`` directions, the last states beside it.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        proj_size: None = None,
    ) -> None:
        _refuse_projection(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            "RNN_" + nonlinearity.upper(),
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            device=device,
            dtype=dtype,
        )
        self.nonlinearity = nonlinearity

    if TYPE_CHECKING:

        def forward(self, input: Tensor | PackedSequence, hx: Tensor | None = None) -> tuple[Any, Tensor]: ...


def _refuse_projection(proj_size: None) -> None:
    if proj_size is not None:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class LSTM(RNNBase):
    """Long short-term memory (source: ``torch.nn.LSTM``).

    Shapes: ``(L, N, input_size)`` to ``(L, N, D * hidden_size)``, and the pair of last states, with ``D`` directions.

    >>> import torchlike
    >>> output, (hidden, cell) = LSTM(3, 5, num_layers=2)(torchlike.zeros(7, 1, 3))
    >>> output.shape, hidden.shape
    (torchlike.Size([7, 1, 5]), torchlike.Size([2, 1, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        layout = (num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__("LSTM", input_size, hidden_size, *layout, proj_size, device, dtype)

    if TYPE_CHECKING:

        def forward(
            self, input: Tensor | PackedSequence, hx: tuple[Tensor, Tensor] | None = None
        ) -> tuple[Any, tuple[Tensor, Tensor]]: ...


class GRU(RNNBase):
    """Gated recurrent units (source: ``torch.nn.GRU``); shapes as in ``RNN``."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        proj_size: None = None,
    ) -> None:
        _refuse_projection(proj_size)
        layout = (num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__("GRU", input_size, hidden_size, *layout, device=device, dtype=dtype)

    if TYPE_CHECKING:

        def forward(self, input: Tensor | PackedSequence, hx: Tensor | None = None) -> tuple[Any, Tensor]: ...
