"""Printing, element by element like torch, on generated tensors."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

DTYPES = ["float32", "float64", "float16", "int64", "int32", "uint8", "int8", "bool", "complex64", "complex128"]
SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6)


def plain(text):
    """Leave out line breaks that depend on the length of our name: whether a note still fits on the last line."""
    return re.sub(r",\s+(?=dtype=|grad_fn=|requires_grad=)", ", ", text).replace("torchlike.", "torch.")


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=150)
@given(data=st.data())
def test_generated_elements(dtype, data):
    array = data.draw(arrays.arrays(dtype, SHAPES))
    with np.errstate(all="ignore"):
        assert plain(repr(torchlike.from_numpy(array))) == plain(repr(torch.from_numpy(array)))


@settings(max_examples=150)
@given(
    st.lists(
        st.one_of(
            st.integers(-1000, 1000).map(float),
            st.floats(-1e5, 1e5, width=32),
            st.sampled_from([0.0, float("inf"), float("-inf"), float("nan"), 1e-4, 9.99e-5, 1e8, 1.0001e8, 1e3]),
        ),
        max_size=40,
    )
)
def test_numbers_at_the_borders_of_the_layouts(numbers):
    array = np.array(numbers, np.float32)
    assert plain(repr(torchlike.from_numpy(array))) == plain(repr(torch.from_numpy(array)))


@pytest.mark.parametrize("edges", [0, 1])
@pytest.mark.parametrize("threshold", [0, 3, 1000])
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "int32"])
def test_edges_of_none_and_one(edges, threshold, dtype):
    texts = []
    for library in (torchlike, torch):
        library.set_printoptions(edgeitems=edges, threshold=threshold)
        try:
            shapes = [(), (1,), (2, 3), (0,), (0, 3), (1, 1, 1), (5,)]
            texts.append([plain(repr(library.ones(shape, dtype=getattr(library, dtype)))) for shape in shapes])
            texts[-1].append(plain(repr(library.ones(2, device="meta"))))
        finally:
            library.set_printoptions(profile="default")
    assert texts[0] == texts[1]


@pytest.mark.parametrize("shape", [(1001,), (40, 40), (7, 7, 7, 7), (2000, 1), (1, 2000), (3, 500), (8, 8, 20)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_summaries(shape, dtype):
    array = (np.arange(np.prod(shape)).reshape(shape) * 7 % 1013 / (1 if dtype == "int64" else 3)).astype(dtype)
    assert plain(repr(torchlike.from_numpy(array))) == plain(repr(torch.from_numpy(array)))


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.ones(3, requires_grad=True),
        lambda t: t.ones(3, requires_grad=True) + 1,
        lambda t: t.ones(2, 2, dtype=t.float64, requires_grad=True).exp(),
        lambda t: t.zeros(2, 0, 3),
        lambda t: t.zeros(0, dtype=t.int32),
        lambda t: t.empty(2, 3, device="meta"),
        lambda t: t.empty(2, 3, device="meta", dtype=t.int64),
        lambda t: t.empty(0, device="meta", dtype=t.float64, requires_grad=True),
        lambda t: t.nn.Parameter(t.arange(3.0)),
        lambda t: t.max(t.tensor([[1.0, 5.0], [7.0, 2.0]]), 1),
        lambda t: t.arange(30.0, dtype=t.float64).reshape(2, 15).requires_grad_(),
        lambda t: t.ones(3).shape,
        lambda t: t.finfo(t.float32),
        lambda t: t.finfo(t.bfloat16),
        lambda t: t.iinfo(t.int32),
        lambda t: t.nn.Sequential(t.nn.Linear(2, 3), t.nn.ReLU(), t.nn.Dropout(0.1), t.nn.Flatten()),
    ],
)
def test_notes_and_reprs(make):
    assert plain(repr(make(torchlike))) == plain(repr(make(torch)))
