"""Recurrent steps as layers (source: ``torch.ao.nn.quantized.dynamic.modules.rnn``)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import torchlike as t
from torchlike import nn

from ..linear import pack
from .linear import find_weight_observer
from .rnn import quantize_for
from .steps import STEPS, CellParams

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(nn.Module):
    """The base of recurrent steps (source: ``torch.ao.nn.quantized.dynamic.RNNCellBase``)."""

    _float: ClassVar[Any]
    _chunks: ClassVar[int]
    _mode: ClassVar[str]
    _packed_weight_ih: Any
    _packed_weight_hh: Any

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = t.qint8) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.weight_dtype = input_size, hidden_size, bias, dtype
        gates = self._chunks * hidden_size
        for name in "bias_ih", "bias_hh":
            if bias:
                setattr(self, name, t.randn(gates))
            else:
                self.register_parameter(name, None)
        weights = [t.randn(gates, input_size), t.randn(gates, hidden_size)]
        if dtype == t.qint8:
            weights = [t.quantize_per_tensor(each, scale=1, zero_point=0, dtype=dtype) for each in weights]
        self._pack(weights[0], weights[1], self.bias_ih, self.bias_hh)

    def _pack(self, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> None:
        self._packed_weight_ih, self._packed_weight_hh = (
            pack(w_ih, b_ih, self.weight_dtype),
            pack(w_hh, b_hh, self.weight_dtype),
        )

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        text += "" if self.bias is True else f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check(self, input: Any, hx: Any, label: str = "") -> None:
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)}, expected {self.input_size}")
        if input.size(0) != hx.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{label} batch size {hx.size(0)}")
        if hx.size(1) != self.hidden_size:
            raise RuntimeError(
                f"hidden{label} has inconsistent hidden_size: got {hx.size(1)}, expected {self.hidden_size}"
            )

    def _find_mode(self) -> str:
        return self._mode

    def forward(self, input: Any, hx: Any = None) -> Any:
        is_pair = self._mode == "LSTM"
        if hx is None:
            zeros = t.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros) if is_pair else zeros
        for at, each in enumerate(hx if is_pair else (hx,)):
            self._check(input, each, f"[{at}]" if is_pair else "")
        params = CellParams(self._packed_weight_ih, self._packed_weight_hh)
        with t.no_grad():
            return STEPS[self._find_mode()](params.linear_ih(input), hx, params)

    def _weight_bias(self) -> dict[str, dict[str, Any]]:
        (w_ih, b_ih), (w_hh, b_hh) = CellParams(self._packed_weight_ih, self._packed_weight_hh).weights()
        return {"weight": {"weight_ih": w_ih, "weight_hh": w_hh}, "bias": {"bias_ih": b_ih, "bias_hh": b_hh}}

    def get_weight(self) -> dict[str, Any]:
        """Return the weights by torch's names."""
        return self._weight_bias()["weight"]

    def get_bias(self) -> dict[str, Any]:
        """Return the biases by torch's names."""
        return self._weight_bias()["bias"]

    def set_weight_bias(self, weight_bias_dict: Any) -> None:
        """Take quantized weights and biases as `get_weight` and `get_bias` return them."""
        weight, bias = weight_bias_dict["weight"], weight_bias_dict["bias"]
        self._pack(weight["weight_ih"], weight["weight_hh"], bias["bias_ih"], bias["bias_hh"])

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_weight_ih"] = self._packed_weight_ih
        destination[prefix + "_packed_weight_hh"] = self._packed_weight_hh

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        self._packed_weight_ih = state_dict.pop(prefix + "_packed_weight_ih")
        self._packed_weight_hh = state_dict.pop(prefix + "_packed_weight_hh")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    @classmethod
    def _options_of(cls, mod: Any) -> dict[str, Any]:
        return {}

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for another one, which has a ``qconfig``."""
        if type(mod) is not cls._float:
            raise AssertionError(f"{cls.__name__}.from_float only works for nn.{cls._float.__name__}")
        make_observer = find_weight_observer(mod)
        dtype = make_observer().dtype
        if dtype not in (t.qint8, t.float16):
            raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {dtype}")
        if not mod.bias:
            raise AssertionError("mod.bias must be True")
        made = cls(mod.input_size, mod.hidden_size, bias=mod.bias, dtype=dtype, **cls._options_of(mod))
        weights = [quantize_for(each, make_observer, dtype) for each in (mod.weight_ih, mod.weight_hh)]
        made._pack(weights[0], weights[1], mod.bias_ih, mod.bias_hh)
        return made


class LSTMCell(RNNCellBase):
    """Run one step of an LSTM (source: ``torch.ao.nn.quantized.dynamic.LSTMCell``)."""

    _float, _chunks, _mode = nn.LSTMCell, 4, "LSTM"


class GRUCell(RNNCellBase):
    """Run one step of a GRU (source: ``torch.ao.nn.quantized.dynamic.GRUCell``)."""

    _float, _chunks, _mode = nn.GRUCell, 3, "GRU"


class RNNCell(RNNCellBase):
    """Run one step of a plain recurrent layer (source: ``torch.ao.nn.quantized.dynamic.RNNCell``)."""

    _float, _chunks, _mode = nn.RNNCell, 1, "RNN_TANH"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", dtype: Any = t.qint8
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype)
        self.nonlinearity = nonlinearity

    def _find_mode(self) -> str:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return f"RNN_{self.nonlinearity.upper()}"

    @classmethod
    def _options_of(cls, mod: Any) -> dict[str, Any]:
        return {"nonlinearity": mod.nonlinearity}
