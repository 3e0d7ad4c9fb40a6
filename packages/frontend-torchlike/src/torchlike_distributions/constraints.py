"""Sets of values that arguments and samples of distributions lie in (source: ``torch.distributions.constraints``)."""

from __future__ import annotations

__name__ = "torchlike.distributions.constraints"  # see Note [Public paths]

from collections.abc import Sequence
from typing import Any, Final

import torchlike
from torchlike import Tensor

__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A set of values, each of ``event_dim`` dimensions; ``is_discrete`` says that the set has gaps."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Return for each value whether it lies in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _Dependent(Constraint):
    """A set that depends on other values, such as the support of a uniform distribution."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> Any:
        """Whether the values have gaps; ``NotImplementedError`` where that depends too."""
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> Any:
        """The number of dimensions of one value; ``NotImplementedError`` where that depends too."""
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property that returns a constraint, and on the class is a dependent one."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Any) -> _DependentProperty:
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Another set over more dimensions: all parts must lie in it."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> Any:
        """Whether the values of the parts have gaps."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        """The dimensions of a part, and those added."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        found: Tensor = self.base_constraint.check(value)
        if found.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"Expected value.dim() >= {self.base_constraint.event_dim + self.reinterpreted_batch_ndims} "
                f"but got {value.dim()}"
            )
        return found.reshape((*found.shape[: found.dim() - self.reinterpreted_batch_ndims], -1)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: that of its components, with the dimension of the components added."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> Any:
        """Whether the components' values have gaps."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:
        """The dimensions of one value."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        wide = value.unsqueeze(-1 - self.event_dim)
        found = self.base_constraint.check(wide)
        return found.reshape((*found.shape[: wide.dim() - self.event_dim], -1)).all(-1).all(-1)


class _JoinedConstraint(Constraint):
    """Constraints for the parts of a tensor along a dimension."""

    def __init__(self, parts: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.parts, self.dim, self.lengths = list(parts), dim, lengths

    @property
    def is_discrete(self) -> Any:
        """Whether any part has gaps."""
        return any(each.is_discrete for each in self.parts)

    @property
    def event_dim(self) -> Any:
        """The dimensions of the widest part."""
        return max(each.event_dim for each in self.parts) + (self.lengths is None and self.dim < 0)


class _Cat(_JoinedConstraint):
    """Parts along a dimension, each in a set of its own; ``lengths`` are their sizes, 1 if left out."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim, [1] * len(cseq) if lengths is None else list(lengths))

    def check(self, value: Tensor) -> Tensor:
        assert self.lengths is not None  # see the constructor
        parts = value.split(self.lengths, self.dim)
        return torchlike.cat([each.check(part) for each, part in zip(self.parts, parts, strict=True)], self.dim)


class _Stack(_JoinedConstraint):
    """Entries along a dimension, each in a set of its own."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    def check(self, value: Tensor) -> Tensor:
        parts = value.unbind(self.dim)
        return torchlike.stack([each.check(part) for each, part in zip(self.parts, parts, strict=True)], self.dim)


class _Bounded(Constraint):
    """Numbers between two bounds, of which either may be missing."""

    def __init__(self, lower_bound: Any = None, upper_bound: Any = None) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def __repr__(self) -> str:
        bounds = (("lower_bound", self.lower_bound), ("upper_bound", self.upper_bound))
        inner = ", ".join(f"{name}={value}" for name, value in bounds if value is not None)
        return f"{type(self).__name__.strip('_')}({inner})"


class _Interval(_Bounded):
    """Numbers between two bounds, which belong to the set."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    """Numbers from the lower bound to below the upper one."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Bounded):
    """Integers between two bounds, which belong to the set."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _GreaterThan(_Bounded):
    """Numbers above a bound."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Bounded):
    """Numbers from a bound on."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Bounded):
    """Numbers below a bound."""

    def __init__(self, upper_bound: Any) -> None:
        super().__init__(None, upper_bound)

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Multinomial(Constraint):
    """Vectors of counts that add up to ``upper_bound``."""

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


def is_dependent(constraint: object) -> bool:
    """Return whether a constraint depends on other values."""
    return isinstance(constraint, _Dependent)


class _Boolean(Constraint):
    """Zero and one."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """Vectors of zeros with a single one."""

    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Real(Constraint):
    """Numbers but nan."""

    def check(self, value: Tensor) -> Tensor:
        return value == value  # noqa: PLR0124  # nan alone differs from itself


class _Simplex(Constraint):
    """Vectors of numbers from 0 on that add up to 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        is_square = value.shape[-2] == value.shape[-1]
        return torchlike.full(value.shape[:-2], is_square, dtype=torchlike.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return torchlike.isclose(value, value.mT, atol=1e-6).all(-1).all(-1)


class _LowerTriangular(Constraint):
    """Lower triangular matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).reshape((*value.shape[:-2], -1)).min(-1)[0]


class _LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return lower_triangular.check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        tolerance = torchlike.finfo(value.dtype).eps * value.size(-1) * 10
        norms = torchlike.linalg.norm(value.detach(), dim=-1)
        return lower_cholesky.check(value) & (norms - 1).abs().le(tolerance).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        return torchlike.linalg.eigvalsh(value).ge(0).all(-1) if is_symmetric.all() else is_symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        is_symmetric = super().check(value)
        return torchlike.linalg.cholesky_ex(value).info.eq(0) if is_symmetric.all() else is_symmetric


dependent_property, independent, cat, stack = _DependentProperty, _IndependentConstraint, _Cat, _Stack
interval, half_open_interval, integer_interval = _Interval, _HalfOpenInterval, _IntegerInterval
greater_than, greater_than_eq, less_than, multinomial = _GreaterThan, _GreaterThanEq, _LessThan, _Multinomial
dependent: Final = _Dependent()
boolean: Final = _Boolean()
one_hot: Final = _OneHot()
nonnegative_integer: Final = _IntegerGreaterThan(0)
positive_integer: Final = _IntegerGreaterThan(1)
real: Final = _Real()
real_vector: Final = independent(real, 1)
positive: Final = greater_than(0.0)
nonnegative: Final = greater_than_eq(0.0)
unit_interval: Final = interval(0.0, 1.0)
simplex: Final = _Simplex()
square: Final = _Square()
symmetric: Final = _Symmetric()
lower_triangular: Final = _LowerTriangular()
lower_cholesky: Final = _LowerCholesky()
corr_cholesky: Final = _CorrCholesky()
positive_semidefinite: Final = _PositiveSemidefinite()
positive_definite: Final = _PositiveDefinite()
