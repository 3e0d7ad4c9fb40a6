"""``bfloat16`` and the 8-bit floats against torch: conversions bit by bit, operators, random streams, refusals."""

import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
SHAPES = [(), (0, 3), (3, 4), (2, 1, 5)]
RNG = np.random.default_rng(0)


def pair(array, dtype="bfloat16"):
    return tuple(m.tensor(array, dtype=getattr(m, dtype)) for m in (torchlike, torch))


def values(result):
    return [result.double().tolist(), str(result.dtype).rpartition(".")[2]]


@pytest.mark.parametrize("dtype", ["bfloat16", *FLOAT8])
@pytest.mark.parametrize("source", ["float64", "float32", "float16", "int64", "int8", "bool", "complex64"])
def test_conversions_round_and_saturate_as_torchs(dtype, source):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = (RNG.standard_normal(999) * np.exp(RNG.standard_normal(999) * 9)).astype(source)
        if array.dtype.kind == "f":
            array[:5] = [np.nan, np.inf, -np.inf, -0.0, 0]
        ours, theirs = (m.from_numpy(array).to(getattr(m, dtype)).float() for m in (torchlike, torch))
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


ONE = "exp log sqrt rsqrt sin tanh sigmoid erf relu abs neg floor round sign reciprocal log1p"
FOLDS = "cumsum softmax sum mean prod std"
TWO = "add sub mul div pow maximum minimum atan2 remainder fmod lt eq hypot matmul"


@pytest.mark.parametrize("name", [*ONE.split(), *FOLDS.split()])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_functions_of_one_tensor(name, shape):
    array = np.abs(RNG.standard_normal(shape)) + 0.1
    args = (0,) if name in ("cumsum", "softmax") else ()
    if name == "std" and array.size < 2:
        return
    ours, theirs = (values(getattr(a, name)(*args)) for a in pair(array))
    assert ours[1] == theirs[1]
    # Torch rounds some steps of a few functions (rsqrt, softmax), in some of its loops.
    np.testing.assert_allclose(ours[0], theirs[0], rtol=2**-6)


@pytest.mark.parametrize("name", TWO.split())
@pytest.mark.parametrize("other", ["bfloat16", "float16", "float32", "int64", "bool", "number"])
def test_functions_of_two_tensors_and_of_numbers(name, other):
    if not hasattr(torchlike, name) or (name == "matmul" and other != "bfloat16"):
        return
    array = np.abs(RNG.standard_normal((4, 4))) * 5 + 0.3
    left = pair(array)
    right = (2.3, 2.3) if other == "number" else pair(array.T.round(2) + 1, other)
    found = []
    for m, a, b in zip((torchlike, torch), left, right, strict=True):
        try:
            found.append(values(getattr(m, name)(a, b)))
        except (RuntimeError, TypeError) as error:
            found.append([type(error).__mro__[-3].__name__, ""])
    assert found[0][1] == found[1][1]
    if found[0][1]:
        np.testing.assert_allclose(found[0][0], found[1][0], rtol=2**-7)


@pytest.mark.parametrize(
    "draw", ["rand", "randn", "uniform_", "normal_", "exponential_", "random_", "randint", "bernoulli"]
)
@pytest.mark.parametrize("size", [3, 16, 41])
def test_random_streams(draw, size):
    found = []
    for m in (torchlike, torch):
        m.manual_seed(3)
        empty = m.zeros(size, dtype=m.bfloat16)
        calls = {
            "rand": lambda m=m: m.rand(size, dtype=m.bfloat16),
            "randn": lambda m=m: m.randn(size, dtype=m.bfloat16),
            "randint": lambda m=m: m.randint(0, 100, (size,), dtype=m.bfloat16),
            "bernoulli": lambda m=m: m.rand(size, dtype=m.bfloat16).bernoulli(),
        }
        made = calls[draw]() if draw in calls else getattr(empty, draw)()
        found.append(made.tolist())
    np.testing.assert_allclose(*found, rtol=2**-8)


def test_a_layer_trains_in_bfloat16():
    results = []
    for m in (torchlike, torch):
        m.manual_seed(0)
        layer = m.nn.Linear(6, 3).bfloat16()
        step = m.optim.SGD(layer.parameters(), lr=0.1)
        data = m.rand(8, 6).bfloat16()
        for _ in range(5):
            step.zero_grad()
            loss = m.nn.functional.cross_entropy(layer(data), m.tensor([0, 1, 2, 0, 1, 2, 0, 1]))
            loss.backward()
            step.step()
        results.append(loss.item())
    assert results[0] == pytest.approx(results[1], rel=2**-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.ones(2, dtype=m.bfloat16).numpy(),
        lambda m: m.ones(2, dtype=m.bfloat16).numpy(force=True),
        lambda m: m.ones(2, dtype=m.float8_e5m2).numpy(),
        lambda m: m.ones(2, dtype=m.float8_e5m2) * 2,
        lambda m: m.ones(2, dtype=m.float8_e5m2) + m.ones(2),
        lambda m: m.promote_types(m.float8_e4m3fn, m.int32),
    ],
)
def test_refusals(call):
    found = []
    for m in (torchlike, torch):
        with pytest.raises((TypeError, RuntimeError)) as caught:
            call(m)
        found.append(isinstance(caught.value, TypeError))
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["bfloat16", *FLOAT8])
def test_limits_and_text(dtype):
    found = [
        [repr(m.finfo(getattr(m, dtype))), repr(m.tensor([1.5, -2.0], dtype=getattr(m, dtype)))]
        for m in (torchlike, torch)
    ]
    assert [text.replace("torchlike", "torch") for text in found[0]] == found[1]


def test_memory_is_shared_by_dlpack():
    ours = torchlike.arange(5).bfloat16()
    theirs = torch.from_dlpack(ours)
    theirs[0] = 7
    back = torchlike.from_dlpack(theirs)
    assert ours.tolist() == back.tolist() == [7, 1, 2, 3, 4]
    assert back.data_ptr() == ours.data_ptr()


@pytest.mark.parametrize("other", ["bfloat16", "float16", "float32", "int64", "bool"])
@pytest.mark.parametrize("turned", [False, True])
def test_next_numbers_and_their_gradients(other, turned):
    found = []
    for m in (torchlike, torch):
        a = m.tensor([3.0, 0, -1, 1, 0.5], dtype=m.bfloat16, requires_grad=True)
        b = m.tensor([0, 1, -1, 1, 1], dtype=getattr(m, other), requires_grad="float" in other)
        result = m.nextafter(*((b, a) if turned else (a, b)))
        result.sum().backward()
        found.append([values(each.detach()) for each in (result, a.grad, *([b.grad] if b.requires_grad else []))])
    assert found[0] == found[1]
