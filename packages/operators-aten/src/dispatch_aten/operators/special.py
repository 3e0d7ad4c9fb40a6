"""Schemas of special functions, as torch spells them."""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = """
[pointwise]
xlogy.Tensor(Tensor self, Tensor other) -> Tensor
xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor
xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor
xlogy.OutTensor(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
xlogy.OutScalar_Self(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
xlogy.OutScalar_Other(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
xlogy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
sinc(Tensor self) -> Tensor
sinc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
sinc_(Tensor(a!) self) -> Tensor(a!)
i0(Tensor self) -> Tensor
i0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
i0_(Tensor(a!) self) -> Tensor(a!)
igamma(Tensor self, Tensor other) -> Tensor
igamma.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
igamma_(Tensor(a!) self, Tensor other) -> Tensor(a!)
igammac(Tensor self, Tensor other) -> Tensor
igammac.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
igammac_(Tensor(a!) self, Tensor other) -> Tensor(a!)
lgamma(Tensor self) -> Tensor
lgamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
lgamma_(Tensor(a!) self) -> Tensor(a!)
digamma(Tensor self) -> Tensor
digamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
digamma_(Tensor(a!) self) -> Tensor(a!)
polygamma(int n, Tensor self) -> Tensor
polygamma.out(int n, Tensor self, *, Tensor(a!) out) -> Tensor(a!)
polygamma_(Tensor(a!) self, int n) -> Tensor(a!)
mvlgamma(Tensor self, int p) -> Tensor
mvlgamma.out(Tensor self, int p, *, Tensor(a!) out) -> Tensor(a!)
mvlgamma_(Tensor(a!) self, int p) -> Tensor(a!)
erfinv(Tensor self) -> Tensor
erfinv.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
erfinv_(Tensor(a!) self) -> Tensor(a!)
logit(Tensor self, float? eps=None) -> Tensor
logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)
logit_(Tensor(a!) self, float? eps=None) -> Tensor(a!)
logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor
logit_backward.grad_input(Tensor grad_output, Tensor self, float? eps=None, *, Tensor(a!) grad_input) -> Tensor(a!)
special_airy_ai(Tensor x) -> Tensor
special_airy_ai.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
special_bessel_j0(Tensor self) -> Tensor
special_bessel_j0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_bessel_j1(Tensor self) -> Tensor
special_bessel_j1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_bessel_y0(Tensor self) -> Tensor
special_bessel_y0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_bessel_y1(Tensor self) -> Tensor
special_bessel_y1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor
special_chebyshev_polynomial_t.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor
special_chebyshev_polynomial_t.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor
special_chebyshev_polynomial_t.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor
special_chebyshev_polynomial_u.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor
special_chebyshev_polynomial_u.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor
special_chebyshev_polynomial_u.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor
special_chebyshev_polynomial_v.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor
special_chebyshev_polynomial_v.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor
special_chebyshev_polynomial_v.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor
special_chebyshev_polynomial_w.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor
special_chebyshev_polynomial_w.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor
special_chebyshev_polynomial_w.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_entr(Tensor self) -> Tensor
special_entr.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_erfcx(Tensor self) -> Tensor
special_erfcx.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor
special_hermite_polynomial_h.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor
special_hermite_polynomial_h.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor
special_hermite_polynomial_h.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor
special_hermite_polynomial_he.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor
special_hermite_polynomial_he.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor
special_hermite_polynomial_he.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_i0e(Tensor self) -> Tensor
special_i0e.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_i1(Tensor self) -> Tensor
special_i1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_i1e(Tensor self) -> Tensor
special_i1e.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor
special_laguerre_polynomial_l.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor
special_laguerre_polynomial_l.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor
special_laguerre_polynomial_l.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor
special_legendre_polynomial_p.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor
special_legendre_polynomial_p.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor
special_legendre_polynomial_p.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_log_ndtr(Tensor self) -> Tensor
special_log_ndtr.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_modified_bessel_i0(Tensor self) -> Tensor
special_modified_bessel_i0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_modified_bessel_i1(Tensor self) -> Tensor
special_modified_bessel_i1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_modified_bessel_k0(Tensor self) -> Tensor
special_modified_bessel_k0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_modified_bessel_k1(Tensor self) -> Tensor
special_modified_bessel_k1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_ndtri(Tensor self) -> Tensor
special_ndtri.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_scaled_modified_bessel_k0(Tensor x) -> Tensor
special_scaled_modified_bessel_k0.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
special_scaled_modified_bessel_k1(Tensor x) -> Tensor
special_scaled_modified_bessel_k1.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor
special_shifted_chebyshev_polynomial_t.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor
special_shifted_chebyshev_polynomial_t.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor
special_shifted_chebyshev_polynomial_t.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor
special_shifted_chebyshev_polynomial_u.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor
special_shifted_chebyshev_polynomial_u.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor
special_shifted_chebyshev_polynomial_u.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor
special_shifted_chebyshev_polynomial_v.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor
special_shifted_chebyshev_polynomial_v.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor
special_shifted_chebyshev_polynomial_v.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor
special_shifted_chebyshev_polynomial_w.out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor
special_shifted_chebyshev_polynomial_w.x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)
special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor
special_shifted_chebyshev_polynomial_w.n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)
special_spherical_bessel_j0(Tensor x) -> Tensor
special_spherical_bessel_j0.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
special_xlog1py(Tensor self, Tensor other) -> Tensor
special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor
special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor
special_xlog1py.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
special_xlog1py.self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
special_xlog1py.other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
special_zeta(Tensor self, Tensor other) -> Tensor
special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor
special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor
special_zeta.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
special_zeta.self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
special_zeta.other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
[]
xlogy_.Scalar_Other(Tensor(a!) self, Scalar other) -> Tensor(a!)
special_digamma(Tensor self) -> Tensor
special_digamma.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_erf(Tensor self) -> Tensor
special_erf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_erfc(Tensor self) -> Tensor
special_erfc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_erfinv(Tensor self) -> Tensor
special_erfinv.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_exp2(Tensor self) -> Tensor
special_exp2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_expit(Tensor self) -> Tensor
special_expit.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_expm1(Tensor self) -> Tensor
special_expm1.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_gammainc(Tensor self, Tensor other) -> Tensor
special_gammainc.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
special_gammaincc(Tensor self, Tensor other) -> Tensor
special_gammaincc.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
special_gammaln(Tensor self) -> Tensor
special_gammaln.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_i0(Tensor self) -> Tensor
special_i0.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_log1p(Tensor self) -> Tensor
special_log1p.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
special_logit(Tensor self, float? eps=None) -> Tensor
special_logit.out(Tensor self, float? eps=None, *, Tensor(a!) out) -> Tensor(a!)
special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
special_logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)
special_multigammaln(Tensor self, int p) -> Tensor
special_multigammaln.out(Tensor self, int p, *, Tensor(a!) out) -> Tensor(a!)
special_ndtr(Tensor self) -> Tensor
special_ndtr.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_polygamma(int n, Tensor self) -> Tensor
special_polygamma.out(int n, Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_psi(Tensor self) -> Tensor
special_psi.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_round(Tensor self, *, int decimals=0) -> Tensor
special_round.out(Tensor self, *, int decimals=0, Tensor(a!) out) -> Tensor(a!)
special_sinc(Tensor self) -> Tensor
special_sinc.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
special_xlogy(Tensor self, Tensor other) -> Tensor
special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor
special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor
special_xlogy.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
special_xlogy.self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
special_xlogy.other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
"""
