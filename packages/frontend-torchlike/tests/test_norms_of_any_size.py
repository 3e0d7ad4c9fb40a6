"""Norms, distances and deviations of numbers of every magnitude, and their gradients, against wider arithmetic."""

import math
import os
import random

import numpy as np
import pytest

import torchlike
import torchlike.nn.functional as F
from torchlike import linalg

#: dtype → NumPy's, the greatest and the least exponent of drawn numbers, and the relative error.
DTYPES = {
    torchlike.float64: (np.float64, 1000, -1070, 1e-12),
    torchlike.float32: (np.float32, 120, -140, 1e-5),
    torchlike.bfloat16: (np.float32, 110, -125, 3e-2),
    torchlike.float16: (np.float32, 10, -20, 4e-3),
}
ORDERS = [2, 1, 3, 0.5, 1.5, 2.5, -1, -2, 7, math.inf, -math.inf]
COUNT = int(os.environ.get("DISPATCH_NORMS") or 120)


def draw_numbers(draw, dtype, shape):
    """Return numbers of about one magnitude, as a tensor and in wide arithmetic, with the power of two between them."""
    _, high, low, _ = DTYPES[dtype]
    exponent = draw.randint(low, high)
    values = np.random.RandomState(draw.randrange(2**32)).uniform(0.25, 1.0, shape)
    values *= np.where(np.random.RandomState(draw.randrange(2**32)).random(shape) < 0.5, -1, 1)
    tensor = torchlike.tensor(np.ldexp(values, exponent)).to(dtype).requires_grad_()
    # What the tensor holds, rounded and perhaps subnormal, brought back to about 1.
    return tensor, np.ldexp(tensor.detach().to(torchlike.float64).numpy(), -exponent), exponent


def wide_norm(x, order, axes):
    """Return the norm and its gradient of numbers of about 1 in float64."""
    size = np.abs(x)
    if math.isinf(order):
        norm = (size.max if order > 0 else size.min)(axes, keepdims=True)
        chosen = size == norm
        return norm, np.sign(x) * chosen / chosen.sum(axes, keepdims=True)
    norm = (size**order).sum(axes, keepdims=True) ** (1 / order)
    return norm, np.sign(x) * (size / norm) ** (order - 1)


#: dtype → the exponent of its least subnormal number.
LEAST = {torchlike.float64: -1074, torchlike.float32: -149, torchlike.bfloat16: -133, torchlike.float16: -24}


def check(found, wanted, exponent, dtype, label):
    scaled = np.ldexp(found.detach().to(torchlike.float64).numpy(), -exponent)
    np.testing.assert_allclose(
        scaled, wanted, rtol=DTYPES[dtype][3], atol=2.0 ** (LEAST[dtype] - exponent), err_msg=label
    )


