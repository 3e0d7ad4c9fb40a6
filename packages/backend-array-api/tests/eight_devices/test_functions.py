"""Linear algebra, transforms and scattered reductions of tensors over eight devices: the values of one."""

from __future__ import annotations

import numpy as np
import pytest

import torchlike as t
from dispatch_core.runtime import computed_on_host
from torchlike.distributed.tensor import Replicate, Shard, distribute_tensor

L = t.linalg
#: Functions of positive-definite matrices (..., 8, 8).
FUNCTIONS = {
    "cholesky": L.cholesky,
    "inv": L.inv,
    "solve": lambda x: L.solve(x, x[..., :2] + 1),
    "solve_triangular": lambda x: L.solve_triangular(x, x[..., :2], upper=False),
    "lu": lambda x: L.lu(x)[1],
    "slogdet": lambda x: L.slogdet(x).logabsdet,
    "qr": lambda x: L.qr(x).R,
    "svdvals": L.svdvals,
    "eigvalsh": L.eigvalsh,
    "eigvals": lambda x: L.eigvals(x).real.sort().values,
    "matrix_exp": lambda x: t.matrix_exp(x / 16),
    "fft2": lambda x: t.view_as_real(t.fft.fft2(x)),
    "irfft": lambda x: t.fft.irfft(x[..., :5] * (1 + 1j), dim=-2),
    "scatter_reduce": lambda x: x.scatter_reduce(-1, (x > 1).long(), x, "amin"),
    "index_reduce": lambda x: x.index_reduce(-1, t.tensor([0, 7, 0], device=x.device), x[..., :3], "mean"),
    "lgamma": lambda x: t.lgamma(x.abs() + 1),
}
WAYS = {"rows": ((8,), (Shard(0), Replicate())), "blocks": ((), (Shard(0), Shard(1)))}


def make(batch):
    found = np.random.default_rng(5).normal(size=(*batch, 8, 8))
    return t.from_numpy(found @ np.swapaxes(found, -1, -2) + np.eye(8))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_of_placed_tensors_are_those_of_the_cpu(name, way, grid):
    batch, placements = WAYS[way]
    x = make(batch)
    expected, before = FUNCTIONS[name](x).numpy(), computed_on_host("jax")
    placed = distribute_tensor(x.to("jax"), grid, list(placements))
    with t.pipeline():
        recorded = FUNCTIONS[name](placed * 1) * 1
    for found in (FUNCTIONS[name](placed), recorded):
        np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=1e-9, atol=1e-9)
    assert computed_on_host("jax") == before


def test_the_first_singular_matrix_of_all_devices_is_named(grid):
    x = make((8,))
    x[5] = 1
    placed = distribute_tensor(x.to("jax"), grid, [Shard(0), Replicate()])
    assert L.inv_ex(placed).info.cpu().tolist() == L.inv_ex(x).info.tolist()
    with pytest.raises(L.LinAlgError, match="Batch element 5"):
        L.solve(placed, placed)
    with pytest.raises(L.LinAlgError, match="Batch element 5"), t.pipeline():
        found = L.cholesky(placed * 1)
    with pytest.raises(L.LinAlgError):
        found.tolist()


@pytest.mark.parametrize("name", ["inv", "cholesky"])
def test_a_captured_function_names_the_singular_matrix(grid, name):
    captured = t.capture(lambda x: getattr(L, name)(x).sum())
    good, bad = make((8,)), make((8,))
    bad[5] = 0
    for x in (good, good, good, bad):
        found = captured(distribute_tensor(x.to("jax"), grid, [Shard(0), Replicate()]))
        if x is good:
            t.testing.assert_close(found.full_tensor().cpu(), getattr(L, name)(x).sum())
    with pytest.raises(L.LinAlgError, match="Batch element 5"):
        found.tolist()
