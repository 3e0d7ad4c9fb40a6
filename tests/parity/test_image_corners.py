"""Pooling, padding, sampling and margins where windows, points and differences lie on an end, compared with torch."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")

NAN = float("nan")


def compare(function: Any, *arrays: Any, gradient: bool = True) -> None:
    """Compare results and the gradient of the first array, or that both refuse the call."""
    found = []
    for library in (torch, torchlike):
        inputs = [library.from_numpy(np.array(each)) for each in arrays]
        inputs[0].requires_grad_(gradient)
        try:
            made = function(library.nn.functional, *inputs)
        except RuntimeError:
            found.append(None)
            continue
        made = made if isinstance(made, tuple) else (made,)
        if gradient and made[0].numel():
            made[0].sum().backward()
            made = (*made, inputs[0].grad)
        found.append([each.detach().numpy() for each in made])
    wanted, ours = found
    assert (wanted is None) == (ours is None)
    for one, other in zip(wanted or (), ours or (), strict=True):
        np.testing.assert_allclose(other, one, 1e-12, 1e-15)


def numbers(*shape: int) -> Any:
    return np.arange(float(np.prod(shape))).reshape(shape)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("options", [(2, 2, 1, 2, False), (2, 1, 1, 2, True), (2, 3, 1, 5, False), (2, 3, 1, 6, True)])
def test_windows_that_hold_nothing_but_padding(count, options):
    for size, places in product((1, 2, 4), (False, True)):
        # Torch's own gradient writes outside its memory here.
        compare(
            lambda F, x, places=places: getattr(F, f"max_pool{count}d")(x, *options, places),
            numbers(1, 2, *[size] * count),
            gradient=False,
        )
    x = torchlike.ones(1, 2, *[1] * count, requires_grad=True)
    getattr(torchlike.nn.functional, f"max_pool{count}d")(x, 2, 2, 1, 2).sum().backward()
    assert x.grad is not None and not x.grad.any()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_last_of_several_nan_is_named(count):
    x = numbers(2, *(5, 7, 3)[:count])
    for marked in (np.full_like(x, NAN), np.where(x % 3 == 1, NAN, x), np.where((x > 3) & (x < 7), NAN, x)):
        for size in (1, 2, 3):
            compare(lambda F, x, size=size: getattr(F, f"adaptive_max_pool{count}d")(x, size, True), marked)


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(("padding", "align"), [*product(("zeros", "border", "reflection"), (True, False))])
def test_points_on_the_ends_of_a_grid(count, padding, align):
    lines = np.array([-2, -1, -0.5, 0, 1, 1.5, 3])
    points = np.stack(np.meshgrid(*[lines] * count), -1)[None]
    for mode, size in product(("bilinear", "nearest"), (1, 3)):
        compare(
            lambda F, grid, image, mode=mode: F.grid_sample(image, grid, mode, padding, align),
            points,
            numbers(1, 1, *[size] * count),
        )


def test_ties_of_margins():
    x = np.array([[0.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.0, -1.0, 3.0]])
    for p in (1, 2):
        compare(lambda F, x, target, p=p: F.multi_margin_loss(x, target, p, reduction="sum"), x, [1, 0, 2])
    labels = [[1, -1, 0], [0, 1, 2], [2, 1, -1]]
    compare(lambda F, x, target: F.multilabel_margin_loss(x, target, reduction="sum"), x, labels)


def test_images_smaller_than_the_window_of_an_average():
    for shape, pad in product(product((1, 3, 4), repeat=3), (0, 1)):
        compare(lambda F, x, pad=pad: F.avg_pool3d(x, 3, None, pad), np.ones((1, 1, *shape)), gradient=False)


@pytest.mark.parametrize(("mode", "count"), [*product(("reflect", "replicate"), (1, 2, 3))])
def test_padding_that_takes_elements_away(mode, count):
    chosen = random.Random(0)
    for _ in range(40):
        shape = (1, 2, *(chosen.choice((1, 2, 5)) for _ in range(count)))
        # More than a whole dimension is not taken away: torch then reads outside its memory.
        pad = [chosen.choice((-min(size, 2), -1, -size, 0, 0, 1)) for size in shape[:1:-1] for _ in range(2)]
        compare(lambda F, x, pad=pad: F.pad(x, pad, mode=mode), numbers(*shape))
