"""Right calls of aten's operators, made beside torch, and how one of them is compared.

A case is an operator with arguments, made by a function of a ``Draw``.
"""

import math
from numbers import Number

import image_cases
import numpy as np
import pytest
import torch
from comparison import assert_same, flatten, ignore_warnings

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME

#: Results of operators that are computed in another order than torch's.
TOLERANCE = (1e-6, 1e-9)


class Draw:
    """Draws torch tensors."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def f(self, *shape, low=None, high=None):
        if low is None:
            return torch.randn(shape, generator=self.generator, dtype=torch.float64)
        return torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low

    def i(self, high, *shape):
        return torch.randint(0, high, shape, generator=self.generator)

    def b(self, *shape):
        return torch.rand(shape, generator=self.generator) < 0.5


def case(name, make, **kwargs):
    return pytest.param(name, make, kwargs, id=name)


UNARY = {
    "abs cos sin neg exp exp2 expm1 erf erfc tanh sigmoid atan asinh sinh cosh tan silu softplus gelu sign frac isnan isinf "
    "isfinite square relu elu floor ceil round trunc logical_not reciprocal clone nan_to_num positive negative absolute "
    "sinc signbit angle deg2rad rad2deg isposinf isneginf arctan fix isreal i0 special_i1e special_erfcx special_ndtr "
    "frexp.Tensor": (
        None,
        None,
    ),
    "log log2 log10 log1p sqrt rsqrt lgamma digamma special_entr special_modified_bessel_k0": (0.1, 3.0),
    "logit erfinv special_ndtri": (0.1, 0.9),
    "asin acos atanh": (-0.9, 0.9),
    "acosh": (1.1, 3.0),
}

BINARY = (
    "add.Tensor sub.Tensor rsub.Tensor mul.Tensor div.Tensor maximum minimum atan2 remainder.Tensor fmod.Tensor "
    "logical_and logical_or logical_xor eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor max.other min.other "
    "copysign.Tensor hypot fmax fmin logaddexp logaddexp2 nextafter arctan2 ldexp.Tensor special_xlog1py "
    "xlogy.Tensor isin.Tensor_Tensor "
    "subtract.Tensor multiply.Tensor divide.Tensor floor_divide clamp_min.Tensor clamp_max.Tensor isclose"
)

SCALAR = (
    "add.Scalar sub.Scalar rsub.Scalar mul.Scalar div.Scalar remainder.Scalar fmod.Scalar eq.Scalar ne.Scalar lt.Scalar "
    "le.Scalar gt.Scalar ge.Scalar floor_divide.Scalar clamp_min clamp_max"
)

CASES = [
    *(
        case(name, lambda r, low=low, high=high: (r.f(2, 3, low=low, high=high),))
        for names, (low, high) in UNARY.items()
        for name in names.split()
    ),
    *(case(name, lambda r: (r.f(2, 3), r.f(3))) for name in BINARY.split()),
    *(case(name, lambda r: (r.f(2, 3), 0.7)) for name in SCALAR.split()),
    *(case(f"bitwise_{n}.Scalar", lambda r: (r.i(9, 4), 5)) for n in ("and", "or", "xor")),
    *(case(f"bitwise_{n}.Scalar_Tensor", lambda r: (5, r.i(9, 4))) for n in ("and", "or", "xor")),
    *(
        case(f"bitwise_{way}_shift.{kind}", make)
        for way in ("left", "right")
        for kind, make in (
            ("Tensor", lambda r: (r.i(99, 9) - 50, r.i(80, 2, 9) - 8)),
            ("Tensor", lambda r: (r.i(99, 20).to(torch.int8), torch.arange(-5, 15).to(torch.int8))),
            ("Tensor", lambda r: (r.i(256, 20).to(torch.uint8), torch.arange(20).to(torch.uint8))),
            ("Tensor_Scalar", lambda r: (r.i(99, 9) - 50, 3)),
            ("Scalar_Tensor", lambda r: (-5, r.i(80, 9) - 8)),
        )
    ),
    case("remainder.Scalar_Tensor", lambda r: (5.5, r.f(4))),
    case("add.Tensor", lambda r: (r.f(2, 3), r.f(2, 1)), alpha=-2.5),
    case("sub.Tensor", lambda r: (r.f(2, 3), r.f(2, 1)), alpha=-2.5),
    case("rsub.Scalar", lambda r: (r.f(2, 3), 2, 3)),
    case("pow.Tensor_Scalar", lambda r: (r.f(2, 3), 3)),
    case("pow.Tensor_Scalar", lambda r: (r.f(2, 3), 0)),
    case("pow.Tensor_Scalar", lambda r: (torch.zeros(3, dtype=torch.float64), 2)),
    case("pow.Tensor_Tensor", lambda r: (r.f(3, low=0.1, high=2.0), r.f(2, 3))),
    case(
        "pow.Tensor_Tensor", lambda r: (torch.tensor([0.0, 0.0, 2.0]).double(), torch.tensor([0.0, 2.0, 0.0]).double())
    ),
    case("pow.Scalar", lambda r: (2.5, r.f(3))),
    case("pow.Scalar", lambda r: (0, torch.tensor([0.0, 1.0]).double())),
    case("div.Tensor_mode", lambda r: (r.f(3), r.f(2, 3)), rounding_mode="floor"),
    case("div.Tensor_mode", lambda r: (r.f(3), r.f(2, 3)), rounding_mode="trunc"),
    case("div.Tensor_mode", lambda r: (r.f(3), r.f(2, 3)), rounding_mode=None),
    case("div.Scalar_mode", lambda r: (r.f(3), 0.7), rounding_mode="trunc"),
    case("round.decimals", lambda r: (r.f(3),), decimals=2),
    case("clamp", lambda r: (r.f(9), -0.5, 0.5)),
    case("clamp", lambda r: (r.i(9, 9), 2, None)),
    case("clamp.Tensor", lambda r: (r.f(2, 9), r.f(9), r.f(9))),
    case("lerp.Scalar", lambda r: (r.f(2, 3), r.f(3), 0.3)),
    case("lerp.Tensor", lambda r: (r.f(2, 3), r.f(3), r.f(2, 1))),
    case("addcmul", lambda r: (r.f(2, 3), r.f(3), r.f(2, 1)), value=1.5),
    case("addcdiv", lambda r: (r.f(2, 3), r.f(3), r.f(2, 1)), value=1.5),
    case("where.self", lambda r: (r.b(2, 3), r.f(3), r.f(2, 1))),
    case("where.ScalarSelf", lambda r: (r.b(2, 3), 2, r.f(2, 1))),
    case("where.ScalarOther", lambda r: (r.b(2, 3), r.i(4, 3), 2.5)),
    case("where.Scalar", lambda r: (r.b(2, 3), 1, 2.5)),
    case("masked_fill.Scalar", lambda r: (r.f(2, 3), r.b(3), 2)),
    case("masked_fill.Tensor", lambda r: (r.f(3), r.b(2, 3), r.f())),
    case("leaky_relu", lambda r: (r.f(5), 0.2)),
    case("threshold", lambda r: (r.f(9), 0.3, 2.0)),
    case("elu", lambda r: (r.f(9), 1.5, 1.1, 0.9)),
    case("gelu", lambda r: (r.f(9),), approximate="tanh"),
    case("sigmoid_backward", lambda r: (r.f(4), r.f(4))),
    case("tanh_backward", lambda r: (r.f(4), r.f(4))),
    case("silu_backward", lambda r: (r.f(4), r.f(4))),
    case("gelu_backward", lambda r: (r.f(4), r.f(4))),
    case("gelu_backward", lambda r: (r.f(4), r.f(4)), approximate="tanh"),
    case("softplus_backward", lambda r: (r.f(4), r.f(4), 2.0, 1.0)),
    case("elu_backward", lambda r: (r.f(9), 1.5, 1.1, 0.9, False, r.f(9))),
    case("elu_backward", lambda r: (r.f(9), 1.5, 1.1, 0.9, True, r.f(9))),
    case("leaky_relu_backward", lambda r: (r.f(4), r.f(4), 0.2, False)),
    case("threshold_backward", lambda r: (r.f(4), r.f(4), 0.2)),
    case("native_dropout_backward", lambda r: (r.f(4), r.b(4), 1.25)),
    # Reductions and scans.
    *(
        case(name, lambda r: (r.f(2, 3, 4),))
        for name in "sum mean prod max min any all var std var_mean argmax argmin count_nonzero norm.Scalar".split()
    ),
    case("sum.dim_IntList", lambda r: (r.f(2, 3, 4), [0, -1], True)),
    case("sum.dim_IntList", lambda r: (r.f(2, 3, 4), [1])),
    case("sum.dim_IntList", lambda r: (r.f(2, 3, 4), [])),
    case("mean.dim", lambda r: (r.f(2, 3, 4), [0, -1])),
    case("mean.dim", lambda r: (r.f(2, 3, 4), None, True)),
    case("prod.dim_int", lambda r: (r.f(2, 3, 4), 1)),
    case("prod.dim_int", lambda r: (r.f(2, 3) * torch.tensor([0.0, 1, 1]), 1, True)),
    case("prod", lambda r: (r.f(2, 3) * torch.tensor([0.0, 1, 1]),)),
    case("prod", lambda r: (r.f(),)),
    case("amax", lambda r: (r.f(2, 3, 4), [0, 2])),
    case("amin", lambda r: (r.f(2, 3, 4), [], True)),
    case("amax", lambda r: (r.i(2, 3, 4).double(), [1])),
    case("max", lambda r: (r.i(2, 3, 4).double(),)),
    case("max.dim", lambda r: (r.f(2, 3, 4), 1)),
    case("min.dim", lambda r: (r.f(2, 3, 4), -1, True)),
    case("max.dim", lambda r: (r.f(), 0)),
    case("any.dim", lambda r: (r.b(2, 3), 1)),
    case("all.dim", lambda r: (r.b(2, 3), 0, True)),
    case("any.dims", lambda r: (r.i(2, 2, 3), [0, 1])),
    case("all.dims", lambda r: (r.i(2, 2, 3), [])),
    case("all.dims", lambda r: (r.i(2, 2, 3), None, True)),
    case("var.correction", lambda r: (r.f(2, 3, 4), [1]), correction=0, keepdim=True),
    case("std.correction", lambda r: (r.f(2, 3, 4), [1, 2]), correction=2, keepdim=False),
    case("var_mean.correction", lambda r: (r.f(2, 3, 4), None), correction=1, keepdim=False),
    case("var.dim", lambda r: (r.f(2, 3, 4), [1], False)),
    case("std.dim", lambda r: (r.f(2, 3, 4), [1], True, True)),
    *(
        case("linalg_vector_norm", lambda r, p=p: (r.f(2, 3), p, [1]))
        for p in (0, 1, 2, 3, 2.5, 0.5, math.inf, -math.inf)
    ),
    case("linalg_vector_norm", lambda r: (torch.zeros(3).double(), 2)),
    case("norm.ScalarOpt_dim", lambda r: (r.f(2, 3), None, [0], True)),
    case("logsumexp", lambda r: (r.f(2, 3), [1], True)),
    case("logsumexp", lambda r: (r.f(2, 3) * 100, [0, 1])),
    case("count_nonzero.dim_IntList", lambda r: (r.i(2, 2, 3), [0])),
    case("aminmax", lambda r: (r.f(2, 3),), dim=1, keepdim=True),
    case("aminmax", lambda r: (r.f(2, 3),)),
    case("cumsum", lambda r: (r.f(2, 3), 1)),
    case("cumprod", lambda r: (r.f(2, 4), 1)),
    case("cumprod", lambda r: (r.f(2, 5) * torch.tensor([1.0, 0, 1, 0, 1]), 1)),
    case("sum_to_size", lambda r: (r.f(2, 3, 4), [3, 1])),
    # Products.
    case("mm", lambda r: (r.f(2, 3), r.f(3, 4))),
    case("bmm", lambda r: (r.f(5, 2, 3), r.f(5, 3, 4))),
    case("mv", lambda r: (r.f(2, 3), r.f(3))),
    case("dot", lambda r: (r.f(3), r.f(3))),
    case("outer", lambda r: (r.f(3), r.f(2))),
    *(
        case("matmul", lambda r, a=a, b=b: (r.f(*a), r.f(*b)))
        for a, b in (
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 2)),
            ((2, 3), (3, 4)),
            ((5, 2, 3), (3, 4)),
            ((5, 2, 3), (3,)),
            ((3,), (5, 3, 2)),
            ((2, 3), (5, 3, 4)),
            ((5, 1, 2, 3), (4, 3, 2)),
        )
    ),
    case("addmm", lambda r: (r.f(4), r.f(2, 3), r.f(3, 4)), beta=2, alpha=0.5),
    case("baddbmm", lambda r: (r.f(2, 4), r.f(5, 2, 3), r.f(5, 3, 4)), beta=2, alpha=0.5),
    case("linear", lambda r: (r.f(5, 2, 3), r.f(4, 3), r.f(4))),
    case("linear", lambda r: (r.f(2, 3), r.f(4, 3), r.f(4))),
    case("linear", lambda r: (r.f(3), r.f(4, 3))),
    # Softmax and losses.
    case("_softmax", lambda r: (r.f(2, 3), 1, False)),
    case("_log_softmax", lambda r: (r.f(2, 3), 0, False)),
    case("softmax.int", lambda r: (r.f(2, 3), 1)),
    case("log_softmax.int", lambda r: (r.f(2, 3).float(), 1, torch.float64)),
    case("_softmax_backward_data", lambda r: (r.f(2, 3), r.f(2, 3), 1, torch.float64)),
    case("_log_softmax_backward_data", lambda r: (r.f(2, 3), r.f(2, 3), 1, torch.float64)),
    *(
        case("nll_loss_forward", lambda r, w=w, k=k: (r.f(4, 3), r.i(3, 4), r.f(3).abs() if w else None, k, 1))
        for w in (False, True)
        for k in (0, 1, 2)
    ),
    case("nll_loss_backward", lambda r: (r.f(), r.f(4, 3), r.i(3, 4), None, 1, -100, torch.tensor(4.0).double())),
    case("nll_loss_backward", lambda r: (r.f(4), r.f(4, 3), r.i(3, 4), r.f(3).abs(), 0, 1, torch.tensor(0.0).double())),
    case("nll_loss_nd", lambda r: (r.f(2, 3, 4, 5), r.i(3, 2, 4, 5), None, 0)),
    case("cross_entropy_loss", lambda r: (r.f(4, 3), r.i(3, 4))),
    case("cross_entropy_loss", lambda r: (r.f(4, 3), r.i(3, 4), r.f(3).abs(), 1, 1, 0.2)),
    case("cross_entropy_loss", lambda r: (r.f(4, 3), r.f(4, 3).softmax(1), None, 1, -100, 0.1)),
    case("cross_entropy_loss", lambda r: (r.f(2, 3, 4), r.i(3, 2, 4), None, 2)),
    *(case("mse_loss", lambda r, k=k: (r.f(4, 3), r.f(4, 3), k)) for k in (0, 1, 2)),
    case("mse_loss_backward", lambda r: (r.f(), r.f(4, 3), r.f(4, 3), 1)),
    case("smooth_l1_loss_backward", lambda r: (r.f(), r.f(4, 3), r.f(4, 3), 1, 0.7)),
    case("smooth_l1_loss_backward", lambda r: (r.f(4, 3), r.f(4, 3), r.f(4, 3), 0, 0.0)),
    case("smooth_l1_loss_backward", lambda r: (r.f(), r.f(4, 3).t(), r.f(4, 3).t(), 2, 1.5)),
    case("l1_loss", lambda r: (r.f(4, 3), r.f(4, 3))),
    *(
        case("binary_cross_entropy_with_logits", lambda r, k=k, w=w: (r.f(4, 3), r.b(4, 3).double(), *w(r), k))
        for k in (0, 1, 2)
        for w in (lambda r: (None, None), lambda r: (r.f(3).abs(), r.f(3).abs()))
    ),
    # Views.
    case("view", lambda r: (r.f(2, 6), [3, -1])),
    case("_unsafe_view", lambda r: (r.f(2, 6), [3, -1])),
    case("reshape", lambda r: (r.f(2, 6).t(), [3, -1])),
    case("as_strided", lambda r: (r.f(9), [3, 3], [1, 2], 1)),
    case("as_strided", lambda r: (r.f(4, 1).expand(4, 3), [4, 3], [1, 0], 0)),
    case("select.int", lambda r: (r.f(2, 3), -1, -2)),
    case("slice.Tensor", lambda r: (r.f(2, 9), 1, 1, -1, 3)),
    case("slice.Tensor", lambda r: (r.f(2, 9), 1, None, None, 2)),
    case("expand", lambda r: (r.f(2, 1), [4, -1, 3])),
    case("permute", lambda r: (r.f(2, 3, 4), [2, 0, -2])),
    case("transpose.int", lambda r: (r.f(2, 3, 4), 0, -1)),
    case("t", lambda r: (r.f(2, 3),)),
    case("squeeze", lambda r: (r.f(1, 3, 1),)),
    case("squeeze.dim", lambda r: (r.f(1, 3, 1), -1)),
    case("squeeze.dims", lambda r: (r.f(1, 3, 1), [0, 1])),
    case("unsqueeze", lambda r: (r.f(2, 3), -1)),
    case("narrow", lambda r: (r.f(5, 3), 0, -3, 2)),
    case("split.Tensor", lambda r: (r.f(5, 3), 2)),
    case("split_with_sizes", lambda r: (r.f(5, 3), [1, 2], 1)),
    case("chunk", lambda r: (r.f(5, 3), 3)),
    case("tensor_split.sections", lambda r: (r.f(5, 3), 3)),
    case("tensor_split.indices", lambda r: (r.f(5, 3), [1, 4], 0)),
    case("unbind.int", lambda r: (r.f(2, 3), 1)),
    case("diagonal", lambda r: (r.f(3, 4, 2), 1, -1, 0)),
    case("flatten.using_ints", lambda r: (r.f(2, 3, 4), 1)),
    case("unflatten.int", lambda r: (r.f(2, 6), 1, [2, -1])),
    case("movedim.int", lambda r: (r.f(2, 3, 4), 0, -1)),
    case("movedim.intlist", lambda r: (r.f(2, 3, 4), [0, 1], [-1, 0])),
    case("mT", lambda r: (r.f(2, 3, 4),)),
    case("ravel", lambda r: (r.f(2, 3).t(),)),
    case("alias", lambda r: (r.f(2),)),
    case("diagonal_backward", lambda r: (r.f(3), [3, 4], 0, 0, 1)),
    case("select_backward", lambda r: (r.f(3), [2, 3], 0, 1)),
    case("slice_backward", lambda r: (r.f(2, 3), [2, 9], 1, 0, 9, 3)),
    # Copies and factories.
    case("_to_copy", lambda r: (r.f(2, 3),), dtype=torch.float32),
    case("copy", lambda r: (r.f(2, 3), r.f(3))),
    case("copy", lambda r: (r.f(2, 3).T, r.f(3, 2))),
    case("copy", lambda r: (r.f(3, 2), r.f(2, 3).T)),
    case("fill.Scalar", lambda r: (r.f(2, 3), 3)),
    case("fill.Tensor", lambda r: (r.f(2, 3), r.f())),
    case("tril", lambda r: (r.f(3, 4), 1)),
    case("triu", lambda r: (r.f(2, 3, 4), -1)),
    case("contiguous", lambda r: (r.f(2, 3).t(),)),
    case("type_as", lambda r: (r.f(2, 3), r.i(2, 1))),
    case("to.dtype", lambda r: (r.f(2, 3), torch.int32)),
    *(case(f"{kind}_like", lambda r: (r.f(2, 3),)) for kind in ("zeros", "ones")),
    case("full_like", lambda r: (r.f(2, 3), 4), dtype=torch.int64),
    case("new_full", lambda r: (r.f(2, 3), [2], 4)),
    case("new_ones", lambda r: (r.f(2, 3), [2])),
    case("new_zeros", lambda r: (r.f(2, 3), [2])),
    case("linspace", lambda r: (0.5, 7, 6)),
    case("linspace", lambda r: (3, -3, 5), dtype=torch.int64),
    case("arange", lambda r: (5,)),
    case("arange.start", lambda r: (1.5, 5)),
    case("eye", lambda r: (3,)),
    case("eye.m", lambda r: (2, 4)),
    case("full", lambda r: ([2, 3], True)),
    case("ones", lambda r: ([2, 3],), dtype=torch.int32),
    case("zeros", lambda r: ([2, 3],)),
    case("scalar_tensor", lambda r: (3,)),
    # Indexing.
    case("index.Tensor", lambda r: (r.f(4, 3, 5), [r.i(4, 2), None, r.i(5, 3, 1)])),
    case("index.Tensor", lambda r: (r.f(4, 3), [torch.tensor([True, False, True, True])])),
    case("index_put", lambda r: (r.f(4, 3), [r.i(4, 2)], r.f(3), True)),
    case("index_put", lambda r: (r.f(4, 3), [torch.tensor([2, 0])], r.f(2, 3), False)),
    case("index_select", lambda r: (r.f(4, 3), 1, r.i(3, 5))),
    case("index_add", lambda r: (r.f(4, 3), 0, r.i(4, 5), r.f(5, 3)), alpha=2),
    case("gather", lambda r: (r.f(4, 3), 1, r.i(3, 2, 5))),
    case("scatter.src", lambda r: (r.f(4, 3), 0, torch.tensor([[0, 1, 2]]), r.f(1, 3))),
    case("scatter.value", lambda r: (r.f(4, 3), 0, r.i(4, 2, 3), 2.5)),
    case("scatter_add", lambda r: (r.f(4, 3), 0, r.i(4, 6, 3), r.f(6, 3))),
    case("masked_select", lambda r: (r.f(4, 3), r.b(3))),
    case("masked_scatter", lambda r: (r.f(4, 3), r.b(4, 3), r.f(13))),
    case("take", lambda r: (r.f(4, 3), r.i(12, 2, 2) - 3)),
    case("select_scatter", lambda r: (r.f(4, 3), r.f(3), 0, 2)),
    case("slice_scatter", lambda r: (r.f(4, 3), r.f(2, 3), 0, 1, None, 2)),
    case("diagonal_scatter", lambda r: (r.f(4, 3), r.f(3))),
    case("embedding", lambda r: (r.f(4, 3), r.i(4, 2, 2))),
    case("embedding_dense_backward", lambda r: (r.f(5, 3), torch.tensor([0, 2, 1, 2, 2]), 4, 1, True)),
    case("one_hot", lambda r: (r.i(4, 2, 2), 5)),
    case("one_hot", lambda r: (r.i(4, 5),)),
    case("nonzero_numpy", lambda r: (r.i(2, 3, 4),)),
    case("argwhere", lambda r: (r.i(2, 3, 4),)),
    case("value_selecting_reduction_backward", lambda r: (r.f(2), 1, r.i(3, 2), [2, 3], False)),
    # Lists, repetitions, order.
    case("cat", lambda r: ([r.f(2, 3), r.f(1, 3)], 0)),
    case("cat", lambda r: ([r.f(2, 3), torch.zeros(0).double(), r.f(2, 1)], -1)),
    case("stack", lambda r: ([r.f(2, 3), r.f(2, 3)], 1)),
    case("hstack", lambda r: ([r.f(2), r.f()],)),
    case("vstack", lambda r: ([r.f(2), r.f(1, 2)],)),
    case("meshgrid", lambda r: ([r.f(2), r.f(3)],)),
    case("meshgrid.indexing", lambda r: ([r.f(2), r.f(3), r.f()],), indexing="xy"),
    case("broadcast_tensors", lambda r: ([r.f(2, 1), r.f(3)],)),
    case("repeat", lambda r: (r.f(2, 1), [2, 1, 3])),
    case("tile", lambda r: (r.f(2, 1), [3])),
    case("flip", lambda r: (r.f(2, 3), [0, -1])),
    case("roll", lambda r: (r.f(2, 3), [1, -1], [0, 1])),
    case("roll", lambda r: (r.f(2, 3), [4])),
    case("sort", lambda r: (r.f(2, 3), 0, True)),
    case("sort.stable", lambda r: (r.f(2, 3),), stable=True, dim=1, descending=False),
    case("argsort", lambda r: (r.f(2, 3), 0)),
    case("topk", lambda r: (r.f(2, 5), 3)),
    case("topk", lambda r: (r.f(2, 5), 2, 0, False)),
    *(case(name, make) for name, make in image_cases.CASES),
]


def torch_operator(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def our_operator(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(dc.ops.aten, packet), overload or "default")


def ours(value):
    """Return torch's values as ours."""
    match value:
        case torch.Tensor():
            return value.detach().numpy()
        case torch.dtype():
            return BY_NAME[str(value).removeprefix("torch.")]
        case list() | tuple():
            return [ours(each) for each in value]
        case _:
            return value


