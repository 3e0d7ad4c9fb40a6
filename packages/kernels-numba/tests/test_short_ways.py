"""The cpu backend's short ways where these kernels are on everywhere: they use them, or give the same bits without."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.testing.samples import op_samples
from dispatch_core.operators.candidates import ShortWay
from dispatch_kernels_numba.provider import KERNELS

dc.device_key("cpu")  # loads the backend
#: Operator → those of its short way's parts that have a kernel here.
WAYS = {
    name.removeprefix("aten::"): parts
    for name, offers in dc.registry.offers.items()
    for way in offers
    if isinstance(way, ShortWay) and (parts := {part.removeprefix("aten::") for part in way.parts} & KERNELS.keys())
}
pytestmark = pytest.mark.no_pipeline(reason="plain calls outside of pipelines")


@pytest.fixture(scope="module", autouse=True)
def everywhere():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISPATCH_KERNELS", "numba")
        dc.refresh()
        yield
    dc.refresh()


def results(call, given):
    """Return the arrays of a call's results, or its error's type."""
    try:
        found = call(**given)
    except Exception as error:  # noqa: BLE001  # compared
        return type(error)
    each = found if isinstance(found, (list, tuple)) else [found]
    return [(array.dtype, array.shape, array.strides, array.tobytes()) for array in (item.numpy() for item in each)]


def test_other_ways_are_left_where_the_bits_would_differ():
    x = torchlike.ones(2, 3)
    classes = torchlike.tensor([0, 2])
    calls = {"mish_backward": (x, x), "cross_entropy_loss": (x, classes), "where.ScalarOther": (x > 0, x, 1.0)}
    listed = {name: dc.explain(f"aten::{name}", *given).candidates for name, given in calls.items()}
    taken = {name for name in calls if any(each.kind == "short way" and not each.reason for each in listed[name])}
    assert taken == {"cross_entropy_loss", "where.ScalarOther"}


@pytest.mark.parametrize("name", sorted(WAYS))
def test_plain_calls_give_the_bits_of_the_usual_way(name):
    op = dc.registry.get(f"aten::{name}").op
    for sample in op_samples(name):
        given = dict(sample.arguments)
        given |= {key: torchlike.from_numpy(each) for key, each in given.items() if isinstance(each, np.ndarray)}
        if op.schema.arguments[-1].name == "out":
            given["out"] = torchlike.empty(0)
        with dc.exclude_keys("Tracer"):
            expected = results(op, given)
        assert results(op, given) == expected
