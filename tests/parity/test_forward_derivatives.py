"""Derivatives forward, backward and twice, beside torch's: usual inputs, equal ones, zeros and infinities."""

import itertools
import os

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")  # torch's own


#: How many points and directions are drawn for each function.
DRAWN = int(os.environ.get("DISPATCH_DRAWN_DIRECTIONS", "1"))


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def bend(result):
    """Return a sum with a second derivative and a gradient that is never zero: there some of torch's lose an element."""
    return (result.sin() + 2 * result).sum()


def derive(library, function, arrays, kinds=("jvp", "jacfwd", "jacrev", "hessian")):
    """Return the derivatives of each kind by all arguments, as arrays."""
    func, places = library.func, tuple(range(len(arrays)))
    points = tuple(library.tensor(each) for each in arrays)
    ways = tuple(library.tensor(np.cos(np.arange(each.size)).reshape(each.shape).astype(each.dtype)) for each in arrays)
    found = {
        "jvp": lambda: func.jvp(function, points, ways)[1],
        "jacfwd": lambda: func.jacfwd(function, places)(*points),
        "jacrev": lambda: func.jacrev(function, places)(*points),
        "hessian": lambda: func.hessian(lambda *given: bend(function(*given)), places)(*points),
    }
    leaves = (library.utils._pytree if library is torch else library.utils.pytree).tree_leaves
    return {kind: [each.numpy() for each in leaves(found[kind]())] for kind in kinds}


def compare(function, *arrays, kinds=("jvp", "jacfwd", "jacrev", "hessian"), rtol=1e-6, atol=1e-8):
    """Compare the derivatives of ``function(library, *tensors)``; return ours."""
    wanted, found = (derive(t, lambda *given, t=t: function(t, *given), arrays, kinds) for t in (torch, torchlike))
    for kind, blocks in wanted.items():
        for actual, expected in zip(found[kind], blocks, strict=True):
            assert actual.dtype == expected.dtype
            np.testing.assert_allclose(actual, expected, rtol, atol, err_msg=kind)
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 2), (1,), ()])
def test_running_sums_of_exponentials_have_all_derivatives(shape, dtype):
    # torch's forward derivative adds a small number to sums that may be small.
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if dtype is np.float32 else {"rtol": 1e-4, "atol": 1e-6}
    for dim in range(-1, max(len(shape), 1)):
        for array in (numbers(*shape), numbers(*shape).round(), 100 + 2 * numbers(*shape), np.full(shape, 2.0)):
            compare(lambda t, x, dim=dim: t.logcumsumexp(x, dim), np.asarray(array, dtype), **tolerance)


def test_running_sums_of_exponentials_have_derivatives_behind_infinities():
    """Where all so far is -inf, torch's gradient is nan and its forward derivative zero; ours are zeros."""
    inf = np.inf
    for row in ([-inf, -inf, 0.0, 1.0], [0.0, -inf, 1.0], [-inf, 3.0, 3.0]):
        array = np.array(row)
        compare(lambda t, x: t.logcumsumexp(x, 0), array, kinds=("jvp", "jacfwd"))
        wanted, found = (
            derive(t, lambda x, t=t: t.logcumsumexp(x, 0), [array], ["jacrev"])["jacrev"][0] for t in (torch, torchlike)
        )
        np.testing.assert_allclose(found, np.nan_to_num(wanted, nan=0.0))


@pytest.mark.parametrize("dim", [0, 1])
def test_gathered_and_scattered_parts_have_forward_derivatives(dim):
    """The index is smaller than the source. Its other elements have no part in it; torch refuses backward by the source."""
    for sizes, of_index in itertools.product([(4, 5), (6, 5)], [(2, 3), (4, 5), (1, 1), (0, 2)]):
        source, target = numbers(4, 5), numbers(*sizes, seed=1)
        rng = np.random.default_rng(3)
        # No place is written twice: which element stays is left open.
        lines = np.arange(4)[:, None] if dim == 0 else np.arange(5)
        index = rng.permuted(np.broadcast_to(lines, (4, 5)), axis=dim)
        index = np.ascontiguousarray(index[: of_index[0], : of_index[1]])
        compare(lambda t, x, index=index: x.gather(dim, t.tensor(index)), target)
        for name in ("scatter", "scatter_add"):
            found = compare(
                lambda t, x, s, name=name, index=index: getattr(x, name)(dim, t.tensor(index), s),
                target,
                source,
                kinds=("jvp", "jacfwd"),
            )
            by_source = found["jacfwd"][1]
            assert not by_source[..., of_index[0] :, :].any() and not by_source[..., of_index[1] :].any()
            ours = derive(
                torchlike,
                lambda x, s, name=name, index=index: getattr(x, name)(dim, torchlike.tensor(index), s),
                [target, source],
                ["jacrev"],
            )
            for forward, backward in zip(found["jacfwd"], ours["jacrev"], strict=True):
                np.testing.assert_array_equal(forward, backward)


