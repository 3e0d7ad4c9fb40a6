"""Transforms for the parts of a tensor."""

from __future__ import annotations

__name__ = "torchlike.distributions.transforms.joining"  # see Note [Public paths]

from typing import Any

import torchlike
from torchlike import Tensor

from .. import constraints
from ..utils import sum_rightmost
from .composition import Transform


class _PartsTransform(Transform):
    """Transforms for the parts of a tensor along a dimension."""

    transforms: list[Transform]

    @property
    def bijective(self) -> bool:
        return all(each.bijective for each in self.transforms)

    def _split(self, x: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _join(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._join([each(part) for each, part in zip(self.transforms, self._split(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([each.inv(part) for each, part in zip(self.transforms, self._split(y), strict=True)])


class CatTransform(_PartsTransform):
    """Transforms for parts of given lengths along ``dim``."""

    def __init__(self, tseq: Any, dim: int = 0, lengths: Any = None, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = [each.with_cache(cache_size) for each in tseq], dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)

    @property
    def event_dim(self) -> int:
        return max(each.event_dim for each in self.transforms)

    @property
    def length(self) -> int:
        """The length of all parts together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split(self, x: Tensor) -> list[Tensor]:
        return list(x.split(self.lengths, self.dim))

    def _join(self, parts: list[Tensor]) -> Tensor:
        return torchlike.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        found = []
        for each, before, after in zip(self.transforms, self._split(x), self._split(y), strict=True):
            part = each.log_abs_det_jacobian(before, after)
            found.append(
                sum_rightmost(part, self.event_dim - each.event_dim) if each.event_dim < self.event_dim else part
            )
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return torchlike.cat(found, dim=dim) if dim < 0 else sum(found[1:], found[0])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([each.domain for each in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([each.codomain for each in self.transforms], self.dim, self.lengths)


class StackTransform(_PartsTransform):
    """Transforms for the slices along ``dim``."""

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = [each.with_cache(cache_size) for each in tseq], dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _split(self, x: Tensor) -> list[Tensor]:
        return list(x.unbind(self.dim))

    def _join(self, parts: list[Tensor]) -> Tensor:
        return torchlike.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        triples = zip(self.transforms, self._split(x), self._split(y), strict=True)
        return self._join([each.log_abs_det_jacobian(before, after) for each, before, after in triples])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([each.domain for each in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([each.codomain for each in self.transforms], self.dim)
