"""Linear algebra, transforms, scatters and special functions on jax: in one program, and with the cpu's values."""

import itertools

import numpy as np
import pytest

import dispatch_core as dc
import torchlike as t
from dispatch_core.runtime import computed_on_host

pytest.importorskip("jax")

L = t.linalg


def rebuild(left, values, right):
    """Return values, and a product that no sign of a vector changes."""
    count = values.shape[-1]
    return values, (left[..., :count] * values[..., None, :]) @ right[..., :count, :]


def rebuild_from(found):
    """Return eigenvalues, and the product of a symmetric matrix's factors."""
    return rebuild(found[1], found[0], found[1].mH)


def unfold(values, vectors):
    """Return the matrices of which these are eigenvalues and eigenvectors."""
    return (vectors * values[..., None, :]) @ L.inv(vectors)


#: LAPACK's functions by name: functions of a positive-definite matrix (3, 3), or of many.
MATRICES = {
    "cholesky": L.cholesky,
    "cholesky_ex, upper": lambda a: L.cholesky_ex(a, upper=True),
    "inv": L.inv,
    "solve": lambda a: L.solve(a, a[..., :2] + 1),
    "solve from the right": lambda a: L.solve(a, a[..., :2, :] + 1, left=False),
    "solve_ex": lambda a: L.solve_ex(a, a[..., :2]),
    "solve_triangular": lambda a: L.solve_triangular(a, a[..., :2], upper=True),
    "cholesky_solve": lambda a: t.cholesky_solve(a[..., :2], L.cholesky(a)),
    "cholesky_inverse": lambda a: t.cholesky_inverse(L.cholesky(a)),
    "lu_factor": L.lu_factor,
    "lu": lambda a: L.lu(a[..., :2]),
    "lu_solve": lambda a: L.lu_solve(*L.lu_factor(a), a[..., :2], adjoint=True),
    "det": L.det,
    "slogdet": L.slogdet,
    "qr": lambda a: L.qr(a[..., :2]),
    "qr, complete": lambda a: L.qr(a[..., :2], "complete"),
    "qr, r": lambda a: L.qr(a, "r").R,
    "geqrf": t.geqrf,
    "householder_product": lambda a: L.householder_product(a, a[..., 0] / 8),
    "svdvals": L.svdvals,
    "svd": lambda a: rebuild(*L.svd(a[..., :2], full_matrices=False)),
    "svd, full": lambda a: rebuild(*L.svd(a[..., :2])),
    "eigvalsh": lambda a: L.eigvalsh(a, "U"),
    "eigh": lambda a: rebuild_from(L.eigh(a)),
    "eigvals": lambda a: L.eigvals(a).real.sort().values,
    "eig": lambda a: unfold(*L.eig(a)),
    "matrix_exp": lambda a: t.matrix_exp(a / 8),
    "pinv": lambda a: L.pinv(a[..., :2]),
    "matrix_rank": L.matrix_rank,
    "lstsq": lambda a: L.lstsq(a, a[..., :2] + 1).solution,
    "cond": L.cond,
    "nuclear norm": lambda a: L.matrix_norm(a, "nuc"),
}
#: Functions of a real matrix (4, 6).
OTHERS = {
    "fft": lambda x: t.fft.fft(x, n=5, norm="ortho"),
    "rfft": lambda x: t.fft.rfft(x, dim=0),
    "irfftn": lambda x: t.fft.irfftn(t.complex(x, x + 1), norm="forward"),
    "hfft": lambda x: t.fft.hfft(t.complex(x, x + 1), n=7),
    "stft": lambda x: t.stft(x.reshape(-1), 8, window=t.ones(8, device=x.device, dtype=x.dtype), return_complex=True),
    "real and imag": lambda x: t.complex(x, x * 2).imag + t.complex(x, x).real,
    "conj": lambda x: t.complex(x, x + 1).conj() * 2,
    "bits": lambda x: x.view(t.int32),
    **{
        f"scatter_reduce, {reduce}": lambda x, reduce=reduce: x.scatter_reduce(
            0, (x[:2] > 0).long(), x[2:] * 2, reduce, include_self=reduce != "amin"
        )
        for reduce in ("sum", "prod", "mean", "amax", "amin")
    },
    "index_reduce": lambda x: x.index_reduce(1, t.tensor([0, 5, 0], device=x.device), x[:, 1:4], "prod"),
    "lgamma": t.lgamma,
    "gammainc": lambda x: t.special.gammainc(x.abs().detach(), x.abs() + 1),
    "erfinv": lambda x: t.erfinv(x / 8),
    "i0e": t.special.i0e,
    "log_ndtr": t.special.log_ndtr,
    "gcd": lambda x: t.gcd((x * 20).long(), (x[0] * 9).long()),
    "frexp": t.frexp,
}
CASES = MATRICES | OTHERS
#: Those without a derivative.
NOT_DERIVED = {"bits", "gcd", "matrix_rank", "geqrf", "qr, complete", "qr, r"}
REAL = ("float32", "float64")
COMPLEX = ("complex64", "complex128")


