"""Kernels where SciPy is not installed: their values are SciPy's, in and out of pipelines, and refusals name the library."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dispatch_core as dc
import torchlike as t
from dispatch_aten.errors import UnsupportedError
from dispatch_backend_cpu import libraries
from dispatch_backend_cpu.kernels import KERNELS
from dispatch_backend_cpu.ops.linear_algebra import factors
from dispatch_backend_cpu.ops.pointwise import erf, special
from dispatch_backend_cpu.ops.support.compiled_kernels import LOOPS

pytestmark = pytest.mark.no_pipeline(reason="the test's calls would run when SciPy is there again")
scipy_special = pytest.importorskip("scipy.special", reason="its values are compared with")

CACHES = (libraries.find_scipy, libraries.scipy, erf.load_erf, special.load, factors.lapack)


def forget():
    for each in CACHES:
        each.cache_clear()


@pytest.fixture
def without_scipy(monkeypatch):
    """SciPy cannot be imported in the test."""
    for name in ("special", "linalg", "linalg.lapack", "linalg.blas"):
        monkeypatch.setitem(sys.modules, f"scipy.{name}", None)
    forget()
    # Compiled formulas keep the functions that they were traced with.
    was = None if LOOPS is None else LOOPS.serve(False)
    yield
    if LOOPS is not None:
        LOOPS.serve(was)
    monkeypatch.undo()
    forget()


def draw(seed, size, dtype):
    """Return numbers around 1, of every size down to 1e-30, and the special ones."""
    random = np.random.default_rng(seed)
    wide = np.exp(random.uniform(-69, 3, size)) * random.choice([-1, 1], size)
    near = random.standard_normal(size) * 2
    few = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 6.0, 1e-45, 1e30]
    return np.concatenate([near, wide, few]).astype(dtype)[-max(size, 1) :]


def units(found, expected):
    """Return the greatest distance in units in the last place; what is equal, or nan in both, has none."""
    found, expected = np.atleast_1d(found).ravel(), np.atleast_1d(expected).ravel()
    assert (np.isnan(found) == np.isnan(expected)).all()
    differs = (found != expected) & ~np.isnan(expected)
    distance = np.abs(found[differs] - expected[differs])
    return (distance / np.spacing(np.abs(expected[differs]))).max(initial=0)


SIZES = (1, 7, 256, 257, 2048, 2049, 16384, 16385, 40_000)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_error_function_is_as_exact_as_scipy_s(dtype, without_scipy):
    for seed, size in enumerate(SIZES):
        x = draw(seed, size, dtype)
        exact = np.array([math.erf(v) for v in x.tolist()]).astype(dtype)
        found = KERNELS["erf"](x)
        # Many in float32 are computed alike with SciPy and without.
        assert units(found, exact) <= (5 if dtype == "float32" and size > 2048 else 2), size
        assert np.signbit(found[~np.isnan(x)]).tolist() == np.signbit(x[~np.isnan(x)]).tolist()
        assert found.dtype == dtype
        turned = np.asfortranarray(np.broadcast_to(x[:, None], (size, 2)))
        assert units(KERNELS["erf"](turned)[:, 0], exact) <= 5


def compare_bits(dtype, size):
    """Compare functions that SciPy may compute, in a pipeline and captured, with eager calls."""
    x = t.from_numpy(draw(3, size, dtype))

    def compute(x):
        return x.erf() * 2, t.nn.functional.gelu(x), x.erfc() + 1

    eager = [each.numpy().tobytes() for each in compute(x)]
    with dc.pipeline():
        planned = compute(x)
    assert [each.numpy().tobytes() for each in planned] == eager
    captured = t.capture(compute)
    for _ in range(4):
        assert [each.numpy().tobytes() for each in captured(x)] == eager


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pipelines_and_captures_have_the_bits_of_eager_calls(dtype, size):
    compare_bits(dtype, size)


#: A process that never has SciPy: kernels and plans keep the functions that they find first.
WITHOUT = """
import sys
for name in ("scipy", "scipy.special", "scipy.linalg"):
    sys.modules[name] = None
sys.path.insert(0, {folder!r})
import pytest
pytest.importorskip = lambda *args, **options: None
from test_without_scipy import SIZES, compare_bits, libraries
assert not libraries.find_scipy("special")
for dtype in ("float32", "float64"):
    for size in SIZES:
        compare_bits(dtype, size)
