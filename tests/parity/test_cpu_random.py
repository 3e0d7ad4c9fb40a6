"""The cpu backend's random numbers against torch's: the same seed gives the same stream."""

import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

from dispatch_aten.dtypes import ScalarType  # noqa: E402  # after the skip
from dispatch_aten.generator import Generator  # noqa: E402
from dispatch_backend_cpu.kernels import KERNELS  # noqa: E402

FLOATS = {"float16": ScalarType.Half, "float32": ScalarType.Float, "float64": ScalarType.Double}
TOLERANCE = {"float16": (2e-3, 1e-4), "float32": (1e-5, 1e-6), "float64": (1e-12, 1e-12)}
SEEDS = (0, 1, 2**31 + 7, 123456789012)


def assert_streams(ours, theirs):
    """Draw three times on both sides, so that the generator's state after a call counts too."""
    for seed in SEEDS:
        generator = Generator("cpu").manual_seed(seed)
        torch.manual_seed(seed)
        for _ in range(3):
            expected, actual = theirs().numpy(), ours(generator)
            assert actual.dtype == expected.dtype
            if expected.dtype.kind == "f":
                rtol, atol = TOLERANCE[expected.dtype.name]
                np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
            else:
                np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("size", [1, 3, 7, 15, 16, 17, 31, 32, 40, 100, 1000])
@pytest.mark.parametrize("name", FLOATS)
def test_uniform_and_normal_numbers_are_torchs(name, size):
    dtype, theirs = FLOATS[name], getattr(torch, name)
    assert_streams(
        lambda g: KERNELS["rand.generator"]([size], generator=g, dtype=dtype), lambda: torch.rand(size, dtype=theirs)
    )
    assert_streams(
        lambda g: KERNELS["randn.generator"]([size], generator=g, dtype=dtype), lambda: torch.randn(size, dtype=theirs)
    )


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(
    ("kernel", "args"),
    [("uniform_", (-2.5, 3.5)), ("normal_", (-2.5, 3.5)), ("exponential_", (2.0,)), ("bernoulli_.float", (0.3,))],
)
def test_filling_draws_in_memory_order(kernel, args, name, transposed):
    method = kernel.partition(".")[0]

    def ours(generator):
        array = np.zeros((4, 5), name)
        return KERNELS[kernel](array.T if transposed else array, *args, generator=generator)

    def theirs():
        tensor = torch.zeros(4, 5, dtype=getattr(torch, name))
        return getattr(tensor.t() if transposed else tensor, method)(*args)

    assert_streams(ours, theirs)


@pytest.mark.parametrize("high", [2, 10, 2**28 - 1, 2**28, 2**31, 2**32, 2**62])
def test_integers_are_torchs(high):
    assert_streams(lambda g: KERNELS["randint.generator"](high, [9], generator=g), lambda: torch.randint(high, (9,)))
    assert_streams(
        lambda g: KERNELS["randint.low_generator"](-3, high, [9], generator=g), lambda: torch.randint(-3, high, (9,))
    )


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int16", "int32", "int64", *FLOATS])
def test_random_inplace_is_torchs(name):
    def ours(kernel, *args):
        return lambda g: KERNELS[kernel](np.zeros(9, name), *args, generator=g)

    def theirs(*args):
        return lambda: torch.zeros(9, dtype=getattr(torch, name)).random_(*args)

    low = -3 if np.dtype(name).kind == "i" else 0
    assert_streams(ours("random_"), theirs())
    assert_streams(ours("random_.to", 2), theirs(2))
    assert_streams(ours("random_.from", low, None), theirs(low, None))


@pytest.mark.parametrize("count", [0, 1, 2, 17, 1000])
def test_permutations_are_torchs(count):
    assert_streams(lambda g: KERNELS["randperm.generator"](count, generator=g), lambda: torch.randperm(count))


