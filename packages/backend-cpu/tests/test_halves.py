"""Many 16-bit floats: conversions by bits, and results that are looked up, against NumPy's of few elements."""

import itertools

import numpy as np
import pytest

from dispatch_backend_cpu import halves
from dispatch_backend_cpu.fp_errors import quietly
from dispatch_backend_cpu.ops.pointwise import inplace
from dispatch_backend_cpu.ops.pointwise import kernels as pointwise
from dispatch_backend_cpu.ops.pointwise import table as pointwise_table
from dispatch_backend_cpu.ops.reductions import kernels as reduction

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
HALF = np.dtype(np.float16)


def bits(array):
    """Return an array's elements as what can be compared, nans as one of them."""
    array = np.asarray(array)
    if array.dtype.itemsize == 2 and array.dtype.kind != "i":
        whole = array.view(np.uint16)
        return np.where((whole & 0x7FFF) > (0x7C00 if array.dtype is HALF else 0x7F80), 0x7FFF, whole)
    return np.where(array != array, 0, array)


def awkward():
    """Return floats at, beside and between all halves, and of all magnitudes."""
    values = EVERY[np.isfinite(EVERY)].astype(np.float32)
    middle = values[:-1] / 2 + values[1:] / 2
    near = [np.nextafter(middle, np.float32(way)) for way in (-np.inf, np.inf)]
    wild = np.random.default_rng(0).integers(0, 1 << 32, 1 << 17, dtype=np.uint32).view(np.float32)
    return np.concatenate([values, middle, *near, wild, [65519.99, 65520.0, -65520.0, 1e-45]], dtype=np.float32)


@pytest.mark.parametrize("char", "fd?bhilBFD")
def test_every_half_is_converted_as_numpy_does(char):
    given = EVERY if char in "fdFD" else EVERY[np.isfinite(EVERY)]
    made, wanted = (quietly(way, np.dtype(char)) for way in (lambda to: halves.convert(given, to), given.astype))
    assert made.dtype == wanted.dtype
    made, wanted = (each.view(each.real.dtype) for each in (made, wanted))  # complex nan would warn
    assert np.array_equal(made, wanted, equal_nan=char in "fdFD")
    if char == "f":
        assert np.array_equal(made.view(np.int32), wanted.view(np.int32))


@pytest.mark.parametrize("char", "fd?bhilB")
def test_floats_become_the_nearest_halves_as_torch_finds_them(char):
    given = awkward() if char in "fd" else np.random.default_rng(1).integers(0, 120, 100_000).astype(char)
    made = quietly(halves.convert, given, HALF)
    wanted = quietly(given.astype(np.float32).astype, HALF)
    assert np.array_equal(made.view(np.uint16), wanted.view(np.uint16))


@pytest.mark.parametrize("way", ["T", "real", "step", "expanded", "moved"])
def test_layouts_are_kept_as_numpy_keeps_them(way):
    plain = np.random.default_rng(2).standard_normal((40, 30, 20)).astype(np.float32)
    given = {
        "T": plain.T,
        "real": (plain + 1j * plain).real,
        "step": plain[:, ::2],
        "expanded": np.broadcast_to(plain[:1], plain.shape),
        "moved": plain.transpose(1, 0, 2),
    }[way]
    for source, dtype in ((given, HALF), (given.astype(HALF), np.dtype(np.float32))):
        made, wanted = halves.convert(source, dtype), source.astype(dtype)
        assert made.strides == wanted.strides
        assert np.array_equal(made, wanted)
    target = np.zeros((20, 30, 40), HALF).T
    halves.assign(target, plain)
    assert np.array_equal(target, plain.astype(HALF))


MANY = np.resize(EVERY[np.random.default_rng(3).permutation(1 << 16)], 1 << 17)
NUMBERS = {
    "mul.Scalar": 2.5, "div.Scalar": 3, "add.Scalar": 0.1, "rsub.Scalar": 1, "lt.Scalar": 0.1, "eq.Scalar": 1,
    "pow.Tensor_Scalar": 3, "remainder.Scalar": 2, "clamp_min": -0.0, "clamp_max": 0.1, "threshold": (0.1, 0),
}  # fmt: skip
ONE = [
    (name, ())
    for name in (*pointwise_table.UNARY, "sign", "relu", "gelu", "rsqrt", "nan_to_num", "signbit")
    if name != "bitwise_not"
]
ONE += [(name, number if isinstance(number, tuple) else (number,)) for name, number in NUMBERS.items()]


def by_parts(kernel, count, *operands):
    """Call a kernel with few elements at a time."""
    parts = [slice(place, place + count) for place in range(0, MANY.size, count)]
    return np.concatenate([
        kernel(*[each[part] if isinstance(each, np.ndarray) else each for each in operands]) for part in parts
    ])  # fmt: skip


@pytest.mark.parametrize(("name", "options"), ONE)
def test_results_that_are_looked_up_are_the_kernels_own(name, options):
    kernel = pointwise.KERNELS.get(name) or pointwise.SPECIALIZED[name]
    wanted = by_parts(kernel, 4096, MANY, *options)
    for _ in range(3):
        made = kernel(MANY, *options)
        assert made.dtype == wanted.dtype
        assert np.array_equal(bits(made), bits(wanted))


