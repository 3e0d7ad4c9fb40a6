"""Linear algebra and Fourier transforms by their own laws: factors give the matrix back, and transforms the signal."""

import numpy as np
import pytest

import torchlike
from torchlike import fft, linalg


def draw(*shape, dtype=torchlike.float64):
    torchlike.manual_seed(0)
    return torchlike.randn(*shape, dtype=dtype)


def close(found, wanted):
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), atol=1e-9)


def positive(a):
    return a @ a.mH + torchlike.eye(a.shape[-1], dtype=a.dtype)


#: Name → factors of a matrix, and the product that gives it back.
FACTORS = {
    "cholesky": (lambda a: (linalg.cholesky(positive(a)), a), lambda L, a: L @ L.mH - positive(a) + a),
    "eig": (linalg.eig, lambda w, v: (v @ torchlike.diag_embed(w) @ linalg.inv(v)).real),
    "eigh": (lambda a: (*linalg.eigh(positive(a)), a), lambda w, v, a: (v * w.unsqueeze(-2)) @ v.mH - positive(a) + a),
    "lu": (linalg.lu, lambda P, L, U: P @ L @ U),
    "qr": (linalg.qr, lambda Q, R: Q @ R),
    "svd": (lambda a: linalg.svd(a, full_matrices=False), lambda U, S, Vh: (U * S.unsqueeze(-2)) @ Vh),
}
SOLUTIONS = {
    "inv": lambda a: linalg.inv(linalg.inv(a)),
    "ldl": lambda a: (a + a.mT) @ linalg.ldl_solve(*linalg.ldl_factor(a + a.mT), a),
    "lu_solve": lambda a: a @ linalg.lu_solve(*linalg.lu_factor(a), a),
    "lu_solve adjoint": lambda a: a.mH @ linalg.lu_solve(*linalg.lu_factor(a), a, adjoint=True),
    "matrix_power": lambda a: linalg.matrix_power(a, 3) @ linalg.matrix_power(a, -2),
    "ormqr": lambda a: torchlike.ormqr(*torchlike.geqrf(a), linalg.qr(a).R),
    "pinv": lambda a: a @ linalg.pinv(a) @ a,
    "solve": lambda a: a @ linalg.solve(a, a),
    "solve right": lambda a: linalg.solve(a, a, left=False) @ a,
    "solve_triangular": lambda a: a.tril() @ linalg.solve_triangular(a.tril(), a, upper=False),
}


@pytest.mark.parametrize("name", [*FACTORS, *SOLUTIONS])
def test_factors_and_solutions_give_the_matrix_back(name):
    def compute(a):
        if name in SOLUTIONS:
            return SOLUTIONS[name](a)
        factorize, multiply = FACTORS[name]
        return multiply(*factorize(a))

    a = draw(2, 4, 4)
    close(compute(a), a)
    with torchlike.pipeline():
        later = compute(a)
    close(later, a)


def test_empty_matrices_have_empty_factors():
    for shape in ((0, 3, 3), (2, 0, 0)):
        a = torchlike.empty(*shape)
        found = [linalg.inv(a), linalg.solve(a, a), linalg.cholesky(a), *linalg.eigh(a), *linalg.svd(a), *linalg.lu(a)]
        assert all(0 in each.shape for each in found)
    assert linalg.det(torchlike.empty(2, 0, 0)).tolist() == [1.0, 1.0]


@pytest.mark.no_pipeline(reason="the error depends on values")
def test_a_singular_matrix_is_an_error_at_once_or_when_its_pipeline_runs():
    with pytest.raises(linalg.LinAlgError, match="element 2 is zero"):
        linalg.inv(torchlike.ones(2, 2))
    with pytest.raises(linalg.LinAlgError, match="Batch element 1"):
        linalg.cholesky(torchlike.stack([torchlike.eye(2), -torchlike.eye(2)]))
    assert issubclass(linalg.LinAlgError, RuntimeError)
    with pytest.raises(linalg.LinAlgError, match="singular"), torchlike.pipeline():
        found = linalg.solve(torchlike.zeros(2, 2), torchlike.ones(2))
        assert found.shape == (2,)
    assert linalg.inv_ex(torchlike.zeros(2, 2)).info.item() == 1


