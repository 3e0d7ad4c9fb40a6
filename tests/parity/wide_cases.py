"""Right calls of the operators that programs use less: names that are called alike, and their arguments by a ``Draw``.

These are compared with torch by their compositions and formulas only; the backends, refusals and layouts of these operators
are compared in ``test_torchlike_*``, kind by kind.
"""

import torch


def _spd(r, size=3):
    """Draw a positive definite matrix."""
    made = r.f(size, size)
    return made @ made.T + size * torch.eye(size, dtype=torch.float64)


def _factor(r):
    return torch.linalg.lu_factor(_spd(r))


def _complex(r, *shape):
    return torch.complex(r.f(*shape), r.f(*shape))


def _grad_of(name, *rest):
    """Make a call of a backward of an elementwise function: a gradient, the input, and options."""
    return {f"{name}_backward": lambda r: (r.f(3, 4), r.f(3, 4), *rest)}


def _normalization(name):
    """Make a call of a normalization's backward from torch's forward."""

    def make(r):
        input, weight, bias = r.f(2, 4, 3), r.f(4), r.f(4)
        if name == "native_layer_norm":
            weight, bias = r.f(3), r.f(3)
            _, mean, rstd = torch.ops.aten.native_layer_norm(input, [3], weight, bias, 1e-5)
            return r.f(2, 4, 3), input, [3], mean, rstd, weight, bias, [True, True, True]
        if name == "native_group_norm":
            _, mean, rstd = torch.ops.aten.native_group_norm(input, weight, bias, 2, 4, 3, 2, 1e-5)
            return r.f(2, 4, 3), input, mean, rstd, weight, 2, 4, 3, 2, [True, True, True]
        _, mean, rstd = torch.ops.aten.native_batch_norm(input, weight, bias, None, None, True, 0.1, 1e-5)
        return r.f(2, 4, 3), input, weight, None, None, mean, rstd, True, 1e-5, [True, True, True]

    return make


def _bag(r):
    return r.f(6, 3), r.i(6, 7), torch.tensor([0, 3, 3])


def _cell(gates, *, cells=False):
    def make(r):
        hidden = [r.f(2, 4), r.f(2, 4)] if cells else r.f(2, 4)
        return r.f(2, 3), hidden, r.f(gates * 4, 3), r.f(gates * 4, 4), r.f(gates * 4), r.f(gates * 4)

    return make


def _ctc(r):
    return r.f(6, 2, 4).log_softmax(2), r.i(3, 2, 2) + 1


def _ctc_backward(r):
    scores, targets = _ctc(r)
    loss, alpha = torch.ops.aten._ctc_loss(scores, targets, [6, 5], [2, 1])
    return r.f(2), scores, targets, [6, 5], [2, 1], loss, alpha, 0


def _spectrum(r):
    window = torch.hann_window(8, dtype=torch.float64)
    return torch.stft(r.f(40), 8, 4, window=window, return_complex=True), 8, 4, 8, window


def _make_packed(r):
    data, sizes = torch.ops.aten._pack_padded_sequence(r.f(4, 3, 2), torch.tensor([4, 2, 1]), False)
    return data, sizes, False, 1.5, 5


_LETTERS = {"chebyshev": "tuvw", "shifted_chebyshev": "tuvw", "laguerre": "l", "legendre": "p", "hermite": ("h", "he")}
POLYNOMIALS = [f"special_{kind}_polynomial_{letter}" for kind, letters in _LETTERS.items() for letter in letters]

_FFTS = "fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_hfft fft_hfft2 fft_hfftn fft_irfft fft_irfft2 fft_irfftn"