@pytest.mark.parametrize("name", "copysign.Tensor logical_and logical_or logical_xor mul.Tensor".split())
@pytest.mark.parametrize("char", "efd")
def test_many_elements_give_what_few_do(name, char):
    kernel = pointwise.KERNELS[name]
    given, other = MANY.astype(char), MANY[::-1].astype(char)
    made, wanted = kernel(given, other), by_parts(kernel, 1024, given, other)
    assert made.dtype == wanted.dtype
    assert np.array_equal(bits(made), bits(wanted))
    grid = kernel(given[:300, None], other[None, :300])
    assert np.array_equal(bits(grid), bits(np.stack([kernel(each, other[:300]) for each in given[:300]])))


def test_many_halves_are_clamped_by_arrays():
    low, high = np.minimum(MANY, MANY[::-1]), np.maximum(MANY, MANY[::-1])
    given = np.roll(MANY, 1)
    made, wanted = pointwise.KERNELS["clamp.Tensor"](given, low, high), np.minimum(np.maximum(given, low), high)
    assert np.array_equal(made, wanted, equal_nan=True)


TWO = "mul.Tensor div.Tensor fmod.Tensor lt.Tensor eq.Tensor copysign.Tensor fmax remainder.Tensor floor_divide add.Tensor"


@pytest.mark.parametrize("name", TWO.split())
def test_two_arrays_of_many_halves_give_what_few_do(name):
    kernel = pointwise.SPECIALIZED.get(name) or pointwise.KERNELS[name]
    other = MANY[::-1].copy()
    assert np.array_equal(bits(kernel(MANY, other)), bits(by_parts(kernel, 4096, MANY, other)))
    if f"{name.partition('.')[0]}_.Tensor" in inplace.KERNELS and name.endswith("Tensor"):
        stem = f"{name.partition('.')[0]}_.Tensor"
        write = inplace.SPECIALIZED.get(stem) or inplace.KERNELS[stem]
        if kernel(MANY[:1], other[:1]).dtype == HALF:
            assert np.array_equal(bits(write(MANY.copy(), other)), bits(kernel(MANY, other)))


def test_a_table_is_made_for_each_dtype_and_each_option():
    for _, zero in itertools.product(range(3), (0.0, -0.0)):
        made = pointwise.KERNELS["mul.Scalar"](np.ones(1 << 17, HALF), zero)
        assert bool(np.signbit(made[0])) is bool(np.signbit(zero))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmax", "amin", "any"])
def test_reductions_of_many_halves_are_those_of_floats(name):
    given = np.random.default_rng(4).standard_normal(20_000).astype(HALF)
    made = reduction.KERNELS[name](given)
    assert made == np.asarray(reduction.KERNELS[name](given.astype(np.float32))).astype(made.dtype)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 4), (70, 33, 65)])
def test_products_of_halves_are_those_of_floats_rounded_once(name, shape):
    pytest.importorskip("ml_dtypes")
    from dispatch_aten import dtypes
    from dispatch_backend_cpu.arrays import numpy_dtype
    from dispatch_backend_cpu.ops.short_ways.products import SHORT_WAYS

    dtype, (rows, inner, columns) = numpy_dtype(getattr(dtypes, name)), shape
    random = np.random.default_rng(0)
    left, right = (random.standard_normal(size).astype(dtype) for size in ((rows, inner), (columns, inner)))
    bias = random.standard_normal(columns).astype(dtype)
    wide = left.astype(np.float32) @ right.T.astype(np.float32)
    matmul, linear = SHORT_WAYS["matmul"][0], SHORT_WAYS["linear"][0]
    for found, exact in (
        (matmul(left, right.T), wide),
        (linear(left, right, None), wide),
        (linear(left, right, bias), wide + bias.astype(np.float32)),
    ):
        assert found.dtype is dtype
        assert (bits(found) == bits(exact.astype(dtype))).all()
    assert matmul(left, right.T[:-1]) is NotImplemented if inner > 1 else True
    assert linear(left, right, bias[:0]) is NotImplemented


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_dtypes_that_numpy_lacks_are_joined_bit_by_bit(name):
    from dispatch_backend_cpu.ops.views.lists import KERNELS

    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    words = np.dtype(f"u{dtype.itemsize}")
    numbers = np.arange(24, dtype=words).reshape(2, 3, 4) * 9
    for array in (numbers, numbers.transpose(2, 0, 1), numbers[:, ::2], numbers.reshape(-1)):
        for dim in range(array.ndim):
            for kernel in ("cat", "stack"):
                found = KERNELS[kernel]([array.view(dtype), array.view(dtype)], dim)
                same = KERNELS[kernel]([array, array], dim)
                assert found.dtype is dtype and found.strides == same.strides
                assert (found.view(words) == same).all()


def test_conversions_to_and_from_bfloat16_round_once():
    from dispatch_aten.dtypes import bfloat16, float32
    from dispatch_backend_cpu.ops.views.copy import KERNELS

    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = awkward()
    low = KERNELS["_to_copy"](values, dtype=bfloat16)
    with np.errstate(all="ignore"):
        assert (bits(low) == bits(values.astype(ml_dtypes.bfloat16))).all()
        assert (bits(KERNELS["_to_copy"](low, dtype=float32)) == bits(low.astype(np.float32))).all()
