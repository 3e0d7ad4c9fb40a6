"""Operators of the cpu backend that read and write through indices, beside torch's."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

from cpu_cases import (
    FLOATS,
    array,
    broadcastable,
    flag,
    generator_for,
    matrix,
    overload,
    pick,
    some_dim,
    tame,
    to_torch,
)


def some_index(rng, size, shape=None, *, wrong=0.03):
    shape = pick(rng, [(), (1,), (3,), (2, 3), (0,), (2, 1)]) if shape is None else shape
    low, high = (-size, size) if size else (0, 1)
    return np.asarray(rng.integers(low, high, shape) + (size if rng.random() < wrong else 0))


def some_indices(rng, a):
    """Draw a list of indices: None, integers that broadcast with each other mostly, masks."""
    if rng.random() < 0.2 and a.ndim:
        return [rng.random(a.shape[: int(rng.integers(1, a.ndim + 1))]) < 0.5]
    shape = pick(rng, [(), (1,), (3,), (2, 3)])
    result = []
    for size in a.shape[: int(rng.integers(1, a.ndim + 1))] if a.ndim else [0]:
        draw = rng.random()
        if draw < 0.3:
            result.append(None)
        elif draw < 0.4:
            result.append(rng.random(size) < 0.5)
        else:
            result.append(some_index(rng, size, shape if rng.random() < 0.9 else None))
    if all(index is None for index in result):
        result[-1] = some_index(rng, a.shape[len(result) - 1] if a.ndim else 0, shape)
    return result


def test_index(compare):
    rng = generator_for("index")
    for _ in range(600):
        a = tame(rng, ("float32", "int64", "bool"))
        compare("index.Tensor", [a, some_indices(rng, a)])


def test_index_put(compare):
    rng = generator_for("index_put")
    for _ in range(400):
        a = tame(rng, ("float32", "int64"))
        indices = some_indices(rng, a)
        try:
            shape = overload("index.Tensor")(to_torch(a), to_torch(indices)).shape
        except (RuntimeError, IndexError):
            shape = (2,)
        values = array(
            rng, broadcastable(rng, tuple(shape)), a.dtype if rng.random() < 0.95 else "int32", special=False
        )
        accumulate = flag(rng)
        unique = accumulate or values.ndim == 0
        compare("index_put_", [a, indices, values if unique else values.reshape(-1)[:1], accumulate])


def test_gather_and_scatter(compare):
    rng = generator_for("gather")
    for _ in range(400):
        a = tame(rng, ("float32", "int64"))
        dim = some_dim(rng, a.ndim)
        wrapped = dim % a.ndim if a.ndim and -a.ndim <= dim < a.ndim else 0
        shape = [int(rng.integers(0, size + 1)) for size in a.shape]
        if shape:
            shape[wrapped] = int(rng.integers(0, 4))
        size = a.shape[wrapped] if a.ndim else 1
        index = np.asarray(rng.integers(0, max(size, 1) + (rng.random() < 0.05), shape))
        compare("gather", [a, dim, index], {"sparse_grad": False})
        src = array(rng, tuple(size + 1 for size in shape), a.dtype, special=False)
        compare("scatter_add_", [a, dim, index, src])
        compare("scatter_.value", [a, dim, index, 3])


def test_index_select_and_kin(compare):
    rng = generator_for("index_select")
    for _ in range(300):
        a = tame(rng, ("float32", "int64"))
        dim = some_dim(rng, a.ndim)
        size = a.shape[dim] if a.ndim and -a.ndim <= dim < a.ndim else 1
        index = np.asarray(rng.integers(0, max(size, 1) + (rng.random() < 0.05), pick(rng, [(3,), (), (0,), (2, 1)])))
        if size and (not index.size or index.max() < size):
            compare("index_select", [a, dim, index])
        compare("take", [a, some_index(rng, a.size)])
        mask = np.asarray(rng.random(broadcastable(rng, a.shape)) < 0.5)
        compare("masked_select", [a, mask])
        compare("nonzero", [a])
        source = array(rng, (a.size,), a.dtype, special=False)
        compare("masked_scatter_", [a, mask, source])
        if a.size and a.ndim and index.ndim == 1 and -a.ndim <= dim < a.ndim and (not index.size or index.max() < size):
            shape = list(a.shape)
            shape[dim] = index.size
            compare(
                "index_add_",
                [a, dim, index, array(rng, tuple(shape), a.dtype, special=False)],
                {"alpha": pick(rng, [1, 2])},
            )


def test_embedding(compare):
    rng = generator_for("embedding")
    for _ in range(100):
        weight = matrix(rng, (5, 3), pick(rng, FLOATS))
        indices = np.asarray(rng.integers(0, 5 + (rng.random() < 0.1), pick(rng, [(), (4,), (2, 3), (0,)])))
        compare("embedding", [weight, indices, pick(rng, [-1, 1]), flag(rng), False])
        grad = array(rng, (*indices.shape, 3), "float32", special=False)
        if indices.size and indices.max() < 5:
            compare("embedding_dense_backward", [grad, indices, 5, pick(rng, [-1, 1]), flag(rng)])
