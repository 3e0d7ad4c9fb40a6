"""Layers with quantized weights, which quantize their input in each call (source: ``torch.ao.nn.quantized.dynamic``)."""

from __future__ import annotations

from typing import Final

from .....names.lazy_names import load_names

_NAMES: Final = {
    "cells": "GRUCell LSTMCell RNNCell",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "linear": "Linear",
    "rnn": "GRU LSTM",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
