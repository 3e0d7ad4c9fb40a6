"""Functions of networks (source: ``torch.nn.functional``); each module is imported when one of its names is first used.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

import builtins
from dispatch_aten.generator import Generator as _Generator
from ...tensors import Tensor as _Tensor
from ... import argument_types as _t

from .activations import celu as celu
def celu_(input: _Tensor, alpha: _t.Number = 1.0) -> _Tensor: ...
from .activations import elu as elu
def elu_(input: _Tensor, alpha: _t.Number = 1, scale: _t.Number = 1, input_scale: _t.Number = 1) -> _Tensor: ...
def gelu(input: _Tensor, *, approximate: str = 'none', out: _Tensor | None = None) -> _Tensor: ...
from .activations import glu as glu
from .activations import gumbel_softmax as gumbel_softmax
def hardshrink(input: _Tensor, lambd: _t.Number = 0.5, *, out: _Tensor | None = None) -> _Tensor: ...
from .activations import hardsigmoid as hardsigmoid
from .activations import hardswish as hardswish
from .activations import hardtanh as hardtanh
def hardtanh_(input: _Tensor, min_val: _t.Number = -1, max_val: _t.Number = 1) -> _Tensor: ...
from .activations import leaky_relu as leaky_relu
def leaky_relu_(input: _Tensor, negative_slope: _t.Number = 0.01) -> _Tensor: ...
from .activations import log_softmax as log_softmax
def logsigmoid(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor: ...
from .activations import mish as mish
def prelu(input: _Tensor, weight: _Tensor) -> _Tensor: ...
from .activations import relu as relu
from .activations import relu6 as relu6
def relu_(input: _Tensor) -> _Tensor: ...
from .activations import rrelu as rrelu
def rrelu_(input: _Tensor, lower: _t.Number = 0.125, upper: _t.Number = 0.3333333333333333, training: builtins.bool = False, generator: _Generator | None = None) -> _Tensor: ...
from .activations import selu as selu
def selu_(input: _Tensor) -> _Tensor: ...
def sigmoid(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor: ...
from .activations import silu as silu
from .activations import softmax as softmax
from .activations import softmin as softmin
def softplus(input: _Tensor, beta: _t.Number = 1, threshold: _t.Number = 20, *, out: _Tensor | None = None) -> _Tensor: ...
def softshrink(input: _Tensor, lambd: _t.Number = 0.5, *, out: _Tensor | None = None) -> _Tensor: ...
from .activations import softsign as softsign
def tanh(input: _Tensor, *, out: _Tensor | None = None) -> _Tensor: ...
from .activations import tanhshrink as tanhshrink
from .activations import threshold as threshold
def threshold_(input: _Tensor, threshold: _t.Number, value: _t.Number) -> _Tensor: ...
from . import activations as activations
from .attentions import multi_head_attention_forward as multi_head_attention_forward
from .attentions import scaled_dot_product_attention as scaled_dot_product_attention
from . import attentions as attentions
from .sequence_losses import ctc_loss as ctc_loss
from . import sequence_losses as sequence_losses
from .distances import bilinear as bilinear
from .distances import cosine_similarity as cosine_similarity
from .distances import normalize as normalize
from .distances import pairwise_distance as pairwise_distance
from .distances import pdist as pdist
from . import distances as distances
from .dropouts import alpha_dropout as alpha_dropout
from .dropouts import dropout as dropout
from .dropouts import dropout1d as dropout1d
from .dropouts import dropout2d as dropout2d
from .dropouts import dropout3d as dropout3d
from .dropouts import feature_alpha_dropout as feature_alpha_dropout
from . import dropouts as dropouts
from .linear_maps import linear as linear
from . import linear_maps as linear_maps
from .convolutions import conv1d as conv1d
from .convolutions import conv2d as conv2d
from .convolutions import conv3d as conv3d
from .convolutions import conv_transpose1d as conv_transpose1d
from .convolutions import conv_transpose2d as conv_transpose2d
from .convolutions import conv_transpose3d as conv_transpose3d
from .convolutions import conv_tbc as conv_tbc
from .convolutions import fold as fold
from .convolutions import unfold as unfold
from . import convolutions as convolutions
from .paddings import pad as pad
from . import paddings as paddings
from .poolings import adaptive_avg_pool1d as adaptive_avg_pool1d
from .poolings import adaptive_avg_pool2d as adaptive_avg_pool2d
from .poolings import adaptive_avg_pool3d as adaptive_avg_pool3d
from .poolings import adaptive_max_pool1d as adaptive_max_pool1d
from .poolings import adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices
from .poolings import adaptive_max_pool2d as adaptive_max_pool2d
from .poolings import adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices
from .poolings import adaptive_max_pool3d as adaptive_max_pool3d
from .poolings import adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices
from .poolings import avg_pool1d as avg_pool1d
from .poolings import avg_pool2d as avg_pool2d
from .poolings import avg_pool3d as avg_pool3d
from .poolings import fractional_max_pool2d as fractional_max_pool2d
from .poolings import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices
from .poolings import fractional_max_pool3d as fractional_max_pool3d
from .poolings import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices
from .poolings import lp_pool1d as lp_pool1d
from .poolings import lp_pool2d as lp_pool2d
from .poolings import lp_pool3d as lp_pool3d
from .poolings import max_pool1d as max_pool1d
from .poolings import max_pool1d_with_indices as max_pool1d_with_indices
from .poolings import max_pool2d as max_pool2d
from .poolings import max_pool2d_with_indices as max_pool2d_with_indices
from .poolings import max_pool3d as max_pool3d
from .poolings import max_pool3d_with_indices as max_pool3d_with_indices
from .poolings import max_unpool1d as max_unpool1d
from .poolings import max_unpool2d as max_unpool2d
from .poolings import max_unpool3d as max_unpool3d
from . import poolings as poolings
from .losses import binary_cross_entropy as binary_cross_entropy
from .losses import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .losses import cross_entropy as cross_entropy
from .losses import kl_div as kl_div
from .losses import linear_cross_entropy as linear_cross_entropy
from .losses import nll_loss as nll_loss
from .losses import poisson_nll_loss as poisson_nll_loss
from . import losses as losses
from .margin_losses import cosine_embedding_loss as cosine_embedding_loss
from .margin_losses import hinge_embedding_loss as hinge_embedding_loss
from .margin_losses import margin_ranking_loss as margin_ranking_loss
from .margin_losses import multi_margin_loss as multi_margin_loss
from .margin_losses import multilabel_margin_loss as multilabel_margin_loss
from .margin_losses import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from .margin_losses import soft_margin_loss as soft_margin_loss
from .margin_losses import triplet_margin_loss as triplet_margin_loss
from .margin_losses import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from . import margin_losses as margin_losses
from .regression_losses import gaussian_nll_loss as gaussian_nll_loss
from .regression_losses import huber_loss as huber_loss
from .regression_losses import l1_loss as l1_loss
from .regression_losses import mse_loss as mse_loss
from .regression_losses import smooth_l1_loss as smooth_l1_loss
from . import regression_losses as regression_losses
from .resamplings import affine_grid as affine_grid
from .resamplings import channel_shuffle as channel_shuffle
from .resamplings import grid_sample as grid_sample
from .resamplings import interpolate as interpolate
from .resamplings import native_channel_shuffle as native_channel_shuffle
from .resamplings import pixel_shuffle as pixel_shuffle
from .resamplings import pixel_unshuffle as pixel_unshuffle
from .resamplings import upsample as upsample
from .resamplings import upsample_bilinear as upsample_bilinear
from .resamplings import upsample_nearest as upsample_nearest
from .resamplings import GRID_SAMPLE_INTERPOLATION_MODES as GRID_SAMPLE_INTERPOLATION_MODES
from .resamplings import GRID_SAMPLE_PADDING_MODES as GRID_SAMPLE_PADDING_MODES
from . import resamplings as resamplings
from .normalizations import batch_norm as batch_norm
from .normalizations import group_norm as group_norm
from .normalizations import instance_norm as instance_norm
from .normalizations import layer_norm as layer_norm
from .normalizations import local_response_norm as local_response_norm
from .normalizations import rms_norm as rms_norm
from . import normalizations as normalizations
from .embeddings import embedding as embedding
from .embeddings import embedding_bag as embedding_bag
from .embeddings import one_hot as one_hot
from . import embeddings as embeddings
__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES",
    "GRID_SAMPLE_PADDING_MODES",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "linear_cross_entropy",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "native_channel_shuffle",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]