#: Operators that are told the device, because they are given no tensors.
NO_TENSORS = ("linspace", "arange", "arange.start", "eye", "eye.m", "full", "ones", "zeros", "scalar_tensor")

# A copy to the device is row-major, and as_strided sees memory: a case about another layout is not about this.
CASES_ON_DEVICES = [
    each for each in CASES if each.values[0] != "as_strided" or each.values[1](Draw(4))[0].is_contiguous()
]


def move(value, device):
    if isinstance(value, list):
        return [move(each, device) for each in value]
    return dc.ops.prims.device_put(value, device=dc.Device(device)) if isinstance(value, np.ndarray) else value


def compare_on(device, name, make, kwargs, *, tolerance=TOLERANCE):
    """Run one case on another device's arrays."""
    args = make(Draw(4))
    given = {key: move(ours(value), device) for key, value in kwargs.items()}
    if name in NO_TENSORS:
        given["device"] = dc.Device(device)
    with ignore_warnings():
        expected = torch_operator(name)(*args, **kwargs)
        got = flatten(our_operator(name)(*move(ours(args), device), **given))
    # Results other than the host's arrays and numbers lie on the device.
    on_host = (np.ndarray, np.generic, Number)
    got = [each if isinstance(each, on_host) else dc.ops.prims.device_get(each) for each in got]
    assert_same(got, expected, strides=False, tolerance=tolerance)
