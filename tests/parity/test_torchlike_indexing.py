"""Random indices, read and written, beside torch; wrong ones too."""

import itertools
import warnings

import numpy as np
import pytest
from comparison import ignore_warnings
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

small = st.integers(-4, 4)
ints = st.lists(st.integers(-2, 1), min_size=1, max_size=3)
PARTS = st.one_of(
    st.tuples(st.just("int"), small),
    st.tuples(st.just("slice"), st.tuples(st.none() | small, st.none() | small, st.none() | st.integers(-1, 3))),
    st.tuples(st.just("none"), st.none()),
    st.tuples(st.just("ellipsis"), st.none()),
    st.tuples(st.just("bool"), st.booleans()),
    st.tuples(st.just("list"), ints),
    st.tuples(st.just("tensor"), ints),
    st.tuples(st.just("matrix"), ints),
    st.tuples(st.just("number"), st.integers(-2, 1)),
    st.tuples(st.just("mask"), st.lists(st.booleans(), min_size=2, max_size=3)),
    st.tuples(st.just("float"), st.just(1.5)),
)
SHAPES = st.lists(st.integers(1, 3), max_size=4).map(tuple)


def build(t, part):
    kind, value = part
    match kind:
        case "slice":
            return slice(*value)
        case "ellipsis":
            return ...
        case "tensor" | "number" | "mask":
            return t.tensor(value)
        case "matrix":
            return t.tensor([value, value[::-1]])
    return value


def outcome(t, shape, parts, write):
    index = tuple(build(t, part) for part in parts)
    index = index[0] if len(index) == 1 else index
    base = t.arange(float(np.prod(shape))).reshape(shape).clone().requires_grad_()
    target = base * 1
    try:
        with ignore_warnings():
            if write == "number":
                target[index] = -1.0
                found = target
            elif write == "tensor":
                target[index] = t.tensor([-2.0])
                found = target
            else:
                found = target[index]
            # In a pipeline a wrong value of an index shows when the result is asked for.
            found.tolist()
    except Exception as error:  # noqa: BLE001  # its class is compared
        return next(cls.__name__ for cls in (IndexError, TypeError, ValueError, RuntimeError) if isinstance(error, cls))
    found.sum().backward()
    strides = found.stride() if found.numel() else None
    return tuple(found.shape), strides, found.detach().numpy().tolist(), base.grad.numpy().tolist()


@settings(max_examples=1500)
@given(SHAPES, st.lists(PARTS, min_size=1, max_size=4), st.sampled_from(["no", "number", "tensor"]))
def test_random_indices(shape, parts, write):
    assume(
        [kind for kind, _ in parts].count("ellipsis") < 2
    )  # torch takes a second one for more dimensions than there are
    theirs, ours = outcome(torch, shape, parts, write), outcome(torchlike, shape, parts, write)
    if ours == "IndexError" and not isinstance(theirs, str) and 0 in outcome(torch, shape, parts, "no")[0]:
        return  # where nothing is selected torch does not look at the indices, and we do
    assert ours == theirs


@pytest.mark.no_pipeline(reason="a kernel in a pipeline warns where it runs")
def test_warnings_tell_the_users_line():
    x, mask = torchlike.ones(3), torchlike.tensor([1, 0, 1], dtype=torchlike.uint8)
    calls = [lambda: x[mask], lambda: torchlike.add(x, x, out=torchlike.ones(2)), lambda: torchlike.ones(1).var()]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in calls:
            call()
    assert [each.filename for each in caught] == [__file__] * len(calls)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_means_of_scattered_elements_round_as_torchs(dtype):
    def function(t):
        place = t.arange(300) * 7 % 50
        values = (t.arange(600.0) * 37 % 101 / 7).view(300, 2)
        source = t.view_as_complex(values) if dtype == "complex64" else values[:, 0].to(getattr(t, dtype))
        return t.ones(50, dtype=source.dtype).scatter_reduce(0, place, source, "mean").tolist()

    assert function(torchlike) == function(torch)


def test_a_write_without_an_index_is_refused():
    for t in (torch, torchlike):
        with pytest.raises(RuntimeError):
            t.ones(()).index_put([], t.ones(1), True)


def test_several_ellipses_each_pass_over_the_dimensions_without_an_index():
    kinds = {".": ..., "0": 0, "n": None, "t": [1, 0]}  # torch reads sizes of slices beyond the last
    for names in ("".join(each) for count in (2, 3) for each in itertools.product(kinds, repeat=count)):
        if names.count(".") < 2:
            continue
        found = []
        for library in (torch, torchlike):
            t = library.arange(24).reshape(2, 3, 4)
            index = tuple(library.tensor(kinds[name]) if name == "t" else kinds[name] for name in names)
            try:
                part = t[index]
                t[index] = 7
                found.append((tuple(part.shape), t.tolist()))
            except IndexError as error:
                found.append("tuple" in str(error))
        assert found[0] == found[1], names
