"""Layers at the ends of what they take: no elements, nan, negative slopes, sizes that are no integers."""

import math

import pytest

import torchlike as t
from torchlike.nn import functional as F

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("mode", "padding", "wanted"),
    [
        ("nearest", "zeros", [0.0, 0.0, 0.0]),
        ("nearest", "border", [1.0, 5.0, 3.0]),
        ("bilinear", "border", [1.0, 5.0, 3.0]),
        ("bilinear", "reflection", [1.0, 3.0, 3.0]),
        ("bilinear", "zeros", [NAN, NAN, NAN]),
        ("bicubic", "border", [NAN, NAN, NAN]),
    ],
)
def test_points_of_a_grid_that_are_no_numbers(mode: str, padding: str, wanted: list[float]):
    grid = t.tensor([[[[0.0, NAN], [INF, 0.0], [-INF, 0.0]]]])
    image = t.arange(9.0).view(1, 1, 3, 3)
    found = F.grid_sample(image, grid, mode=mode, padding_mode=padding, align_corners=False)
    assert found.reshape(-1).tolist() == pytest.approx(wanted, nan_ok=True)


@pytest.mark.parametrize("function", [F.leaky_relu_, F.elu_, F.celu_])
def test_a_negative_slope_in_place_has_no_gradient(function):
    x = t.tensor([-1.0, 1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="call out-of-place version"):
        function(x.clone(), -2).sum().backward()


@pytest.mark.parametrize("shape", [(2, 0), (0, 3)])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy_of_nothing(shape: tuple[int, int], smoothing: float):
    given = t.ones(shape)
    assert F.cross_entropy(given, given, label_smoothing=smoothing).isnan()
    assert F.cross_entropy(given, given, reduction="sum", label_smoothing=smoothing) == 0


def test_attention_over_an_empty_batch():
    layer = t.nn.MultiheadAttention(8, 2, batch_first=True)
    empty = t.ones(0, 3, 8)
    found, weights = layer(empty, empty, empty, need_weights=False)
    assert (found.shape, weights) == ((0, 3, 8), None)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match="expected size to be one of int or"):
        F.interpolate(t.ones(1, 1, 4), size=(t.tensor(4.0),))
    with pytest.raises(RuntimeError, match=r"calculated shape of the array of sliding blocks as \(-4, -3\)"):
        F.fold(t.ones(1, 12, 12), (4, 5), (2, 2), dilation=8)


def test_a_gradient_is_set_by_its_older_name():
    x = t.ones(2, requires_grad=True)
    x._grad = t.zeros(2)
    assert x.grad is x._grad


def test_settings_and_targets_that_do_not_fit_are_refused():
    x = t.rand(2, 3)
    for training, eps, text in [(True, 0.0, "positive during training"), (False, -1.0, "non-negative")]:
        with pytest.raises(ValueError, match=f"batch_norm eps must be {text}, but got"):
            F.batch_norm(x, t.zeros(3), t.ones(3), training=training, eps=eps)
    with pytest.raises(TypeError, match="delta must be a float or int, got: <class 'complex'>"):
        t.nn.HuberLoss(delta=1j)
    with pytest.raises(
        RuntimeError, match="Expected floating point type for target with class probabilities, got Long"
    ):
        F.cross_entropy(x, t.ones(2, 3, dtype=t.int64))


def test_a_memory_format_concerns_what_has_four_or_five_dimensions():
    layers = t.nn.Sequential(t.nn.Conv2d(3, 4, 3), t.nn.BatchNorm2d(4)).to(memory_format=t.channels_last)
    assert layers[0].weight.stride() == (27, 1, 9, 3)
    assert layers[0].bias.stride() == layers[1].running_mean.stride() == (1,)
    assert layers.to("cpu", memory_format=t.contiguous_format)[0].weight.is_contiguous()


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: F.max_pool2d(x, 2), (0, 1, 4, 4)),
        (lambda x: F.adaptive_max_pool2d(x, 2), (0, 1, 4, 4)),
        (lambda x: F.avg_pool2d(x, 2), (0, 1, 4, 4)),
        (lambda x: F.embedding(t.zeros(0, dtype=t.int64), x), (3, 2)),
        (lambda x: F.embedding_bag(t.zeros(0, dtype=t.int64), x, t.zeros(2, dtype=t.int64)), (3, 2)),
    ],
)
def test_a_gradient_through_no_elements_is_zero(function, shape):
    x = t.ones(shape, requires_grad=True)
    function(x).sum().backward()
    assert x.grad.shape == shape
    assert not x.grad.any()


def test_probabilities_lie_between_0_and_1():
    for chance, target, name in [(1.5, 1.0, "input"), (0.5, 2.0, "target")]:
        with pytest.raises(RuntimeError, match=f"all elements of {name} should be between 0 and 1"):
            F.binary_cross_entropy(t.tensor([chance]), t.tensor([target])).item()


def test_one_element_is_written_where_the_mask_says():
    for mask, wanted in [(True, 5.0), (False, 1.0)]:
        assert t.tensor(1.0).masked_scatter(t.tensor(mask), t.tensor([5.0])).item() == wanted


def test_the_gradient_of_log_sum_exp_at_infinity_is_torchs():
    for point, wanted in [([INF, 1.0], [NAN, 0.0]), ([-INF, 1.0], [0.0, 1.0]), ([-INF, -INF], [NAN, NAN])]:
        x = t.tensor(point, requires_grad=True)
        x.logsumexp(0).backward()
        assert x.grad.tolist() == pytest.approx(wanted, nan_ok=True)
