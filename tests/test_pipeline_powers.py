"""Powers by numbers, for which floats have other functions: in eager mode, in place and in a pipeline."""

import numpy as np
import pytest

import torchlike as torch

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("exponent", [2, 3, 0.5, -0.5, -1, -2, 1.5, 0, 7])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "float16"])
def test_powers_have_the_same_bits_in_a_pipeline(exponent, dtype):
    exponent = abs(exponent) if dtype == "int64" else exponent
    for count in (7, 20_000):
        x = torch.tensor(RANDOM.integers(0, 9, count)).to(getattr(torch, dtype))
        y = x / 3 if x.is_floating_point() else x
        eager = y**exponent
        with torch.pipeline():
            lazy = (y + 0) ** exponent
        assert eager.dtype == lazy.dtype
        assert np.array_equal(eager.numpy(), lazy.numpy(), equal_nan=True)
        if eager.dtype == y.dtype:
            assert np.array_equal(eager.numpy(), y.pow_(exponent).numpy(), equal_nan=True)
