"""The cpu backend's kernels against torch: values, dtypes, shapes, strides and classes of errors, on generated inputs.

A case is an operator with arguments. Arrays come in all layouts that views can have; torch gets the same storage, viewed
alike.
"""

import zlib

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

from dispatch_aten.dtypes import ScalarType  # noqa: E402  # after the skip
from dispatch_backend_cpu.arrays import dtype_of, storage, storage_offset_of, strides_of  # noqa: E402
from dispatch_backend_cpu.kernels import KERNELS  # noqa: E402

TORCH_DTYPES = {
    scalar_type: getattr(torch, scalar_type.short) for scalar_type in ScalarType if hasattr(torch, scalar_type.short)
}
SCALAR_TYPES = {dtype: scalar_type for scalar_type, dtype in TORCH_DTYPES.items()}
FLOATS = ("float16", "float32", "float64")
INTS = ("uint8", "int8", "int16", "int32", "int64")
ALL = ("bool", *INTS, *FLOATS)
SHAPES = ((), (1,), (5,), (0,), (2, 3), (3, 1), (1, 4), (2, 3, 4), (2, 1, 3), (0, 3), (2, 2, 3, 2))
LAYOUTS = ("contiguous", "transposed", "sliced", "expanded", "offset")


def random_values(rng, shape, dtype, *, special=True):
    """Draw values of ``dtype``; floats have an nan, infinities and signed zeros among them."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    values = rng.standard_normal(shape) * 3
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    values = np.asarray(values).astype(dtype)
    if special and values.size > 3 and dtype.kind == "f":
        flat = values.reshape(-1)
        places = rng.choice(flat.size, 3, replace=False)
        flat[places] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0, 0.5], 3)
    return values


def array(rng, shape, dtype, layout="contiguous", *, special=True):
    """Make an array of the wanted layout, a view of a larger storage where the layout asks for one."""

    def values(size):
        return random_values(rng, size, dtype, special=special)

    if layout == "transposed":
        order = rng.permutation(len(shape))
        return values(tuple(shape[dim] for dim in order)).transpose(np.argsort(order))
    if layout == "sliced":
        return values(tuple(2 * size + 1 for size in shape))[tuple(slice(1, 2 * size + 1, 2) for size in shape) or ...]
    if layout == "expanded" and shape:
        dim = int(rng.integers(len(shape)))
        base = values(tuple(1 if i == dim else size for i, size in enumerate(shape)))
        return np.ndarray(shape, dtype, base, 0, tuple(0 if i == dim else s for i, s in enumerate(base.strides)))
    if layout == "offset":
        return values((3, *shape))[1, ...]
    return values(shape)


def to_torch(value):
    """Give torch the same thing: an array as a view of a copy of its storage."""
    if isinstance(value, np.ndarray):
        owner = storage(value)
        order = sorted(range(owner.ndim), key=lambda dim: -owner.strides[dim])
        flat = torch.from_numpy(owner.transpose(order).reshape(-1).copy())
        return torch.as_strided(flat, value.shape, strides_of(value), storage_offset_of(value) if value.size else 0)
    if isinstance(value, ScalarType):
        return TORCH_DTYPES[value]
    if isinstance(value, (list, tuple)):
        return [to_torch(item) for item in value]
    return value


def overload(name):
    packet, _, rest = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), rest or "default")


TOLERANCE = {"float16": (2e-3, 2e-3), "float32": (2e-5, 2e-6), "float64": (1e-11, 1e-12), "complex64": (1e-4, 1e-5)}


def assert_same(expected, actual, where, *, strides=True, view=False, tolerance=None):
    if isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), where
        for each, other in zip(expected, actual, strict=True):
            assert_same(each, other, where, strides=strides, view=view, tolerance=tolerance)
        return
    if not isinstance(expected, torch.Tensor):
        assert actual == expected or (actual != actual and expected != expected), where
        assert type(actual) is type(expected), where
        return
    assert view is False or type(actual) is np.ndarray, where
    actual = np.asarray(actual)
    assert dtype_of(actual) == SCALAR_TYPES[expected.dtype], (where, actual.dtype, expected.dtype)
    assert actual.shape == tuple(expected.shape), (where, actual.shape, expected.shape)
    if strides:
        assert strides_of(actual) == expected.stride(), (where, strides_of(actual), expected.stride(), actual.shape)
    rtol, atol = tolerance or TOLERANCE.get(str(actual.dtype), (1e-10, 1e-10))
    wanted = expected.resolve_conj().numpy()
    if actual.dtype.kind in "fc":
        np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=atol, err_msg=str(where))
    else:
        np.testing.assert_array_equal(actual, wanted, err_msg=str(where))


def show(args, kwargs):
    def one(value):
        if isinstance(value, np.ndarray):
            return f"{value.dtype}{list(value.shape)}@{list(strides_of(value))}"
        return f"[{', '.join(map(one, value))}]" if isinstance(value, (list, tuple)) else repr(value)

    return ", ".join([*map(one, args), *(f"{key}={one(value)}" for key, value in kwargs.items())])


def _kinds(args):
    return {value.dtype.kind for value in args if isinstance(value, np.ndarray)}


def _has_size_one(args):
    return any(1 in value.shape or 0 in value.shape for value in args if isinstance(value, np.ndarray))


# Where torch is left alone: the operator, when, and what torch does there.
DEVIATIONS = {
    "pow.Tensor_Scalar": lambda args, kwargs: args[0].dtype.kind == "b",  # refuses -1
    "lerp.Tensor": lambda args, kwargs: _kinds(args) & set("biu"),  # takes float weights of 0-d tensors
    "addcmul": lambda args, kwargs: _kinds(args) & set("biu"),  # checks that the factor fits
    "addcmul_": lambda args, kwargs: _kinds(args) & set("biu"),
    "addcdiv": lambda args, kwargs: _kinds(args) & set("biu"),  # refuses two integer operands of three
    "addcdiv_": lambda args, kwargs: _kinds(args) & set("biu"),
    "leaky_relu_backward": lambda args, kwargs: args[0].strides != args[1].strides,  # the other operand lays out
    "threshold_backward": lambda args, kwargs: args[0].strides != args[1].strides,
    "gelu_backward": lambda args, kwargs: args[0].shape != args[1].shape,  # its library has no broadcasting
    "abs": lambda args, kwargs: args[0].dtype.kind == "c" and _has_size_one(args),  # strides of sizes of 1
    "mse_loss_backward": lambda args, kwargs: args[1].ndim > 1,  # lays out row-major where the operands are not
    "cat": lambda args, kwargs: all(each.shape == (0,) for each in args[0]),  # takes any dim then
    "logsumexp": lambda args, kwargs: not args[1],  # an empty list of dims fails
    "cumsum_": lambda args, kwargs: args[0].dtype.kind == "b",  # refuses bool
    "bmm": lambda args, kwargs: args[0].dtype != args[1].dtype,  # mixed dtypes pass without elements
    "baddbmm": lambda args, kwargs: args[0].dtype != args[2].dtype,
    "_softmax": lambda args, kwargs: args[0].dtype.kind == "i",  # integers pass without elements
    "_log_softmax": lambda args, kwargs: args[0].dtype.kind == "i",
    "arange": lambda args, kwargs: kwargs["dtype"] is not None and not kwargs["dtype"].is_floating_point,
    "arange.start": lambda args, kwargs: kwargs["dtype"] is not None and not kwargs["dtype"].is_floating_point,
    "arange.start_step": lambda args, kwargs: kwargs["dtype"] is not None and not kwargs["dtype"].is_floating_point,
    "roll": lambda args, kwargs: not args[0].size or len(args[2]) == 1,  # gives row-major copies for one dim
    "empty_strided": lambda args, kwargs: kwargs["dtype"] == ScalarType.Byte,
    "addmm": lambda args, kwargs: args[0].dtype.kind == "b",  # bool passes without elements
}
"""Cases that are not compared. Of a range of floats in an integer dtype torch counts the steps before it converts them."""


def deviates(name, args, kwargs):
    return name in DEVIATIONS and DEVIATIONS[name](args, kwargs)


def compare(name, args, kwargs=None, *, kernel=None, strides=True, view=False, tolerance=None):
    """Run one case on both sides; writes must be equal too, and a failed call must change nothing."""
    kwargs = kwargs or {}
    if deviates(name, args, kwargs):
        return
    where = f"{name}({show(args, kwargs)})"
    theirs = [to_torch(value) for value in args]
    kernel = kernel or KERNELS[name]
    inplace = name.partition(".")[0].endswith("_")
    before = storage(args[0]).copy() if inplace else None
    torch_kwargs = {key: to_torch(value) for key, value in kwargs.items()}
    try:
        expected, error = overload(name)(*theirs, **torch_kwargs), None
    except Exception as caught:  # noqa: BLE001  # whatever torch raises is the oracle
        expected, error = None, caught
    if error is not None:
        try:
            found = kernel(*args, **kwargs)
        except Exception as ours:  # noqa: BLE001
            if "single memory location" in str(ours):
                return  # of two faults torch may find the other one first
            if not isinstance(ours, type(error)) and not (
                isinstance(ours, RuntimeError) and type(error) is NotImplementedError
            ):
                pytest.fail(f"{where}: torch raises {error!r}, the kernel {ours!r}")
        else:
            pytest.fail(f"{where}: torch raises {error!r}, the kernel gave {found!r}")
        if inplace:
            np.testing.assert_array_equal(storage(args[0]), before, err_msg=where)
        return
    try:
        found = kernel(*args, **kwargs)
    except Exception as ours:
        pytest.fail(f"{where}: torch gives {expected!r}, the kernel raised {ours!r}")
        raise
    assert_same(expected, found, where, strides=strides, view=view, tolerance=tolerance)
    if inplace:
        assert found is args[0], where


def seeded(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def broadcastable(rng, shape):
    """Give a shape that broadcasts with ``shape``, seldom one that does not."""
    if rng.random() < 0.05:
        return (*shape, 7)
    if rng.random() < 0.5:
        return shape
    kept = shape[int(rng.integers(len(shape) + 1)) :]
    return tuple(1 if rng.random() < 0.4 else size for size in kept)


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def arrays(rng, count, dtypes=ALL, *, same=0.7, special=True):
    """Draw operands: shapes that broadcast, mostly of one dtype."""
    shape, dtype = pick(rng, SHAPES), pick(rng, dtypes)
    result = []
    for _ in range(count):
        if rng.random() > same:
            dtype = pick(rng, dtypes)
        result.append(array(rng, shape, dtype, pick(rng, LAYOUTS), special=special))
        shape = broadcastable(rng, shape)
    return result


UNARY = (
    "neg abs sign exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh "
    "acosh atanh sigmoid erf erfc floor ceil round trunc frac logical_not bitwise_not isnan isinf nan_to_num relu "
    "silu gelu leaky_relu softplus elu"
).split()
BINARY = (
    "mul.Tensor div.Tensor remainder.Tensor fmod.Tensor floor_divide pow.Tensor_Tensor atan2 maximum minimum "
    "logical_and logical_or logical_xor bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor add.Tensor sub.Tensor "
    "eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor"
).split()


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    rng = seeded(name)
    for _ in range(80):
        compare(name, arrays(rng, 1))


@pytest.mark.parametrize("name", [f"{name}_" for name in UNARY if f"{name}_" in KERNELS])
def test_unary_in_place(name):
    rng = seeded(name)
    for _ in range(60):
        compare(name, arrays(rng, 1))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    rng = seeded(name)
    for _ in range(250):
        kwargs = {"alpha": pick(rng, [1, 2, -1, 0.5, True])} if name in ("add.Tensor", "sub.Tensor") else {}
        compare(name, arrays(rng, 2), kwargs)


@pytest.mark.parametrize("name", ["add_.Tensor", "sub_.Tensor", "mul_.Tensor", "div_.Tensor"])
def test_binary_in_place(name):
    rng = seeded(name)
    for _ in range(150):
        kwargs = {"alpha": pick(rng, [1, 2, -1, 0.5])} if name[0] in "as" else {}
        compare(name, arrays(rng, 2), kwargs)


@pytest.mark.parametrize("name", ["add_.Scalar", "sub_.Scalar", "mul_.Scalar", "div_.Scalar"])
def test_numbers_in_place(name):
    rng = seeded(name)
    for _ in range(100):
        more = [pick(rng, [1, 2, 0.5])] if name[0] in "as" else []
        compare(name, [*arrays(rng, 1), pick(rng, [2, -1, 0.5, True, 0]), *more])


NUMBERS = (
    "add.Scalar sub.Scalar mul.Scalar div.Scalar remainder.Scalar fmod.Scalar floor_divide.Scalar eq.Scalar ne.Scalar "
    "lt.Scalar le.Scalar gt.Scalar ge.Scalar bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar rsub.Scalar"
).split()


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    rng = seeded(name)
    for _ in range(100):
        compare(name, [*arrays(rng, 1), pick(rng, [2, -1, 0.5, True, 0, 3])])


@pytest.mark.parametrize("mode", [None, "trunc", "floor"])
def test_division_modes(mode):
    rng = seeded(str(mode))
    for _ in range(200):
        compare("div.Tensor_mode", arrays(rng, 2), {"rounding_mode": mode})


OPTIONS = {
    "round.decimals": (1, lambda rng: ((), {"decimals": int(rng.integers(-2, 3))})),
    "leaky_relu": (1, lambda rng: ((0.2,), {})),
    "softplus": (1, lambda rng: ((2, 3.0), {})),
    "elu": (1, lambda rng: ((1.5, 2, 0.5), {})),
    "threshold": (1, lambda rng: ((0.5, 2), {})),
    "gelu": (1, lambda rng: ((), {"approximate": pick(rng, ["none", "tanh", "other"])})),
    "nan_to_num": (1, lambda rng: ((pick(rng, [None, 1.0]), pick(rng, [None, 2.0]), pick(rng, [None, 3.0])), {})),
    "clamp": (1, lambda rng: ((pick(rng, [None, -1, 0.5]), pick(rng, [None, 1, 2.5])), {})),
    "clamp_min": (1, lambda rng: ((pick(rng, [0, 0.5, -2]),), {})),
    "clamp_max": (1, lambda rng: ((pick(rng, [0, 0.5, -2]),), {})),
    "clamp_min.Tensor": (2, lambda rng: ((), {})),
    "clamp_max.Tensor": (2, lambda rng: ((), {})),
    "clamp.Tensor": (3, lambda rng: ((), {})),
    "pow.Tensor_Scalar": (1, lambda rng: ((pick(rng, [2, 3, 0.5, -1, 0, 1.5]),), {})),
    "lerp.Scalar": (2, lambda rng: ((pick(rng, [0.0, 0.25, 1.0, 2]),), {})),
    "lerp_.Scalar": (2, lambda rng: ((pick(rng, [0.25, 1.0]),), {})),
    "lerp.Tensor": (3, lambda rng: ((), {})),
    "addcmul": (3, lambda rng: ((), {"value": pick(rng, [1, 2, -0.5])})),
    "addcdiv": (3, lambda rng: ((), {"value": pick(rng, [1, 2, -0.5])})),
    "addcmul_": (3, lambda rng: ((), {"value": pick(rng, [1, 2, -0.5])})),
    "addcdiv_": (3, lambda rng: ((), {"value": pick(rng, [1, 2, -0.5])})),
    "sigmoid_backward": (2, lambda rng: ((), {})),
    "tanh_backward": (2, lambda rng: ((), {})),
    "gelu_backward": (2, lambda rng: ((), {"approximate": pick(rng, ["none", "tanh"])})),
    "leaky_relu_backward": (2, lambda rng: ((0.2, False), {})),
    "softplus_backward": (2, lambda rng: ((2, 3.0), {})),
    "threshold_backward": (2, lambda rng: ((0.5,), {})),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_with_options(name):
    rng = seeded(name)
    count, options = OPTIONS[name]
    backward = name.endswith("_backward")
    for _ in range(150):
        args, kwargs = options(rng)
        operands = arrays(
            rng, count, FLOATS[1:] if backward else ALL, same=1.0 if backward else 0.9, special=not backward
        )
        # Near a zero of gelu's derivative torch's float32 keeps few digits.
        compare(name, [*operands, *args], kwargs, tolerance=(1e-3, 1e-5) if name == "gelu_backward" else None)


def test_elu_backward():
    rng = seeded("elu_backward")
    for _ in range(50):
        grad, a = arrays(rng, 2, ("float32",), same=1, special=False)
        compare("elu_backward", [grad, 1.5, 2, 0.5, pick(rng, [True, False]), a])


def test_where():
    rng = seeded("where")
    for _ in range(200):
        condition, a, b = arrays(rng, 3)
        if rng.random() < 0.9:
            condition = condition.astype(bool)
        compare("where.self", [condition, a, b])


def test_masked_fill():
    rng = seeded("masked_fill")
    for _ in range(150):
        a, mask = arrays(rng, 2)
        mask = mask.astype(bool) if rng.random() < 0.9 else mask
        compare("masked_fill.Scalar", [a, mask, pick(rng, [0, 2, 1.5, float("-inf")]) if a.dtype.kind == "f" else 1])
        compare("masked_fill.Tensor", [a, mask, array(rng, pick(rng, [(), (), (1,)]), a.dtype)])
        compare("masked_fill_.Scalar", [a, mask, 1])


def test_complex_arithmetic():
    rng = seeded("complex")
    for name in "add.Tensor mul.Tensor div.Tensor sub.Tensor eq.Tensor".split():
        for _ in range(40):
            compare(name, arrays(rng, 2, ("complex64", "complex128", "float32", "int32"), special=False))
    for name in "exp sqrt abs neg sigmoid sin".split():
        for _ in range(20):
            compare(name, arrays(rng, 1, ("complex64", "complex128"), special=False))


def some_dims(rng, ndim, *, none=True):
    """Draw dims for a reduction: one, several, none of them, None, or a wrong one."""
    draw = rng.random()
    if draw < 0.15 and none:
        return None
    if draw < 0.25:
        return []
    if draw < 0.3:
        return [int(rng.integers(-6, 6))]
    count = int(rng.integers(1, ndim + 1)) if ndim else 1
    dims = rng.permutation(max(ndim, 1))[:count]
    return [int(dim) - (max(ndim, 1) if rng.random() < 0.5 else 0) for dim in dims]


def some_dim(rng, ndim):
    return (
        int(rng.integers(-ndim - 1, ndim + 1)) if rng.random() < 0.1 else int(rng.integers(-max(ndim, 1), max(ndim, 1)))
    )


def flag(rng):
    return bool(rng.random() < 0.5)


def maybe_dtype(rng, choices=(ScalarType.Float, ScalarType.Double, ScalarType.Long, ScalarType.Half)):
    return pick(rng, choices) if rng.random() < 0.3 else None


def tame(rng, dtypes=ALL, shapes=SHAPES):
    """Draw one array without nan or infinities, and small enough not to overflow when multiplied up."""
    return array(rng, pick(rng, shapes), pick(rng, dtypes), pick(rng, LAYOUTS), special=False)


REDUCTIONS = {
    "sum": lambda rng, a: ((), {"dtype": maybe_dtype(rng)}),
    "sum.dim_IntList": lambda rng, a: ((some_dims(rng, a.ndim), flag(rng)), {"dtype": maybe_dtype(rng)}),
    "prod": lambda rng, a: ((), {"dtype": maybe_dtype(rng, (ScalarType.Double, ScalarType.Long))}),
    "prod.dim_int": lambda rng, a: ((some_dim(rng, a.ndim), flag(rng)), {}),
    "mean": lambda rng, a: ((), {"dtype": maybe_dtype(rng)}),
    "mean.dim": lambda rng, a: ((some_dims(rng, a.ndim), flag(rng)), {"dtype": maybe_dtype(rng)}),
    "amax": lambda rng, a: ((some_dims(rng, a.ndim, none=False), flag(rng)), {}),
    "amin": lambda rng, a: ((some_dims(rng, a.ndim, none=False), flag(rng)), {}),
    "max": lambda rng, a: ((), {}),
    "min": lambda rng, a: ((), {}),
    "max.dim": lambda rng, a: ((some_dim(rng, a.ndim), flag(rng)), {}),
    "min.dim": lambda rng, a: ((some_dim(rng, a.ndim), flag(rng)), {}),
    "argmax": lambda rng, a: ((pick(rng, [None, some_dim(rng, a.ndim)]), flag(rng)), {}),
    "argmin": lambda rng, a: ((pick(rng, [None, some_dim(rng, a.ndim)]), flag(rng)), {}),
    "any": lambda rng, a: ((), {}),
    "any.dim": lambda rng, a: ((some_dim(rng, a.ndim), flag(rng)), {}),
    "any.dims": lambda rng, a: ((some_dims(rng, a.ndim), flag(rng)), {}),
    "all": lambda rng, a: ((), {}),
    "all.dim": lambda rng, a: ((some_dim(rng, a.ndim), flag(rng)), {}),
    "all.dims": lambda rng, a: ((some_dims(rng, a.ndim), flag(rng)), {}),
    "var.correction": lambda rng, a: (
        (some_dims(rng, a.ndim),),
        {"correction": pick(rng, [None, 0, 1, 2, 0.5]), "keepdim": flag(rng)},
    ),
    "std.correction": lambda rng, a: (
        (some_dims(rng, a.ndim),),
        {"correction": pick(rng, [None, 0, 1, 2]), "keepdim": flag(rng)},
    ),
    "var_mean.correction": lambda rng, a: (
        (some_dims(rng, a.ndim),),
        {"correction": pick(rng, [None, 0, 1]), "keepdim": flag(rng)},
    ),
    "linalg_vector_norm": lambda rng, a: (
        (pick(rng, [0, 1, 2, 3, 0.5, float("inf"), float("-inf")]), some_dims(rng, a.ndim), flag(rng)),
        {"dtype": None},
    ),
    "norm.Scalar": lambda rng, a: ((pick(rng, [1, 2, 3]),), {}),
    "norm.ScalarOpt_dim": lambda rng, a: ((pick(rng, [None, 1, 2]), some_dims(rng, a.ndim, none=False), flag(rng)), {}),
    "logsumexp": lambda rng, a: ((some_dims(rng, a.ndim, none=False), flag(rng)), {}),
    "count_nonzero": lambda rng, a: ((pick(rng, [None, some_dim(rng, a.ndim)]),), {}),
    "count_nonzero.dim_IntList": lambda rng, a: ((some_dims(rng, a.ndim, none=False),), {}),
    "aminmax": lambda rng, a: ((), {"dim": pick(rng, [None, some_dim(rng, a.ndim)]), "keepdim": flag(rng)}),
    "cumsum": lambda rng, a: ((some_dim(rng, a.ndim),), {"dtype": maybe_dtype(rng)}),
    "cumprod": lambda rng, a: ((some_dim(rng, a.ndim),), {}),
    "cumsum_": lambda rng, a: ((some_dim(rng, a.ndim),), {"dtype": None}),
}
WITH_NAN = {"amax", "amin", "max", "min", "max.dim", "min.dim", "argmax", "argmin", "sum", "any", "all", "aminmax"}


@pytest.mark.filterwarnings("ignore")  # torch warns about degrees of freedom
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    rng = seeded(name)
    for _ in range(150):
        a = arrays(rng, 1)[0] if name in WITH_NAN else tame(rng)
        args, kwargs = REDUCTIONS[name](rng, a)
        compare(name, [a, *args], kwargs)


def matrix(rng, shape, dtype):
    return array(rng, shape, dtype, pick(rng, LAYOUTS), special=False)


def test_products():
    rng = seeded("products")
    for _ in range(200):
        dtype = pick(rng, ALL)
        other = dtype if rng.random() < 0.9 else pick(rng, ALL)
        n, k, m, b = (int(rng.integers(0, 5)) for _ in range(4))
        wrong = k if rng.random() < 0.9 else k + 1
        compare("mm", [matrix(rng, (n, k), dtype), matrix(rng, (wrong, m), other)])
        compare("bmm", [matrix(rng, (b, n, k), dtype), matrix(rng, (b, wrong, m), other)])
        compare("mv", [matrix(rng, (n, k), dtype), matrix(rng, (wrong,), other)])
        compare("dot", [matrix(rng, (k,), dtype), matrix(rng, (wrong,), other)])
        options = {"beta": pick(rng, [0, 1, 2]), "alpha": pick(rng, [1, 2, 3])}
        bias = pick(rng, [(n, m), (m,), (1, m), (n, 1), ()])
        compare(
            "addmm", [matrix(rng, bias, dtype), matrix(rng, (n, k), dtype), matrix(rng, (wrong, m), other)], options
        )
        operands = [matrix(rng, (b, n, m), dtype), matrix(rng, (b, n, k), dtype), matrix(rng, (b, wrong, m), other)]
        compare("baddbmm", operands, options)


def test_softmax_family():
    rng = seeded("softmax")
    for _ in range(200):
        a = tame(rng, (*FLOATS, "int32"))
        dim = some_dim(rng, a.ndim)
        compare("_softmax", [a, dim, False])
        compare("_log_softmax", [a, dim, False])
        a = array(rng, pick(rng, SHAPES[1:]), pick(rng, FLOATS), special=False)
        dim = int(rng.integers(a.ndim))
        grad = array(rng, a.shape, a.dtype, special=False)
        compare("_softmax_backward_data", [grad, KERNELS["_softmax"](a, dim, False), dim, dtype_of(a)])
        compare("_log_softmax_backward_data", [grad, KERNELS["_log_softmax"](a, dim, False), dim, dtype_of(a)])


def test_losses():
    rng = seeded("losses")
    for _ in range(200):
        dtype = pick(rng, FLOATS[1:])
        classes = 4
        shape = pick(rng, [(5, classes), (classes,), (1, classes)])
        rows = array(rng, shape, dtype, special=False)
        high = classes + 1 if rng.random() < 0.05 else classes
        target = np.asarray(rng.integers(0, high, shape[:-1]))
        weight = pick(rng, [None, np.abs(array(rng, (classes,), dtype, special=False))])
        reduction, ignored = int(rng.integers(3)), pick(rng, [-100, 1])
        args = [rows, target, weight, reduction, ignored]
        compare("nll_loss_forward", args)
        if target.size and target.max() < classes:
            _, total = KERNELS["nll_loss_forward"](*args)
            grad = array(rng, target.shape if reduction == 0 else (), dtype, special=False)
            compare("nll_loss_backward", [grad, *args, total])
        a, b = arrays(rng, 2, FLOATS, same=1, special=False)
        compare("mse_loss", [a, b, reduction])
        compare(
            "mse_loss_backward",
            [array(rng, a.shape if reduction == 0 else (), a.dtype, special=False), a, a, reduction],
        )


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
def test_views(name):
    rng = seeded(name)
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


def test_copies():
    rng = seeded("copies")
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
def test_factories(name):
    rng = seeded(name)
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


def test_likes_and_fills():
    rng = seeded("likes")
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


def some_index(rng, size, shape=None, *, wrong=0.03):
    shape = pick(rng, [(), (1,), (3,), (2, 3), (0,), (2, 1)]) if shape is None else shape
    low, high = (-size, size) if size else (0, 1)
    return np.asarray(rng.integers(low, high, shape) + (size if rng.random() < wrong else 0))


def some_indices(rng, a):
    """Draw a list of indices: None, integers that broadcast with each other mostly, masks."""
    if rng.random() < 0.2 and a.ndim:
        return [rng.random(a.shape[: int(rng.integers(1, a.ndim + 1))]) < 0.5]
    shape = pick(rng, [(), (1,), (3,), (2, 3)])
    result = []
    for size in a.shape[: int(rng.integers(1, a.ndim + 1))] if a.ndim else [0]:
        draw = rng.random()
        if draw < 0.3:
            result.append(None)
        elif draw < 0.4:
            result.append(rng.random(size) < 0.5)
        else:
            result.append(some_index(rng, size, shape if rng.random() < 0.9 else None))
    if all(index is None for index in result):
        result[-1] = some_index(rng, a.shape[len(result) - 1] if a.ndim else 0, shape)
    return result


def test_index():
    rng = seeded("index")
    for _ in range(600):
        a = tame(rng, ("float32", "int64", "bool"))
        compare("index.Tensor", [a, some_indices(rng, a)])


def test_index_put():
    rng = seeded("index_put")
    for _ in range(400):
        a = tame(rng, ("float32", "int64"))
        indices = some_indices(rng, a)
        try:
            shape = overload("index.Tensor")(to_torch(a), to_torch(indices)).shape
        except (RuntimeError, IndexError):
            shape = (2,)
        values = array(
            rng, broadcastable(rng, tuple(shape)), a.dtype if rng.random() < 0.95 else "int32", special=False
        )
        accumulate = flag(rng)
        unique = accumulate or values.ndim == 0
        compare("index_put_", [a, indices, values if unique else values.reshape(-1)[:1], accumulate])


def test_gather_and_scatter():
    rng = seeded("gather")
    for _ in range(400):
        a = tame(rng, ("float32", "int64"))
        dim = some_dim(rng, a.ndim)
        wrapped = dim % a.ndim if a.ndim and -a.ndim <= dim < a.ndim else 0
        shape = [int(rng.integers(0, size + 1)) for size in a.shape]
        if shape:
            shape[wrapped] = int(rng.integers(0, 4))
        size = a.shape[wrapped] if a.ndim else 1
        index = np.asarray(rng.integers(0, max(size, 1) + (rng.random() < 0.05), shape))
        compare("gather", [a, dim, index], {"sparse_grad": False})
        src = array(rng, tuple(size + 1 for size in shape), a.dtype, special=False)
        compare("scatter_add_", [a, dim, index, src])
        compare("scatter_.value", [a, dim, index, 3])


def test_index_select_and_kin():
    rng = seeded("index_select")
    for _ in range(300):
        a = tame(rng, ("float32", "int64"))
        dim = some_dim(rng, a.ndim)
        size = a.shape[dim] if a.ndim and -a.ndim <= dim < a.ndim else 1
        index = np.asarray(rng.integers(0, max(size, 1) + (rng.random() < 0.05), pick(rng, [(3,), (), (0,), (2, 1)])))
        if size and (not index.size or index.max() < size):
            compare("index_select", [a, dim, index])
        compare("take", [a, some_index(rng, a.size)])
        mask = np.asarray(rng.random(broadcastable(rng, a.shape)) < 0.5)
        compare("masked_select", [a, mask])
        compare("nonzero", [a])
        source = array(rng, (a.size,), a.dtype, special=False)
        compare("masked_scatter_", [a, mask, source])
        if a.size and a.ndim and index.ndim == 1 and -a.ndim <= dim < a.ndim and (not index.size or index.max() < size):
            shape = list(a.shape)
            shape[dim] = index.size
            compare(
                "index_add_",
                [a, dim, index, array(rng, tuple(shape), a.dtype, special=False)],
                {"alpha": pick(rng, [1, 2])},
            )


def test_embedding():
    rng = seeded("embedding")
    for _ in range(100):
        weight = matrix(rng, (5, 3), pick(rng, FLOATS))
        indices = np.asarray(rng.integers(0, 5 + (rng.random() < 0.1), pick(rng, [(), (4,), (2, 3), (0,)])))
        compare("embedding", [weight, indices, pick(rng, [-1, 1]), flag(rng), False])
        grad = array(rng, (*indices.shape, 3), "float32", special=False)
        if indices.size and indices.max() < 5:
            compare("embedding_dense_backward", [grad, indices, 5, pick(rng, [-1, 1]), flag(rng)])


def test_backward_of_views():
    rng = seeded("backward_of_views")
    for _ in range(60):
        sizes = (3, 4, 4)
        grad = array(rng, (3, 4), "float32", pick(rng, LAYOUTS), special=False)
        compare("select_backward", [grad, list(sizes), pick(rng, [1, -2]), int(rng.integers(-4, 4))])
        grad = array(rng, (3, 2, 4), "float32", pick(rng, LAYOUTS), special=False)
        compare("slice_backward", [grad, list(sizes), 1, 1, 4, 2])
        grad = array(rng, (3, 3), "float32", pick(rng, LAYOUTS), special=False)
        compare("diagonal_backward", [grad, list(sizes), 1, 1, 2])


def test_lists():
    rng = seeded("lists")
    for _ in range(300):
        shape = pick(rng, [shape for shape in SHAPES if shape])
        dim = some_dim(rng, len(shape))
        parts = []
        dtype = pick(rng, ALL)
        for _ in range(int(rng.integers(0 if rng.random() < 0.05 else 1, 4))):
            size = list(shape)
            if -len(shape) <= dim < len(shape):
                size[dim] = int(rng.integers(0, 4))
            if rng.random() < 0.05:
                size = [0]
            dtype = dtype if rng.random() < 0.8 else pick(rng, ALL)
            parts.append(array(rng, tuple(size), dtype, pick(rng, LAYOUTS), special=False))
        compare("cat", [parts, dim])
        same = [array(rng, shape, pick(rng, ALL), pick(rng, LAYOUTS), special=False) for _ in range(3)]
        compare("stack", [same, int(rng.integers(-len(shape) - 1, len(shape) + 1))])
        a = tame(rng)
        compare(
            "repeat",
            [a, [int(times) for times in rng.integers(0, 3, a.ndim + int(rng.integers(-1, 2)) if a.ndim else 1)]],
        )
        compare("flip", [a, some_dims(rng, a.ndim, none=False)])
        dims = [int(dim) for dim in rng.permutation(a.ndim)[: int(rng.integers(0, 3))]]
        compare("roll", [a, [int(step) for step in rng.integers(-3, 4, max(len(dims), 1))], dims])


def test_sorting():
    rng = seeded("sorting")
    for _ in range(300):
        a = arrays(rng, 1)[0]
        dim, descending = some_dim(rng, a.ndim), flag(rng)
        compare("sort.stable", [a], {"stable": True, "dim": dim, "descending": descending})
        distinct = np.asarray(rng.permutation(max(a.size, 1))[: a.size].reshape(a.shape).astype("float32"))
        compare("sort", [distinct, dim, descending])
        compare("topk", [distinct, int(rng.integers(-1, 4)) if a.ndim else 1, dim, flag(rng), True])
