"""Sparse tensors against torch's: values, layouts, gradients, mixed layouts and refusals, on generated inputs."""

import io
import itertools
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import torchlike
from torchlike.sparse.components import write_to_sums
from torchlike.sparse.kernels import RULES
from torchlike.sparse.mixed_layouts import RESULTS

ROOT = Path(__file__).parent.parent.parent
# A warning of torch's that a product of two sparse matrices is made by way of another layout.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
torch.sparse.check_sparse_tensor_invariants.disable()  # a choice, without which torch warns


def places(numbers, count, *sizes, coalesced):
    if coalesced:
        flat = np.sort(numbers.choice(np.prod(sizes), min(count, np.prod(sizes)), replace=False))
    else:
        flat = numbers.integers(0, np.prod(sizes), count)
    return np.stack(np.unravel_index(flat, sizes))


def make(frontend, seed, *sizes, count=5, dense=(), coalesced=True, dtype="float64"):
    numbers = np.random.default_rng(seed)
    indices = places(numbers, count, *sizes, coalesced=coalesced)
    values = numbers.integers(-3, 4, (indices.shape[1], *dense)).astype(dtype)
    made = frontend.sparse_coo_tensor(
        frontend.from_numpy(indices), frontend.from_numpy(values), (*sizes, *dense), is_coalesced=coalesced
    )
    return made.requires_grad_() if dtype.startswith("float") else made


def dense(frontend, seed, *sizes, dtype="float64"):
    array = np.asarray(np.random.default_rng(seed).normal(size=sizes).round(1), dtype)
    return frontend.from_numpy(array).requires_grad_(dtype.startswith("float"))


def describe(tensor):
    """Return the layout, the shape, the dtype and the elements, and for a sparse tensor what there is of it."""
    tensor = tensor.detach()
    layout, dtype = str(tensor.layout).rpartition(".")[2], str(tensor.dtype).rpartition(".")[2]
    if layout != "sparse_coo":
        return layout, dtype, tensor.numpy()
    whole = tensor.coalesce()
    return layout, dtype, np.asarray(whole.indices()), np.asarray(whole.values()), tuple(tensor.shape)


def describe_densely(tensor):
    """Do the same for a gradient, in which an element may be zero or not be there."""
    found = describe(tensor)
    return (*found[:2], tensor.detach().to_dense().numpy(), tuple(tensor.shape))


def agree(found, wanted):
    assert len(found) == len(wanted), (found[0], wanted[0])
    for one, other in zip(found, wanted, strict=True):
        if isinstance(other, np.ndarray):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
            assert one.shape == other.shape
        else:
            assert one == other


def differentiate(frontend, function, inputs):
    """Return the result and the gradients by all inputs, weighted by the places of the result's elements."""
    found = function(frontend, *inputs)
    parts = [found]
    if found.requires_grad:
        whole = found.to_dense()
        weights = frontend.arange(1.0, 1.0 + whole.numel(), dtype=whole.dtype).reshape(whole.shape)
        (whole * weights).sum().backward()
        parts += [each.grad for each in inputs if each.requires_grad]
    return parts


