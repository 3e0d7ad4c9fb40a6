"""Every kind of operator gives the cpu's values, dtypes and gradients, eagerly and in a pipeline."""

import re
from functools import cache

import numpy as np
import pytest
from probes import outcome, probes

DEVICES = ("strict", "jax", "torch", "dask", "cupy")
WITHOUT_HALF = ("strict", "dask")
#: Draw by themselves, each chunk from a seed of its own, or by `jax.random`.
OWN_NUMBERS = ("dask", "jax")
#: Where the devices' own algorithms round in another order.
TOLERANCE = {"float16": 2e-3, "float32": 2e-4, "complex64": 2e-4}


@cache
def on_cpu(probe, grad):
    return outcome(probe, "cpu", grad=grad)


def compare(found, wanted, *, values=True):
    assert len(found) == len(wanted)
    for have, want in zip(found, wanted, strict=True):
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        if not values:
            continue
        tolerance = TOLERANCE.get(have.dtype.name, 1e-12)
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)


def check(probe, device, **mode):
    if device in WITHOUT_HALF and re.search(r"\bh\b", probe):
        with pytest.raises(RuntimeError, match=f"the device '{device}' has no arrays of dtype float16"):
            outcome(probe, device, **mode)
    else:
        same = not (device in OWN_NUMBERS and "manual_seed" in probe)
        compare(outcome(probe, device, **mode), on_cpu(probe, mode.get("grad", False)), values=same)


@pytest.mark.parametrize("pipeline", [False, True])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("probe", probes())
def test_values(probe, device, pipeline):
    check(probe, device, pipeline=pipeline)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("probe", probes())
def test_gradients(probe, device):
    check(probe, device, grad=True)


def test_the_probes_are_of_every_kind():
    assert len(probes()) > 300
