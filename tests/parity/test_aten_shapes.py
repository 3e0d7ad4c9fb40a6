"""Shape rules against torch: shape, strides, dtype and offset of results, and errors, on generated inputs of all layouts."""

import random
import zlib

import pytest

torch = pytest.importorskip("torch", reason="the oracle of these tests is torch")

from aten_cases import torch_operator  # noqa: E402  # after the skip
from comparison import attempt, flatten, ignore_warnings  # noqa: E402

from dispatch_aten.dtypes import BY_NAME  # noqa: E402
from dispatch_aten.shapes import TensorMeta, infer  # noqa: E402

FLOATS = (torch.float32, torch.float64, torch.float16)
ALL = (*FLOATS, torch.float32, torch.float32, torch.int64, torch.int32, torch.uint8, torch.bool)


class Draw(random.Random):
    """Draws tensors of all layouts, and arguments that fit them."""

    def shape(self, most=4):
        sizes = [0, 1, 1, 2, 3, 4] if self.random() < 0.3 else [1, 2, 3, 4]
        return [self.choice(sizes) for _ in range(self.randint(0, most))]

    def tensor(self, shape=None, dtypes=ALL):
        shape = self.shape() if shape is None else list(shape)
        dtype = self.choice(dtypes)
        match self.choice(["plain", "plain", "permuted", "expanded", "strided", "offset"]):
            case "permuted":
                order = list(range(len(shape)))
                self.shuffle(order)
                base = torch.ones([shape[dim] for dim in order]).to(dtype)
                return base.permute([order.index(dim) for dim in range(len(shape))])
            case "expanded":
                return torch.ones([1 if self.random() < 0.5 else size for size in shape]).to(dtype).expand(shape)
            case "strided" if shape:
                base = torch.ones([2 * size + 1 for size in shape]).to(dtype)
                return base[tuple(slice(1, 1 + 2 * size, 2) for size in shape)]
            case "offset":
                return torch.ones([2, *shape]).to(dtype)[1]
        return torch.ones(shape).to(dtype)

    def part(self, shape):
        """Draw a shape that broadcasts with ``shape``."""
        sizes = [1 if self.random() < 0.3 else size for size in shape]
        return sizes[self.randint(0, len(sizes)) :] if self.random() < 0.3 else sizes

    def dim(self, ndim, wrong=0.1):
        if self.random() < wrong:
            return self.choice([-ndim - 1, ndim + 1])
        return self.randint(-ndim, ndim - 1) if ndim else self.choice([0, -1])

    def dims(self, ndim):
        return self.choice([[], [self.dim(ndim)], list(range(ndim)), [self.dim(ndim), self.dim(ndim)]])

    def keep(self):
        return self.random() < 0.5

    def number(self):
        return self.choice([2, 2.5, True, 3])

    def factors(self, numel):
        """Draw a shape of ``numel`` elements, seldom a wrong one."""
        sizes = []
        while numel > 1 and self.random() < 0.8:
            sizes.append(self.choice([size for size in range(1, numel + 1) if numel % size == 0]))
            numel //= sizes[-1]
        sizes.append(numel)
        while self.random() < 0.3:
            sizes.insert(self.randint(0, len(sizes)), 1)
        if self.random() < 0.4:
            sizes[self.randrange(len(sizes))] = self.choice([-1, -1, -1, 5])
        return sizes


def meta_of(value):
    match value:
        case torch.Tensor():
            return TensorMeta(tuple(value.shape), value.stride(), meta_of(value.dtype), value.storage_offset())
        case torch.dtype():
            return BY_NAME[str(value).removeprefix("torch.")]
        case list() | tuple():
            return [meta_of(each) for each in value]
        case _:
            return value


