"""Backends with nothing but the required kernels compute every operator through the decompositions."""

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import aten_cases as cases  # after the skip
import wide_cases

pytestmark = pytest.mark.usefixtures("sparing_backend", "strideless_backend")
on_devices = pytest.mark.parametrize("device", ["sparing", "strideless"])


@on_devices
@pytest.mark.parametrize(("name", "make", "kwargs"), cases.CASES_ON_DEVICES)
def test_the_required_kernels_are_enough(name, make, kwargs, device):
    cases.compare_on(device, name, make, kwargs)


@on_devices
@pytest.mark.parametrize(
    ("name", "make", "kwargs"),
    [pytest.param(*each, id=each[0]) for each in wide_cases.CASES if each[0] not in wide_cases.FACTORIES],
)
def test_the_required_kernels_are_enough_for_less_used_operators(name, make, kwargs, device):
    tolerance = (2e-3, 1e-9) if name in wide_cases.APPROXIMATED else cases.TOLERANCE
    cases.compare_on(device, name, make, kwargs, tolerance=tolerance)
