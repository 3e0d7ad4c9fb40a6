"""Tensors of compressed rows and columns, and of blocks, against SciPy; layers, files and refusals."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest
import scipy.sparse

import dispatch_core as dc
import torchlike
from torchlike.sparse.compressed import matrices, products
from torchlike.utils._python_dispatch import TorchDispatchMode

LAYOUTS = {
    name: {"layout": getattr(torchlike, f"sparse_{name}"), **({"blocksize": (2, 3)} if name[0] == "b" else {})}
    for name in ("csr", "csc", "bsr", "bsc")
}


def draw(rows=4, columns=6, seed=0, dtype=np.float64):
    numbers = np.random.default_rng(seed)
    return (numbers.integers(1, 9, (rows, columns)) * (numbers.random((rows, columns)) < 0.4)).astype(dtype)


@pytest.fixture(params=LAYOUTS)
def s(request):
    return torchlike.from_numpy(draw()).to_sparse(**LAYOUTS[request.param])


def same(found, wanted):
    np.testing.assert_allclose(np.asarray(found.detach().to_dense()), wanted, rtol=1e-6, atol=1e-6)


def test_a_compressed_tensor_answers_for_its_components():
    x = torchlike.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], (2, 3))
    assert (x.shape, x.dtype, x.numel(), x.dim(), len(x)) == ((2, 3), torchlike.float32, 6, 2, 2)
    assert x.layout is torchlike.sparse_csr and x.is_sparse_csr and not x.is_sparse
    assert (x._nnz(), x.sparse_dim(), x.dense_dim()) == (3, 2, 0)
    assert x.crow_indices().tolist() == [0, 1, 3] and x.col_indices().tolist() == [2, 0, 2]
    x.values().mul_(2)
    assert x.to_dense().tolist() == [[0.0, 0.0, 6.0], [8.0, 0.0, 10.0]]
    assert repr(x).splitlines() == [
        "tensor(crow_indices=tensor([0, 1, 3]),",
        "       col_indices=tensor([2, 0, 2]),",
        "       values=tensor([ 6.,  8., 10.]), size=(2, 3), nnz=3,",
        "       layout=torchlike.sparse_csr)",
    ]


@pytest.mark.parametrize("wanted", LAYOUTS)
def test_every_layout_becomes_every_other(s, wanted):
    found = s.to_sparse(**LAYOUTS[wanted])
    assert found.layout is LAYOUTS[wanted]["layout"]
    same(found, draw())
    same(found.to_sparse(), draw())
    same(found.to_sparse().to_sparse(**LAYOUTS[wanted]), draw())
    made = getattr(scipy.sparse, f"{wanted}_array") if wanted != "bsc" else None
    if made is not None:
        own = made(draw(), **({"blocksize": (2, 3)} if wanted == "bsr" else {}))
        own.sort_indices()
        indices = found.crow_indices() if wanted[-1] == "r" else found.ccol_indices()
        if wanted != "bsr" and s.layout in (torchlike.sparse_csr, torchlike.sparse_csc):  # blocks keep zeros
            assert indices.tolist() == own.indptr.tolist() and found.values().tolist() == own.data.tolist()


CALLS = {
    "a matrix on the right": (lambda s: s @ torchlike.from_numpy(draw(6, 2, 1)), lambda a: a @ draw(6, 2, 1)),
    "a matrix on the left": (lambda s: torchlike.from_numpy(draw(2, 4, 1)) @ s, lambda a: draw(2, 4, 1) @ a),
    "a vector": (lambda s: s @ torchlike.from_numpy(draw(6, 1, 1)[:, 0]), lambda a: a @ draw(6, 1, 1)[:, 0]),
    "the transposed": (lambda s: s @ s.t(), lambda a: a @ a.T),
    "the same": (lambda s: s + s * 2, lambda a: a * 3),
    "a difference": (lambda s: s - s, lambda a: a * 0),
    "a product of elements": (lambda s: s * s, lambda a: a * a),
    "a quotient": (lambda s: s / 2, lambda a: a / 2),
    "a power": (lambda s: s**2, lambda a: a**2),
    "a row": (lambda s: s[2], lambda a: a[2]),
    "a column": (lambda s: s[:, 3], lambda a: a[:, 3]),
    "an element": (lambda s: s[1, 2], lambda a: a[1, 2]),
    "sums of columns": (lambda s: s.sum(0), lambda a: a.sum(0)),
    "sums of rows": (lambda s: s.sum(1, keepdim=True), lambda a: a.sum(1, keepdims=True)),
    "a sum of all": (lambda s: s.sum((0, 1), keepdim=True), lambda a: a.sum((0, 1), keepdims=True)),
    "sparse.sum": (lambda s: torchlike.sparse.sum(s, 1), lambda a: a.sum(1)),
    "a norm": (lambda s: s.norm(), np.linalg.norm),
    "any": (lambda s: s.any(), np.any),
    "a mask": (lambda s: torchlike.ones(4, 6, dtype=s.dtype).sparse_mask(s), lambda a: (a != 0) * 1.0),
    "the largest products": (
        lambda s: torchlike.sparse.mm(s, torchlike.ones(6, 1, dtype=s.dtype), "amax"),
        lambda a: a.max(1, keepdims=True),
    ),
    "more rows": (lambda s: s.clone().resize_(8, 6), lambda a: np.concatenate([a, 0 * a])),
    "all rows": (lambda s: torchlike.stack([each.to_dense() for each in s]), lambda a: a),
}


@pytest.mark.parametrize("has_scipy", [True, False], ids=["SciPy", "no SciPy"])
@pytest.mark.parametrize("call", CALLS)
def test_results_are_numpys(s, call, has_scipy, monkeypatch):
    if not has_scipy:
        for module in (matrices, products):
            monkeypatch.setattr(module, "load_scipy", lambda name="": None)
    compute, wanted = CALLS[call]
    if call in ("a mask", "the largest products") and s.layout not in (torchlike.sparse_csr, torchlike.sparse_csc):
        return  # blocks have zeros, too
    same(compute(s), wanted(draw()))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "complex64"])
def test_products_of_other_dtypes(s, dtype):
    kind = getattr(torchlike, dtype)
    found = s.to(kind) @ torchlike.ones(6, 2, dtype=kind)
    assert found.dtype is kind
    np.testing.assert_allclose(np.asarray(found.to(torchlike.complex64)), draw() @ np.ones((6, 2)))


def test_batches_are_multiplied_row_by_row(s):
    rows = torchlike.stack([s.to_dense(), s.to_dense() * 2])
    batch = rows.to_sparse(**next(each for each in LAYOUTS.values() if each["layout"] is s.layout))
    other = torchlike.from_numpy(draw(6, 2, 1))
    wanted = np.stack([draw() @ draw(6, 2, 1), 2 * draw() @ draw(6, 2, 1)])
    same(torchlike.bmm(batch, torchlike.stack([other, other])), wanted)
    same(batch @ torchlike.stack([other, other]), wanted)
    uneven = torchlike.tensor([[[1.0, 0.0]], [[1.0, 1.0]]])
    with pytest.raises(RuntimeError, match=r"same number of specified elements per batch\.\nHint: .* 1 to 2"):
        uneven.to_sparse_csr()


def test_systems_are_solved_by_scipy_which_an_error_names(monkeypatch):
    matrix = torchlike.tensor([[2.0, 1.0], [0.0, 4.0]]).to_sparse_csr()
    right = torchlike.tensor([[4.0], [8.0]])
    assert torchlike.sparse.spsolve(matrix, right).tolist() == [[1.0], [2.0]]
    assert torchlike.triangular_solve(right, matrix)[0].tolist() == [[1.0], [2.0]]
    with pytest.raises(RuntimeError, match="singular"):
        torchlike.sparse.spsolve((matrix * 0), right)
    from torchlike.sparse.compressed import systems

    monkeypatch.setattr(systems, "load_scipy", lambda name="": None)
    for call in (torchlike.sparse.spsolve, lambda one, other: torchlike.triangular_solve(other, one)):
        with pytest.raises(RuntimeError, match=r"needs SciPy, which is not installed\nHint: pip install"):
            call(matrix, right)


def test_gradients_have_the_layout_of_the_tensor_or_are_strided(s):
    s.requires_grad_()
    x = torchlike.ones(6, 2, dtype=s.dtype, requires_grad=True)
    torchlike.sparse.mm(s, x).sum().backward()
    assert s.grad.layout is s.layout and s.grad.values().unique().tolist() == [2.0]
    assert x.grad[:, 0].tolist() == draw().sum(0).tolist()
    s.grad = None
    (s @ x).sum().backward()
    assert s.grad.layout is torchlike.strided and s.grad.unique().tolist() == [2.0]
    (grad,) = torchlike.autograd.grad(s.values().pow(2).sum(), s)
    assert grad.layout is s.layout
    assert torchlike.autograd.gradcheck(lambda s: s.to_dense(), (s.detach().requires_grad_(),), masked=True)


def test_leaves_are_parameters_that_optimizers_train(s):
    module = torchlike.nn.Linear(6, 4, dtype=s.dtype)
    module.weight = torchlike.nn.Parameter(s)
    found = module(torchlike.ones(1, 6, dtype=s.dtype))
    same(found - module.bias, draw().sum(1)[None])
    optimizer = torchlike.optim.SGD([module.weight], lr=0.5)
    module.weight.values().sum().backward()
    optimizer.step()
    places = np.asarray(module.weight.grad.to_dense())
    same(module.weight, draw() - 0.5 * places)
    file = io.BytesIO()
    torchlike.save(module.state_dict(), file)
    file.seek(0)
    same(torchlike.load(file)["weight"], draw() - 0.5 * places)


@pytest.mark.parametrize("way", ["deepcopy", "pickle", "save", "save_torch"])
def test_copies_have_components_of_their_own(s, way):
    s.requires_grad_()
    if way == "deepcopy":
        found = copy.deepcopy(s)
    elif way == "pickle":
        found = pickle.loads(pickle.dumps(s))
    else:
        file = io.BytesIO()
        torchlike.save(s, file)
        file.seek(0)
        found = torchlike.load(file)
    assert found.layout is s.layout and found.requires_grad and found.values().data_ptr() != s.values().data_ptr()
    same(found, draw())


def run_in_a_pipeline(s, x):
    with torchlike.pipeline():
        found = s @ x
        assert found._pending
    return found


LEVELS = {
    "pipeline": run_in_a_pipeline,
    "capture": torchlike.compile(torchlike.mm),
    "capture of a constant": lambda s, x: torchlike.compile(s.matmul)(x),
    "vmap": lambda s, x: torchlike.vmap(lambda column: s @ column, in_dims=1, out_dims=1)(x),
    "vmap of the batch": lambda s, x: torchlike.vmap(lambda row: row.to_dense() @ x)(s),
    "grad": lambda s, x: torchlike.func.vjp(lambda s: s @ x, s)[0],
    "jvp": lambda s, x: torchlike.func.jvp(lambda s: s @ x, (s,), (s,))[1],
    "functionalize": lambda s, x: torchlike.func.functionalize(lambda s: s @ x)(s),
}


@pytest.mark.parametrize("level", LEVELS)
def test_levels_take_compressed_tensors(s, level):
    x = torchlike.from_numpy(draw(6, 2, 1))
    same(LEVELS[level](s, x), draw() @ draw(6, 2, 1))


def test_autocast_profiler_modes_and_meta_see_calls(s):
    x = torchlike.ones(6, 2)
    with torchlike.autocast("cpu", dtype=torchlike.bfloat16):
        assert (s.float() @ x).dtype is torchlike.bfloat16
    with dc.profile() as profile:
        s.float() @ x
    assert "compressed::mm" in str(profile)

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.name)
            return func(*args, **(kwargs or {}))

    seen = []
    with Watch():
        (s * 2).to_dense()
    assert seen[-1] == "sparse::to_dense"
    nowhere = s.to("meta")
    assert nowhere.layout is s.layout and nowhere.is_meta
    assert (nowhere.float() @ x.to("meta")).shape == (4, 2) and nowhere.to_dense().shape == (4, 6)


def test_places_are_checked_and_put_in_order():
    for options in ({}, {"check_invariants": False}):
        with pytest.raises(RuntimeError, match=r"`0 <= col_indices < ncols` is not satisfied"):
            torchlike.sparse_csr_tensor([0, 1], [3], [1.0], (1, 2), **options)
        with pytest.raises(RuntimeError, match=r"sorted and distinct(.|\n)*a place is there twice"):
            torchlike.sparse_csr_tensor([0, 2, 3], [1, 1, 1], [1.0, 2.0, 3.0], (2, 3), **options)
        values = torchlike.tensor([1.0, 2.0, 3.0], requires_grad=True)
        made = torchlike.sparse_csr_tensor([0, 2, 3], [2, 0, 1], values, (2, 3), **options)
        assert made.col_indices().tolist() == [0, 2, 1] and made.to_dense().tolist() == [
            [2.0, 0.0, 1.0],
            [0.0, 3.0, 0.0],
        ]
        assert (made.detach() * made.detach()).to_dense().tolist() == [[4.0, 0.0, 1.0], [0.0, 9.0, 0.0]]
        (made.to_dense() * torchlike.arange(6.0).reshape(2, 3)).sum().backward()
        assert values.grad.tolist() == [2.0, 0.0, 4.0]
    with pytest.raises(RuntimeError, match=r"must be equal to the number of rows \+ 1 \(=2\), but got 3"):
        torchlike.sparse_csr_tensor([0, 1, 1], [0], [1.0], (1, 2), check_invariants=False)
    with torchlike.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="sorted and distinct"):
        torchlike.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 2))
    batch = torchlike.sparse_csr_tensor([[0, 2], [0, 2]], [[1, 0], [0, 1]], [[1.0, 2.0], [3.0, 4.0]], (2, 1, 2))
    assert batch.to_dense().tolist() == [[[2.0, 1.0]], [[3.0, 4.0]]]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda s: s + 1, RuntimeError, "no kernel for tensors of layout torchlike.sparse_"),
        (lambda s: s.exp(), RuntimeError, "x.values\\(\\) has the elements"),
        (lambda s: s / s, RuntimeError, "expected a number"),
        (lambda s: s.reshape(24), RuntimeError, "no kernel"),
        (lambda s: s.__setitem__(0, 1.0), TypeError, "Cannot assign to a sparse tensor"),
        (lambda s: s.indices(), RuntimeError, "expected sparse coordinate tensor layout"),
        (lambda s: s.numpy(), TypeError, "is not supported for tensors of layout"),
        (lambda s: s.to_sparse_bsr((3, 3)), RuntimeError, "must be divisible by given blocksize"),
        (lambda s: s.to_sparse(1), RuntimeError, "other than 2"),
        (lambda s: s.copy_(torchlike.ones(4, 6)), RuntimeError, "expected tensors of one layout"),
        (lambda s: s.resize_(2, 2), RuntimeError, "resize_"),
        (lambda s: torchlike.sparse.mm(s, torchlike.ones(6, 2, dtype=s.dtype), "prod"), ValueError, "reduce"),
        (torchlike.isreal, RuntimeError, "no kernel"),
        (lambda s: s @ torchlike.ones(5, 2, dtype=s.dtype), RuntimeError, "cannot be multiplied"),
    ],
)
def test_refusals_name_what_was_asked_and_change_nothing(s, call, error, text):
    before = s.to_dense()
    with pytest.raises(error, match=text):
        call(s)
    assert torchlike.equal(s.to_dense(), before)
