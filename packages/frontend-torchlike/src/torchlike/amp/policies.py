"""Which operators autocast computes in which precision: torch 2.13.0's lists, by ``tools/generate_autocast_lists.py``.

A policy is the name of a function in `kernels`. ``CPU`` holds for the device cpu, ``CUDA`` for every other device.
"""

from __future__ import annotations

from typing import Final

#: The version of torch whose lists these are.
VERSION: Final = "2.13.0"

CPU: Final = {
    "lower_precision_fp": """
        _addmm_activation _convolution.deprecated _native_multi_head_attention addbmm addmm baddbmm bmm conv1d
        conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_tbc conv_transpose1d conv_transpose2d.input
        conv_transpose3d.input linalg_vecdot linear matmul mkldnn_rnn_layer mm prelu scaled_dot_product_attention
    """,
    "fp32": """
        _grid_sampler_2d_cpu_fallback _lu_with_info adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d
        binary_cross_entropy binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve
        cosine_embedding_loss cross_entropy_loss ctc_loss.IntList ctc_loss.Tensor fake_quantize_per_tensor_affine
        fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn
        fft_rfft fft_rfft2 fft_rfftn fractional_max_pool2d fractional_max_pool3d geqrf grid_sampler grid_sampler_2d
        grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div l1_loss linalg_cholesky linalg_cholesky_ex
        linalg_cond linalg_cond.p_str linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product
        linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_matrix_rank.atol_rtol_float
        linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.tol_tensor linalg_qr linalg_solve linalg_svd
        linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve margin_ranking_loss max_pool3d max_unpool2d
        max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss multilabel_margin_loss_forward nanquantile
        nanquantile.scalar nll_loss nll_loss2d orgqr ormqr pinverse poisson_nll_loss polar prod prod.dim_int qr
        quantile quantile.scalar reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d
        replication_pad3d smooth_l1_loss soft_margin_loss stft stft.center svd trace triangular_solve
        triplet_margin_loss view_as_complex
    """,
    "promote": """
        cat index_copy stack
    """,
}
CUDA: Final = {
    "lower_precision_fp": """
        _convolution _convolution.deprecated _scaled_dot_product_flash_attention _thnn_fused_gru_cell
        _thnn_fused_lstm_cell addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc
        conv_transpose1d conv_transpose2d.input conv_transpose3d.input convolution einsum gru_cell linalg_multi_dot
        linalg_vecdot linear lstm_cell matmul mm mv prelu rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention
    """,
    "fp32": """
        _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d _upsample_nearest_exact2d
        _upsample_nearest_exact3d acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss
        cosine_similarity dist erfinv exp expm1 frobenius_norm.dim group_norm hinge_embedding_loss huber_loss kl_div
        l1_loss layer_norm log log10 log1p log2 logsumexp margin_ranking_loss mse_loss multi_margin_loss
        multilabel_margin_loss native_layer_norm nll_loss nll_loss2d nuclear_norm nuclear_norm.dim pdist
        poisson_nll_loss pow.Scalar pow.Tensor_Scalar pow.Tensor_Tensor reciprocal renorm rms_norm rsqrt sinh
        smooth_l1_loss soft_margin_loss softplus tan triplet_margin_loss upsample_bicubic2d upsample_bilinear2d
        upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_trilinear3d
    """,
    "fp32_set_opt_dtype": """
        cumprod cumsum linalg_matrix_norm linalg_matrix_norm.str_ord linalg_vector_norm log_softmax.int prod
        prod.dim_int softmax.int sum sum.dim_IntList
    """,
    "fp32_append_dtype": """
        norm.Scalar norm.ScalarOpt_dim
    """,
    "promote": """
        addcdiv addcmul atan2 bilinear cross dot grid_sampler index_put scatter_add tensordot vdot
    """,
    "banned": """
        binary_cross_entropy
    """,
}

#: Operators that are composed of others here, and by kernels of their own in torch: their parts are not cast.
COMPOSED_HERE: Final = frozenset(
    """
    __lshift__.Scalar __lshift__.Tensor __rshift__.Scalar __rshift__.Tensor _pack_padded_sequence _pad_circular addbmm
    addmv addr alias_copy as_strided_copy block_diag channel_shuffle cholesky copysign.Scalar detach_copy diagonal_copy
    dist expand_copy glu_backward index_reduce ldexp.Tensor ldexp_ linalg_householder_product linalg_lu linalg_lu_solve
    linalg_vander multi_margin_loss mvlgamma nansum narrow_copy native_batch_norm ormqr permute_copy pixel_shuffle
    pixel_unshuffle polar renorm rot90 scatter.reduce scatter.value_reduce segment_reduce select_copy.int
    slice_copy.Tensor slice_inverse special_chebyshev_polynomial_t.n_scalar special_chebyshev_polynomial_t.x_scalar
    special_chebyshev_polynomial_u.n_scalar special_chebyshev_polynomial_u.x_scalar
    special_chebyshev_polynomial_v.n_scalar special_chebyshev_polynomial_v.x_scalar
    special_chebyshev_polynomial_w.n_scalar special_chebyshev_polynomial_w.x_scalar
    special_hermite_polynomial_h.n_scalar special_hermite_polynomial_h.x_scalar special_hermite_polynomial_he.n_scalar
    special_hermite_polynomial_he.x_scalar special_laguerre_polynomial_l.n_scalar
    special_laguerre_polynomial_l.x_scalar special_legendre_polynomial_p.n_scalar
    special_legendre_polynomial_p.x_scalar special_shifted_chebyshev_polynomial_t.n_scalar
    special_shifted_chebyshev_polynomial_t.x_scalar special_shifted_chebyshev_polynomial_u.n_scalar
    special_shifted_chebyshev_polynomial_u.x_scalar special_shifted_chebyshev_polynomial_v.n_scalar
    special_shifted_chebyshev_polynomial_v.x_scalar special_shifted_chebyshev_polynomial_w.n_scalar
    special_shifted_chebyshev_polynomial_w.x_scalar special_xlog1py.other_scalar special_xlog1py.self_scalar
    special_zeta.other_scalar special_zeta.self_scalar split_copy.Tensor split_with_sizes_copy squeeze_copy
    squeeze_copy.dim squeeze_copy.dims std_mean.correction t_copy trace transpose_copy.int triangular_solve
    unbind_copy.int unfold_copy unsafe_split.Tensor unsafe_split_with_sizes unsqueeze_copy vander vdot
    view_as_real_copy view_copy view_copy.dtype xlogy.Scalar_Other xlogy.Scalar_Self
    """.split()
)
