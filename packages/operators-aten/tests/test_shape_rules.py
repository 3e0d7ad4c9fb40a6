"""Shape rules beside NumPy: results' shapes and dtypes, strides and offsets of views, and refusals, on drawn arguments."""

import random
import zlib

import numpy as np
import pytest
from comparison import attempt

from dispatch_aten.dtypes import BY_NAME
from dispatch_aten.shapes import TensorMeta, infer

#: How often a rule is compared with NumPy.
DRAWS = 40


class Draw(random.Random):
    """Draws arrays in the layouts that views have, and arguments that fit them most of the time."""

    def shape(self, least=0, most=4):
        return tuple(self.choice([0, 1, 2, 2, 3, 4]) for _ in range(self.randint(least, most)))

    def array(self, *shape, dtype=np.int8):
        """Draw an array: every element of a block of memory, or every other one, in any order of dimensions."""
        order = self.sample(range(len(shape)), len(shape))
        step = self.choice([1, 2])
        block = np.zeros([shape[dim] * step + 1 for dim in order], dtype)
        turned = block.transpose([order.index(dim) for dim in range(len(shape))])
        return turned[(..., *(slice(1, 1 + size * step, step) for size in shape))]

    def any_array(self, least=0, most=4):
        return self.array(*self.shape(least, most))

    def part(self, shape):
        """Draw a shape that broadcasts with ``shape``, or seldom does not."""
        sizes = [1 if self.random() < 0.3 else size for size in shape[self.randint(0, len(shape)) :]]
        return (*sizes, 5) if self.random() < 0.1 else tuple(sizes)

    def dim(self, ndim):
        return self.randint(-ndim - 2, ndim + 1) if self.random() < 0.1 else self.randint(-ndim, ndim - 1)

    def dims(self, ndim, *, count=None):
        dims = self.sample(range(ndim), self.randint(1, ndim) if count is None else count)
        return tuple(dim - ndim if self.random() < 0.3 else dim for dim in dims)

    def indices(self, size, *shape):
        return np.array([self.randrange(size) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)


def describe(value):
    """Return an array's description, with the offset in the memory that it is a view of; other values as they are."""
    if isinstance(value, (list, tuple)):
        return [describe(each) for each in value]
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    value = base = np.asarray(value)
    while isinstance(base.base, np.ndarray):
        base = base.base
    offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    strides = tuple(stride // value.itemsize for stride in value.strides)
    return TensorMeta(value.shape, strides, BY_NAME[value.dtype.name], offset // value.itemsize)


def look(meta, *, is_view, has_dtype):
    """Return the compared parts of a description; strides of sizes of 1 are never stepped, and mean nothing."""
    layout = [step for step, size in zip(meta.strides, meta.shape, strict=True) if size > 1], meta.storage_offset
    return meta.shape, layout if is_view and meta.numel else None, meta.dtype if has_dtype else None


def compare(name, args, function, *, is_view=False, has_dtype=False):
    """Hold a rule against a function of the same arguments: NumPy's result, or that it refuses them."""
    expected, refused = attempt(function, *args)
    found, error = attempt(infer, name, *map(describe, args))
    where = f"{name}({', '.join(repr(describe(each)) for each in args)}): NumPy {refused!r}, the rule {error!r}"
    assert (refused is None) == (error is None), where
    if refused is None:
        several = isinstance(expected, (list, tuple))
        looks = [
            [look(each, is_view=is_view, has_dtype=has_dtype) for each in side]
            for side in ((found, describe(expected)) if several else ([found], [describe(expected)]))
        ]
        assert looks[0] == looks[1], where


def compare_all(name, case, **options):
    draw = Draw(zlib.crc32(name.encode()))
    make, function = case
    for _ in range(DRAWS):
        compare(name, make(draw), function, **options)


def with_dims(least=1, **options):
    def make(draw):
        a = draw.any_array(least)
        return a, draw.dims(a.ndim, **options)

    return make


def with_dim(*choices, least=1):
    def make(draw):
        a = draw.any_array(least)
        return a, draw.dim(a.ndim), *map(draw.choice, choices)

    return make


def with_two_dims(draw):
    a = draw.any_array(2)
    return a, draw.dim(a.ndim), draw.dim(a.ndim)


def slice_along(a, dim, start, stop, step):
    return np.moveaxis(np.moveaxis(a, dim, 0)[start:stop:step], 0, dim)


def draw_split(draw):
    a = draw.any_array(1)
    dim = draw.randrange(a.ndim)
    return a, draw.randint(1, 3), dim


BOUNDS = (None, 0, 1, 2, -1, -3, 9)
VIEWS = {
    "permute": (lambda draw: (a := draw.any_array(), draw.dims(a.ndim, count=a.ndim)), np.transpose),
    "transpose.int": (with_two_dims, np.swapaxes),
    "swapaxes": (with_two_dims, np.swapaxes),
    "movedim.int": (with_two_dims, np.moveaxis),
    "t": (lambda draw: (draw.any_array(most=2),), np.transpose),
    "mT": (lambda draw: (draw.any_array(2),), np.matrix_transpose),
    "squeeze": (lambda draw: (draw.any_array(),), np.squeeze),
    "squeeze.dim": (with_dim(), lambda a, dim: np.squeeze(a, dim) if a.shape[dim] == 1 else a),
    "unsqueeze": (lambda draw: (a := draw.any_array(), draw.dim(a.ndim + 1)), np.expand_dims),
    "expand": (lambda draw: (draw.array(*draw.part(shape := draw.shape())), shape), np.broadcast_to),
    "select.int": (with_dim(range(-3, 3)), lambda a, dim, index: np.moveaxis(a, dim, 0)[index, ...]),
    "slice.Tensor": (with_dim(BOUNDS, BOUNDS, (1, 1, 2, 3)), slice_along),
    "diagonal": (
        lambda draw: (a := draw.any_array(2), draw.randint(-2, 2), *draw.dims(a.ndim, count=2)),
        np.diagonal,
    ),
    "unbind.int": (with_dim(), lambda a, dim: [np.moveaxis(a, dim, 0)[each, ...] for each in range(a.shape[dim])]),
    "tensor_split.sections": (draw_split, np.array_split),
    "split.Tensor": (draw_split, lambda a, size, dim: np.split(a, range(size, max(a.shape[dim], 1), size), dim)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_lies_where_numpys_lies(name):
    compare_all(name, VIEWS[name], is_view=True)


def reduce_by(function):
    return lambda a, dims, keep: function(a, axis=dims, keepdims=keep)


def reduction(draw):
    a = draw.any_array(1)
    return a, draw.dims(a.ndim), draw.choice([True, False])


REDUCTIONS = {
    **{name: (reduction, reduce_by(function)) for name, function in {
        "sum.dim_IntList": np.sum, "amax": np.amax, "amin": np.amin, "any.dims": np.any, "all.dims": np.all
    }.items()},
    **{name: (with_dim((True, False)), reduce_by(function)) for name, function in {
        "prod.dim_int": np.prod, "argmax": np.argmax, "argmin": np.argmin, "any.dim": np.any, "all.dim": np.all
    }.items()},
    "cumsum": (with_dim(), np.cumsum),
    "cumprod": (with_dim(), np.cumprod),
    "sort": (with_dim(), lambda a, dim: (np.sort(a, dim), np.argsort(a, dim))),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_what_reduces_or_runs_along_dimensions_has_numpys_shape(name):
    # NumPy adds up int8 in the machine's integers as torch does, and its extremes and indices have torch's dtypes.
    compare_all(name, REDUCTIONS[name], has_dtype=name not in ("any.dims", "all.dims", "any.dim", "all.dim"))


def matrices(*shapes):
    """Draw matrices whose dimensions of one letter have one size, but seldom."""

    def make(draw):
        sizes = {letter: draw.randint(0, 4) for letter in "bkmn"}
        return [draw.array(*[sizes[each] + (draw.random() < 0.05) for each in shape]) for shape in shapes]

    return make


def multiply_batches(a, b):
    if len(a) != len(b):
        raise ValueError  # NumPy repeats one matrix for all
    return a @ b


MATRICES = {
    "mm": (matrices("nk", "km"), np.matmul),
    "bmm": (matrices("bnk", "bkm"), multiply_batches),
    "mv": (matrices("nk", "k"), np.matmul),
    "dot": (matrices("k", "k"), np.dot),
    "matmul": (matrices("bnk", "km"), np.matmul),
    "linear": (matrices("bnk", "mk"), lambda x, weight: x @ weight.T),
    "outer": (matrices("n", "m"), np.outer),
    "addmm": (matrices("m", "nk", "km"), lambda bias, a, b: np.broadcast_to(bias, (a @ b).shape)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_products_have_numpys_shape(name):
    compare_all(name, MATRICES[name])


def draw_parts(draw):
    shape = draw.shape(1)
    dim = draw.randrange(len(shape))
    parts = [[*shape[:dim], draw.randint(1, 3), *shape[dim + 1 :]] for _ in range(draw.randint(1, 3))]
    return [draw.array(*part) for part in parts], dim


def draw_gather(draw):
    shape = draw.shape(1)
    dim = draw.randrange(len(shape))
    index = draw.indices(max(shape[dim], 1), *shape[:dim], draw.randint(0, 3) if shape[dim] else 0, *shape[dim + 1 :])
    return draw.array(*shape), dim, index


def draw_index_select(draw):
    a, dim, _ = draw_gather(draw)
    return a, dim, draw.indices(max(a.shape[dim], 1), draw.randint(0, 3) if a.shape[dim] else 0)


MOVED = {
    "cat": (draw_parts, np.concatenate),
    "stack": (
        lambda draw: ([draw.array(*s) for s in [draw.shape()] * draw.randint(1, 3)], 0),
        np.stack,
    ),
    "repeat": (
        lambda draw: (a := draw.any_array(), [draw.randint(0, 2) for _ in range(a.ndim + draw.randint(0, 2))]),
        np.tile,
    ),
    "flip": (with_dims(), np.flip),
    "tril": (lambda draw: (draw.any_array(2), draw.randint(-2, 2)), np.tril),
    "reshape": (lambda draw: (a := draw.any_array(), draw.choice([(-1,), (a.size,), (2, -1), a.shape[::-1]])), np.reshape),
    "index_select": (draw_index_select, lambda a, dim, index: np.take(a, index, dim)),
    "gather": (draw_gather, lambda a, dim, index: np.take_along_axis(a, index, dim)),
    "embedding": (lambda draw: (draw.array(4, 3), draw.indices(4, *draw.shape(most=2))), lambda weight, i: weight[i]),
    "index.Tensor": (
        lambda draw: (draw.array(3, 4, 2), [draw.indices(2, *draw.part((2, 3))), draw.indices(2, *draw.part((2, 3)))]),
        lambda a, indices: a[tuple(indices)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_what_moves_elements_has_numpys_shape(name):
    compare_all(name, MOVED[name], has_dtype=True)


FACTORIES = {
    "arange.start_step": (lambda draw: (draw.randint(0, 3), draw.randint(3, 9), draw.choice([1, 2, 3])), np.arange),
    "eye.m": (lambda draw: (draw.randint(0, 4), draw.randint(0, 4)), np.eye),
    "zeros": (lambda draw: (draw.shape(),), np.zeros),
    "full": (lambda draw: (draw.shape(), 2.5), np.full),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_a_factory_has_numpys_shape(name):
    compare_all(name, FACTORIES[name])


BINARY = {
    "add.Tensor": np.add, "sub.Tensor": np.subtract, "mul.Tensor": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "eq.Tensor": np.equal, "lt.Tensor": np.less, "logical_and": np.logical_and,
    "logical_xor": np.logical_xor, "bitwise_and.Tensor": np.bitwise_and, "bitwise_or.Tensor": np.bitwise_or,
}  # fmt: skip
UNARY = {
    "abs": np.abs, "neg": np.negative, "square": np.square, "logical_not": np.logical_not, "isnan": np.isnan,
    "bitwise_not": np.bitwise_not,
}  # fmt: skip
DTYPES = [
    np.dtype(name) for name in "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
]
#: Where NumPy computes, and torch refuses, or has another dtype.
UNLIKE_NUMPY = {("maximum", "c"), ("minimum", "c"), ("lt.Tensor", "c"), ("square", "b"), ("abs", "b")}


@pytest.mark.parametrize("name", BINARY | UNARY)
def test_element_wise_results_have_the_operands_broadcast_shape_and_numpys_dtype(name):
    draw = Draw(zlib.crc32(name.encode()))
    for dtype in DTYPES:
        if (name, dtype.kind) in UNLIKE_NUMPY:
            continue
        for _ in range(5):
            shape = draw.shape()
            args = [draw.array(*shape, dtype=dtype)]
            if name in BINARY:
                args.append(draw.array(*draw.part(shape), dtype=dtype))
            compare(name, args, (BINARY | UNARY)[name], has_dtype=True)
