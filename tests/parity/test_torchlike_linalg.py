"""Linear algebra beside torch's: values, layouts, first and second gradients, named results and refusals."""

import itertools
import math

import numpy as np
import pytest
from comparison import attempt

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

DTYPES = ("float32", "float64", "complex128")
TOLERANCES = {"float32": 2e-3, "complex64": 2e-3, "float64": 1e-9, "complex128": 1e-9}


def draw(*shape, dtype="float64"):
    return torch.randn(shape, dtype=getattr(torch, dtype))


def well_conditioned(*batch, size=3, dtype="float64"):
    return draw(*batch, size, size, dtype=dtype) * 0.3 + 2 * torch.eye(size, dtype=getattr(torch, dtype))


def copy(value):
    if isinstance(value, (list, tuple)):
        return [copy(each) for each in value]
    if not isinstance(value, torch.Tensor):
        return value
    array = value.detach().resolve_conj().contiguous().numpy().copy()
    found = torchlike.from_numpy(array)
    if value.stride() != value.contiguous().stride():
        found = torchlike.from_numpy(array.swapaxes(-1, -2).copy()).mT
    return found.requires_grad_() if value.requires_grad else found


def leaves(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def agree(wanted, found, *, strides=True):
    for one, other in zip(leaves(wanted), leaves(found), strict=True):
        assert tuple(one.shape) == tuple(other.shape)
        dtype = str(one.dtype).removeprefix("torch.")
        assert dtype == other.dtype.short
        sizes = [pair for pair in zip(one.shape, one.stride(), other.stride(), strict=True) if pair[0] > 1]
        assert not strides or not one.numel() or all(mine == theirs for _, theirs, mine in sizes)
        limit = TOLERANCES.get(dtype, 0)
        values = one.detach().resolve_conj().numpy()
        np.testing.assert_allclose(other.detach().numpy(), values, rtol=limit, atol=limit)


def unique(found):
    """Return what does not depend on the choice of eigenvectors, singular vectors and signs."""
    values, *vectors = found
    return values, *(abs(each) for each in vectors)


def of_svd(t, a):
    U, S, Vh = t.linalg.svd(a, full_matrices=False)
    return abs(U), S, abs(Vh)


def positive(t, a):
    return a @ a.mH + t.eye(a.shape[-1], dtype=a.dtype)


#: Name → the function of either library, and what it is called with.
SQUARE = {
    "cholesky": lambda t, a: t.linalg.cholesky(positive(t, a)),
    "cholesky upper": lambda t, a: t.linalg.cholesky(positive(t, a), upper=True),
    "cholesky_inverse": lambda t, a: t.cholesky_inverse(t.linalg.cholesky(positive(t, a))),
    "cholesky_solve": lambda t, a: t.cholesky_solve(a[..., :2], a.tril()),
    "cond": lambda t, a: t.linalg.cond(a),
    "cond 1": lambda t, a: t.linalg.cond(a.detach(), 1),
    "cond nuc": lambda t, a: t.linalg.cond(a, "nuc"),
    "det": lambda t, a: t.linalg.det(a),
    "eigh": lambda t, a: unique(t.linalg.eigh(a + a.mH)),
    "eigvalsh": lambda t, a: t.linalg.eigvalsh(a + a.mH, UPLO="U"),
    "inv": lambda t, a: t.linalg.inv(a),
    "inverse": lambda t, a: t.inverse(a.mT),
    "logdet": lambda t, a: t.logdet(positive(t, a)),
    "lu": lambda t, a: t.linalg.lu(a)[1:],
    "lu_factor": lambda t, a: t.linalg.lu_factor(a)[0],
    "lu_solve": lambda t, a: t.linalg.lu_solve(*t.linalg.lu_factor(a), a[..., :2]),
    "lu_solve right": lambda t, a: t.linalg.lu_solve(*t.linalg.lu_factor(a), a[..., :2, :], left=False, adjoint=True),
    "matrix_exp": lambda t, a: t.matrix_exp(a),
    "matrix_norm": lambda t, a: t.linalg.matrix_norm(a, 2),
    "matrix_norm nuc": lambda t, a: t.linalg.norm(a, "nuc", dim=(-2, -1), keepdim=True),
    "matrix_norm one": lambda t, a: t.linalg.matrix_norm(a, 1, dim=(-1, -2)),
    "matrix_power": lambda t, a: t.linalg.matrix_power(a, 5),
    "matrix_power negative": lambda t, a: t.matrix_power(a, -2),
    "multi_dot": lambda t, a: t.linalg.multi_dot(
        [a.flatten()[:4].reshape(2, 2), a.flatten()[:4].reshape(2, 2), a.flatten()[:2]]
    ),
    "slogdet": lambda t, a: t.linalg.slogdet(a),
    "solve": lambda t, a: t.linalg.solve(a, a[..., :2] ** 2),
    "solve right": lambda t, a: t.linalg.solve(a, a[..., :2, :] ** 2, left=False),
    "solve vector": lambda t, a: t.linalg.solve(a, a[..., 0] ** 2),
    "solve_triangular": lambda t, a: t.linalg.solve_triangular(a, a[..., :2], upper=True),
    "solve_triangular unit": lambda t, a: t.linalg.solve_triangular(
        a, a[..., :2, :], upper=False, left=False, unitriangular=True
    ),
    "tensorsolve": lambda t, a: t.linalg.tensorsolve(
        t.eye(6, dtype=a.dtype).reshape(2, 3, 6) + a.flatten()[0], a.flatten()[:6].reshape(2, 3)
    ),
}
ANY = {
    "geqrf": lambda t, a: t.geqrf(a.detach()),
    "householder_product": lambda t, a: t.linalg.householder_product(
        *(each if a.shape[-2] >= a.shape[-1] else each[..., :1] for each in (a * 0.3, a[..., 0, :] * 0.3))
    ),
    "matrix_rank": lambda t, a: t.linalg.matrix_rank(a),
    "pinv": lambda t, a: t.linalg.pinv(a),
    "qr": lambda t, a: t.linalg.qr(a),
    "svd": of_svd,
    "svdvals": lambda t, a: t.linalg.svdvals(a),
    "lstsq": lambda t, a: t.linalg.lstsq(a, a[..., :2] ** 2, driver="gelsd").solution,
    "vector_norm": lambda t, a: t.linalg.vector_norm(a, 3, dim=-1),
    "vecdot": lambda t, a: t.linalg.vecdot(a, a * a),
    "vander": lambda t, a: t.linalg.vander(a, N=3),
}
WITHOUT_LAYOUT = {"eigh", "svd"}


def compare(name, function, a, *, gradients):
    wanted, found = function(torch, a), function(torchlike, b := copy(a))
    agree(wanted, found, strides=name not in WITHOUT_LAYOUT)
    if not gradients:
        return
    pairs = [(x, y) for x, y in zip(leaves(wanted), leaves(found), strict=True) if x.requires_grad and x.numel()]
    if not pairs:
        return
    assert all(y.requires_grad for _, y in pairs)
    weights = [draw(*x.shape, dtype=str(x.dtype).removeprefix("torch.")) for x, _ in pairs]
    (g,) = torch.autograd.grad([x for x, _ in pairs], a, weights, create_graph=True)
    (h,) = torchlike.autograd.grad([y for _, y in pairs], b, copy(weights), create_graph=True)
    agree(g, h, strides=False)
    if g.requires_grad:
        weight = draw(*g.shape, dtype=str(g.dtype).removeprefix("torch."))
        (gg,) = torch.autograd.grad(g, a, weight, allow_unused=True)
        (hh,) = torchlike.autograd.grad(h, b, copy(weight), allow_unused=True)
        if gg is not None and hh is not None and not gg._is_zerotensor():
            agree(gg, hh, strides=False)


@pytest.mark.parametrize("name", SQUARE)
def test_functions_of_square_matrices_agree(name):
    torch.manual_seed(0)
    for dtype, batch in itertools.product(DTYPES, [(), (2,)]):
        if "tensorsolve" in name and batch:
            continue
        a = well_conditioned(*batch, dtype=dtype).requires_grad_()
        compare(name, SQUARE[name], a, gradients=dtype in ("float64", "complex128"))


@pytest.mark.parametrize("name", ANY)
def test_functions_of_any_matrices_agree(name):
    torch.manual_seed(0)
    for dtype, shape in itertools.product(DTYPES, [(4, 2), (2, 4), (2, 3, 3), (0, 3, 2)]):
        if name == "householder_product" and shape[-2] < shape[-1]:
            continue
        a = draw(*shape, dtype=dtype).requires_grad_()
        compare(name, ANY[name], a, gradients=dtype in ("float64", "complex128"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_ldl_factors_and_solutions_agree(dtype):
    torch.manual_seed(0)
    for hermitian in (False, True):
        a = draw(4, 5, 5, dtype=dtype)
        a = a + (a.mH if hermitian else a.mT)
        sides = draw(4, 5, 2, dtype=dtype)
        wanted, found = (
            torch.linalg.ldl_factor(a, hermitian=hermitian),
            torchlike.linalg.ldl_factor(copy(a), hermitian=hermitian),
        )
        agree(wanted, found)
        agree(
            torch.linalg.ldl_solve(*wanted, sides, hermitian=hermitian),
            torchlike.linalg.ldl_solve(*found, copy(sides), hermitian=hermitian),
        )


@pytest.mark.parametrize(
    "matrix", [torch.zeros(2, 2), torch.zeros(2, 3, 3), torch.ones(2, 2), torch.diag(torch.tensor([1.0, -1.0]))]
)
@pytest.mark.parametrize(
    "name",
    [
        *(
            pytest.param(name, marks=pytest.mark.no_pipeline(reason="the error depends on values"))
            for name in ("inv", "cholesky", "lu_factor", "solve")
        ),
        "det",
        "inv_ex",
        "slogdet",
    ],
)
def test_singular_matrices_are_refused_in_torchs_words(name, matrix):
    def call(t, a):
        found, error = attempt(getattr(t.linalg, name), *([a, a] if name == "solve" else [a]))
        if error is None:
            return found
        is_expected = name == "lu_factor" or isinstance(error, t.linalg.LinAlgError)
        return str(error).partition(" (a")[0].replace("torch.", "") if is_expected else error

    wanted, found = call(torch, matrix), call(torchlike, copy(matrix))
    if isinstance(wanted, str):
        assert found == wanted
    else:
        agree(wanted, found)


EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("ij->ji", (2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)),
    ("i...->...", (2, 3, 4)),
    (" a b , b -> a", (2, 3), (3,)),
    ("ij,j->ij", (2, 3), (1,)),
    ("iij,jkk->ik", (2, 2, 3), (3, 4, 4)),
    ("b...i,oi->b...o", (2, 3, 4), (5, 4)),
    # Dimensions of size 1 are summed without a product of matrices.
    ("ij,jk->ki", (2, 1), (1, 3)),
    ("ij,jk->ik", (1, 1), (1, 1)),
    ("b...ij,jk->...bik", (2, 3, 1, 1), (1, 4)),
    ("i,ij->j", (1,), (3, 2)),
]


@pytest.mark.parametrize("case", EQUATIONS, ids=[case[0] for case in EQUATIONS])
def test_einsum_agrees(case):
    torch.manual_seed(0)
    equation, *shapes = case
    for dtype in ("float64", "complex128", "int64"):
        tensors = [torch.randint(-3, 4, shape).to(getattr(torch, dtype)) for shape in shapes]
        for each in tensors:
            each.requires_grad_(dtype != "int64")
        mine = [copy(each) for each in tensors]
        wanted, found = torch.einsum(equation, *tensors), torchlike.einsum(equation, mine)
        agree(wanted, found)
        if dtype != "int64":
            weight = draw(*wanted.shape, dtype=dtype)
            theirs = torch.autograd.grad(wanted, tensors, weight)
            agree(theirs, torchlike.autograd.grad(found, mine, copy(weight)), strides=False)


def test_einsum_takes_sublists_and_refuses_as_torch():
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
    agree(torch.einsum(a, [0, 1], b, [1, 2], [2, 0]), torchlike.einsum(copy(a), [0, 1], copy(b), [1, 2], [2, 0]))
    agree(torch.einsum(a, [..., 1], [..., 1]), torchlike.einsum(copy(a), [..., 1], [..., 1]))
    for equation in ("ij,jk->il", "ij", "ij,jk,kl", "i.j,jk", "ij,j", "ij,kk->i", "i1,jk", "ij,jk->ii"):
        with pytest.raises(RuntimeError) as wanted:
            torch.einsum(equation, a, b)
        with pytest.raises(RuntimeError) as found:
            torchlike.einsum(equation, copy(a), copy(b))
        assert str(found.value).startswith(str(wanted.value).partition(" [")[0][:25])


@pytest.mark.parametrize("name", ["tensordot", "inner", "vdot", "addmv", "addbmm", "addr", "ger", "cross"])
def test_products_agree(name):
    torch.manual_seed(0)
    arguments = {
        "tensordot": [((2, 3, 4), (4, 3, 5)), {"dims": ([1, 2], [1, 0])}],
        "inner": [((2, 3), (4, 3)), {}],
        "vdot": [((3,), (3,)), {}],
        "addmv": [((2,), (2, 3), (3,)), {"beta": 2, "alpha": 3}],
        "addbmm": [((2, 4), (5, 2, 3), (5, 3, 4)), {"beta": 0}],
        "addr": [((2, 3), (2,), (3,)), {"alpha": 2}],
        "ger": [((2,), (3,)), {}],
        "cross": [((2, 3), (2, 3)), {"dim": 1}],
    }
    shapes, options = arguments[name]
    for dtype in ("float64", "complex128", "int32"):
        tensors = [torch.randint(-3, 4, shape).to(getattr(torch, dtype)) for shape in shapes]
        with np.errstate(all="ignore"):
            wanted = getattr(torch, name)(*tensors, **options)
        agree(wanted, getattr(torchlike, name)(*map(copy, tensors), **options))


def test_norm_takes_the_names_of_norms():
    a = torch.arange(6.0).reshape(2, 3)
    for p, dim in itertools.product(("fro", "nuc", 2, math.inf, 0), (None, (0, 1))):
        agree(torch.norm(a, p, dim), torchlike.norm(copy(a), p, dim))
