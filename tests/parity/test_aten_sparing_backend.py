"""A backend with nothing but the required kernels computes every operator through the decompositions."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

_spec = importlib.util.spec_from_file_location("aten_cases", Path(__file__).with_name("test_aten_operators.py"))
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)

pytestmark = pytest.mark.usefixtures("sparing_backend")


@pytest.mark.parametrize(("name", "make", "kwargs"), cases.CASES_ON_DEVICES)
def test_the_required_kernels_are_enough(name, make, kwargs):
    cases.compare_on("sparing", name, make, kwargs)
