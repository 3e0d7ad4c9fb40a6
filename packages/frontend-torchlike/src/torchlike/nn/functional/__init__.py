"""Functions of networks (source: ``torch.nn.functional``); each module is imported when one of its names is first used."""

from __future__ import annotations

from typing import Final

from ...lazy_names import load_names

_NAMES: Final = {
    "activations": "elu gelu leaky_relu log_softmax relu sigmoid silu softmax softplus tanh",
    "distances": "normalize",
    "dropouts": "dropout",
    "linear_maps": "linear",
    "losses": "binary_cross_entropy_with_logits cross_entropy l1_loss mse_loss nll_loss",
    "embeddings": "embedding one_hot",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
