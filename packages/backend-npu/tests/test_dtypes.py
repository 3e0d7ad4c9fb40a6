"""The table of scalar types has every function, and refuses what chips refuse."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from dispatch_aten.dtypes import ScalarType
from dispatch_backend_npu.aclnn import dtypes
from dispatch_backend_npu.aclnn.table import PARAMETERS, PROTOTYPES

#: Arguments of which neither page nor source says anything, and the families for which that is so.
UNKNOWN = {
    ("aclnnLogSigmoidForward", "buffer"): {"910B", "910_93", "950"},
    ("aclnnFlashAttentionScore", "paddingMaskOptional"): {"910B", "910_93"},
    ("aclnnFlashAttentionScore", "softmaxOutOut"): {"910B", "910_93"},
    ("aclnnFlashAttentionScoreGrad", "paddingMaskOptional"): {"910B", "910_93"},
    ("aclnnFlashAttentionScoreGrad", "softmaxInOptional"): {"910B", "910_93"},
    ("aclnnInplaceUniformTensor", "seedTensor"): {"910B", "910_93"},
    ("aclnnInplaceUniformTensor", "offsetTensor"): {"910B", "910_93"},
    ("aclnnUniqueDim", "valueOut"): {"910B", "910_93", "950"},
}

#: How many functions a family does not have.
MISSING = {"910": 56, "910B": 0, "910_93": 0, "310P": 159, "310B": 348, "950": 23}

COMMON = {ScalarType.Float, ScalarType.Half, ScalarType.BFloat16}
COUNTS = {ScalarType.Int, ScalarType.Long, ScalarType.Bool}

#: Types → functions that refuse each of them as their first tensor on Atlas A2, by page and source.
REFUSED = """
Double: Relu InplaceRelu Tanh InplaceTanh Silu GeluV2 Softplus Threshold InplaceThreshold ThresholdBackward MseLoss NLLLoss
Double: NLLLossBackward Mm Mv Dot BatchMatMul Std VarCorrection VarMean LogSumExp Lerp Lerps InplaceLerp InplaceLerps Frac
Double: Trunc Roll Eye MaxDim MinDim LinalgVectorNorm InplaceMaskedFillScalar InplaceMaskedFillTensor
Char Byte Short Int Long: Mm BatchMatMul Mv
Byte Short: Ceil Trunc Round Sign Neg InplaceNeg
Char Byte Short Int: Exp Erf Expm1
Char Byte Short: MaxDim MinDim
Short: FmodScalar FmodTensor
"""

#: Functions of neural networks and arithmetic: they take the three common types in every argument of floats on Atlas A2.
NEURAL = """
Add Sub Mul Div Adds Muls Divs PowTensorScalar PowTensorTensor Addcmul Addcdiv Lerp Exp Log Sqrt Rsqrt Sigmoid Tanh Relu Silu
GeluV2 GeluBackwardV2 LeakyRelu Softplus Softmax LogSoftmax SoftmaxBackward LogSoftmaxBackward Mm BatchMatMul Addmm Baddbmm
Convolution ConvolutionBackward LayerNorm LayerNormBackward BatchNorm BatchNormBackward GroupNorm GroupNormBackward
MseLoss BinaryCrossEntropy ReduceSum Mean Amax Amin VarCorrection Cumsum Where Embedding EmbeddingDenseBackward Index Gather
Cat Stack Topk Sort Cast InplaceCopy MaxPool2dWithIndices AvgPool2d AdaptiveAvgPool2d UpsampleNearest2d
"""

#: Functions that compare, move or choose elements: they take integers and truth values, too.
MOVING = """
EqTensor EqScalar NeTensor NeScalar LtTensor LeTensor GtTensor GeTensor Gather IndexSelect Index Cat Stack Repeat Flip Cast
InplaceCopy SWhere InplaceFillScalar InplaceZero Tril Triu
"""


def _rows():
    with Path(dtypes.__file__).with_name("dtypes.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_argument_of_every_function_is_known_or_listed():
    unknown = {}
    for function in PROTOTYPES:
        for chip in dtypes.CHIPS:
            taken = dtypes.takes(function, chip)
            for argument in dtypes.tensor_arguments(function) if taken is not None else ():
                if argument not in taken:
                    unknown.setdefault((function, argument), set()).add(chip)
    assert unknown == UNKNOWN


def test_rows_are_in_order_and_name_each_pair_once():
    rows = _rows()
    functions = [row["function"] for row in rows]
    assert functions == sorted(functions) and set(functions) == set(PROTOTYPES)
    for one, two in pairwise(rows):
        if one["function"] == two["function"]:
            names = dtypes.tensor_arguments(one["function"])
            assert names.index(one["argument"]) <= names.index(two["argument"]), one
    pairs = [(row["function"], row["argument"], chip) for row in rows for chip in row["chips"].split()]
    assert len(pairs) == len(set(pairs))
    assert {chip for _, _, chip in pairs} == set(dtypes.CHIPS)
    assert all(row["dtypes"] for row in rows)


@pytest.mark.parametrize(("chip", "count"), MISSING.items())
def test_functions_that_a_family_does_not_have_have_no_types(chip, count):
    missing = [function for function in PROTOTYPES if not dtypes.supports(function, chip)]
    assert len(missing) == count
    assert all(dtypes.takes(function, chip) is None for function in missing)


def test_what_chips_refuse_is_refused():
    for line in REFUSED.strip().splitlines():
        types, _, functions = line.partition(": ")
        refused = {ScalarType[name] for name in types.split()}
        for name in functions.split():
            first = dtypes.tensor_arguments(f"aclnn{name}")[0]
            assert not refused & dtypes.takes(f"aclnn{name}", "910B")[first], name


@pytest.mark.parametrize("chip", ["910B", "910_93"])
def test_no_common_type_is_refused(chip):
    for names, types in (NEURAL, COMMON), (MOVING, COMMON | COUNTS):
        for name in names.split():
            function = f"aclnn{'S' if name == 'Where' else ''}{name}"
            first = next(each for each in dtypes.tensor_arguments(function) if each != "condition")
            assert types <= dtypes.takes(function, chip)[first], name
    for name in ("Index", "Gather", "IndexSelect", "Embedding", "Scatter"):
        index = next(each for each in PARAMETERS[f"aclnn{name}"] if each.startswith("ind"))
        assert ScalarType.Long in dtypes.takes(f"aclnn{name}", chip)[index]


def test_types_of_one_witness_alone_are_doubtful_and_not_taken():
    # The page of var_mean has bfloat16 for Atlas A2, and its source refuses it; with erf it is the other way round.
    for function in "aclnnVarMean", "aclnnErf":
        assert ScalarType.BFloat16 in dtypes.doubtful(function, "910B")["self"]
        assert ScalarType.BFloat16 not in dtypes.takes(function, "910B")["self"]
    assert dtypes.doubtful("aclnnAdd", "910B") == {}
    for chip in dtypes.CHIPS:
        for function in PROTOTYPES:
            taken = dtypes.takes(function, chip)
            assert all(not types & taken[name] for name, types in dtypes.doubtful(function, chip).items())


def test_older_chips_have_no_bfloat16():
    for chip in ("910", "310P"):
        for name in ("Add", "Relu", "Mm", "LayerNorm", "Softmax", "Cat"):
            function = f"aclnn{name}"
            taken = dtypes.takes(function, chip)
            if taken is not None:
                assert ScalarType.BFloat16 not in taken[dtypes.tensor_arguments(function)[0]], name


def test_names_that_the_table_does_not_have_are_refused():
    with pytest.raises(ValueError, match="no chips '910C'; it has 910, 910B"):
        dtypes.takes("aclnnAdd", "910C")
    with pytest.raises(ValueError, match="no function 'aclnnNothing'"):
        dtypes.supports("aclnnNothing", "910B")


def test_a_name_for_each_c_type():
    assert {name: len(kinds) for name, kinds in PROTOTYPES.items()} == {n: len(p) for n, p in PARAMETERS.items()}
    assert PARAMETERS["aclnnSWhere"] == ("condition", "self", "other", "out")
