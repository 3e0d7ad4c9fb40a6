"""Operators of the cpu backend that make and fill arrays, beside torch's."""

import pytest

pytest.importorskip("torch", reason="the oracle of these tests is torch")

import torch
from cpu_cases import SCALAR_TYPES, SHAPES, array, deviates, generator_for, maybe_dtype, overload, pick, tame, to_torch

import torchlike
from dispatch_aten.dtypes import ScalarType
from dispatch_backend_cpu.arrays import dtype_of, strides_of
from dispatch_backend_cpu.kernels import KERNELS

FACTORIES = {
    "zeros": lambda rng: (list(pick(rng, SHAPES)),),
    "ones": lambda rng: (list(pick(rng, SHAPES)),),
    "full": lambda rng: (list(pick(rng, SHAPES)), pick(rng, [1, 2.5, True, -1, 300])),
    "arange": lambda rng: (pick(rng, [5, 0, 2.5, -1]),),
    "arange.start": lambda rng: (pick(rng, [0, 1, 0.5]), pick(rng, [5, 0, 2.5])),
    "arange.start_step": lambda rng: (pick(rng, [0, 5, 0.5]), pick(rng, [5, 0, 2.5]), pick(rng, [1, 2, 0.25, -1, 0])),
    "linspace": lambda rng: (pick(rng, [0, -3, 0.5]), pick(rng, [5, 10, 2.5]), pick(rng, [0, 1, 2, 7, 10, -1])),
    "eye": lambda rng: (int(rng.integers(-1, 4)),),
    "eye.m": lambda rng: (int(rng.integers(0, 4)), int(rng.integers(-1, 4))),
    "scalar_tensor": lambda rng: (pick(rng, [1, 2.5, True]),),
    "empty_strided": lambda rng: pick(rng, [([2, 3], [1, 2]), ([2], [0]), ([2, 2], [5, 1]), ([2], [1, 1])]),
    "empty.memory_format": lambda rng: (list(pick(rng, SHAPES)),),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories(compare, name):
    rng = generator_for(name)
    for _ in range(80):
        dtype = maybe_dtype(
            rng, (ScalarType.Float, ScalarType.Double, ScalarType.Long, ScalarType.Byte, ScalarType.Half)
        )
        args = FACTORIES[name](rng)
        if deviates(name, args, {"dtype": dtype}):
            continue
        if name.startswith("empty"):
            expect_layout(name, args, {"dtype": dtype})
        else:
            compare(name, args, {"dtype": dtype})


def expect_layout(name, args, kwargs):
    try:
        theirs = overload(name)(*args, **{key: to_torch(value) for key, value in kwargs.items()})
    except RuntimeError:
        with pytest.raises(RuntimeError):
            KERNELS[name](*args, **kwargs)
        return
    ours = KERNELS[name](*args, **kwargs)
    assert (ours.shape, strides_of(ours), dtype_of(ours)) == (theirs.shape, theirs.stride(), SCALAR_TYPES[theirs.dtype])


def test_likes_and_fills(compare):
    rng = generator_for("likes")
    for _ in range(150):
        a = tame(rng)
        dtype = {"dtype": maybe_dtype(rng)}
        value = pick(rng, [1, 0, True, 2.5, -1, 300])
        compare("zeros_like", [a], dtype)
        compare("ones_like", [a], dtype)
        compare("full_like", [a, value], dtype)
        compare("new_zeros", [a, [2, 3]], dtype)
        compare("new_ones", [a, [2]], dtype)
        compare("new_full", [a, [2], value], dtype)
        compare("fill.Scalar", [a, value])
        compare("fill_.Scalar", [a, value])
        compare("fill_.Tensor", [a, array(rng, pick(rng, [(), (), (1,)]), "uint8")])
        compare("zero_", [a])
        compare("tril", [a, int(rng.integers(-2, 3))])
        compare("triu", [a, int(rng.integers(-2, 3))])


LINES = [(-1, 1, 28), (0, 10, 100), (0.1, 0.7, 101), (3, -2, 64), (1e-3, 1e4, 77), (1, 2, 1), (1, 2, 2), (1, 2, 0)]


@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT", reason="torch multiplies and adds in two steps"
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "int64"])
def test_lines_are_rounded_as_torch_rounds_them(dtype):
    for line in LINES:
        ours, theirs = (library.linspace(*line, dtype=getattr(library, dtype)) for library in (torchlike, torch))
        assert ours.tolist() == theirs.tolist()
    grids = [
        library.nn.functional.affine_grid(library.eye(2, 3)[None].repeat(2, 1, 1), (2, 1, 28, 7), align_corners=corners)
        for library in (torchlike, torch)
        for corners in (False, True)
    ]
    assert [grid.tolist() for grid in grids[:2]] == [grid.tolist() for grid in grids[2:]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_long_lines_that_are_filled_in_parts_are_torchs(dtype):
    for steps in (32_768, 32_769, 70_000):
        ours, theirs = (library.linspace(-1, 3, steps, dtype=getattr(library, dtype)) for library in (torchlike, torch))
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_lines_of_integers_cut_wrap_and_refuse_their_ends_as_torch(dtype):
    for start, end in [(0, 200), (0, 300), (-5, 5), (-300, 0), (2.7, 9.9), (0.5, -3.5), (0, 70000), (0, 2**40)]:
        for steps in (0, 1, 2, 5):
            found = []
            for library in (torch, torchlike):
                try:
                    found.append(library.linspace(start, end, steps, dtype=getattr(library, dtype)).tolist())
                except RuntimeError as error:
                    found.append(str(error).partition(" (argument")[0])
            assert found[0] == found[1], (start, end, steps)
