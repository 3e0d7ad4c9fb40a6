"""Geometric distributions."""

from __future__ import annotations

__name__ = "torchlike.distributions.geometric"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, ClassVar

import torchlike
from torchlike import Tensor

from .. import constraints
from ..utils import broadcast_all
from .binary import Binary


class Geometric(Binary):
    """The number of failures before the first success (source: ``torch.distributions.Geometric``)."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs of distribution {self!r} to be positive but found invalid values"
            )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return torchlike.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        tiny = torchlike.finfo(self.probs.dtype).tiny
        with torchlike.no_grad():
            drawn = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(tiny, 1)
            return (drawn.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = torchlike.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        loss = torchlike.nn.functional.binary_cross_entropy_with_logits
        return loss(self.logits, self.probs, reduction="none") / self.probs
