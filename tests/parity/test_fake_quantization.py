"""Simulated quantization beside torch's: values, masks, gradients, running ranges and refusals, bit by bit."""

import itertools

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

SPECIAL = [0.5, 1.5, 2.5, -0.5, -0.0, 1e30, -1e30, float("inf"), float("-inf"), float("nan")]
RANGES = ((0, 255), (-128, 127), (0, 15), (-7, 7))


def draw(seed, shape, spread=3.0):
    rng = np.random.default_rng(seed)
    array = np.asarray(rng.normal(size=shape) * spread)
    array.reshape(-1)[: len(SPECIAL)] = SPECIAL[: array.size]
    return array


def outcome(function, t):
    try:
        return function(t), None
    except Exception as error:  # noqa: BLE001  # its class is compared
        return None, type(error).__mro__


def same(ours, theirs):
    if isinstance(theirs, (tuple, list)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if theirs is None:
        return ours is None
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2] and ours.shape == theirs.shape
    assert ours.stride() == theirs.stride()
    mine, yours = (each.detach().to(t.float64).numpy() for each, t in ((ours, torchlike), (theirs, torch)))
    np.testing.assert_array_equal(mine, yours)
    np.testing.assert_array_equal(np.signbit(mine), np.signbit(yours))
    return True


def compare(function):
    (ours, our_error), (theirs, their_error) = outcome(function, torchlike), outcome(function, torch)
    if their_error is not None:
        assert our_error is not None, theirs
        assert next(each for each in their_error if each.__module__ == "builtins") in our_error
        return
    assert our_error is None, our_error
    assert same(ours, theirs)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("limits", RANGES)
@pytest.mark.parametrize("form", ["numbers", "tensors", "channels", "channels with float zero points", "off"])
def test_rounding_masks_and_gradients_equal_torchs(form, limits, dtype):
    low, high = limits
    for seed, shape in enumerate([(4, 5), (3, 4, 5), (12,), (2, 3, 4, 4)]):
        array, rng = draw(seed, shape), np.random.default_rng(seed + 9)
        axis = len(shape) - 1
        scales = rng.uniform(0.003, 0.7, shape[axis]).astype("float32")
        points = rng.integers(low, high + 1, shape[axis]).astype("int32")

        def call(t, form=form, array=array, axis=axis, scales=scales, points=points):
            x = t.tensor(array.tolist(), dtype=getattr(t, dtype), requires_grad=True)
            grad = t.tensor(np.random.default_rng(1).normal(size=array.shape).tolist(), dtype=x.dtype)
            scale, point = t.tensor(scales.tolist()), t.tensor(points.tolist(), dtype=t.int32)
            name = "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"
            if form == "numbers":
                args = x, float(scales[0]), int(points[0]), low, high
                name = "fake_quantize_per_tensor_affine"
            elif form == "tensors":
                args = x, scale[:1], point[:1], low, high
                name = "fake_quantize_per_tensor_affine"
            elif form == "off":
                args = x, scale[:1], point[:1], t.tensor([0]), low, high
            else:
                args = x, scale, point if form == "channels" else point * 0.77, axis, low, high
                name = "fake_quantize_per_channel_affine"
            if form == "off":
                out, mask = getattr(t.ops.aten, name)(*args)
            else:
                out = getattr(t, name)(*args)
                mask = getattr(t.ops.aten, f"{name}_cachemask")(*args)[1] if form != "tensors" else out > 0
            out.backward(grad)
            return out, mask, x.grad

        compare(call)


def test_calls_that_torch_refuses_are_refused_with_its_class():
    one = lambda t, *values, dtype="int32": t.tensor([*values], dtype=getattr(t, dtype))  # within a table
    x = lambda t: t.tensor([[0.3, -0.4, 1.0], [0.1, 0.2, 0.9]])
    calls = (
        lambda t: t.fake_quantize_per_tensor_affine(x(t), 1.0, 0, 5, 1),
        lambda t: t.fake_quantize_per_tensor_affine(x(t), 1.0, 9, 0, 5),
        lambda t: t.fake_quantize_per_tensor_affine(x(t).int(), 1.0, 1, 0, 5),
        lambda t: t.fake_quantize_per_tensor_affine(x(t), 0.0, 1, 0, 5),
        lambda t: t.fake_quantize_per_tensor_affine(x(t), t.tensor(0.5), t.tensor(9), 0, 5),
        lambda t: t.fake_quantize_per_tensor_affine(x(t), t.tensor([0.5, 1]), t.tensor([1, 2]), 0, 5),
        lambda t: t.fake_quantize_per_tensor_affine(x(t), t.tensor(0.5), t.tensor(1), 5, 0),
        lambda t: t.fake_quantize_per_channel_affine(x(t), t.ones(2), one(t, 0, 0), 0, 5, 0),
        lambda t: t.fake_quantize_per_channel_affine(x(t), t.ones(2), one(t, 0, 9), 0, 0, 5),
        lambda t: t.fake_quantize_per_channel_affine(x(t), t.ones(2), one(t, 0, 0), -2, 0, 5),
        lambda t: t.fake_quantize_per_channel_affine(x(t), t.ones(2), one(t, 0, 0), 2, 0, 5),
        lambda t: t.fake_quantize_per_channel_affine(x(t), t.ones(3), one(t, 0, 0, 0), 0, 0, 5),
        lambda t: t.fake_quantize_per_channel_affine(x(t), t.ones(2), one(t, 0, 0, 0), 0, 0, 5),
        lambda t: t.fake_quantize_per_channel_affine(x(t), t.ones(2), one(t, 0, 0, dtype="int64"), 0, 0, 5),
        lambda t: t.fake_quantize_per_channel_affine(x(t), t.ones(2).double(), one(t, 0, 0), 0, 0, 5),
        lambda t: t.fake_quantize_per_channel_affine(x(t), t.ones(1, 2), one(t, 0, 0), 0, 0, 5),
        lambda t: t.fake_quantize_per_channel_affine(x(t).int(), t.ones(2), one(t, 0, 0), 0, 0, 5),
        lambda t: t.ops.aten.fake_quantize_per_tensor_affine_cachemask_backward(x(t), x(t)),
        lambda t: t.ops.aten.fake_quantize_per_tensor_affine_cachemask_backward(x(t), (x(t) > 0)[:1]),
    )
    for call in calls:
        compare(call)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("per_row", [False, True])