def compare(function, makers):
    wanted = differentiate(torch, function, [maker(torch) for maker in makers])
    found = differentiate(torchlike, function, [maker(torchlike) for maker in makers])
    assert len(found) == len(wanted)
    agree(describe(found[0]), describe(wanted[0]))
    for one, other in zip(found[1:], wanted[1:], strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            agree(describe_densely(one), describe_densely(other))
    if not isinstance(found[0], torchlike.Tensor) or not wanted[0].is_sparse:
        return
    assert found[0].sparse_dim() == wanted[0].sparse_dim() and found[0].dense_dim() == wanted[0].dense_dim()


UNARY = {
    "to_dense": lambda f, s: s.to_dense(),
    "to_dense of all places": lambda f, s: s.to_dense(masked_grad=False),
    "values": lambda f, s: s.coalesce().values(),
    "coalesce": lambda f, s: s.coalesce() * 1,
    "neg": lambda f, s: -s,
    "abs": lambda f, s: s.abs(),
    "relu": lambda f, s: f.relu(s),
    "square": lambda f, s: s**2,
    "times a number": lambda f, s: s * 2.5,
    "a number times": lambda f, s: 2 * s,
    "divided by a number": lambda f, s: s / 4,
    "sum": lambda f, s: s.sum(),
    "sum to float32": lambda f, s: s.sum(dtype=f.float32),
    "sparse.sum": lambda f, s: f.sparse.sum(s),
    "sparse.sum over 0": lambda f, s: f.sparse.sum(s, 0),
    "sparse.sum over -1": lambda f, s: f.sparse.sum(s, -1),
    "sparse.sum over both": lambda f, s: f.sparse.sum(s, (0, 1)),
    "sparse.sum to float32": lambda f, s: f.sparse.sum(s, dtype=f.float32),
    "t": lambda f, s: s.t(),
    "T": lambda f, s: s.T,
    "mT": lambda f, s: s.mT,
    "transpose": lambda f, s: s.transpose(-1, 0),
    "transpose of one": lambda f, s: s.transpose(1, 1),
    "permute": lambda f, s: s.permute(1, 0),
    "clone": lambda f, s: s.clone(),
    "detach": lambda f, s: s.detach(),
    "float": lambda f, s: s.float(),
    "zeros_like": lambda f, s: f.zeros_like(s),
    "in place": lambda f, s: s.clone().mul_(3).neg_().div_(2),
    "add in place": lambda f, s: s.clone().add_(s, alpha=2),
    "zero_": lambda f, s: s.clone().zero_(),
    "functions in place": lambda f, s: s.detach().coalesce().sin_().abs_().relu_().frac_(),
    "divisions in place": lambda f, s: s.detach().clone().floor_divide_(2).div_(2, rounding_mode="trunc"),
    "division by a tensor in place": lambda f, s: s.detach().clone().floor_divide_(f.tensor(2.0)),
    "conj_physical_": lambda f, s: s.detach().clone().conj_physical_(),
    "nan_to_num": lambda f, s: (s.detach() / 0).nan_to_num(1.0, 2.0, 3.0),
    "t_": lambda f, s: s.detach().clone().t_(),
    "transpose_": lambda f, s: s.detach().clone().transpose_(0, -1),
    "norm": lambda f, s: f.stack([s.detach().norm(), s.detach().norm(1), s.detach().norm(float("inf"), (0, 1))]),
    "new_zeros": lambda f, s: s.detach().new_zeros(2, 3),
    "index_select of rows": lambda f, s: s.detach().index_select(0, f.tensor([2, 0, 2, 2])),
    "index_select of columns": lambda f, s: s.detach().index_select(-1, f.tensor([3, 3, 1])),
    "index_select of none": lambda f, s: s.detach().index_select(0, f.tensor([], dtype=f.int64)),
    "narrow_copy": lambda f, s: s.detach().narrow_copy(1, 1, 2),
    "item": lambda f, s: f.tensor(s.detach().sum(0, keepdim=True).sum(1, keepdim=True).item()),
    "softmax": lambda f, s: f.sparse.softmax(s, 0),
    "log_softmax": lambda f, s: f.sparse.log_softmax(s, 1),
    "to_sparse_coo": lambda f, s: s.to_dense().to_sparse_coo(),
    "double backward": lambda f, s: f.autograd.grad((s.to_dense() ** 3).sum(), s, create_graph=True)[0],
}


@pytest.mark.parametrize("coalesced", [True, False])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name, coalesced):
    compare(UNARY[name], [lambda f: make(f, 3, 3, 4, coalesced=coalesced)])


SQUARE = {
    "s + s": lambda f, a, b: a + b,
    "s - s": lambda f, a, b: a - b,
    "s * s": lambda f, a, b: a.coalesce() * b.coalesce(),
    "add with alpha": lambda f, a, b: f.add(a, b, alpha=3),
    "s - s of itself keeps zeros": lambda f, a, b: a - a,
    "s @ s": lambda f, a, b: a @ b.t(),
    "sparse.mm of both": lambda f, a, b: f.sparse.mm(a.t(), b),
    "cat": lambda f, a, b: f.cat([a, b], 1).detach(),
    "stack": lambda f, a, b: f.stack([a, b]),
    "select": lambda f, a, b: f.stack([a, b])[1].detach(),
    "select twice": lambda f, a, b: f.stack([a, b])[1][2].detach(),
    "unsqueeze": lambda f, a, b: a.unsqueeze(1).detach(),
    "any": lambda f, a, b: (a - b).any(),
    "add_": lambda f, a, b: a.clone().add_(b),
    "sub_": lambda f, a, b: a.clone().sub_(b, alpha=2),
    "copy_": lambda f, a, b: a.detach().clone().copy_(b.detach()),
    "chain": lambda f, a, b: f.sparse.mm((a * 2 + b).t(), b) / 2,
}


