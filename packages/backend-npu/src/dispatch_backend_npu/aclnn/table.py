"""The functions of aclnn that the backend calls, as data: their prototypes, and the operators that they compute.

``PROTOTYPES`` has the C argument types of each function's first phase, ``aclnn<Name>GetWorkspaceSize``, without the pair
``uint64_t *workspaceSize, aclOpExecutor **executor`` that ends all of them; the second phase, ``aclnn<Name>``, takes the
same four arguments everywhere, see ``acl.prototypes``. Names of arguments are the headers' own.

>>> PROTOTYPES["aclnnAdds"]
('const aclTensor*', 'const aclScalar*', 'const aclScalar*', 'aclTensor*')
>>> PARAMETERS["aclnnAdds"]
('self', 'other', 'alpha', 'out')
>>> OPERATORS["add.Scalar"]
('aclnnAdds', ('self', 'other', 'alpha', 'out'))
"""

from __future__ import annotations

from typing import Final

#: C types by the abbreviations below; every other type is spelled out.
_TYPES: Final = {
    "T": "const aclTensor*",
    "T!": "aclTensor*",
    "S": "const aclScalar*",
    "IA": "const aclIntArray*",
    "BA": "const aclBoolArray*",
    "TL": "const aclTensorList*",
}

_FUNCTIONS: Final = """
# Arithmetic.
Add(T self, T other, S alpha, T! out)
Adds(T self, S other, S alpha, T! out)
InplaceAdd(T selfRef, T other, S alpha)
InplaceAdds(T selfRef, S other, S alpha)
Sub(T self, T other, S alpha, T! out)
Subs(T self, S other, S alpha, T! out)
InplaceSub(T! selfRef, T other, S alpha)
InplaceSubs(T! selfRef, S other, S alpha)
Rsub(T self, T other, S alpha, T! out)
Rsubs(T self, S other, S alpha, T! out)
Mul(T self, T other, T! out)
Muls(T self, S other, T! out)
InplaceMul(T! selfRef, T other)
InplaceMuls(T! selfRef, S other)
Div(T self, T other, T! out)
Divs(T self, S other, T! out)
InplaceDiv(T! selfRef, T other)
InplaceDivs(T! selfRef, S other)
DivMod(T self, T other, int mode, T! out)
DivMods(T self, S other, int mode, T! out)
InplaceDivMod(T! selfRef, T other, int mode)
InplaceDivMods(T! selfRef, S other, int mode)
FloorDivide(T self, T other, T! out)
FloorDivides(T self, S other, T! out)
InplaceFloorDivide(T! selfRef, T other)
InplaceFloorDivides(T! selfRef, S other)
RemainderTensorTensor(T self, T other, T! out)
RemainderTensorScalar(T self, S other, T! out)
RemainderScalarTensor(S self, T other, T! out)
InplaceRemainderTensorTensor(T! selfRef, T other)
InplaceRemainderTensorScalar(T! selfRef, S other)
FmodTensor(T self, T other, T! out)
FmodScalar(T self, S other, T! out)
InplaceFmodTensor(T! selfRef, T other)
InplaceFmodScalar(T! selfRef, S other)
PowTensorTensor(T self, T exponent, T! out)
PowTensorScalar(T self, S exponent, T out)
PowScalarTensor(S self, T exponent, T out)
InplacePowTensorTensor(T self, T exponent)
InplacePowTensorScalar(T self, S exponent)
Maximum(T self, T other, T! out)
Minimum(T self, T other, T! out)
Atan2(T self, T other, T! out)
InplaceAtan2(T! selfRef, T! other)
LogAddExp(T self, T other, T! out)
LogAddExp2(T self, T other, T! out)
LinalgCross(T self, T other, int64_t dim, T! out)
Addcmul(T self, T tensor1, T tensor2, S value, T! out)
InplaceAddcmul(T selfRef, T tensor1, T tensor2, S value)
Addcdiv(T self, T tensor1, T tensor2, S value, T out)
InplaceAddcdiv(T selfRef, T tensor1, T tensor2, S value)
Lerp(T self, T end, T weight, T! out)
Lerps(T self, T end, S weight, T! out)
InplaceLerp(T! selfRef, T end, T weight)
InplaceLerps(T! selfRef, T end, S weight)
# Functions of one tensor.
Abs(T self, T! out)
Neg(T self, T! out)
InplaceNeg(T! selfRef)
Exp(T self, T! out)
InplaceExp(T! selfRef)
Exp2(T self, T! out)
Expm1(T self, T! out)
InplaceExpm1(T! selfRef)
Log(T self, T! out)
InplaceLog(T! selfRef)
Log2(T self, T out)
InplaceLog2(T selfRef)
Log10(T self, T! out)
InplaceLog10(T! selfRef)
Log1p(T self, T! out)
InplaceLog1p(T! selfRef)
Sqrt(T self, T! out)
InplaceSqrt(T! self)
Rsqrt(T self, T! out)
InplaceRsqrt(T! selfRef)
Reciprocal(T self, T! out)
InplaceReciprocal(T selfRef)
Sin(T self, T! out)
InplaceSin(T! selfRef)
Cos(T input, T! out)
InplaceCos(T! inputRef)
Tan(T self, T! out)
InplaceTan(T selfRef)
Asin(T self, T! out)
InplaceAsin(T! selfRef)
Acos(T input, T! out)
InplaceAcos(T! inputRef)
Atan(T input, T! out)
InplaceAtan(T! inputRef)
Sinh(T self, T! out)
InplaceSinh(T! selfRef)
Cosh(T self, T! out)
InplaceCosh(T! selfRef)
Asinh(T input, T! out)
Acosh(T self, T! out)
Atanh(T input, T! out)
Tanh(T self, T! out)
InplaceTanh(T! selfRef)
Sigmoid(T self, T! out)
InplaceSigmoid(T! selfRef)
Erf(T self, T! out)
InplaceErf(T! selfRef)
Erfc(T self, T! out)
InplaceErfc(T selfRef)
Erfinv(T self, T! out)
InplaceErfinv(T selfRef)
Lgamma(T self, T! out)
Digamma(T self, T! out)
Floor(T self, T! out)
InplaceFloor(T! selfRef)
Ceil(T self, T! out)
InplaceCeil(T! selfRef)
Round(T self, T! out)
InplaceRound(T selfRef)
RoundDecimals(T self, int64_t decimals, T! out)
Trunc(T self, T! out)
InplaceTrunc(T! selfRef)
Frac(T input, T! out)
InplaceFrac(T! inputRef)
Sign(T self, T! result)
IsPosInf(T self, T! out)
IsNegInf(T self, T! out)
Signbit(T self, T! out)
Sinc(T self, T! out)
InplaceSinc(T! selfRef)
IsFinite(T self, T! out)
NanToNum(T self, float nan, float posinf, float neginf, T! out)
InplaceNanToNum(T! selfRef, float nan, float posinf, float neginf)
# Activations and their gradients.
Relu(T self, T out)
InplaceRelu(T! selfRef)
LeakyRelu(T self, S negativeSlope, T! out)
InplaceLeakyRelu(T! selfRef, S negativeSlope)
LeakyReluBackward(T gradOutput, T self, S negativeSlope, bool selfIsResult, T! out)
Threshold(T self, S threshold, S value, T! out)
InplaceThreshold(T! selfRef, S threshold, S value)
ThresholdBackward(T gradOutput, T self, S threshold, T! out)
GeluV2(T x, int64_t approximate, T! y)
GeluBackwardV2(T gradOutput, T self, char* approximate, T! gradInput)
Silu(T self, T! out)
SiluBackward(T gradOutput, T self, T! gradInput)
SigmoidBackward(T gradOutput, T output, T! gradInput)
TanhBackward(T gradOutput, T output, T! gradInput)
Elu(T self, S alpha, S scale, S inputScale, T! out)
InplaceElu(T! selfRef, S alpha, S scale, S inputScale)
EluBackward(T gradOutput, S alpha, S scale, S inputScale, bool isResult, T selfOrResult, T! gradInput)
Softplus(T self, S beta, S threshold, T! out)
SoftplusBackward(T gradOutput, T self, S beta, S threshold, T! gradInput)
Hardtanh(T self, S clipValueMin, S clipValueMax, T! out)
InplaceHardtanh(T! selfRef, S clipValueMin, S clipValueMax)
HardtanhBackward(T gradOutput, T self, S min, S max, T! out)
Hardswish(T self, T out)
InplaceHardswish(T self)
HardswishBackward(T gradOutput, T self, T! out)
Hardsigmoid(T self, T! out)
InplaceHardsigmoid(T self)
HardsigmoidBackward(T gradOutput, T self, T! out)
LogSigmoidForward(T self, T! out, T! buffer)
LogSigmoidBackward(T gradOutput, T self, T buffer, T! gradInput)
Mish(T self, T! out)
InplaceMish(T! selfRef)
MishBackward(T gradOutput, T self, T! gradInput)
Hardshrink(T self, S lambd, T! out)
HardshrinkBackward(T gradOutput, T self, S lambd, T! gradInput)
Softshrink(T self, S lambd, T! out)
SoftshrinkBackward(T gradOutput, T self, S lambda, T! gradInput)
Prelu(T self, T weight, T! out)
Glu(T self, int64_t dim, T out)
Softmax(T self, int64_t dim, T! out)
SoftmaxBackward(T gradOutput, T output, int64_t dim, T! out)
LogSoftmax(T self, int64_t dim, T! out)
LogSoftmaxBackward(T gradOutput, T output, int64_t dim, T! out)
# Comparison, logic and bits.
EqTensor(T self, T other, T! out)
EqScalar(T self, S other, T! out)
InplaceEqTensor(T selfRef, T other)
InplaceEqScalar(T selfRef, S other)
NeTensor(T self, T other, T! out)
NeScalar(T self, S other, T! out)
InplaceNeTensor(T! selfRef, T other)
InplaceNeScalar(T! selfRef, S other)
LtTensor(T self, T other, T! out)
LtScalar(T self, S other, T! out)
InplaceLtTensor(T selfRef, T other)
InplaceLtScalar(T selfRef, S other)
LeTensor(T self, T other, T! out)
LeScalar(T self, S other, T! out)
InplaceLeTensor(T! selfRef, T other)
InplaceLeScalar(T! selfRef, S other)
GtTensor(T self, T other, T! out)
GtScalar(T self, S other, T! out)
InplaceGtTensor(T selfRef, T other)
InplaceGtScalar(T! selfRef, S other)
GeTensor(T self, T other, T! out)
GeScalar(T self, S other, T! out)
InplaceGeTensor(T! selfRef, T other)
InplaceGeScalar(T! selfRef, S other)
IsClose(T self, T other, double rtol, double atol, bool equal_nan, T! out)
LogicalAnd(T self, T other, T! out)
LogicalOr(T self, T other, T! out)
LogicalNot(T self, T! out)
LogicalXor(T self, T other, T! out)
InplaceLogicalAnd(T! selfRef, T other)
InplaceLogicalOr(T! selfRef, T other)
InplaceLogicalNot(T! selfRef)
BitwiseAndTensor(T self, T other, T! out)
BitwiseAndScalar(T self, S other, T! out)
InplaceBitwiseAndTensor(T selfRef, T other)
InplaceBitwiseAndScalar(T selfRef, S other)
BitwiseOrTensor(T self, T other, T! out)
BitwiseOrScalar(T self, S other, T! out)
InplaceBitwiseOrTensor(T! selfRef, T other)
InplaceBitwiseOrScalar(T! selfRef, S other)
BitwiseXorTensor(T self, T other, T! out)
BitwiseXorScalar(T self, S other, T! out)
InplaceBitwiseXorTensor(T! selfRef, T other)
InplaceBitwiseXorScalar(T! selfRef, S other)
BitwiseNot(T self, T! out)
SWhere(T condition, T self, T other, T! out)
Clamp(T self, S clipValueMin, S clipValueMax, T! out)
ClampMin(T self, S clipValueMin, T! out)
ClampMax(T self, S clipValueMax, T! out)
ClampTensor(T self, T clipValueMin, T clipValueMax, T! out)
ClampMinTensor(T self, T clipValueMin, T! out)
ClampMaxTensor(T self, T max, T! out)
InplaceClampMax(T selfRef, S clipValueMax)
InplaceClampMinTensor(T! selfRef, T clipValueMin)
InplaceClampMaxTensor(T! selfRef, T max)
# Reductions and running sums.
ReduceSum(T self, IA dims, bool keepDims, aclDataType dtype, T! out)
ReduceNansum(T self, IA dim, bool keepDim, aclDataType dtype, T! out)
Mean(T self, IA dim, bool keepDim, aclDataType dtype, T! out)
Prod(T self, aclDataType dtype, T! out)
ProdDim(T self, int64_t dim, bool keepDim, aclDataType dtype, T! out)
Amax(T self, IA dim, bool keepDim, T! out)
Amin(T self, IA dim, bool keepDim, T! out)
Max(T self, T! out)
Min(T self, T! out)
MaxDim(T self, int64_t dim, bool keepdim, T! out, T! indices)
MinDim(T self, int64_t dim, bool keepdim, T! out, T! indices)
AminmaxDim(T self, int64_t dim, bool keepDim, T! minOut, T! maxOut)
AminmaxAll(T self, T! minOut, T! maxOut)
ArgMax(T self, int64_t dim, bool keepdim, T! out)
ArgMin(T self, int64_t dim, bool keepdim, T! out)
All(T self, IA dim, bool keepdim, T! out)
Any(T self, IA dim, bool keepdim, T! out)
VarCorrection(T self, IA dim, int64_t correction, bool keepdim, T! out)
VarMean(T self, IA dim, int64_t correction, bool keepdim, T! varOut, T! meanOut)
Std(T self, IA dim, int64_t correction, bool keepdim, T! out)
LinalgVectorNorm(T self, S ord, IA dims, bool keepDims, aclDataType dtype, T! out)
LogSumExp(T self, IA dim, bool keepDim, T! out)
Cumsum(T self, int64_t dim, aclDataType dtype, T! out)
Cumprod(T input, S dim, aclDataType dtype, T! out)
InplaceCumprod(T! input, S dim)
Cummax(T self, int64_t dim, T! valuesOut, T! indicesOut)
Cummin(T self, int64_t dim, T! valuesOut, T! indicesOut)
Median(T self, T! valuesOut)
MedianDim(T self, int64_t dim, bool keepDim, T! valuesOut, T! indicesOut)
Kthvalue(T self, int64_t k, int64_t dim, bool keepdim, T! valuesOut, T! indicesOut)
# Matrix products.
Mm(T self, T mat2, T! out, int8_t cubeMathType)
BatchMatMul(T self, T mat2, T! out, int8_t cubeMathType)
Mv(T self, T vec, T! out, int8_t cubeMathType)
Dot(T self, T tensor, T! out)
Trace(T self, T! out)
Addmm(T self, T mat1, T mat2, S beta, S alpha, T! out, int8_t cubeMathType)
InplaceAddmm(T selfRef, T mat1, T mat2, S beta, S alpha, int8_t cubeMathType)
Baddbmm(T self, T batch1, T batch2, S beta, S alpha, T! out, int8_t cubeMathType)
InplaceBaddbmm(T selfRef, T batch1, T batch2, S beta, S alpha, int8_t cubeMathType)
LinalgQr(T self, int64_t mode, T! Q, T! R)
# Images.
Convolution(T input, T weight, T bias, IA stride, IA padding, IA dilation, bool transposed, IA outputPadding, \
int64_t groups, T! output, int8_t cubeMathType)
ConvolutionBackward(T gradOutput, T input, T weight, IA biasSizes, IA stride, IA padding, IA dilation, bool transposed, \
IA outputPadding, int groups, BA outputMask, int8_t cubeMathType, T! gradInput, T! gradWeight, T! gradBias)
MaxPool2dWithIndices(T self, IA kernelSize, IA stride, IA padding, IA dilation, bool ceilMode, T! out, T! indices)
MaxPool2dWithIndicesBackward(T gradOutput, T self, T indices, IA kernelSize, IA stride, IA padding, IA dilation, \
bool ceilMode, T! gradInput)
MaxPool3dWithArgmax(T self, IA kernelSize, IA stride, IA padding, IA dilation, bool ceilMode, T! out, T! indices)
MaxPool3dWithArgmaxBackward(T gradOutput, T self, T indices, IA kernelSize, IA stride, IA padding, IA dilation, \
bool ceilMode, T! gradInput)
AvgPool2d(T self, IA kernelSize, IA strides, IA paddings, bool ceilMode, bool countIncludePad, int64_t divisorOverride, \
int8_t cubeMathType, T! out)
AvgPool2dBackward(T gradOutput, T self, IA kernelSize, IA stride, IA padding, bool ceilMode, bool countIncludePad, \
int64_t divisorOverride, int8_t cubeMathType, T! gradInput)
AvgPool3d(T self, IA kernelSize, IA stride, IA padding, bool ceilMode, bool countIncludePad, int64_t divisorOverride, \
T! out)
AvgPool3dBackward(T gradOuput, T self, IA kernelSize, IA stride, IA padding, bool ceilMode, bool countIncludePad, \
int64_t divisorOverride, T! output)
AdaptiveAvgPool2d(T self, IA outputSize, T! out)
AdaptiveAvgPool2dBackward(T gradOutput, T self, T! out)
AdaptiveAvgPool3d(T self, IA outputSize, T! out)
AdaptiveAvgPool3dBackward(T gradOutput, T self, T! out)
AdaptiveMaxPool2d(T self, IA outputSize, T! outputOut, T! indicesOut)
AdaptiveMaxPool3d(T self, IA outputSize, T! outputOut, T! indicesOut)
AdaptiveMaxPool3dBackward(T gradOutput, T self, T indices, T! gradInput)
MaxUnpool2d(T self, T indices, IA outputSize, T! out)
MaxUnpool3d(T self, T indices, IA outputSize, IA stride, IA padding, T! outRef)
UpsampleNearest1d(T self, IA outputSize, T! out)
UpsampleNearest1dBackward(T gradOut, IA outputSize, IA inputSize, double scales, T! out)
UpsampleNearest2d(T self, IA outputSize, T! out)
UpsampleNearest2dBackward(T gradOut, IA outputSize, IA inputSize, double scalesH, double scalesW, T! gradInput)
UpsampleLinear1d(T self, IA outputSize, bool alignCorners, double scales, T! out)
UpsampleLinear1dBackward(T gradOut, IA outputSize, IA inputSize, bool alignCorners, double scales, T! out)
UpsampleBilinear2d(T self, IA outputSize, bool alignCorners, double scalesH, double scalesW, T! out)
UpsampleBilinear2dBackward(T gradOut, IA outputSize, IA inputSize, bool alignCorners, double scalesH, double scalesW, T! out)
UpsampleTrilinear3d(T self, IA outputSize, bool alignCorners, double scalesD, double scalesH, double scalesW, T! out)
UpsampleTrilinear3dBackward(T gradOut, IA outputSize, IA inputSize, bool alignCorners, double scalesD, \
double scalesH, double scalesW, T! gradInput)
UpsampleBicubic2d(T self, IA outputSize, bool alignCorners, double scalesH, double scalesW, T! out)
UpsampleBicubic2dBackward(T gradOut, IA outputSize, IA inputSize, bool alignCorners, double scalesH, double scalesW, \
T! gradInput)
GridSampler2D(T input, T grid, int64_t interpolationMode, int64_t paddingMode, bool alignCorners, T! out)
GridSampler2DBackward(T gradOutput, T input, T grid, int64_t interpolationMode, int64_t paddingMode, \
bool alignCorners, BA outputMask, T! inputGrad, T! gridGrad)
GridSampler3D(T input, T grid, int64_t interpolationMode, int64_t paddingMode, bool alignCorners, T! out)
GridSampler3DBackward(T gradOutput, T input, T grid, int64_t interpolationMode, int64_t paddingMode, \
bool alignCorners, BA outputMask, T! inputGrad, T! gridGrad)
Im2col(T self, IA kernelSize, IA dilation, IA padding, IA stride, T out)
Im2colBackward(T gradOutput, IA inputSize, IA kernelSize, IA dilation, IA padding, IA stride, T! out)
# Normalisation.
LayerNorm(T input, IA normalizedShape, T weightOptional, T biasOptional, double eps, T! out, T! meanOutOptional, \
T! rstdOutOptional)
LayerNormBackward(T gradOut, T input, IA normalizedShape, T mean, T rstd, T weightOptional, T biasOptional, \
BA outputMask, T! gradInputOut, T! gradWeightOut, T! gradBiasOut)
GroupNorm(T self, T gamma, T beta, int64_t N, int64_t C, int64_t HxW, int64_t group, double eps, T! out, T! meanOut, \
T! rstdOut)
GroupNormBackward(T gradOut, T input, T mean, T rstd, T gamma, int64_t N, int64_t C, int64_t HxW, int64_t group, \
BA outputMask, T! gradInput, T! gradGammaOut, T! gradBetaOut)
BatchNorm(T input, T weight, T bias, T! runningMean, T! runningVar, bool training, double momentum, double eps, \
T! output, T! saveMean, T! saveInvstd)
BatchNormBackward(T gradOut, T input, T weight, T runningMean, T runningVar, T saveMean, T saveInvstd, bool training, \
double eps, BA outputMask, T! gradInput, T! gradWeight, T! gradBias)
RmsNorm(T x, T gamma, double epsilon, T yOut, T rstdOut)
RmsNormGrad(T dy, T x, T rstd, T gamma, T dxOut, T dgammaOut)
# Attention.
FlashAttentionScore(T query, T key, T value, T realShiftOptional, T dropMaskOptional, T paddingMaskOptional, \
T attenMaskOptional, IA prefixOptional, double scaleValue, double keepProb, int64_t preTokens, int64_t nextTokens, \
int64_t headNum, char* inputLayout, int64_t innerPrecise, int64_t sparseMode, T softmaxMaxOut, T softmaxSumOut, \
T softmaxOutOut, T attentionOutOut)
FlashAttentionScoreGrad(T query, T keyIn, T value, T dy, T pseShiftOptional, T dropMaskOptional, T paddingMaskOptional, \
T attenMaskOptional, T softmaxMaxOptional, T softmaxSumOptional, T softmaxInOptional, T attentionInOptional, \
IA prefixOptional, double scaleValue, double keepProb, int64_t preTokens, int64_t nextTokens, int64_t headNum, \
char* inputLayout, int64_t innerPrecise, int64_t sparseMode, T dqOut, T dkOut, T dvOut, T dpseOut)
Renorm(T self, S p, int64_t dim, S maxNorm, T! out)
# Losses.
NLLLoss(T self, T target, T weight, int64_t reduction, int64_t ignoreIndex, T! out, T! totalWeightOut)
NLLLossBackward(T gradOutput, T self, T target, T weight, int64_t reduction, int64_t ignoreIndex, T totalWeight, T! out)
MseLoss(T self, T target, int64_t reduction, T! out)
MseLossBackward(T gradOutput, T self, T target, int64_t reduction, T! out)
SmoothL1Loss(T self, T target, int64_t reduction, float beta, T! result)
SmoothL1LossBackward(T gradOut, T self, T target, int64_t reduction, float beta, T! gradInput)
BinaryCrossEntropy(T self, T target, T weight, int64_t reduction, T! out)
BinaryCrossEntropyWithLogits(T self, T target, T weightOptional, T posWeightOptional, int64_t reduction, T! out)
# Optimizers.
ApplyAdamWV2(T! varRef, T! mRef, T! vRef, T! maxGradNormOptionalRef, T grad, T step, float lr, float beta1, float beta2, \
float weightDecay, float eps, bool amsgrad, bool maximize)
# Random numbers.
InplaceUniform(T selfRef, double from, double to, uint64_t seed, uint64_t offset)
InplaceNormal(T selfRef, float mean, float std, int64_t seed, int64_t offset)
InplaceBernoulli(T selfRef, S prob, int64_t seed, int64_t offset)
InplaceRandom(T selfRef, int64_t from, int64_t to, int64_t seed, int64_t offset)
Randperm(int64_t n, int64_t seed, int64_t offset, T! out)
DropoutGenMask(IA shape, double prob, int64_t seed, int64_t offset, T! out)
DropoutDoMask(T self, T mask, double prob, T! out)
InplaceUniformTensor(T selfRef, double from, double to, T seedTensor, T offsetTensor, uint64_t offset)
InplaceNormalTensor(T selfRef, float mean, float std, T seedTensor, T offsetTensor, int64_t offset)
InplaceRandomTensor(T selfRef, int64_t from, int64_t to, T seedTensor, T offsetTensor, int64_t offset)
DropoutGenMaskV2Tensor(IA shape, double prob, T seedTensor, T offsetTensor, int64_t offset, aclDataType probDataType, \
T! out)
# Indexing, copies and order.
Embedding(T weight, T indices, T out)
EmbeddingDenseBackward(T grad, T indices, uint64_t numWeights, uint64_t paddingIdx, bool scaleGradByFreq, T out)
EmbeddingRenorm(T! selfRef, T indices, double maxNorm, double normType)
IndexSelect(T self, int64_t dim, T index, T! out)
Index(T self, TL indices, T! out)
IndexPutImpl(T! selfRef, TL indices, T values, bool accumulate, bool unsafe)
IndexAdd(T self, int64_t dim, T index, T source, S alpha, T! out)
InplaceIndexCopy(T! selfRef, int64_t dim, T index, T source)
InplacePut(T! selfRef, T index, T source, bool accumulate)
Gather(T self, int64_t dim, T index, T! out)
Scatter(T self, int64_t dim, T index, T src, int64_t reduce, T! out)
ScatterValue(T self, int64_t dim, T index, S value, int64_t reduce, T! out)
InplaceScatter(T! selfRef, int64_t dim, T index, T src, int64_t reduce)
InplaceScatterValue(T! selfRef, int64_t dim, T index, S value, int64_t reduce)
ScatterAdd(T self, int64_t dim, T index, T src, T! out)
Take(T self, T index, T! out)
NonzeroV2(T self, T! out)
MaskedSelect(T self, T mask, T! out)
InplaceMaskedScatter(T! selfRef, T mask, T source)
InplaceMaskedFillScalar(T! selfRef, T mask, S value)
InplaceMaskedFillTensor(T! selfRef, T mask, T value)
Cat(TL tensors, int64_t dim, T! out)
Stack(TL tensors, int64_t dim, T! out)
Repeat(T self, IA repeats, T! out)
Flip(T self, IA dims, T! out)
Roll(T x, IA shifts, IA dims, T! out)
Tril(T self, int64_t diagonal, T! out)
Triu(T self, int64_t diagonal, T! out)
InplaceTril(T selfRef, int64_t diagonal)
InplaceTriu(T! selfRef, int64_t diagonal)
ConstantPadNd(T self, IA pad, S value, T! out)
Cast(T self, aclDataType dtype, T! out)
InplaceCopy(T! selfRef, T src)
Sort(T self, bool stable, int64_t dim, bool descending, T! valuesOut, T! indicesOut)
Topk(T self, int64_t k, int64_t dim, bool largest, bool sorted, T! valuesOut, T! indicesOut)
SearchSorted(T sortedSequence, T self, bool outInt32, bool right, T sorter, T! out)
Unique2(T self, bool sorted, bool returnInverse, bool returnCounts, T! valueOut, T! inverseOut, T! countsOut)
UniqueConsecutive(T self, bool returnInverse, bool returnCounts, int64_t dim, T! valueOut, T! inverseOut, T! countsOut)
UniqueDim(T self, bool sorted, bool returnInverse, int64_t dim, T! valueOut, T! inverseOut, T! countsOut)
Bincount(T self, T weights, int64_t minlength, T! out)
OneHot(T self, int numClasses, T onValue, T offValue, int64_t axis, T! out)
RepeatInterleaveTensor(T repeats, int64_t outputSize, T! out)
RepeatInterleave(T self, T repeats, int64_t outputSize, T! out)
RepeatInterleaveWithDim(T self, T repeats, int64_t dim, int64_t outputSize, T! out)
# Filling.
InplaceFillScalar(T! selfRef, S value)
InplaceFillTensor(T! selfRef, T value)
InplaceZero(T! selfRef)
InplaceOne(T selfRef)
Arange(S start, S end, S step, T! out)
Linspace(S start, S end, int64_t steps, T! out)
Eye(int64_t n, int64_t m, T! out)
"""