@pytest.mark.parametrize("seed", range(4))
def test_drawn_norms_and_their_gradients_are_right(seed):
    for number in range(COUNT // 4):
        draw = random.Random(f"{seed} {number}")
        dtype, order = draw.choice(list(DTYPES)), draw.choice(ORDERS)
        shape = [draw.randint(1, 4) for _ in range(draw.randint(1, 3))]
        dim = draw.choice([None, draw.randrange(len(shape)), tuple(range(len(shape)))])
        axes = tuple(range(len(shape))) if dim is None else (dim,) if isinstance(dim, int) else dim
        x, wide, exponent = draw_numbers(draw, dtype, shape)
        norm, slope = wide_norm(wide, order, axes)
        if not -1e4 < math.log2(norm.max()) + exponent < math.log2(float(torchlike.finfo(dtype).max)) - 1:
            continue
        label = f"seed {seed}, number {number}: norm {order} of {tuple(shape)} {dtype} about 2**{exponent}, dim {dim}"
        found = linalg.vector_norm(x, order, dim, keepdim=True)
        check(found, norm, exponent, dtype, label)
        found.sum().backward()
        error = DTYPES[dtype][3] * 4 * max(1.0, abs(order) if math.isfinite(order) else 1.0)
        given = x.grad.to(torchlike.float64).numpy()
        # A subnormal norm, of which the gradient is made, has few digits.
        lost = 1e-6 + 8 * 2.0 ** (LEAST[dtype] - exponent)
        np.testing.assert_allclose(given, slope, rtol=error, atol=lost, err_msg=f"gradient, {label}")


@pytest.mark.parametrize("order", [0.25, 0.5, 1.5, 1.75, 3, -0.5, -1, -2])
@pytest.mark.parametrize(("dtype", "high"), [(torchlike.float64, 200), (torchlike.float32, 30)])
def test_gradients_of_norms_of_numbers_far_apart_are_those_of_wider_arithmetic(order, dtype, high):
    generator = random.Random(f"{order} {high}")
    for number in range(8):
        exponents = [-high, high] if number == 0 else [generator.uniform(-high, high) for _ in range(3)]
        x = torchlike.tensor([10.0**each for each in exponents], dtype=dtype, requires_grad=True)
        # In logarithms nothing is too large or too small.
        logs = [math.log(each) for each in x.tolist()]
        most = max(order * each for each in logs)
        norm = (most + math.log(math.fsum(math.exp(order * each - most) for each in logs))) / order
        slopes = [(order - 1) * (each - norm) for each in logs]
        if max(slopes) > math.log(torchlike.finfo(dtype).max) - 1:
            continue
        linalg.vector_norm(x, order).backward()
        close = {"rtol": 1e-9 if dtype == torchlike.float64 else 1e-3, "atol": float(torchlike.finfo(dtype).tiny)}
        wanted = [math.exp(each) if each > -740 else 0.0 for each in slopes]
        np.testing.assert_allclose(x.grad.numpy(), wanted, err_msg=f"{order} {x.tolist()}", **close)


MAGNITUDES = [
    (torchlike.float32, 1e20),
    (torchlike.float32, 1e-30),
    (torchlike.float64, 1e200),
    (torchlike.float64, 1e-200),
]


@pytest.mark.parametrize(("dtype", "size"), MAGNITUDES)
@pytest.mark.parametrize("dim", [None, 1])
def test_functions_made_of_norms_scale_with_their_arguments(dtype, size, dim):
    plain = np.random.RandomState(0).uniform(0.5, 1, (3, 4))
    other = np.random.RandomState(1).uniform(1.5, 2, (3, 4))
    calls = [
        (lambda a, b: torchlike.norm(a, dim=dim), 1),
        (lambda a, b: torchlike.std(a, dim), 1),
        (lambda a, b: linalg.matrix_norm(a, "fro"), 1),
        (lambda a, b: linalg.matrix_norm(a, "nuc"), 1),
        (lambda a, b: F.pairwise_distance(a, b, eps=0.0), 1),
        (lambda a, b: F.cosine_similarity(a, b, eps=0.0), 0),
        (lambda a, b: F.normalize(a, eps=0.0), 0),
        (torchlike.cdist, 1),
        (lambda a, b: F.pdist(a), 1),
    ]
    for number, (call, power) in enumerate(calls):
        results = []
        for factor in (1.0, size):
            a, b = ((torchlike.tensor(each * factor).to(dtype)).requires_grad_() for each in (plain, other))
            found = call(a, b)
            found.sum().backward()
            results.append((found.detach() / factor**power, a.grad * factor ** (1 - power)))
        for expected, found in zip(*results, strict=True):
            close = {"rtol": 2e-4, "atol": 1e-5, "err_msg": f"call {number}"}
            np.testing.assert_allclose(found.numpy(), expected.numpy(), **close)


@pytest.mark.parametrize("size", [1e20, 1e-25])
def test_distances_by_one_product_are_right_for_any_size(size):
    generator = np.random.RandomState(0)
    a, b = (torchlike.tensor(generator.rand(30, 3).astype(np.float32)) for _ in range(2))
    x = (a * size).requires_grad_()
    found = torchlike.cdist(x, b * size)
    np.testing.assert_allclose(found.detach().numpy() / size, torchlike.cdist(a, b).numpy(), rtol=1e-4, atol=1e-5)
    found.sum().backward()
    assert x.grad.abs().max() < 31


def test_numbers_of_many_sizes_stand_in_one_tensor():
    x = torchlike.tensor([[3e30, 4e30], [3e-30, 4e-30], [3.0, 4.0], [0.0, 0.0], [math.inf, 1.0]], requires_grad=True)
    found = linalg.vector_norm(x, dim=1)
    assert found.tolist() == pytest.approx([5e30, 5e-30, 5.0, 0.0, math.inf], rel=1e-6)
    assert math.isnan(linalg.norm(torchlike.tensor([1e30, math.nan])).item())
    found[:4].sum().backward()
    np.testing.assert_allclose(x.grad[:4].numpy(), [[0.6, 0.8]] * 3 + [[0, 0]], rtol=1e-6)


def test_the_norm_of_complex_numbers_of_any_size():
    x = torchlike.tensor([3e30 + 4e30j, 0], requires_grad=True)
    norm = linalg.norm(x)
    norm.backward()
    assert norm.item() == pytest.approx(5e30, rel=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), [0.6 + 0.8j, 0], rtol=1e-6)