@pytest.mark.parametrize("name", FLOATS)
def test_bernoulli_of_probabilities_is_torchs(name):
    p = np.full((4, 5), 0.3, name)
    assert_streams(lambda g: KERNELS["bernoulli"](p, generator=g), lambda: torch.bernoulli(torch.from_numpy(p)))
    assert_streams(
        lambda g: KERNELS["bernoulli_.Tensor"](np.zeros((4, 5), name), p, generator=g),
        lambda: torch.zeros(4, 5, dtype=getattr(torch, name)).bernoulli_(torch.from_numpy(p)),
    )


#: How the elements of a tensor of (4, 3, 2, 5) lie in memory.
LAYOUTS = {
    "rows": lambda t: t.ones(4, 3, 2, 5),
    "permuted": lambda t: t.ones(5, 4, 2, 3).permute(1, 3, 2, 0),
    "channels last": lambda t: t.ones(4, 3, 2, 5).to(memory_format=t.channels_last),
    "gaps": lambda t: t.ones(4, 3, 2, 10)[..., ::2],
    "expanded": lambda t: t.ones(4, 1, 2, 5).expand(4, 3, 2, 5),
}
DRAWS = {
    "dropout": lambda t, x: t.nn.functional.dropout(x, 0.3),
    "dropout in place": lambda t, x: t.nn.functional.dropout(x.clone(), 0.3, inplace=True),
    "native_dropout": lambda t, x: t.native_dropout(x, 0.3, True)[1],
    "dropout2d": lambda t, x: t.nn.functional.dropout2d(x, 0.3),
    "alpha_dropout": lambda t, x: t.nn.functional.alpha_dropout(x, 0.3, training=True),
    "bernoulli": lambda t, x: t.bernoulli(x * 0.3),
    "bernoulli p": lambda t, x: t.bernoulli(x, 0.3),
    "bernoulli_": lambda t, x: x.clone().bernoulli_(0.3),
    "rand_like": lambda t, x: t.rand_like(x),
    "normal_": lambda t, x: x.clone().normal_(),
    "randint_like": lambda t, x: t.randint_like(x, 100),
    "normal": lambda t, x: t.normal(x, 1.0),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_numbers_are_drawn_in_torchs_order_however_the_elements_lie(draw):
    for layout in LAYOUTS.values():
        found = []
        for library in torch, torchlike:
            library.manual_seed(3)
            result = DRAWS[draw](library, layout(library))
            found.append((result.stride(), result.numpy()))
        assert found[0][0] == found[1][0]
        np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64"])
def test_integers_that_a_float_does_not_hold_are_warned_of(dtype):
    def collect(library, bounds):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            library.ones(2, dtype=getattr(library, dtype)).random_(*bounds)
        return {str(each.message).partition(".")[0] for each in caught}

    for bounds in ((0, 258), (0, 257), (-2049, 2050), (2049,), (0, 2**14)):
        assert collect(torchlike, bounds) == collect(torch, bounds)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("uniform", (-2.5, 3.5)),
        ("normal_functional", (1.5, 2.0)),
        ("exponential", (2.0,)),
        ("cauchy", (1.0, 2.0)),
        ("geometric", (0.3,)),
        ("log_normal", (0.5, 0.25)),
        ("random.from", (-3, 40)),
        ("random.to", (40,)),
        ("random.default", ()),
    ],
)
def test_operators_that_return_what_those_in_place_write(name, args):
    packet, _, overload = name.partition(".")
    found = [getattr(getattr(m.ops.aten, packet), overload or "default") for m in (torch, torchlike)]
    for transposed in (False, True):
        drawn = []
        for module, operator in zip((torch, torchlike), found, strict=True):
            module.manual_seed(3)
            x = module.zeros(4, 5)
            drawn.append(operator(x.t() if transposed else x, *args))
            assert not x.any()
        assert [tuple(each.stride()) for each in drawn] == [(1, 5) if transposed else (5, 1)] * 2
        np.testing.assert_allclose(drawn[1].numpy(), drawn[0].numpy(), rtol=1e-5, atol=1e-6)
    x = torchlike.ones(3, requires_grad=True)
    found[1](x, *args).sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
    assert found[1](torchlike.ones(3, device="meta"), *args).shape == (3,)
