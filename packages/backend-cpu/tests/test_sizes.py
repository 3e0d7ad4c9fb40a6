"""Kernels that take another way for large arrays than for small ones give the same elements by both."""

from __future__ import annotations

import numpy as np
import pytest

import torchlike
from torchlike.nn import functional

RANDOM = np.random.default_rng(0)
GRID = torchlike.tensor(RANDOM.random((1, 40, 40, 2)) * 2.4 - 1.2)

#: Calls that treat every image of a batch alike.
BY_IMAGE = {
    "max_pool2d": lambda x: functional.max_pool2d(x, 3, 2, 1),
    "max_pool2d of gaps": lambda x: functional.max_pool2d(x, 2, 1, 0, 2),
    "max_pool2d with places": lambda x: functional.max_pool2d(x, 3, 1, 1, return_indices=True)[1],
    "avg_pool2d": lambda x: functional.avg_pool2d(x, 3, 2, 1),
    "adaptive_avg_pool2d": lambda x: functional.adaptive_avg_pool2d(x, (5, 3)),
    "grid_sample": lambda x: functional.grid_sample(x, GRID.expand(len(x), 40, 40, 2), align_corners=False),
}


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("name", BY_IMAGE)
def test_a_large_batch_gives_what_its_images_give(name, nan):
    images = RANDOM.standard_normal((30, 6, 12, 11))
    if nan:
        images[::7, :, 3, 4] = np.nan
    given = torchlike.tensor(images)
    alone = [BY_IMAGE[name](each[None]) for each in given]
    np.testing.assert_array_equal(BY_IMAGE[name](given).numpy(), torchlike.cat(alone).numpy())


@pytest.mark.parametrize("sizes", [(5, 6), (70, 80)])
@pytest.mark.parametrize(("mode", "meant"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_borders_are_those_of_numpy(sizes, mode, meant):
    images = RANDOM.standard_normal((2, 3, *sizes))
    found = functional.pad(torchlike.tensor(images), (1, 3, 4, 2), mode=mode)
    np.testing.assert_array_equal(found.numpy(), np.pad(images, ((0, 0), (0, 0), (4, 2), (1, 3)), meant))


@pytest.mark.parametrize("sizes", [(4, 5), (2, 70, 60), (60, 90)])
@pytest.mark.parametrize("diagonal", [-65, -2, 0, 3, 80])
def test_triangles_are_those_of_numpy(sizes, diagonal):
    matrices = RANDOM.standard_normal(sizes)
    for name in ("tril", "triu"):
        found = getattr(torchlike.tensor(matrices), f"{name}_")(diagonal)
        np.testing.assert_array_equal(found.numpy(), getattr(np, name)(matrices, diagonal))


@pytest.mark.parametrize("wanted", [2, 3, 50])
def test_few_long_windows_are_averaged_as_slices_are(wanted):
    lines = RANDOM.standard_normal((30, 6, 101))
    bounds = [(place * 101 // wanted, -(-(place + 1) * 101 // wanted)) for place in range(wanted)]
    meant = np.stack([lines[..., start:stop].mean(-1) for start, stop in bounds], -1)
    found = functional.adaptive_avg_pool1d(torchlike.tensor(lines), wanted)
    np.testing.assert_allclose(found.numpy(), meant, rtol=1e-12)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("sizes", [[3] * 5, [40] * 200, [2, 0, 5, 1], [2, 0, 300, 1]])
def test_bags_hold_the_rows_that_they_name(mode, sizes):
    weight = RANDOM.standard_normal((17, 130))
    named = [RANDOM.integers(0, 17, size) for size in sizes]
    starts = np.cumsum([0, *sizes[:-1]])
    found = functional.embedding_bag(*map(torchlike.tensor, (np.concatenate(named), weight, starts)), mode=mode)
    zeros = np.zeros(130)
    meant = [getattr(weight[each], mode)(0) if each.size else zeros for each in named]
    np.testing.assert_allclose(found.numpy(), meant, rtol=1e-10, atol=1e-12)