@pytest.mark.parametrize(
    "function",
    [
        linalg.det,
        lambda a: linalg.slogdet(a)[1],
        linalg.matrix_exp,
        lambda a: linalg.eigvals(a).abs(),
        lambda a: linalg.qr(a).R,
        linalg.svdvals,
        lambda a: linalg.lu_factor(a).LU,
        lambda a: linalg.householder_product(a, a[0]),
        lambda a: fft.irfft(fft.rfft(a, norm="ortho") ** 2, n=3),
        lambda a: torchlike.einsum("ij,jk,kl->il", a, a, a),
    ],
)
def test_derivatives_are_those_by_differences(function):
    a = draw(3, 3).requires_grad_()
    assert torchlike.autograd.gradcheck(function, (a,))
    assert torchlike.autograd.gradgradcheck(function, (a,))


@pytest.mark.parametrize("function", [linalg.det, lambda a: linalg.slogdet(a)[1], torchlike.logdet, linalg.inv])
@pytest.mark.parametrize("size", [2, 3])
def test_gradients_of_as_many_matrices_as_each_has_rows_are_those_of_each(function, size):
    a = positive(draw(size, size, size)).requires_grad_()

    def differentiate(*matrices):
        results = torchlike.stack([function(each) for each in matrices])
        (first,) = torchlike.autograd.grad((results**2).sum(), a, create_graph=True)
        return first, torchlike.autograd.grad((first**2).sum(), a)[0]

    for found, wanted in zip(differentiate(a), differentiate(*a), strict=True):
        np.testing.assert_allclose(found.detach(), wanted.detach(), rtol=1e-6, atol=1e-9)


def test_the_gradient_of_a_singular_determinant_is_its_adjugate():
    a = torchlike.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torchlike.float64, requires_grad=True)
    (gradient,) = torchlike.autograd.grad(linalg.det(a), a)
    close(gradient, torchlike.tensor([[4.0, -2.0], [-2.0, 1.0]], dtype=torchlike.float64))


@pytest.mark.parametrize("dim", [(), (1,)], ids=["all", "dim"])
def test_the_gradient_of_a_product_in_another_dtype_is_computed_in_that(dim):
    a = torchlike.tensor([[1.5 - 1j, 3, 2]], requires_grad=True)
    a.prod(*dim, dtype=torchlike.float32).sum().backward()
    assert a.grad.tolist() == [[6, 3, 4.5]]


def test_transforms_and_their_inverses_give_the_signal_back():
    a = draw(4, 6, 5)
    for norm in (None, "ortho", "forward"):
        close(fft.ifftn(fft.fftn(a, norm=norm), norm=norm).real, a)
        close(fft.irfftn(fft.rfftn(a, norm=norm), s=a.shape, norm=norm), a)
        close(fft.hfft(fft.ihfft(a, norm=norm), n=5, norm=norm), a)
    signal, window = draw(40), torchlike.hann_window(8, dtype=torchlike.float64)
    spectrum = torchlike.stft(signal, 8, window=window, return_complex=True)
    close(torchlike.istft(spectrum, 8, window=window, length=40), signal)


@pytest.mark.parametrize(
    "equation", ["ij,jk->ik", "ij,kj->ki", "bij,bjk", "ij->j", "...i,...i->...", "ij,jk,kl,lm->mi"]
)
def test_einsum_is_numpys(equation):
    shapes = {"b": (2, 3, 3)}.get(equation[0], (3, 3))
    arrays = [np.random.default_rng(place).standard_normal(shapes) for place in range(equation.count(",") + 1)]
    found = torchlike.einsum(equation, *map(torchlike.from_numpy, arrays))
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *arrays), atol=1e-12)