#: Functions where their formulas divide by zero or take its logarithm, with such arguments.
EDGES = {
    "power": (lambda t, x, y: x**y, np.array([0.0, 0, 0, 2, 1]), np.array([0.0, 1, 2, 0, 3])),
    "power of zero": (lambda t, y: t.pow(0.0, y), np.array([0.0, 1, 2.5])),
    "root": (lambda t, x: x**0.5, np.array([1.0, 4])),
    "float power": (lambda t, x, y: t.float_power(x, y), np.array([0.0, 3]), np.array([2.0, 0])),
    "deviation": (lambda t, x: t.std(x, 0), np.array([[1.0, 2, 0], [1, 3, 0], [1, 5, 0]])),
    "deviation of all": (lambda t, x: t.std_mean(x)[0], np.full(4, 3.0)),
    "cross entropy": (
        lambda t, x: t.nn.functional.binary_cross_entropy(x, t.tensor([0.0, 1, 0.5], dtype=t.float64)),
        np.array([0.0, 1, 0.25]),
    ),
    "logarithm of a probability": (lambda t, x: t.special.log_ndtr(x), np.array([60.0, 40, 10, 0, -10, -60])),
    "rare words": (
        lambda t, w: t.nn.functional.embedding(t.tensor([0, 2, 2, 2]), w, scale_grad_by_freq=True),
        numbers(3, 2),
    ),
    "norm": (lambda t, x: t.linalg.vector_norm(x, 2, 1), np.array([[0.0, 0], [3, 4]])),
    "product": (lambda t, x: x.prod(1), np.array([[0.0, 2, 3], [0, 0, 1], [1, 2, 3]])),
    "running product": (lambda t, x: x.cumprod(1), np.array([[0.0, 2, 3], [0, 0, 1], [1, 2, 3]])),
    "extremum": (lambda t, x: t.amax(x, 1), np.array([[1.0, 1, 0], [2, 2, 2]])),
    "logarithm times": (lambda t, x, y: t.xlogy(x, y), np.array([1.0, 2]), np.array([1.0, 3])),
}


@pytest.mark.parametrize("name", EDGES)
def test_derivatives_where_formulas_divide_by_zero_are_torchs(name):
    function, *arrays = EDGES[name]
    compare(function, *arrays)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers_of_floats_have_second_derivatives(kind):
    found = []
    for t in (torch, torchlike):
        layer = getattr(t.nn, kind)(3, 2, bidirectional=True)
        with t.no_grad():
            for place, each in enumerate(layer.parameters()):
                each.copy_(t.from_numpy(numbers(*each.shape, seed=place).astype(np.float32)))
        x = t.from_numpy(numbers(4, 2, 3).astype(np.float32)).requires_grad_()
        (slope,) = t.autograd.grad(layer(x)[0].pow(3).sum(), x, create_graph=True)
        slope.sin().sum().backward()
        found.append([slope.detach(), x.grad, *[each.grad for each in layer.parameters()]])
    for actual, expected in zip(*reversed(found), strict=True):
        np.testing.assert_allclose(actual.numpy(), expected.numpy(), rtol=1e-3, atol=1e-4)