@pytest.mark.parametrize("coalesced", [True, False])
@pytest.mark.parametrize("name", SQUARE)
def test_functions_of_two_sparse_tensors(name, coalesced):
    compare(
        SQUARE[name],
        [lambda f: make(f, 5, 3, 4, coalesced=coalesced), lambda f: make(f, 6, 3, 4, coalesced=coalesced)],
    )


MIXED = {
    "s @ d": (lambda f, s, d: s @ d, (4, 2)),
    "d @ s": (lambda f, s, d: d @ s, (2, 3)),
    "s @ vector": (lambda f, s, d: s @ d, (4,)),
    "vector @ s": (lambda f, s, d: d @ s, (3,)),
    "mv": (lambda f, s, d: s.mv(d), (4,)),
    "sparse.mm": (lambda f, s, d: f.sparse.mm(s, d), (4, 2)),
    "sparse.mm of a strided first": (lambda f, s, d: f.sparse.mm(d, s), (2, 3)),
    "linear": (lambda f, s, d: f.nn.functional.linear(s, d), (2, 4)),
    "s * d": (lambda f, s, d: s * d, (3, 4)),
    "d * s": (lambda f, s, d: d * s, (3, 4)),
    "d *= s": (lambda f, s, d: d.clone().mul_(s), (3, 4)),
    "s * number": (lambda f, s, d: s * d, ()),
    "s / number": (lambda f, s, d: s / d, ()),
    "d + s": (lambda f, s, d: d + s, (3, 4)),
    "d - s": (lambda f, s, d: d - s, (3, 4)),
    "d += s": (lambda f, s, d: d.clone().add_(s, alpha=2), (3, 4)),
    "sparse_mask": (lambda f, s, d: d.sparse_mask(s.detach()), (3, 4)),
    "to_sparse": (lambda f, s, d: d.to_sparse(), (3, 4)),
    "to_sparse(1)": (lambda f, s, d: d.to_sparse(1), (3, 4)),
    "addmm": (lambda f, s, d: f.addmm(f.ones(3, 2, dtype=f.float64), s, d, beta=2, alpha=3), (4, 2)),
    "sparse.addmm": (lambda f, s, d: f.sparse.addmm(f.ones(3, 2, dtype=f.float64), s, d, beta=2, alpha=3), (4, 2)),
}


@pytest.mark.parametrize("coalesced", [True, False])
@pytest.mark.parametrize("name", MIXED)
def test_functions_of_a_sparse_and_a_strided_tensor(name, coalesced):
    function, sizes = MIXED[name]
    compare(function, [lambda f: make(f, 7, 3, 4, coalesced=coalesced), lambda f: dense(f, 8, *sizes)])


HYBRID = {
    "to_dense": lambda f, s: s.to_dense(),
    "values": lambda f, s: s.coalesce().values(),
    "s + s": lambda f, s: s + s,
    "times": lambda f, s: s * 2,
    "sum": lambda f, s: s.sum(),
    "sparse.sum over 0": lambda f, s: f.sparse.sum(s, 0),
    "sparse.sum over 2": lambda f, s: f.sparse.sum(s, 2),
    "sparse.sum over 0 and 2": lambda f, s: f.sparse.sum(s, (0, 2)),
    "sparse.sum over the sparse ones": lambda f, s: f.sparse.sum(s, (0, 1)),
    "transpose": lambda f, s: s.transpose(0, 1),
    "cat of dense dimensions": lambda f, s: f.cat([s, 2 * s], -1).detach(),
    "index_select of a dense dimension": lambda f, s: s.detach().index_select(2, f.tensor([1, 1, 0])),
    "index_select": lambda f, s: s.detach().index_select(1, f.tensor([1, 1, 0])),
    "narrow_copy of a dense dimension": lambda f, s: s.detach().narrow_copy(3, 1, 1),
    "norm": lambda f, s: s.detach().norm(),
    "softmax": lambda f, s: f.sparse.softmax(s, 1),
    "softmax of a dense dimension": lambda f, s: f.sparse.softmax(s, 2),
}


@pytest.mark.parametrize("name", HYBRID)
def test_dense_dimensions(name):
    compare(HYBRID[name], [lambda f: make(f, 9, 2, 3, dense=(2, 2), coalesced=False)])


@pytest.mark.parametrize("coalesced", [True, False])
def test_batches_of_matrices(coalesced):
    makers = [lambda f: make(f, 3, 2, 3, 4, count=9, coalesced=coalesced), lambda f: dense(f, 4, 2, 4, 5)]
    compare(lambda f, s, d: f.bmm(s, d), makers)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("coalesced", [True, False])
