"""Layers (source: ``torch.nn.modules``, whose module names these are); each is imported when first used.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""


from .activation import CELU as CELU
from .activation import ELU as ELU
from .activation import GELU as GELU
from .activation import GLU as GLU
from .activation import Hardshrink as Hardshrink
from .activation import Hardsigmoid as Hardsigmoid
from .activation import Hardswish as Hardswish
from .activation import Hardtanh as Hardtanh
from .activation import LeakyReLU as LeakyReLU
from .activation import LogSigmoid as LogSigmoid
from .activation import LogSoftmax as LogSoftmax
from .activation import Mish as Mish
from .activation import PReLU as PReLU
from .activation import RReLU as RReLU
from .activation import ReLU as ReLU
from .activation import ReLU6 as ReLU6
from .activation import SELU as SELU
from .activation import SiLU as SiLU
from .activation import Sigmoid as Sigmoid
from .activation import Softmax as Softmax
from .activation import Softmax2d as Softmax2d
from .activation import Softmin as Softmin
from .activation import Softplus as Softplus
from .activation import Softshrink as Softshrink
from .activation import Softsign as Softsign
from .activation import Tanh as Tanh
from .activation import Tanhshrink as Tanhshrink
from .activation import Threshold as Threshold
from . import activation as activation
from .adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from . import adaptive as adaptive
from .batchnorm import BatchNorm1d as BatchNorm1d
from .batchnorm import BatchNorm2d as BatchNorm2d
from .batchnorm import BatchNorm3d as BatchNorm3d
from .batchnorm import LazyBatchNorm1d as LazyBatchNorm1d
from .batchnorm import LazyBatchNorm2d as LazyBatchNorm2d
from .batchnorm import LazyBatchNorm3d as LazyBatchNorm3d
from .batchnorm import SyncBatchNorm as SyncBatchNorm
from . import batchnorm as batchnorm
from .arrangement.channelshuffle import ChannelShuffle as ChannelShuffle
from .arrangement import channelshuffle as channelshuffle
from .conv import Conv1d as Conv1d
from .conv import Conv2d as Conv2d
from .conv import Conv3d as Conv3d
from .conv import ConvTranspose1d as ConvTranspose1d
from .conv import ConvTranspose2d as ConvTranspose2d
from .conv import ConvTranspose3d as ConvTranspose3d
from .conv import LazyConv1d as LazyConv1d
from .conv import LazyConv2d as LazyConv2d
from .conv import LazyConv3d as LazyConv3d
from .conv import LazyConvTranspose1d as LazyConvTranspose1d
from .conv import LazyConvTranspose2d as LazyConvTranspose2d
from .conv import LazyConvTranspose3d as LazyConvTranspose3d
from . import conv as conv
from .container import Container as Container
from .container import ModuleDict as ModuleDict
from .container import ModuleList as ModuleList
from .container import Sequential as Sequential
from . import container as container
from .distance import CosineSimilarity as CosineSimilarity
from .distance import PairwiseDistance as PairwiseDistance
from . import distance as distance
from .dropout import AlphaDropout as AlphaDropout
from .dropout import Dropout as Dropout
from .dropout import Dropout1d as Dropout1d
from .dropout import Dropout2d as Dropout2d
from .dropout import Dropout3d as Dropout3d
from .dropout import FeatureAlphaDropout as FeatureAlphaDropout
from . import dropout as dropout
from .arrangement.flatten import Flatten as Flatten
from .arrangement.flatten import Unflatten as Unflatten
from .arrangement import flatten as flatten
from .arrangement.fold import Fold as Fold
from .arrangement.fold import Unfold as Unfold
from .arrangement import fold as fold
from .instancenorm import InstanceNorm1d as InstanceNorm1d
from .instancenorm import InstanceNorm2d as InstanceNorm2d
from .instancenorm import InstanceNorm3d as InstanceNorm3d
from .instancenorm import LazyInstanceNorm1d as LazyInstanceNorm1d
from .instancenorm import LazyInstanceNorm2d as LazyInstanceNorm2d
from .instancenorm import LazyInstanceNorm3d as LazyInstanceNorm3d
from . import instancenorm as instancenorm
from . import lazy as lazy
from .linear import Bilinear as Bilinear
from .linear import Identity as Identity
from .linear import LazyLinear as LazyLinear
from .linear import Linear as Linear
from . import linear as linear
from .linear_cross_entropy import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from .linear_cross_entropy import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from . import linear_cross_entropy as linear_cross_entropy
from .loss import BCELoss as BCELoss
from .loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from .loss import CTCLoss as CTCLoss
from .loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from .loss import CrossEntropyLoss as CrossEntropyLoss
from .loss import GaussianNLLLoss as GaussianNLLLoss
from .loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from .loss import HuberLoss as HuberLoss
from .loss import KLDivLoss as KLDivLoss
from .loss import L1Loss as L1Loss
from .loss import MSELoss as MSELoss
from .loss import MarginRankingLoss as MarginRankingLoss
from .loss import MultiLabelMarginLoss as MultiLabelMarginLoss
from .loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from .loss import MultiMarginLoss as MultiMarginLoss
from .loss import NLLLoss as NLLLoss
from .loss import NLLLoss2d as NLLLoss2d
from .loss import PoissonNLLLoss as PoissonNLLLoss
from .loss import SmoothL1Loss as SmoothL1Loss
from .loss import SoftMarginLoss as SoftMarginLoss
from .loss import TripletMarginLoss as TripletMarginLoss
from .loss import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from . import loss as loss
from .module import Module as Module
from . import module as module
from .normalization import CrossMapLRN2d as CrossMapLRN2d
from .normalization import GroupNorm as GroupNorm
from .normalization import LayerNorm as LayerNorm
from .normalization import LocalResponseNorm as LocalResponseNorm
from .normalization import RMSNorm as RMSNorm
from . import normalization as normalization
from .parts.multihead import MultiheadAttention as MultiheadAttention
from .parts import multihead as multihead
from .arrangement.padding import CircularPad1d as CircularPad1d
from .arrangement.padding import CircularPad2d as CircularPad2d
from .arrangement.padding import CircularPad3d as CircularPad3d
from .arrangement.padding import ConstantPad1d as ConstantPad1d
from .arrangement.padding import ConstantPad2d as ConstantPad2d
from .arrangement.padding import ConstantPad3d as ConstantPad3d
from .arrangement.padding import ReflectionPad1d as ReflectionPad1d
from .arrangement.padding import ReflectionPad2d as ReflectionPad2d
from .arrangement.padding import ReflectionPad3d as ReflectionPad3d
from .arrangement.padding import ReplicationPad1d as ReplicationPad1d
from .arrangement.padding import ReplicationPad2d as ReplicationPad2d
from .arrangement.padding import ReplicationPad3d as ReplicationPad3d
from .arrangement.padding import ZeroPad1d as ZeroPad1d
from .arrangement.padding import ZeroPad2d as ZeroPad2d
from .arrangement.padding import ZeroPad3d as ZeroPad3d
from .arrangement import padding as padding
from .parts.parameter_container import ParameterDict as ParameterDict
from .parts.parameter_container import ParameterList as ParameterList
from .parts import parameter_container as parameter_container
from .arrangement.pixelshuffle import PixelShuffle as PixelShuffle
from .arrangement.pixelshuffle import PixelUnshuffle as PixelUnshuffle
from .arrangement import pixelshuffle as pixelshuffle
from .pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from .pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from .pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from .pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from .pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from .pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from .pooling import AvgPool1d as AvgPool1d
from .pooling import AvgPool2d as AvgPool2d
from .pooling import AvgPool3d as AvgPool3d
from .pooling import FractionalMaxPool2d as FractionalMaxPool2d
from .pooling import FractionalMaxPool3d as FractionalMaxPool3d
from .pooling import LPPool1d as LPPool1d
from .pooling import LPPool2d as LPPool2d
from .pooling import LPPool3d as LPPool3d
from .pooling import MaxPool1d as MaxPool1d
from .pooling import MaxPool2d as MaxPool2d
from .pooling import MaxPool3d as MaxPool3d
from .pooling import MaxUnpool1d as MaxUnpool1d
from .pooling import MaxUnpool2d as MaxUnpool2d
from .pooling import MaxUnpool3d as MaxUnpool3d
from . import pooling as pooling
from .rnn import GRU as GRU
from .rnn import LSTM as LSTM
from .rnn import RNN as RNN
from .rnn import RNNBase as RNNBase
from . import rnn as rnn
from .parts.rnn_cells import GRUCell as GRUCell
from .parts.rnn_cells import LSTMCell as LSTMCell
from .parts.rnn_cells import RNNCell as RNNCell
from .parts.rnn_cells import RNNCellBase as RNNCellBase
from .parts import rnn_cells as rnn_cells
from .sparse import Embedding as Embedding
from .sparse import EmbeddingBag as EmbeddingBag
from . import sparse as sparse
from .transformer import Transformer as Transformer
from .transformer import TransformerDecoder as TransformerDecoder
from .transformer import TransformerDecoderLayer as TransformerDecoderLayer
from .transformer import TransformerEncoder as TransformerEncoder
from .transformer import TransformerEncoderLayer as TransformerEncoderLayer
from . import transformer as transformer
from .arrangement.upsampling import Upsample as Upsample
from .arrangement.upsampling import UpsamplingBilinear2d as UpsamplingBilinear2d
from .arrangement.upsampling import UpsamplingNearest2d as UpsamplingNearest2d
from .arrangement import upsampling as upsampling
from . import utils as utils
__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveLogSoftmaxWithLoss",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AlphaDropout",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Bilinear",
    "CELU",
    "CTCLoss",
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Container",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "CrossMapLRN2d",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "Embedding",
    "EmbeddingBag",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "GELU",
    "GLU",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LSTM",
    "LSTMCell",
    "LayerNorm",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LeakyReLU",
    "Linear",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "LocalResponseNorm",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "NLLLoss",
    "NLLLoss2d",
    "PReLU",
    "PairwiseDistance",
    "ParameterDict",
    "ParameterList",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "RMSNorm",
    "RNN",
    "RNNBase",
    "RNNCell",
    "RNNCellBase",
    "RReLU",
    "ReLU",
    "ReLU6",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "SELU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]
