"""The dtypes that ``out=`` tensors and in-place operators may have, with torch's errors.

Most operators convert their result into any dtype of the same or a higher kind. Others want the result's own.
"""

from __future__ import annotations

from typing import Final

from .dtypes import ScalarType, bool_, uint8
from .errors import DtypeError, UnsupportedError
from .promotion import can_cast

EXACT_OUTPUT: Final = frozenset(
    """
    _euclidean_dist _log_softmax _log_softmax_backward_data _softmax _softmax_backward_data addmm addmv alias_copy
    amax amin aminmax argmax argmin argsort as_strided_copy avg_pool2d avg_pool3d baddbmm binary_cross_entropy bmm
    celu clamp clamp_max clamp_min clip count_nonzero cross detach_copy diag diagonal_copy diagonal_scatter elu
    expand_copy gather gelu hardshrink hardsigmoid hardswish hardtanh index index_add index_copy index_reduce inverse
    isin leaky_relu lerp linalg_cholesky linalg_cholesky_ex linalg_cross linalg_det linalg_eigh linalg_eigvalsh
    linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lu linalg_lu_factor
    linalg_lu_factor_ex linalg_lu_solve linalg_multi_dot linalg_qr linalg_slogdet linalg_solve linalg_solve_ex
    linalg_svd linalg_svdvals linalg_vector_norm linear log_sigmoid log_softmax lu_solve lu_unpack matmul max min mish
    mm msort multi_margin_loss multilabel_margin_loss mv narrow_copy nll_loss nll_loss2d nll_loss_backward
    nll_loss_forward norm permute_copy qr renorm scatter scatter_add scatter_reduce select_copy select_scatter silu
    slice_copy slice_scatter soft_margin_loss softmax softplus softshrink sort split_copy split_with_sizes_copy
    squeeze_copy svd t_copy take take_along_dim topk transpose_copy tril triu unbind_copy unfold_copy unsqueeze_copy
    var_mean view_copy where
    """.split()
)
"""Operators whose ``out=`` tensors must have the results' own dtypes, beside those that have words of their own for it."""

_IN_OTHER_WORDS: Final = {
    "Found dtype {output.name} but expected {result.name}": (
        "abs absolute bitwise_not ceil clamp clamp_max clamp_min clip conj_physical fft_ifft fft_ihfft fix floor frac neg"
        " negative round sgn sign special_round trunc"
    ),
    "expected scalar_type {result.name} but found {output.name}": (
        "cummax cummin diff linalg_solve_triangular logcumsumexp native_batch_norm"
    ),
    "expected scalar type '{result.name}' but got '{output.name}' for {name} output": "mode",
    "Expected object of scalar type {result.name} but got scalar type {output.name} for argument 'out'": (
        "complex polar"
    ),
    "Expected tensor for '{name}' to have the same type as tensor for argument #2 'self'; but type "
    "torch.{output.name}Tensor does not equal torch.{result.name}Tensor": "median nanmedian",
    "output values must be of same type as input": "kthvalue",
    "Expected result to be of dtype {result.short}, but got {output.name}": "hash_tensor",
    "linalg.norm expected out tensor dtype {result.name} but got: {output.name}": "linalg_matrix_norm linalg_norm",
    "linalg.vecdot: Expected out of dtype{result.name} but found {output.name}": "linalg_vecdot",
    "multinomial expects {result.name} tensor out, got: {output.name}": "multinomial",
    "nan_to_num: dtype of out: {output.name} should be same as input: {result.name}": "nan_to_num",
    "quantile() out tensor must be same dtype as the input tensor": "nanquantile quantile",
    "torch.frexp() expects {name} to have dtype {result.short} but got {output.short}": "frexp",
    "result dtype {output.name} does not match input dtype {result.name}": "dot vdot",
    "self and mat2 must have the same dtype, but got {output.name} and {result.name}": "addbmm",
    "index_select(): self and result must have the same scalar type": "index_select",
    "masked_select(): self and result must have the same scalar type": "masked_select",
    "nonzero: Expected out tensor to have scalar type {result.name} but got scalar type {output.name}": "nonzero",
    "signbit does not support non-boolean outputs.": "signbit",
    "isposinf does not support non-boolean outputs.": "isposinf",
    "isneginf does not support non-boolean outputs.": "isneginf",
    "tensordot: Expected the output tensor to have dtype {result.name}, but got an output tensor with dtype {output.name}": (
        "inner tensordot"
    ),
    "the output given to float_power has dtype {output.name} but the operation's result requires dtype {result.name}": (
        "float_power"
    ),
    "heaviside is not yet implemented for tensors with different dtypes.": "heaviside",
    "torch.histogram: input tensor and {name} tensor should have the same dtype, but got input {result.name} and {name} "
    "{output.name}": "histogram",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {result.name} and hist "
    "{output.name}": "histc",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{result.name} and result has dtype "
    "{output.name}": "ormqr",
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether "
    "out_int32 flag is True, but we got output tensor's dtype {output.name}": "bucketize searchsorted",
}
_WORDS: Final = {name: text for text, names in _IN_OTHER_WORDS.items() for name in names.split()}