def test_softmax_of_the_elements_that_are_there(name, coalesced):
    shapes = [((6,), ()), ((3, 4), ()), ((2, 3, 4), ()), ((3, 4), (2,)), ((4,), (2, 3)), ((1, 5), (1,))]
    for (sizes, rest), count in itertools.product(shapes, (0, 1, 7)):
        # By dims counted from the end, torch's gradients take every element for a pool of its own.
        for dim in range(len(sizes) + len(rest)):
            options = {"count": count, "dense": rest, "coalesced": coalesced}
            compare(
                lambda f, s, dim=dim: getattr(f.sparse, name)(s, dim) * 1.5,
                [lambda f, sizes=sizes, options=options: make(f, 5, *sizes, **options)],
            )
    compare(lambda f, s: getattr(f.sparse, name)(s, 0, dtype=f.float32), [lambda f: make(f, 1, 3, 4, dtype="int64")])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_infinities_and_of_gradients_in_other_places(name):
    inf = np.inf
    for values in ([-inf, -inf, 1.0], [-inf, 2.0, 1.0], [inf, 2.0, 1.0], [900.0, 1000.0, -1000.0]):
        compare(
            lambda f, values: getattr(f.sparse, name)(f.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], values, (2, 3)), 1),
            [lambda f, values=values: f.tensor(values, dtype=f.float64)],
        )
    found = []
    for frontend in (torch, torchlike):
        s = make(frontend, 3, 3, 4)
        way = make(frontend, 4, 3, 4).detach()
        found.append(describe(frontend.autograd.grad(getattr(frontend.sparse, name)(s, 1), s, way)[0]))
    agree(*reversed(found))