@pytest.fixture(autouse=True)
def no_host():
    """Refuse each operator that the host computes."""
    before = computed_on_host("jax")
    yield
    assert computed_on_host("jax") == before


def make(name, dtype="float64", batch=()):
    draw = np.random.default_rng(3).normal
    if name in OTHERS:
        return draw(size=(4, 6)).astype(dtype)
    found = draw(size=(*batch, 3, 3))
    if dtype.startswith("c"):
        found = found + 1j * draw(size=found.shape)
    return (found @ np.swapaxes(found.conj(), -1, -2) + np.eye(3)).astype(dtype)


def agree(found, expected, dtype="float64"):
    found, expected = ((each,) if isinstance(each, t.Tensor) else each for each in (found, expected))
    tolerance = 2e-3 if dtype in ("float32", "complex64") else 1e-9
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one.cpu().resolve_conj().numpy(), other.resolve_conj().numpy(), tolerance, tolerance)


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, dtype) for name in MATRICES for dtype in (*REAL, *COMPLEX)),
        *((name, dtype) for name in OTHERS for dtype in REAL),
    ],
)
def test_results_are_those_of_the_cpu(name, dtype):
    values = make(name, dtype)
    agree(CASES[name](t.from_numpy(values).to("jax")), CASES[name](t.from_numpy(values)), dtype)


@pytest.mark.drawn(0.4)
@pytest.mark.parametrize("batch", [(2,), (0,), (2, 1)])
@pytest.mark.parametrize("name", MATRICES)
def test_results_of_many_matrices_are_those_of_the_cpu(name, batch):
    values = make(name, batch=batch)
    agree(CASES[name](t.from_numpy(values).to("jax")), CASES[name](t.from_numpy(values)))


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
@pytest.mark.parametrize(
    "name", ["cholesky", "inv", "solve", "solve_triangular", "lu_factor", "det", "slogdet", "eigvalsh"]
)
def test_matrices_without_elements_have_results(name, shape):
    agree(MATRICES[name](t.ones(shape, device="jax")), MATRICES[name](t.ones(shape)))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 3, 3)])
def test_factors_of_no_elements_are_those_of_the_cpu(shape):
    for name, options in itertools.product(("qr", "svd"), ({}, {"qr": "complete", "svd": False})):
        call = getattr(L, name)
        extra = [options[name]] if options else []
        agree(call(t.ones(shape, device="jax"), *extra), call(t.ones(shape), *extra))


@pytest.mark.parametrize("name", [name for name in CASES if name not in NOT_DERIVED])
def test_gradients_are_those_of_the_cpu(name):
    def derive(values):
        x = values.requires_grad_()
        found = CASES[name](x)
        found = (found,) if isinstance(found, t.Tensor) else found
        sum(each.abs().sum() for each in found if each.requires_grad).backward()
        return x.grad

    values = make(name)
    agree(derive(t.from_numpy(values).to("jax")), derive(t.from_numpy(values)))


def test_info_is_the_order_of_the_minor_or_the_place_of_the_zero():
    given = np.stack([np.eye(4), np.eye(4), np.ones((4, 4))])
    given[1, 2, 2] = -1
    for device in ("cpu", "jax"):
        x = t.from_numpy(given).to(device)
        factors, info = L.cholesky_ex(x)
        assert info.dtype == t.int32 and info.device.type == device
        assert info.tolist() == [0, 3, 2]
        assert factors[1, :2, :2].tolist() == [[1, 0], [0, 1]]
        assert L.cholesky_ex(x.mT, upper=True).info.tolist() == [0, 3, 2]
        assert L.inv_ex(x).info.tolist() == [0, 0, 2]
        assert L.lu_factor_ex(x).info.tolist() == [0, 0, 2]
        assert L.solve_ex(x, x).info.tolist() == [0, 0, 2]


SINGULAR = np.stack([np.eye(3), np.ones((3, 3))])
#: Functions of two matrices of which the second is neither positive-definite nor invertible.
FAULTS = {
    "cholesky": L.cholesky,
    "inv": L.inv,
    "solve": lambda x: L.solve(x, x),
    "lu_factor": lambda x: L.lu_factor(x)[0],
    "tensorsolve": lambda x: L.tensorsolve(x[1], x[0, 0]),
    "eigvalsh": lambda x: L.eigvalsh(x / (x - 1)),
    "eigvals": lambda x: L.eigvals(x / (x - 1)),
}


def cpu_error(name):
    with pytest.raises(dc.DispatchError) as caught:
        FAULTS[name](t.from_numpy(SINGULAR))
    return caught.value