_CONVERTED_OUTPUT: Final = frozenset(
    "clamp.Tensor_out clip.Tensor_out clamp_max.Tensor_out clamp_min.Tensor_out lerp.Scalar_out"
    " max.out max.unary_out min.out min.unary_out".split()
)
"""Overloads of those operators that convert."""

ACCUMULATED_IN_OUTPUT: Final = frozenset("cumprod cumsum prod sum".split())
"""Operators that compute in the dtype of their ``out=`` tensor where no ``dtype`` is given."""

_REAL_OUTPUT: Final = frozenset("fft_hfft fft_hfft2 fft_hfftn fft_irfft fft_irfft2 fft_irfftn".split())

_C_NAMES: Final = {
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int64": "long int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def _name_in_c(dtype: ScalarType) -> str:
    return _C_NAMES.get(dtype.short, dtype.name.lower())


def check_output_dtype(result: ScalarType, output: ScalarType, out_of: str = "", name: str = "out") -> None:
    """Check that a result may be stored in a tensor of dtype ``output``, given by an in-place or ``out=`` call.

    ``out_of`` is the operator of the call, ``name`` the output's. Raises ``DtypeError``, or ``UnsupportedError`` where torch
    says that its kernel lacks the dtype, in torch's words.
    """
    if result is output:
        return
    operator = out_of.rpartition("::")[2]
    base = operator.partition(".")[0]
    if base in ("abs_", "absolute_") and output.is_complex:
        raise DtypeError("In-place abs is not supported for complex tensors.", argument="self")
    if base in ("all", "any"):
        if output not in (bool_, uint8):
            raise DtypeError(f"{base} only supports bool tensor for result, got: {output.name}", argument="out")
        return
    if base == "bernoulli":  # draws into any dtype
        return
    if base in _REAL_OUTPUT and output.is_complex:
        raise DtypeError(
            f"{base.removeprefix('fft_')} expects a floating point output tensor, but got {output.name}", argument="out"
        )
    if base in ("std", "var") and output.is_complex:
        raise UnsupportedError(f"\"std_cpu\" not implemented for '{output.name}'", argument="out")
    if operator not in _CONVERTED_OUTPUT:
        if base in _WORDS:
            raise DtypeError(_WORDS[base].format(result=result, output=output, name=name), argument=name)
        if base in EXACT_OUTPUT or base in ACCUMULATED_IN_OUTPUT:
            raise DtypeError(
                f"Expected out tensor to have dtype {_name_in_c(result)}, but got {_name_in_c(output)} instead",
                argument=name,
            )
    if not can_cast(result, output):
        raise DtypeError(f"result type {result.name} can't be cast to the desired output type {output.name}")