#: Functions of one tensor, real or complex, with real and complex results.
OF_ONE = {
    "transform": lambda t, x: t.fft.fft(x),
    "square": lambda t, x: x * x,
    "absolute value": lambda t, x: x.abs(),
    "parts": lambda t, x: (x * 1j).real * 2,
    "two results": lambda t, x: (x * 2, (x * x).sum()),
    "rows": lambda t, x: x[:, None] * x[None],
    "matrix": lambda t, x: t.linalg.inv(x[:, None] @ x[None] + t.eye(len(x))),
    "constant": lambda t, x: t.ones(2),
    "number": lambda t, x: (x * x.abs()).prod(),
    "real number": lambda t, x: (x.abs() ** 2).sum(),
}
_X, _Z = np.array([3.0, 1.0], np.float32), np.array([1 + 2j, 3 - 1j], np.complex64)
#: The functions of `autograd.functional`, each with options.
WAYS_TO_DERIVE = [
    *[
        ("jacobian", {"strategy": way, "vectorize": fast})
        for way in ("forward-mode", "reverse-mode")
        for fast in (1, 0)
    ],
    *[
        ("hessian", {"outer_jacobian_strategy": w, "vectorize": f})
        for w in ("forward-mode", "reverse-mode")
        for f in (1, 0)
    ],
    *[(name, {}) for name in ("jvp", "vjp", "hvp", "vhp")],
]


@pytest.mark.parametrize("point", [_X, _Z], ids=["real", "complex"])
@pytest.mark.parametrize("name", OF_ONE)
def test_functional_derivatives_are_torchs(name, point):
    function, compared = OF_ONE[name], 0
    for kind, options in WAYS_TO_DERIVE:

        def call(t, kind=kind, options=options):
            x = t.tensor(point)
            vector = [t.tensor(point[::-1].copy())] if kind in ("jvp", "hvp", "vhp") else []
            if kind == "vjp":
                results = function(t, x)
                vector = [tuple(map(t.ones_like, results)) if isinstance(results, tuple) else t.ones_like(results)]
            found = getattr(t.autograd.functional, kind)(lambda x: function(t, x), x, *vector, **options)
            leaves = (t.utils._pytree if t is torch else t.utils.pytree).tree_leaves(found)
            return [each.resolve_conj().numpy() for each in leaves]

        try:
            wanted = call(torch)
        except (RuntimeError, NotImplementedError):
            continue
        compared += 1
        for actual, expected in zip(call(torchlike), wanted, strict=True):
            assert actual.dtype == expected.dtype, (kind, options)
            np.testing.assert_allclose(actual, expected, 1e-4, 1e-5, err_msg=f"{kind} {options}")
    assert compared >= 3


#: Functions of a vector and what is written into it, and functions of a matrix, that have a forward rule of their own.
WRITING = {
    "index_put": lambda t, i, x, s: x.index_put((i,), s),
    "index_put, a sum": lambda t, i, x, s: x.index_put((i,), s, accumulate=True),
    "setitem": lambda t, i, x, s: (y := x * 1).__setitem__(i, s) or y,
    "setitem of a view": lambda t, i, x, s: (y := t.stack([x, x.sin()]))[1].__setitem__(i, s) or y,
    "scatter": lambda t, i, x, s: x.scatter(0, i, s),
    "scatter_": lambda t, i, x, s: (x * 1).scatter_(0, i, s),
    "scatter of a number": lambda t, i, x, s: x.scatter(0, i, 2.0) * s.sum(),
    "index_copy": lambda t, i, x, s: x.index_copy(0, i, s),
    "put": lambda t, i, x, s: x.put(i, s),
    "into a constant": lambda t, i, x, s: t.zeros_like(x).index_put((i,), s.exp()) * x,
    "places and results that are changed": lambda t, i, x, s: (
        (j := i.clone(), y := x.scatter(0, j, s), j.zero_(), y.mul_(3)) and y * x
    ),
}
OF_A_MATRIX = {
    "cholesky": lambda t, a: t.linalg.cholesky(a),
    "upper": lambda t, a: t.linalg.cholesky(a, upper=True),
    "cholesky, changed": lambda t, a: t.linalg.cholesky(a).mul_(2) @ a,
    "eigenvalues": lambda t, a: t.linalg.eigh(a)[0],
    "eigenvalues alone": lambda t, a: t.linalg.eigvalsh(a),
    "eigenvectors": lambda t, a: t.linalg.eigh(a)[1].abs(),
    "eigenvectors of the upper triangle": lambda t, a: t.linalg.eigh(a, UPLO="U")[1].abs(),
}


