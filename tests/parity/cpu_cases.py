"""Shared parts of the tests of kernels beside torch: arrays in all layouts that views can have, and one call's comparison.

A case is an operator with arguments; torch gets the same storage, viewed alike. The tests are in ``test_cpu_*.py``, by kind
of operator. Each asks for ``compare``, so that other backends run the same cases: see ``tests``.
"""

import zlib
from importlib import import_module

import numpy as np
import pytest
import torch
from comparison import assert_same, attempt

from dispatch_aten.dtypes import ScalarType
from dispatch_backend_cpu.arrays import storage, storage_offset_of, strides_of
from dispatch_backend_cpu.kernels import KERNELS

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
    """Return the same for torch: an array as a view of a copy of its storage."""
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


# Cases that are not compared: the operator, when, and torch's behaviour there.
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


def compare(name, args, kwargs=None, *, view=False, tolerance=None):
    """Run one case on both sides; writes must be equal too, and a failed call must change nothing."""
    kwargs = kwargs or {}
    if deviates(name, args, kwargs):
        return
    where = f"{name}({show(args, kwargs)})"
    theirs = [to_torch(value) for value in args]
    inplace = name.partition(".")[0].endswith("_")
    before = storage(args[0]).copy() if inplace else None
    torch_kwargs = {key: to_torch(value) for key, value in kwargs.items()}
    expected, refused = attempt(overload(name), *theirs, **torch_kwargs)
    found, error = attempt(KERNELS[name], *args, **kwargs)
    if refused is not None:
        if error is None:
            pytest.fail(f"{where}: torch raises {refused!r}, the kernel gave {found!r}")
        if "single memory location" in str(error):
            return  # of two faults torch may find the other one first
        kinds = RuntimeError if type(refused) is NotImplementedError else type(refused)
        if not isinstance(error, kinds):
            pytest.fail(f"{where}: torch raises {refused!r}, the kernel {error!r}")
        if inplace:
            np.testing.assert_array_equal(storage(args[0]), before, err_msg=where)
        return
    if error is not None:
        pytest.fail(f"{where}: torch gives {expected!r}, the kernel raised {error!r}")
    assert_same(found, expected, where, kind=np.ndarray if view else object, tolerance=tolerance)
    if inplace:
        assert found is args[0], where


#: Kinds of operators, each with a file of tests.
KINDS = ("pointwise", "reductions", "matrices", "views", "creation", "indexing", "lists")


def tests():
    """Return the tests of all kinds by name, for a backend that has a fixture ``compare`` of its own."""
    modules = [import_module(f"test_cpu_{kind}") for kind in KINDS]
    return {name: test for module in modules for name, test in vars(module).items() if name.startswith("test_")}


def generator_for(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def broadcastable(rng, shape):
    """Return a shape that broadcasts with ``shape``, seldom one that does not."""
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


def matrix(rng, shape, dtype):
    return array(rng, shape, dtype, pick(rng, LAYOUTS), special=False)
