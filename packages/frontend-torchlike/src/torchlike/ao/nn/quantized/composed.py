"""Recurrent layers and attention on integers (source: ``torch.ao.nn.quantized``)."""

from __future__ import annotations

from typing import Any, ClassVar

import torchlike as t

from ....quantized.construction import choose_parameters
from ..quantizable import attention, rnn

__all__ = ["LSTM", "MultiheadAttention"]


class _Converted:
    """What layers share that `convert` makes of observed ones, by converting their parts."""

    _FLOAT_MODULE: ClassVar[Any]

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_float(cls, *args: Any, **kwargs: Any) -> Any:
        """Raise ``NotImplementedError``: the layer is made of an observed one."""
        raise NotImplementedError(
            f"It looks like you are trying to convert a non-observed {cls.__name__} module\n"
            "Hint: quantization.prepare(model) makes observed ones"
        )

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Return the layer for an observed one."""
        if not isinstance(other, cls._FLOAT_MODULE):
            raise AssertionError(f"Expected module type {cls._FLOAT_MODULE}, got {type(other)}")
        made = t.ao.quantization.convert(other, inplace=False, remove_qconfig=True)
        made.__class__ = cls
        return made


class LSTM(_Converted, rnn.LSTM):
    """Run an LSTM on integers (source: ``torch.ao.nn.quantized.LSTM``); `convert` makes it of an observed one."""

    _FLOAT_MODULE: ClassVar[Any] = rnn.LSTM


class MultiheadAttention(_Converted, attention.MultiheadAttention):
    """Compute attention by products of integers (source: ``torch.ao.nn.quantized.MultiheadAttention``).

    `convert` makes it of an observed one.
    """

    _FLOAT_MODULE: ClassVar[Any] = attention.MultiheadAttention

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Return the layer for an observed one."""
        made = super().from_observed(other)
        if made.bias_k is not None:
            taken = [made._parameters.pop(name) for name in ("bias_k", "bias_v")]
            parameters = choose_parameters(taken[0], t.quint8, reduce_range=False)  # as in torch, for both
            made.bias_k, made.bias_v = (t.quantize_per_tensor(each, *parameters, t.quint8) for each in taken)
        del made.in_proj_weight, made.in_proj_bias
        return made
