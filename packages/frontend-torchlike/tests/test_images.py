"""Convolution, pooling and resampling by their own algebra, with NumPy beside them where a loop says what is meant."""

import itertools

import numpy as np
import pytest

import torchlike
import torchlike.nn.functional as F  # torch's own abbreviation


def draw(*shape, **options):
    values = np.random.default_rng(sum(shape)).standard_normal(shape)
    return torchlike.tensor(values, **options)


def test_a_convolution_is_a_sum_over_the_window():
    x, w = draw(2, 3, 5, 6), draw(4, 3, 2, 3)
    found = F.conv2d(x, w, stride=(2, 1), padding=(1, 0)).numpy()
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (1, 1), (0, 0)))
    for n, o, i, j in itertools.product(*map(range, found.shape)):
        window = padded[n, :, 2 * i : 2 * i + 2, j : j + 3]
        assert found[n, o, i, j] == pytest.approx((window * w.numpy()[o]).sum())


@pytest.mark.parametrize("options", [{}, {"stride": 2}, {"padding": 1}, {"dilation": 2}, {"groups": 2}])
def test_a_transposed_convolution_is_the_adjoint(options):
    x, w = draw(2, 4, 7, 7), draw(4, 4 // options.get("groups", 1), 3, 3)
    y = F.conv2d(x, w, **options)
    g = draw(*y.shape)
    back = F.conv_transpose2d(g, w, **options)
    back = F.pad(back, (0, 7 - back.shape[3], 0, 7 - back.shape[2]))
    assert (y * g).sum().item() == pytest.approx((x * back).sum().item())


def test_folding_adds_what_unfolding_repeats():
    x = torchlike.ones(1, 2, 5, 5)
    counts = F.fold(F.unfold(x, 3), (5, 5), 3)
    assert counts[0, 0].tolist()[2] == [3.0, 6.0, 9.0, 6.0, 3.0]


def test_unpooling_puts_the_largest_elements_back():
    x = draw(1, 2, 4, 4)
    values, places = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(values, places, 2)
    kept = back != 0
    assert int(kept.sum()) == 8
    assert torchlike.equal(back[kept], x[kept])


def test_pooling_takes_nan_for_the_largest():
    x = torchlike.tensor([[[1.0, float("nan"), 3.0, 4.0]]])
    values, places = F.max_pool1d(x, 2, return_indices=True)
    assert values.isnan().tolist() == [[[True, False]]]
    assert places.tolist() == [[[1, 3]]]


def test_an_average_leaves_the_padding_out_where_it_is_asked_to():
    x = torchlike.ones(1, 1, 3)
    assert F.avg_pool1d(x, 3, 1, 1).tolist()[0][0][0] == pytest.approx(2 / 3)
    assert F.avg_pool1d(x, 3, 1, 1, count_include_pad=False).tolist() == [[[1.0, 1.0, 1.0]]]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("smooth", [False, True])
def test_interpolation_leaves_an_even_image_even(mode, smooth):
    x = torchlike.full((1, 1, 5, 7), 2.5)
    assert np.allclose(F.interpolate(x, size=(3, 11), mode=mode, antialias=smooth).numpy(), 2.5)


def test_the_grid_of_no_change_gives_the_image():
    x = draw(2, 3, 5, 4)
    theta = torchlike.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]] * 2, dtype=torchlike.float64)
    for corners in (True, False):
        grid = F.affine_grid(theta, [2, 3, 5, 4], align_corners=corners)
        assert np.allclose(F.grid_sample(x, grid, align_corners=corners).numpy(), x.numpy())


def test_shuffled_pixels_come_back():
    x = draw(2, 3, 4, 6)
    assert torchlike.equal(F.pixel_shuffle(F.pixel_unshuffle(x, 2), 2), x)
    assert torchlike.equal(F.channel_shuffle(F.channel_shuffle(x, 3), 1), x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.conv2d(x, torchlike.ones(2, 2, 2, 2, dtype=torchlike.float64), padding=1) ** 2,
        lambda x: F.avg_pool2d(x, 2, 1) ** 2,
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)) ** 2,
        lambda x: F.pad(x, (1, 2, 2, 1), "reflect") ** 2,
        lambda x: F.interpolate(x, size=(3, 7), mode="bicubic") ** 2,
    ],
)
def test_a_gradient_is_the_slope(function):
    x = draw(1, 2, 4, 5, requires_grad=True)
    total = function(x).sum()
    (slope,) = torchlike.autograd.grad(total, x, create_graph=True)
    step = draw(1, 2, 5, 4).reshape(1, 2, 4, 5)
    ahead, behind = (function(x.detach() + sign * 1e-5 * step).sum().item() for sign in (1, -1))
    assert (slope * step).sum().item() == pytest.approx((ahead - behind) / 2e-5, rel=1e-4)
    (second,) = torchlike.autograd.grad((slope * step).sum(), x)
    # The functions are squares of linear ones here: the second derivative along a step is twice the square of its image.
    assert (second * step).sum().item() == pytest.approx(2 * function(step).sum().item(), rel=1e-6) or "max" in str(
        function
    )
