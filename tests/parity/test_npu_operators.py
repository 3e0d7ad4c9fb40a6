"""Every operator, composed or not, gives the same on an npu as torch."""

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import aten_cases as cases  # after the skip

pytestmark = pytest.mark.usefixtures("npu")


@pytest.mark.parametrize(("name", "make", "kwargs"), cases.CASES_ON_DEVICES)
def test_operators_on_an_npu_are_torch_s(name, make, kwargs):
    cases.compare_on("npu", name, make, kwargs)
