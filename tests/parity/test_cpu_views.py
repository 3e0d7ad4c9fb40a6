"""Operators of the cpu backend that make views, copies, and gradients of views, beside torch's."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

from cpu_cases import LAYOUTS, array, arrays, generator_for, overload, pick, some_dim, some_dims, tame, to_torch

from dispatch_aten.dtypes import ScalarType
from dispatch_backend_cpu.arrays import storage, storage_offset_of
from dispatch_backend_cpu.kernels import KERNELS

VIEWS = {
    "view": lambda rng, a: ((pick(rng, [[-1], [a.size], list(a.shape), [1, -1], [a.size, 1], [2, -1], [-1, 3]]),), {}),
    "as_strided": lambda rng, a: (([2, 2], [1, 2], pick(rng, [None, 0, 1, 30])), {}),
    "select.int": lambda rng, a: ((some_dim(rng, a.ndim), int(rng.integers(-3, 4))), {}),
    "slice.Tensor": lambda rng, a: (
        (
            some_dim(rng, a.ndim),
            pick(rng, [None, int(rng.integers(-4, 5))]),
            pick(rng, [None, int(rng.integers(-4, 5)), 2**63 - 1]),
            pick(rng, [1, 1, 2, 3, 0]),
        ),
        {},
    ),
    "expand": lambda rng, a: ((pick(rng, [[3, *a.shape], [-1] * a.ndim, [4] * a.ndim, [2, 1, *a.shape]]),), {}),
    "permute": lambda rng, a: (([int(dim) for dim in rng.permutation(a.ndim)] if rng.random() < 0.9 else [0, 0],), {}),
    "transpose.int": lambda rng, a: ((some_dim(rng, a.ndim), some_dim(rng, a.ndim)), {}),
    "t": lambda rng, a: ((), {}),
    "squeeze": lambda rng, a: ((), {}),
    "squeeze.dim": lambda rng, a: ((some_dim(rng, a.ndim),), {}),
    "squeeze.dims": lambda rng, a: ((some_dims(rng, a.ndim, none=False),), {}),
    "unsqueeze": lambda rng, a: ((int(rng.integers(-a.ndim - 2, a.ndim + 2)),), {}),
    "split.Tensor": lambda rng, a: ((int(rng.integers(0, 4)), some_dim(rng, a.ndim)), {}),
    "split_with_sizes": lambda rng, a: (([1, 1], some_dim(rng, a.ndim)), {}),
    "unbind.int": lambda rng, a: ((some_dim(rng, a.ndim),), {}),
    "diagonal": lambda rng, a: ((int(rng.integers(-2, 3)), some_dim(rng, a.ndim), some_dim(rng, a.ndim)), {}),
    "alias": lambda rng, a: ((), {}),
    "detach": lambda rng, a: ((), {}),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(compare, name):
    rng = generator_for(name)
    for _ in range(150):
        a = tame(rng, ("float32", "int64", "bool"))
        if name == "as_strided" and not a.size:
            continue
        args, kwargs = VIEWS[name](rng, a)
        compare(name, [a, *args], kwargs, view=True)
        try:
            found = KERNELS[name](a, *args, **kwargs)
        except Exception:  # noqa: BLE001  # compared above
            continue
        for each in found if isinstance(found, list) else [found]:
            assert storage(each) is storage(a) or not each.size, name
            if each.size:
                assert storage_offset_of(each) == theirs_offset(name, a, args, kwargs, found, each), name


def theirs_offset(name, a, args, kwargs, found, each):
    theirs = overload(name)(to_torch(a), *args, **kwargs)
    return (theirs[[x is each for x in found].index(True)] if isinstance(found, list) else theirs).storage_offset()


def test_copies(compare):
    rng = generator_for("copies")
    for _ in range(300):
        a, b = arrays(rng, 2, same=0.5, special=False)
        b = np.asarray(np.abs(b)) if b.dtype.kind == "f" else b
        compare("copy_", [a, b])
        compare("clone", [a], {"memory_format": pick(rng, [None, 0, 1, 2])})
        a = np.asarray(np.abs(a)) if a.dtype.kind == "f" else a
        options = {"dtype": pick(rng, [None, ScalarType.Float, ScalarType.Long, ScalarType.Half, ScalarType.Bool])}
        compare("_to_copy", [a], options)
        if a.size == 1:
            compare("_local_scalar_dense", [a])


def test_backward_of_views(compare):
    rng = generator_for("backward_of_views")
    for _ in range(60):
        sizes = (3, 4, 4)
        grad = array(rng, (3, 4), "float32", pick(rng, LAYOUTS), special=False)
        compare("select_backward", [grad, list(sizes), pick(rng, [1, -2]), int(rng.integers(-4, 4))])
        grad = array(rng, (3, 2, 4), "float32", pick(rng, LAYOUTS), special=False)
        compare("slice_backward", [grad, list(sizes), 1, 1, 4, 2])
        grad = array(rng, (3, 3), "float32", pick(rng, LAYOUTS), special=False)
        compare("diagonal_backward", [grad, list(sizes), 1, 1, 2])
