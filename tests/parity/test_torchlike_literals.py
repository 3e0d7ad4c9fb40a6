"""``tensor``, ``as_tensor`` and ``Tensor`` of Python's data, beside torch: dtypes, shapes, values, refusals."""

from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from comparison import attempt, builtin_class, describe, ignore_warnings
from hypothesis import given, settings
from hypothesis import strategies as st

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")


class Sequence:
    """Anything with a length and indices is read element by element."""

    def __init__(self, items):
        self.items = list(items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class Number:
    def __float__(self):
        return 1.5


class Index:
    def __index__(self):
        return 3


LEAVES = [
    *(lambda t, value=value: value for value in (True, False, 0, 3, -2, 2**40, 0.5, -1.25, 1e10, 1j, 2 - 1j)),
    *(lambda t, kind=kind: getattr(np, kind)(1) for kind in ("uint8", "int8", "int32", "int64", "float16")),
    *(lambda t, kind=kind: getattr(np, kind)(2.5) for kind in ("float32", "float64", "complex64", "complex128")),
    *(lambda t, kind=kind: t.tensor(3, dtype=getattr(t, kind)) for kind in ("uint8", "int16", "int64", "bool")),
    *(lambda t, kind=kind: t.tensor(2.5, dtype=getattr(t, kind)) for kind in ("float16", "float32", "float64")),
]
ODD_LEAVES = [
    *(lambda t, value=value: value for value in (None, "a", {1: 2}, {1}, 2**63, -(2**70), float("nan"), 1e300)),
    *(lambda t, value=value: value for value in (Fraction(1, 2), Decimal(2), Number(), Index(), np.str_("a"), [], ())),
    lambda t: t.tensor([1.0, 2.0]),
    lambda t: t.tensor([4]),
    lambda t: t.tensor(1.0, requires_grad=True),
    lambda t: np.array([1, 2], "u1"),
    lambda t: np.array([[1.5]], "f4"),
    lambda t: np.array(2, "i2"),
    lambda t: np.datetime64("2020"),
    lambda t: bytearray(b"ab"),
    lambda t: range(2),
]
CONTAINERS = [list, tuple, deque, Sequence]
DTYPES = [None, None, "float32", "float64", "float16", "int64", "int32", "uint8", "bool", "complex64"]


@st.composite
def sequences(draw):
    """Draw a function of the library that gives numbers in nested sequences, at times ragged or with other objects."""
    leaves = draw(st.sampled_from([LEAVES[:11], LEAVES, [*LEAVES, *ODD_LEAVES]]))

    def part(sizes):
        if not sizes:
            return draw(st.sampled_from(leaves))
        count = sizes[0] if draw(st.integers(0, 15)) else draw(st.integers(0, 3))
        items = [part(sizes[1:]) for _ in range(count)]
        container = draw(st.sampled_from(CONTAINERS))
        return lambda t: container([item(t) for item in items])

    return part(draw(st.lists(st.integers(0, 3), max_size=3)))


def outcome(t, make):
    """Return dtype, shape and elements, or the built-in class of the error."""
    with ignore_warnings():
        made, error = attempt(make, t)
    if error is not None:
        return builtin_class(error)
    return *describe(made, strides=False), made.requires_grad, repr(made.tolist())


def agree(ours, theirs):
    """Return whether outcomes agree; of several faults either library may name another first."""
    return ours == theirs or (ours in REFUSALS and theirs in REFUSALS)


REFUSALS = ("TypeError", "ValueError", "RuntimeError")


@settings(max_examples=1500)
@given(sequences(), st.sampled_from(DTYPES), st.sampled_from(["tensor", "as_tensor"]))
def test_numbers_in_sequences(data, dtype, function):
    def make(t):
        return getattr(t, function)(data(t), dtype=None if dtype is None else getattr(t, dtype))

    assert agree(outcome(torchlike, make), outcome(torch, make))


@pytest.mark.parametrize("dtype", [*sorted({*DTYPES} - {None}), None])
def test_what_is_no_number_is_refused_by_the_same_error(dtype):
    def options(t):
        return {} if dtype is None else {"dtype": getattr(t, dtype)}

    for number, leaf in enumerate(ODD_LEAVES):
        for inside in (
            lambda value: value,
            lambda value: [value],
            lambda value: [1, value],
            lambda value: [[2.0, value]],
        ):
            ours, theirs = (
                outcome(t, lambda t, leaf=leaf, inside=inside: t.tensor(inside(leaf(t)), **options(t)))
                for t in (torchlike, torch)
            )
            assert ours == theirs, (number, inside(leaf(torch)))


@settings(max_examples=300)
@given(sequences(), st.sampled_from(["float64", None]))
def test_the_default_dtype_is_that_of_pythons_numbers(data, default):
    def make(t):
        if default is not None:
            t.set_default_dtype(getattr(t, default))
        try:
            return t.tensor(data(t))
        finally:
            t.set_default_dtype(t.float32)

    assert agree(outcome(torchlike, make), outcome(torch, make))


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_the_class_makes_tensors_of_the_default_dtype(default):
    """``Tensor(...)`` takes sizes, data, or a tensor; the elements of a tensor made of sizes are not compared."""
    cases = [
        lambda t: (),
        lambda t: (2, 3),
        lambda t: (0,),
        lambda t: (t.Size([2, 1]),),
        lambda t: ([1.5, 2],),
        lambda t: ((2, 3),),
        lambda t: ([[True], [False]],),
        lambda t: ([],),
        lambda t: (deque([1, 2]),),
        lambda t: (range(3),),
        lambda t: (np.arange(3),),
        lambda t: (np.ones(2, np.float32),),
        lambda t: (t.tensor([1, 2]),),
        lambda t: (t.ones(2, requires_grad=True),),
        lambda t: (1.5,),
        lambda t: (2, 1.5),
        lambda t: ("a",),
        lambda t: (["a"],),
        lambda t: (None,),
        lambda t: ([1, [2]],),
        lambda t: (-1,),
        lambda t: ([1], 2),
        lambda t: ({1: 2},),
    ]
    for number, case in enumerate(cases):
        found = []
        for t in (torchlike, torch):
            t.set_default_dtype(getattr(t, default))
            try:
                arguments = case(t)
                sizes = all(isinstance(each, (int, t.Size)) for each in arguments)
                made = outcome(t, lambda t, arguments=arguments: t.Tensor(*arguments))
                found.append(made[:-1] if sizes else made)
            finally:
                t.set_default_dtype(t.float32)
        assert found[0] == found[1], (number, found)
