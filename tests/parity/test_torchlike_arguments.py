"""Arguments in the forms that torch's functions and methods take: numbers beside ``out=``, None, names, shapes to assign."""

import itertools
import operator

import numpy as np
import pytest
from comparison import EXACT, assert_same, attempt, ignore_warnings

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")


def call(function, module, args):
    """Call a function with a module; in a pipeline an error that depends on values is raised when the result is shown."""
    result = function(module, *args)
    repr(result)
    return result


def compare(function, *args):
    """Call one function with both modules: it is refused by both, or gives the same."""
    with ignore_warnings():
        (theirs, refused), (ours, error) = (attempt(call, function, module, args) for module in (torch, torchlike))
    assert (refused is None) == (error is None), f"torch {theirs} {refused!r}, ours {ours} {error!r}"
    if refused is None:
        assert_same(ours, theirs, strides=False, tolerance=EXACT)


INDICES = {
    "row": lambda t: 0,
    "column": lambda t: (slice(None), 1),
    "element": lambda t: (1, 2),
    "all": lambda t: ...,
    "rows": lambda t: t.tensor([0, 2]),
    "columns": lambda t: (slice(None), t.tensor([1, 3])),
    "mask": lambda t: t.tensor([True, False, True]),
    "elements": lambda t: (t.tensor([0, 1]), t.tensor([1, 1])),
}
SHAPES = [(1, 1, 4), (1, 4), (1, 1), (1, 1, 1, 2), (1, 2, 4), (2, 1, 4), (1, 3, 1), (1, 1, 3, 4), (1, 2), (1, 1, 2, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("index", INDICES)
def test_leading_dimensions_of_one_are_dropped_from_what_is_assigned(index, shape):
    def assign(t):
        x = t.zeros(3, 4)
        x[INDICES[index](t)] = t.arange(float(np.prod(shape))).reshape(shape) + 1
        return x

    compare(assign)


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t.ones(2, 3).amax(None),
        lambda t: t.amax(t.ones(2, 3), None),
        lambda t: t.amax(t.ones(2, 3), dim=None),
        lambda t: t.amin(t.ones(2, 3), axis=None, keepdims=True),
        lambda t: t.amax(t.ones(2), keepdim=None),
        lambda t: t.roll(t.arange(6).reshape(2, 3), 2, dims=None),
        lambda t: t.roll(t.arange(6).reshape(2, 3), 2, None),
        lambda t: t.roll(t.ones(2), None),
        lambda t: t.arange(6).split(split_size=2),
        lambda t: t.arange(6).split(split_size=[2, 4]),
        lambda t: t.split(t.arange(6), split_size_or_sections=4),
        lambda t: t.split(t.arange(6), split_size=4),
        lambda t: t.arange(6).split(split_size_or_sections=4),
        lambda t: t.add(t.ones(2), 2, alpha=3, out=t.empty(2)),
        lambda t: t.div(t.ones(2), 2, rounding_mode="floor", out=t.empty(2)),
    ],
)
def test_names_and_none(function):
    compare(function)


NUMBERED = ("add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "fmod", "eq", "bitwise_and")


@pytest.mark.parametrize("number", [2, 2.5, True, 300, -1])
@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8", "bool"])
@pytest.mark.parametrize("name", NUMBERED)
def test_a_number_beside_out(name, dtype, number):
    if (name, dtype, number) == ("pow", "uint8", 300):
        pytest.skip("torch refuses an exponent that uint8 cannot hold beside out= alone; the other operators wrap it")
    for shape, result in itertools.product([(3,), ()], ["float64", "int64", "bool"]):
        compare(
            lambda t, shape=shape, result=result: getattr(t, name)(
                t.ones(shape, dtype=getattr(t, dtype)), number, out=t.empty(shape, dtype=getattr(t, result))
            )
        )


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "bool", "float32", "complex64"])
@pytest.mark.parametrize("shift", [operator.lshift, operator.rshift])
def test_shifts(shift, dtype):
    values = [1, 2, -3, 100, -128, 127] if dtype != "uint8" else [1, 2, 3, 100, 128, 255]
    for count in (0, 1, 6, 7, 8, -1, 15, 31, 32, 62, 63, 64, 1000, 2**40, True, 1.5):
        x = lambda t: t.tensor(values, dtype=getattr(t, dtype))
        compare(lambda t, x=x, count=count: shift(x(t), count))
        compare(lambda t, x=x, count=count: shift(count, x(t)))
        compare(lambda t, x=x, count=count: shift(x(t), t.tensor(count)))
        compare(lambda t, x=x, count=count: shift(x(t), t.tensor([count])))
    way = "left" if shift is operator.lshift else "right"
    compare(lambda t: (operator.ilshift if way == "left" else operator.irshift)(x(t), 2))
    compare(lambda t: getattr(x(t), f"bitwise_{way}_shift_")(x(t)))
    compare(lambda t: getattr(t, f"bitwise_{way}_shift")(x(t), 1, out=t.empty(6, dtype=t.int64)))
