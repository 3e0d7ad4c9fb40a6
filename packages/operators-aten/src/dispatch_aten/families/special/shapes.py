"""Shape rules of special functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dispatch_aten.dtypes import bool_
from dispatch_aten.errors import OperatorError
from dispatch_aten.families.pointwise.shapes import elementwise_rule

if TYPE_CHECKING:
    from dispatch_aten.shapes.meta import TensorMeta

_OPERANDS: Final = {
    1: (
        "sinc i0 lgamma digamma erfinv logit special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 "
        "special_bessel_y1 special_entr special_erfcx special_i0e special_i1 special_i1e special_log_ndtr "
        "special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 "
        "special_ndtri special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0"
    ),
    2: (
        "xlogy.Tensor igamma igammac logit_backward special_chebyshev_polynomial_t special_chebyshev_polynomial_u "
        "special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_hermite_polynomial_h "
        "special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p "
        "special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u "
        "special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_xlog1py special_zeta"
    ),
}
_polygamma_rule: Final = elementwise_rule("polygamma", 1)


def _polygamma(n: int, self: TensorMeta) -> TensorMeta:
    if n < 0:
        raise OperatorError("polygamma(n, x) does not support negative n.", argument="n")
    found: TensorMeta = _polygamma_rule(self)
    return found


def check_order(self: TensorMeta, p: int) -> None:
    """Check the order of the multivariate log-gamma function."""
    if self.dtype == bool_:
        raise OperatorError("The input tensor may not be a boolean tensor.", argument="self")
    if p < 1:
        raise OperatorError("p has to be greater than or equal to 1", argument="p")
