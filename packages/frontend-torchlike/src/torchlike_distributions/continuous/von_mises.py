"""Von Mises distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.von_mises"  # see Note [Public paths]

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..distribution import Distribution
from ..utils import broadcast_all


class VonMises(Distribution):
    """The normal distribution's like on a circle (source: ``torch.distributions.VonMises``)."""

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "concentration": constraints.positive}
    support: Any = constraints.real

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 1 - torchlike.special.i1e(self.concentration) / torchlike.special.i0e(self.concentration)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        # Best and Fisher's method: a wrapped Cauchy proposal, taken or drawn again.
        shape = self._extended_shape(sample_shape)
        with torchlike.no_grad():
            loc, spread = self.loc.double().expand(shape), self.concentration.double().expand(shape)
            tau = 1 + (1 + 4 * spread**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * spread)
            ratio = torchlike.where(spread < 1e-5, 1 / spread + spread, (1 + rho**2) / (2 * rho))
            found, done = torchlike.zeros_like(loc), torchlike.zeros(shape, dtype=torchlike.bool, device=loc.device)
            while not done.all():
                u1, u2, u3 = torchlike.rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
                z = torchlike.cos(math.pi * u1)
                f = (1 + ratio * z) / (ratio + z)
                c = spread * (ratio - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                found = torchlike.where(accept & ~done, (u3 - 0.5).sign() * f.clamp(-1, 1).acos(), found)
                done = done | accept
            return ((found + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        normalizer = math.log(2 * math.pi) + torchlike.special.i0e(self.concentration).log() + self.concentration
        return self.concentration * torchlike.cos(value - self.loc) - normalizer