print("equal")
"""


def test_they_have_them_in_a_process_without_scipy():
    text = WITHOUT.format(folder=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == ["equal"], done.stderr


@pytest.mark.parametrize("name", sorted({*special.WITHOUT_SCIPY} - {"erfc"}))
def test_a_special_function_has_scipy_s_values(name):
    count = 2 if name.startswith("xlog") else 1
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-6)):
        for seed in range(5):
            given = [draw(seed + place, 1000, dtype) for place in range(count)]
            if name == "erfinv":
                given = [np.tanh(given[0])]
            if name == "gammaln":  # where SciPy gives another infinity than C the kernel does as C
                given = [each[each != -math.inf] for each in given]
            with np.errstate(all="ignore"):
                found, expected = (f(*given) for f in (special.WITHOUT_SCIPY[name], getattr(scipy_special, name)))
            assert found.dtype == dtype
            # Near to a zero the logarithm of gamma and its derivative are as exact as one is.
            np.testing.assert_allclose(found, expected, tolerance, 1e-14 if dtype == "float64" else 1e-30)
            whole, single = special.WITHOUT_SCIPY[name](*(each[:1].reshape(()) for each in given)), expected[0]
            np.testing.assert_allclose(whole, single, tolerance)


def matrices(random, shape, dtype):
    found = random.standard_normal(shape)
    return (found + 1j * random.standard_normal(shape) if dtype.startswith("c") else found).astype(dtype)


SHAPES = ((0, 0), (1, 1), (3, 3), (2, 0, 0), (40, 4, 4), (2, 31, 31), (33, 33), (5, 9), (70, 40), (40, 70))


def answers(A, B):
    """Return what is computed of matrices and right-hand sides, by name."""
    factor, pivots = t.linalg.lu_factor(A)
    found = {"lu": factor, "pivots": pivots}
    if A.shape[-1] == A.shape[-2]:
        definite = A @ A.mH + 3 * t.eye(A.shape[-1], dtype=A.dtype)
        lower = t.linalg.cholesky(definite)
        found |= {
            "solve": t.linalg.solve(A, B),
            "solve from the right": t.linalg.solve(A, B.mT, left=False),
            "a vector": t.linalg.solve(A, B[..., 0]),
            "det": t.linalg.det(A),
            "slogdet": t.linalg.slogdet(A)[1],
            "lu_solve": t.linalg.lu_solve(factor, pivots, B),
            "adjoint": t.linalg.lu_solve(factor, pivots, B, adjoint=True),
            "cholesky_solve": t.cholesky_solve(B, lower),
            "cholesky_inverse": t.cholesky_inverse(lower),
        }
        for upper in (True, False):
            one = lower.mH if upper else lower
            for unit in (True, False):
                if unit:  # its condition would grow with the size
                    one = one / lower.abs().amax((-2, -1), keepdim=True) / 9 if A.numel() else one
                name = f"triangular {upper} {unit}"
                found[name] = t.linalg.solve_triangular(one, B, upper=upper, unitriangular=unit)
                found[f"{name} right"] = t.linalg.solve_triangular(
                    one, B.mT, upper=upper, left=False, unitriangular=unit
                )
    return {name: each.numpy() for name, each in found.items()}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_factors_and_solutions_are_lapack_s(dtype, request):
    random = np.random.default_rng(11)
    given = [(matrices(random, each, dtype), matrices(random, (*each[:-1], 3), dtype)) for each in SHAPES]
    given = [tuple(map(t.from_numpy, each)) for each in given]
    expected = [answers(*each) for each in given]
    request.getfixturevalue("without_scipy")
    tolerance = 2e-2 if dtype in ("float32", "complex64") else 1e-9
    for (A, B), wanted in zip(given, expected, strict=True):
        found = answers(A, B)
        if dtype in ("float32", "complex64"):  # of two that are nearly equal, either may be the pivot
            del wanted["lu"], wanted["pivots"]
        for name, each in wanted.items():
            scale = np.abs(each).max(initial=0)
            np.testing.assert_allclose(found[name], each, tolerance, tolerance * scale, err_msg=f"{name} {A.shape}")


def codes_of(A):
    """Return the codes of matrices that have no factors, or whose factors have zeros."""
    found = [t.linalg.lu_factor_ex(A)[2], t.linalg.inv_ex(A)[1], t.linalg.solve_ex(A, A)[1]]
    return [each.tolist() for each in (*found, t.linalg.cholesky_ex(A)[1], t.linalg.cholesky_ex(A, upper=True)[1])]


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_singular_matrices_have_lapack_s_codes(dtype, request):
    random = np.random.default_rng(5)
    given = []
    for count in (1, 2, 5, 40):
        for column in {0, count // 2, count - 1}:
            A = matrices(random, (2, count, count), dtype)
            A = A @ A.conj().swapaxes(-1, -2) + np.eye(count)
            A[0, column] = A[0, :, column] = 0
            given.append(t.from_numpy(A.astype(dtype)))
    expected = [codes_of(each) for each in given]
    assert any(each[3][0] for each in expected)
    request.getfixturevalue("without_scipy")
    assert [codes_of(each) for each in given] == expected
    for solve in (t.linalg.inv, t.linalg.cholesky):
        with pytest.raises(t.linalg.LinAlgError, match=r"singular|not positive-definite"):
            solve(t.zeros(3, 3))


def test_a_refusal_names_the_operator_the_library_and_the_extra(without_scipy):
    with pytest.raises(UnsupportedError) as found:
        t.special.zeta(t.ones(2), 2)
    assert str(found.value) == (
        "this needs SciPy, which is not installed (aten::special_zeta)\n"
        'Hint: pip install "dispatch-frontend-torchlike[full]", or scipy alone'
    )