def without_recording(t, function):
    with t.no_grad():
        return function()


#: Functions of a vector that leave recording off for a part of them.
IN_NO_GRAD = {
    "all": lambda t, x: without_recording(t, lambda: x.sin() * x),
    "in the middle": lambda t, x: without_recording(t, lambda: (x.exp() * x).sin() + 1) * x,
    "broadcast": lambda t, x: without_recording(t, lambda: x[:, None] * x.sum() + 2.0).sum(1) * x.cos(),
    "several results": lambda t, x: without_recording(t, lambda: t.aminmax(x * x).max) * x,
    "a composite": lambda t, x: without_recording(t, lambda: t.nn.functional.normalize(x, dim=0)) * x,
    "a rule": lambda t, x: without_recording(t, lambda: x.scatter(0, t.tensor([1, 1]), x.exp())) * x,
    "a list": lambda t, x: without_recording(t, lambda: t.cat([x, x.sin()])).sum() * x.detach(),
}


def push_dual(t, function, points, ways):
    with t.autograd.forward_ad.dual_level():
        duals = [t.autograd.forward_ad.make_dual(p, w) for p, w in zip(points, ways, strict=True)]
        return t.autograd.forward_ad.unpack_dual(function(*duals)).tangent


#: Ways to compute derivatives forward, alone and within other transforms: of a library, a function, points, directions.
FORWARD = {
    "dual numbers": push_dual,
    "jvp": lambda t, f, points, ways: t.func.jvp(f, points, ways)[1],
    "linearize": lambda t, f, points, ways: t.func.linearize(f, *points)[1](*ways),
    "jacfwd": lambda t, f, points, ways: t.func.jacfwd(f, len(points) - 1)(*points),
    "hessian": lambda t, f, points, ways: t.func.hessian(lambda *xs: bend(f(*xs)), len(points) - 1)(*points),
    "jvp of grad": lambda t, f, points, ways: t.func.jvp(t.func.grad(lambda *xs: bend(f(*xs))), points, ways)[1],
    "jvp of jvp": lambda t, f, points, ways: t.func.jvp(
        lambda *xs: t.func.jvp(f, xs, tuple(map(t.cos, ways)))[1], points, ways
    )[1],
    "jacrev of jvp": lambda t, f, points, ways: t.func.jacrev(lambda *xs: t.func.jvp(f, xs, ways)[1])(*points),
    "jacrev by the direction": lambda t, f, points, ways: t.func.jacrev(lambda *ws: t.func.jvp(f, points, ws)[1])(
        *ways
    ),
    "vmap of jvp": lambda t, f, points, ways: t.func.vmap(lambda *ws: t.func.jvp(f, points, ws)[1])(
        *[t.stack([w, w.cos()]) for w in ways]
    ),
    "jvp of vmap": lambda t, f, points, ways: t.func.jvp(
        t.func.vmap(f), tuple(t.stack([p, p * 2]) for p in points), tuple(t.stack([w, w.cos()]) for w in ways)
    )[1],
}


def compare_forward(function, arrays, ways, kinds, name):
    """Compare ``function(library, *tensors)`` with torch's in the ways of ``FORWARD``; return how many torch took."""
    compared = 0
    for kind in kinds:
        found = []
        for t in (torch, torchlike):
            points, directions = (tuple(map(t.tensor, each)) for each in (arrays, ways))
            try:
                found.append(FORWARD[kind](t, lambda *xs, t=t: function(t, *xs), points, directions).numpy())
            except (RuntimeError, NotImplementedError):
                if t is torchlike:
                    raise
                break
        if len(found) == 2:
            compared += 1
            known = ~np.isnan(found[0])  # torch divides by zero in second derivatives of eigenvectors
            np.testing.assert_allclose(found[1][known], found[0][known], 1e-8, 1e-10, err_msg=f"{kind} of {name}")
    return compared


