"""Chi-squared distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.chi2"  # see Note [Public paths]

from typing import Any, ClassVar

from torchlike import Tensor

from .. import constraints
from .gamma import Gamma


class Chi2(Gamma):
    """The chi-squared distribution of ``df`` degrees of freedom (source: ``torch.distributions.Chi2``)."""

    arg_constraints: ClassVar[Any] = {"df": constraints.positive}
    _parameters = ("concentration", "rate")

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
