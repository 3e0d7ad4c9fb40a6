"""Functions of networks (source: ``torch.nn.functional``); each module is imported when one of its names is first used."""

from __future__ import annotations

from functools import partial
from typing import Final

from ...names.docstrings import complete
from ...names.lazy_names import load_names
from ...overriding.listed_functions import convert_layer_function

_NAMES: Final = {
    "activations": (
        "celu celu_ elu elu_ gelu glu gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hardtanh_ leaky_relu"
        " leaky_relu_ log_softmax logsigmoid mish prelu relu relu6 relu_ rrelu rrelu_ selu selu_ sigmoid silu softmax"
        " softmin softplus softshrink softsign tanh tanhshrink threshold threshold_"
    ),
    "attentions": "multi_head_attention_forward scaled_dot_product_attention",
    "sequence_losses": "ctc_loss",
    "distances": "bilinear cosine_similarity normalize pairwise_distance pdist",
    "dropouts": "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout",
    "linear_maps": "linear",
    "convolutions": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc fold unfold",
    "paddings": "pad",
    "poolings": "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d"
    " adaptive_max_pool1d_with_indices adaptive_max_pool2d adaptive_max_pool2d_with_indices adaptive_max_pool3d"
    " adaptive_max_pool3d_with_indices avg_pool1d avg_pool2d avg_pool3d fractional_max_pool2d"
    " fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices lp_pool1d lp_pool2d"
    " lp_pool3d max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d"
    " max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d",
    "losses": (
        "binary_cross_entropy binary_cross_entropy_with_logits cross_entropy kl_div linear_cross_entropy nll_loss"
        " poisson_nll_loss"
    ),
    "margin_losses": (
        "cosine_embedding_loss hinge_embedding_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss"
        " multilabel_soft_margin_loss soft_margin_loss triplet_margin_loss triplet_margin_with_distance_loss"
    ),
    "regression_losses": "gaussian_nll_loss huber_loss l1_loss mse_loss smooth_l1_loss",
    "resamplings": (
        "affine_grid channel_shuffle grid_sample interpolate native_channel_shuffle pixel_shuffle pixel_unshuffle upsample"
        " upsample_bilinear upsample_nearest GRID_SAMPLE_INTERPOLATION_MODES GRID_SAMPLE_PADDING_MODES"
    ),
    "normalizations": "batch_norm group_norm instance_norm layer_norm local_response_norm rms_norm",
    "embeddings": "embedding embedding_bag one_hot",
}

__all__, __getattr__, __dir__ = load_names(
    __name__, _NAMES, partial(complete, namespace="nn.functional"), convert_layer_function
)
