"""A backend with nothing but the required kernels computes every operator through the decompositions."""

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import aten_cases as cases  # after the skip

pytestmark = pytest.mark.usefixtures("sparing_backend")


@pytest.mark.parametrize(("name", "make", "kwargs"), cases.CASES_ON_DEVICES)
def test_the_required_kernels_are_enough(name, make, kwargs):
    cases.compare_on("sparing", name, make, kwargs)
