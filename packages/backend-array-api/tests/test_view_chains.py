"""Writes through random chains of views hold the values of the cpu, one by one and in a pipeline."""

from contextlib import nullcontext

import pytest
from view_chains import make_chain, run_chain

import dispatch_core as dc


@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize("device", ["strict", "torch", "cupy", "jax", "dask"])
def test_chains_of_views_with_writes_hold_the_values_of_the_cpu(device, in_pipeline):
    for seed in range(4 if device == "jax" else 10):
        sizes, chain = make_chain(seed)
        expected = run_chain("cpu", sizes, chain)
        with dc.pipeline() if in_pipeline else nullcontext():
            found = run_chain(device, sizes, chain)
            strides = [each.stride() for each in found]
        assert [each.tolist() for each in found] == [each.tolist() for each in expected], seed
        assert strides == [each.contiguous().stride() for each in found]
