"""What an ``output_mask`` leaves out is None where it is in torch: all masks, with and without weights, in every dtype."""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the results are torch's")

from comparison import dtype_name  # noqa: E402  # after the skip

import dispatch_core as dc  # noqa: E402
import torchlike  # noqa: E402

MASKS = list(product((True, False), repeat=3))
TOLERANCES = {"float32": 2e-5, "float64": 1e-11, "bfloat16": 5e-2, "float16": 5e-3}
SHAPES = [(2, 4, 3), (3, 4, 2, 2), (1, 4, 1)]


def draw(*shapes):
    random = np.random.default_rng(7)
    return [random.standard_normal(shape) for shape in shapes]


def layer_norm(make, shape, has_weight, has_bias):
    x, grad, weight, bias, mean, rstd = map(
        make, draw(shape, shape, shape[2:], shape[2:], (*shape[:2], 1), (*shape[:2], 1))
    )
    mean, rstd = (each.reshape(*each.shape, *[1] * (len(shape) - 3)) for each in (mean, rstd.abs()))
    given = weight if has_weight else None, bias if has_bias else None
    return (grad, x, list(shape[2:]), mean, rstd, *given), (True, has_weight, has_bias)


def group_norm(make, shape, has_weight, has_bias):
    x, grad, weight, mean, rstd = map(make, draw(shape, shape, shape[1:2], (shape[0], 2), (shape[0], 2)))
    batch, channels, *rest = shape
    options = batch, channels, int(np.prod(rest)), 2
    return (grad, x, mean, rstd.abs(), weight if has_weight else None, *options), (True, has_weight, has_weight)


def batch_norm(make, shape, has_weight, training):
    channels = shape[1:2]
    x, grad, weight, mean, variance, saved, rstd = map(make, draw(shape, shape, *[channels] * 5))
    statistics = (None, None, saved, rstd.abs()) if training else (mean, variance.abs(), None, None)
    return (grad, x, weight if has_weight else None, *statistics, training, 1e-5), (True, True, True)


def convolution(make, shape, has_bias, transposed):
    count = len(shape) - 2
    x, weight = draw(shape, (4, 4, *[1] * count))
    grad, *_ = draw(shape)
    options = [4] if has_bias else None, [1] * count, [0] * count, [1] * count, transposed, [0] * count, 1
    return (make(grad), make(x), make(weight), *options), (True, True, has_bias)


KINDS = {
    "native_layer_norm_backward": layer_norm,
    "native_group_norm_backward": group_norm,
    "native_batch_norm_backward": batch_norm,
    "convolution_backward": convolution,
}


def torchs(dtype, device="cpu"):
    return lambda array: torch.tensor(array, dtype=getattr(torch, dtype), device=device)


def ours(dtype, device="cpu"):
    return lambda array: torchlike.tensor(array, dtype=getattr(torchlike, dtype), device=device)


def may_differ(name, mask, device):
    """Return whether torch's own results disagree: on meta batch norm has gradients that it was not asked for."""
    if name == "native_batch_norm_backward":
        return device == "meta"
    # torch's cpu computes a weight's gradient beside that of a bias, in another shape.
    return name == "convolution_backward" and mask[2] and not mask[1]


@pytest.mark.no_pipeline(reason="the calls open their own")
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("name", KINDS)
def test_the_same_results_are_none(name, dtype):
    count = 0
    for shape, first, second, device in product(SHAPES, (True, False), (True, False), ("cpu", "meta")):
        given, can = KINDS[name](torchs(dtype, device), shape, first, second)
        args, _ = KINDS[name](ours(dtype, device), shape, first, second)
        for mask in MASKS:
            if may_differ(name, mask, device) or any(wanted and not has for wanted, has in zip(mask, can, strict=True)):
                continue  # torch says nothing that can be compared of a gradient of what is not there
            expected = getattr(torch.ops.aten, name)(*given, list(mask))
            op = getattr(dc.ops.aten, name)
            with dc.pipeline():
                late = op(*args, list(mask))
            for found in (op(*args, list(mask)), late):
                assert [each is None for each in found] == [each is None for each in expected], (shape, mask, device)
                for each, other in zip(found, expected, strict=True):
                    if each is not None:
                        assert (dtype_name(each), each.shape) == (dtype, tuple(other.shape))
                    if each is not None and device == "cpu":
                        values = each.double().numpy(), other.double().numpy()
                        np.testing.assert_allclose(*values, TOLERANCES[dtype], TOLERANCES[dtype])
            count += 1
    assert count > 50
