"""Transforms from unconstrained values to constrained ones (source: ``torch.distributions.constraint_registry``)."""

from __future__ import annotations

__name__ = "torchlike.distributions.constraint_registry"  # see Note [Public paths]

from collections.abc import Callable
from typing import Any, Final

from . import constraints, transforms
from .constraints import Constraint


class ConstraintRegistry(Constraint):
    """Functions that make a transform for a constraint, by the constraint's class."""

    def __init__(self) -> None:
        self._registry: dict[Any, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Register a function that takes a constraint of this class, or of that object's, and returns a transform."""
        if factory is None:
            return lambda found: self.register(constraint, found)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """Return a transform whose values satisfy ``constraint``; ``NotImplementedError`` where none is registered."""
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to: Final = ConstraintRegistry()
"""Bijective transforms."""
transform_to: Final = ConstraintRegistry()
"""Transforms that suit optimization, which need not be bijective."""


def _scale_to_interval(constraint: Any) -> Any:
    lower, upper = constraint.lower_bound, constraint.upper_bound
    if isinstance(lower, (int, float)) and lower == 0 and isinstance(upper, (int, float)) and upper == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(lower, upper - lower)]
    )


def _above(constraint: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


def _below(constraint: Any) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


def _independently(registry: Any) -> Any:
    def make(constraint: Any) -> Any:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    return make


def _fill(registry: Any) -> None:
    registry.register(constraints.real, lambda constraint: transforms.identity_transform)
    registry.register(constraints.independent, _independently(registry))
    for above in (constraints.greater_than, constraints.greater_than_eq):
        registry.register(above, _above)
    registry.register(constraints.less_than, _below)
    for between in (constraints.interval, constraints.half_open_interval):
        registry.register(between, _scale_to_interval)
    registry.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
    for matrix in (constraints.positive_definite, constraints.positive_semidefinite):
        registry.register(matrix, lambda constraint: transforms.PositiveDefiniteTransform())
    registry.register(constraints.corr_cholesky, lambda constraint: transforms.CorrCholeskyTransform())
    registry.register(
        constraints.cat,
        lambda constraint: transforms.CatTransform(
            [registry(each) for each in constraint.parts], constraint.dim, constraint.lengths
        ),
    )
    registry.register(
        constraints.stack,
        lambda constraint: transforms.StackTransform([registry(each) for each in constraint.parts], constraint.dim),
    )


_fill(biject_to)
_fill(transform_to)
biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
