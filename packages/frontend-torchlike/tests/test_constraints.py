"""The classes of constraints, and what is registered for them."""

import pytest

import torchlike
from torchlike import distributions
from torchlike.distributions import constraints
from torchlike.distributions.constraint_registry import ConstraintRegistry, biject_to

SIMPLE = (
    "boolean corr_cholesky lower_cholesky lower_triangular one_hot positive_definite positive_semidefinite real simplex"
    " square symmetric"
).split()


@pytest.mark.parametrize("name", SIMPLE)
def test_a_simple_constraint_is_of_a_class_of_its_own(name):
    constraint = getattr(constraints, name)
    assert sum(type(getattr(constraints, each)) is type(constraint) for each in SIMPLE) == 1

    class Mine(type(constraint)):
        """A subclass, which is made without arguments."""

    assert (Mine().event_dim, Mine().is_discrete) == (constraint.event_dim, constraint.is_discrete)
    assert repr(constraint) == f"{''.join(part.title() for part in name.split('_'))}()"


def test_a_transform_is_registered_for_a_class_of_constraints():
    registry = ConstraintRegistry()
    registry.register(constraints.simplex, lambda constraint: distributions.ExpTransform())
    assert isinstance(registry(type(constraints.simplex)()), distributions.ExpTransform)
    with pytest.raises(TypeError, match="Constraint subclass or instance, but got 3"):
        registry.register(3, lambda constraint: None)
    with pytest.raises(NotImplementedError, match="Cannot transform _Square constraints"):
        biject_to(constraints.square)


def test_a_divergence_is_registered_for_any_classes():
    class Other: ...

    @distributions.register_kl(Other, Other)
    def measure(p, q):
        return torchlike.zeros(2)

    assert distributions.kl_divergence(Other(), Other()).tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match="takes two classes, and 3 is not a class"):
        distributions.register_kl(Other, 3)
