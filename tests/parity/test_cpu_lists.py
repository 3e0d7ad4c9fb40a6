"""Operators of the cpu backend that join, repeat and sort, beside torch's."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

from cpu_cases import ALL, LAYOUTS, SHAPES, array, arrays, flag, generator_for, pick, some_dim, some_dims, tame


def test_lists(compare):
    rng = generator_for("lists")
    for _ in range(300):
        shape = pick(rng, [shape for shape in SHAPES if shape])
        dim = some_dim(rng, len(shape))
        parts = []
        dtype = pick(rng, ALL)
        for _ in range(int(rng.integers(0 if rng.random() < 0.05 else 1, 4))):
            size = list(shape)
            if -len(shape) <= dim < len(shape):
                size[dim] = int(rng.integers(0, 4))
            if rng.random() < 0.05:
                size = [0]
            dtype = dtype if rng.random() < 0.8 else pick(rng, ALL)
            parts.append(array(rng, tuple(size), dtype, pick(rng, LAYOUTS), special=False))
        compare("cat", [parts, dim])
        same = [array(rng, shape, pick(rng, ALL), pick(rng, LAYOUTS), special=False) for _ in range(3)]
        compare("stack", [same, int(rng.integers(-len(shape) - 1, len(shape) + 1))])
        a = tame(rng)
        compare(
            "repeat",
            [a, [int(times) for times in rng.integers(0, 3, a.ndim + int(rng.integers(-1, 2)) if a.ndim else 1)]],
        )
        compare("flip", [a, some_dims(rng, a.ndim, none=False)])
        dims = [int(dim) for dim in rng.permutation(a.ndim)[: int(rng.integers(0, 3))]]
        compare("roll", [a, [int(step) for step in rng.integers(-3, 4, max(len(dims), 1))], dims])


def test_sorting(compare):
    rng = generator_for("sorting")
    for _ in range(300):
        a = arrays(rng, 1)[0]
        dim, descending = some_dim(rng, a.ndim), flag(rng)
        compare("sort.stable", [a], {"stable": True, "dim": dim, "descending": descending})
        distinct = np.asarray(rng.permutation(max(a.size, 1))[: a.size].reshape(a.shape).astype("float32"))
        compare("sort", [distinct, dim, descending])
        compare("topk", [distinct, int(rng.integers(-1, 4)) if a.ndim else 1, dim, flag(rng), True])
