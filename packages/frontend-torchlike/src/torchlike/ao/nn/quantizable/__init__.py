"""Recurrent layers and attention by parts that are observed (source: ``torch.ao.nn.quantizable``)."""

from __future__ import annotations

from typing import Final

from ....names.lazy_names import load_names

_NAMES: Final = {"attention": "MultiheadAttention", "rnn": "LSTM LSTMCell"}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