#: Names → the arguments, and keywords where there are some.
TABLE = {
    # Elementwise.
    "_conj_physical resolve_conj conj conj_physical is_conj is_neg resolve_neg sgn real imag view_as_real "
    "view_as_real_copy": (
        lambda r: (_complex(r, 2, 3),)
    ),
    "view_as_complex view_as_complex_copy": lambda r: (r.f(3, 2),),
    "complex polar": lambda r: (r.f(2, 3), r.f(2, 3)),
    "celu hardshrink hardsigmoid hardswish hardtanh mish relu6 selu softshrink log_sigmoid log_sigmoid_forward "
    "special_airy_ai special_bessel_j0 special_bessel_j1 special_i0e special_i1 special_log_ndtr special_modified_bessel_i0 "
    "special_modified_bessel_i1 special_spherical_bessel_j0": lambda r: (r.f(3, 4),),
    "special_bessel_y0 special_bessel_y1 special_modified_bessel_k1 special_scaled_modified_bessel_k0 "
    "special_scaled_modified_bessel_k1": lambda r: (r.f(5, low=0.1, high=3.0),),
    "mvlgamma": lambda r: (r.f(5, low=2.0, high=4.0), 3),
    "polygamma": lambda r: (2, r.f(5, low=0.5, high=4.0)),
    "igamma igammac": lambda r: (r.f(5, low=0.5, high=4.0), r.f(5, low=0.5, high=4.0)),
    "gcd lcm": lambda r: (r.i(40, 9) - 20, r.i(40, 2, 9) - 20),
    "heaviside float_power.Tensor_Tensor": lambda r: (r.f(2, 3).abs(), r.f(3)),
    "float_power.Tensor_Scalar copysign.Scalar special_xlog1py.other_scalar xlogy.Scalar_Other": lambda r: (r.f(3), 2),
    "float_power.Scalar xlogy.Scalar_Self special_xlog1py.self_scalar": lambda r: (2, r.f(3, low=0.1, high=2.0)),
    "special_zeta": lambda r: (r.f(3, low=1.5, high=3.0), r.f(2, 3, low=0.5, high=3.0)),
    "special_zeta.other_scalar": lambda r: (r.f(3, low=1.5, high=3.0), 2),
    "special_zeta.self_scalar": lambda r: (2, r.f(3, low=0.5, high=3.0)),
    " ".join(POLYNOMIALS): lambda r: (r.f(2, 5, low=0.0, high=1.0), r.i(6, 5).double()),
    " ".join(f"{name}.x_scalar" for name in POLYNOMIALS): lambda r: (0.3, r.i(6, 5).double()),
    " ".join(f"{name}.n_scalar" for name in POLYNOMIALS): lambda r: (r.f(5, low=0.0, high=1.0), 4),
    "glu": lambda r: (r.f(3, 4), 1),
    "glu_backward": lambda r: (r.f(3, 2), r.f(3, 4), 1),
    **_grad_of("hardshrink", 0.3),
    **_grad_of("softshrink", 0.3),
    **_grad_of("hardsigmoid"),
    **_grad_of("hardswish"),
    **_grad_of("hardtanh", -0.5, 0.7),
    **_grad_of("mish"),
    "logit_backward": lambda r: (r.f(5), r.f(5, low=0.1, high=0.9)),
    "log_sigmoid_backward": lambda r: (r.f(5), y := r.f(5), torch.ops.aten.log_sigmoid_forward(y)[1]),
    "rrelu_with_noise_backward": lambda r: (r.f(5), r.f(5), r.f(5), 0.1, 0.3, False, False),
    "prelu": lambda r: (r.f(2, 3, 4), r.f(3)),
    "_prelu_kernel": lambda r: (r.f(2, 3), r.f(2, 3)),
    "_prelu_kernel_backward": lambda r: (r.f(2, 3), r.f(2, 3), r.f(2, 3)),
    "_dirichlet_grad": lambda r: (r.f(4, low=0.1, high=0.9), r.f(4, low=0.5, high=3.0), r.f(4, low=3.0, high=9.0)),
    "_standard_gamma_grad": lambda r: (r.f(4, low=0.5, high=3.0), r.f(4, low=0.5, high=3.0)),
    # Losses and normalizations.
    "binary_cross_entropy": lambda r: (r.f(4, low=0.1, high=0.9), r.f(4, low=0.0, high=1.0), r.f(4)),
    "huber_loss smooth_l1_loss": lambda r: (r.f(4, 3), r.f(4, 3)),
    "soft_margin_loss hinge_embedding_loss": lambda r: (r.f(4, 3), r.f(4, 3).sign()),
    "poisson_nll_loss": lambda r: (r.f(4), r.f(4, low=2.0, high=5.0), True, True, 1e-8, 1),
    "kl_div": lambda r: (r.f(4), r.f(4, low=0.1, high=0.9)),
    "margin_ranking_loss": lambda r: (r.f(4), r.f(4), r.f(4).sign(), 0.5),
    "cosine_embedding_loss": lambda r: (r.f(4, 3), r.f(4, 3), r.f(4).sign(), 0.5),
    "triplet_margin_loss": lambda r: (r.f(4, 3), r.f(4, 3), r.f(4, 3)),
    "multi_margin_loss": lambda r: (r.f(4, 3), r.i(3, 4)),
    "multilabel_margin_loss": lambda r: (r.f(2, 4), torch.tensor([[3, 0, -1, 1], [1, -1, 2, 0]])),
    "nll_loss2d": lambda r: (r.f(2, 3, 4, 4), r.i(3, 2, 4, 4)),
    "_ctc_loss": lambda r: (*_ctc(r), [6, 6], [2, 2]),
    "_ctc_loss_backward": _ctc_backward,
    "ctc_loss.IntList": lambda r: (*_ctc(r), [6, 5], [2, 1]),
    "ctc_loss.Tensor": lambda r: (*_ctc(r), torch.tensor([6, 5]), torch.tensor([2, 1])),
    "cosine_similarity pairwise_distance dist cdist": lambda r: (r.f(4, 3), r.f(4, 3)),
    "_euclidean_dist": lambda r: (r.f(4, 3), r.f(5, 3)),
    "pdist": lambda r: (r.f(4, 3),),
    "scaled_dot_product_attention _scaled_dot_product_attention_math": lambda r: (r.f(2, 3, 4), r.f(2, 5, 4), r.f(2, 5, 4)),
    "_safe_softmax": lambda r: (r.f(4, 3), 1),
    "_weight_norm": lambda r: (r.f(4, 3), r.f(4, 1)),
    "norm_except_dim": lambda r: (r.f(4, 3), 2, 1),
    "batch_norm": lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), None, None, True, 0.1, 1e-5, False),
    "instance_norm": lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), None, None, True, 0.1, 1e-5, False),
    "native_batch_norm": lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), None, None, True, 0.1, 1e-5),
    "_native_batch_norm_legit.no_stats": lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), True, 0.1, 1e-5),
    "_native_batch_norm_legit_functional": lambda r: (
        r.f(2, 4, 3), r.f(4), r.f(4), r.f(4), r.f(4).abs(), True, 0.1, 1e-5,
    ),
    "_native_batch_norm_legit_no_training": lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), r.f(4), r.f(4).abs(), 0.1, 1e-5),
    "group_norm": lambda r: (r.f(2, 4, 3), 2, r.f(4), r.f(4)),
    "native_group_norm": lambda r: (r.f(2, 4, 3), r.f(4), r.f(4), 2, 4, 3, 2, 1e-5),
    "layer_norm rms_norm": lambda r: (r.f(2, 4, 3), [4, 3], r.f(4, 3)),
    "native_layer_norm": lambda r: (r.f(2, 4, 3), [3], r.f(3), r.f(3), 1e-5),
    **{f"{name}_backward": _normalization(name) for name in ("native_layer_norm", "native_group_norm", "native_batch_norm")},
    # Products and matrices.
    "addbmm": lambda r: (r.f(2, 4), r.f(5, 2, 3), r.f(5, 3, 4)),
    "addmv": lambda r: (r.f(2), r.f(2, 3), r.f(3)),
    "addr": lambda r: (r.f(2, 3), r.f(2), r.f(3)),
    "bilinear": lambda r: (r.f(5, 2), r.f(5, 3), r.f(4, 2, 3), r.f(4)),
    "ger": lambda r: (r.f(2), r.f(3)),
    "inner linalg_vecdot": lambda r: (r.f(2, 3), r.f(2, 3)),
    "vdot": lambda r: (r.f(3), r.f(3)),
    "kron": lambda r: (r.f(2, 3), r.f(2, 2)),
    "tensordot": lambda r: (r.f(2, 3, 4), r.f(4, 3, 5), [1, 2], [1, 0]),
    "einsum": lambda r: ("bij,bjk->ik", [r.f(2, 3, 4), r.f(2, 4, 5)]),
    "chain_matmul linalg_multi_dot": lambda r: ([r.f(2, 3), r.f(3, 4), r.f(4, 2)],),
    "linalg_matmul": lambda r: (r.f(2, 3), r.f(3, 4)),
    "cross linalg_cross": lambda r: (r.f(2, 3), r.f(2, 3)),
    "adjoint mH matrix_H": lambda r: (r.f(2, 3),),
    "det linalg_det logdet slogdet linalg_slogdet inverse linalg_inv linalg_inv_ex matrix_exp linalg_matrix_exp cholesky "
    "linalg_cholesky linalg_cholesky_ex linalg_eigvalsh linalg_lu linalg_lu_factor linalg_lu_factor_ex _lu_with_info "
    "linalg_ldl_factor _linalg_det _linalg_slogdet linalg_cond linalg_svdvals linalg_matrix_norm.str_ord linalg_norm "
    "nuclear_norm linalg_pinv.atol_rtol_float linalg_pinv.atol_rtol_tensor linalg_matrix_rank.atol_rtol_float "
    "linalg_matrix_rank.atol_rtol_tensor pinverse cholesky_inverse trace": lambda r: (_spd(r),),
    "linalg_matrix_rank linalg_pinv": lambda r: (_spd(r), 1e-9),
    "linalg_matrix_rank.tol_tensor linalg_pinv.rcond_tensor": lambda r: (_spd(r), torch.tensor(1e-9).double()),
    "linalg_matrix_norm": lambda r: (r.f(3, 4), 1),
    "linalg_norm.ord_str linalg_cond.p_str": lambda r: (_spd(r), "fro"),
    "frobenius_norm.dim nuclear_norm.dim": lambda r: (r.f(2, 3, 4), [0, 2]),
    "matrix_power linalg_matrix_power": lambda r: (_spd(r), 3),
    "cholesky_solve": lambda r: (r.f(3, 2), torch.linalg.cholesky(_spd(r))),
    "linalg_solve linalg_solve_ex _linalg_solve_ex linalg_lstsq": lambda r: (_spd(r), r.f(3, 2)),
    "linalg_solve_triangular": (lambda r: (_spd(r), r.f(3, 2)), {"upper": True}),
    "triangular_solve": lambda r: (r.f(3, 2), _spd(r)),
    "linalg_lu_solve": lambda r: (*_factor(r), r.f(3, 2)),
    "lu_solve": lambda r: (r.f(3, 2), *_factor(r)),
    "lu_unpack": _factor,
    "linalg_householder_product orgqr": lambda r: torch.geqrf(_spd(r)),
    "ormqr": lambda r: (*torch.geqrf(_spd(r)), r.f(3, 2)),
    "linalg_tensorinv": lambda r: (r.f(4, 6, 8, 3),),
    "linalg_tensorsolve": lambda r: (r.f(2, 3, 6), r.f(2, 3)),
    "linalg_vander vander": lambda r: (r.f(4),),
    "linalg_diagonal": lambda r: (r.f(2, 3, 4),),
    # Spectra, sequences, windows.
    f"{_FFTS} fft_fftshift fft_ifftshift": lambda r: (_complex(r, 4, 6),),
    "fft_rfft fft_rfft2 fft_rfftn fft_ihfft fft_ihfft2 fft_ihfftn": lambda r: (r.f(4, 6),),
    "_fft_c2c": lambda r: (_complex(r, 4, 6), [1], 0, True),
    "_fft_c2r": lambda r: (_complex(r, 4, 4), [1], 2, 6),
    "_fft_r2c": lambda r: (r.f(4, 6), [1], 0, True),
    "stft stft.center": (lambda r: (r.f(40), 8, 4, 8, r.f(8).abs()), {"return_complex": True}),
    "istft": _spectrum,
    "gru_cell": _cell(3),
    "rnn_relu_cell rnn_tanh_cell": _cell(1),
    "lstm_cell": _cell(4, cells=True),
    "_pack_padded_sequence": lambda r: (r.f(4, 3, 2), torch.tensor([4, 2, 1]), False),
    "_pad_packed_sequence": _make_packed,
    "pad_sequence": lambda r: ([r.f(3, 2), r.f(1, 2)], True, 2.5),
    "bartlett_window blackman_window hamming_window hann_window": lambda r: (7,),
    "kaiser_window": (lambda r: (7,), {"dtype": torch.float64}),
    "bartlett_window.periodic blackman_window.periodic hamming_window.periodic hann_window.periodic "
    "kaiser_window.periodic": lambda r: (7, False),
    "hamming_window.periodic_alpha kaiser_window.beta": lambda r: (7, True, 0.5),
    "hamming_window.periodic_alpha_beta": lambda r: (7, True, 0.5, 0.4),
    "linspace.Tensor_Tensor": lambda r: (r.f(), r.f(), 5),
    "linspace.Tensor_Scalar": lambda r: (r.f(), 3, 5),
    "linspace.Scalar_Tensor": lambda r: (3, r.f(), 5),
    "logspace": lambda r: (0.5, 2, 5),
    "logspace.Tensor_Tensor": lambda r: (r.f(), r.f(), 5),
    "logspace.Tensor_Scalar": lambda r: (r.f(), 3, 5),
    "logspace.Scalar_Tensor": lambda r: (3, r.f(), 5),
    "range": lambda r: (1, 5),
    "range.step": lambda r: (1, 5, 0.5),
    "tril_indices triu_indices": (lambda r: (3, 4, 1), {"dtype": torch.int64}),
    # Reductions, statistics, order.
    "std_mean nanmean nansum median nanmedian corrcoef cov": lambda r: (r.f(3, 5),),
    "std_mean.correction": (lambda r: (r.f(3, 5), [1]), {"correction": 0, "keepdim": True}),
    "std_mean.dim": lambda r: (r.f(3, 5), [1]),
    "median.dim nanmedian.dim mode cummax cummin logcumsumexp": lambda r: (r.f(3, 5), 1),
    "kthvalue": lambda r: (r.f(3, 5), 2),
    "quantile nanquantile": lambda r: (r.f(3, 5), torch.tensor([0.2, 0.7]).double(), 1),
    "quantile.scalar nanquantile.scalar": lambda r: (r.f(3, 5), 0.3, 1),
    "cummaxmin_backward": lambda r: (r.f(3, 5), x := r.f(3, 5), x.cummax(1)[1], 1),
    "cumulative_trapezoid.dx trapezoid.dx trapz.dx msort unique_consecutive _unique2": lambda r: (r.f(3, 5),),
    "unique_dim": lambda r: (r.i(2, 6, 2), 0, True, True, True),
    "cumulative_trapezoid.x trapezoid.x trapz.x": lambda r: (r.f(3, 5), r.f(5)),
    "gradient.array": (lambda r: (r.f(3, 5),), {"dim": [0, 1]}),
    "gradient.scalararray": (lambda r: (r.f(3, 5),), {"spacing": 2.0, "dim": [0, 1]}),
    "gradient.scalarint": (lambda r: (r.f(3, 5),), {"spacing": 2.0, "dim": 1}),
    "gradient.scalarrayarray": (lambda r: (r.f(3, 5),), {"spacing": [2.0, 1.0], "dim": [0, 1]}),
    "gradient.scalarrayint": (lambda r: (r.f(3, 5),), {"spacing": [2.0], "dim": 1}),
    "gradient.tensorarray": (
        lambda r: (r.f(3, 5),), {"spacing": [torch.tensor([0.0, 1, 3]).double()], "dim": [0]},
    ),
    "gradient.tensorarrayint": (lambda r: (r.f(3, 5),), {"spacing": [torch.tensor([0.0, 1, 3]).double()], "dim": 0}),
    "diff": lambda r: (r.f(3, 5), 2),
    "bincount": lambda r: (r.i(5, 9), r.f(9)),
    "histc histogram.bin_ct": lambda r: (r.f(9), 4),
    "histogram.bins_tensor": lambda r: (r.f(9), torch.tensor([-1.0, 0, 0.5, 1]).double()),
    "histogramdd": lambda r: (r.f(9, 2), [3, 2]),
    "histogramdd.int_bins": lambda r: (r.f(9, 2), 3),
    "histogramdd.TensorList_bins": lambda r: (r.f(9, 2), [torch.arange(-1.0, 2).double(), torch.arange(-2.0, 2).double()]),
    "bucketize.Scalar": lambda r: (0.3, r.f(4).sort()[0]),
    "bucketize.Tensor": lambda r: (r.f(2, 3), r.f(4).sort()[0]),
    "searchsorted.Scalar": lambda r: (r.f(4).sort()[0], 0.3),
    "searchsorted.Tensor": lambda r: (r.f(4).sort()[0], r.f(2, 3)),
    "isin.Scalar_Tensor": lambda r: (3, r.i(5, 4)),
    "isin.Tensor_Scalar": lambda r: (r.i(5, 4), 3),
    "is_same_size is_set_to": lambda r: (r.f(2, 3), r.f(2, 3)),
    "combinations": lambda r: (r.f(4), 2),
    "cartesian_prod": lambda r: ([r.f(2), r.f(3)],),
    "segment_reduce": (lambda r: (r.f(6, 2), "sum"), {"lengths": torch.tensor([2, 4])}),
    # Indexing.
    "index_copy": lambda r: (r.f(4, 3), 0, torch.tensor([2, 0]), r.f(2, 3)),
    "index_fill.int_Scalar": lambda r: (r.f(4, 3), 0, torch.tensor([2, 0]), 1.5),
    "index_fill.int_Tensor": lambda r: (r.f(4, 3), 0, torch.tensor([2, 0]), r.f()),
    "index_reduce": lambda r: (r.f(4, 3), 0, torch.tensor([2, 0, 2]), r.f(3, 3), "prod"),
    "scatter.reduce": (lambda r: (r.f(4, 3), 0, r.i(4, 2, 3), r.f(2, 3)), {"reduce": "multiply"}),
    "scatter.value_reduce": (lambda r: (r.f(4, 3), 0, r.i(4, 2, 3), 2.5), {"reduce": "add"}),
    "scatter_reduce.two": lambda r: (r.f(4, 3), 0, r.i(4, 2, 3), r.f(2, 3), "amax"),
    "put": lambda r: (r.f(4, 3), torch.tensor([0, 5, 7]), r.f(3)),
    "take_along_dim": lambda r: (r.f(4, 3), r.i(4, 2, 3), 0),
    "nonzero_static": (lambda r: (r.i(2, 3, 4),), {"size": 5}),
    "embedding_bag": lambda r: (*_bag(r), False, 1),
    "embedding_bag.padding_idx": lambda r: (*_bag(r), False, 1, False, None, False, 2),
    "embedding_renorm": lambda r: (r.f(6, 3), r.i(6, 4), 0.7, 2.0),
    "renorm": lambda r: (r.f(4, 3), 2, 0, 0.7),
    "repeat_interleave.Tensor": lambda r: (torch.tensor([1, 0, 3]),),
    "repeat_interleave.self_Tensor": lambda r: (r.f(3, 2), torch.tensor([1, 0, 3]), 0),
    "repeat_interleave.self_int": lambda r: (r.f(3, 2), 2, 1),
    # Shapes and copies of views.
    "alias_copy detach_copy squeeze_copy t_copy flipud fliplr rot90 diagonal_copy atleast_1d atleast_2d atleast_3d diagflat "
    "diag unbind_copy.int": lambda r: (r.f(3, 2),),
    "diag_embed": lambda r: (r.f(3, 2), 1),
    "as_strided_copy": lambda r: (r.f(9), [3, 3], [1, 2], 1),
    "as_strided_scatter": lambda r: (r.f(9), r.f(2, 2), [2, 2], [1, 3], 1),
    "expand_copy": lambda r: (r.f(2, 1), [4, -1, 3]),
    "permute_copy": lambda r: (r.f(2, 3, 4), [2, 0, -2]),
    "transpose_copy.int": lambda r: (r.f(2, 3, 4), 0, -1),
    "narrow_copy": lambda r: (r.f(5, 3), 0, 1, 2),
    "select_copy.int": lambda r: (r.f(2, 3), -1, -2),
    "slice_copy.Tensor": lambda r: (r.f(2, 9), 1, 1, -1, 3),
    "split_copy.Tensor unsafe_split.Tensor unsafe_chunk": lambda r: (r.f(5, 3), 2),
    "split_with_sizes_copy unsafe_split_with_sizes": lambda r: (r.f(5, 3), [1, 4]),
    "squeeze_copy.dim": lambda r: (r.f(1, 3, 1), -1),
    "squeeze_copy.dims": lambda r: (r.f(1, 3, 1), [0, 1]),
    "unsqueeze_copy": lambda r: (r.f(2, 3), -1),
    "view_copy": lambda r: (r.f(2, 6), [3, -1]),
    "view_copy.dtype": lambda r: (r.f(2, 6), torch.int64),
    "unfold unfold_copy": lambda r: (r.f(2, 9), 1, 3, 2),
    "unfold_backward": lambda r: (r.f(2, 4, 3), [2, 9], 1, 3, 2),
    "tensor_split.tensor_indices_or_sections": lambda r: (r.f(5, 3), torch.tensor([1, 4])),
    "hsplit.array dsplit.array vsplit.array": lambda r: (r.f(4, 4, 4), [1, 3]),
    "hsplit.int dsplit.int vsplit.int": lambda r: (r.f(4, 4, 4), 2),
    "atleast_1d.Sequence atleast_2d.Sequence atleast_3d.Sequence dstack column_stack block_diag": (
        lambda r: ([r.f(3), r.f(3)],)
    ),
    "fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine_cachemask": lambda r: (r.f(3, 4), 0.1, 7, 0, 15),
    "fake_quantize_per_tensor_affine.tensor_qparams": (
        lambda r: (r.f(3, 4), torch.tensor(0.1), torch.tensor(7, dtype=torch.int32), 0, 15)
    ),
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": (
        lambda r: (r.f(3, 4), torch.tensor(0.1), torch.tensor(7, dtype=torch.int32), torch.tensor([1]), 0, 15)
    ),
    "fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask": (
        lambda r: (r.f(3, 4), torch.tensor([0.1, 0.2, 0.3]), torch.tensor([3, 5, 7], dtype=torch.int32), 0, 0, 15)
    ),
    "fake_quantize_per_tensor_affine_cachemask_backward fake_quantize_per_channel_affine_cachemask_backward": (
        lambda r: (r.f(3, 4), r.f(3, 4) > 0)
    ),
}  # fmt: skip

#: What has several right answers, no values, or memory that a call on NumPy's arrays does not have: see test_torchlike_*.
COMPARED_ELSEWHERE = set(
    """
_linalg_eigh _linalg_eigvals _linalg_svd linalg_eig linalg_eigh linalg_eigvals linalg_svd svd linalg_qr qr
empty_permuted slice_inverse mkldnn_rnn_layer mkldnn_rnn_layer_backward _fused_rms_norm _fused_rms_norm_backward
_scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward
_fake_quantize_learnable_per_tensor_affine _fake_quantize_learnable_per_tensor_affine_backward
_fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_channel_affine_backward
""".split()
)


#: Operators that are told the device, because they are given no tensors, or may be given none.
FACTORIES = [
    name
    for names in TABLE
    for name in names.split()
    if name.partition(".")[0].endswith(("_window", "space")) or name.startswith(("range", "tril_", "triu_"))
]
#: What torch approximates, to three places, and SciPy computes.
APPROXIMATED = ("_standard_gamma_grad", "_dirichlet_grad")


def _cases():
    for names, each in TABLE.items():
        make, kwargs = each if isinstance(each, tuple) else (each, {})
        for name in names.split():
            yield name, make, kwargs


CASES = list(_cases())
