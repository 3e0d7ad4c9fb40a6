"""Every kind of operator gives the cpu's values, dtypes and gradients, eagerly and in a pipeline."""

from functools import cache

import numpy as np
import pytest
from probes import outcome, probes

DEVICES = ("strict", "jax", "torch", "cupy")
#: Where the devices' own algorithms round in another order.
TOLERANCE = {"float16": 2e-3, "float32": 2e-4, "complex64": 2e-4}


@cache
def on_cpu(probe, grad):
    return outcome(probe, "cpu", grad=grad)


def compare(found, wanted):
    assert len(found) == len(wanted)
    for have, want in zip(found, wanted, strict=True):
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        tolerance = TOLERANCE.get(have.dtype.name, 1e-12)
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("pipeline", [False, True])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("probe", probes())
def test_values(probe, device, pipeline):
    compare(outcome(probe, device, pipeline=pipeline), on_cpu(probe, False))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("probe", probes())
def test_gradients(probe, device):
    compare(outcome(probe, device, grad=True), on_cpu(probe, True))
