"""The part that distributions of one probability share: ``probs`` or ``logits``, each computed from the other."""

from __future__ import annotations

__name__ = "torchlike.distributions.binary"  # see Note [Public paths]

from typing import Any, Self

from torchlike import Size, Tensor

from ..distribution import Distribution
from ..utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


class Binary(Distribution):
    """A distribution with ``probs`` or the log odds ``logits``."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._set_param(*broadcast_all(probs if logits is None else logits), is_probs=logits is None)
        super().__init__(self._param.size(), validate_args=validate_args)

    def _set_param(self, param: Tensor, *, is_probs: bool) -> None:
        self._param = param
        setattr(self, "probs" if is_probs else "logits", param)

    def _set_counts(self, total_count: Any, probs: Any, logits: Any) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self.total_count, param = broadcast_all(total_count, probs if logits is None else logits)
        self.total_count = self.total_count.type_as(param)
        self._set_param(param, is_probs=logits is None)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        return self._expand_parameters(("total_count", "probs", "logits", "_param"), batch_shape, _instance)

    @lazy_property
    def logits(self) -> Tensor:
        """The log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()
