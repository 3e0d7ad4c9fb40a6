"""The operators of the namespaces that dispatch_aten defines, for type checkers.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias, overload
import numpy as np
from dispatch_aten.dtypes import ScalarType
from dispatch_core import Device
from dispatch_core.operators.namespaces import OpOverloadPacket
from dispatch_core.operators.overloads import OpOverload

_Device: TypeAlias = Device | str
_DType: TypeAlias = ScalarType | type[bool] | type[int] | type[float] | type[complex]
_Number: TypeAlias = builtins.complex | np.generic

class _aten__adaptive_avg_pool2d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten__adaptive_avg_pool2d_backward(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, *, out: Any) -> Any: ...
class _aten__adaptive_avg_pool3d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten__adaptive_avg_pool3d_backward(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, *, out: Any) -> Any: ...
class _aten__conj_physical(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten__convolution(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None, stride: Sequence[builtins.int], padding: Sequence[builtins.int], dilation: Sequence[builtins.int], transposed: builtins.bool, output_padding: Sequence[builtins.int], groups: builtins.int, benchmark: builtins.bool, deterministic: builtins.bool, cudnn_enabled: builtins.bool, allow_tf32: builtins.bool) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None, stride: Sequence[builtins.int], padding: Sequence[builtins.int], dilation: Sequence[builtins.int], transposed: builtins.bool, output_padding: Sequence[builtins.int], groups: builtins.int, benchmark: builtins.bool, deterministic: builtins.bool, cudnn_enabled: builtins.bool, allow_tf32: builtins.bool, *, out: Any) -> Any: ...
class _aten__convolution_mode(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None, stride: Sequence[builtins.int], padding: str, dilation: Sequence[builtins.int], groups: builtins.int) -> Any: ...
class _aten__ctc_loss(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, log_probs: Any, targets: Any, input_lengths: Sequence[builtins.int], target_lengths: Sequence[builtins.int], blank: builtins.int = 0, zero_infinity: builtins.bool = False) -> tuple[Any, Any]: ...
class _aten__ctc_loss_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad: Any, log_probs: Any, targets: Any, input_lengths: Sequence[builtins.int], target_lengths: Sequence[builtins.int], neg_log_likelihood: Any, log_alpha: Any, blank: builtins.int, zero_infinity: builtins.bool = False) -> Any: ...
class _aten__dirichlet_grad(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, x: Any, alpha: Any, total: Any) -> Any: ...
class _aten__euclidean_dist(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, x1: Any, x2: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x1: Any, x2: Any, *, out: Any) -> Any: ...
class _aten__fake_quantize_learnable_per_channel_affine(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, scale: Any, zero_point: Any, axis: builtins.int, quant_min: builtins.int, quant_max: builtins.int, grad_factor: builtins.float = 1.0) -> Any: ...
class _aten__fake_quantize_learnable_per_channel_affine_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad: Any, self: Any, scale: Any, zero_point: Any, axis: builtins.int, quant_min: builtins.int, quant_max: builtins.int, grad_factor: builtins.float = 1.0) -> tuple[Any, Any, Any]: ...
class _aten__fake_quantize_learnable_per_tensor_affine(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, scale: Any, zero_point: Any, quant_min: builtins.int, quant_max: builtins.int, grad_factor: builtins.float = 1.0) -> Any: ...
class _aten__fake_quantize_learnable_per_tensor_affine_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad: Any, self: Any, scale: Any, zero_point: Any, quant_min: builtins.int, quant_max: builtins.int, grad_factor: builtins.float = 1.0) -> tuple[Any, Any, Any]: ...
class _aten__fake_quantize_per_tensor_affine_cachemask_tensor_qparams(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, scale: Any, zero_point: Any, fake_quant_enabled: Any, quant_min: builtins.int, quant_max: builtins.int) -> tuple[Any, Any]: ...
class _aten__fft_c2c(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int], normalization: builtins.int, forward: builtins.bool) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int], normalization: builtins.int, forward: builtins.bool, *, out: Any) -> Any: ...
class _aten__fft_c2r(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int], normalization: builtins.int, last_dim_size: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int], normalization: builtins.int, last_dim_size: builtins.int, *, out: Any) -> Any: ...
class _aten__fft_r2c(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int], normalization: builtins.int, onesided: builtins.bool) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int], normalization: builtins.int, onesided: builtins.bool, *, out: Any) -> Any: ...
class _aten__fused_rms_norm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, normalized_shape: Sequence[builtins.int], weight: Any | None, eps: builtins.float | None) -> tuple[Any, Any]: ...
class _aten__fused_rms_norm_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_out: Any, input: Any, normalized_shape: Sequence[builtins.int], rstd: Any, weight: Any | None, output_mask: builtins.bool | Sequence[builtins.bool]) -> tuple[Any, Any]: ...
class _aten__linalg_det(OpOverloadPacket):
    default: OpOverload
    result: OpOverload
    @overload
    def __call__(_packet, /, A: Any) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, *, result: Any, LU: Any, pivots: Any) -> tuple[Any, Any, Any]: ...
class _aten__linalg_eigh(OpOverloadPacket):
    default: OpOverload
    eigenvalues: OpOverload
    @overload
    def __call__(_packet, /, A: Any, UPLO: str = 'L', compute_v: builtins.bool = True) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, UPLO: str = 'L', compute_v: builtins.bool = True, *, eigenvalues: Any, eigenvectors: Any) -> tuple[Any, Any]: ...
class _aten__linalg_eigvals(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten__linalg_slogdet(OpOverloadPacket):
    default: OpOverload
    sign: OpOverload
    @overload
    def __call__(_packet, /, A: Any) -> tuple[Any, Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, *, sign: Any, logabsdet: Any, LU: Any, pivots: Any) -> tuple[Any, Any, Any, Any]: ...
class _aten__linalg_solve_ex(OpOverloadPacket):
    default: OpOverload
    result: OpOverload
    @overload
    def __call__(_packet, /, A: Any, B: Any, *, left: builtins.bool = True, check_errors: builtins.bool = False) -> tuple[Any, Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, B: Any, *, left: builtins.bool = True, check_errors: builtins.bool = False, result: Any, LU: Any, pivots: Any, info: Any) -> tuple[Any, Any, Any, Any]: ...
class _aten__linalg_svd(OpOverloadPacket):
    default: OpOverload
    U: OpOverload
    @overload
    def __call__(_packet, /, A: Any, full_matrices: builtins.bool = False, compute_uv: builtins.bool = True, *, driver: str | None = None) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, full_matrices: builtins.bool = False, compute_uv: builtins.bool = True, *, driver: str | None = None, U: Any, S: Any, Vh: Any) -> tuple[Any, Any, Any]: ...
class _aten__local_scalar_dense(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> _Number: ...
class _aten__log_softmax(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, half_to_float: builtins.bool) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, half_to_float: builtins.bool, *, out: Any) -> Any: ...
class _aten__log_softmax_backward_data(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output: Any, dim: builtins.int, input_dtype: _DType) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output: Any, dim: builtins.int, input_dtype: _DType, *, out: Any) -> Any: ...
class _aten__lu_with_info(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, pivot: builtins.bool = True, check_errors: builtins.bool = True) -> tuple[Any, Any, Any]: ...
class _aten__native_batch_norm_legit(OpOverloadPacket):
    no_stats: OpOverload
    def __call__(_packet, /, input: Any, weight: Any | None, bias: Any | None, training: builtins.bool, momentum: builtins.float, eps: builtins.float) -> tuple[Any, Any, Any]: ...
class _aten__native_batch_norm_legit_functional(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, weight: Any | None, bias: Any | None, running_mean: Any, running_var: Any, training: builtins.bool, momentum: builtins.float, eps: builtins.float) -> tuple[Any, Any, Any, Any, Any]: ...
class _aten__native_batch_norm_legit_no_training(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, weight: Any | None, bias: Any | None, running_mean: Any, running_var: Any, momentum: builtins.float, eps: builtins.float) -> tuple[Any, Any, Any]: ...
class _aten__pack_padded_sequence(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, lengths: Any, batch_first: builtins.bool) -> tuple[Any, Any]: ...
class _aten__pad_circular(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, pad: Sequence[builtins.int]) -> Any: ...
class _aten__pad_enum(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, pad: Sequence[builtins.int], mode: builtins.int, value: builtins.float | None = None) -> Any: ...
class _aten__pad_packed_sequence(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, data: Any, batch_sizes: Any, batch_first: builtins.bool, padding_value: _Number, total_length: builtins.int) -> tuple[Any, Any]: ...
class _aten__prelu_kernel(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, weight: Any) -> Any: ...
class _aten__prelu_kernel_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_output: Any, self: Any, weight: Any) -> tuple[Any, Any]: ...
class _aten__safe_softmax(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, dtype: _DType | None = None) -> Any: ...
class _aten__sample_dirichlet(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, generator: Any | None = None) -> Any: ...
class _aten__scaled_dot_product_attention_math(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, query: Any, key: Any, value: Any, attn_mask: Any | None = None, dropout_p: builtins.float = 0.0, is_causal: builtins.bool = False, dropout_mask: Any | None = None, *, scale: builtins.float | None = None, enable_gqa: builtins.bool = False) -> tuple[Any, Any]: ...
class _aten__scaled_dot_product_efficient_attention(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, query: Any, key: Any, value: Any, attn_bias: Any | None, compute_log_sumexp: builtins.bool, dropout_p: builtins.float = 0.0, is_causal: builtins.bool = False, *, scale: builtins.float | None = None) -> tuple[Any, Any, Any, Any]: ...
class _aten__scaled_dot_product_efficient_attention_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_out_: Any, query: Any, key: Any, value: Any, attn_bias: Any, out: Any, logsumexp: Any, philox_seed: Any, philox_offset: Any, dropout_p: builtins.float, grad_input_mask: builtins.bool | Sequence[builtins.bool], is_causal: builtins.bool = False, *, scale: builtins.float | None = None) -> tuple[Any, Any, Any, Any]: ...
class _aten__softmax(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, half_to_float: builtins.bool) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, half_to_float: builtins.bool, *, out: Any) -> Any: ...
class _aten__softmax_backward_data(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output: Any, dim: builtins.int, input_dtype: _DType) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output: Any, dim: builtins.int, input_dtype: _DType, *, grad_input: Any) -> Any: ...
class _aten__standard_gamma(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, generator: Any | None = None) -> Any: ...
class _aten__standard_gamma_grad(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, output: Any) -> Any: ...
class _aten__to_copy(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, non_blocking: builtins.bool = False, memory_format: builtins.int | None = None) -> Any: ...
class _aten__unique2(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False) -> tuple[Any, Any, Any]: ...
class _aten__unsafe_view(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int]) -> Any: ...
class _aten__upsample_bicubic2d_aa(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, align_corners: builtins.bool, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten__upsample_bicubic2d_aa_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten__upsample_bilinear2d_aa(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, align_corners: builtins.bool, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten__upsample_bilinear2d_aa_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten__upsample_lanczos2d_aa(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, align_corners: builtins.bool, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten__upsample_lanczos2d_aa_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten__upsample_nearest_exact1d(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten__upsample_nearest_exact1d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten__upsample_nearest_exact2d(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten__upsample_nearest_exact2d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten__upsample_nearest_exact3d(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten__upsample_nearest_exact3d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten__weight_norm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, v: Any, g: Any, dim: builtins.int = 0) -> Any: ...
class _aten_abs(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_abs_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_absolute(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_absolute_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_acos(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_acos_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_acosh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_acosh_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_adaptive_avg_pool1d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_adaptive_avg_pool2d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_adaptive_avg_pool3d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_adaptive_max_pool1d(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int]) -> tuple[Any, Any]: ...
class _aten_adaptive_max_pool2d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int]) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], *, out: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_adaptive_max_pool2d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, indices: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, indices: Any, *, grad_input: Any) -> Any: ...
class _aten_adaptive_max_pool3d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int]) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], *, out: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_adaptive_max_pool3d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, indices: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, indices: Any, *, grad_input: Any) -> Any: ...
class _aten_add(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, alpha: _Number = 1, out: Any) -> Any: ...
class _aten_add_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, alpha: _Number = 1) -> Any: ...
class _aten_addbmm(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, batch1: Any, batch2: Any, *, beta: _Number = 1, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, batch1: Any, batch2: Any, *, beta: _Number = 1, alpha: _Number = 1, out: Any) -> Any: ...
class _aten_addbmm_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, batch1: Any, batch2: Any, *, beta: _Number = 1, alpha: _Number = 1) -> Any: ...
class _aten_addcdiv(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, tensor1: Any, tensor2: Any, *, value: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, tensor1: Any, tensor2: Any, *, value: _Number = 1, out: Any) -> Any: ...
class _aten_addcdiv_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, tensor1: Any, tensor2: Any, *, value: _Number = 1) -> Any: ...
class _aten_addcmul(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, tensor1: Any, tensor2: Any, *, value: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, tensor1: Any, tensor2: Any, *, value: _Number = 1, out: Any) -> Any: ...
class _aten_addcmul_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, tensor1: Any, tensor2: Any, *, value: _Number = 1) -> Any: ...
class _aten_addmm(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, mat1: Any, mat2: Any, *, beta: _Number = 1, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, mat1: Any, mat2: Any, *, beta: _Number = 1, alpha: _Number = 1, out: Any) -> Any: ...
class _aten_addmm_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, mat1: Any, mat2: Any, *, beta: _Number = 1, alpha: _Number = 1) -> Any: ...
class _aten_addmv(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, mat: Any, vec: Any, *, beta: _Number = 1, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, mat: Any, vec: Any, *, beta: _Number = 1, alpha: _Number = 1, out: Any) -> Any: ...
class _aten_addmv_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, mat: Any, vec: Any, *, beta: _Number = 1, alpha: _Number = 1) -> Any: ...
class _aten_addr(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, vec1: Any, vec2: Any, *, beta: _Number = 1, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, vec1: Any, vec2: Any, *, beta: _Number = 1, alpha: _Number = 1, out: Any) -> Any: ...
class _aten_addr_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, vec1: Any, vec2: Any, *, beta: _Number = 1, alpha: _Number = 1) -> Any: ...
class _aten_adjoint(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_affine_grid_generator(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, theta: Any, size: Sequence[builtins.int], align_corners: builtins.bool) -> Any: ...
    @overload
    def __call__(_packet, /, theta: Any, size: Sequence[builtins.int], align_corners: builtins.bool, *, out: Any) -> Any: ...
class _aten_alias(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_alias_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_all(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    dims: OpOverload
    out: OpOverload
    dims_out: OpOverload
    all_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int] | None = None, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_allclose(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> builtins.bool: ...
class _aten_alpha_dropout(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, p: builtins.float, train: builtins.bool) -> Any: ...
class _aten_alpha_dropout_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, p: builtins.float, train: builtins.bool) -> Any: ...
class _aten_amax(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] = ..., keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] = ..., keepdim: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_amin(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] = ..., keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] = ..., keepdim: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_aminmax(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, dim: builtins.int | None = None, keepdim: builtins.bool = False, min: Any, max: Any) -> tuple[Any, Any]: ...
class _aten_angle(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_any(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    dims: OpOverload
    out: OpOverload
    dims_out: OpOverload
    all_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int] | None = None, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_arange(OpOverloadPacket):
    default: OpOverload
    start: OpOverload
    start_step: OpOverload
    start_out: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, step: _Number = 1, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, end: _Number, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, step: _Number = 1, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, end: _Number, *, out: Any) -> Any: ...
class _aten_arccos(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_arccos_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_arccosh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_arccosh_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_arcsin(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_arcsin_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_arcsinh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_arcsinh_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_arctan(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_arctan2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_arctan2_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_arctan_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_arctanh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_arctanh_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_argmax(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_argmin(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_argsort(OpOverloadPacket):
    default: OpOverload
    stable: OpOverload
    stable_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int = -1, descending: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, stable: builtins.bool, dim: builtins.int = -1, descending: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, stable: builtins.bool, dim: builtins.int = -1, descending: builtins.bool = False, out: Any) -> Any: ...
class _aten_argwhere(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_as_strided(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Any: ...
class _aten_as_strided_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Any: ...
class _aten_as_strided_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None, *, out: Any) -> Any: ...
class _aten_as_strided_scatter(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, src: Any, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, src: Any, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int | None = None, *, out: Any) -> Any: ...
class _aten_asin(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_asin_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_asinh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_asinh_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_atan(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_atan2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_atan2_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_atan_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_atanh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_atanh_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_atleast_1d(OpOverloadPacket):
    default: OpOverload
    Sequence: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> list[Any]: ...
class _aten_atleast_2d(OpOverloadPacket):
    default: OpOverload
    Sequence: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> list[Any]: ...
class _aten_atleast_3d(OpOverloadPacket):
    default: OpOverload
    Sequence: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> list[Any]: ...
class _aten_avg_pool1d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, *, out: Any) -> Any: ...
class _aten_avg_pool2d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None, *, out: Any) -> Any: ...
class _aten_avg_pool2d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], ceil_mode: builtins.bool, count_include_pad: builtins.bool, divisor_override: builtins.int | None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], ceil_mode: builtins.bool, count_include_pad: builtins.bool, divisor_override: builtins.int | None, *, grad_input: Any) -> Any: ...
class _aten_avg_pool3d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, ceil_mode: builtins.bool = False, count_include_pad: builtins.bool = True, divisor_override: builtins.int | None = None, *, out: Any) -> Any: ...
class _aten_avg_pool3d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], ceil_mode: builtins.bool, count_include_pad: builtins.bool, divisor_override: builtins.int | None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], ceil_mode: builtins.bool, count_include_pad: builtins.bool, divisor_override: builtins.int | None, *, grad_input: Any) -> Any: ...
class _aten_baddbmm(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, batch1: Any, batch2: Any, *, beta: _Number = 1, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, batch1: Any, batch2: Any, *, beta: _Number = 1, alpha: _Number = 1, out: Any) -> Any: ...
class _aten_baddbmm_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, batch1: Any, batch2: Any, *, beta: _Number = 1, alpha: _Number = 1) -> Any: ...
class _aten_bartlett_window(OpOverloadPacket):
    default: OpOverload
    periodic: OpOverload
    out: OpOverload
    periodic_out: OpOverload
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, *, out: Any) -> Any: ...
class _aten_batch_norm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, weight: Any | None, bias: Any | None, running_mean: Any | None, running_var: Any | None, training: builtins.bool, momentum: builtins.float, eps: builtins.float, cudnn_enabled: builtins.bool) -> Any: ...
class _aten_bernoulli(OpOverloadPacket):
    default: OpOverload
    p: OpOverload
    Tensor: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, p: builtins.float, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: Any, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, generator: Any | None = None, out: Any) -> Any: ...
class _aten_bernoulli_(OpOverloadPacket):
    Tensor: OpOverload
    float: OpOverload
    @overload
    def __call__(_packet, /, self: Any, p: builtins.float = 0.5, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: Any, *, generator: Any | None = None) -> Any: ...
class _aten_bilinear(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input1: Any, input2: Any, weight: Any, bias: Any | None = None) -> Any: ...
class _aten_binary_cross_entropy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None = None, reduction: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None = None, reduction: builtins.int = 1, *, out: Any) -> Any: ...
class _aten_binary_cross_entropy_with_logits(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None = None, pos_weight: Any | None = None, reduction: builtins.int = 1) -> Any: ...
class _aten_bincount(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, weights: Any | None = None, minlength: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, weights: Any | None = None, minlength: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_binomial(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, count: Any, prob: Any, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, count: Any, prob: Any, generator: Any | None = None, *, out: Any) -> Any: ...
class _aten_bitwise_and(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_Tensor: OpOverload
    Tensor_out: OpOverload
    Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_bitwise_and_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_bitwise_left_shift(OpOverloadPacket):
    Tensor: OpOverload
    Tensor_Scalar: OpOverload
    Scalar_Tensor: OpOverload
    Tensor_out: OpOverload
    Tensor_Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_bitwise_left_shift_(OpOverloadPacket):
    Tensor: OpOverload
    Tensor_Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_bitwise_not(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_bitwise_not_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_bitwise_or(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_Tensor: OpOverload
    Tensor_out: OpOverload
    Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_bitwise_or_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_bitwise_right_shift(OpOverloadPacket):
    Tensor: OpOverload
    Tensor_Scalar: OpOverload
    Scalar_Tensor: OpOverload
    Tensor_out: OpOverload
    Tensor_Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_bitwise_right_shift_(OpOverloadPacket):
    Tensor: OpOverload
    Tensor_Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_bitwise_xor(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_Tensor: OpOverload
    Tensor_out: OpOverload
    Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_bitwise_xor_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_blackman_window(OpOverloadPacket):
    default: OpOverload
    periodic: OpOverload
    out: OpOverload
    periodic_out: OpOverload
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, *, out: Any) -> Any: ...
class _aten_block_diag(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], *, out: Any) -> Any: ...
class _aten_bmm(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, mat2: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, mat2: Any, *, out: Any) -> Any: ...
class _aten_broadcast_tensors(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, tensors: Sequence[Any]) -> list[Any]: ...
class _aten_broadcast_to(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int]) -> Any: ...
class _aten_bucketize(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Tensor_out: OpOverload
    Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, boundaries: Any, *, out_int32: builtins.bool = False, right: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, boundaries: Any, *, out_int32: builtins.bool = False, right: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, boundaries: Any, *, out_int32: builtins.bool = False, right: builtins.bool = False, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, boundaries: Any, *, out_int32: builtins.bool = False, right: builtins.bool = False, out: Any) -> Any: ...
class _aten_cartesian_prod(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, tensors: Sequence[Any]) -> Any: ...
class _aten_cat(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], dim: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], dim: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_cauchy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, median: builtins.float = 0.0, sigma: builtins.float = 1.0, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, median: builtins.float = 0.0, sigma: builtins.float = 1.0, *, generator: Any | None = None, out: Any) -> Any: ...
class _aten_cauchy_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, median: builtins.float = 0.0, sigma: builtins.float = 1.0, *, generator: Any | None = None) -> Any: ...
class _aten_cdist(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, x1: Any, x2: Any, p: builtins.float = 2.0, compute_mode: builtins.int | None = None) -> Any: ...
class _aten_ceil(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_ceil_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_celu(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, alpha: _Number = 1.0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, alpha: _Number = 1.0, *, out: Any) -> Any: ...
class _aten_celu_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, alpha: _Number = 1.0) -> Any: ...
class _aten_chain_matmul(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, matrices: Sequence[Any]) -> Any: ...
    @overload
    def __call__(_packet, /, matrices: Sequence[Any], *, out: Any) -> Any: ...
class _aten_channel_shuffle(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, groups: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, groups: builtins.int, *, out: Any) -> Any: ...
class _aten_cholesky(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, upper: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, upper: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_cholesky_inverse(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, upper: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, upper: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_cholesky_solve(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, input2: Any, upper: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, input2: Any, upper: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_chunk(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, chunks: builtins.int, dim: builtins.int = 0) -> list[Any]: ...
class _aten_clamp(OpOverloadPacket):
    default: OpOverload
    Tensor: OpOverload
    out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, min: _Number | None = None, max: _Number | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: Any | None = None, max: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: _Number | None = None, max: _Number | None = None, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: Any | None = None, max: Any | None = None, *, out: Any) -> Any: ...
class _aten_clamp_(OpOverloadPacket):
    default: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, min: _Number | None = None, max: _Number | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: Any | None = None, max: Any | None = None) -> Any: ...
class _aten_clamp_max(OpOverloadPacket):
    default: OpOverload
    Tensor: OpOverload
    out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, max: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, max: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, max: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, max: Any, *, out: Any) -> Any: ...
class _aten_clamp_max_(OpOverloadPacket):
    default: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, max: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, max: Any) -> Any: ...
class _aten_clamp_min(OpOverloadPacket):
    default: OpOverload
    Tensor: OpOverload
    out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, min: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: Any, *, out: Any) -> Any: ...
class _aten_clamp_min_(OpOverloadPacket):
    default: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, min: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: Any) -> Any: ...
class _aten_clip(OpOverloadPacket):
    default: OpOverload
    Tensor: OpOverload
    out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, min: _Number | None = None, max: _Number | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: Any | None = None, max: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: _Number | None = None, max: _Number | None = None, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: Any | None = None, max: Any | None = None, *, out: Any) -> Any: ...
class _aten_clip_(OpOverloadPacket):
    default: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, min: _Number | None = None, max: _Number | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min: Any | None = None, max: Any | None = None) -> Any: ...
class _aten_clone(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, *, memory_format: builtins.int | None = None) -> Any: ...
class _aten_col2im(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_column_stack(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], *, out: Any) -> Any: ...
class _aten_combinations(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, r: builtins.int = 2, with_replacement: builtins.bool = False) -> Any: ...
class _aten_complex(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, real: Any, imag: Any) -> Any: ...
    @overload
    def __call__(_packet, /, real: Any, imag: Any, *, out: Any) -> Any: ...
class _aten_concat(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], dim: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], dim: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_concatenate(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], dim: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], dim: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_conj(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_conj_physical(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_conj_physical_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_constant_pad_nd(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, pad: Sequence[builtins.int], value: _Number = 0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, pad: Sequence[builtins.int], value: _Number = 0, *, out: Any) -> Any: ...
class _aten_contiguous(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, *, memory_format: builtins.int = 0) -> Any: ...
class _aten_conv1d(OpOverloadPacket):
    default: OpOverload
    padding: OpOverload
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: str = 'valid', dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> Any: ...
class _aten_conv2d(OpOverloadPacket):
    default: OpOverload
    padding: OpOverload
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: str = 'valid', dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> Any: ...
class _aten_conv3d(OpOverloadPacket):
    default: OpOverload
    padding: OpOverload
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: str = 'valid', dilation: builtins.int | Sequence[builtins.int] = 1, groups: builtins.int = 1) -> Any: ...
class _aten_conv_tbc(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, weight: Any, bias: Any, pad: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, weight: Any, bias: Any, pad: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_conv_tbc_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, input: Any, weight: Any, bias: Any, pad: builtins.int) -> tuple[Any, Any, Any]: ...
class _aten_conv_transpose1d(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, output_padding: builtins.int | Sequence[builtins.int] = 0, groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = 1) -> Any: ...
class _aten_conv_transpose2d(OpOverloadPacket):
    input: OpOverload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, output_padding: builtins.int | Sequence[builtins.int] = 0, groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = 1) -> Any: ...
class _aten_conv_transpose3d(OpOverloadPacket):
    input: OpOverload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None, stride: builtins.int | Sequence[builtins.int] = 1, padding: builtins.int | Sequence[builtins.int] = 0, output_padding: builtins.int | Sequence[builtins.int] = 0, groups: builtins.int = 1, dilation: builtins.int | Sequence[builtins.int] = 1) -> Any: ...
class _aten_convolution(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None, stride: Sequence[builtins.int], padding: Sequence[builtins.int], dilation: Sequence[builtins.int], transposed: builtins.bool, output_padding: Sequence[builtins.int], groups: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None, stride: Sequence[builtins.int], padding: Sequence[builtins.int], dilation: Sequence[builtins.int], transposed: builtins.bool, output_padding: Sequence[builtins.int], groups: builtins.int, *, out: Any) -> Any: ...
class _aten_convolution_backward(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, input: Any, weight: Any, bias_sizes: Sequence[builtins.int] | None, stride: Sequence[builtins.int], padding: Sequence[builtins.int], dilation: Sequence[builtins.int], transposed: builtins.bool, output_padding: Sequence[builtins.int], groups: builtins.int, output_mask: builtins.bool | Sequence[builtins.bool]) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, grad_output: Any, input: Any, weight: Any, bias_sizes: Sequence[builtins.int] | None, stride: Sequence[builtins.int], padding: Sequence[builtins.int], dilation: Sequence[builtins.int], transposed: builtins.bool, output_padding: Sequence[builtins.int], groups: builtins.int, output_mask: builtins.bool | Sequence[builtins.bool], *, out0: Any, out1: Any, out2: Any) -> tuple[Any, Any, Any]: ...
class _aten_copy(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, src: Any, non_blocking: builtins.bool = False) -> Any: ...
class _aten_copy_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, src: Any, non_blocking: builtins.bool = False) -> Any: ...
class _aten_copysign(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    out: OpOverload
    Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_copysign_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_corrcoef(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_cos(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_cos_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_cosh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_cosh_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_cosine_embedding_loss(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input1: Any, input2: Any, target: Any, margin: builtins.float = 0.0, reduction: builtins.int = 1) -> Any: ...
class _aten_cosine_similarity(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, x1: Any, x2: Any, dim: builtins.int = 1, eps: builtins.float = 1e-08) -> Any: ...
class _aten_count_nonzero(OpOverloadPacket):
    default: OpOverload
    dim_IntList: OpOverload
    dim_IntList_out: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | None = None, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_cov(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, *, correction: builtins.int = 1, fweights: Any | None = None, aweights: Any | None = None) -> Any: ...
class _aten_cross(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, dim: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, dim: builtins.int | None = None, *, out: Any) -> Any: ...
class _aten_cross_entropy_loss(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None = None, reduction: builtins.int = 1, ignore_index: builtins.int = -100, label_smoothing: builtins.float = 0.0) -> Any: ...
class _aten_ctc_loss(OpOverloadPacket):
    IntList: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, log_probs: Any, targets: Any, input_lengths: Sequence[builtins.int], target_lengths: Sequence[builtins.int], blank: builtins.int = 0, reduction: builtins.int = 1, zero_infinity: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: builtins.int = 0, reduction: builtins.int = 1, zero_infinity: builtins.bool = False) -> Any: ...
class _aten_cummax(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, values: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_cummaxmin_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad: Any, input: Any, indices: Any, dim: builtins.int) -> Any: ...
class _aten_cummin(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, values: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_cumprod(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, dtype: _DType | None = None, out: Any) -> Any: ...
class _aten_cumprod_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, dtype: _DType | None = None) -> Any: ...
class _aten_cumsum(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, dtype: _DType | None = None, out: Any) -> Any: ...
class _aten_cumsum_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, dtype: _DType | None = None) -> Any: ...
class _aten_cumulative_trapezoid(OpOverloadPacket):
    x: OpOverload
    dx: OpOverload
    @overload
    def __call__(_packet, /, y: Any, *, dx: _Number = 1, dim: builtins.int = -1) -> Any: ...
    @overload
    def __call__(_packet, /, y: Any, x: Any, *, dim: builtins.int = -1) -> Any: ...
class _aten_deg2rad(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_deg2rad_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_det(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_detach(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_detach_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_diag(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, diagonal: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, diagonal: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_diag_embed(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1, *, out: Any) -> Any: ...
class _aten_diagflat(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, offset: builtins.int = 0) -> Any: ...
class _aten_diagonal(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Any: ...
class _aten_diagonal_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_output: Any, input_sizes: Sequence[builtins.int], offset: builtins.int, dim1: builtins.int, dim2: builtins.int) -> Any: ...
class _aten_diagonal_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1, *, out: Any) -> Any: ...
class _aten_diagonal_scatter(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, src: Any, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, src: Any, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1, *, out: Any) -> Any: ...
class _aten_diff(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int = 1, dim: builtins.int = -1, prepend: Any | None = None, append: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int = 1, dim: builtins.int = -1, prepend: Any | None = None, append: Any | None = None, *, out: Any) -> Any: ...
class _aten_digamma(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_digamma_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_dist(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, p: _Number = 2) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, p: _Number = 2, *, out: Any) -> Any: ...
class _aten_div(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Tensor_mode: OpOverload
    Scalar_mode: OpOverload
    out: OpOverload
    out_mode: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, rounding_mode: str | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, rounding_mode: str | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, rounding_mode: str | None, out: Any) -> Any: ...
class _aten_div_(OpOverloadPacket):
    Tensor: OpOverload
    Tensor_mode: OpOverload
    Scalar: OpOverload
    Scalar_mode: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, rounding_mode: str | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, rounding_mode: str | None) -> Any: ...
class _aten_divide(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Tensor_mode: OpOverload
    Scalar_mode: OpOverload
    out: OpOverload
    out_mode: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, rounding_mode: str | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, rounding_mode: str | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, rounding_mode: str | None, out: Any) -> Any: ...
class _aten_divide_(OpOverloadPacket):
    Tensor: OpOverload
    Tensor_mode: OpOverload
    Scalar_mode: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, rounding_mode: str | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, rounding_mode: str | None) -> Any: ...
class _aten_dot(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, tensor: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, tensor: Any, *, out: Any) -> Any: ...
class _aten_dropout(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, p: builtins.float, train: builtins.bool) -> Any: ...
class _aten_dropout_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, p: builtins.float, train: builtins.bool) -> Any: ...
class _aten_dsplit(OpOverloadPacket):
    int: OpOverload
    array: OpOverload
    @overload
    def __call__(_packet, /, self: Any, sections: builtins.int) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, indices: Sequence[builtins.int]) -> list[Any]: ...
class _aten_dstack(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], *, out: Any) -> Any: ...
class _aten_einsum(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, equation: str, tensors: Sequence[Any], *, path: Sequence[builtins.int] | None = None) -> Any: ...
class _aten_elu(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, alpha: _Number = 1, scale: _Number = 1, input_scale: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, alpha: _Number = 1, scale: _Number = 1, input_scale: _Number = 1, *, out: Any) -> Any: ...
class _aten_elu_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, alpha: _Number = 1, scale: _Number = 1, input_scale: _Number = 1) -> Any: ...
class _aten_elu_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, alpha: _Number, scale: _Number, input_scale: _Number, is_result: builtins.bool, self_or_result: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, alpha: _Number, scale: _Number, input_scale: _Number, is_result: builtins.bool, self_or_result: Any, *, grad_input: Any) -> Any: ...
class _aten_embedding(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, weight: Any, indices: Any, padding_idx: builtins.int = -1, scale_grad_by_freq: builtins.bool = False, sparse: builtins.bool = False) -> Any: ...
class _aten_embedding_bag(OpOverloadPacket):
    default: OpOverload
    padding_idx: OpOverload
    @overload
    def __call__(_packet, /, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: builtins.bool, mode: builtins.int, sparse: builtins.bool, per_sample_weights: Any | None, include_last_offset: builtins.bool, padding_idx: builtins.int | None) -> tuple[Any, Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: builtins.bool = False, mode: builtins.int = 0, sparse: builtins.bool = False, per_sample_weights: Any | None = None, include_last_offset: builtins.bool = False) -> tuple[Any, Any, Any, Any]: ...
class _aten_embedding_dense_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_output: Any, indices: Any, num_weights: builtins.int, padding_idx: builtins.int, scale_grad_by_freq: builtins.bool) -> Any: ...
class _aten_embedding_renorm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, indices: Any, max_norm: builtins.float, norm_type: builtins.float) -> Any: ...
class _aten_embedding_renorm_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, indices: Any, max_norm: builtins.float, norm_type: builtins.float) -> Any: ...
class _aten_empty(OpOverloadPacket):
    memory_format: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, memory_format: builtins.int | None = None, out: Any) -> Any: ...
class _aten_empty_like(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
class _aten_empty_permuted(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, size: Sequence[builtins.int], physical_layout: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
class _aten_empty_strided(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, size: Sequence[builtins.int], stride: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
class _aten_eq(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_eq_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_equal(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> builtins.bool: ...
class _aten_erf(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_erf_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_erfc(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_erfc_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_erfinv(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_erfinv_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_exp(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_exp2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_exp2_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_exp_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_expand(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], *, implicit: builtins.bool = False) -> Any: ...
class _aten_expand_as(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_expand_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], *, implicit: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], *, implicit: builtins.bool = False, out: Any) -> Any: ...
class _aten_expm1(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_expm1_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_exponential(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, lambd: builtins.float = 1.0, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, lambd: builtins.float = 1.0, *, generator: Any | None = None, out: Any) -> Any: ...
class _aten_exponential_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, lambd: builtins.float = 1.0, *, generator: Any | None = None) -> Any: ...
class _aten_eye(OpOverloadPacket):
    default: OpOverload
    m: OpOverload
    out: OpOverload
    m_out: OpOverload
    @overload
    def __call__(_packet, /, n: builtins.int, m: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, n: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, n: builtins.int, m: builtins.int, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, n: builtins.int, *, out: Any) -> Any: ...
class _aten_fake_quantize_per_channel_affine(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, scale: Any, zero_point: Any, axis: builtins.int, quant_min: builtins.int, quant_max: builtins.int) -> Any: ...
class _aten_fake_quantize_per_channel_affine_cachemask(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, scale: Any, zero_point: Any, axis: builtins.int, quant_min: builtins.int, quant_max: builtins.int) -> tuple[Any, Any]: ...
class _aten_fake_quantize_per_channel_affine_cachemask_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad: Any, mask: Any) -> Any: ...
class _aten_fake_quantize_per_tensor_affine(OpOverloadPacket):
    default: OpOverload
    tensor_qparams: OpOverload
    @overload
    def __call__(_packet, /, self: Any, scale: builtins.float, zero_point: builtins.int, quant_min: builtins.int, quant_max: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, scale: Any, zero_point: Any, quant_min: builtins.int, quant_max: builtins.int) -> Any: ...
class _aten_fake_quantize_per_tensor_affine_cachemask(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, scale: builtins.float, zero_point: builtins.int, quant_min: builtins.int, quant_max: builtins.int) -> tuple[Any, Any]: ...
class _aten_fake_quantize_per_tensor_affine_cachemask_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad: Any, mask: Any) -> Any: ...
class _aten_feature_alpha_dropout(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, p: builtins.float, train: builtins.bool) -> Any: ...
class _aten_feature_alpha_dropout_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, p: builtins.float, train: builtins.bool) -> Any: ...
class _aten_feature_dropout(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, p: builtins.float, train: builtins.bool) -> Any: ...
class _aten_feature_dropout_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, p: builtins.float, train: builtins.bool) -> Any: ...
class _aten_fft_fft(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_fft2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_fftn(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_fftshift(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None) -> Any: ...
class _aten_fft_hfft(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_hfft2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_hfftn(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_ifft(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_ifft2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_ifftn(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_ifftshift(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None) -> Any: ...
class _aten_fft_ihfft(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_ihfft2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_ihfftn(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_irfft(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_irfft2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_irfftn(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_rfft(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int | None = None, dim: builtins.int = -1, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_rfft2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] = ..., norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fft_rfftn(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, s: builtins.int | Sequence[builtins.int] | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, norm: str | None = None, *, out: Any) -> Any: ...
class _aten_fill(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, value: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, value: Any) -> Any: ...
class _aten_fill_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, value: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, value: Any) -> Any: ...
class _aten_fill_diagonal_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, fill_value: _Number, wrap: builtins.bool = False) -> Any: ...
class _aten_fix(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_fix_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_flatten(OpOverloadPacket):
    using_ints: OpOverload
    def __call__(_packet, /, self: Any, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Any: ...
class _aten_flip(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dims: Sequence[builtins.int]) -> Any: ...
class _aten_fliplr(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_flipud(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_float_power(OpOverloadPacket):
    Tensor_Tensor: OpOverload
    Tensor_Scalar: OpOverload
    Scalar: OpOverload
    Tensor_Tensor_out: OpOverload
    Scalar_out: OpOverload
    Tensor_Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, exponent: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, exponent: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, exponent: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, exponent: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, exponent: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, exponent: _Number, *, out: Any) -> Any: ...
class _aten_float_power_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, exponent: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, exponent: _Number) -> Any: ...
class _aten_floor(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_floor_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_floor_divide(OpOverloadPacket):
    default: OpOverload
    Scalar: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_floor_divide_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_fmax(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_fmin(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_fmod(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Tensor_out: OpOverload
    Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_fmod_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_frac(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_frac_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_fractional_max_pool2d(OpOverloadPacket):
    default: OpOverload
    output: OpOverload
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], output_size: builtins.int | Sequence[builtins.int], random_samples: Any) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], output_size: builtins.int | Sequence[builtins.int], random_samples: Any, *, output: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_fractional_max_pool2d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], output_size: builtins.int | Sequence[builtins.int], indices: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], output_size: builtins.int | Sequence[builtins.int], indices: Any, *, grad_input: Any) -> Any: ...
class _aten_fractional_max_pool3d(OpOverloadPacket):
    default: OpOverload
    output: OpOverload
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], output_size: builtins.int | Sequence[builtins.int], random_samples: Any) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], output_size: builtins.int | Sequence[builtins.int], random_samples: Any, *, output: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_fractional_max_pool3d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], output_size: builtins.int | Sequence[builtins.int], indices: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], output_size: builtins.int | Sequence[builtins.int], indices: Any, *, grad_input: Any) -> Any: ...
class _aten_frexp(OpOverloadPacket):
    Tensor: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, mantissa: Any, exponent: Any) -> tuple[Any, Any]: ...
class _aten_frobenius_norm(OpOverloadPacket):
    dim: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_full(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], fill_value: _Number, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], fill_value: _Number, *, out: Any) -> Any: ...
class _aten_full_like(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, fill_value: _Number, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
class _aten_gather(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, *, sparse_grad: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, *, sparse_grad: builtins.bool = False, out: Any) -> Any: ...
class _aten_gcd(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_gcd_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_ge(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_ge_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_gelu(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, approximate: str = 'none') -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, approximate: str = 'none', out: Any) -> Any: ...
class _aten_gelu_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, *, approximate: str = 'none') -> Any: ...
class _aten_gelu_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, *, approximate: str = 'none') -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, *, approximate: str = 'none', grad_input: Any) -> Any: ...
class _aten_geometric(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, p: builtins.float, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: builtins.float, *, generator: Any | None = None, out: Any) -> Any: ...
class _aten_geometric_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, p: builtins.float, *, generator: Any | None = None) -> Any: ...
class _aten_geqrf(OpOverloadPacket):
    default: OpOverload
    a: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, a: Any, tau: Any) -> tuple[Any, Any]: ...
class _aten_ger(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, vec2: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, vec2: Any, *, out: Any) -> Any: ...
class _aten_glu(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int = -1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int = -1, *, out: Any) -> Any: ...
class _aten_glu_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, dim: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, dim: builtins.int, *, grad_input: Any) -> Any: ...
class _aten_gradient(OpOverloadPacket):
    scalarint: OpOverload
    scalararray: OpOverload
    array: OpOverload
    scalarrayint: OpOverload
    scalarrayarray: OpOverload
    tensorarrayint: OpOverload
    tensorarray: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, spacing: _Number | None = None, dim: builtins.int | None = None, edge_order: builtins.int = 1) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, spacing: Sequence[_Number], dim: builtins.int | None = None, edge_order: builtins.int = 1) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, spacing: Sequence[Any], dim: builtins.int | None = None, edge_order: builtins.int = 1) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, dim: Sequence[builtins.int], edge_order: builtins.int = 1) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, spacing: _Number, dim: Sequence[builtins.int], edge_order: builtins.int = 1) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, spacing: Sequence[_Number], dim: Sequence[builtins.int], edge_order: builtins.int = 1) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, spacing: Sequence[Any], dim: Sequence[builtins.int], edge_order: builtins.int = 1) -> list[Any]: ...
class _aten_greater(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_greater_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_greater_equal(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_greater_equal_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_grid_sampler(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, grid: Any, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Any: ...
class _aten_grid_sampler_2d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, input: Any, grid: Any, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, grid: Any, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool, *, out: Any) -> Any: ...
class _aten_grid_sampler_2d_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_output: Any, input: Any, grid: Any, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool, output_mask: builtins.bool | Sequence[builtins.bool]) -> tuple[Any, Any]: ...
class _aten_grid_sampler_3d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, input: Any, grid: Any, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, grid: Any, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool, *, out: Any) -> Any: ...
class _aten_grid_sampler_3d_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_output: Any, input: Any, grid: Any, interpolation_mode: builtins.int, padding_mode: builtins.int, align_corners: builtins.bool, output_mask: builtins.bool | Sequence[builtins.bool]) -> tuple[Any, Any]: ...
class _aten_group_norm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, num_groups: builtins.int, weight: Any | None = None, bias: Any | None = None, eps: builtins.float = 1e-05, cudnn_enabled: builtins.bool = True) -> Any: ...
class _aten_gru(OpOverloadPacket):
    input: OpOverload
    data: OpOverload
    @overload
    def __call__(_packet, /, input: Any, hx: Any, params: Sequence[Any], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool, batch_first: builtins.bool) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, data: Any, batch_sizes: Any, hx: Any, params: Sequence[Any], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool) -> tuple[Any, Any]: ...
class _aten_gru_cell(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any | None = None, b_hh: Any | None = None) -> Any: ...
class _aten_gt(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_gt_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_hamming_window(OpOverloadPacket):
    default: OpOverload
    periodic: OpOverload
    periodic_alpha: OpOverload
    periodic_alpha_beta: OpOverload
    out: OpOverload
    periodic_out: OpOverload
    periodic_alpha_out: OpOverload
    periodic_alpha_beta_out: OpOverload
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, alpha: builtins.float, beta: builtins.float, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, alpha: builtins.float, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, alpha: builtins.float, beta: builtins.float, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, alpha: builtins.float, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, *, out: Any) -> Any: ...
class _aten_hann_window(OpOverloadPacket):
    default: OpOverload
    periodic: OpOverload
    out: OpOverload
    periodic_out: OpOverload
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, *, out: Any) -> Any: ...
class _aten_hardshrink(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, lambd: _Number = 0.5) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, lambd: _Number = 0.5, *, out: Any) -> Any: ...
class _aten_hardshrink_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_out: Any, self: Any, lambd: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, grad_out: Any, self: Any, lambd: _Number, *, grad_input: Any) -> Any: ...
class _aten_hardsigmoid(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_hardsigmoid_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_hardsigmoid_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, *, grad_input: Any) -> Any: ...
class _aten_hardswish(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_hardswish_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_hardswish_backward(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, *, out: Any) -> Any: ...
class _aten_hardtanh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, min_val: _Number = -1, max_val: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, min_val: _Number = -1, max_val: _Number = 1, *, out: Any) -> Any: ...
class _aten_hardtanh_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, min_val: _Number = -1, max_val: _Number = 1) -> Any: ...
class _aten_hardtanh_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, min_val: _Number, max_val: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, min_val: _Number, max_val: _Number, *, grad_input: Any) -> Any: ...
class _aten_hash_tensor(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] = ..., *, keepdim: builtins.bool = False, mode: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] = ..., *, keepdim: builtins.bool = False, mode: builtins.int = 0, out: Any) -> Any: ...
class _aten_heaviside(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, values: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, values: Any, *, out: Any) -> Any: ...
class _aten_heaviside_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, values: Any) -> Any: ...
class _aten_hinge_embedding_loss(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, target: Any, margin: builtins.float = 1.0, reduction: builtins.int = 1) -> Any: ...
class _aten_histc(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, bins: builtins.int = 100, min: _Number = 0, max: _Number = 0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, bins: builtins.int = 100, min: _Number = 0, max: _Number = 0, *, out: Any) -> Any: ...
class _aten_histogram(OpOverloadPacket):
    bins_tensor: OpOverload
    bin_ct: OpOverload
    bins_tensor_out: OpOverload
    bin_ct_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, bins: builtins.int = 100, *, range: Sequence[builtins.float] | None = None, weight: Any | None = None, density: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, bins: Any, *, weight: Any | None = None, density: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, bins: builtins.int = 100, *, range: Sequence[builtins.float] | None = None, weight: Any | None = None, density: builtins.bool = False, hist: Any, bin_edges: Any) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, bins: Any, *, weight: Any | None = None, density: builtins.bool = False, hist: Any, bin_edges: Any) -> tuple[Any, Any]: ...
class _aten_histogramdd(OpOverloadPacket):
    default: OpOverload
    int_bins: OpOverload
    TensorList_bins: OpOverload
    @overload
    def __call__(_packet, /, self: Any, bins: Sequence[builtins.int], range: Sequence[builtins.float] | None = None, weight: Any | None = None, density: builtins.bool = False) -> tuple[Any, list[Any]]: ...
    @overload
    def __call__(_packet, /, self: Any, bins: builtins.int, range: Sequence[builtins.float] | None = None, weight: Any | None = None, density: builtins.bool = False) -> tuple[Any, list[Any]]: ...
    @overload
    def __call__(_packet, /, self: Any, bins: Sequence[Any], range: Sequence[builtins.float] | None = None, weight: Any | None = None, density: builtins.bool = False) -> tuple[Any, list[Any]]: ...
class _aten_hsplit(OpOverloadPacket):
    int: OpOverload
    array: OpOverload
    @overload
    def __call__(_packet, /, self: Any, sections: builtins.int) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, indices: Sequence[builtins.int]) -> list[Any]: ...
class _aten_hstack(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], *, out: Any) -> Any: ...
class _aten_huber_loss(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1, delta: builtins.float = 1.0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1, delta: builtins.float = 1.0, *, out: Any) -> Any: ...
class _aten_hypot(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_hypot_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_i0(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_i0_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_igamma(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_igamma_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_igammac(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_igammac_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_im2col(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_imag(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_index(OpOverloadPacket):
    Tensor: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, indices: Sequence[Any | None]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, indices: Sequence[Any | None], *, out: Any) -> Any: ...
class _aten_index_add(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, source: Any, *, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, source: Any, *, alpha: _Number = 1, out: Any) -> Any: ...
class _aten_index_add_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, source: Any, *, alpha: _Number = 1) -> Any: ...
class _aten_index_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, source: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, source: Any, *, out: Any) -> Any: ...
class _aten_index_copy_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, source: Any) -> Any: ...
class _aten_index_fill(OpOverloadPacket):
    int_Tensor: OpOverload
    int_Scalar: OpOverload
    int_Scalar_out: OpOverload
    int_Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: Any, *, out: Any) -> Any: ...
class _aten_index_fill_(OpOverloadPacket):
    int_Tensor: OpOverload
    int_Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: _Number) -> Any: ...
class _aten_index_put(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, indices: Sequence[Any | None], values: Any, accumulate: builtins.bool = False) -> Any: ...
class _aten_index_put_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, indices: Sequence[Any | None], values: Any, accumulate: builtins.bool = False) -> Any: ...
class _aten_index_reduce(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, source: Any, reduce: str, *, include_self: builtins.bool = True) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, source: Any, reduce: str, *, include_self: builtins.bool = True, out: Any) -> Any: ...
class _aten_index_reduce_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, source: Any, reduce: str, *, include_self: builtins.bool = True) -> Any: ...
class _aten_index_select(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, *, out: Any) -> Any: ...
class _aten_inner(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_instance_norm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, weight: Any | None, bias: Any | None, running_mean: Any | None, running_var: Any | None, use_input_stats: builtins.bool, momentum: builtins.float, eps: builtins.float, cudnn_enabled: builtins.bool) -> Any: ...
class _aten_inverse(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_is_conj(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> builtins.bool: ...
class _aten_is_neg(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> builtins.bool: ...
class _aten_is_nonzero(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> builtins.bool: ...
class _aten_is_same_size(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> builtins.bool: ...
class _aten_is_set_to(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, tensor: Any) -> builtins.bool: ...
class _aten_isclose(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False) -> Any: ...
class _aten_isfinite(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_isin(OpOverloadPacket):
    Tensor_Tensor: OpOverload
    Tensor_Scalar: OpOverload
    Scalar_Tensor: OpOverload
    Tensor_Tensor_out: OpOverload
    Tensor_Scalar_out: OpOverload
    Scalar_Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, elements: Any, test_elements: Any, *, assume_unique: builtins.bool = False, invert: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, elements: Any, test_element: _Number, *, assume_unique: builtins.bool = False, invert: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, element: _Number, test_elements: Any, *, assume_unique: builtins.bool = False, invert: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, elements: Any, test_elements: Any, *, assume_unique: builtins.bool = False, invert: builtins.bool = False, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, elements: Any, test_element: _Number, *, assume_unique: builtins.bool = False, invert: builtins.bool = False, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, element: _Number, test_elements: Any, *, assume_unique: builtins.bool = False, invert: builtins.bool = False, out: Any) -> Any: ...
class _aten_isinf(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_isnan(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_isneginf(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_isposinf(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_isreal(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_istft(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Any | None = None, center: builtins.bool = True, normalized: builtins.bool = False, onesided: builtins.bool | None = None, length: builtins.int | None = None, return_complex: builtins.bool = False) -> Any: ...
class _aten_item(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> _Number: ...
class _aten_kaiser_window(OpOverloadPacket):
    default: OpOverload
    periodic: OpOverload
    beta: OpOverload
    out: OpOverload
    periodic_out: OpOverload
    beta_out: OpOverload
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, beta: builtins.float, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, beta: builtins.float, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, periodic: builtins.bool, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, window_length: builtins.int, *, out: Any) -> Any: ...
class _aten_kl_div(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1, *, log_target: builtins.bool = False) -> Any: ...
class _aten_kron(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_kthvalue(OpOverloadPacket):
    default: OpOverload
    values: OpOverload
    @overload
    def __call__(_packet, /, self: Any, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, k: builtins.int, dim: builtins.int = -1, keepdim: builtins.bool = False, *, values: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_l1_loss(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1) -> Any: ...
class _aten_layer_norm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, normalized_shape: Sequence[builtins.int], weight: Any | None = None, bias: Any | None = None, eps: builtins.float = 1e-05, cudnn_enable: builtins.bool = True) -> Any: ...
class _aten_lcm(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_lcm_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_ldexp(OpOverloadPacket):
    Tensor: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_ldexp_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_le(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_le_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_leaky_relu(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, negative_slope: _Number = 0.01) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, negative_slope: _Number = 0.01, *, out: Any) -> Any: ...
class _aten_leaky_relu_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, negative_slope: _Number = 0.01) -> Any: ...
class _aten_leaky_relu_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, negative_slope: _Number, self_is_result: builtins.bool) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, negative_slope: _Number, self_is_result: builtins.bool, *, grad_input: Any) -> Any: ...
class _aten_lerp(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, end: Any, weight: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, end: Any, weight: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, end: Any, weight: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, end: Any, weight: Any, *, out: Any) -> Any: ...
class _aten_lerp_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, end: Any, weight: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, end: Any, weight: Any) -> Any: ...
class _aten_less(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_less_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_less_equal(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_less_equal_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_lgamma(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_lgamma_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_linalg_cholesky(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, upper: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, upper: builtins.bool = False, out: Any) -> Any: ...
class _aten_linalg_cholesky_ex(OpOverloadPacket):
    default: OpOverload
    L: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, upper: builtins.bool = False, check_errors: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, upper: builtins.bool = False, check_errors: builtins.bool = False, L: Any, info: Any) -> tuple[Any, Any]: ...
class _aten_linalg_cond(OpOverloadPacket):
    default: OpOverload
    p_str: OpOverload
    out: OpOverload
    p_str_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, p: _Number | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: str) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: _Number | None = None, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: str, *, out: Any) -> Any: ...
class _aten_linalg_cross(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, dim: builtins.int = -1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, dim: builtins.int = -1, out: Any) -> Any: ...
class _aten_linalg_det(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, A: Any) -> Any: ...
    @overload
    def __call__(_packet, /, A: Any, *, out: Any) -> Any: ...
class _aten_linalg_diagonal(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, A: Any, *, offset: builtins.int = 0, dim1: builtins.int = -2, dim2: builtins.int = -1) -> Any: ...
class _aten_linalg_eig(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, eigenvalues: Any, eigenvectors: Any) -> tuple[Any, Any]: ...
class _aten_linalg_eigh(OpOverloadPacket):
    default: OpOverload
    eigvals: OpOverload
    @overload
    def __call__(_packet, /, self: Any, UPLO: str = 'L') -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, UPLO: str = 'L', *, eigvals: Any, eigvecs: Any) -> tuple[Any, Any]: ...
class _aten_linalg_eigvals(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_linalg_eigvalsh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, UPLO: str = 'L') -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, UPLO: str = 'L', *, out: Any) -> Any: ...
class _aten_linalg_householder_product(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, input: Any, tau: Any) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, tau: Any, *, out: Any) -> Any: ...
class _aten_linalg_inv(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, A: Any) -> Any: ...
    @overload
    def __call__(_packet, /, A: Any, *, out: Any) -> Any: ...
class _aten_linalg_inv_ex(OpOverloadPacket):
    default: OpOverload
    inverse: OpOverload
    @overload
    def __call__(_packet, /, A: Any, *, check_errors: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, *, check_errors: builtins.bool = False, inverse: Any, info: Any) -> tuple[Any, Any]: ...
class _aten_linalg_ldl_factor(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, hermitian: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, hermitian: builtins.bool = False, LD: Any, pivots: Any) -> tuple[Any, Any]: ...
class _aten_linalg_ldl_factor_ex(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, hermitian: builtins.bool = False, check_errors: builtins.bool = False) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, hermitian: builtins.bool = False, check_errors: builtins.bool = False, LD: Any, pivots: Any, info: Any) -> tuple[Any, Any, Any]: ...
class _aten_linalg_ldl_solve(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, LD: Any, pivots: Any, B: Any, *, hermitian: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, LD: Any, pivots: Any, B: Any, *, hermitian: builtins.bool = False, out: Any) -> Any: ...
class _aten_linalg_lstsq(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, b: Any, rcond: builtins.float | None = None, *, driver: str | None = None) -> tuple[Any, Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, b: Any, rcond: builtins.float | None = None, *, driver: str | None = None, solution: Any, residuals: Any, rank: Any, singular_values: Any) -> tuple[Any, Any, Any, Any]: ...
class _aten_linalg_lu(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, A: Any, *, pivot: builtins.bool = True) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, *, pivot: builtins.bool = True, P: Any, L: Any, U: Any) -> tuple[Any, Any, Any]: ...
class _aten_linalg_lu_factor(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, A: Any, *, pivot: builtins.bool = True) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, *, pivot: builtins.bool = True, LU: Any, pivots: Any) -> tuple[Any, Any]: ...
class _aten_linalg_lu_factor_ex(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, A: Any, *, pivot: builtins.bool = True, check_errors: builtins.bool = False) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, *, pivot: builtins.bool = True, check_errors: builtins.bool = False, LU: Any, pivots: Any, info: Any) -> tuple[Any, Any, Any]: ...
class _aten_linalg_lu_solve(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, LU: Any, pivots: Any, B: Any, *, left: builtins.bool = True, adjoint: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, LU: Any, pivots: Any, B: Any, *, left: builtins.bool = True, adjoint: builtins.bool = False, out: Any) -> Any: ...
class _aten_linalg_matmul(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_linalg_matrix_exp(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_linalg_matrix_norm(OpOverloadPacket):
    default: OpOverload
    str_ord: OpOverload
    out: OpOverload
    str_ord_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, ord: str = 'fro', dim: Sequence[builtins.int] = ..., keepdim: builtins.bool = False, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, ord: _Number, dim: Sequence[builtins.int] = ..., keepdim: builtins.bool = False, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, ord: str = 'fro', dim: Sequence[builtins.int] = ..., keepdim: builtins.bool = False, *, dtype: _DType | None = None, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, ord: _Number, dim: Sequence[builtins.int] = ..., keepdim: builtins.bool = False, *, dtype: _DType | None = None, out: Any) -> Any: ...
class _aten_linalg_matrix_power(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int, *, out: Any) -> Any: ...
class _aten_linalg_matrix_rank(OpOverloadPacket):
    default: OpOverload
    tol_tensor: OpOverload
    atol_rtol_tensor: OpOverload
    atol_rtol_float: OpOverload
    atol_rtol_tensor_out: OpOverload
    atol_rtol_float_out: OpOverload
    out: OpOverload
    out_tol_tensor: OpOverload
    @overload
    def __call__(_packet, /, input: Any, *, atol: Any | None = None, rtol: Any | None = None, hermitian: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, atol: builtins.float | None = None, rtol: builtins.float | None = None, hermitian: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, tol: builtins.float, hermitian: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, tol: Any, hermitian: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, *, atol: Any | None = None, rtol: Any | None = None, hermitian: builtins.bool = False, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, atol: builtins.float | None = None, rtol: builtins.float | None = None, hermitian: builtins.bool = False, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, tol: builtins.float, hermitian: builtins.bool = False, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, tol: Any, hermitian: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_linalg_multi_dot(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], *, out: Any) -> Any: ...
class _aten_linalg_norm(OpOverloadPacket):
    default: OpOverload
    ord_str: OpOverload
    out: OpOverload
    ord_str_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, ord: _Number | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, ord: str, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, ord: _Number | None = None, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, ord: str, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None, out: Any) -> Any: ...
class _aten_linalg_pinv(OpOverloadPacket):
    default: OpOverload
    atol_rtol_float: OpOverload
    atol_rtol_tensor: OpOverload
    rcond_tensor: OpOverload
    atol_rtol_tensor_out: OpOverload
    atol_rtol_float_out: OpOverload
    out: OpOverload
    out_rcond_tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, atol: builtins.float | None = None, rtol: builtins.float | None = None, hermitian: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, atol: Any | None = None, rtol: Any | None = None, hermitian: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, rcond: builtins.float, hermitian: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, rcond: Any, hermitian: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, atol: Any | None = None, rtol: Any | None = None, hermitian: builtins.bool = False, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, atol: builtins.float | None = None, rtol: builtins.float | None = None, hermitian: builtins.bool = False, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, rcond: builtins.float, hermitian: builtins.bool = False, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, rcond: Any, hermitian: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_linalg_qr(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, A: Any, mode: str = 'reduced') -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, mode: str = 'reduced', *, Q: Any, R: Any) -> tuple[Any, Any]: ...
class _aten_linalg_slogdet(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, A: Any) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, *, sign: Any, logabsdet: Any) -> tuple[Any, Any]: ...
class _aten_linalg_solve(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, A: Any, B: Any, *, left: builtins.bool = True) -> Any: ...
    @overload
    def __call__(_packet, /, A: Any, B: Any, *, left: builtins.bool = True, out: Any) -> Any: ...
class _aten_linalg_solve_ex(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, A: Any, B: Any, *, left: builtins.bool = True, check_errors: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, B: Any, *, left: builtins.bool = True, check_errors: builtins.bool = False, result: Any, info: Any) -> tuple[Any, Any]: ...
class _aten_linalg_solve_triangular(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, B: Any, *, upper: builtins.bool, left: builtins.bool = True, unitriangular: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, B: Any, *, upper: builtins.bool, left: builtins.bool = True, unitriangular: builtins.bool = False, out: Any) -> Any: ...
class _aten_linalg_svd(OpOverloadPacket):
    default: OpOverload
    U: OpOverload
    @overload
    def __call__(_packet, /, A: Any, full_matrices: builtins.bool = True, *, driver: str | None = None) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, A: Any, full_matrices: builtins.bool = True, *, driver: str | None = None, U: Any, S: Any, Vh: Any) -> tuple[Any, Any, Any]: ...
class _aten_linalg_svdvals(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, A: Any, *, driver: str | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, A: Any, *, driver: str | None = None, out: Any) -> Any: ...
class _aten_linalg_tensorinv(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, ind: builtins.int = 2) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, ind: builtins.int = 2, *, out: Any) -> Any: ...
class _aten_linalg_tensorsolve(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, dims: Sequence[builtins.int] | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, dims: Sequence[builtins.int] | None = None, *, out: Any) -> Any: ...
class _aten_linalg_vander(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, x: Any, *, N: builtins.int | None = None) -> Any: ...
class _aten_linalg_vecdot(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, y: Any, *, dim: builtins.int = -1) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, y: Any, *, dim: builtins.int = -1, out: Any) -> Any: ...
class _aten_linalg_vector_norm(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, ord: _Number = 2, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, ord: _Number = 2, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None, out: Any) -> Any: ...
class _aten_linear(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, weight: Any, bias: Any | None = None, *, out: Any) -> Any: ...
class _aten_linspace(OpOverloadPacket):
    default: OpOverload
    Tensor_Tensor: OpOverload
    Tensor_Scalar: OpOverload
    Scalar_Tensor: OpOverload
    out: OpOverload
    Tensor_Tensor_out: OpOverload
    Tensor_Scalar_out: OpOverload
    Scalar_Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, steps: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: Any, end: Any, steps: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: Any, end: _Number, steps: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: Any, steps: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, steps: builtins.int, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, start: Any, end: Any, steps: builtins.int, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, start: Any, end: _Number, steps: builtins.int, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: Any, steps: builtins.int, *, out: Any) -> Any: ...
class _aten_log(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_log10(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_log10_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_log1p(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_log1p_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_log2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_log2_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_log_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_log_normal(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, mean: builtins.float = 1.0, std: builtins.float = 2.0, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, mean: builtins.float = 1.0, std: builtins.float = 2.0, *, generator: Any | None = None, out: Any) -> Any: ...
class _aten_log_normal_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, mean: builtins.float = 1.0, std: builtins.float = 2.0, *, generator: Any | None = None) -> Any: ...
class _aten_log_sigmoid(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_log_sigmoid_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, buffer: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, buffer: Any, *, grad_input: Any) -> Any: ...
class _aten_log_sigmoid_forward(OpOverloadPacket):
    default: OpOverload
    output: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, output: Any, buffer: Any) -> tuple[Any, Any]: ...
class _aten_log_softmax(OpOverloadPacket):
    int: OpOverload
    int_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, dtype: _DType | None = None, *, out: Any) -> Any: ...
class _aten_logaddexp(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_logaddexp2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_logcumsumexp(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, out: Any) -> Any: ...
class _aten_logdet(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_logical_and(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_logical_and_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_logical_not(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_logical_not_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_logical_or(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_logical_or_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_logical_xor(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_logical_xor_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_logit(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, eps: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, eps: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten_logit_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, eps: builtins.float | None = None) -> Any: ...
class _aten_logit_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, eps: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, eps: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten_logspace(OpOverloadPacket):
    Tensor_Tensor: OpOverload
    Tensor_Scalar: OpOverload
    Scalar_Tensor: OpOverload
    default: OpOverload
    out: OpOverload
    Tensor_Tensor_out: OpOverload
    Tensor_Scalar_out: OpOverload
    Scalar_Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, start: Any, end: Any, steps: builtins.int, base: builtins.float = 10.0, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: Any, end: _Number, steps: builtins.int, base: builtins.float = 10.0, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: Any, steps: builtins.int, base: builtins.float = 10.0, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, steps: builtins.int, base: builtins.float = 10.0, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, steps: builtins.int, base: builtins.float = 10.0, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, start: Any, end: Any, steps: builtins.int, base: builtins.float = 10.0, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, start: Any, end: _Number, steps: builtins.int, base: builtins.float = 10.0, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: Any, steps: builtins.int, base: builtins.float = 10.0, *, out: Any) -> Any: ...
class _aten_logsumexp(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_lstm(OpOverloadPacket):
    input: OpOverload
    data: OpOverload
    @overload
    def __call__(_packet, /, input: Any, hx: Sequence[Any], params: Sequence[Any], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool, batch_first: builtins.bool) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, data: Any, batch_sizes: Any, hx: Sequence[Any], params: Sequence[Any], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool) -> tuple[Any, Any, Any]: ...
class _aten_lstm_cell(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, hx: Sequence[Any], w_ih: Any, w_hh: Any, b_ih: Any | None = None, b_hh: Any | None = None) -> tuple[Any, Any]: ...
class _aten_lt(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_lt_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_lu_solve(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, LU_data: Any, LU_pivots: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, LU_data: Any, LU_pivots: Any, *, out: Any) -> Any: ...
class _aten_lu_unpack(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, LU_data: Any, LU_pivots: Any, unpack_data: builtins.bool = True, unpack_pivots: builtins.bool = True) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, LU_data: Any, LU_pivots: Any, unpack_data: builtins.bool = True, unpack_pivots: builtins.bool = True, *, P: Any, L: Any, U: Any) -> tuple[Any, Any, Any]: ...
class _aten_mH(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_mT(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_margin_ranking_loss(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input1: Any, input2: Any, target: Any, margin: builtins.float = 0.0, reduction: builtins.int = 1) -> Any: ...
class _aten_masked_fill(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, mask: Any, value: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, mask: Any, value: Any) -> Any: ...
class _aten_masked_fill_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, mask: Any, value: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, mask: Any, value: Any) -> Any: ...
class _aten_masked_scatter(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, mask: Any, source: Any) -> Any: ...
class _aten_masked_scatter_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, mask: Any, source: Any) -> Any: ...
class _aten_masked_select(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, mask: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, mask: Any, *, out: Any) -> Any: ...
class _aten_matmul(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_matrix_H(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_matrix_exp(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_matrix_power(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, n: builtins.int, *, out: Any) -> Any: ...
class _aten_max(OpOverloadPacket):
    default: OpOverload
    other: OpOverload
    dim: OpOverload
    out: OpOverload
    dim_max: OpOverload
    unary_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False, *, max: Any, max_values: Any) -> tuple[Any, Any]: ...
class _aten_max_pool1d(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False) -> Any: ...
class _aten_max_pool1d_with_indices(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False) -> tuple[Any, Any]: ...
class _aten_max_pool2d(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False) -> Any: ...
class _aten_max_pool2d_with_indices(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, *, out: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_max_pool2d_with_indices_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int], ceil_mode: builtins.bool, indices: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int], ceil_mode: builtins.bool, indices: Any, *, grad_input: Any) -> Any: ...
class _aten_max_pool3d(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False) -> Any: ...
class _aten_max_pool3d_with_indices(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] = ..., padding: builtins.int | Sequence[builtins.int] = 0, dilation: builtins.int | Sequence[builtins.int] = 1, ceil_mode: builtins.bool = False, *, out: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_max_pool3d_with_indices_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int], ceil_mode: builtins.bool, indices: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int], ceil_mode: builtins.bool, indices: Any, *, grad_input: Any) -> Any: ...
class _aten_max_unpool2d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, indices: Any, output_size: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, indices: Any, output_size: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_max_unpool3d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, indices: Any, output_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, indices: Any, output_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_maximum(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_mean(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    out: OpOverload
    dtype_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = False, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = False, *, dtype: _DType | None = None, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None, out: Any) -> Any: ...
class _aten_median(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    dim_values: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False, *, values: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_meshgrid(OpOverloadPacket):
    default: OpOverload
    indexing: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> list[Any]: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], *, indexing: str) -> list[Any]: ...
class _aten_min(OpOverloadPacket):
    default: OpOverload
    other: OpOverload
    dim: OpOverload
    out: OpOverload
    dim_min: OpOverload
    unary_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False, *, min: Any, min_indices: Any) -> tuple[Any, Any]: ...
class _aten_minimum(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_mish(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_mish_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_mish_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_output: Any, self: Any) -> Any: ...
class _aten_mkldnn_rnn_layer(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, weight0: Any, weight1: Any, weight2: Any, weight3: Any, hx_: Any, cx_: Any, reverse: builtins.bool, batch_sizes: Sequence[builtins.int], mode: builtins.int, hidden_size: builtins.int, num_layers: builtins.int, has_biases: builtins.bool, bidirectional: builtins.bool, batch_first: builtins.bool, train: builtins.bool) -> tuple[Any, Any, Any, Any]: ...
class _aten_mkldnn_rnn_layer_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, weight1: Any, weight2: Any, weight3: Any, weight4: Any, hx_: Any, cx_tmp: Any, output: Any, hy_: Any, cy_: Any, grad_output: Any | None, grad_hy: Any | None, grad_cy: Any | None, reverse: builtins.bool, mode: builtins.int, hidden_size: builtins.int, num_layers: builtins.int, has_biases: builtins.bool, train: builtins.bool, bidirectional: builtins.bool, batch_sizes: Sequence[builtins.int], batch_first: builtins.bool, workspace: Any) -> tuple[Any, Any, Any, Any, Any, Any, Any]: ...
class _aten_mm(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, mat2: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, mat2: Any, *, out: Any) -> Any: ...
class _aten_mode(OpOverloadPacket):
    default: OpOverload
    values: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int = -1, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int = -1, keepdim: builtins.bool = False, *, values: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_moveaxis(OpOverloadPacket):
    intlist: OpOverload
    int: OpOverload
    @overload
    def __call__(_packet, /, self: Any, source: Sequence[builtins.int], destination: Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, source: builtins.int, destination: builtins.int) -> Any: ...
class _aten_movedim(OpOverloadPacket):
    int: OpOverload
    intlist: OpOverload
    @overload
    def __call__(_packet, /, self: Any, source: builtins.int, destination: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, source: Sequence[builtins.int], destination: Sequence[builtins.int]) -> Any: ...
class _aten_mse_loss(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1, *, out: Any) -> Any: ...
class _aten_mse_loss_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, target: Any, reduction: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, target: Any, reduction: builtins.int, *, grad_input: Any) -> Any: ...
class _aten_msort(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_mul(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_mul_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_multi_margin_loss(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, target: Any, p: _Number = 1, margin: _Number = 1, weight: Any | None = None, reduction: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, target: Any, p: _Number = 1, margin: _Number = 1, weight: Any | None = None, reduction: builtins.int = 1, *, out: Any) -> Any: ...
class _aten_multilabel_margin_loss(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1, *, out: Any) -> Any: ...
class _aten_multinomial(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Any | None = None, out: Any) -> Any: ...
class _aten_multiply(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_multiply_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_mv(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, vec: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, vec: Any, *, out: Any) -> Any: ...
class _aten_mvlgamma(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, p: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: builtins.int, *, out: Any) -> Any: ...
class _aten_mvlgamma_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, p: builtins.int) -> Any: ...
class _aten_nan_to_num(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten_nan_to_num_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, nan: builtins.float | None = None, posinf: builtins.float | None = None, neginf: builtins.float | None = None) -> Any: ...
class _aten_nanmean(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None, out: Any) -> Any: ...
class _aten_nanmedian(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    dim_values: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False, *, values: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_nanquantile(OpOverloadPacket):
    default: OpOverload
    scalar: OpOverload
    out: OpOverload
    scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, q: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear') -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, q: builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear') -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, q: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear', out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, q: builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear', out: Any) -> Any: ...
class _aten_nansum(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, keepdim: builtins.bool = False, *, dtype: _DType | None = None, out: Any) -> Any: ...
class _aten_narrow(OpOverloadPacket):
    Tensor: OpOverload
    default: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, start: Any, length: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, start: builtins.int, length: builtins.int) -> Any: ...
class _aten_narrow_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, start: builtins.int, length: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, start: builtins.int, length: builtins.int, *, out: Any) -> Any: ...
class _aten_native_batch_norm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, weight: Any | None, bias: Any | None, running_mean: Any | None, running_var: Any | None, training: builtins.bool, momentum: builtins.float, eps: builtins.float) -> tuple[Any, Any, Any]: ...
class _aten_native_batch_norm_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_out: Any, input: Any, weight: Any | None, running_mean: Any | None, running_var: Any | None, save_mean: Any | None, save_invstd: Any | None, train: builtins.bool, eps: builtins.float, output_mask: builtins.bool | Sequence[builtins.bool]) -> tuple[Any, Any, Any]: ...
class _aten_native_channel_shuffle(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, groups: builtins.int) -> Any: ...
class _aten_native_dropout(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, p: builtins.float, train: builtins.bool | None) -> tuple[Any, Any]: ...
class _aten_native_dropout_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_output: Any, mask: Any, scale: builtins.float) -> Any: ...
class _aten_native_group_norm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, weight: Any | None, bias: Any | None, N: builtins.int, C: builtins.int, HxW: builtins.int, group: builtins.int, eps: builtins.float) -> tuple[Any, Any, Any]: ...
class _aten_native_group_norm_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any | None, N: builtins.int, C: builtins.int, HxW: builtins.int, group: builtins.int, output_mask: builtins.bool | Sequence[builtins.bool]) -> tuple[Any, Any, Any]: ...
class _aten_native_layer_norm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, normalized_shape: Sequence[builtins.int], weight: Any | None, bias: Any | None, eps: builtins.float) -> tuple[Any, Any, Any]: ...
class _aten_native_layer_norm_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_out: Any, input: Any, normalized_shape: Sequence[builtins.int], mean: Any, rstd: Any, weight: Any | None, bias: Any | None, output_mask: builtins.bool | Sequence[builtins.bool]) -> tuple[Any, Any, Any]: ...
class _aten_ne(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_ne_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_neg(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_neg_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_negative(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_negative_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_new_empty(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
class _aten_new_empty_strided(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], stride: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
class _aten_new_full(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], fill_value: _Number, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
class _aten_new_ones(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
class _aten_new_zeros(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
class _aten_nextafter(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_nextafter_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_nll_loss(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None = None, reduction: builtins.int = 1, ignore_index: builtins.int = -100) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None = None, reduction: builtins.int = 1, ignore_index: builtins.int = -100, *, out: Any) -> Any: ...
class _aten_nll_loss2d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None = None, reduction: builtins.int = 1, ignore_index: builtins.int = -100) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None = None, reduction: builtins.int = 1, ignore_index: builtins.int = -100, *, out: Any) -> Any: ...
class _aten_nll_loss_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, target: Any, weight: Any | None, reduction: builtins.int, ignore_index: builtins.int, total_weight: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, target: Any, weight: Any | None, reduction: builtins.int, ignore_index: builtins.int, total_weight: Any, *, grad_input: Any) -> Any: ...
class _aten_nll_loss_forward(OpOverloadPacket):
    default: OpOverload
    output: OpOverload
    @overload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None, reduction: builtins.int, ignore_index: builtins.int) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None, reduction: builtins.int, ignore_index: builtins.int, *, output: Any, total_weight: Any) -> tuple[Any, Any]: ...
class _aten_nll_loss_nd(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, target: Any, weight: Any | None = None, reduction: builtins.int = 1, ignore_index: builtins.int = -100) -> Any: ...
class _aten_nonzero(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_nonzero_numpy(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> list[Any]: ...
class _aten_nonzero_static(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, size: builtins.int, fill_value: builtins.int = -1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, size: builtins.int, fill_value: builtins.int = -1, out: Any) -> Any: ...
class _aten_norm(OpOverloadPacket):
    Scalar: OpOverload
    ScalarOpt_dim: OpOverload
    ScalarOpt_dim_dtype: OpOverload
    ScalarOpt_dtype: OpOverload
    dtype_out: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, p: _Number | None, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: _Number = 2) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: _Number | None, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: _Number | None, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool, *, dtype: _DType) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: _Number | None, *, dtype: _DType) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: _Number | None, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool, *, dtype: _DType, out: Any) -> Any: ...
class _aten_norm_except_dim(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, v: Any, pow: builtins.int = 2, dim: builtins.int = 0) -> Any: ...
class _aten_normal(OpOverloadPacket):
    Tensor_float: OpOverload
    float_Tensor: OpOverload
    Tensor_Tensor: OpOverload
    float_float: OpOverload
    Tensor_float_out: OpOverload
    float_Tensor_out: OpOverload
    Tensor_Tensor_out: OpOverload
    float_float_out: OpOverload
    @overload
    def __call__(_packet, /, mean: builtins.float, std: builtins.float, size: Sequence[builtins.int], *, generator: Any | None = None, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, mean: Any, std: builtins.float = 1.0, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, mean: builtins.float, std: Any, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, mean: Any, std: Any, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, mean: builtins.float, std: builtins.float, size: Sequence[builtins.int], *, generator: Any | None = None, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, mean: Any, std: builtins.float = 1.0, *, generator: Any | None = None, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, mean: builtins.float, std: Any, *, generator: Any | None = None, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, mean: Any, std: Any, *, generator: Any | None = None, out: Any) -> Any: ...
class _aten_normal_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, mean: builtins.float = 0.0, std: builtins.float = 1.0, *, generator: Any | None = None) -> Any: ...
class _aten_normal_functional(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, mean: builtins.float = 0.0, std: builtins.float = 1.0, *, generator: Any | None = None) -> Any: ...
class _aten_not_equal(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_out: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_not_equal_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_nuclear_norm(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    out: OpOverload
    dim_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, keepdim: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_numpy_T(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_one_hot(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, num_classes: builtins.int = -1) -> Any: ...
class _aten_ones(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_ones_like(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
class _aten_orgqr(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, input2: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, input2: Any, *, out: Any) -> Any: ...
class _aten_ormqr(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, input2: Any, input3: Any, left: builtins.bool = True, transpose: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, input2: Any, input3: Any, left: builtins.bool = True, transpose: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_outer(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, vec2: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, vec2: Any, *, out: Any) -> Any: ...
class _aten_pad(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, pad: Sequence[builtins.int], mode: str = 'constant', value: builtins.float | None = None) -> Any: ...
class _aten_pad_sequence(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, sequences: Sequence[Any], batch_first: builtins.bool = False, padding_value: builtins.float = 0.0, padding_side: str = 'right') -> Any: ...
class _aten_pairwise_distance(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, x1: Any, x2: Any, p: builtins.float = 2.0, eps: builtins.float = 1e-06, keepdim: builtins.bool = False) -> Any: ...
class _aten_pdist(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, p: builtins.float = 2.0) -> Any: ...
class _aten_permute(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dims: Sequence[builtins.int]) -> Any: ...
class _aten_permute_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dims: Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dims: Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_pinverse(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, rcond: builtins.float = 1e-15) -> Any: ...
class _aten_pixel_shuffle(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, upscale_factor: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, upscale_factor: builtins.int, *, out: Any) -> Any: ...
class _aten_pixel_unshuffle(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, downscale_factor: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, downscale_factor: builtins.int, *, out: Any) -> Any: ...
class _aten_poisson(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, generator: Any | None = None, *, out: Any) -> Any: ...
class _aten_poisson_nll_loss(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, target: Any, log_input: builtins.bool, full: builtins.bool, eps: builtins.float, reduction: builtins.int) -> Any: ...
class _aten_polar(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, abs: Any, angle: Any) -> Any: ...
    @overload
    def __call__(_packet, /, abs: Any, angle: Any, *, out: Any) -> Any: ...
class _aten_polygamma(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, n: builtins.int, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, n: builtins.int, self: Any, *, out: Any) -> Any: ...
class _aten_polygamma_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, n: builtins.int) -> Any: ...
class _aten_positive(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_pow(OpOverloadPacket):
    Tensor_Tensor: OpOverload
    Tensor_Scalar: OpOverload
    Scalar: OpOverload
    Tensor_Tensor_out: OpOverload
    Scalar_out: OpOverload
    Tensor_Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, exponent: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, exponent: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, exponent: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, exponent: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, exponent: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, exponent: _Number, *, out: Any) -> Any: ...
class _aten_pow_(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, exponent: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, exponent: Any) -> Any: ...
class _aten_prelu(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, weight: Any) -> Any: ...
class _aten_prod(OpOverloadPacket):
    default: OpOverload
    dim_int: OpOverload
    int_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, keepdim: builtins.bool = False, *, dtype: _DType | None = None, out: Any) -> Any: ...
class _aten_put(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, index: Any, source: Any, accumulate: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, index: Any, source: Any, accumulate: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_put_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, index: Any, source: Any, accumulate: builtins.bool = False) -> Any: ...
class _aten_qr(OpOverloadPacket):
    default: OpOverload
    Q: OpOverload
    @overload
    def __call__(_packet, /, self: Any, some: builtins.bool = True) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, some: builtins.bool = True, *, Q: Any, R: Any) -> tuple[Any, Any]: ...
class _aten_quantile(OpOverloadPacket):
    default: OpOverload
    scalar: OpOverload
    out: OpOverload
    scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, q: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear') -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, q: builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear') -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, q: Any, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear', out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, q: builtins.float, dim: builtins.int | None = None, keepdim: builtins.bool = False, *, interpolation: str = 'linear', out: Any) -> Any: ...
class _aten_rad2deg(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_rad2deg_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_rand(OpOverloadPacket):
    default: OpOverload
    generator: OpOverload
    out: OpOverload
    generator_out: OpOverload
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, generator: Any | None, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, generator: Any | None, out: Any) -> Any: ...
class _aten_rand_like(OpOverloadPacket):
    default: OpOverload
    generator: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, generator: Any | None, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
class _aten_randint(OpOverloadPacket):
    default: OpOverload
    generator: OpOverload
    low: OpOverload
    low_generator: OpOverload
    out: OpOverload
    generator_out: OpOverload
    low_out: OpOverload
    low_generator_out: OpOverload
    @overload
    def __call__(_packet, /, low: builtins.int, high: builtins.int, size: Sequence[builtins.int], *, dtype: _DType | None = ..., layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, high: builtins.int, size: Sequence[builtins.int], *, dtype: _DType | None = ..., layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, low: builtins.int, high: builtins.int, size: Sequence[builtins.int], *, generator: Any | None, dtype: _DType | None = ..., layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, high: builtins.int, size: Sequence[builtins.int], *, generator: Any | None, dtype: _DType | None = ..., layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, low: builtins.int, high: builtins.int, size: Sequence[builtins.int], *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, high: builtins.int, size: Sequence[builtins.int], *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, low: builtins.int, high: builtins.int, size: Sequence[builtins.int], *, generator: Any | None, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, high: builtins.int, size: Sequence[builtins.int], *, generator: Any | None, out: Any) -> Any: ...
class _aten_randint_like(OpOverloadPacket):
    default: OpOverload
    low_dtype: OpOverload
    generator: OpOverload
    low_generator_dtype: OpOverload
    @overload
    def __call__(_packet, /, self: Any, low: builtins.int, high: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, high: builtins.int, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, low: builtins.int, high: builtins.int, *, generator: Any | None, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, high: builtins.int, *, generator: Any | None, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
class _aten_randn(OpOverloadPacket):
    default: OpOverload
    generator: OpOverload
    out: OpOverload
    generator_out: OpOverload
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, generator: Any | None, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, generator: Any | None, out: Any) -> Any: ...
class _aten_randn_like(OpOverloadPacket):
    default: OpOverload
    generator: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, generator: Any | None, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
class _aten_random(OpOverloadPacket):
    to: OpOverload
    default: OpOverload
    from_out: OpOverload
    to_out: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, from_: builtins.int, to: builtins.int | None, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, to: builtins.int, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, from_: builtins.int, to: builtins.int | None, *, generator: Any | None = None, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, to: builtins.int, *, generator: Any | None = None, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, generator: Any | None = None, out: Any) -> Any: ...
class _aten_random_(OpOverloadPacket):
    to: OpOverload
    default: OpOverload
    @overload
    def __call__(_packet, /, self: Any, from_: builtins.int, to: builtins.int | None, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, to: builtins.int, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, generator: Any | None = None) -> Any: ...
class _aten_randperm(OpOverloadPacket):
    default: OpOverload
    generator: OpOverload
    out: OpOverload
    generator_out: OpOverload
    @overload
    def __call__(_packet, /, n: builtins.int, *, dtype: _DType | None = ..., layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, n: builtins.int, *, generator: Any | None, dtype: _DType | None = ..., layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, n: builtins.int, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, n: builtins.int, *, generator: Any | None, out: Any) -> Any: ...
class _aten_range(OpOverloadPacket):
    step: OpOverload
    default: OpOverload
    out: OpOverload
    out_: OpOverload
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, step: _Number = 1, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, step: _Number = 1, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, start: _Number, end: _Number, *, out: Any) -> Any: ...
class _aten_ravel(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_real(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_reciprocal(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_reciprocal_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_reflection_pad1d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_reflection_pad1d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int], *, grad_input: Any) -> Any: ...
class _aten_reflection_pad2d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_reflection_pad2d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int], *, grad_input: Any) -> Any: ...
class _aten_reflection_pad3d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_reflection_pad3d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int], *, grad_input: Any) -> Any: ...
class _aten_relu(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_relu6(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_relu6_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_relu_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_remainder(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Scalar_Tensor: OpOverload
    Tensor_out: OpOverload
    Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_remainder_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_renorm(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, p: _Number, dim: builtins.int, maxnorm: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: _Number, dim: builtins.int, maxnorm: _Number, *, out: Any) -> Any: ...
class _aten_renorm_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, p: _Number, dim: builtins.int, maxnorm: _Number) -> Any: ...
class _aten_repeat(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, repeats: Sequence[builtins.int]) -> Any: ...
class _aten_repeat_interleave(OpOverloadPacket):
    self_Tensor: OpOverload
    self_int: OpOverload
    Tensor: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, repeats: Any, dim: builtins.int | None = None, *, output_size: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, repeats: builtins.int, dim: builtins.int | None = None, *, output_size: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, repeats: Any, *, output_size: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, repeats: Any, *, output_size: builtins.int | None = None, out: Any) -> Any: ...
class _aten_replication_pad1d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_replication_pad1d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int], *, grad_input: Any) -> Any: ...
class _aten_replication_pad2d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_replication_pad2d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int], *, grad_input: Any) -> Any: ...
class _aten_replication_pad3d(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, padding: builtins.int | Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_replication_pad3d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, padding: builtins.int | Sequence[builtins.int], *, grad_input: Any) -> Any: ...
class _aten_reshape(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, shape: Sequence[builtins.int]) -> Any: ...
class _aten_reshape_as(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_resize_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], *, memory_format: builtins.int | None = None) -> Any: ...
class _aten_resize_as_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, the_template: Any, *, memory_format: builtins.int | None = None) -> Any: ...
class _aten_resolve_conj(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_resolve_neg(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_rms_norm(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, normalized_shape: Sequence[builtins.int], weight: Any | None = None, eps: builtins.float | None = None) -> Any: ...
class _aten_rnn_relu(OpOverloadPacket):
    input: OpOverload
    data: OpOverload
    @overload
    def __call__(_packet, /, input: Any, hx: Any, params: Sequence[Any], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool, batch_first: builtins.bool) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, data: Any, batch_sizes: Any, hx: Any, params: Sequence[Any], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool) -> tuple[Any, Any]: ...
class _aten_rnn_relu_cell(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any | None = None, b_hh: Any | None = None) -> Any: ...
class _aten_rnn_tanh(OpOverloadPacket):
    input: OpOverload
    data: OpOverload
    @overload
    def __call__(_packet, /, input: Any, hx: Any, params: Sequence[Any], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool, batch_first: builtins.bool) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, data: Any, batch_sizes: Any, hx: Any, params: Sequence[Any], has_biases: builtins.bool, num_layers: builtins.int, dropout: builtins.float, train: builtins.bool, bidirectional: builtins.bool) -> tuple[Any, Any]: ...
class _aten_rnn_tanh_cell(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any | None = None, b_hh: Any | None = None) -> Any: ...
class _aten_roll(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] = ...) -> Any: ...
class _aten_rot90(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, k: builtins.int = 1, dims: Sequence[builtins.int] = ...) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, k: builtins.int = 1, dims: Sequence[builtins.int] = ..., *, out: Any) -> Any: ...
class _aten_round(OpOverloadPacket):
    default: OpOverload
    decimals: OpOverload
    out: OpOverload
    decimals_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, decimals: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, decimals: builtins.int, out: Any) -> Any: ...
class _aten_round_(OpOverloadPacket):
    default: OpOverload
    decimals: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, decimals: builtins.int) -> Any: ...
class _aten_row_stack(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], *, out: Any) -> Any: ...
class _aten_rrelu(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, lower: _Number = 0.125, upper: _Number = 0.3333333333333333, training: builtins.bool = False, generator: Any | None = None) -> Any: ...
class _aten_rrelu_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, lower: _Number = 0.125, upper: _Number = 0.3333333333333333, training: builtins.bool = False, generator: Any | None = None) -> Any: ...
class _aten_rrelu_with_noise_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_output: Any, self: Any, noise: Any, lower: _Number, upper: _Number, training: builtins.bool, self_is_result: builtins.bool) -> Any: ...
class _aten_rrelu_with_noise_functional(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, noise: Any, lower: _Number = 0.125, upper: _Number = 0.3333333333333333, training: builtins.bool = False, generator: Any | None = None) -> tuple[Any, Any]: ...
class _aten_rsqrt(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_rsqrt_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_rsub(OpOverloadPacket):
    Scalar: OpOverload
    Tensor: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: _Number, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, alpha: _Number = 1) -> Any: ...
class _aten_scalar_tensor(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, s: _Number, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
class _aten_scaled_dot_product_attention(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, query: Any, key: Any, value: Any, attn_mask: Any | None = None, dropout_p: builtins.float = 0.0, is_causal: builtins.bool = False, *, scale: builtins.float | None = None, enable_gqa: builtins.bool = False) -> Any: ...
class _aten_scatter(OpOverloadPacket):
    value: OpOverload
    src: OpOverload
    reduce: OpOverload
    value_reduce: OpOverload
    src_out: OpOverload
    value_out: OpOverload
    reduce_out: OpOverload
    value_reduce_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any, *, reduce: str) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: _Number, *, reduce: str) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: _Number, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any, *, reduce: str, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: _Number, *, reduce: str, out: Any) -> Any: ...
class _aten_scatter_(OpOverloadPacket):
    src: OpOverload
    value: OpOverload
    reduce: OpOverload
    value_reduce: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any, *, reduce: str) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, value: _Number, *, reduce: str) -> Any: ...
class _aten_scatter_add(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any, *, out: Any) -> Any: ...
class _aten_scatter_add_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any) -> Any: ...
class _aten_scatter_reduce(OpOverloadPacket):
    two: OpOverload
    two_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any, reduce: str, *, include_self: builtins.bool = True) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any, reduce: str, *, include_self: builtins.bool = True, out: Any) -> Any: ...
class _aten_scatter_reduce_(OpOverloadPacket):
    two: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: Any, src: Any, reduce: str, *, include_self: builtins.bool = True) -> Any: ...
class _aten_searchsorted(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    Tensor_out: OpOverload
    Scalar_out: OpOverload
    @overload
    def __call__(_packet, /, sorted_sequence: Any, self: Any, *, out_int32: builtins.bool = False, right: builtins.bool = False, side: str | None = None, sorter: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, sorted_sequence: Any, self: _Number, *, out_int32: builtins.bool = False, right: builtins.bool = False, side: str | None = None, sorter: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, sorted_sequence: Any, self: Any, *, out_int32: builtins.bool = False, right: builtins.bool = False, side: str | None = None, sorter: Any | None = None, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, sorted_sequence: Any, self: _Number, *, out_int32: builtins.bool = False, right: builtins.bool = False, side: str | None = None, sorter: Any | None = None, out: Any) -> Any: ...
class _aten_segment_reduce(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, data: Any, reduce: str, *, lengths: Any | None = None, indices: Any | None = None, offsets: Any | None = None, axis: builtins.int = 0, unsafe: builtins.bool = False, initial: _Number | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, data: Any, reduce: str, *, lengths: Any | None = None, indices: Any | None = None, offsets: Any | None = None, axis: builtins.int = 0, unsafe: builtins.bool = False, initial: _Number | None = None, out: Any) -> Any: ...
class _aten_select(OpOverloadPacket):
    int: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: builtins.int) -> Any: ...
class _aten_select_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_output: Any, input_sizes: Sequence[builtins.int], dim: builtins.int, index: builtins.int) -> Any: ...
class _aten_select_copy(OpOverloadPacket):
    int: OpOverload
    int_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, index: builtins.int, *, out: Any) -> Any: ...
class _aten_select_scatter(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, src: Any, dim: builtins.int, index: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, src: Any, dim: builtins.int, index: builtins.int, *, out: Any) -> Any: ...
class _aten_selu(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_selu_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_set_(OpOverloadPacket):
    source_Tensor: OpOverload
    default: OpOverload
    source_Tensor_storage_offset: OpOverload
    @overload
    def __call__(_packet, /, self: Any, source: Any, storage_offset: builtins.int, size: Sequence[builtins.int], stride: Sequence[builtins.int] = ...) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, source: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_sgn(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_sgn_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_sigmoid(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_sigmoid_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_sigmoid_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output: Any, *, grad_input: Any) -> Any: ...
class _aten_sign(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_sign_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_signbit(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_silu(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_silu_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_silu_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, *, grad_input: Any) -> Any: ...
class _aten_sin(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_sin_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_sinc(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_sinc_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_sinh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_sinh_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_slice(OpOverloadPacket):
    Tensor: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1) -> Any: ...
class _aten_slice_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_output: Any, input_sizes: Sequence[builtins.int], dim: builtins.int, start: builtins.int, end: builtins.int, step: builtins.int) -> Any: ...
class _aten_slice_copy(OpOverloadPacket):
    Tensor: OpOverload
    Tensor_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1, *, out: Any) -> Any: ...
class _aten_slice_inverse(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, src: Any, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1) -> Any: ...
class _aten_slice_scatter(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, src: Any, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, src: Any, dim: builtins.int = 0, start: builtins.int | None = None, end: builtins.int | None = None, step: builtins.int = 1, *, out: Any) -> Any: ...
class _aten_slogdet(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, sign: Any, logabsdet: Any) -> tuple[Any, Any]: ...
class _aten_smooth_l1_loss(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1, beta: builtins.float = 1.0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1, beta: builtins.float = 1.0, *, out: Any) -> Any: ...
class _aten_smooth_l1_loss_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, target: Any, reduction: builtins.int, beta: builtins.float) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, target: Any, reduction: builtins.int, beta: builtins.float, *, grad_input: Any) -> Any: ...
class _aten_soft_margin_loss(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, target: Any, reduction: builtins.int = 1, *, out: Any) -> Any: ...
class _aten_softmax(OpOverloadPacket):
    int: OpOverload
    int_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, dtype: _DType | None = None, *, out: Any) -> Any: ...
class _aten_softplus(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, beta: _Number = 1, threshold: _Number = 20) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, beta: _Number = 1, threshold: _Number = 20, *, out: Any) -> Any: ...
class _aten_softplus_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, beta: _Number, threshold: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, beta: _Number, threshold: _Number, *, grad_input: Any) -> Any: ...
class _aten_softshrink(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, lambd: _Number = 0.5) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, lambd: _Number = 0.5, *, out: Any) -> Any: ...
class _aten_softshrink_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, lambd: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, lambd: _Number, *, grad_input: Any) -> Any: ...
class _aten_sort(OpOverloadPacket):
    default: OpOverload
    stable: OpOverload
    values_stable: OpOverload
    values: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int = -1, descending: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, stable: builtins.bool | None, dim: builtins.int = -1, descending: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int = -1, descending: builtins.bool = False, *, values: Any, indices: Any) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, *, stable: builtins.bool | None, dim: builtins.int = -1, descending: builtins.bool = False, values: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_special_airy_ai(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, x: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, *, out: Any) -> Any: ...
class _aten_special_bessel_j0(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_bessel_j1(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_bessel_y0(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_bessel_y1(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_chebyshev_polynomial_t(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_chebyshev_polynomial_u(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_chebyshev_polynomial_v(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_chebyshev_polynomial_w(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_digamma(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_entr(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_erf(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_erfc(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_erfcx(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_erfinv(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_exp2(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_expit(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_expm1(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_gammainc(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_special_gammaincc(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_special_gammaln(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_hermite_polynomial_h(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_hermite_polynomial_he(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_i0(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_i0e(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_i1(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_i1e(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_laguerre_polynomial_l(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_legendre_polynomial_p(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_log1p(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_log_ndtr(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_log_softmax(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, dtype: _DType | None = None) -> Any: ...
class _aten_special_logit(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, eps: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, eps: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten_special_logsumexp(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int], keepdim: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_special_modified_bessel_i0(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_modified_bessel_i1(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_modified_bessel_k0(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_modified_bessel_k1(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_multigammaln(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, p: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, p: builtins.int, *, out: Any) -> Any: ...
class _aten_special_ndtr(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_ndtri(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_polygamma(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, n: builtins.int, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, n: builtins.int, self: Any, *, out: Any) -> Any: ...
class _aten_special_psi(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_round(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, decimals: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, decimals: builtins.int = 0, out: Any) -> Any: ...
class _aten_special_scaled_modified_bessel_k0(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, x: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, *, out: Any) -> Any: ...
class _aten_special_scaled_modified_bessel_k1(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, x: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, *, out: Any) -> Any: ...
class _aten_special_shifted_chebyshev_polynomial_t(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_shifted_chebyshev_polynomial_u(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_shifted_chebyshev_polynomial_v(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_shifted_chebyshev_polynomial_w(OpOverloadPacket):
    default: OpOverload
    x_scalar: OpOverload
    n_scalar: OpOverload
    out: OpOverload
    x_scalar_out: OpOverload
    n_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, x: Any, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: _Number, n: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, n: _Number, *, out: Any) -> Any: ...
class _aten_special_sinc(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_special_softmax(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, dtype: _DType | None = None) -> Any: ...
class _aten_special_spherical_bessel_j0(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, x: Any) -> Any: ...
    @overload
    def __call__(_packet, /, x: Any, *, out: Any) -> Any: ...
class _aten_special_xlog1py(OpOverloadPacket):
    default: OpOverload
    other_scalar: OpOverload
    self_scalar: OpOverload
    out: OpOverload
    self_scalar_out: OpOverload
    other_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_special_xlogy(OpOverloadPacket):
    default: OpOverload
    other_scalar: OpOverload
    self_scalar: OpOverload
    out: OpOverload
    self_scalar_out: OpOverload
    other_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_special_zeta(OpOverloadPacket):
    default: OpOverload
    other_scalar: OpOverload
    self_scalar: OpOverload
    out: OpOverload
    self_scalar_out: OpOverload
    other_scalar_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_split(OpOverloadPacket):
    Tensor: OpOverload
    sizes: OpOverload
    @overload
    def __call__(_packet, /, self: Any, split_size: builtins.int, dim: builtins.int = 0) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, split_size: Sequence[builtins.int], dim: builtins.int = 0) -> list[Any]: ...
class _aten_split_copy(OpOverloadPacket):
    Tensor: OpOverload
    def __call__(_packet, /, self: Any, split_size: builtins.int, dim: builtins.int = 0) -> list[Any]: ...
class _aten_split_with_sizes(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> list[Any]: ...
class _aten_split_with_sizes_copy(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> list[Any]: ...
class _aten_sqrt(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_sqrt_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_square(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_square_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_squeeze(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    dims: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_squeeze_(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    dims: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_squeeze_copy(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    dims: OpOverload
    out: OpOverload
    dim_out: OpOverload
    dims_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: Sequence[builtins.int], *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_stack(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], dim: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], dim: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_std(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    correction: OpOverload
    correction_out: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: _Number | None = None, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, unbiased: builtins.bool = True) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: _Number | None = None, keepdim: builtins.bool = False, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_std_mean(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    correction: OpOverload
    correction_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: _Number | None = None, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, unbiased: builtins.bool = True) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: _Number | None = None, keepdim: builtins.bool = False, out0: Any, out1: Any) -> tuple[Any, Any]: ...
class _aten_stft(OpOverloadPacket):
    default: OpOverload
    center: OpOverload
    @overload
    def __call__(_packet, /, self: Any, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Any | None = None, center: builtins.bool = True, pad_mode: str = 'reflect', normalized: builtins.bool = False, onesided: builtins.bool | None = None, return_complex: builtins.bool | None = None, align_to_window: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, n_fft: builtins.int, hop_length: builtins.int | None = None, win_length: builtins.int | None = None, window: Any | None = None, normalized: builtins.bool = False, onesided: builtins.bool | None = None, return_complex: builtins.bool | None = None, align_to_window: builtins.bool | None = None) -> Any: ...
class _aten_sub(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, alpha: _Number = 1, out: Any) -> Any: ...
class _aten_sub_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, alpha: _Number = 1) -> Any: ...
class _aten_subtract(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, alpha: _Number = 1, out: Any) -> Any: ...
class _aten_subtract_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, alpha: _Number = 1) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, alpha: _Number = 1) -> Any: ...
class _aten_sum(OpOverloadPacket):
    dim_IntList: OpOverload
    default: OpOverload
    IntList_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = False, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None, keepdim: builtins.bool = False, *, dtype: _DType | None = None, out: Any) -> Any: ...
class _aten_sum_to_size(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int]) -> Any: ...
class _aten_svd(OpOverloadPacket):
    default: OpOverload
    U: OpOverload
    @overload
    def __call__(_packet, /, self: Any, some: builtins.bool = True, compute_uv: builtins.bool = True) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, some: builtins.bool = True, compute_uv: builtins.bool = True, *, U: Any, S: Any, V: Any) -> tuple[Any, Any, Any]: ...
class _aten_swapaxes(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, axis0: builtins.int, axis1: builtins.int) -> Any: ...
class _aten_swapaxes_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, axis0: builtins.int, axis1: builtins.int) -> Any: ...
class _aten_swapdims(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim0: builtins.int, dim1: builtins.int) -> Any: ...
class _aten_swapdims_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim0: builtins.int, dim1: builtins.int) -> Any: ...
class _aten_t(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_t_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_t_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_take(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, index: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, index: Any, *, out: Any) -> Any: ...
class _aten_take_along_dim(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, indices: Any, dim: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, indices: Any, dim: builtins.int | None = None, *, out: Any) -> Any: ...
class _aten_tan(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_tan_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_tanh(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_tanh_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_tanh_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output: Any) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output: Any, *, grad_input: Any) -> Any: ...
class _aten_tensor_split(OpOverloadPacket):
    tensor_indices_or_sections: OpOverload
    sections: OpOverload
    indices: OpOverload
    @overload
    def __call__(_packet, /, self: Any, tensor_indices_or_sections: Any, dim: builtins.int = 0) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, sections: builtins.int, dim: builtins.int = 0) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, indices: Sequence[builtins.int], dim: builtins.int = 0) -> list[Any]: ...
class _aten_tensordot(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any, dims_self: Sequence[builtins.int], dims_other: Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, dims_self: Sequence[builtins.int], dims_other: Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_threshold(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, threshold: _Number, value: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, threshold: _Number, value: _Number, *, out: Any) -> Any: ...
class _aten_threshold_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, threshold: _Number, value: _Number) -> Any: ...
class _aten_threshold_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, threshold: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, self: Any, threshold: _Number, *, grad_input: Any) -> Any: ...
class _aten_tile(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dims: Sequence[builtins.int]) -> Any: ...
class _aten_to(OpOverloadPacket):
    device: OpOverload
    dtype: OpOverload
    other: OpOverload
    dtype_layout: OpOverload
    @overload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, non_blocking: builtins.bool = False, copy: builtins.bool = False, memory_format: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, device: _Device, dtype: _DType, non_blocking: builtins.bool = False, copy: builtins.bool = False, memory_format: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dtype: _DType, non_blocking: builtins.bool = False, copy: builtins.bool = False, memory_format: builtins.int | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, non_blocking: builtins.bool = False, copy: builtins.bool = False, memory_format: builtins.int | None = None) -> Any: ...
class _aten_topk(OpOverloadPacket):
    default: OpOverload
    values: OpOverload
    @overload
    def __call__(_packet, /, self: Any, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, k: builtins.int, dim: builtins.int = -1, largest: builtins.bool = True, sorted: builtins.bool = True, *, values: Any, indices: Any) -> tuple[Any, Any]: ...
class _aten_trace(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_transpose(OpOverloadPacket):
    int: OpOverload
    def __call__(_packet, /, self: Any, dim0: builtins.int, dim1: builtins.int) -> Any: ...
class _aten_transpose_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim0: builtins.int, dim1: builtins.int) -> Any: ...
class _aten_transpose_copy(OpOverloadPacket):
    int: OpOverload
    int_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim0: builtins.int, dim1: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim0: builtins.int, dim1: builtins.int, *, out: Any) -> Any: ...
class _aten_trapezoid(OpOverloadPacket):
    x: OpOverload
    dx: OpOverload
    @overload
    def __call__(_packet, /, y: Any, *, dx: _Number = 1, dim: builtins.int = -1) -> Any: ...
    @overload
    def __call__(_packet, /, y: Any, x: Any, *, dim: builtins.int = -1) -> Any: ...
class _aten_trapz(OpOverloadPacket):
    x: OpOverload
    dx: OpOverload
    @overload
    def __call__(_packet, /, y: Any, *, dx: builtins.float = 1.0, dim: builtins.int = -1) -> Any: ...
    @overload
    def __call__(_packet, /, y: Any, x: Any, *, dim: builtins.int = -1) -> Any: ...
class _aten_triangular_solve(OpOverloadPacket):
    default: OpOverload
    X: OpOverload
    @overload
    def __call__(_packet, /, self: Any, A: Any, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, A: Any, upper: builtins.bool = True, transpose: builtins.bool = False, unitriangular: builtins.bool = False, *, X: Any, M: Any) -> tuple[Any, Any]: ...
class _aten_tril(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, diagonal: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, diagonal: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_tril_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, diagonal: builtins.int = 0) -> Any: ...
class _aten_tril_indices(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, dtype: _DType | None = ..., layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_triplet_margin_loss(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, anchor: Any, positive: Any, negative: Any, margin: builtins.float = 1.0, p: builtins.float = 2.0, eps: builtins.float = 1e-06, swap: builtins.bool = False, reduction: builtins.int = 1) -> Any: ...
class _aten_triu(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, diagonal: builtins.int = 0) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, diagonal: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_triu_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, diagonal: builtins.int = 0) -> Any: ...
class _aten_triu_indices(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, dtype: _DType | None = ..., layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, row: builtins.int, col: builtins.int, offset: builtins.int = 0, *, out: Any) -> Any: ...
class _aten_true_divide(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_true_divide_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_trunc(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_trunc_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_type_as(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_unbind(OpOverloadPacket):
    int: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int = 0) -> list[Any]: ...
class _aten_unbind_copy(OpOverloadPacket):
    int: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int = 0) -> list[Any]: ...
class _aten_unflatten(OpOverloadPacket):
    int: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, sizes: Sequence[builtins.int]) -> Any: ...
class _aten_unfold(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Any: ...
class _aten_unfold_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad_in: Any, input_sizes: Sequence[builtins.int], dim: builtins.int, size: builtins.int, step: builtins.int) -> Any: ...
class _aten_unfold_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dimension: builtins.int, size: builtins.int, step: builtins.int, *, out: Any) -> Any: ...
class _aten_uniform(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, from_: builtins.float = 0.0, to: builtins.float = 1.0, *, generator: Any | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, from_: builtins.float = 0.0, to: builtins.float = 1.0, *, generator: Any | None = None, out: Any) -> Any: ...
class _aten_uniform_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, from_: builtins.float = 0.0, to: builtins.float = 1.0, *, generator: Any | None = None) -> Any: ...
class _aten_unique_consecutive(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, return_inverse: builtins.bool = False, return_counts: builtins.bool = False, dim: builtins.int | None = None) -> tuple[Any, Any, Any]: ...
class _aten_unique_dim(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, sorted: builtins.bool = True, return_inverse: builtins.bool = False, return_counts: builtins.bool = False) -> tuple[Any, Any, Any]: ...
class _aten_unsafe_chunk(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, chunks: builtins.int, dim: builtins.int = 0) -> list[Any]: ...
class _aten_unsafe_split(OpOverloadPacket):
    Tensor: OpOverload
    def __call__(_packet, /, self: Any, split_size: builtins.int, dim: builtins.int = 0) -> list[Any]: ...
class _aten_unsafe_split_with_sizes(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, split_sizes: Sequence[builtins.int], dim: builtins.int = 0) -> list[Any]: ...
class _aten_unsqueeze(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int) -> Any: ...
class _aten_unsqueeze_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int) -> Any: ...
class _aten_unsqueeze_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int, *, out: Any) -> Any: ...
class _aten_upsample_bicubic2d(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, align_corners: builtins.bool, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten_upsample_bicubic2d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten_upsample_bilinear2d(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, align_corners: builtins.bool, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten_upsample_bilinear2d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten_upsample_linear1d(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, align_corners: builtins.bool, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten_upsample_linear1d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten_upsample_nearest1d(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten_upsample_nearest1d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten_upsample_nearest2d(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten_upsample_nearest2d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten_upsample_nearest3d(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten_upsample_nearest3d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten_upsample_trilinear3d(OpOverloadPacket):
    default: OpOverload
    vec: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, input: Any, output_size: Sequence[builtins.int] | None, align_corners: builtins.bool, scale_factors: Sequence[builtins.float] | None) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, output_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, out: Any) -> Any: ...
class _aten_upsample_trilinear3d_backward(OpOverloadPacket):
    default: OpOverload
    grad_input: OpOverload
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, grad_output: Any, output_size: builtins.int | Sequence[builtins.int], input_size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool, scales_d: builtins.float | None = None, scales_h: builtins.float | None = None, scales_w: builtins.float | None = None, *, grad_input: Any) -> Any: ...
class _aten_value_selecting_reduction_backward(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, grad: Any, dim: builtins.int, indices: Any, sizes: Sequence[builtins.int], keepdim: builtins.bool) -> Any: ...
class _aten_vander(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, x: Any, N: builtins.int | None = None, increasing: builtins.bool = False) -> Any: ...
class _aten_var(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    correction: OpOverload
    correction_out: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: _Number | None = None, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, unbiased: builtins.bool = True) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: _Number | None = None, keepdim: builtins.bool = False, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False, *, out: Any) -> Any: ...
class _aten_var_mean(OpOverloadPacket):
    default: OpOverload
    dim: OpOverload
    correction: OpOverload
    correction_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: _Number | None = None, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None, unbiased: builtins.bool = True, keepdim: builtins.bool = False) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, unbiased: builtins.bool = True) -> tuple[Any, Any]: ...
    @overload
    def __call__(_packet, /, self: Any, dim: builtins.int | Sequence[builtins.int] | None = None, *, correction: _Number | None = None, keepdim: builtins.bool = False, out0: Any, out1: Any) -> tuple[Any, Any]: ...
class _aten_vdot(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_view(OpOverloadPacket):
    default: OpOverload
    dtype: OpOverload
    @overload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dtype: _DType) -> Any: ...
class _aten_view_as(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
class _aten_view_as_complex(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_view_as_complex_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_view_as_real(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_view_as_real_copy(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, self: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, *, out: Any) -> Any: ...
class _aten_view_copy(OpOverloadPacket):
    default: OpOverload
    dtype: OpOverload
    out: OpOverload
    dtype_out: OpOverload
    @overload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int]) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dtype: _DType) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, size: Sequence[builtins.int], *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, dtype: _DType, *, out: Any) -> Any: ...
class _aten_vsplit(OpOverloadPacket):
    int: OpOverload
    array: OpOverload
    @overload
    def __call__(_packet, /, self: Any, sections: builtins.int) -> list[Any]: ...
    @overload
    def __call__(_packet, /, self: Any, indices: Sequence[builtins.int]) -> list[Any]: ...
class _aten_vstack(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, tensors: Sequence[Any]) -> Any: ...
    @overload
    def __call__(_packet, /, tensors: Sequence[Any], *, out: Any) -> Any: ...
class _aten_where(OpOverloadPacket):
    self: OpOverload
    ScalarOther: OpOverload
    ScalarSelf: OpOverload
    Scalar: OpOverload
    default: OpOverload
    self_out: OpOverload
    @overload
    def __call__(_packet, /, condition: Any, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, condition: Any, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, condition: Any, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, condition: Any, self: _Number, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, condition: Any) -> list[Any]: ...
    @overload
    def __call__(_packet, /, condition: Any, self: Any, other: Any, *, out: Any) -> Any: ...
class _aten_xlogy(OpOverloadPacket):
    Tensor: OpOverload
    Scalar_Other: OpOverload
    Scalar_Self: OpOverload
    OutTensor: OpOverload
    OutScalar_Self: OpOverload
    OutScalar_Other: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: _Number, other: Any, *, out: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number, *, out: Any) -> Any: ...
class _aten_xlogy_(OpOverloadPacket):
    Tensor: OpOverload
    Scalar_Other: OpOverload
    @overload
    def __call__(_packet, /, self: Any, other: Any) -> Any: ...
    @overload
    def __call__(_packet, /, self: Any, other: _Number) -> Any: ...
class _aten_zero_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _aten_zeros(OpOverloadPacket):
    default: OpOverload
    out: OpOverload
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None) -> Any: ...
    @overload
    def __call__(_packet, /, size: Sequence[builtins.int], *, out: Any) -> Any: ...
class _aten_zeros_like(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, *, dtype: _DType | None = None, layout: Any | None = None, device: _Device | None = None, pin_memory: builtins.bool | None = None, memory_format: builtins.int | None = None) -> Any: ...
class _aten:
    _adaptive_avg_pool2d: _aten__adaptive_avg_pool2d
    _adaptive_avg_pool2d_backward: _aten__adaptive_avg_pool2d_backward
    _adaptive_avg_pool3d: _aten__adaptive_avg_pool3d
    _adaptive_avg_pool3d_backward: _aten__adaptive_avg_pool3d_backward
    _conj_physical: _aten__conj_physical
    _convolution: _aten__convolution
    _convolution_mode: _aten__convolution_mode
    _ctc_loss: _aten__ctc_loss
    _ctc_loss_backward: _aten__ctc_loss_backward
    _dirichlet_grad: _aten__dirichlet_grad
    _euclidean_dist: _aten__euclidean_dist
    _fake_quantize_learnable_per_channel_affine: _aten__fake_quantize_learnable_per_channel_affine
    _fake_quantize_learnable_per_channel_affine_backward: _aten__fake_quantize_learnable_per_channel_affine_backward
    _fake_quantize_learnable_per_tensor_affine: _aten__fake_quantize_learnable_per_tensor_affine
    _fake_quantize_learnable_per_tensor_affine_backward: _aten__fake_quantize_learnable_per_tensor_affine_backward
    _fake_quantize_per_tensor_affine_cachemask_tensor_qparams: _aten__fake_quantize_per_tensor_affine_cachemask_tensor_qparams
    _fft_c2c: _aten__fft_c2c
    _fft_c2r: _aten__fft_c2r
    _fft_r2c: _aten__fft_r2c
    _fused_rms_norm: _aten__fused_rms_norm
    _fused_rms_norm_backward: _aten__fused_rms_norm_backward
    _linalg_det: _aten__linalg_det
    _linalg_eigh: _aten__linalg_eigh
    _linalg_eigvals: _aten__linalg_eigvals
    _linalg_slogdet: _aten__linalg_slogdet
    _linalg_solve_ex: _aten__linalg_solve_ex
    _linalg_svd: _aten__linalg_svd
    _local_scalar_dense: _aten__local_scalar_dense
    _log_softmax: _aten__log_softmax
    _log_softmax_backward_data: _aten__log_softmax_backward_data
    _lu_with_info: _aten__lu_with_info
    _native_batch_norm_legit: _aten__native_batch_norm_legit
    _native_batch_norm_legit_functional: _aten__native_batch_norm_legit_functional
    _native_batch_norm_legit_no_training: _aten__native_batch_norm_legit_no_training
    _pack_padded_sequence: _aten__pack_padded_sequence
    _pad_circular: _aten__pad_circular
    _pad_enum: _aten__pad_enum
    _pad_packed_sequence: _aten__pad_packed_sequence
    _prelu_kernel: _aten__prelu_kernel
    _prelu_kernel_backward: _aten__prelu_kernel_backward
    _safe_softmax: _aten__safe_softmax
    _sample_dirichlet: _aten__sample_dirichlet
    _scaled_dot_product_attention_math: _aten__scaled_dot_product_attention_math
    _scaled_dot_product_efficient_attention: _aten__scaled_dot_product_efficient_attention
    _scaled_dot_product_efficient_attention_backward: _aten__scaled_dot_product_efficient_attention_backward
    _softmax: _aten__softmax
    _softmax_backward_data: _aten__softmax_backward_data
    _standard_gamma: _aten__standard_gamma
    _standard_gamma_grad: _aten__standard_gamma_grad
    _to_copy: _aten__to_copy
    _unique2: _aten__unique2
    _unsafe_view: _aten__unsafe_view
    _upsample_bicubic2d_aa: _aten__upsample_bicubic2d_aa
    _upsample_bicubic2d_aa_backward: _aten__upsample_bicubic2d_aa_backward
    _upsample_bilinear2d_aa: _aten__upsample_bilinear2d_aa
    _upsample_bilinear2d_aa_backward: _aten__upsample_bilinear2d_aa_backward
    _upsample_lanczos2d_aa: _aten__upsample_lanczos2d_aa
    _upsample_lanczos2d_aa_backward: _aten__upsample_lanczos2d_aa_backward
    _upsample_nearest_exact1d: _aten__upsample_nearest_exact1d
    _upsample_nearest_exact1d_backward: _aten__upsample_nearest_exact1d_backward
    _upsample_nearest_exact2d: _aten__upsample_nearest_exact2d
    _upsample_nearest_exact2d_backward: _aten__upsample_nearest_exact2d_backward
    _upsample_nearest_exact3d: _aten__upsample_nearest_exact3d
    _upsample_nearest_exact3d_backward: _aten__upsample_nearest_exact3d_backward
    _weight_norm: _aten__weight_norm
    abs: _aten_abs
    abs_: _aten_abs_
    absolute: _aten_absolute
    absolute_: _aten_absolute_
    acos: _aten_acos
    acos_: _aten_acos_
    acosh: _aten_acosh
    acosh_: _aten_acosh_
    adaptive_avg_pool1d: _aten_adaptive_avg_pool1d
    adaptive_avg_pool2d: _aten_adaptive_avg_pool2d
    adaptive_avg_pool3d: _aten_adaptive_avg_pool3d
    adaptive_max_pool1d: _aten_adaptive_max_pool1d
    adaptive_max_pool2d: _aten_adaptive_max_pool2d
    adaptive_max_pool2d_backward: _aten_adaptive_max_pool2d_backward
    adaptive_max_pool3d: _aten_adaptive_max_pool3d
    adaptive_max_pool3d_backward: _aten_adaptive_max_pool3d_backward
    add: _aten_add
    add_: _aten_add_
    addbmm: _aten_addbmm
    addbmm_: _aten_addbmm_
    addcdiv: _aten_addcdiv
    addcdiv_: _aten_addcdiv_
    addcmul: _aten_addcmul
    addcmul_: _aten_addcmul_
    addmm: _aten_addmm
    addmm_: _aten_addmm_
    addmv: _aten_addmv
    addmv_: _aten_addmv_
    addr: _aten_addr
    addr_: _aten_addr_
    adjoint: _aten_adjoint
    affine_grid_generator: _aten_affine_grid_generator
    alias: _aten_alias
    alias_copy: _aten_alias_copy
    all: _aten_all
    allclose: _aten_allclose
    alpha_dropout: _aten_alpha_dropout
    alpha_dropout_: _aten_alpha_dropout_
    amax: _aten_amax
    amin: _aten_amin
    aminmax: _aten_aminmax
    angle: _aten_angle
    any: _aten_any
    arange: _aten_arange
    arccos: _aten_arccos
    arccos_: _aten_arccos_
    arccosh: _aten_arccosh
    arccosh_: _aten_arccosh_
    arcsin: _aten_arcsin
    arcsin_: _aten_arcsin_
    arcsinh: _aten_arcsinh
    arcsinh_: _aten_arcsinh_
    arctan: _aten_arctan
    arctan2: _aten_arctan2
    arctan2_: _aten_arctan2_
    arctan_: _aten_arctan_
    arctanh: _aten_arctanh
    arctanh_: _aten_arctanh_
    argmax: _aten_argmax
    argmin: _aten_argmin
    argsort: _aten_argsort
    argwhere: _aten_argwhere
    as_strided: _aten_as_strided
    as_strided_: _aten_as_strided_
    as_strided_copy: _aten_as_strided_copy
    as_strided_scatter: _aten_as_strided_scatter
    asin: _aten_asin
    asin_: _aten_asin_
    asinh: _aten_asinh
    asinh_: _aten_asinh_
    atan: _aten_atan
    atan2: _aten_atan2
    atan2_: _aten_atan2_
    atan_: _aten_atan_
    atanh: _aten_atanh
    atanh_: _aten_atanh_
    atleast_1d: _aten_atleast_1d
    atleast_2d: _aten_atleast_2d
    atleast_3d: _aten_atleast_3d
    avg_pool1d: _aten_avg_pool1d
    avg_pool2d: _aten_avg_pool2d
    avg_pool2d_backward: _aten_avg_pool2d_backward
    avg_pool3d: _aten_avg_pool3d
    avg_pool3d_backward: _aten_avg_pool3d_backward
    baddbmm: _aten_baddbmm
    baddbmm_: _aten_baddbmm_
    bartlett_window: _aten_bartlett_window
    batch_norm: _aten_batch_norm
    bernoulli: _aten_bernoulli
    bernoulli_: _aten_bernoulli_
    bilinear: _aten_bilinear
    binary_cross_entropy: _aten_binary_cross_entropy
    binary_cross_entropy_with_logits: _aten_binary_cross_entropy_with_logits
    bincount: _aten_bincount
    binomial: _aten_binomial
    bitwise_and: _aten_bitwise_and
    bitwise_and_: _aten_bitwise_and_
    bitwise_left_shift: _aten_bitwise_left_shift
    bitwise_left_shift_: _aten_bitwise_left_shift_
    bitwise_not: _aten_bitwise_not
    bitwise_not_: _aten_bitwise_not_
    bitwise_or: _aten_bitwise_or
    bitwise_or_: _aten_bitwise_or_
    bitwise_right_shift: _aten_bitwise_right_shift
    bitwise_right_shift_: _aten_bitwise_right_shift_
    bitwise_xor: _aten_bitwise_xor
    bitwise_xor_: _aten_bitwise_xor_
    blackman_window: _aten_blackman_window
    block_diag: _aten_block_diag
    bmm: _aten_bmm
    broadcast_tensors: _aten_broadcast_tensors
    broadcast_to: _aten_broadcast_to
    bucketize: _aten_bucketize
    cartesian_prod: _aten_cartesian_prod
    cat: _aten_cat
    cauchy: _aten_cauchy
    cauchy_: _aten_cauchy_
    cdist: _aten_cdist
    ceil: _aten_ceil
    ceil_: _aten_ceil_
    celu: _aten_celu
    celu_: _aten_celu_
    chain_matmul: _aten_chain_matmul
    channel_shuffle: _aten_channel_shuffle
    cholesky: _aten_cholesky
    cholesky_inverse: _aten_cholesky_inverse
    cholesky_solve: _aten_cholesky_solve
    chunk: _aten_chunk
    clamp: _aten_clamp
    clamp_: _aten_clamp_
    clamp_max: _aten_clamp_max
    clamp_max_: _aten_clamp_max_
    clamp_min: _aten_clamp_min
    clamp_min_: _aten_clamp_min_
    clip: _aten_clip
    clip_: _aten_clip_
    clone: _aten_clone
    col2im: _aten_col2im
    column_stack: _aten_column_stack
    combinations: _aten_combinations
    complex: _aten_complex
    concat: _aten_concat
    concatenate: _aten_concatenate
    conj: _aten_conj
    conj_physical: _aten_conj_physical
    conj_physical_: _aten_conj_physical_
    constant_pad_nd: _aten_constant_pad_nd
    contiguous: _aten_contiguous
    conv1d: _aten_conv1d
    conv2d: _aten_conv2d
    conv3d: _aten_conv3d
    conv_tbc: _aten_conv_tbc
    conv_tbc_backward: _aten_conv_tbc_backward
    conv_transpose1d: _aten_conv_transpose1d
    conv_transpose2d: _aten_conv_transpose2d
    conv_transpose3d: _aten_conv_transpose3d
    convolution: _aten_convolution
    convolution_backward: _aten_convolution_backward
    copy: _aten_copy
    copy_: _aten_copy_
    copysign: _aten_copysign
    copysign_: _aten_copysign_
    corrcoef: _aten_corrcoef
    cos: _aten_cos
    cos_: _aten_cos_
    cosh: _aten_cosh
    cosh_: _aten_cosh_
    cosine_embedding_loss: _aten_cosine_embedding_loss
    cosine_similarity: _aten_cosine_similarity
    count_nonzero: _aten_count_nonzero
    cov: _aten_cov
    cross: _aten_cross
    cross_entropy_loss: _aten_cross_entropy_loss
    ctc_loss: _aten_ctc_loss
    cummax: _aten_cummax
    cummaxmin_backward: _aten_cummaxmin_backward
    cummin: _aten_cummin
    cumprod: _aten_cumprod
    cumprod_: _aten_cumprod_
    cumsum: _aten_cumsum
    cumsum_: _aten_cumsum_
    cumulative_trapezoid: _aten_cumulative_trapezoid
    deg2rad: _aten_deg2rad
    deg2rad_: _aten_deg2rad_
    det: _aten_det
    detach: _aten_detach
    detach_copy: _aten_detach_copy
    diag: _aten_diag
    diag_embed: _aten_diag_embed
    diagflat: _aten_diagflat
    diagonal: _aten_diagonal
    diagonal_backward: _aten_diagonal_backward
    diagonal_copy: _aten_diagonal_copy
    diagonal_scatter: _aten_diagonal_scatter
    diff: _aten_diff
    digamma: _aten_digamma
    digamma_: _aten_digamma_
    dist: _aten_dist
    div: _aten_div
    div_: _aten_div_
    divide: _aten_divide
    divide_: _aten_divide_
    dot: _aten_dot
    dropout: _aten_dropout
    dropout_: _aten_dropout_
    dsplit: _aten_dsplit
    dstack: _aten_dstack
    einsum: _aten_einsum
    elu: _aten_elu
    elu_: _aten_elu_
    elu_backward: _aten_elu_backward
    embedding: _aten_embedding
    embedding_bag: _aten_embedding_bag
    embedding_dense_backward: _aten_embedding_dense_backward
    embedding_renorm: _aten_embedding_renorm
    embedding_renorm_: _aten_embedding_renorm_
    empty: _aten_empty
    empty_like: _aten_empty_like
    empty_permuted: _aten_empty_permuted
    empty_strided: _aten_empty_strided
    eq: _aten_eq
    eq_: _aten_eq_
    equal: _aten_equal
    erf: _aten_erf
    erf_: _aten_erf_
    erfc: _aten_erfc
    erfc_: _aten_erfc_
    erfinv: _aten_erfinv
    erfinv_: _aten_erfinv_
    exp: _aten_exp
    exp2: _aten_exp2
    exp2_: _aten_exp2_
    exp_: _aten_exp_
    expand: _aten_expand
    expand_as: _aten_expand_as
    expand_copy: _aten_expand_copy
    expm1: _aten_expm1
    expm1_: _aten_expm1_
    exponential: _aten_exponential
    exponential_: _aten_exponential_
    eye: _aten_eye
    fake_quantize_per_channel_affine: _aten_fake_quantize_per_channel_affine
    fake_quantize_per_channel_affine_cachemask: _aten_fake_quantize_per_channel_affine_cachemask
    fake_quantize_per_channel_affine_cachemask_backward: _aten_fake_quantize_per_channel_affine_cachemask_backward
    fake_quantize_per_tensor_affine: _aten_fake_quantize_per_tensor_affine
    fake_quantize_per_tensor_affine_cachemask: _aten_fake_quantize_per_tensor_affine_cachemask
    fake_quantize_per_tensor_affine_cachemask_backward: _aten_fake_quantize_per_tensor_affine_cachemask_backward
    feature_alpha_dropout: _aten_feature_alpha_dropout
    feature_alpha_dropout_: _aten_feature_alpha_dropout_
    feature_dropout: _aten_feature_dropout
    feature_dropout_: _aten_feature_dropout_
    fft_fft: _aten_fft_fft
    fft_fft2: _aten_fft_fft2
    fft_fftn: _aten_fft_fftn
    fft_fftshift: _aten_fft_fftshift
    fft_hfft: _aten_fft_hfft
    fft_hfft2: _aten_fft_hfft2
    fft_hfftn: _aten_fft_hfftn
    fft_ifft: _aten_fft_ifft
    fft_ifft2: _aten_fft_ifft2
    fft_ifftn: _aten_fft_ifftn
    fft_ifftshift: _aten_fft_ifftshift
    fft_ihfft: _aten_fft_ihfft
    fft_ihfft2: _aten_fft_ihfft2
    fft_ihfftn: _aten_fft_ihfftn
    fft_irfft: _aten_fft_irfft
    fft_irfft2: _aten_fft_irfft2
    fft_irfftn: _aten_fft_irfftn
    fft_rfft: _aten_fft_rfft
    fft_rfft2: _aten_fft_rfft2
    fft_rfftn: _aten_fft_rfftn
    fill: _aten_fill
    fill_: _aten_fill_
    fill_diagonal_: _aten_fill_diagonal_
    fix: _aten_fix
    fix_: _aten_fix_
    flatten: _aten_flatten
    flip: _aten_flip
    fliplr: _aten_fliplr
    flipud: _aten_flipud
    float_power: _aten_float_power
    float_power_: _aten_float_power_
    floor: _aten_floor
    floor_: _aten_floor_
    floor_divide: _aten_floor_divide
    floor_divide_: _aten_floor_divide_
    fmax: _aten_fmax
    fmin: _aten_fmin
    fmod: _aten_fmod
    fmod_: _aten_fmod_
    frac: _aten_frac
    frac_: _aten_frac_
    fractional_max_pool2d: _aten_fractional_max_pool2d
    fractional_max_pool2d_backward: _aten_fractional_max_pool2d_backward
    fractional_max_pool3d: _aten_fractional_max_pool3d
    fractional_max_pool3d_backward: _aten_fractional_max_pool3d_backward
    frexp: _aten_frexp
    frobenius_norm: _aten_frobenius_norm
    full: _aten_full
    full_like: _aten_full_like
    gather: _aten_gather
    gcd: _aten_gcd
    gcd_: _aten_gcd_
    ge: _aten_ge
    ge_: _aten_ge_
    gelu: _aten_gelu
    gelu_: _aten_gelu_
    gelu_backward: _aten_gelu_backward
    geometric: _aten_geometric
    geometric_: _aten_geometric_
    geqrf: _aten_geqrf
    ger: _aten_ger
    glu: _aten_glu
    glu_backward: _aten_glu_backward
    gradient: _aten_gradient
    greater: _aten_greater
    greater_: _aten_greater_
    greater_equal: _aten_greater_equal
    greater_equal_: _aten_greater_equal_
    grid_sampler: _aten_grid_sampler
    grid_sampler_2d: _aten_grid_sampler_2d
    grid_sampler_2d_backward: _aten_grid_sampler_2d_backward
    grid_sampler_3d: _aten_grid_sampler_3d
    grid_sampler_3d_backward: _aten_grid_sampler_3d_backward
    group_norm: _aten_group_norm
    gru: _aten_gru
    gru_cell: _aten_gru_cell
    gt: _aten_gt
    gt_: _aten_gt_
    hamming_window: _aten_hamming_window
    hann_window: _aten_hann_window
    hardshrink: _aten_hardshrink
    hardshrink_backward: _aten_hardshrink_backward
    hardsigmoid: _aten_hardsigmoid
    hardsigmoid_: _aten_hardsigmoid_
    hardsigmoid_backward: _aten_hardsigmoid_backward
    hardswish: _aten_hardswish
    hardswish_: _aten_hardswish_
    hardswish_backward: _aten_hardswish_backward
    hardtanh: _aten_hardtanh
    hardtanh_: _aten_hardtanh_
    hardtanh_backward: _aten_hardtanh_backward
    hash_tensor: _aten_hash_tensor
    heaviside: _aten_heaviside
    heaviside_: _aten_heaviside_
    hinge_embedding_loss: _aten_hinge_embedding_loss
    histc: _aten_histc
    histogram: _aten_histogram
    histogramdd: _aten_histogramdd
    hsplit: _aten_hsplit
    hstack: _aten_hstack
    huber_loss: _aten_huber_loss
    hypot: _aten_hypot
    hypot_: _aten_hypot_
    i0: _aten_i0
    i0_: _aten_i0_
    igamma: _aten_igamma
    igamma_: _aten_igamma_
    igammac: _aten_igammac
    igammac_: _aten_igammac_
    im2col: _aten_im2col
    imag: _aten_imag
    index: _aten_index
    index_add: _aten_index_add
    index_add_: _aten_index_add_
    index_copy: _aten_index_copy
    index_copy_: _aten_index_copy_
    index_fill: _aten_index_fill
    index_fill_: _aten_index_fill_
    index_put: _aten_index_put
    index_put_: _aten_index_put_
    index_reduce: _aten_index_reduce
    index_reduce_: _aten_index_reduce_
    index_select: _aten_index_select
    inner: _aten_inner
    instance_norm: _aten_instance_norm
    inverse: _aten_inverse
    is_conj: _aten_is_conj
    is_neg: _aten_is_neg
    is_nonzero: _aten_is_nonzero
    is_same_size: _aten_is_same_size
    is_set_to: _aten_is_set_to
    isclose: _aten_isclose
    isfinite: _aten_isfinite
    isin: _aten_isin
    isinf: _aten_isinf
    isnan: _aten_isnan
    isneginf: _aten_isneginf
    isposinf: _aten_isposinf
    isreal: _aten_isreal
    istft: _aten_istft
    item: _aten_item
    kaiser_window: _aten_kaiser_window
    kl_div: _aten_kl_div
    kron: _aten_kron
    kthvalue: _aten_kthvalue
    l1_loss: _aten_l1_loss
    layer_norm: _aten_layer_norm
    lcm: _aten_lcm
    lcm_: _aten_lcm_
    ldexp: _aten_ldexp
    ldexp_: _aten_ldexp_
    le: _aten_le
    le_: _aten_le_
    leaky_relu: _aten_leaky_relu
    leaky_relu_: _aten_leaky_relu_
    leaky_relu_backward: _aten_leaky_relu_backward
    lerp: _aten_lerp
    lerp_: _aten_lerp_
    less: _aten_less
    less_: _aten_less_
    less_equal: _aten_less_equal
    less_equal_: _aten_less_equal_
    lgamma: _aten_lgamma
    lgamma_: _aten_lgamma_
    linalg_cholesky: _aten_linalg_cholesky
    linalg_cholesky_ex: _aten_linalg_cholesky_ex
    linalg_cond: _aten_linalg_cond
    linalg_cross: _aten_linalg_cross
    linalg_det: _aten_linalg_det
    linalg_diagonal: _aten_linalg_diagonal
    linalg_eig: _aten_linalg_eig
    linalg_eigh: _aten_linalg_eigh
    linalg_eigvals: _aten_linalg_eigvals
    linalg_eigvalsh: _aten_linalg_eigvalsh
    linalg_householder_product: _aten_linalg_householder_product
    linalg_inv: _aten_linalg_inv
    linalg_inv_ex: _aten_linalg_inv_ex
    linalg_ldl_factor: _aten_linalg_ldl_factor
    linalg_ldl_factor_ex: _aten_linalg_ldl_factor_ex
    linalg_ldl_solve: _aten_linalg_ldl_solve
    linalg_lstsq: _aten_linalg_lstsq
    linalg_lu: _aten_linalg_lu
    linalg_lu_factor: _aten_linalg_lu_factor
    linalg_lu_factor_ex: _aten_linalg_lu_factor_ex
    linalg_lu_solve: _aten_linalg_lu_solve
    linalg_matmul: _aten_linalg_matmul
    linalg_matrix_exp: _aten_linalg_matrix_exp
    linalg_matrix_norm: _aten_linalg_matrix_norm
    linalg_matrix_power: _aten_linalg_matrix_power
    linalg_matrix_rank: _aten_linalg_matrix_rank
    linalg_multi_dot: _aten_linalg_multi_dot
    linalg_norm: _aten_linalg_norm
    linalg_pinv: _aten_linalg_pinv
    linalg_qr: _aten_linalg_qr
    linalg_slogdet: _aten_linalg_slogdet
    linalg_solve: _aten_linalg_solve
    linalg_solve_ex: _aten_linalg_solve_ex
    linalg_solve_triangular: _aten_linalg_solve_triangular
    linalg_svd: _aten_linalg_svd
    linalg_svdvals: _aten_linalg_svdvals
    linalg_tensorinv: _aten_linalg_tensorinv
    linalg_tensorsolve: _aten_linalg_tensorsolve
    linalg_vander: _aten_linalg_vander
    linalg_vecdot: _aten_linalg_vecdot
    linalg_vector_norm: _aten_linalg_vector_norm
    linear: _aten_linear
    linspace: _aten_linspace
    log: _aten_log
    log10: _aten_log10
    log10_: _aten_log10_
    log1p: _aten_log1p
    log1p_: _aten_log1p_
    log2: _aten_log2
    log2_: _aten_log2_
    log_: _aten_log_
    log_normal: _aten_log_normal
    log_normal_: _aten_log_normal_
    log_sigmoid: _aten_log_sigmoid
    log_sigmoid_backward: _aten_log_sigmoid_backward
    log_sigmoid_forward: _aten_log_sigmoid_forward
    log_softmax: _aten_log_softmax
    logaddexp: _aten_logaddexp
    logaddexp2: _aten_logaddexp2
    logcumsumexp: _aten_logcumsumexp
    logdet: _aten_logdet
    logical_and: _aten_logical_and
    logical_and_: _aten_logical_and_
    logical_not: _aten_logical_not
    logical_not_: _aten_logical_not_
    logical_or: _aten_logical_or
    logical_or_: _aten_logical_or_
    logical_xor: _aten_logical_xor
    logical_xor_: _aten_logical_xor_
    logit: _aten_logit
    logit_: _aten_logit_
    logit_backward: _aten_logit_backward
    logspace: _aten_logspace
    logsumexp: _aten_logsumexp
    lstm: _aten_lstm
    lstm_cell: _aten_lstm_cell
    lt: _aten_lt
    lt_: _aten_lt_
    lu_solve: _aten_lu_solve
    lu_unpack: _aten_lu_unpack
    mH: _aten_mH
    mT: _aten_mT
    margin_ranking_loss: _aten_margin_ranking_loss
    masked_fill: _aten_masked_fill
    masked_fill_: _aten_masked_fill_
    masked_scatter: _aten_masked_scatter
    masked_scatter_: _aten_masked_scatter_
    masked_select: _aten_masked_select
    matmul: _aten_matmul
    matrix_H: _aten_matrix_H
    matrix_exp: _aten_matrix_exp
    matrix_power: _aten_matrix_power
    max: _aten_max
    max_pool1d: _aten_max_pool1d
    max_pool1d_with_indices: _aten_max_pool1d_with_indices
    max_pool2d: _aten_max_pool2d
    max_pool2d_with_indices: _aten_max_pool2d_with_indices
    max_pool2d_with_indices_backward: _aten_max_pool2d_with_indices_backward
    max_pool3d: _aten_max_pool3d
    max_pool3d_with_indices: _aten_max_pool3d_with_indices
    max_pool3d_with_indices_backward: _aten_max_pool3d_with_indices_backward
    max_unpool2d: _aten_max_unpool2d
    max_unpool3d: _aten_max_unpool3d
    maximum: _aten_maximum
    mean: _aten_mean
    median: _aten_median
    meshgrid: _aten_meshgrid
    min: _aten_min
    minimum: _aten_minimum
    mish: _aten_mish
    mish_: _aten_mish_
    mish_backward: _aten_mish_backward
    mkldnn_rnn_layer: _aten_mkldnn_rnn_layer
    mkldnn_rnn_layer_backward: _aten_mkldnn_rnn_layer_backward
    mm: _aten_mm
    mode: _aten_mode
    moveaxis: _aten_moveaxis
    movedim: _aten_movedim
    mse_loss: _aten_mse_loss
    mse_loss_backward: _aten_mse_loss_backward
    msort: _aten_msort
    mul: _aten_mul
    mul_: _aten_mul_
    multi_margin_loss: _aten_multi_margin_loss
    multilabel_margin_loss: _aten_multilabel_margin_loss
    multinomial: _aten_multinomial
    multiply: _aten_multiply
    multiply_: _aten_multiply_
    mv: _aten_mv
    mvlgamma: _aten_mvlgamma
    mvlgamma_: _aten_mvlgamma_
    nan_to_num: _aten_nan_to_num
    nan_to_num_: _aten_nan_to_num_
    nanmean: _aten_nanmean
    nanmedian: _aten_nanmedian
    nanquantile: _aten_nanquantile
    nansum: _aten_nansum
    narrow: _aten_narrow
    narrow_copy: _aten_narrow_copy
    native_batch_norm: _aten_native_batch_norm
    native_batch_norm_backward: _aten_native_batch_norm_backward
    native_channel_shuffle: _aten_native_channel_shuffle
    native_dropout: _aten_native_dropout
    native_dropout_backward: _aten_native_dropout_backward
    native_group_norm: _aten_native_group_norm
    native_group_norm_backward: _aten_native_group_norm_backward
    native_layer_norm: _aten_native_layer_norm
    native_layer_norm_backward: _aten_native_layer_norm_backward
    ne: _aten_ne
    ne_: _aten_ne_
    neg: _aten_neg
    neg_: _aten_neg_
    negative: _aten_negative
    negative_: _aten_negative_
    new_empty: _aten_new_empty
    new_empty_strided: _aten_new_empty_strided
    new_full: _aten_new_full
    new_ones: _aten_new_ones
    new_zeros: _aten_new_zeros
    nextafter: _aten_nextafter
    nextafter_: _aten_nextafter_
    nll_loss: _aten_nll_loss
    nll_loss2d: _aten_nll_loss2d
    nll_loss_backward: _aten_nll_loss_backward
    nll_loss_forward: _aten_nll_loss_forward
    nll_loss_nd: _aten_nll_loss_nd
    nonzero: _aten_nonzero
    nonzero_numpy: _aten_nonzero_numpy
    nonzero_static: _aten_nonzero_static
    norm: _aten_norm
    norm_except_dim: _aten_norm_except_dim
    normal: _aten_normal
    normal_: _aten_normal_
    normal_functional: _aten_normal_functional
    not_equal: _aten_not_equal
    not_equal_: _aten_not_equal_
    nuclear_norm: _aten_nuclear_norm
    numpy_T: _aten_numpy_T
    one_hot: _aten_one_hot
    ones: _aten_ones
    ones_like: _aten_ones_like
    orgqr: _aten_orgqr
    ormqr: _aten_ormqr
    outer: _aten_outer
    pad: _aten_pad
    pad_sequence: _aten_pad_sequence
    pairwise_distance: _aten_pairwise_distance
    pdist: _aten_pdist
    permute: _aten_permute
    permute_copy: _aten_permute_copy
    pinverse: _aten_pinverse
    pixel_shuffle: _aten_pixel_shuffle
    pixel_unshuffle: _aten_pixel_unshuffle
    poisson: _aten_poisson
    poisson_nll_loss: _aten_poisson_nll_loss
    polar: _aten_polar
    polygamma: _aten_polygamma
    polygamma_: _aten_polygamma_
    positive: _aten_positive
    pow: _aten_pow
    pow_: _aten_pow_
    prelu: _aten_prelu
    prod: _aten_prod
    put: _aten_put
    put_: _aten_put_
    qr: _aten_qr
    quantile: _aten_quantile
    rad2deg: _aten_rad2deg
    rad2deg_: _aten_rad2deg_
    rand: _aten_rand
    rand_like: _aten_rand_like
    randint: _aten_randint
    randint_like: _aten_randint_like
    randn: _aten_randn
    randn_like: _aten_randn_like
    random: _aten_random
    random_: _aten_random_
    randperm: _aten_randperm
    range: _aten_range
    ravel: _aten_ravel
    real: _aten_real
    reciprocal: _aten_reciprocal
    reciprocal_: _aten_reciprocal_
    reflection_pad1d: _aten_reflection_pad1d
    reflection_pad1d_backward: _aten_reflection_pad1d_backward
    reflection_pad2d: _aten_reflection_pad2d
    reflection_pad2d_backward: _aten_reflection_pad2d_backward
    reflection_pad3d: _aten_reflection_pad3d
    reflection_pad3d_backward: _aten_reflection_pad3d_backward
    relu: _aten_relu
    relu6: _aten_relu6
    relu6_: _aten_relu6_
    relu_: _aten_relu_
    remainder: _aten_remainder
    remainder_: _aten_remainder_
    renorm: _aten_renorm
    renorm_: _aten_renorm_
    repeat: _aten_repeat
    repeat_interleave: _aten_repeat_interleave
    replication_pad1d: _aten_replication_pad1d
    replication_pad1d_backward: _aten_replication_pad1d_backward
    replication_pad2d: _aten_replication_pad2d
    replication_pad2d_backward: _aten_replication_pad2d_backward
    replication_pad3d: _aten_replication_pad3d
    replication_pad3d_backward: _aten_replication_pad3d_backward
    reshape: _aten_reshape
    reshape_as: _aten_reshape_as
    resize_: _aten_resize_
    resize_as_: _aten_resize_as_
    resolve_conj: _aten_resolve_conj
    resolve_neg: _aten_resolve_neg
    rms_norm: _aten_rms_norm
    rnn_relu: _aten_rnn_relu
    rnn_relu_cell: _aten_rnn_relu_cell
    rnn_tanh: _aten_rnn_tanh
    rnn_tanh_cell: _aten_rnn_tanh_cell
    roll: _aten_roll
    rot90: _aten_rot90
    round: _aten_round
    round_: _aten_round_
    row_stack: _aten_row_stack
    rrelu: _aten_rrelu
    rrelu_: _aten_rrelu_
    rrelu_with_noise_backward: _aten_rrelu_with_noise_backward
    rrelu_with_noise_functional: _aten_rrelu_with_noise_functional
    rsqrt: _aten_rsqrt
    rsqrt_: _aten_rsqrt_
    rsub: _aten_rsub
    scalar_tensor: _aten_scalar_tensor
    scaled_dot_product_attention: _aten_scaled_dot_product_attention
    scatter: _aten_scatter
    scatter_: _aten_scatter_
    scatter_add: _aten_scatter_add
    scatter_add_: _aten_scatter_add_
    scatter_reduce: _aten_scatter_reduce
    scatter_reduce_: _aten_scatter_reduce_
    searchsorted: _aten_searchsorted
    segment_reduce: _aten_segment_reduce
    select: _aten_select
    select_backward: _aten_select_backward
    select_copy: _aten_select_copy
    select_scatter: _aten_select_scatter
    selu: _aten_selu
    selu_: _aten_selu_
    set_: _aten_set_
    sgn: _aten_sgn
    sgn_: _aten_sgn_
    sigmoid: _aten_sigmoid
    sigmoid_: _aten_sigmoid_
    sigmoid_backward: _aten_sigmoid_backward
    sign: _aten_sign
    sign_: _aten_sign_
    signbit: _aten_signbit
    silu: _aten_silu
    silu_: _aten_silu_
    silu_backward: _aten_silu_backward
    sin: _aten_sin
    sin_: _aten_sin_
    sinc: _aten_sinc
    sinc_: _aten_sinc_
    sinh: _aten_sinh
    sinh_: _aten_sinh_
    slice: _aten_slice
    slice_backward: _aten_slice_backward
    slice_copy: _aten_slice_copy
    slice_inverse: _aten_slice_inverse
    slice_scatter: _aten_slice_scatter
    slogdet: _aten_slogdet
    smooth_l1_loss: _aten_smooth_l1_loss
    smooth_l1_loss_backward: _aten_smooth_l1_loss_backward
    soft_margin_loss: _aten_soft_margin_loss
    softmax: _aten_softmax
    softplus: _aten_softplus
    softplus_backward: _aten_softplus_backward
    softshrink: _aten_softshrink
    softshrink_backward: _aten_softshrink_backward
    sort: _aten_sort
    special_airy_ai: _aten_special_airy_ai
    special_bessel_j0: _aten_special_bessel_j0
    special_bessel_j1: _aten_special_bessel_j1
    special_bessel_y0: _aten_special_bessel_y0
    special_bessel_y1: _aten_special_bessel_y1
    special_chebyshev_polynomial_t: _aten_special_chebyshev_polynomial_t
    special_chebyshev_polynomial_u: _aten_special_chebyshev_polynomial_u
    special_chebyshev_polynomial_v: _aten_special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w: _aten_special_chebyshev_polynomial_w
    special_digamma: _aten_special_digamma
    special_entr: _aten_special_entr
    special_erf: _aten_special_erf
    special_erfc: _aten_special_erfc
    special_erfcx: _aten_special_erfcx
    special_erfinv: _aten_special_erfinv
    special_exp2: _aten_special_exp2
    special_expit: _aten_special_expit
    special_expm1: _aten_special_expm1
    special_gammainc: _aten_special_gammainc
    special_gammaincc: _aten_special_gammaincc
    special_gammaln: _aten_special_gammaln
    special_hermite_polynomial_h: _aten_special_hermite_polynomial_h
    special_hermite_polynomial_he: _aten_special_hermite_polynomial_he
    special_i0: _aten_special_i0
    special_i0e: _aten_special_i0e
    special_i1: _aten_special_i1
    special_i1e: _aten_special_i1e
    special_laguerre_polynomial_l: _aten_special_laguerre_polynomial_l
    special_legendre_polynomial_p: _aten_special_legendre_polynomial_p
    special_log1p: _aten_special_log1p
    special_log_ndtr: _aten_special_log_ndtr
    special_log_softmax: _aten_special_log_softmax
    special_logit: _aten_special_logit
    special_logsumexp: _aten_special_logsumexp
    special_modified_bessel_i0: _aten_special_modified_bessel_i0
    special_modified_bessel_i1: _aten_special_modified_bessel_i1
    special_modified_bessel_k0: _aten_special_modified_bessel_k0
    special_modified_bessel_k1: _aten_special_modified_bessel_k1
    special_multigammaln: _aten_special_multigammaln
    special_ndtr: _aten_special_ndtr
    special_ndtri: _aten_special_ndtri
    special_polygamma: _aten_special_polygamma
    special_psi: _aten_special_psi
    special_round: _aten_special_round
    special_scaled_modified_bessel_k0: _aten_special_scaled_modified_bessel_k0
    special_scaled_modified_bessel_k1: _aten_special_scaled_modified_bessel_k1
    special_shifted_chebyshev_polynomial_t: _aten_special_shifted_chebyshev_polynomial_t
    special_shifted_chebyshev_polynomial_u: _aten_special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v: _aten_special_shifted_chebyshev_polynomial_v
    special_shifted_chebyshev_polynomial_w: _aten_special_shifted_chebyshev_polynomial_w
    special_sinc: _aten_special_sinc
    special_softmax: _aten_special_softmax
    special_spherical_bessel_j0: _aten_special_spherical_bessel_j0
    special_xlog1py: _aten_special_xlog1py
    special_xlogy: _aten_special_xlogy
    special_zeta: _aten_special_zeta
    split: _aten_split
    split_copy: _aten_split_copy
    split_with_sizes: _aten_split_with_sizes
    split_with_sizes_copy: _aten_split_with_sizes_copy
    sqrt: _aten_sqrt
    sqrt_: _aten_sqrt_
    square: _aten_square
    square_: _aten_square_
    squeeze: _aten_squeeze
    squeeze_: _aten_squeeze_
    squeeze_copy: _aten_squeeze_copy
    stack: _aten_stack
    std: _aten_std
    std_mean: _aten_std_mean
    stft: _aten_stft
    sub: _aten_sub
    sub_: _aten_sub_
    subtract: _aten_subtract
    subtract_: _aten_subtract_
    sum: _aten_sum
    sum_to_size: _aten_sum_to_size
    svd: _aten_svd
    swapaxes: _aten_swapaxes
    swapaxes_: _aten_swapaxes_
    swapdims: _aten_swapdims
    swapdims_: _aten_swapdims_
    t: _aten_t
    t_: _aten_t_
    t_copy: _aten_t_copy
    take: _aten_take
    take_along_dim: _aten_take_along_dim
    tan: _aten_tan
    tan_: _aten_tan_
    tanh: _aten_tanh
    tanh_: _aten_tanh_
    tanh_backward: _aten_tanh_backward
    tensor_split: _aten_tensor_split
    tensordot: _aten_tensordot
    threshold: _aten_threshold
    threshold_: _aten_threshold_
    threshold_backward: _aten_threshold_backward
    tile: _aten_tile
    to: _aten_to
    topk: _aten_topk
    trace: _aten_trace
    transpose: _aten_transpose
    transpose_: _aten_transpose_
    transpose_copy: _aten_transpose_copy
    trapezoid: _aten_trapezoid
    trapz: _aten_trapz
    triangular_solve: _aten_triangular_solve
    tril: _aten_tril
    tril_: _aten_tril_
    tril_indices: _aten_tril_indices
    triplet_margin_loss: _aten_triplet_margin_loss
    triu: _aten_triu
    triu_: _aten_triu_
    triu_indices: _aten_triu_indices
    true_divide: _aten_true_divide
    true_divide_: _aten_true_divide_
    trunc: _aten_trunc
    trunc_: _aten_trunc_
    type_as: _aten_type_as
    unbind: _aten_unbind
    unbind_copy: _aten_unbind_copy
    unflatten: _aten_unflatten
    unfold: _aten_unfold
    unfold_backward: _aten_unfold_backward
    unfold_copy: _aten_unfold_copy
    uniform: _aten_uniform
    uniform_: _aten_uniform_
    unique_consecutive: _aten_unique_consecutive
    unique_dim: _aten_unique_dim
    unsafe_chunk: _aten_unsafe_chunk
    unsafe_split: _aten_unsafe_split
    unsafe_split_with_sizes: _aten_unsafe_split_with_sizes
    unsqueeze: _aten_unsqueeze
    unsqueeze_: _aten_unsqueeze_
    unsqueeze_copy: _aten_unsqueeze_copy
    upsample_bicubic2d: _aten_upsample_bicubic2d
    upsample_bicubic2d_backward: _aten_upsample_bicubic2d_backward
    upsample_bilinear2d: _aten_upsample_bilinear2d
    upsample_bilinear2d_backward: _aten_upsample_bilinear2d_backward
    upsample_linear1d: _aten_upsample_linear1d
    upsample_linear1d_backward: _aten_upsample_linear1d_backward
    upsample_nearest1d: _aten_upsample_nearest1d
    upsample_nearest1d_backward: _aten_upsample_nearest1d_backward
    upsample_nearest2d: _aten_upsample_nearest2d
    upsample_nearest2d_backward: _aten_upsample_nearest2d_backward
    upsample_nearest3d: _aten_upsample_nearest3d
    upsample_nearest3d_backward: _aten_upsample_nearest3d_backward
    upsample_trilinear3d: _aten_upsample_trilinear3d
    upsample_trilinear3d_backward: _aten_upsample_trilinear3d_backward
    value_selecting_reduction_backward: _aten_value_selecting_reduction_backward
    vander: _aten_vander
    var: _aten_var
    var_mean: _aten_var_mean
    vdot: _aten_vdot
    view: _aten_view
    view_as: _aten_view_as
    view_as_complex: _aten_view_as_complex
    view_as_complex_copy: _aten_view_as_complex_copy
    view_as_real: _aten_view_as_real
    view_as_real_copy: _aten_view_as_real_copy
    view_copy: _aten_view_copy
    vsplit: _aten_vsplit
    vstack: _aten_vstack
    where: _aten_where
    xlogy: _aten_xlogy
    xlogy_: _aten_xlogy_
    zero_: _aten_zero_
    zeros: _aten_zeros
    zeros_like: _aten_zeros_like
class _prims_adam_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Sequence[Any], grads: Sequence[Any], exp_avgs: Sequence[Any], exp_avg_sqs: Sequence[Any], *, step: builtins.float, lr: builtins.float, beta1: builtins.float, beta2: builtins.float, weight_decay: builtins.float, eps: builtins.float, decoupled: builtins.bool, maximize: builtins.bool) -> None: ...
class _prims_broadcast_to(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, shape: Sequence[builtins.int]) -> Any: ...
class _prims_device_get(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any) -> Any: ...
class _prims_device_put(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, data: Any, *, device: _Device) -> Any: ...
class _prims_permute(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dims: Sequence[builtins.int]) -> Any: ...
class _prims_pin_memory(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, device: str) -> Any: ...
class _prims_reshape(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, shape: Sequence[builtins.int]) -> Any: ...
class _prims_sgd_(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Sequence[Any], grads: Sequence[Any], momentum_buffers: Sequence[Any], *, lr: builtins.float, momentum: builtins.float, dampening: builtins.float, weight_decay: builtins.float, nesterov: builtins.bool, maximize: builtins.bool) -> None: ...
class _prims_slice(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, dim: builtins.int, start: builtins.int, end: builtins.int, step: builtins.int) -> Any: ...
class _prims_slice_scatter(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, src: Any, dim: builtins.int, start: builtins.int, end: builtins.int, step: builtins.int) -> Any: ...
class _prims_take(OpOverloadPacket):
    default: OpOverload
    def __call__(_packet, /, self: Any, index: Any) -> Any: ...
class _prims:
    adam_: _prims_adam_
    broadcast_to: _prims_broadcast_to
    device_get: _prims_device_get
    device_put: _prims_device_put
    permute: _prims_permute
    pin_memory: _prims_pin_memory
    reshape: _prims_reshape
    sgd_: _prims_sgd_
    slice: _prims_slice
    slice_scatter: _prims_slice_scatter
    take: _prims_take
class KnownNamespaces:
    @property
    def aten(self) -> _aten: ...
    @property
    def prims(self) -> _prims: ...
