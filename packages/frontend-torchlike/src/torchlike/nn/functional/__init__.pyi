"""Functions of networks (source: ``torch.nn.functional``); each module is imported when one of its names is first used.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

import builtins
from collections.abc import Sequence
from typing import overload
from dispatch_aten.generator import Generator as _Generator
from ...tensors.tensor import Tensor as _Tensor
from ...values import argument_types as _t

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
from .activations import sigmoid as sigmoid
from .activations import silu as silu
from .activations import softmax as softmax
from .activations import softmin as softmin
def softplus(input: _Tensor, beta: _t.Number = 1, threshold: _t.Number = 20, *, out: _Tensor | None = None) -> _Tensor: ...
def softshrink(input: _Tensor, lambd: _t.Number = 0.5, *, out: _Tensor | None = None) -> _Tensor: ...
from .activations import softsign as softsign
from .activations import tanh as tanh
from .activations import tanhshrink as tanhshrink
from .activations import threshold as threshold
def threshold_(input: _Tensor, threshold: _t.Number, value: _t.Number) -> _Tensor: ...
from . import activations as activations
from .attentions import multi_head_attention_forward as multi_head_attention_forward
def scaled_dot_product_attention(query: _Tensor, key: _Tensor, value: _Tensor, attn_mask: _Tensor | None = None, dropout_p: builtins.float = 0.0, is_causal: builtins.bool = False, *, scale: builtins.float | None = None, enable_gqa: builtins.bool = False) -> _Tensor: ...
from . import attentions as attentions
from .sequence_losses import ctc_loss as ctc_loss
from . import sequence_losses as sequence_losses
def bilinear(input1: _Tensor, input2: _Tensor, weight: _Tensor, bias: _Tensor | None = None) -> _Tensor: ...
@overload
def cosine_similarity(x1: _Tensor, x2: _Tensor, dim: builtins.int = 1, eps: builtins.float = 1e-08) -> _Tensor: ...
@overload
def cosine_similarity(x1: _Tensor, x2: _Tensor, *, axis: builtins.int, eps: builtins.float = 1e-08) -> _Tensor: ...
from .distances import normalize as normalize
def pairwise_distance(x1: _Tensor, x2: _Tensor, p: builtins.float = 2.0, eps: builtins.float = 1e-06, keepdim: builtins.bool = False) -> _Tensor: ...
def pdist(input: _Tensor, p: builtins.float = 2.0) -> _Tensor: ...
from . import distances as distances
from .dropouts import alpha_dropout as alpha_dropout
from .dropouts import dropout as dropout
from .dropouts import dropout1d as dropout1d
from .dropouts import dropout2d as dropout2d
from .dropouts import dropout3d as dropout3d
from .dropouts import feature_alpha_dropout as feature_alpha_dropout
from . import dropouts as dropouts
def linear(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, *, out: _Tensor | None = None) -> _Tensor: ...
from . import linear_maps as linear_maps
def conv1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] | str = 0, dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> _Tensor: ...
def conv2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] | str = 0, dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> _Tensor: ...
def conv3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] | str = 0, dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> _Tensor: ...
def conv_transpose1d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, output_padding: builtins.int | Sequence[builtins.int] = 0, groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = 1) -> _Tensor: ...
def conv_transpose2d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, output_padding: builtins.int | Sequence[builtins.int] = 0, groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = 1) -> _Tensor: ...
def conv_transpose3d(input: _Tensor, weight: _Tensor, bias: _Tensor | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, output_padding: builtins.int | Sequence[builtins.int] = 0, groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = 1) -> _Tensor: ...
def conv_tbc(input: _Tensor, weight: _Tensor, bias: _Tensor, pad: builtins.int = 0, *, out: _Tensor | None = None) -> _Tensor: ...
from .convolutions import fold as fold
from .convolutions import unfold as unfold
from . import convolutions as convolutions
from .paddings import pad as pad
from . import paddings as paddings
def adaptive_avg_pool1d(input: _Tensor, output_size: builtins.int | Sequence[builtins.int], *, out: _Tensor | None = None) -> _Tensor: ...
from .poolings import adaptive_avg_pool2d as adaptive_avg_pool2d
from .poolings import adaptive_avg_pool3d as adaptive_avg_pool3d
from .poolings import adaptive_max_pool1d as adaptive_max_pool1d
from .poolings import adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices
from .poolings import adaptive_max_pool2d as adaptive_max_pool2d
from .poolings import adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices
from .poolings import adaptive_max_pool3d as adaptive_max_pool3d
from .poolings import adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices
def avg_pool1d(input: _Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, *, out: _Tensor | None = None) -> _Tensor: ...
def avg_pool2d(input: _Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None, *, out: _Tensor | None = None) -> _Tensor: ...
def avg_pool3d(input: _Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None, *, out: _Tensor | None = None) -> _Tensor: ...
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
def channel_shuffle(input: _Tensor, groups: builtins.int, *, out: _Tensor | None = None) -> _Tensor: ...
from .resamplings import grid_sample as grid_sample
from .resamplings import interpolate as interpolate
def native_channel_shuffle(input: _Tensor, groups: builtins.int) -> _Tensor: ...
def pixel_shuffle(input: _Tensor, upscale_factor: builtins.int, *, out: _Tensor | None = None) -> _Tensor: ...
def pixel_unshuffle(input: _Tensor, downscale_factor: builtins.int, *, out: _Tensor | None = None) -> _Tensor: ...
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
def one_hot(input: _Tensor, num_classes: builtins.int = -1) -> _Tensor: ...
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