@pytest.mark.parametrize("name", FAULTS)
def test_errors_of_eager_calls_and_pipelines_are_those_of_the_cpu(name):
    x, right = t.from_numpy(SINGULAR).to("jax"), cpu_error(name)
    with pytest.raises(type(right)) as caught:
        FAULTS[name](x)
    assert caught.value.text == right.text
    with pytest.raises(type(right)) as caught, t.pipeline():
        found = FAULTS[name](x * 1) * 1
    assert caught.value.__cause__.text == right.text
    assert "Recorded at" in str(caught.value) and __file__ in str(caught.value)
    with pytest.raises(type(right)):
        found.tolist()


@pytest.mark.parametrize("name", ["cholesky", "inv", "solve", "lu_factor", "eigvalsh"])
def test_errors_of_replays_come_with_a_read(name):
    step, right = t.capture(lambda x: FAULTS[name](x * 1) * 1), cpu_error(name)
    good = t.tensor(np.stack([np.eye(3) * 2] * 2) + 0.25, device="jax")
    for _ in range(3):
        step(good)
    found = step(t.from_numpy(SINGULAR).to("jax"))
    with pytest.raises(type(right)) as caught:
        found.tolist()
    assert caught.value.__cause__.text == right.text and "in a captured replay" in str(caught.value)
    assert step(good).isfinite().all()


def test_solutions_transforms_and_scatters_are_one_program_without_a_read(planned, reads):
    def compute(a, b, i):
        x = L.solve(a, L.cholesky(a) @ b)
        spectrum = t.fft.rfft(x, dim=0).abs()
        return (x.scatter_reduce(0, i, b, "amin").sum() + spectrum.max() + L.eigvalsh(a)[0] + L.svdvals(x)[0]) * 1

    a, b = t.from_numpy(make("solve")).to("jax"), t.ones(3, 2, dtype=t.float64, device="jax")
    i = t.tensor([[0, 2], [1, 1]], device="jax")
    expected = compute(a.cpu(), b.cpu(), i.cpu())
    with t.pipeline():
        found = compute(a, b, i)
    agree(found, expected)
    step = t.capture(compute)
    for _ in range(3):
        found = step(a, b, i)
    for program, steps in planned:
        assert [len(step.nodes) for step in steps] == [len(program.nodes)]
    assert len(planned) >= 2
    del planned[:], reads[:]
    for _ in range(3):
        found = step(a, b, i)
    assert reads == planned == []
    agree(found, expected)


@pytest.mark.parametrize("name", CASES)
def test_every_function_is_one_program(name, planned):
    x = t.from_numpy(make(name)).to("jax")
    with t.pipeline():
        found = CASES[name](x * 1)
        found = [each * 1 for each in ((found,) if isinstance(found, t.Tensor) else found)]
    ((program, steps),) = planned
    assert [len(step.nodes) for step in steps] == [len(program.nodes)]
    expected = CASES[name](x.cpu())
    agree(found, [each * 1 for each in ((expected,) if isinstance(expected, t.Tensor) else expected)])


@pytest.fixture
def planned(monkeypatch):
    """Yield the programs for jax that are planned, each with its steps."""
    from dispatch_core.discovery import loader

    t.empty(0, device="jax")
    found, plan = [], loader().plan

    def keep(name, program):
        steps = plan(name, program)
        if name == "jax":
            steps = list(steps)
            found.append((program, steps))
        return steps

    monkeypatch.setattr(loader(), "plan", keep)
    return found


@pytest.fixture
def reads(monkeypatch):
    """Yield a list that gets an entry for each array of jax that the host reads."""
    from dispatch_backend_array_api.devices.jax import backend

    found, get = [], backend.library.get

    def count(array):
        found.append(array)
        return get(array)

    monkeypatch.setattr(backend.library, "get", count)
    return found


def test_a_nan_is_not_positive():
    x = t.eye(4, device="jax").index_put((t.tensor([2], device="jax"), t.tensor([0], device="jax")), t.tensor(np.nan))
    assert L.cholesky_ex(x).info.item() == 3
    with pytest.raises(L.LinAlgError, match="minor of order 3"):
        L.cholesky(x)


def test_singular_values_of_a_nan_are_refused():
    for call in (L.svdvals, L.svd):
        with pytest.raises(L.LinAlgError, match=r"linalg.svd: .*converge"):
            call(t.full((2, 3), np.nan, device="jax"))
    assert L.svdvals(t.full((2, 3), np.inf, device="jax")).isnan().all()


def test_exponentials_of_large_matrices_are_computed():
    x = t.tensor([[-(2.0**20), 0.0], [0.0, 0.0]], dtype=t.float64, device="jax")
    np.testing.assert_allclose(t.matrix_exp(x).tolist(), [[0, 0], [0, 1]], rtol=1e-9)