def compare(name, args, kwargs):
    with ignore_warnings():
        expected, refused = attempt(torch_operator(name), *args, **kwargs)
    keywords = {key: meta_of(value) for key, value in kwargs.items()}
    got, error = attempt(infer, name, *[meta_of(value) for value in args], **keywords)
    said = f"{name} {[meta_of(value) for value in args]} {kwargs}: torch {refused!r}, ours {error!r}"
    assert (refused is None) == (error is None), said
    if refused is not None:
        assert isinstance(error, type(refused)), said
        assert f"aten::{name}" in str(error), said
        return
    want = [meta_of(value) for value in flatten(expected)]
    assert flatten(got) == want, f"{said}\n torch {want}\n ours {flatten(got)}"


def unary(draw):
    return (draw.tensor(),), {}


def binary(draw):
    shape = draw.shape()
    pair = draw.tensor(shape), draw.tensor(draw.part(shape) if draw.random() < 0.9 else None)
    return pair if draw.random() < 0.5 else pair[::-1], {}


def with_number(draw):
    return (draw.tensor(), draw.number()), {}


def reduction(draw):
    x = draw.tensor()
    return (x, draw.dims(x.ndim), draw.keep()), {}


def one_dim(draw):
    x = draw.tensor()
    return (x, draw.dim(x.ndim), draw.keep()), {}


def with_dim(draw):
    x = draw.tensor(dtypes=FLOATS)
    return (x, draw.dim(x.ndim)), {}


def two_dims(draw):
    x = draw.tensor()
    return (x, draw.dim(x.ndim), draw.dim(x.ndim)), {}


def of_numel(draw):
    x = draw.tensor()
    return (x, draw.factors(x.numel())), {}


def matrices(*shapes):
    def make(draw):
        sizes = {letter: draw.randint(1, 3) for letter in "abce"}
        pick = [
            [draw.choice([0, 1, 2, 3]) if draw.random() < 0.1 else sizes[letter] for letter in shape]
            for shape in shapes
        ]
        return tuple(draw.tensor(shape, (torch.float32,)) for shape in pick), {}

    return make


def list_and_dim(draw, dim_first=None):
    shape = draw.shape()
    dim = draw.dim(len(shape), 0.05)
    return ([draw.tensor(shape if draw.random() < 0.95 else None) for _ in range(draw.randint(1, 3))], dim), {}


def gather(draw):
    shape = [draw.randint(1, 4) for _ in range(draw.randint(1, 3))]
    dim = draw.randrange(len(shape))
    index = torch.zeros([draw.randint(1, size + (each == dim)) for each, size in enumerate(shape)], dtype=torch.int64)
    return (draw.tensor(shape, FLOATS), draw.choice([dim, dim - len(shape)]), index), {}


def scatter(draw):
    (x, dim, index), _ = gather(draw)
    return (x, dim, index, torch.ones([size + draw.randint(0, 1) for size in index.shape], dtype=x.dtype)), {}


def index(draw):
    shape = [draw.randint(1, 4) for _ in range(draw.randint(1, 4))]
    spread = [draw.randint(1, 3) for _ in range(draw.randint(0, 2))]
    indices = [None if draw.random() < 0.4 else torch.zeros(draw.part(spread), dtype=torch.int64) for _ in shape]
    if not any(index is not None for index in indices):
        indices[0] = torch.zeros(2, dtype=torch.int64)
    return (draw.tensor(shape), indices), {}


def slice_of(draw):
    x = draw.tensor()
    bounds = [None, -5, -2, -1, 0, 1, 2, 3, 7]
    return (x, draw.dim(x.ndim), draw.choice(bounds), draw.choice(bounds), draw.choice([1, 1, 2, 3, 0])), {}


def expand(draw):
    x = draw.tensor()
    sizes = [draw.choice([2, 3, -1]) if size == 1 else draw.choice([size, -1]) for size in x.shape]
    return (x, [draw.randint(1, 3) for _ in range(draw.randint(0, 2))] + sizes), {}


