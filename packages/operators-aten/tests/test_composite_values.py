"""The values that composites compute, beside NumPy and by the laws that tie operators to each other."""

import math

import numpy as np
import pytest
from comparison import assert_close, assert_same
from composites import call_composite as call

from dispatch_aten.dtypes import BY_NAME, float64
from dispatch_aten.errors import AtenError
from dispatch_aten.shapes import RULES, contiguous

pytest.importorskip("dispatch_backend_cpu", reason="composites need some backend's kernels")
pytestmark = [
    pytest.mark.no_pipeline(reason="composites are called themselves, on arrays"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
SHAPES = [(), (5,), (2, 3), (3, 1, 4), (0, 3)]
RNG = np.random.default_rng(20)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _numbers_of_its_own():
    """Begin each test with the same numbers, whichever ran before."""
    RNG.bit_generator.state = START


def normal(*shape):
    return np.asarray(RNG.standard_normal(shape) * 3)


def positive(*shape):
    return np.asarray(abs(normal(*shape)) + 0.1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


erf = np.vectorize(math.erf, otypes=[float])
UNARY = {
    "abs": np.abs, "neg": np.negative, "sign": np.sign, "tan": np.tan, "exp2": np.exp2, "expm1": np.expm1,
    "reciprocal": np.reciprocal, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "square": np.square,
    "logical_not": np.logical_not, "nan_to_num": np.nan_to_num, "sigmoid": sigmoid, "clone": np.copy,
    "relu": lambda x: np.maximum(x, 0), "frac": lambda x: x - np.trunc(x), "silu": lambda x: x * sigmoid(x),
    "softplus": lambda x: np.log1p(np.exp(x)), "erfc": lambda x: 1 - erf(x),
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2, "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "sinc": np.sinc, "sgn": np.sign, "signbit": np.signbit, "angle": np.angle, "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg, "isposinf": np.isposinf, "isneginf": np.isneginf, "fix": np.trunc, "arctan": np.arctan,
    "special_ndtr": lambda x: (1 + erf(x / math.sqrt(2))) / 2,
    "ones_like": np.ones_like, "zeros_like": np.zeros_like, "ravel": np.ravel, "numpy_T": np.transpose,
}  # fmt: skip
OF_POSITIVE = {"log2": np.log2, "log10": np.log10, "log1p": np.log1p, "rsqrt": lambda x: 1 / np.sqrt(x)}
BINARY = {
    "sub.Tensor": np.subtract, "maximum": np.maximum, "minimum": np.minimum, "eq.Tensor": np.equal,
    "ne.Tensor": np.not_equal, "lt.Tensor": np.less, "ge.Tensor": np.greater_equal, "gt.Tensor": np.greater,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "remainder.Tensor": np.remainder, "multiply.Tensor": np.multiply, "true_divide.Tensor": np.divide,
    "copysign.Tensor": np.copysign, "fmax": np.fmax, "fmin": np.fmin, "hypot": np.hypot, "heaviside": np.heaviside,
    "logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2, "ldexp.Tensor": lambda x, y: x * 2.0**y,
    "complex": lambda x, y: x + 1j * y, "isclose": np.isclose, "rsub.Tensor": lambda x, y: y - x,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY | OF_POSITIVE)
def test_functions_of_one_array_are_numpys(name):
    draw = positive if name in OF_POSITIVE else normal
    for shape in SHAPES:
        x = draw(*shape)
        assert_same(call(name, x), np.asarray((UNARY | OF_POSITIVE)[name](x)), name, strides=False)


def test_functions_of_one_array_refuse_the_dtypes_that_the_rule_refuses():
    refused = set()
    for name in RULES.keys() & (UNARY | OF_POSITIVE).keys():
        for dtype in ("int64", "bool"):
            x = np.ones((2, 3), dtype)
            try:
                RULES[name](contiguous(x.shape, BY_NAME[dtype]))
            except AtenError as error:
                refused.add((name, dtype))
                with pytest.raises(type(error)):
                    call(name, x)
    assert {("frac", "int64"), ("frac", "bool")} <= refused


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays_broadcast_as_numpys_do(name):
    for shape in SHAPES:
        x = normal(*shape)
        for y in (normal(*shape), np.asarray(x), normal(*shape[1:]), normal(*[1] * len(shape))):
            assert_same(call(name, x, y), np.asarray(BINARY[name](x, y)), name, strides=False)


REDUCTIONS = {
    "mean.dim": np.mean,
    "amin": np.amin,
    "any.dims": np.any,
    "all.dims": np.all,
    "var.correction": lambda x, dims, **options: np.var(x, dims, ddof=1, **options),
    "std.correction": lambda x, dims, **options: np.std(x, dims, ddof=1, **options),
    "logsumexp": lambda x, dims, **options: np.log(np.sum(np.exp(x), dims, **options)),
    "linalg_vector_norm": lambda x, dims, **options: np.sqrt(np.sum(x * x, dims, **options)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_numpys(name):
    for shape, dims in [((5,), (0,)), ((2, 3), (1,)), ((3, 2, 4), (0, 2)), ((3, 2, 4), (-1,)), ((2, 0, 3), (0,))]:
        x = normal(*shape)
        for keepdim in (False, True):
            args = (2, list(dims)) if name == "linalg_vector_norm" else (list(dims),)
            expected = REDUCTIONS[name](x, dims, keepdims=keepdim)
            assert_same(call(name, x, *args, keepdim=keepdim), np.asarray(expected), name, strides=False)


def test_extremes_and_their_places_agree():
    for shape in [(5,), (2, 3), (3, 2, 4)]:
        x = normal(*shape)
        for dim in range(len(shape)):
            for name, extreme in (("max", np.max), ("min", np.min)):
                values, places = call(f"{name}.dim", x, dim)
                assert_close(values, extreme(x, dim))
                assert_close(np.take_along_axis(x, np.expand_dims(places, dim), dim).squeeze(dim), values)
                assert_close(call(f"arg{name}", x, dim), places)


@pytest.mark.parametrize(
    ("name", "shapes", "function"),
    [
        ("mm", [(2, 3), (3, 4)], np.matmul),
        ("bmm", [(5, 2, 3), (5, 3, 4)], np.matmul),
        ("mv", [(2, 3), (3,)], np.matmul),
        ("dot", [(3,), (3,)], np.dot),
        ("matmul", [(5, 1, 2, 3), (4, 3, 2)], np.matmul),
        ("outer", [(2,), (3,)], np.outer),
        ("addmm", [(4,), (2, 3), (3, 4)], lambda bias, a, b: bias + a @ b),
        ("baddbmm", [(5, 2, 4), (5, 2, 3), (5, 3, 4)], lambda bias, a, b: bias + a @ b),
        ("linear", [(5, 3), (4, 3), (4,)], lambda x, weight, bias: x @ weight.T + bias),
    ],
)
def test_products_are_numpys(name, shapes, function):
    operands = [normal(*shape) for shape in shapes]
    assert_same(call(name, *operands), np.asarray(function(*operands)), name, strides=False)


X = normal(4, 3, 5)
PLACES = np.array([2, 0, 2])
ROWS = RNG.permuted(np.arange(4)[:, None, None].repeat(3, 1).repeat(5, 2), axis=0)
MASK = X > 0
#: Pairs that must be equal: a composite's result, and an expression of NumPy or ``X`` itself.
LAWS = {
    "flip twice": lambda: (call("flip", call("flip", X, [0, 2]), [0, 2]), X),
    "permute and back": lambda: (call("permute", call("permute", X, [2, 0, 1]), [1, 2, 0]), X),
    "roll all the way": lambda: (call("roll", call("roll", X, [2, 1], [1, 2]), [1, 4], [1, 2]), X),
    "cat what was split": lambda: (call("cat", call("split_with_sizes", X, [1, 2], 1), 1), X),
    "stack what was unbound": lambda: (call("stack", call("unbind.int", X, 2), 2), X),
    "halves of a square": lambda: (call("tril", X[:3, :3]) + call("triu", X[:3, :3], 1), X[:3, :3]),
    "repeat is tile": lambda: (call("repeat", X, [2, 1, 1, 2]), np.tile(X, (2, 1, 1, 2))),
    "softmax sums to one": lambda: (call("_softmax", X, 1, False).sum(1), np.ones((4, 5))),
    "logarithm of softmax": lambda: (call("_log_softmax", X, 1, False), np.log(call("_softmax", X, 1, False))),
    "sorting orders": lambda: (call("sort", X, 1, False)[0], np.sort(X, 1)),
    "sorting says whence": lambda: (np.take_along_axis(X, call("sort", X, 1, True)[1], 1), call("sort", X, 1, True)[0]),
    "the largest of the sorted": lambda: (call("topk", X, 2, 2)[0], np.sort(X, 2)[..., :2:-1]),
    "select what was put": lambda: (call("select_scatter", X, X[1] * 2, 0, 2)[2], X[1] * 2),
    "slice what was put": lambda: (call("slice_scatter", X, X[:2] * 2, 0, 1, 3)[1:3], X[:2] * 2),
    "the diagonal that was put": lambda: (
        np.diagonal(call("diagonal_scatter", X, X[..., 0] * 2, 1, 1, 2), 1, 1, 2),
        X[..., 0] * 2,
    ),
    "rows by index": lambda: (call("index_select", X, 0, PLACES), X[PLACES]),
    "gather along": lambda: (call("gather", X, 0, ROWS), np.take_along_axis(X, ROWS, 0)),
    "gather what was scattered": lambda: (call("gather", call("scatter.src", X * 0, 0, ROWS, X), 0, ROWS), X),
    "write where masked": lambda: (call("masked_fill.Scalar", X, MASK, 7.0), np.where(MASK, 7.0, X)),
    "read where masked": lambda: (call("masked_select", X, MASK), X[MASK]),
    "write what was read": lambda: (call("masked_scatter", X * 0, MASK, call("masked_select", X, MASK)), X * MASK),
    "embedding reads rows": lambda: (call("embedding", X[0], PLACES), X[0][PLACES]),
    "between bounds": lambda: (call("clamp", X, -1.0, 1.5), np.clip(X, -1.0, 1.5)),
    "on the way": lambda: (call("lerp.Scalar", X, X * 3, 0.25), X * 1.5),
    "a product added": lambda: (call("addcmul", X, X, X, value=2), X + 2 * X * X),
    "a power is a product": lambda: (call("pow.Tensor_Scalar", X, 3), X * X * X),
    "mean of squares": lambda: (call("mse_loss", X, X + 2), np.asarray(4.0)),
    "one of each": lambda: (call("eye.m", 3, 4), np.eye(3, 4, dtype=np.float32)),
    "from here to there": lambda: (call("linspace", -1, 2, 7), np.linspace(-1, 2, 7, dtype=np.float32)),
}


@pytest.mark.parametrize("law", LAWS)
def test_a_law_holds(law):
    found, expected = LAWS[law]()
    assert_same(np.asarray(found), np.asarray(expected), law, strides=False)


def adjoint(forward, backward, x):
    """Return ``⟨forward(x), g⟩`` and ``⟨x, backward(g)⟩``, which are equal where each is the other's transpose."""
    y = forward(x)
    g = normal(*y.shape)
    return np.vdot(y, g), np.vdot(x, backward(g))


@pytest.mark.parametrize(
    ("forward", "backward"),
    [
        (lambda x: x[1], lambda g: call("select_backward", g, [4, 3, 5], 0, 1)),
        (lambda x: x[:, 1:3], lambda g: call("slice_backward", g, [4, 3, 5], 1, 1, 3, 1)),
        (lambda x: np.diagonal(x, 1, 1, 2), lambda g: call("diagonal_backward", g, [4, 3, 5], 1, 1, 2)),
        (
            lambda x: np.take_along_axis(x, ROWS[:2], 0),
            lambda g: call("scatter_add", np.zeros_like(X), 0, ROWS[:2], g),
        ),
        (lambda x: x[PLACES], lambda g: call("index_add", np.zeros_like(X), 0, PLACES, g)),
        (
            lambda x: x[:, 0][PLACES],
            lambda g: call("embedding_dense_backward", g, PLACES, 4, -1, False)[:, None] * np.eye(3)[0][:, None],
        ),
    ],
    ids=["select", "slice", "diagonal", "gather", "rows", "embedding"],
)
def test_the_gradient_of_a_linear_operator_is_its_transpose(forward, backward):
    left, right = adjoint(forward, backward, X)
    assert left == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "function", "more"),
    [
        ("sigmoid_backward", sigmoid, ()),
        ("tanh_backward", np.tanh, ()),
        ("_softmax_backward_data", lambda x: call("_softmax", x, 1, False), (1, float64)),
        ("_log_softmax_backward_data", lambda x: call("_log_softmax", x, 1, False), (1, float64)),
    ],
)
def test_the_gradient_by_a_result_is_the_slope(name, function, more):
    gradient, direction, step = normal(4, 3, 5), normal(4, 3, 5), 1e-6
    found = call(name, gradient, function(X), *more)
    slope = (function(X + step * direction) - function(X - step * direction)) / (2 * step)
    assert np.vdot(found, direction) == pytest.approx(np.vdot(gradient, slope), rel=1e-6, abs=1e-7)


def test_complex_numbers_are_parts_and_angles():
    x = normal(3, 4) + 1j * normal(3, 4)
    assert_same(call("_conj_physical", x), np.conjugate(x), "conj", strides=False)
    assert_close(call("angle", x), np.angle(x))
    assert_close(call("sgn", x), x / abs(x))
    assert_close(call("polar", abs(x), np.angle(x)), x)
    assert_same(call("imag", x), x.imag, "imag", strides=False)


def test_logarithms_of_odds_and_products_that_are_zero():
    p = np.array([0.2, 0.5, 0.9])
    assert_close(call("logit", p), np.log(p / (1 - p)))
    assert_close(call("logit_backward", np.ones(3), p), 1 / (p * (1 - p)))
    x, y = np.array([0.0, 0.0, 2.0]), np.array([0.0, np.nan, 3.0])
    assert_close(call("xlogy.Tensor", x, y), np.array([0.0, np.nan, 2 * np.log(3.0)]))
    assert_close(call("special_entr", np.array([0.0, 0.5, -1.0])), np.array([0.0, 0.5 * np.log(2.0), -np.inf]))
    assert_close(
        call("mvlgamma", np.array([3.0]), 2), np.array([math.lgamma(3) + math.lgamma(2.5) + 0.5 * math.log(math.pi)])
    )


def test_members_of_a_set_are_found():
    x, others = np.array([[1, 2], [3, 4]]), np.array([2, 4, 9])
    assert_same(call("isin.Tensor_Tensor", x, others), np.isin(x, others), "isin", strides=False)
    assert_same(call("isin.Tensor_Tensor", x, others, invert=True), ~np.isin(x, others), "isin", strides=False)


def test_weights_draw_what_they_weigh():
    weights = np.array([0.0, 1.0, 0.0, 3.0])
    drawn = call("multinomial", weights, 4000, True)
    assert set(drawn.tolist()) == {1, 3}
    assert abs(np.mean(drawn == 3) - 0.75) < 0.05
    assert sorted(call("multinomial", weights + 1, 4).tolist()) == [0, 1, 2, 3]
    shares = call("_sample_dirichlet", np.full((5, 3), 2.0))
    assert_close(shares.sum(-1), np.ones(5))
