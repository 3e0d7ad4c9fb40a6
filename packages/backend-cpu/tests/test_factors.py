"""Many small matrices are factorized together: as each of them alone, singular ones and equal rows included."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_core as dc
import torchlike

FACTORS, SOLVE = dc.ops.aten.linalg_lu_factor_ex.default, dc.ops.aten._linalg_solve_ex.default


def make(count, size, dtype):
    matrices = np.random.default_rng(size).standard_normal((count, size, size)).astype(dtype)
    matrices[1] = 0
    matrices[2, :, -1] = 0
    matrices[3] = np.arange(size)
    return matrices


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 16])
def test_many_matrices_have_the_factors_that_each_has_alone(size, dtype):
    matrices = make(8 * size + 5, size, dtype)
    together = [each.numpy() for each in FACTORS(torchlike.from_numpy(matrices))]
    alone = [FACTORS(torchlike.from_numpy(each)) for each in matrices]
    close = {"rtol": 200 * np.finfo(dtype).eps, "atol": 200 * np.finfo(dtype).eps}
    for place, found in enumerate(together):
        np.testing.assert_allclose(found, np.stack([each[place].numpy() for each in alone]), **close)
    wanted = np.linalg.det(matrices.astype(np.float64))
    close["atol"] *= np.abs(wanted).max()
    np.testing.assert_allclose(torchlike.linalg.det(torchlike.from_numpy(matrices)), wanted, **close)


@pytest.mark.parametrize("size", [1, 3, 7])
def test_many_equations_are_solved_and_singular_ones_are_refused(size):
    matrices, sides = make(8 * size + 5, size, np.float64)[4:], np.random.default_rng(0).standard_normal((size, 2))
    given, right = torchlike.from_numpy(matrices), torchlike.from_numpy(sides).expand(len(matrices), size, 2)
    np.testing.assert_allclose((given @ torchlike.linalg.solve(given, right)).numpy(), right.numpy(), atol=1e-12)
    matrices[5] = 0
    with pytest.raises(
        RuntimeError, match=r"\(Batch element 5\): The solver failed because the input matrix is singular"
    ):
        torchlike.linalg.solve(torchlike.from_numpy(matrices), right).numpy()
