"""Nested and sparse arguments of `vmap` and `jvp`, against the same function of each row and of strided tensors."""

from __future__ import annotations

import random

import pytest

import dispatch_core as dc
import torchlike
import torchlike.nn.functional as F
from torchlike.func import grad, jvp, linearize, vjp, vmap

SEEDS = range(4)


def make_nested(seed, *, equal=False):
    draw = random.Random(seed)
    torchlike.manual_seed(seed)
    lengths = [draw.randint(1, 5) for _ in range(draw.randint(1, 4))]
    rows = [torchlike.randn(lengths[0] if equal else length, 3, dtype=torchlike.float64) for length in lengths]
    return torchlike.nested.nested_tensor(rows)


def make_sparse(seed, sparse_dim):
    torchlike.manual_seed(seed)
    dense = torchlike.randn(3, 2, 4, dtype=torchlike.float64)
    return (dense * (dense > -0.5)).to_sparse(sparse_dim)


def dense(x):
    return x if x.layout is torchlike.strided else x.to_dense()


def close(found, wanted):
    torchlike.testing.assert_close(dense(found), dense(wanted))


W = torchlike.arange(6.0, dtype=torchlike.float64).reshape(3, 2)
#: Functions of a row of sizes (length, 3).
OF_ROWS = {
    "itself": lambda x: x,
    "element-wise": lambda x: (x * 2 + 1).sin() - x.exp() / 3,
    "with a vector": lambda x: x * torchlike.arange(3.0),
    "compared": lambda x: torchlike.where(x > 0, x, x * 0.1),
    "sum": lambda x: x.sum(),
    "mean of the rows": lambda x: x.mean(0),
    "maxima": lambda x: x.amax(-1),
    "product": lambda x: x @ W,
    "linear": lambda x: F.linear(x, W.t(), torchlike.ones(2, dtype=torchlike.float64)),
    "softmax": lambda x: x.softmax(-1),
    "softmax of the rows": lambda x: x.softmax(0),
    "norm": lambda x: F.layer_norm(x, (3,)),
    "two results": lambda x: (x * x, x.sum(-1)),
}


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OF_ROWS)
def test_a_mapped_function_of_a_nested_tensor_is_that_of_each_row(name, seed, equal):
    function, x = OF_ROWS[name], make_nested(seed, equal=equal)
    found = vmap(function)(x)
    wanted = [function(row) for row in x.unbind()]
    if not isinstance(found, tuple):
        found, wanted = (found,), [(each,) for each in wanted]
    for place, result in enumerate(found):
        for got, row in zip(result.unbind(), wanted, strict=True):
            close(got, row[place])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_nested_tensor_is_mapped_beside_a_strided_one(seed):
    x = make_nested(seed)
    other = torchlike.randn(len(x), 3, dtype=torchlike.float64)
    found = vmap(lambda row, vector: row * vector)(x, other)
    assert found.size(1) == x.size(1)
    for got, row, vector in zip(found.unbind(), x.unbind(), other, strict=True):
        close(got, row * vector)
    weights = torchlike.randn(len(x), 3, 2, dtype=torchlike.float64)
    for got, row, weight in zip(vmap(lambda a, b: a @ b)(x, weights).unbind(), x.unbind(), weights, strict=True):
        close(got, row @ weight)
    with pytest.raises(RuntimeError, match="can only be vmapped over dim=0, but got dim=2"):
        vmap(lambda row: row * 2, in_dims=-1)(x)


#: Functions of a nested tensor, whose values are those of a function of `values()`.
OF_NESTED = {
    "element-wise": lambda x: x.sin() * x,
    "in place": lambda x: (x * 1).mul_(x),
    "sum": lambda x: (x * x).sum(),
    "sum of the rows": lambda x: (x**3).sum(1),
    "product": lambda x: x @ W,
    "softmax": lambda x: x.softmax(-1),
    "without x": torchlike.ones_like,
    "two results": lambda x: (x * x, x.sum(-1)),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OF_NESTED)
def test_a_derivative_along_a_nested_direction_is_that_of_the_values(name, seed):
    function, x = OF_NESTED[name], make_nested(seed)
    way, step = torchlike.ones_like(x) + x.cos(), 1e-6
    output, product = jvp(function, (x,), (way,))
    moved = [function(x + way * end) for end in (-step, step)]
    output_again, multiply = linearize(function, x)
    again = multiply(way)
    if not isinstance(output, tuple):
        output, product, output_again, again = (output,), (product,), (output_again,), (again,)
        moved = [(each,) for each in moved]
    for place, each in enumerate(product):
        before, after = (end[place] for end in moved)
        assert each.is_nested == output[place].is_nested and each.layout is after.layout
        values = [part.values() if part.is_nested else part for part in (each, before, after, again[place])]
        torchlike.testing.assert_close(values[0], (values[2] - values[1]) / (2 * step), rtol=1e-5, atol=1e-6)
        close(values[3], values[0])


def test_derivatives_of_nested_tensors_nest():
    x = make_nested(0)
    way = torchlike.ones_like(x)
    slope = grad(lambda x: jvp(lambda x: (x**3).sum(), (x,), (way,))[1])(x)
    close(slope.values(), 6 * x.values())
    curve = jvp(grad(lambda x: (x**3).sum()), (x,), (way,))[1]
    close(curve.values(), 6 * x.values())
    weight = torchlike.ones(2, 3, dtype=torchlike.float64)
    output, product = jvp(lambda w: F.linear(x, w), (weight,), (weight * 2,))
    close(product.values(), 2 * output.values())
    with pytest.raises(RuntimeError, match="forward gradient that has a different size"):
        jvp(lambda x: x * 2, (x,), (make_nested(0),))  # whose rows are not known to be as long


