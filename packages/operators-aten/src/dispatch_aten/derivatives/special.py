"""Derivative formulas of special functions; see ``dispatch_aten.derivatives``."""

from __future__ import annotations

from typing import Final

FORMULAS: Final[dict[str, dict[str, str]]] = {
    "digamma": {"self": "mul(grad, polygamma(1, self))"},
    "erfinv": {"self": "mul(grad, mul(exp(square(result)), 0.886226925452758))"},
    "i0": {"self": "mul(grad, special_i1(self))"},
    "igamma": {"other": "mul(grad, gamma_density(self, other))"},
    "igammac": {"other": "neg(mul(grad, gamma_density(self, other)))"},
    "lgamma": {"self": "mul(grad, digamma(self))"},
    "logit": {"self": "logit_gradient(grad, self, eps)"},
    "polygamma": {"self": "mul(grad, polygamma(n + 1, self))"},
    "sinc": {"self": "mul(grad, sinc_slope(self))"},
    "special_entr": {"self": "mul(grad, entropy_slope(self))"},
    "special_erfcx": {"self": "mul(grad, sub(mul(mul(self, result), 2), 1.1283791670955126))"},
    "special_i0e": {"self": "mul(grad, sub(special_i1e(self), mul(sgn(self), result)))"},
    "special_i1": {"self": "mul(grad, bessel_slope(self, result, False))"},
    "special_i1e": {"self": "mul(grad, bessel_slope(self, result, True))"},
    "special_log_ndtr": {"self": "mul(grad, log_normal_slope(self))"},
    "special_ndtri": {"self": "mul(grad, mul(exp(mul(square(result), 0.5)), 2.5066282746310002))"},
    "special_xlog1py": {
        "self": "x_log_gradient(special_xlog1py(grad, other), self, other, -1)",
        "other": "div(mul(grad, self), add(other, 1))",
    },
    "special_zeta": {"other": "mul(grad, mul(neg(self), special_zeta(add(self, 1), other)))"},
    "xlogy.Tensor": {
        "self": "x_log_gradient(xlogy(grad, other), self, other, 0)",
        "other": "div(mul(grad, self), other)",
    },
}

NOT_DIFFERENTIABLE: Final = frozenset(
    """
    logit_backward special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
    special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l
    special_legendre_polynomial_p special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
    special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
    special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
    special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0
    """.split()
)
