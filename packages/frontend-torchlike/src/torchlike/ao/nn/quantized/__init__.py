"""Layers that compute with integers (source: ``torch.ao.nn.quantized``)."""

from __future__ import annotations

from typing import Final

from ....names.lazy_names import load_names

_NAMES: Final = {
    "activation": "ELU Hardswish LeakyReLU PReLU ReLU6 Sigmoid Softmax",
    "composed": "LSTM MultiheadAttention",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "dynamic": "",
    "embedding_ops": "Embedding EmbeddingBag",
    "entrances": "DeQuantize Dropout MaxPool2d Quantize",
    "functional": "",
    "functional_modules": "FXFloatFunctional FloatFunctional QFunctional",
    "linear": "Linear",
    "normalization": "BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
