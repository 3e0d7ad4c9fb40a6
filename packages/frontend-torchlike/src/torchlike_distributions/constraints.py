"""Sets of values that arguments and samples of distributions lie in (source: ``torch.distributions.constraints``)."""

from __future__ import annotations

__name__ = "torchlike.distributions.constraints"  # see Note [Public paths]

from collections.abc import Callable, Sequence
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


class _Simple(Constraint):
    """A set told by a function."""

    def __init__(
        self, name: str, check: Callable[[Any], Any], *, is_discrete: bool = False, event_dim: int = 0
    ) -> None:
        self.name, self._check = name, check
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Tensor) -> Tensor:
        found: Tensor = self._check(value)
        return found

    def __repr__(self) -> str:
        return self.name


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


class dependent_property(property, _Dependent):  # noqa: N801  # torch's name
    """A property that returns a constraint, and on the class is a dependent one."""

    def __init__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Any) -> dependent_property:
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _Independent(Constraint):
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


class interval(_Bounded):  # noqa: N801  # torch's name
    """Numbers between two bounds, which belong to the set."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class half_open_interval(_Bounded):  # noqa: N801  # torch's name
    """Numbers from the lower bound to below the upper one."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class integer_interval(_Bounded):  # noqa: N801  # torch's name
    """Integers between two bounds, which belong to the set."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _integer_greater_than(_Bounded):  # noqa: N801  # torch's name
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class greater_than(_Bounded):  # noqa: N801  # torch's name
    """Numbers above a bound."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class greater_than_eq(_Bounded):  # noqa: N801  # torch's name
    """Numbers from a bound on."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class less_than(_Bounded):  # noqa: N801  # torch's name
    """Numbers below a bound."""

    def __init__(self, upper_bound: Any) -> None:
        super().__init__(None, upper_bound)

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class multinomial(Constraint):  # noqa: N801  # torch's name
    """Vectors of counts that add up to ``upper_bound``."""

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


def is_dependent(constraint: object) -> bool:
    """Return whether a constraint depends on other values."""
    return isinstance(constraint, _Dependent)


def _is_square(value: Tensor) -> Tensor:
    return torchlike.full(
        value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=torchlike.bool, device=value.device
    )


def _is_symmetric(value: Tensor) -> Tensor:
    if value.shape[-2] != value.shape[-1]:
        return _is_square(value)
    return torchlike.isclose(value, value.mT, atol=1e-6).all(-1).all(-1)


def _is_semidefinite(value: Tensor) -> Tensor:
    symmetric_ones = _is_symmetric(value)
    return torchlike.linalg.eigvalsh(value).ge(0).all(-1) if symmetric_ones.all() else symmetric_ones


def _is_definite(value: Tensor) -> Tensor:
    symmetric_ones = _is_symmetric(value)
    return torchlike.linalg.cholesky_ex(value).info.eq(0) if symmetric_ones.all() else symmetric_ones


def _is_lower(value: Tensor) -> Tensor:
    return (value.tril() == value).reshape((*value.shape[:-2], -1)).min(-1)[0]


def _is_cholesky(value: Tensor) -> Tensor:
    return _is_lower(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]


def _is_correlation_cholesky(value: Tensor) -> Tensor:
    tolerance = torchlike.finfo(value.dtype).eps * value.size(-1) * 10
    norms = torchlike.linalg.norm(value.detach(), dim=-1)
    return _is_cholesky(value) & (norms - 1).abs().le(tolerance).all(-1)


independent, cat, stack = _Independent, _Cat, _Stack
dependent: Final = _Dependent()
boolean: Final = _Simple("Boolean()", lambda value: (value == 0) | (value == 1), is_discrete=True)
one_hot: Final = _Simple(
    "OneHot()",
    lambda value: ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1),
    is_discrete=True,
    event_dim=1,
)
nonnegative_integer: Final = _integer_greater_than(0)
positive_integer: Final = _integer_greater_than(1)
real: Final = _Simple("Real()", lambda value: value == value)  # noqa: PLR0124  # nan alone differs from itself
real_vector: Final = independent(real, 1)
positive: Final = greater_than(0.0)
nonnegative: Final = greater_than_eq(0.0)
unit_interval: Final = interval(0.0, 1.0)
simplex: Final = _Simple(
    "Simplex()", lambda value: (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6), event_dim=1
)
square: Final = _Simple("Square()", _is_square, event_dim=2)
symmetric: Final = _Simple("Symmetric()", _is_symmetric, event_dim=2)
lower_triangular: Final = _Simple("LowerTriangular()", _is_lower, event_dim=2)
lower_cholesky: Final = _Simple("LowerCholesky()", _is_cholesky, event_dim=2)
corr_cholesky: Final = _Simple("CorrCholesky()", _is_correlation_cholesky, event_dim=2)
positive_semidefinite: Final = _Simple("PositiveSemidefinite()", _is_semidefinite, event_dim=2)
positive_definite: Final = _Simple("PositiveDefinite()", _is_definite, event_dim=2)
