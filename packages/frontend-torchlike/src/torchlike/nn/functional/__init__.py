"""Functions of networks (source: ``torch.nn.functional``); each module is imported when one of its names is first used."""

from __future__ import annotations

from typing import Final

from ...lazy_names import load_names

_NAMES: Final = {
    "activations": (
        "celu celu_ elu elu_ gelu glu gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hardtanh_ leaky_relu"
        " leaky_relu_ log_softmax logsigmoid mish prelu relu relu6 relu_ rrelu rrelu_ selu selu_ sigmoid silu softmax"
        " softmin softplus softshrink softsign tanh tanhshrink threshold threshold_"
    ),
    "distances": "normalize",
    "dropouts": "dropout",
    "linear_maps": "linear",
    "losses": "binary_cross_entropy_with_logits cross_entropy l1_loss mse_loss nll_loss",
    "normalizations": "batch_norm group_norm instance_norm layer_norm local_response_norm rms_norm",
    "embeddings": "embedding one_hot",
}
__all__, __getattr__, __dir__ = load_names(__name__, _NAMES)
