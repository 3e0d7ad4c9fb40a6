"""Layers (source: ``torch.nn.modules``, whose module names these are); each is imported when first used."""

from __future__ import annotations

from typing import Final

from ...lazy_names import load_names

_NAMES: Final = {
    "activation": (
        "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish PReLU RReLU ReLU"
        " ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold"
    ),
    "batchnorm": ("BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm"),
    "container": "Container ModuleDict ModuleList Sequential",
    "dropout": "Dropout",
    "flatten": "Flatten",
    "instancenorm": (
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d"
    ),
    "lazy": "",
    "linear": "Identity Linear",
    "loss": "BCEWithLogitsLoss CrossEntropyLoss L1Loss MSELoss NLLLoss",
    "module": "Module",
    "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "multihead": "MultiheadAttention",
    "parameter_container": "ParameterDict ParameterList",
    "rnn": "GRU LSTM RNN RNNBase",
    "rnn_cells": "GRUCell LSTMCell RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": (
        "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer"
    ),
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
