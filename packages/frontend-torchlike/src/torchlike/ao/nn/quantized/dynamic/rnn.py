"""Recurrent layers with quantized weights (source: ``torch.ao.nn.quantized.dynamic.modules.rnn``)."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import torchlike as t
from torchlike import nn
from torchlike.nn import functional as F  # noqa: N812  # torch's own abbreviation
from torchlike.nn.utils.rnn import PackedSequence

from ..linear import pack
from ..utils import _hide_packed_params_repr, _quantize_weight
from .linear import find_weight_observer
from .steps import CellParams, run_layers

__all__ = ["GRU", "LSTM", "PackedParameter", "RNNBase", "pack_weight_bias"]


def pack_weight_bias(qweight: Any, bias: Any, dtype: Any) -> Any:
    """Return a weight and a bias as products take them."""
    return pack(qweight, bias, dtype)


class PackedParameter(nn.Module):
    """Keep the weights of one direction of a layer (source: ``torch.ao.nn.quantized.dynamic.modules.rnn``)."""

    def __init__(self, param: Any) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        self.param = state_dict.pop(prefix + "param")
        super()._load_from_state_dict(state_dict, prefix, *rest)


class RNNBase(nn.Module):
    """The base of recurrent layers (source: ``torch.ao.nn.quantized.dynamic.RNNBase``)."""

    _version = 2
    _chunks: ClassVar[dict[str, int]] = {"LSTM": 4, "GRU": 3}

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
        dtype: Any = t.qint8,
    ) -> None:
        super().__init__()
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers"
                f" greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        if mode not in self._chunks:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.dtype, self.version, self.training = bidirectional, dtype, 2, False
        gates, made = self._chunks[mode] * hidden_size, []
        for _, width in self._directions():
            weights = [t.randn(gates, width), t.randn(gates, hidden_size)]
            if dtype == t.qint8:
                weights = [t.quantize_per_tensor(each, scale=0.1, zero_point=0, dtype=dtype) for each in weights]
            made.append(self._pack(weights[0], weights[1], t.randn(gates), t.randn(gates)))
        self._all_weight_values: Any = nn.ModuleList(made)

    def _directions(self) -> list[tuple[str, int]]:
        """Return what stands behind the names of each direction's parameters, and the width of its input."""
        count = 2 if self.bidirectional else 1
        return [
            (f"_l{layer}{'_reverse' * at}", self.hidden_size * count if layer else self.input_size)
            for layer in range(self.num_layers)
            for at in range(count)
        ]

    def _pack(self, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> PackedParameter:
        packed = pack(w_ih, b_ih, self.dtype), pack(w_hh, b_hh, self.dtype)
        return PackedParameter(CellParams(*packed, reduce_range=self.version is not None and self.version >= 2))

    def _get_name(self) -> str:
        return f"DynamicQuantized{self.mode}"

    def extra_repr(self) -> str:
        usual = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        others = [f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return f"{self.input_size}, {self.hidden_size}{''.join(others)}"

    def __repr__(self) -> str:
        return _hide_packed_params_repr(self, (PackedParameter, nn.ModuleList))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """Refuse an input or a state of another shape with ``RuntimeError``."""
        wanted = 3 if batch_sizes is None else 2
        if input.dim() != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        shape = (len(self._directions()), batch, self.hidden_size)
        for at, each in enumerate(hidden if isinstance(hidden, tuple) else (hidden,)):
            if tuple(each.shape) != shape:
                which = f"hidden[{at}]" if isinstance(hidden, tuple) else "hidden"
                raise RuntimeError(f"Expected {which} size {shape}, got {[*each.shape]}")

    def _zeros(self, batch: int, input: Any) -> Any:
        return t.zeros(len(self._directions()), batch, self.hidden_size, dtype=input.dtype, device=input.device)

    def _first_state(self, batch: int, input: Any) -> Any:
        return self._zeros(batch, input)

    def forward(self, input: Any, hx: Any = None) -> Any:
        is_packed = isinstance(input, PackedSequence)
        data, batch_sizes, order, back = input if is_packed else (input, *[None] * 3)
        batch = int(batch_sizes[0]) if is_packed else data.size(0 if self.batch_first else 1)
        state = self._first_state(batch, data) if hx is None else _reorder(hx, order)
        self.check_forward_args(data, state, batch_sizes)
        turned = self.batch_first and not is_packed
        steps = data.transpose(0, 1) if turned else data
        sizes = batch_sizes.tolist() if is_packed else [batch] * steps.size(0)
        rows = steps if is_packed else steps.reshape(-1, steps.size(-1))
        is_pair = isinstance(state, tuple)
        states = list(zip(*(each.unbind(0) for each in state), strict=True)) if is_pair else list(state.unbind(0))
        weights = [each.param for each in self._all_weight_values]
        with t.no_grad():
            found, last = run_layers(
                self.mode, rows, sizes, states, weights, 2 if self.bidirectional else 1, self._drop
            )
        final = tuple(map(t.stack, zip(*last, strict=True))) if is_pair else t.stack(last)
        if is_packed:
            return PackedSequence(found, batch_sizes, order, back), _reorder(final, back)
        found = found.reshape(steps.size(0), batch, -1)
        return found.transpose(0, 1) if turned else found, final

    def _drop(self, x: Any) -> Any:
        return F.dropout(x, self.dropout, self.training) if self.dropout and self.training else x

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *rest: Any
    ) -> None:
        self.version = local_metadata.get("version")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *rest)

    def set_weight_bias(self, weight_bias_dict: Any) -> None:
        """Take quantized weights and biases by torch's names, such as ``weight_ih_l0``."""
        made = []
        for suffix, _ in self._directions():
            w_ih, w_hh, b_ih, b_hh = (
                weight_bias_dict[f"{what}{suffix}"] for what in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            made.append(self._pack(w_ih, w_hh, b_ih, b_hh))
        self._all_weight_values = nn.ModuleList(made)

    def _weight_bias(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {"weight": {}, "bias": {}}
        for (suffix, _), each in zip(self._directions(), self._all_weight_values, strict=True):
            for part, (weight, bias) in zip(("ih", "hh"), each.param.weights(), strict=True):
                found["weight"][f"weight_{part}{suffix}"] = weight
                found["bias"][f"bias_{part}{suffix}"] = bias
        return found

    def get_weight(self) -> dict[str, Any]:
        """Return the weights by torch's names."""
        return self._weight_bias()["weight"]

    def get_bias(self) -> dict[str, Any]:
        """Return the biases by torch's names."""
        return self._weight_bias()["bias"]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """Return the layer for another one, which has a ``qconfig``."""
        if type(mod) not in (nn.LSTM, nn.GRU):
            raise AssertionError("nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM and nn.GRU")
        make_observer = find_weight_observer(mod)
        dtype = make_observer().dtype
        if dtype not in (t.qint8, t.float16):
            raise RuntimeError(f"Unsupported dtype for dynamic RNN quantization: {dtype}")
        if not mod.bias:
            raise AssertionError("mod.bias must be True")
        sizes = mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first
        made: Any = cls(*sizes, mod.dropout, mod.bidirectional, dtype)
        values = {}
        for suffix, _ in made._directions():
            for part in "ih", "hh":
                weight = getattr(mod, f"weight_{part}{suffix}")
                values[f"weight_{part}{suffix}"] = quantize_for(weight, make_observer, dtype)
                values[f"bias_{part}{suffix}"] = getattr(mod, f"bias_{part}{suffix}")
        made.set_weight_bias(values)
        found: Self = made
        return found


def quantize_for(weight: Any, make_observer: Any, dtype: Any) -> Any:
    """Return a weight quantized by its own range, or for ``float16`` as floats."""
    if dtype != t.qint8:
        return weight.float()
    observer = make_observer()
    observer(weight)
    return _quantize_weight(weight.float(), observer)


def _reorder(state: Any, order: Any) -> Any:
    if order is None:
        return state
    if isinstance(state, tuple):
        return tuple(_reorder(each, order) for each in state)
    return state.index_select(1, order)


class LSTM(RNNBase):
    """Run an LSTM with weights of integers (source: ``torch.ao.nn.quantized.dynamic.LSTM``).

    ``(L, N, input_size)``, or with ``batch_first`` ``(N, L, input_size)``, and packed sequences, without gradients.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _first_state(self, batch: int, input: Any) -> Any:
        return self._zeros(batch, input), self._zeros(batch, input)


class GRU(RNNBase):
    """Run a GRU with weights of integers (source: ``torch.ao.nn.quantized.dynamic.GRU``)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)