def test_a_range_followed_by_moving_averages_equals_torchs(per_row, symmetric):
    for seed, (shape, spread, shift) in enumerate(
        itertools.product([(4, 5), (3, 2, 2, 2)], [3.0, 1e-4, 1e-7], [0.0, 5.0, -5.0])
    ):

        def call(t, seed=seed, shape=shape, spread=spread, shift=shift):
            rng, inf = np.random.default_rng(seed), float("inf")
            running = [t.tensor([] if per_row else end) for end in (inf, -inf)]
            scale, point = t.tensor([1.0]), t.tensor([0], dtype=t.int32)
            found = []
            for step in range(4):
                x = t.tensor(((rng.normal(size=shape) + shift) * spread).astype("float32"), requires_grad=True)
                on, quantized = t.tensor([int(step != 2)]), t.tensor([1])
                limits = (-128, 127) if symmetric else (0, 255)
                out = t.fused_moving_avg_obs_fake_quant(
                    x, on, quantized, *running, scale, point, 0.1, *limits, 0, per_row, symmetric
                )
                out.sum().backward()
                found += [out, x.grad, *(each.clone() for each in (*running, scale, point))]
            return found

        compare(call)


def test_a_range_is_left_alone_where_its_switches_are_off():
    def call(t):
        x, inf = t.tensor([[0.5, -1.0]]), float("inf")
        rest = [t.tensor(inf), t.tensor(-inf), t.tensor([1.0]), t.tensor([0], dtype=t.int32)]
        for observed in 0, 1:
            out = t.fused_moving_avg_obs_fake_quant(x, t.tensor([observed]), t.tensor([0]), *rest, 0.1, 0, 255, -1)
        return [out, *rest]

    compare(call)
    compare(
        lambda t: t.fused_moving_avg_obs_fake_quant(
            t.ones(2).double(),
            t.tensor([1]),
            t.tensor([1]),
            t.ones(1),
            t.ones(1),
            t.ones(1),
            t.ones(1).int(),
            0.1,
            0,
            255,
            0,
        )
    )


@pytest.mark.parametrize("points", ["whole", "halves", "any", "beyond"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_scales_and_zero_points_that_are_learned(axis, points):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        count = 1 if axis is None else (6, 7)[axis]
        scales = rng.uniform(0.05, 0.2, count).astype("float32")
        found = {"whole": 3.0, "halves": rng.integers(0, 9) + 0.5, "any": rng.uniform(0, 90), "beyond": 300.0}[points]
        zero_points = (found + rng.integers(-2, 3, count)).astype("float32")
        array, gradient = draw(seed, (6, 7), 8.0)[:, :], rng.normal(size=(6, 7)).astype("float32")
        array.reshape(-1)[: len(SPECIAL)] = rng.normal(size=len(SPECIAL))

        def call(t, array=array, scales=scales, zero_points=zero_points, gradient=gradient):
            x = t.tensor(array.astype("float32")).requires_grad_()
            scale, point = (t.tensor(each).requires_grad_() for each in (scales, zero_points))
            kind = "tensor" if axis is None else "channel"
            function = getattr(t, f"_fake_quantize_learnable_per_{kind}_affine")
            out = function(x, scale, point, *([] if axis is None else [axis]), 0, 127, 0.7)
            out.backward(t.tensor(gradient))
            return (out, x.grad), (scale.grad, point.grad)

        (theirs, sums), (ours, own_sums) = call(torch), call(torchlike)
        assert same(ours, theirs)
        for one, other in zip(own_sums, sums, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "_fake_quantize_learnable_per_tensor_affine(t.ones(2, 3), t.tensor(0.1), t.tensor(1.0), 0, 127)",
        "_fake_quantize_learnable_per_tensor_affine(t.ones(2, 3), t.tensor([0.1, 0.2]), t.tensor([1.0]), 0, 127)",
        "_fake_quantize_learnable_per_tensor_affine(t.ones(2, 3), t.tensor([0.1]), t.tensor([1.0]), 5, 3)",
        "_fake_quantize_learnable_per_tensor_affine(t.ones(2, 3).double(), t.tensor([0.1]), t.tensor([1]), 0, 127)",
        "_fake_quantize_learnable_per_tensor_affine(t.ones(2, 3).long(), t.tensor([0.1]), t.tensor([1]), 0, 127)",
        "_fake_quantize_learnable_per_channel_affine(t.ones(2, 3), t.tensor([0.1]), t.tensor([1.0]), 0, 0, 127)",
        "_fake_quantize_learnable_per_channel_affine(t.ones(2, 3), t.tensor([0.1, 0.2]), t.tensor([1, 2]), 0, 0, 127)",
        "_fake_quantize_learnable_per_channel_affine(t.ones(2, 3), t.ones(2).double(), t.tensor([1, 2]), 0, 0, 127)",
        "_fake_quantize_learnable_per_channel_affine(t.ones(2, 3), t.ones(2), t.ones(2), -1, 0, 127)",
    ],
)
def test_wrong_arguments_of_learned_parameters(text):
    compare(lambda t: eval(f"t.{text}", {"t": t}))
