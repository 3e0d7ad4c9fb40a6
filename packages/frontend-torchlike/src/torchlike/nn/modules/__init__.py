"""Layers (source: ``torch.nn.modules``, whose module names these are); each is imported when first used."""

from __future__ import annotations

from typing import Final

from ...lazy_names import load_names

_NAMES: Final = {
    "activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish PReLU RReLU ReLU"
        " ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold"
    ),
    "container": "Container ModuleDict ModuleList Sequential",
    "dropout": "Dropout",
    "flatten": "Flatten",
    "lazy": "",
    "linear": "Identity Linear",
    "loss": "BCEWithLogitsLoss CrossEntropyLoss L1Loss MSELoss NLLLoss",
    "module": "Module",
    "parameter_container": "ParameterDict ParameterList",
    "rnn": "GRU LSTM RNN RNNBase",
    "rnn_cells": "GRUCell LSTMCell RNNCell RNNCellBase",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