@pytest.mark.parametrize("name", WRITING)
def test_of_several_elements_that_are_written_to_one_place_one_has_a_tangent(name):
    for seed in range(DRAWN):
        rng = np.random.default_rng([seed, len(name)])
        size, count = rng.integers(2, 6, 2)
        index = rng.integers(0, rng.integers(1, size + 1), count)
        arrays, ways = ([rng.standard_normal(each) for each in (size, count)] for _ in range(2))
        kinds = [each for each in FORWARD if "view" not in name or each != "jvp of vmap"]
        taken = compare_forward(lambda t, *xs, i=index: WRITING[name](t, t.tensor(i), *xs), arrays, ways, kinds, name)
        assert taken >= 7


@pytest.mark.parametrize("name", OF_A_MATRIX)
def test_factorizations_have_tangents_along_directions_that_are_not_symmetric(name):
    for seed in range(DRAWN):
        rng = np.random.default_rng(seed)
        spread = rng.standard_normal((3, 3))
        array = spread @ spread.T + np.diag([3.0, 2.0, 1.0])
        assert compare_forward(OF_A_MATRIX[name], [array], [rng.standard_normal((3, 3))], FORWARD, name) >= 7


@pytest.mark.parametrize("name", IN_NO_GRAD)
def test_tangents_in_no_grad_are_constants_of_the_transforms_around(name):
    kinds = [kind for kind in FORWARD if name != "a list" or "jac" not in kind]  # tangents of lists are recorded
    for seed in range(DRAWN):
        array, way = np.random.default_rng(seed).standard_normal((2, 4))
        assert compare_forward(IN_NO_GRAD[name], [array], [way], kinds, name) >= 7


@pytest.mark.parametrize("cut", ["detach", "detach_", "data"])
def test_detached_dual_numbers_have_no_tangent(cut):
    def function(t, x):
        y = x * x
        z = y.data if cut == "data" else getattr(y, cut)()
        return z.sin() * x

    array, way = np.random.default_rng(7).standard_normal((2, 4))
    assert compare_forward(function, [array], [way], ["dual numbers", "jvp", "jacfwd", "jvp of grad"], cut) == 4


def write_to_a_view(one, other):
    whole = one.detach().clone()
    whole[1:].mul_(other[1:])
    return whole


DETACHING = {
    "sin": lambda one, other: one.sin(),
    "mul": lambda one, other: one * other,
    "detach": lambda one, other: one.detach(),
    "data": lambda one, other: one.data,
    "flip": lambda one, other: one.flip(0),
    "clone": lambda one, other: one.clone(),
    "view": lambda one, other: one.view(3, 1).view(3),
    "detached view": lambda one, other: one.view(1, 3).detach()[0],
    "write": lambda one, other: one.clone().mul_(other),
    "write to a view": write_to_a_view,
}


def run_detaching(library, steps, recorded):
    """Run a program of steps on a dual number; return each value and its tangent."""
    forward = library.autograd.forward_ad
    with forward.dual_level():
        point = library.tensor([0.3, -1.2, 2.0], dtype=library.float64, requires_grad=recorded)
        way = library.tensor([1.0, 0.5, -2.0], dtype=library.float64)
        values = [forward.make_dual(point, way)]
        for name, one, other in steps:
            values.append(DETACHING[name](values[one % len(values)], values[other % len(values)]))
        pairs = [forward.unpack_dual(each) for each in values]
        return [
            (
                pair.primal.detach().numpy().copy(),
                None if pair.tangent is None else pair.tangent.detach().numpy().copy(),
            )
            for pair in pairs
        ]


@pytest.mark.parametrize("seed", range(8))
def test_detached_tensors_have_no_tangent(seed):
    drawn = np.random.default_rng(seed)
    for number in range(20):
        steps = [(str(drawn.choice(list(DETACHING))), *map(int, drawn.integers(0, 9, 2))) for _ in range(6)]
        recorded = bool(number % 2)
        expected, found = (run_detaching(each, steps, recorded) for each in (torch, torchlike))
        for place, ((value, tangent), (own, way)) in enumerate(zip(expected, found, strict=True)):
            np.testing.assert_allclose(own, value, err_msg=str(steps))
            assert (way is None) == (tangent is None) or not np.any(tangent if way is None else way), (steps, place)
            if tangent is not None and way is not None:
                np.testing.assert_allclose(way, tangent, err_msg=str(steps))