#: One row for each overload: the function and its arguments. A name is an argument of the overload; ``out`` is the result,
#: ``out0``, ``out1`` and ``out2`` are several. Anything else is an expression of these and of the names in
#: `dispatch_backend_npu.aclnn.row_kernels`. After ``where`` come the function's conditions on its arguments, beside the
#: scalar types of `dtypes`; other calls are composed. Operators that need more than a row are in `dispatch_backend_npu.ops`.
_ROWS: Final = """
# Arithmetic.
add.Tensor                  Add(self, other, alpha, out)
add.Scalar                  Adds(self, other, alpha, out)
add_.Tensor                 InplaceAdd(self, other, alpha)
add_.Scalar                 InplaceAdds(self, other, alpha)
sub.Tensor                  Sub(self, other, alpha, out)
sub.Scalar                  Subs(self, other, alpha, out)
sub_.Tensor                 InplaceSub(self, other, alpha)
sub_.Scalar                 InplaceSubs(self, other, alpha)
rsub.Tensor                 Rsub(self, other, alpha, out)
rsub.Scalar                 Rsubs(self, other, alpha, out)
mul.Tensor                  Mul(self, other, out)
mul.Scalar                  Muls(self, other, out)
mul_.Tensor                 InplaceMul(self, other)
mul_.Scalar                 InplaceMuls(self, other)
div.Tensor                  Div(self, other, out)
div.Scalar                  Divs(self, other, out)
div_.Tensor                 InplaceDiv(self, other)
div_.Scalar                 InplaceDivs(self, other)
div.Tensor_mode             DivMod(self, other, ROUNDING[rounding_mode], out)
div.Scalar_mode             DivMods(self, other, ROUNDING[rounding_mode], out)
div_.Tensor_mode            InplaceDivMod(self, other, ROUNDING[rounding_mode])
div_.Scalar_mode            InplaceDivMods(self, other, ROUNDING[rounding_mode])
floor_divide                FloorDivide(self, other, out)
floor_divide.Scalar         FloorDivides(self, other, out)
floor_divide_.Tensor        InplaceFloorDivide(self, other)
floor_divide_.Scalar        InplaceFloorDivides(self, other)
remainder.Tensor            RemainderTensorTensor(self, other, out)
remainder.Scalar            RemainderTensorScalar(self, other, out)
remainder.Scalar_Tensor     RemainderScalarTensor(self, other, out)
remainder_.Tensor           InplaceRemainderTensorTensor(self, other)
remainder_.Scalar           InplaceRemainderTensorScalar(self, other)
fmod.Tensor                 FmodTensor(self, other, out)
fmod.Scalar                 FmodScalar(self, other, out)
fmod_.Tensor                InplaceFmodTensor(self, other)
fmod_.Scalar                InplaceFmodScalar(self, other)
pow.Tensor_Tensor           PowTensorTensor(self, exponent, out)
pow.Tensor_Scalar           PowTensorScalar(self, exponent, out)
pow.Scalar                  PowScalarTensor(self, exponent, out)
pow_.Tensor                 InplacePowTensorTensor(self, exponent)
pow_.Scalar                 InplacePowTensorScalar(self, exponent)
maximum                     Maximum(self, other, out)
minimum                     Minimum(self, other, out)
atan2                       Atan2(self, other, out)
atan2_                      InplaceAtan2(self, other)
logaddexp                   LogAddExp(self, other, out)
logaddexp2                  LogAddExp2(self, other, out)
linalg_cross                LinalgCross(self, other, dim, out) where self.dtype is other.dtype
addcmul                     Addcmul(self, tensor1, tensor2, value, out)
addcmul_                    InplaceAddcmul(self, tensor1, tensor2, value)
addcdiv                     Addcdiv(self, tensor1, tensor2, value, out)
addcdiv_                    InplaceAddcdiv(self, tensor1, tensor2, value)
lerp.Tensor                 Lerp(self, end, weight, out)
lerp.Scalar                 Lerps(self, end, weight, out)
lerp_.Tensor                InplaceLerp(self, end, weight)
lerp_.Scalar                InplaceLerps(self, end, weight)
# Functions of one tensor.
abs                         Abs(self, out)
neg                         Neg(self, out)
neg_                        InplaceNeg(self)
exp                         Exp(self, out)
exp_                        InplaceExp(self)
exp2                        Exp2(self, out)
expm1                       Expm1(self, out)
expm1_                      InplaceExpm1(self)
log                         Log(self, out)
log_                        InplaceLog(self)
log2                        Log2(self, out)
log2_                       InplaceLog2(self)
log10                       Log10(self, out)
log10_                      InplaceLog10(self)
log1p                       Log1p(self, out)
log1p_                      InplaceLog1p(self)
sqrt                        Sqrt(self, out)
sqrt_                       InplaceSqrt(self)
rsqrt                       Rsqrt(self, out)
rsqrt_                      InplaceRsqrt(self)
reciprocal                  Reciprocal(self, out)
reciprocal_                 InplaceReciprocal(self)
sin                         Sin(self, out)
sin_                        InplaceSin(self)
cos                         Cos(self, out)
cos_                        InplaceCos(self)
tan                         Tan(self, out)
tan_                        InplaceTan(self)
asin                        Asin(self, out)
asin_                       InplaceAsin(self)
acos                        Acos(self, out)
acos_                       InplaceAcos(self)
atan                        Atan(self, out)
atan_                       InplaceAtan(self)
sinh                        Sinh(self, out)
sinh_                       InplaceSinh(self)
cosh                        Cosh(self, out)
cosh_                       InplaceCosh(self)
asinh                       Asinh(self, out)
acosh                       Acosh(self, out)
atanh                       Atanh(self, out)
tanh                        Tanh(self, out)
tanh_                       InplaceTanh(self)
sigmoid                     Sigmoid(self, out)
sigmoid_                    InplaceSigmoid(self)
erf                         Erf(self, out)
erf_                        InplaceErf(self)
erfc                        Erfc(self, out)
erfc_                       InplaceErfc(self)
erfinv                      Erfinv(self, out)
erfinv_                     InplaceErfinv(self)
lgamma                      Lgamma(self, out)
digamma                     Digamma(self, out)
floor                       Floor(self, out)
floor_                      InplaceFloor(self)
ceil                        Ceil(self, out)
ceil_                       InplaceCeil(self)
round                       Round(self, out)
round_                      InplaceRound(self)
round.decimals              RoundDecimals(self, decimals, out)
trunc                       Trunc(self, out)
trunc_                      InplaceTrunc(self)
frac                        Frac(self, out)
frac_                       InplaceFrac(self)
sign                        Sign(self, out)
isposinf                    IsPosInf(self, out)
isneginf                    IsNegInf(self, out)
signbit                     Signbit(self, out)
nan_to_num                  NanToNum(self, nan or 0.0, bound(posinf, self, 1), bound(neginf, self, -1), out)
nan_to_num_                 InplaceNanToNum(self, nan or 0.0, bound(posinf, self, 1), bound(neginf, self, -1))
isnan                       NeTensor(self, self, out)
isfinite                    IsFinite(self, out)
sinc                        Sinc(self, out)
sinc_                       InplaceSinc(self)
# Activations and their gradients.
relu                        Relu(self, out)
relu_                       InplaceRelu(self)
leaky_relu                  LeakyRelu(self, negative_slope, out)
leaky_relu_                 InplaceLeakyRelu(self, negative_slope)
leaky_relu_backward         LeakyReluBackward(grad_output, self, negative_slope, self_is_result, out)
threshold                   Threshold(self, like(threshold, self), like(value, self), out)
threshold_                  InplaceThreshold(self, like(threshold, self), like(value, self))
threshold_backward          ThresholdBackward(grad_output, self, threshold, out)
gelu                        GeluV2(self, APPROXIMATE[approximate], out)
gelu_backward               GeluBackwardV2(grad_output, self, approximate, out)
silu                        Silu(self, out)
silu_backward               SiluBackward(grad_output, self, out)
sigmoid_backward            SigmoidBackward(grad_output, output, out)
tanh_backward               TanhBackward(grad_output, output, out)
elu                         Elu(self, alpha, scale, input_scale, out)
elu_                        InplaceElu(self, alpha, scale, input_scale)
elu_backward                EluBackward(grad_output, alpha, scale, input_scale, is_result, self_or_result, out)
softplus                    Softplus(self, beta, threshold, out)
softplus_backward           SoftplusBackward(grad_output, self, beta, threshold, out)
hardtanh                    Hardtanh(self, min_val, max_val, out)
hardtanh_                   InplaceHardtanh(self, min_val, max_val)
hardtanh_backward           HardtanhBackward(grad_output, self, min_val, max_val, out)
hardswish                   Hardswish(self, out)
hardswish_                  InplaceHardswish(self)
hardswish_backward          HardswishBackward(grad_output, self, out)
hardsigmoid                 Hardsigmoid(self, out)
hardsigmoid_                InplaceHardsigmoid(self)
hardsigmoid_backward        HardsigmoidBackward(grad_output, self, out)
log_sigmoid_forward         LogSigmoidForward(self, out0, out1)
log_sigmoid_backward        LogSigmoidBackward(grad_output, self, buffer, out)
mish                        Mish(self, out)
mish_                       InplaceMish(self)
hardshrink                  Hardshrink(self, like(lambd, self), out)
hardshrink_backward         HardshrinkBackward(grad_out, self, like(lambd, self), out) where lambd >= 0
softshrink                  Softshrink(self, like(lambd, self), out)
softshrink_backward         SoftshrinkBackward(grad_output, self, like(lambd, self), out) where \
lambd >= 0 and grad_output.dtype is self.dtype
_prelu_kernel               Prelu(self, weight, out)
glu                         Glu(self, dim, out)
_softmax                    Softmax(self, dim, out)
_softmax_backward_data      SoftmaxBackward(grad_output, output, dim, out)
_log_softmax                LogSoftmax(self, dim, out)
_log_softmax_backward_data  LogSoftmaxBackward(grad_output, output, dim, out)
# Comparison, logic and bits.
eq.Tensor                   EqTensor(self, other, out)
eq.Scalar                   EqScalar(self, other, out)
eq_.Tensor                  InplaceEqTensor(self, other)
eq_.Scalar                  InplaceEqScalar(self, other)
ne.Tensor                   NeTensor(self, other, out)
ne.Scalar                   NeScalar(self, other, out)
ne_.Tensor                  InplaceNeTensor(self, other)
ne_.Scalar                  InplaceNeScalar(self, other)
lt.Tensor                   LtTensor(self, other, out)
lt.Scalar                   LtScalar(self, other, out)
lt_.Tensor                  InplaceLtTensor(self, other)
lt_.Scalar                  InplaceLtScalar(self, other)
le.Tensor                   LeTensor(self, other, out)
le.Scalar                   LeScalar(self, other, out)
le_.Tensor                  InplaceLeTensor(self, other)
le_.Scalar                  InplaceLeScalar(self, other)
gt.Tensor                   GtTensor(self, other, out)
gt.Scalar                   GtScalar(self, other, out)
gt_.Tensor                  InplaceGtTensor(self, other)
gt_.Scalar                  InplaceGtScalar(self, other)
ge.Tensor                   GeTensor(self, other, out)
ge.Scalar                   GeScalar(self, other, out)
ge_.Tensor                  InplaceGeTensor(self, other)
ge_.Scalar                  InplaceGeScalar(self, other)
logical_and                 LogicalAnd(self, other, out)
logical_or                  LogicalOr(self, other, out)
logical_not                 LogicalNot(self, out)
logical_xor                 LogicalXor(self, other, out)
logical_and_                InplaceLogicalAnd(self, other)
logical_or_                 InplaceLogicalOr(self, other)
logical_not_                InplaceLogicalNot(self)
bitwise_and.Tensor          BitwiseAndTensor(self, other, out)
bitwise_and.Scalar          BitwiseAndScalar(self, other, out)
bitwise_and_.Tensor         InplaceBitwiseAndTensor(self, other)
bitwise_and_.Scalar         InplaceBitwiseAndScalar(self, other)
bitwise_or.Tensor           BitwiseOrTensor(self, other, out)
bitwise_or.Scalar           BitwiseOrScalar(self, other, out)
bitwise_or_.Tensor          InplaceBitwiseOrTensor(self, other)
bitwise_or_.Scalar          InplaceBitwiseOrScalar(self, other)
bitwise_xor.Tensor          BitwiseXorTensor(self, other, out)
bitwise_xor.Scalar          BitwiseXorScalar(self, other, out)
bitwise_xor_.Tensor         InplaceBitwiseXorTensor(self, other)
bitwise_xor_.Scalar         InplaceBitwiseXorScalar(self, other)
bitwise_not                 BitwiseNot(self, out)
# By a power of two, which no bits leave; the toolkit's own functions of shifts are newer than CANN 8.1.
bitwise_left_shift.Tensor_Scalar Muls(self, 1 << other, out) where is_shift(self, other) and self.dtype.itemsize >= 4
bitwise_left_shift_.Tensor_Scalar InplaceMuls(self, 1 << other) where is_shift(self, other) and self.dtype.itemsize >= 4
bitwise_right_shift.Tensor_Scalar FloorDivides(self, 1 << other, out) where is_shift(self, other)
bitwise_right_shift_.Tensor_Scalar InplaceFloorDivides(self, 1 << other) where is_shift(self, other)
where.self                  SWhere(condition, self, other, out)
clamp_min                   ClampMin(self, min, out)
clamp_min.Tensor            ClampMinTensor(self, min, out)
clamp_max                   ClampMax(self, max, out)
clamp_max.Tensor            ClampMaxTensor(self, max, out)
clamp_max_                  InplaceClampMax(self, max)
clamp_min_.Tensor           InplaceClampMinTensor(self, min)
clamp_max_.Tensor           InplaceClampMaxTensor(self, max)
# Reductions and running sums.
sum                         ReduceSum(self, (), False, out.dtype, out)
sum.dim_IntList             ReduceSum(self, dims(dim), keepdim, out.dtype, out)
mean                        Mean(self, (), False, out.dtype, out)
mean.dim                    Mean(self, dims(dim), keepdim, out.dtype, out)
prod                        Prod(self, out.dtype, out)
prod.dim_int                ProdDim(self, dim, keepdim, out.dtype, out)
amax                        Amax(self, dim, keepdim, out)
amin                        Amin(self, dim, keepdim, out)
max                         Max(self, out)
min                         Min(self, out)
max.dim                     MaxDim(self, dim, keepdim, out0, out1)
min.dim                     MinDim(self, dim, keepdim, out0, out1)
any                         Any(self, (), False, out)
any.dim                     Any(self, (dim,), keepdim, out)
all                         All(self, (), False, out)
all.dim                     All(self, (dim,), keepdim, out)
linalg_vector_norm          LinalgVectorNorm(self, ord, dims(dim), keepdim, out.dtype, out)
logsumexp                   LogSumExp(self, dim, keepdim, out)
cumsum                      Cumsum(self, dim, out.dtype, out)
cumprod                     Cumprod(self, dim, out.dtype, out)
cumprod_                    InplaceCumprod(self, dim) where dtype is None
cummax                      Cummax(self, dim, out0, out1)
cummin                      Cummin(self, dim, out0, out1)
median                      Median(self, out) where is_filled(self)
median.dim                  MedianDim(self, dim, keepdim, out0, out1) where self.shape and is_filled(self)
kthvalue                    Kthvalue(self, k, dim, keepdim, out0, out1) where self.shape and is_filled(self)
# Matrix products; the last argument keeps the dtype's precision where the chip can.
mm                          Mm(self, mat2, out, cube(self.dtype))
bmm                         BatchMatMul(self, mat2, out, cube(self.dtype))
mv                          Mv(self, vec, out, cube(self.dtype))
dot                         Dot(self, tensor, out)
addmm                       Addmm(self, mat1, mat2, like(beta, self), like(alpha, self), out, cube(self.dtype))
addmm_                      InplaceAddmm(self, mat1, mat2, like(beta, self), like(alpha, self), cube(self.dtype))
baddbmm                     Baddbmm(self, batch1, batch2, like(beta, self), like(alpha, self), out, cube(self.dtype))
baddbmm_                    InplaceBaddbmm(self, batch1, batch2, like(beta, self), like(alpha, self), cube(self.dtype))
linalg_qr                   LinalgQr(A, QR_MODES[mode], out0, out1) where is_filled(A) and not A.dtype.is_complex
# Images. CANN computes a convolution of floats with less precision only (HF32).
convolution                 Convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, \
groups, out, PRECISION.get(input.dtype, 0)) where is_small_convolution(input, weight, stride, padding, dilation, groups)
convolution_backward        ConvolutionBackward(grad_output, input, weight, \
[weight.shape[1] * groups if transposed else weight.shape[0]], stride, padding, dilation, transposed, output_padding, \
groups, output_mask, PRECISION.get(input.dtype, 0), out0, out1, out2) where \
is_small_convolution(input, weight, stride, padding, dilation, groups) and (transposed or not any(output_padding))
avg_pool2d                  AvgPool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, \
divisor_override or 0, cube(self.dtype), out) where is_filled(self)
avg_pool2d_backward         AvgPool2dBackward(grad_output, self, kernel_size, stride, padding, ceil_mode, \
count_include_pad, divisor_override or 0, cube(self.dtype), out) where is_filled(grad_output)
avg_pool3d                  AvgPool3d(self, spread(kernel_size, 3), spread(stride, 3), spread(padding, 3), ceil_mode, \
count_include_pad, divisor_override or 0, out) where is_filled(self)
avg_pool3d_backward         AvgPool3dBackward(grad_output, self, spread(kernel_size, 3), spread(stride, 3), \
spread(padding, 3), ceil_mode, count_include_pad, divisor_override or 0, out) where is_filled(grad_output)
_adaptive_avg_pool2d        AdaptiveAvgPool2d(self, output_size, out) where is_filled(self) and all(output_size)
_adaptive_avg_pool2d_backward AdaptiveAvgPool2dBackward(grad_output, self, out) where is_filled(grad_output)
_adaptive_avg_pool3d        AdaptiveAvgPool3d(self, output_size, out) where is_filled(self) and all(output_size)
_adaptive_avg_pool3d_backward AdaptiveAvgPool3dBackward(grad_output, self, out) where \
is_filled(grad_output) and (family() != '910' or set(grad_output.shape[-3:]) == {1})
adaptive_max_pool2d         AdaptiveMaxPool2d(self, output_size, out0, out1) where is_filled(self) and all(output_size)
max_unpool2d                MaxUnpool2d(self, indices, output_size, out) where \
is_filled(self) and prod(output_size) >= prod(self.shape[-2:])
max_unpool3d                MaxUnpool3d(self, indices, output_size, spread(stride, 3), spread(padding, 3), out) where \
is_filled(self) and prod(output_size) >= prod(self.shape[-3:])
upsample_nearest1d          UpsampleNearest1d(self, output_size, out) where \
is_filled(self) and is_scale(self.shape, output_size, scales)
upsample_nearest1d_backward UpsampleNearest1dBackward(grad_output, output_size, input_size, 0.0, out) where \
is_filled(grad_output) and is_scale(input_size, output_size, scales)
upsample_nearest2d          UpsampleNearest2d(self, output_size, out) where \
is_filled(self) and is_scale(self.shape, output_size, scales_h, scales_w)
upsample_nearest2d_backward UpsampleNearest2dBackward(grad_output, output_size, input_size, 0.0, 0.0, out) where \
is_filled(grad_output) and is_scale(input_size, output_size, scales_h, scales_w)
upsample_linear1d           UpsampleLinear1d(self, output_size, align_corners, -1.0, out) where \
is_filled(self) and is_scale(self.shape, output_size, scales)
upsample_linear1d_backward  UpsampleLinear1dBackward(grad_output, output_size, input_size, align_corners, 0.0, out) where \
is_filled(grad_output) and is_scale(input_size, output_size, scales) and \
is_linear_gradient(grad_output, input_size)
upsample_bilinear2d         UpsampleBilinear2d(self, output_size, align_corners, 0.0, 0.0, out) where \
is_filled(self) and is_scale(self.shape, output_size, scales_h, scales_w)
upsample_bilinear2d_backward UpsampleBilinear2dBackward(grad_output, output_size, input_size, align_corners, 0.0, 0.0, \
out) where is_filled(grad_output) and is_scale(input_size, output_size, scales_h, scales_w)
upsample_trilinear3d        UpsampleTrilinear3d(self, output_size, align_corners, 0.0, 0.0, 0.0, out) where \
is_filled(self) and is_scale(self.shape, output_size, scales_d, scales_h, scales_w) and \
is_shrink_within(self.shape, output_size, 50)
upsample_trilinear3d_backward UpsampleTrilinear3dBackward(grad_output, output_size, input_size, align_corners, \
0.0, 0.0, 0.0, out) where \
is_filled(grad_output) and is_scale(input_size, output_size, scales_d, scales_h, scales_w)
upsample_bicubic2d          UpsampleBicubic2d(self, output_size, align_corners, 0.0, 0.0, out) where \
is_filled(self) and is_scale(self.shape, output_size, scales_h, scales_w)
upsample_bicubic2d_backward UpsampleBicubic2dBackward(grad_output, output_size, input_size, align_corners, 0.0, 0.0, \
out) where is_filled(grad_output) and is_scale(input_size, output_size, scales_h, scales_w)
grid_sampler_2d             GridSampler2D(input, grid, interpolation_mode, padding_mode, align_corners, out) where \
is_sampled(input, grid, interpolation_mode, padding_mode) and \
(interpolation_mode < 2 or (input.dtype.itemsize < 8 and family() in ('910B', '910_93', '950')))
grid_sampler_3d             GridSampler3D(input, grid, interpolation_mode, padding_mode, align_corners, out) where \
is_sampled(input, grid, interpolation_mode, padding_mode)
im2col                      Im2col(self, kernel_size, dilation, padding, stride, out) where is_filled(self)
col2im                      Im2colBackward(self, output_size, kernel_size, dilation, padding, stride, out) where \
is_filled(self)
# Normalisation.
native_layer_norm           LayerNorm(input, normalized_shape, weight, bias, eps, out0, out1, out2) where is_filled(input)
native_layer_norm_backward  LayerNormBackward(grad_out, input, normalized_shape, mean, rstd, weight, bias, \
output_mask, out0, out1, out2) where \
is_filled(input) and (weight is not None or not output_mask[1]) and (bias is not None or not output_mask[2])
native_group_norm           GroupNorm(input, weight, bias, N, C, HxW, group, eps, out0, out1, out2) where \
is_filled(input) and weight is not None and bias is not None
native_group_norm_backward  GroupNormBackward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask, \
out0, out1, out2) where is_filled(input) and weight is not None and C <= 240000 and C // group <= 8000
_native_batch_norm_legit_no_training BatchNorm(input, weight, bias, running_mean, running_var, False, momentum, eps, \
out0, out1, out2) where is_filled(input)
_fused_rms_norm             RmsNorm(input, weight, 2.0 ** -23 if eps is None else eps, out0, out1) where \
is_filled(input) and is_factor(weight, input)
# Losses.
mse_loss                    MseLoss(self, target, reduction, out)
mse_loss_backward           MseLossBackward(grad_output, self, target, reduction, out)
smooth_l1_loss              SmoothL1Loss(self, target, reduction, beta, out) where is_filled(self)
smooth_l1_loss_backward     SmoothL1LossBackward(grad_output, self, target, reduction, beta, out) where \
is_filled(self) and self.shape == target.shape and beta > 0
binary_cross_entropy        BinaryCrossEntropy(self, target, weight, reduction, out) where is_filled(self)
binary_cross_entropy_with_logits BinaryCrossEntropyWithLogits(self, target, weight, pos_weight, reduction, out) where \
is_filled(self)
# Indexing, copies and order.
embedding                   Embedding(weight, indices, out)
embedding_renorm_           EmbeddingRenorm(self, indices, max_norm, norm_type)
index_select                IndexSelect(self, dim, index, out)
index_add_                  IndexAdd(self, dim, index, source, like(alpha, self), self)
index_add                   IndexAdd(self, dim, index, source, like(alpha, self), out)
index_copy_                 InplaceIndexCopy(self, dim, index, source)
put_                        InplacePut(self, index, source, accumulate)
gather                      Gather(self, dim, index, out)
scatter.src                 Scatter(self, dim, index, src, 0, out)
scatter.value               ScatterValue(self, dim, index, value, 0, out)
scatter_reduce.two          Scatter(self, dim, index, src, REDUCTIONS[reduce], out) where \
reduce in REDUCTIONS and include_self
scatter_.src                InplaceScatter(self, dim, index, src, 0)
scatter_.value              InplaceScatterValue(self, dim, index, value, 0)
scatter_add_                ScatterAdd(self, dim, index, src, self)
scatter_add                 ScatterAdd(self, dim, index, src, out)
take                        Take(self, index, out)
stack                       Stack(tensors, dim, out)
repeat                      Repeat(self, repeats, out)
flip                        Flip(self, dims, out)
roll                        Roll(self, shifts, dims, out)
tril                        Tril(self, diagonal, out)
triu                        Triu(self, diagonal, out)
tril_                       InplaceTril(self, diagonal)
triu_                       InplaceTriu(self, diagonal)
constant_pad_nd             ConstantPadNd(self, pad, value, out) where min(pad, default=0) >= 0
sort                        Sort(self, False, dim, descending, out0, out1)
sort.stable                 Sort(self, bool(stable), dim, descending, out0, out1)
topk                        Topk(self, k, dim, largest, True, out0, out1)
searchsorted.Tensor         SearchSorted(sorted_sequence, self, out_int32, right or side == 'right', sorter, out) where \
self.dtype is sorted_sequence.dtype
bucketize.Tensor            SearchSorted(boundaries, self, out_int32, right, None, out) where self.dtype is boundaries.dtype
copy_                       InplaceCopy(self, src)
# Filling.
fill_.Scalar                InplaceFillScalar(self, value)
fill_.Tensor                InplaceFillTensor(self, value)
zero_                       InplaceZero(self)
"""

