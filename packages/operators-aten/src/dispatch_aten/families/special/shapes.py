"""Shape rules of special functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dispatch_aten.dtypes import bool_
from dispatch_aten.errors import OperatorError
from dispatch_aten.families.pointwise.shapes import elementwise_rule

if TYPE_CHECKING:
    from dispatch_aten.shapes.meta import TensorMeta

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
