"""Fourier transforms beside torch's: values, layouts, gradients and refusals."""

import itertools

import numpy as np
import pytest
from comparison import attempt

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn")
TWO = ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2")


def draw(shape, dtype="float64"):
    if dtype.startswith("int"):
        return torch.randint(-5, 6, shape, dtype=getattr(torch, dtype))
    return torch.randn(shape, dtype=getattr(torch, dtype))


def copy(value):
    if not isinstance(value, torch.Tensor):
        return value
    found = torchlike.from_numpy(value.detach().resolve_conj().contiguous().numpy().copy())
    strided = torchlike.empty_strided(tuple(value.shape), value.stride(), dtype=found.dtype)
    return strided.copy_(found).requires_grad_(value.requires_grad)


def agree(wanted, found, *, strides=True):
    assert (tuple(wanted.shape), str(wanted.dtype)) == (tuple(found.shape), f"torch.{found.dtype.short}")
    if strides and wanted.numel():
        pairs = zip(wanted.stride(), found.stride(), wanted.shape, strict=True)
        assert all(one == other for one, other, size in pairs if size > 1)
    limit = 1e-4 if str(wanted.dtype) in ("torch.float32", "torch.complex64") else 1e-10
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().resolve_conj().numpy(), rtol=limit, atol=limit)


def compare(name, a, **options):
    b = copy(a)
    wanted, error = attempt(getattr(torch.fft, name), a, **options)
    found, refusal = attempt(getattr(torchlike.fft, name), b, **options)
    assert (error is None) == (refusal is None), (error, refusal)
    if error is not None:
        assert isinstance(refusal, RuntimeError | IndexError | ValueError)
        return
    agree(wanted, found)
    if a.requires_grad:
        weight = draw(wanted.shape, str(wanted.dtype).removeprefix("torch."))
        (g,) = torch.autograd.grad(wanted, a, weight)
        (h,) = torchlike.autograd.grad(found, b, copy(weight))
        agree(g, h, strides=False)


@pytest.mark.parametrize("name", ONE)
def test_one_dimension_agrees(name):
    torch.manual_seed(0)
    for dtype, n, norm in itertools.product(
        ("float32", "float64", "complex128", "int64"), (None, 4, 7, 0), (None, "ortho", "forward")
    ):
        a = draw((3, 6), dtype).requires_grad_(dtype in ("float64", "complex128"))
        for dim in (-1, 0):
            compare(name, a, n=n, dim=dim, norm=norm)


@pytest.mark.parametrize("name", MANY)
def test_many_dimensions_agree(name):
    torch.manual_seed(0)
    options = (
        {},
        {"dim": (0, 2)},
        {"dim": (2, 1), "norm": "ortho"},
        {"s": (5, 3)},
        {"s": (2, -1), "dim": (1, 0)},
        {"dim": (0, 0)},
        {"s": (2,), "dim": (0, 1)},
        {"norm": "other"},
        {"dim": ()},
    )
    for dtype, each, turn in itertools.product(("float64", "complex128"), options, (False, True)):
        a = draw((2, 5, 4), dtype)
        compare(name, (a.permute(2, 0, 1) if turn else a).requires_grad_(), **each)


@pytest.mark.parametrize("name", TWO)
def test_two_dimensions_agree(name):
    torch.manual_seed(0)
    for dtype, s in itertools.product(("float64", "complex64"), (None, (3, 4))):
        compare(name, draw((3, 4, 5), dtype), s=s)
    compare(name, draw((4,)))


def test_shifts_and_frequencies_agree():
    for n, d in itertools.product((1, 4, 5), (1.0, 0.1)):
        for name in ("fftfreq", "rfftfreq"):
            agree(getattr(torch.fft, name)(n, d), getattr(torchlike.fft, name)(n, d))
            agree(
                getattr(torch.fft, name)(n, d=d, dtype=torch.float64),
                getattr(torchlike.fft, name)(n, d=d, dtype=torchlike.float64),
            )
    for name, dim in itertools.product(("fftshift", "ifftshift"), (None, 0, (0, 1))):
        compare(name, draw((4, 5)), dim=dim)


WINDOWS = {
    "plain": {},
    "short": {"win_length": 6, "hop_length": 3},
    "not centered": {"center": False},
    "two-sided": {"onesided": False, "normalized": True},
    "constant": {"pad_mode": "constant"},
}


@pytest.mark.parametrize("case", WINDOWS)
def test_short_time_transforms_and_their_inverse_agree(case):
    torch.manual_seed(0)
    options = WINDOWS[case]
    for shape in ((40,), (2, 40)):
        a = draw(shape).requires_grad_()
        window = torch.hann_window(options.get("win_length", 8), dtype=torch.float64)
        b = copy(a)
        wanted = torch.stft(a, 8, window=window, return_complex=True, **options)
        found = torchlike.stft(b, 8, window=copy(window), return_complex=True, **options)
        agree(wanted, found)
        real = torchlike.stft(b, 8, window=copy(window), return_complex=False, **options)
        agree(torch.view_as_real(wanted), real)
        weight = draw(wanted.shape, "complex128")
        agree(
            torch.autograd.grad(wanted, a, weight)[0], torchlike.autograd.grad(found, b, copy(weight))[0], strides=False
        )
        back = {key: value for key, value in options.items() if key != "pad_mode"}
        if options.get("center", True):
            inverse = torch.istft(wanted.detach(), 8, window=window, length=40, **back)
            agree(inverse, torchlike.istft(found.detach(), 8, window=copy(window), length=40, **back), strides=False)


@pytest.mark.parametrize(
    "options",
    [
        {"n_fft": 50},
        {"n_fft": 8, "hop_length": 0},
        {"n_fft": 8, "win_length": 9},
        {"n_fft": 8, "window": torch.ones(3)},
    ],
)
def test_short_time_transforms_refuse_as_torch(options):
    mine = {key: copy(value) for key, value in options.items()}
    assert attempt(torch.stft, draw((20,)), center=False, return_complex=True, **options)[1] is not None
    assert isinstance(
        attempt(torchlike.stft, copy(draw((20,))), center=False, return_complex=True, **mine)[1], RuntimeError
    )