MAKERS = {
    unary: (
        "neg abs exp log1p sqrt sin tanh sigmoid erf floor round frac logical_not bitwise_not isnan isinf isfinite "
        "nan_to_num relu silu gelu softplus square sign clone tril triu sum prod mean max min argmax any all var std "
        "var_mean count_nonzero aminmax norm.Scalar zeros_like empty_like t squeeze numpy_T ravel detach contiguous"
    ),
    binary: (
        "add.Tensor sub.Tensor mul.Tensor div.Tensor remainder.Tensor floor_divide pow.Tensor_Tensor atan2 maximum minimum "
        "logical_and bitwise_and.Tensor eq.Tensor lt.Tensor clamp_min.Tensor"
    ),
    with_number: (
        "add.Scalar sub.Scalar rsub.Scalar mul.Scalar div.Scalar remainder.Scalar fmod.Scalar floor_divide.Scalar "
        "pow.Tensor_Scalar eq.Scalar lt.Scalar clamp_min clamp_max bitwise_or.Scalar fill.Scalar leaky_relu"
    ),
    reduction: "sum.dim_IntList mean.dim amax amin any.dims all.dims",
    one_dim: "prod.dim_int max.dim min.dim argmax argmin any.dim all.dim",
    with_dim: "cumsum cumprod sort argsort unbind.int squeeze.dim unsqueeze softmax.int log_softmax.int",
    two_dims: "transpose.int movedim.int flatten.using_ints",
    of_numel: "view reshape",
    matrices("ab", "bc"): "mm matmul",
    matrices("eab", "ebc"): "bmm matmul",
    matrices("ab", "b"): "mv matmul",
    matrices("a", "a"): "dot matmul",
    matrices("a", "b"): "outer",
    matrices("eab", "bc"): "matmul",
    matrices("c", "ab", "bc"): "addmm",
    matrices("eab", "cb", "c"): "linear",
    list_and_dim: "cat stack",
    gather: "gather",
    scatter: "scatter.src scatter_add",
    index: "index.Tensor",
    slice_of: "slice.Tensor",
    expand: "expand broadcast_to",
    lambda draw: ((draw.tensor(), draw.choice([None, 1, 1.5]), draw.choice([2, 2.5])), {}): "clamp",
    lambda draw: ((draw.tensor([2, 3], (torch.bool,)), *binary(draw)[0]), {}): "where.self",
    lambda draw: ((x := draw.tensor(), draw.tensor(draw.part(x.shape), (torch.bool,)), 1), {}): "masked_fill.Scalar",
    lambda draw: ((x := draw.tensor(), draw.dim(x.ndim), draw.randint(-4, 4)), {}): "select.int",
    lambda draw: ((x := draw.tensor(), draw.dim(x.ndim), draw.randint(-3, 4), draw.randint(-1, 4)), {}): "narrow",
    lambda draw: ((x := draw.tensor(), draw.randint(0, 4), draw.dim(x.ndim)), {}): "split.Tensor chunk",
    lambda draw: ((x := draw.tensor(), draw.randint(-3, 3), draw.dim(x.ndim), draw.dim(x.ndim)), {}): "diagonal",
    lambda draw: ((x := draw.tensor(), [draw.dim(x.ndim) for _ in range(x.ndim)]), {}): "permute",
    lambda draw: (
        (x := draw.tensor(), [draw.randint(0, 2) for _ in range(x.ndim + draw.randint(-1, 1))]),
        {},
    ): "repeat",
    lambda draw: ((x := draw.tensor(), [draw.dim(x.ndim)]), {}): "flip count_nonzero.dim_IntList",
    lambda draw: ((draw.tensor(), [2, draw.choice([3, -1])]), {}): "new_zeros new_ones new_empty",
    lambda draw: ((draw.tensor([5, 3]), draw.tensor(draw.choice([[5, 3], [3], [2, 3]]))), {}): "copy_",
    lambda draw: (
        (draw.choice([0, 1, 2.5]), draw.choice([0, 3, 5.5]), draw.choice([1, 2, 0.5, -1, 0])),
        {},
    ): "arange.start_step",
    lambda draw: (([2, 3], draw.choice([1, 2.5, True, 300])), {}): "full",
    lambda draw: ((draw.tensor([3, 4], FLOATS), torch.zeros(draw.shape(2), dtype=torch.int64)), {}): "embedding",
    lambda draw: (
        (draw.tensor([4, 3], FLOATS), torch.zeros(4, dtype=torch.int64), None, draw.randint(0, 2), -100),
        {},
    ): ("nll_loss_forward"),
}
CASES = [(name, make) for make, names in MAKERS.items() for name in names.split()]


