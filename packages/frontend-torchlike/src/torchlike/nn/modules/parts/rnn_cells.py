"""One step of a recurrent layer as a module (source: ``torch.nn.modules.rnn``)."""

from __future__ import annotations

__name__ = "torchlike.nn.modules.rnn_cells"  # see Note [Public paths]

import math
from typing import Any

import dispatch_core as dc

from ....creation.factories import FACTORIES
from ....tensors.arguments import check_tensor
from ....tensors.tensor import Tensor
from ....values.argument_types import DeviceLike, DTypeLike
from ... import init
from ...parameter import Parameter
from ..module import Module

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """The base of cells: their weights, ``weight_ih``, ``weight_hh``, ``bias_ih`` and ``bias_hh``."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        shapes: dict[str, Any] = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        shapes |= dict.fromkeys(("bias_ih", "bias_hh"), rows)
        for name, shape in shapes.items():
            made = None
            if bias or name.startswith("weight"):
                made = Parameter(FACTORIES["empty"](shape, device=device, dtype=dtype))
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill all weights evenly within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, operator: str, input: Tensor, hx: Any, count: int) -> Any:
        """Call the cell's operator on a batch, or on one vector."""
        check_tensor(input, type(self).__name__)
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        states = None if hx is None else (hx,) if isinstance(hx, Tensor) else tuple(hx)
        for place, state in enumerate(states or ()):
            if state.dim() not in (1, 2):
                label = "hidden" if count == 1 else f"hx[{place}]"
                raise ValueError(f"{name}: Expected {label} to be 1D or 2D, got {state.dim()}D instead")
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
            states = None if states is None else tuple(state.unsqueeze(0) for state in states)
        if states is None:
            shape = (input.size(0), self.hidden_size)
            states = (FACTORIES["zeros"](shape, dtype=input.dtype, device=input.device),) * count
        found = getattr(dc.ops.aten, operator).default(
            input,
            list(states) if count > 1 else states[0],
            self.weight_ih,
            self.weight_hh,
            self.bias_ih,
            self.bias_hh,
        )
        if is_batched:
            return found
        return found.squeeze(0) if count == 1 else tuple(each.squeeze(0) for each in found)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    """One step of ``RNN``: ``(N, input_size)`` and the state ``(N, hidden_size)`` to the next state."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        found: Tensor = self._step(f"rnn_{self.nonlinearity}_cell", input, hx, 1)
        return found


class LSTMCell(RNNCellBase):
    """One step of ``LSTM``: an input and the pair of states to the next pair."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        found: tuple[Tensor, Tensor] = self._step("lstm_cell", input, hx, 2)
        return found


class GRUCell(RNNCellBase):
    """One step of ``GRU``: an input and the state to the next state."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        found: Tensor = self._step("gru_cell", input, hx, 1)
        return found
