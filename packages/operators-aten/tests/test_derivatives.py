"""The formulas' form; their values are compared with torch in the parity tests."""

import pytest

from dispatch_aten.decompositions import IMPLICIT
from dispatch_aten.derivatives import DERIVATIVES, NOT_DIFFERENTIABLE, names_used
from dispatch_aten.operators import ATEN
from dispatch_core import FunctionSchema

SCHEMAS = {operator.name: FunctionSchema.parse(operator.schema) for operator in ATEN}


def test_formulas_belong_to_operators_that_are_no_implicit_composites():
    assert DERIVATIVES.keys() <= SCHEMAS.keys()
    assert not DERIVATIVES.keys() & IMPLICIT.keys()
    assert not DERIVATIVES.keys() & NOT_DIFFERENTIABLE
    assert SCHEMAS.keys() >= NOT_DIFFERENTIABLE


@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_formula_differentiates_tensors_only(name):
    types = {argument.name: str(argument.type) for argument in SCHEMAS[name].arguments}
    for argument in DERIVATIVES[name].gradients:
        assert types[argument].startswith("Tensor"), argument


@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_formula_says_which_of_several_results_are_differentiable(name):
    formula, results = DERIVATIVES[name], len(SCHEMAS[name].returns)
    if formula.differentiable_outputs is not None:
        assert len(formula.differentiable_outputs) == results
    elif results > 1:
        assert formula.uses_grads


def test_names_are_read_from_an_expression():
    assert names_used("mul(grad, scaled(tensor2, value))") == {"mul", "grad", "scaled", "tensor2", "value"}
