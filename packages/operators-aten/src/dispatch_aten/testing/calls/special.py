"""Right calls of the operators of ``operators.special``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("sinc i0 special_i1e special_erfcx special_ndtr", lambda r: (r.f(2, 3),)),
    call("lgamma digamma special_entr special_modified_bessel_k0", lambda r: (r.f(2, 3, low=0.1, high=3.0),)),
    call("logit erfinv special_ndtri", lambda r: (r.f(2, 3, low=0.1, high=0.9),)),
    call("special_xlog1py xlogy.Tensor", lambda r: (r.f(2, 3), r.f(3))),
    call(
        "special_airy_ai special_bessel_j0 special_bessel_j1 special_i0e special_i1 special_log_ndtr "
        "special_modified_bessel_i0 special_modified_bessel_i1 special_spherical_bessel_j0",
        lambda r: (r.f(3, 4),),
    ),
    call(
        "special_bessel_y0 special_bessel_y1 special_modified_bessel_k1 special_scaled_modified_bessel_k0 "
        "special_scaled_modified_bessel_k1",
        lambda r: (r.f(5, low=0.1, high=3.0),),
    ),
    call("mvlgamma", lambda r: (r.f(5, low=2.0, high=4.0), 3)),
    call("polygamma", lambda r: (2, r.f(5, low=0.5, high=4.0))),
    call("igamma igammac", lambda r: (r.f(5, low=0.5, high=4.0), r.f(5, low=0.5, high=4.0))),
    call("special_xlog1py.other_scalar xlogy.Scalar_Other", lambda r: (r.f(3), 2)),
    call("xlogy.Scalar_Self special_xlog1py.self_scalar", lambda r: (2, r.f(3, low=0.1, high=2.0))),
    call("special_zeta", lambda r: (r.f(3, low=1.5, high=3.0), r.f(2, 3, low=0.5, high=3.0))),
    call("special_zeta.other_scalar", lambda r: (r.f(3, low=1.5, high=3.0), 2)),
    call("special_zeta.self_scalar", lambda r: (2, r.f(3, low=0.5, high=3.0))),
    call(
        "special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v "
        "special_chebyshev_polynomial_w special_shifted_chebyshev_polynomial_t "
        "special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
        "special_shifted_chebyshev_polynomial_w special_laguerre_polynomial_l special_legendre_polynomial_p "
        "special_hermite_polynomial_h special_hermite_polynomial_he",
        lambda r: (r.f(2, 5, low=0.0, high=1.0), r.i(6, 5) * 1.0),
    ),
    call(
        "special_chebyshev_polynomial_t.x_scalar special_chebyshev_polynomial_u.x_scalar "
        "special_chebyshev_polynomial_v.x_scalar special_chebyshev_polynomial_w.x_scalar "
        "special_shifted_chebyshev_polynomial_t.x_scalar special_shifted_chebyshev_polynomial_u.x_scalar "
        "special_shifted_chebyshev_polynomial_v.x_scalar special_shifted_chebyshev_polynomial_w.x_scalar "
        "special_laguerre_polynomial_l.x_scalar special_legendre_polynomial_p.x_scalar "
        "special_hermite_polynomial_h.x_scalar special_hermite_polynomial_he.x_scalar",
        lambda r: (0.3, r.i(6, 5) * 1.0),
    ),
    call(
        "special_chebyshev_polynomial_t.n_scalar special_chebyshev_polynomial_u.n_scalar "
        "special_chebyshev_polynomial_v.n_scalar special_chebyshev_polynomial_w.n_scalar "
        "special_shifted_chebyshev_polynomial_t.n_scalar special_shifted_chebyshev_polynomial_u.n_scalar "
        "special_shifted_chebyshev_polynomial_v.n_scalar special_shifted_chebyshev_polynomial_w.n_scalar "
        "special_laguerre_polynomial_l.n_scalar special_legendre_polynomial_p.n_scalar "
        "special_hermite_polynomial_h.n_scalar special_hermite_polynomial_he.n_scalar",
        lambda r: (r.f(5, low=0.0, high=1.0), 4),
    ),
    call("logit_backward", lambda r: (r.f(5), r.f(5, low=0.1, high=0.9))),
)