COMPLEX = {
    "times": lambda f, s, d: s * (1 + 2j),
    "sparse.mm of both": lambda f, s, d: f.sparse.mm(s, s.t()),
    "sparse.mm": lambda f, s, d: f.sparse.mm(s, d),
    "@": lambda f, s, d: s @ d,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_gradients_of_complex_numbers(name):
    def function(f, s, d):
        found = COMPLEX[name](f, s * (1 - 1j), d * (2 + 1j))
        return found.to_dense().abs() ** 2

    compare(function, [lambda f: make(f, 3, 3, 4), lambda f: dense(f, 4, 4, 2)])


def generate(frontend, number, sizes, dtype):
    return make(frontend, number, *sizes, count=0 if 0 in sizes else 9, coalesced=False, dtype=dtype)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sizes", [(1, 1), (0, 3), (7, 5), (2, 9)])
def test_products_and_sums_of_generated_matrices(seed, sizes):
    for dtype in ("float32", "float64"):
        makers = [partial(generate, number=seed + number, sizes=sizes, dtype=dtype) for number in range(2)]
        compare(lambda f, a, b: a + b, makers)
        compare(lambda f, a, b: f.sparse.mm(a, b.t()), makers)
        compare(lambda f, a, b: a.coalesce() * b.coalesce(), makers)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_of_values_and_places(seed):
    def build(f, values):
        indices = f.from_numpy(places(np.random.default_rng(seed), 6, 3, 4, coalesced=False))
        return f.sparse_coo_tensor(indices, values * 2, (3, 4)).to_dense() ** 2

    compare(build, [lambda f: dense(f, seed, 6)])
    compare(lambda f, v: f.sparse_coo_tensor([[0, 2, 0], [1, 1, 1]], v, (3, 4)) * 3, [lambda f: dense(f, seed, 3)])


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
@pytest.mark.parametrize("sizes", [(1, 1), (5, 4), (4, 7), (0, 3)])
def test_diagonals_lie_where_torch_s_do(sizes, dtype):
    for seed in range(20):
        numbers = np.random.default_rng(seed)
        inside = np.arange(-sizes[0] + 1, min(sizes[1], 4)) if sizes[0] else np.arange(1)
        offsets = numbers.permutation(inside)[: numbers.integers(0, 4)]
        lines = numbers.integers(-2, 3, (len(offsets), numbers.integers(4, 8))).astype(dtype)
        found, wanted = (f.sparse.spdiags(*map(f.from_numpy, (lines, offsets)), sizes) for f in (torchlike, torch))
        assert found.is_coalesced() == wanted.is_coalesced()
        for part in ("_indices", "_values"):
            one, other = getattr(found, part)().numpy(), getattr(wanted, part)().numpy()
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def test_dtypes_of_results():
    for one, other in (("float32", "float64"), ("int64", "float32"), ("int32", "int64")):
        makers = [lambda f, d=d: make(f, 4, 3, 4, dtype=d) for d in (one, other)]
        compare(lambda f, a, b: a.detach() + b.detach(), makers)
        compare(lambda f, a, b: a.detach().to_dense() + b.detach(), makers)
        compare(lambda f, a, b: a.detach() * 2.5, makers)
        compare(lambda f, a, b: a.detach() / 2, makers)
        compare(lambda f, a, b: a.detach().sum(), makers)
        compare(lambda f, a, b: f.sparse.sum(a.detach(), 0), makers)
    compare(lambda f, a: a @ f.ones(4, 2, dtype=f.int64), [lambda f: make(f, 4, 3, 4, dtype="int64")])


# Mixed layouts.


def test_the_table_of_layouts_is_torch_s():
    command = [sys.executable, "-W", "ignore", str(ROOT / "tools" / "generate_mixed_layouts.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", RESULTS)
def test_layouts_are_computed_or_refused_as_by_torch(name):
    import itertools

    shapes = {"mv": [(2, 2), (2,)]}.get(name, [(2, 2)] * (3 if name == "addmm" else 2))
    for letters in itertools.product(
        "sd0" if len(shapes) == 2 and name not in ("mm", "mv") else "sd", repeat=len(shapes)
    ):
        outcomes = []
        for frontend in (torch, torchlike):
            made = [
                frontend.ones(() if letter == "0" else shape) for letter, shape in zip(letters, shapes, strict=True)
            ]
            made = [each.to_sparse() if letter == "s" else each for each, letter in zip(made, letters, strict=True)]
            packet, _, overload = name.partition(".")
            op = getattr(getattr(frontend.ops.aten, packet), overload or "default")
            try:
                outcomes.append(describe(op(*made)))
            except RuntimeError as error:
                text = str(error).splitlines()[0].partition("type =")[0]
                outcomes.append((issubclass(type(error), NotImplementedError), text))
        if "s" not in letters:
            continue
        found, wanted = outcomes[1], outcomes[0]
        if wanted[0] is True:
            assert found[0] is True, letters  # each has words of its own for an operator without a kernel
        else:
            agree(found, wanted)


REFUSED = [
    lambda f: make(f, 1, 2, 3) + 1,
    lambda f: 1 + make(f, 1, 2, 3),
    lambda f: make(f, 1, 2, 3) - 1,
    lambda f: make(f, 1, 2, 3) + f.ones(2, 3),
    lambda f: make(f, 1, 2, 3) / make(f, 1, 2, 3),
    lambda f: make(f, 1, 2, 3) + make(f, 1, 3, 2),
    lambda f: f.ones(2, 3) + make(f, 1, 3, 2),
    lambda f: f.ones(3) + make(f, 1, 2, 3),
    lambda f: make(f, 1, 2, 3) @ make(f, 1, 2, 3),
    lambda f: make(f, 1, 2, 3).mv(f.ones(2)),
    lambda f: make(f, 1, 2, 3) ** 0,
    lambda f: make(f, 1, 2, 3, coalesced=False).indices(),
    lambda f: make(f, 1, 2, 3, coalesced=False).values(),
    lambda f: f.ones(2).values(),
    lambda f: make(f, 1, 2, 3, dense=(2, 2)).transpose(2, 3),
    lambda f: make(f, 1, 2, 3, dense=(2,)).transpose(0, 2),
    lambda f: f.ones(2).indices(),
    lambda f: f.ones(2).coalesce(),
    lambda f: f.ones(2).is_coalesced(),
    lambda f: f.ones(2, 3).to_sparse(3),
    lambda f: f.ones(2, 3).to_sparse(0),
    lambda f: make(f, 1, 2, 3).to_sparse(1),
    lambda f: make(f, 1, 2, 3).to_dense(f.float32),
    lambda f: f.sparse_coo_tensor(f.tensor([[0, 1]]), f.ones(3), (2,)),
    lambda f: f.sparse_coo_tensor(f.tensor([0, 1]), f.ones(2), (2,)),
    lambda f: f.sparse_coo_tensor(f.tensor([0, 1]), f.ones(2)),
    lambda f: f.sparse_coo_tensor(f.tensor([[0, 1]]), f.ones(2), (2, 2)),
    lambda f: f.sparse_coo_tensor(f.tensor([[0, -1]]), f.ones(2)),
    lambda f: f.sparse_coo_tensor(f.tensor([[0, 2]]), f.ones(2), (2,), check_invariants=True),
    lambda f: f.sparse_coo_tensor(f.tensor([[1, 0]]), f.ones(2), (2,), is_coalesced=True, check_invariants=True),
    lambda f: f.sparse_coo_tensor(f.tensor([[0, 0]]), f.ones(2), (2,), is_coalesced=True, check_invariants=True),
    lambda f: f.sparse.mm(make(f, 1, 2, 3), f.ones(2, 2, dtype=f.float64)),
    lambda f: f.sparse.sum(f.ones(2)),
    lambda f: f.sparse.sum(make(f, 1, 2, 3), 5),
    lambda f: make(f, 1, 2, 3).mul_(f.ones(4, 2, 3)),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals_have_torch_s_class_and_words(number):
    with pytest.raises(Exception) as wanted:  # whichever torch raises
        REFUSED[number](torch)
    with pytest.raises(Exception) as found:
        REFUSED[number](torchlike)
    assert isinstance(found.value, type(wanted.value))
    assert str(found.value).splitlines()[0].partition(" (argument")[0] == str(wanted.value).splitlines()[0]


NO_KERNEL = [
    "exp",
    "cos",
    "log",
    "sigmoid",
    "reciprocal",
    "cumsum",
    "sort",
    "max",
    "mean",
    "prod",
    "view",
    "expand",
    "eq",
]


@pytest.mark.parametrize("name", [each for each in RULES if each.endswith("_") and RULES[each] is write_to_sums])
def test_functions_in_place_refuse_uncoalesced_tensors(name):
    found = []
    for frontend in (torch, torchlike):
        tensor = make(frontend, 3, 3, 4, count=9, coalesced=False).detach() / 7
        before = tensor.clone()
        try:
            getattr(tensor, name)()
        except RuntimeError as error:
            found.append(str(error).removeprefix("aten::").partition("\n")[0])
            assert frontend.equal(tensor.to_dense(), before.to_dense()) and not tensor.is_coalesced()
        else:
            found.append((tensor.is_coalesced(), tensor._nnz()))
    assert found[0] == found[1]


@pytest.mark.parametrize("coalesced", [True, False])
def test_products_of_dense_dimensions_are_broadcast(coalesced):
    kinds = [(), (1,), (3,), (2, 3), (1, 3), (2, 1), (0,)]
    for sizes, one, two in itertools.product([(4,), (3, 4)], kinds, kinds):
        outcomes = []
        for frontend in (torch, torchlike):
            left, right = (make(frontend, 3, *sizes, dense=each, coalesced=coalesced).detach() for each in (one, two))
            try:
                outcomes.append(describe(left * right))
            except RuntimeError:
                outcomes.append((RuntimeError,))
        agree(*reversed(outcomes))


def shape_of(tensor):
    """Return all that is known of a sparse tensor without its values."""
    dtype = str(tensor.dtype).rpartition(".")[2]
    sizes = [tuple(each.shape) for each in (tensor, tensor._indices(), tensor._values())]
    return tensor.device.type, sizes, tensor.sparse_dim(), tensor._nnz(), tensor.is_coalesced(), dtype


SHAPED = {
    "clone": lambda f, s, other: s.clone(),
    "detach": lambda f, s, other: s.detach(),
    "copy_": lambda f, s, other: f.zeros_like(s).copy_(s),
    "to float32": lambda f, s, other: s.to(f.float32),
    "to meta": lambda f, s, other: s.to("meta"),
    "zeros_like": lambda f, s, other: f.zeros_like(s),
    "zeros_like on meta": lambda f, s, other: f.zeros_like(s, device="meta"),
    "empty_like on meta": lambda f, s, other: f.empty_like(s, device="meta", dtype=f.float32),
    "sum on meta": lambda f, s, other: f.add(s.to("meta"), s.to("meta")),
    "sizes of another": lambda f, s, other: s.clone().resize_as_(other),
    "sizes of this one": lambda f, s, other: other.clone().resize_as_(s),
    "new": lambda f, s, other: s.new(),
    "new of sizes": lambda f, s, other: s.new(2, 3),
    "new of a size": lambda f, s, other: s.new(f.Size([2, 3])),
    "new of components": lambda f, s, other: s.new(f.tensor([[0, 1]]), f.tensor([1.0, 2.0])),
    "new of components and sizes": lambda f, s, other: s.new(f.tensor([[0, 1]]), f.tensor([1.0, 2.0]), (4,)),
    "new of numbers": lambda f, s, other: s.new([1.0, 2.0]),
}


@pytest.mark.parametrize("name", SHAPED)
def test_the_number_of_elements_is_torch_s(name):
    forms = [
        (sizes, dense, count, coalesced)
        for sizes, dense in [((4,), ()), ((3, 4), ()), ((5, 4), ()), ((4,), (2,)), ((4,), (3,)), ((3, 4), (2,))]
        for count in (0, 1, 5)
        for coalesced in (True, False)
    ]
    for form, other in itertools.product(forms, forms if "sizes" in name else forms[:1]):
        outcomes = []
        for frontend in (torch, torchlike):
            one, two = (
                make(frontend, 2, *sizes, dense=dense, count=count, coalesced=coalesced).detach()._coalesced_(coalesced)
                for sizes, dense, count, coalesced in (form, other)
            )
            try:
                outcomes.append(shape_of(SHAPED[name](frontend, one, two)))
            except (RuntimeError, TypeError) as error:
                outcomes.append((type(error), *str(error).split(" on a non-empty")[:-1]))
        assert outcomes[0] == outcomes[1], (form, other)


@pytest.mark.parametrize("sizes", [(100_001,) * 4, (1 << 32, 1 << 31), (1 << 62, 2)])
def test_places_that_no_int64_counts_are_refused(sizes):
    calls = [
        lambda f: f.sparse_coo_tensor(sizes),
        lambda f: f.sparse_coo_tensor(f.tensor([[5, 1]] * len(sizes)), f.tensor([1.0, 2.0]), sizes),
        lambda f: f.sparse_coo_tensor(f.tensor([[each - 1] for each in sizes]), f.tensor([1.0])),
        lambda f: f.zeros(sizes, layout=f.sparse_coo),
    ]
    for call in calls:
        for frontend in (torch, torchlike):
            with pytest.raises(RuntimeError, match="integer multiplication overflow"):
                call(frontend)


@pytest.mark.parametrize("name", NO_KERNEL)
def test_operators_without_a_kernel_are_refused_by_both(name):
    more = {"cumsum": (0,), "view": (6,), "expand": (2, 2, 3), "eq": (1.0,)}.get(name, ())
    for frontend in (torch, torchlike):
        with pytest.raises((NotImplementedError, RuntimeError)):
            getattr(make(frontend, 1, 2, 3).detach(), name)(*more)


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_texts_are_torch_s(dtype, requires_grad):
    for sizes, rest in (((2, 3), ()), ((3,), (2,)), ((2, 2, 2), ())):
        found, wanted = (make(f, 2, *sizes, count=2, dense=rest, dtype=dtype).detach() for f in (torchlike, torch))
        if requires_grad and dtype != "int64":
            found.requires_grad_(), wanted.requires_grad_()
        assert text(found) == text(wanted)
        assert text(found * 2).partition("grad_fn")[0] == text(wanted * 2).partition("grad_fn")[0]
    assert text(torchlike.sparse_coo_tensor((2, 3))) == text(torch.sparse_coo_tensor((2, 3)))


def text(tensor):
    """Return the text without its lines, which are broken elsewhere for a longer name of the module."""
    return " ".join(repr(tensor).replace("torch.", "torchlike.").split())


def test_files_of_torch_s_are_read():
    for coalesced in (True, False):
        wanted = make(torch, 4, 3, 4, dense=(2,), coalesced=coalesced)
        file = io.BytesIO()
        torch.save({"s": wanted, "detached": wanted.detach(), "parameter": torch.nn.Parameter(wanted.detach())}, file)
        file.seek(0)
        found = torchlike.load(file)
        assert found["s"].is_coalesced() == coalesced and isinstance(found["parameter"], torchlike.nn.Parameter)
        for each in found.values():
            agree(describe(each), describe(wanted))


# Sparse gradients in training.

OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.1, "maximize": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("SparseAdam", {"lr": 0.1}),
    ("SparseAdam", {"lr": 0.1, "betas": (0.5, 0.8), "maximize": True}),
]


BAGS = {
    "sums": {"mode": "sum"},
    "means": {"mode": "mean"},
    "padding": {"mode": "mean", "padding_idx": 2},
    "padding from the end": {"mode": "sum", "padding_idx": -3},
    "last offset": {"mode": "sum", "include_last_offset": True},
    "shortened rows": {"mode": "sum", "max_norm": 1.0},
    "scaled gradients": {"mode": "sum", "scale_grad_by_freq": True},
    "greatest": {"mode": "max"},
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", BAGS)
def test_sparse_gradients_of_bags_are_torch_s(name, weighted):
    options = BAGS[name]
    numbers = np.random.default_rng(7)
    table, weights, indices = numbers.normal(size=(6, 3)), numbers.normal(size=9), numbers.integers(0, 6, 9)
    for shape, offsets in (((9,), [0, 0, 4, 9]), ((3, 3), None), ((9,), [0, 9, 9]), ((0,), [0, 0])):
        found = []
        for f in (torch, torchlike):
            weight = f.from_numpy(table.copy()).requires_grad_()
            per_sample = f.from_numpy(weights[: np.prod(shape)].reshape(shape)).requires_grad_() if weighted else None
            read = f.from_numpy(indices[: np.prod(shape)].reshape(shape))
            begins = None if offsets is None else f.tensor(offsets)
            try:
                bags = f.nn.functional.embedding_bag(
                    read, weight, begins, sparse=True, per_sample_weights=per_sample, **options
                )
                (bags**2).sum().backward()
            except (RuntimeError, ValueError) as error:
                found.append((type(error).__mro__[-3], str(error)))
                continue
            assert weight.grad.is_sparse
            rows = np.asarray(weight.grad._indices()), np.asarray(weight.grad._values())
            found.append((*describe(bags), *rows, *([np.asarray(per_sample.grad)] if weighted else [])))
        agree(found[1], found[0])


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
@pytest.mark.parametrize("padding", [None, 2])
def test_embeddings_train_as_torch_s(name, options, padding):
    found = []
    for frontend in (torch, torchlike):
        numbers = np.random.default_rng(0)
        layer = frontend.nn.Embedding(7, 4, padding_idx=padding, sparse=True)
        with frontend.no_grad():
            layer.weight.copy_(frontend.from_numpy(numbers.normal(size=(7, 4)).astype("float32")))
        optimizer = getattr(frontend.optim, name)(layer.parameters(), **options)
        for _ in range(4):
            optimizer.zero_grad()
            (layer(frontend.from_numpy(numbers.integers(0, 7, (2, 3)))) ** 3).sum().backward()
            agree_later = describe(layer.weight.grad)
            optimizer.step()
        found.append((layer.weight.detach().numpy(), agree_later))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5, atol=1e-6)
    agree(found[1][1], found[0][1])


@pytest.mark.parametrize("name", "Adam AdamW Adamax NAdam RAdam RMSprop Rprop Adadelta ASGD Adafactor Adagrad".split())
def test_optimizers_refuse_sparse_gradients_in_torch_s_words(name):
    options = {"weight_decay": 0.1} if name == "Adagrad" else {}
    texts = []
    for frontend in (torch, torchlike):
        layer = frontend.nn.Embedding(3, 2, sparse=True)
        layer(frontend.tensor([1])).sum().backward()
        with pytest.raises(RuntimeError) as caught:
            getattr(frontend.optim, name)(layer.parameters(), **options).step()
        texts.append(str(caught.value))
    assert texts[1] == texts[0]


@pytest.mark.parametrize("count", [0, 1])
def test_a_tensor_of_one_element_is_coalesced(count):
    def build(frontend):
        return frontend.sparse_coo_tensor(np.full((2, count), 1).tolist(), [3.0] * count, (2, 3))

    for function in (lambda s: s, lambda s: s * 2, lambda s: s.float()):
        found, wanted = (function(build(frontend)) for frontend in (torchlike, torch))
        assert found.is_coalesced() and wanted.is_coalesced()
        agree(describe(found), describe(wanted))
        np.testing.assert_array_equal(found.values().numpy(), wanted.values().numpy())


BOOLS = {
    "s - s": lambda f, s: s - s,
    "d - s": lambda f, s: s.to_dense() - s,
    "d - 2 * s": lambda f, s: f.sub(s.to_dense(), s, alpha=2),
    "s -= s": lambda f, s: s.sub_(s),
    "d + s / 2": lambda f, s: f.add(s.long().to_dense(), s.long(), alpha=0.5),
}


@pytest.mark.parametrize("name", BOOLS)
def test_dtypes_are_refused_as_for_strided_tensors(name):
    for frontend in (torch, torchlike):
        s = frontend.sparse_coo_tensor([[0, 1]], [True, False], (3,))
        with pytest.raises(RuntimeError, match=r"bool|integral"):
            BOOLS[name](frontend, s)