@pytest.mark.parametrize(("name", "make"), CASES, ids=[name for name, _ in CASES])
def test_a_rule_says_what_torch_does(name, make):
    for round_ in range(60):
        draw = Draw(zlib.crc32(f"{name}{round_}".encode()))
        args, kwargs = make(draw)
        compare(name, args, kwargs)


ERRORS = [
    ("add.Tensor", lambda: (torch.ones(2, 3), torch.ones(4))),
    ("add_.Tensor", lambda: (torch.ones(3), torch.ones(2, 3))),
    ("add_.Scalar", lambda: (torch.ones(3, dtype=torch.int64), 1.5)),
    ("sub.Tensor", lambda: (torch.ones(2) > 0, torch.ones(2))),
    ("mm", lambda: (torch.ones(2, 3), torch.ones(2, 3))),
    ("bmm", lambda: (torch.ones(2, 3, 4), torch.ones(2, 3, 4))),
    ("mv", lambda: (torch.ones(2, 3), torch.ones(2))),
    ("dot", lambda: (torch.ones(2), torch.ones(3))),
    ("addmm", lambda: (torch.ones(4), torch.ones(2, 3), torch.ones(3, 3))),
    ("sum.dim_IntList", lambda: (torch.ones(2, 3), [2])),
    ("mean", lambda: (torch.ones(2, dtype=torch.int64),)),
    ("amax", lambda: (torch.ones(2, 0), [1])),
    ("view", lambda: (torch.ones(2, 3).t(), [6])),
    ("view", lambda: (torch.ones(2, 3), [4, -1])),
    ("reshape", lambda: (torch.ones(2, 3), [7])),
    ("expand", lambda: (torch.ones(2, 3), [2, 4])),
    ("select.int", lambda: (torch.ones(2, 3), 0, 2)),
    ("permute", lambda: (torch.ones(2, 3), [0, 0])),
    ("squeeze.dim", lambda: (torch.ones(2, 3), 5)),
    ("cat", lambda: ([torch.ones(2, 3), torch.ones(2, 2)], 0)),
    ("cat", lambda: ([], 0)),
    ("stack", lambda: ([torch.ones(2), torch.ones(3)],)),
    ("gather", lambda: (torch.ones(2, 3), 1, torch.zeros(3, 1, dtype=torch.int64))),
    ("index_select", lambda: (torch.ones(2, 3), 1, torch.ones(2))),
    (
        "index.Tensor",
        lambda: (torch.ones(2, 3), [torch.zeros(2, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)]),
    ),
    ("topk", lambda: (torch.ones(3), 5)),
    ("nll_loss_forward", lambda: (torch.ones(2, 3), torch.ones(2), None, 1, -100)),
    ("bitwise_not", lambda: (torch.ones(2),)),
    ("copy_", lambda: (torch.ones(2), torch.ones(2, 2))),
]


@pytest.mark.parametrize(("name", "make"), ERRORS)
def test_an_error_has_torchs_words_and_names_the_operator(name, make):
    args = make()
    _, expected = attempt(torch_operator(name), *args)
    _, error = attempt(infer, name, *[meta_of(value) for value in args])
    assert str(error).startswith(str(expected).splitlines()[0])
    assert f"aten::{name}" in str(error)
    assert isinstance(error, type(expected))