#: Functions that set the sizes of their results' descriptors to what they find: a second call needs others.
RESIZING: Final = frozenset(f"aclnn{name}" for name in ("MaskedSelect", "Unique2", "UniqueConsecutive", "UniqueDim"))


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def _prototypes() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    types, names = {}, {}
    for line in _lines(_FUNCTIONS):
        name, _, arguments = line[:-1].partition("(")
        pairs = [argument.rpartition(" ")[::2] for argument in arguments.split(", ")]
        types[f"aclnn{name}"] = tuple([_TYPES.get(kind, kind) for kind, _ in pairs])
        names[f"aclnn{name}"] = tuple([each for _, each in pairs])
    return types, names


def _operators() -> tuple[dict[str, tuple[str, tuple[str, ...]]], dict[str, str]]:
    rows, conditions = {}, {}
    for line in _lines(_ROWS):
        overload, rest = line.split(None, 1)
        call, _, condition = rest.partition(" where ")
        name, _, arguments = call[:-1].partition("(")
        rows[overload] = (f"aclnn{name}", split_arguments(arguments))
        if condition:
            conditions[overload] = condition
    return rows, conditions


def split_arguments(arguments: str) -> tuple[str, ...]:
    """Split at the commas outside of parentheses."""
    if "(" not in arguments:
        return tuple(arguments.split(", "))
    found, depth = [""], 0
    for character in arguments:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return tuple([each.strip() for each in found])


#: Functions of toolkits newer than CANN 8.1; without them plans run without graphs.
NEWER: Final = frozenset(
    {
        "aclnnDropoutGenMaskV2Tensor",
        "aclnnInplaceNormalTensor",
        "aclnnInplaceRandomTensor",
        "aclnnInplaceUniformTensor",
    }
)

#: C argument types of each function's first phase without the last two, and the headers' names of these arguments.
PROTOTYPES, PARAMETERS = _prototypes()

#: Overload of the ``aten`` namespace → function and its arguments, and → its conditions on them.
OPERATORS, CONDITIONS = _operators()
