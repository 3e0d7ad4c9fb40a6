"""`vmap` over nested and sparse tensors, and calls with masks and places, where torch computes them as well."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest
import torch
import torch.func

import torchlike
import torchlike.func

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's, of its fallbacks and of layouts in beta state
SEEDS = range(4)


def make_nested(lib, seed):
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    rows = [numbers.standard_normal((draw.randint(1, 4), 3)) for _ in range(draw.randint(1, 4))]
    return lib.nested.nested_tensor([lib.from_numpy(row) for row in rows], layout=lib.jagged)


def make_sparse(lib, seed, sparse_dim):
    numbers = np.random.default_rng(seed)
    dense = lib.from_numpy(numbers.standard_normal((3, 2, 4)) * (numbers.random((3, 2, 4)) > 0.4))
    return dense.to_sparse(sparse_dim)


#: Functions of a library and a row of sizes (length, 3).
OF_ROWS = {
    "itself": lambda lib, x: x,
    "element-wise": lambda lib, x: (x * 2 + 1).sin() - x.exp() / 3,
    "sum": lambda lib, x: x.sum(),
    "sum of the rows": lambda lib, x: x.sum(0),
    "sum of the last": lambda lib, x: x.sum(-1),
    "product": lambda lib, x: x @ lib.ones(3, 2, dtype=lib.float64),
    "softmax": lambda lib, x: x.softmax(-1),
    "softmax of the rows": lambda lib, x: x.softmax(0),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OF_ROWS)
def test_mapped_rows_of_nested_tensors_are_torchs(name, seed):
    theirs, ours = (lib.func.vmap(partial(OF_ROWS[name], lib))(make_nested(lib, seed)) for lib in (torch, torchlike))
    for one, other in zip(theirs.unbind(), ours.unbind(), strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-12)


#: Functions of a sparse row of sizes (2, 4).
OF_SPARSE = {
    "itself": lambda x: x,
    "scaled": lambda x: x * 2,
    "added": lambda x: x + x,
    "element-wise": lambda x: x.sin(),
    "dense": lambda x: x.to_dense(),
    "sum": lambda x: x.sum(),
    "negative": lambda x: -x,
}


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OF_SPARSE)
def test_mapped_rows_of_sparse_tensors_are_torchs(name, seed, sparse_dim):
    theirs, ours = (lib.func.vmap(OF_SPARSE[name])(make_sparse(lib, seed, sparse_dim)) for lib in (torch, torchlike))
    assert str(theirs.layout).partition(".")[2] == str(ours.layout).partition(".")[2]
    np.testing.assert_allclose(ours.to_dense().numpy(), theirs.to_dense().numpy(), rtol=1e-12)


@pytest.mark.parametrize("in_dims", [1, 2, -1])
def test_nested_tensors_are_mapped_over_the_batch_alone(in_dims):
    for lib in (torch, torchlike):
        with pytest.raises(RuntimeError, match=f"can only be vmapped over dim=0, but got dim={in_dims % 3}"):
            lib.func.vmap(lambda x: x * 2, in_dims=in_dims)(make_nested(lib, 0))


@pytest.mark.parametrize("seed", SEEDS)
def test_elements_by_masks_and_places_are_torchs(seed):
    found = []
    for lib in (torch, torchlike):
        x = make_nested(lib, seed)
        flat = lib.nested.nested_tensor_from_jagged(x.values()[:, 0].contiguous(), x.offsets())
        chosen = flat.masked_select(flat > 0)
        rows = lib.arange(len(x))
        put = x.index_put((rows, lib.zeros(len(x), dtype=lib.int64)), lib.full((len(x), 3), 5.0, dtype=lib.float64))
        whole = x.index_put((rows[:1],), lib.tensor(7.0, dtype=lib.float64))
        bags = lib.nested.nested_tensor_from_jagged(lib.arange(x.values().shape[0]), x.offsets())
        summed = lib.nn.functional.embedding_bag(bags, x.values(), mode="sum")
        found.append([*([row.tolist() for row in each.unbind()] for each in (chosen, put, whole)), summed.tolist()])
    for one, other in zip(*found, strict=True):
        assert str(one) == str(other) or np.allclose(one, other)