#: Functions of a sparse row of sizes (2, 4), and of the strided one.
OF_SPARSE = {
    "itself": lambda x: x,
    "scaled": lambda x: x * 2 - x,
    "element-wise": lambda x: x.sin().tan(),
    "squared": lambda x: x * x,
    "dense": lambda x: dense(x) + 1,
    "sum": lambda x: dense(x.sum()),
    "halved": lambda x: -x / 2,
}


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OF_SPARSE)
def test_a_mapped_function_of_a_sparse_tensor_is_that_of_each_row(name, seed, sparse_dim):
    function, s = OF_SPARSE[name], make_sparse(seed, sparse_dim)
    close(vmap(function)(s), torchlike.stack([function(row) for row in s.to_dense()]))
    if sparse_dim == 3:
        columns = torchlike.stack([function(column) for column in s.to_dense().unbind(2)], -1)
        close(vmap(function, in_dims=2, out_dims=-1 if columns.dim() > 1 else 0)(s), columns)
        close(vmap(vmap(lambda x: x * 3))(s), s * 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_products_of_sparse_rows(seed):
    s, d = make_sparse(seed, 3), torchlike.randn(3, 4, 2, dtype=torchlike.float64)
    close(vmap(lambda a: a @ d[0])(s), s.to_dense() @ d[0])
    close(vmap(lambda a, b: a @ b)(s, d), s.to_dense() @ d)
    close(vmap(lambda a: torchlike.sparse.mm(a, d[1]))(s), s.to_dense() @ d[1])
    close(vmap(grad(lambda a: (a * a).sum()))(s), 2 * s.to_dense())
    close(vmap(lambda a: a.t())(s), s.to_dense().mT)
    with pytest.raises(RuntimeError, match="components of a sparse tensor are those of all rows"):
        vmap(lambda a: a.coalesce().values())(s)


#: Functions of a sparse matrix and of the strided one.
OF_MATRICES = {
    "scaled": lambda x: x * 3,
    "squared": lambda x: x * x,
    "sum": lambda x: dense((x * x).sum()),
    "dense": lambda x: dense(x).sin(),
    "product": lambda x: x @ torchlike.arange(8.0, dtype=torchlike.float64).reshape(4, 2),
    "turned": lambda x: x.t() * 2,
    "added": lambda x: dense(x + x * x),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OF_MATRICES)
def test_a_derivative_along_a_sparse_direction_is_that_of_the_dense_one(name, seed):
    function, x = OF_MATRICES[name], make_sparse(seed, 3).to_dense()[0]
    for way in (x * 2, (x + 1) * (x != 0) * torchlike.tensor([1.0, 0.0, 1.0, 1.0])):  # in places that the tensor has
        wanted = jvp(function, (x,), (way,))
        for found in (jvp(function, (x.to_sparse(),), (way.to_sparse(),)), jvp(function, (x.to_sparse(),), (way,))):
            for one, other in zip(found, wanted, strict=True):
                close(one, other)
    pulled = vjp(lambda s: dense(s).sin(), x.to_sparse())[1](torchlike.ones_like(x))[0]
    assert pulled.is_sparse


@pytest.mark.parametrize("seed", SEEDS)
def test_functionalize_takes_nested_tensors(seed):
    def write(x):
        y = x * 2
        y.add_(1).mul_(x)
        x.sub_(1)
        return y, x.sum(1)

    x, again = make_nested(seed), make_nested(seed)
    product, total = torchlike.func.functionalize(write)(x)
    wanted, wanted_total = write(again)
    assert product.size(1) == x.size(1)
    close(product.values(), wanted.values())
    close(total, wanted_total)
    close(x.values(), again.values())  # it was written back


@pytest.mark.parametrize("ask", ["gradient", "expand", "zeros", "view", "empty"])
def test_a_ragged_size_that_an_ordinary_tensor_is_asked_for_is_named(ask):
    x = make_nested(0)
    calls = {
        "gradient": lambda: vmap(grad(lambda row: (row * row).sum()))(x),
        "expand": lambda: torchlike.ones(2, 1, 3).expand(x.shape),
        "zeros": lambda: torchlike.zeros(x.shape),
        "view": lambda: torchlike.ones(6).view(x.shape),
        "empty": lambda: torchlike.empty(x.shape),
    }
    with pytest.raises(RuntimeError, match=r"only concrete integers, but got \[\d+, ragged, 3\], as a nested tensor's"):
        calls[ask]()


@pytest.mark.filterwarnings("ignore:.*has a kernel for SparseCPU")
def test_errors_of_a_kernel_of_a_layout_reach_the_caller_of_vmap():
    class OwnError(RuntimeError):
        pass

    tried = []

    def fail(self):
        tried.append(tuple(self.shape))
        raise OwnError("of the kernel")

    x = make_sparse(0, 2)
    with dc.Library("aten", "IMPL") as library:
        library.impl("sin", fail, "SparseCPU")
        with pytest.raises(OwnError):
            vmap(torchlike.sin)(x)
    assert len(tried) == 1
