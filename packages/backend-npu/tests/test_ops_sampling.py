"""Sampling at the points of a grid gives what the cpu and torch give: by functions of aclnn or, beyond them, by parts."""

from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from npu_cases import Draw, assert_runs, compare

import dispatch_core as dc

pytestmark = pytest.mark.no_pipeline(reason="kernels are called by hand, on raw arrays")
MODES = {2: ("bilinear", "nearest", "bicubic"), 3: ("bilinear", "nearest")}
PADDINGS = ("zeros", "border", "reflection")
OPTIONS = [
    (count, mode, padding, align)
    for count in MODES
    for mode, padding, align in product(range(len(MODES[count])), range(3), (False, True))
]


@pytest.fixture(autouse=True)
def _device(npu):
    dc.load_backend("npu")


def images(d, count, scale=1.4):
    """Return images, a grid that goes beyond them, and a gradient."""
    sizes, made = (4, 5, 3)[:count], (3, 4, 2)[:count]
    grid = d.lay_out((d.random.uniform(-1, 1, (2, *made, count)) * scale).astype(d.dtype))
    return d(2, 3, *sizes), grid, d(2, 3, *made)


@pytest.mark.parametrize(("count", "mode", "padding", "align"), OPTIONS)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced"])
def test_functions_of_aclnn_compute_what_the_cpu_does(count, mode, padding, align, layout, simulator):
    x, grid, grad = images(Draw("float32", layout), count)
    compare(f"grid_sampler_{count}d", [x, grid, mode, padding, align], 2e-5)
    assert_runs(simulator, f"aclnnGridSampler{count}D", "Float")
    for mask in ([True, True], [True, False], [False, True], [False, False]):
        simulator.reset()
        compare(f"grid_sampler_{count}d_backward", [grad, x, grid, mode, padding, align, mask], 2e-5)
        # CANN 8.1 has no gradient of cubic interpolation.
        is_expected = mode < 2 and any(mask)
        assert_runs(simulator, f"aclnnGridSampler{count}DBackward", "Float", expected=is_expected)


@pytest.mark.of_functions
@pytest.mark.parametrize("count", MODES)
def test_other_types(count, simulator):
    for dtype, tolerance in (("float16", 2e-3), ("float64", 1e-9)):
        x, grid, grad = images(Draw(dtype), count, 0.8)
        simulator.reset()
        compare(f"grid_sampler_{count}d", [x, grid, 0, 0, True], tolerance)
        compare(f"grid_sampler_{count}d_backward", [grad, x, grid, 0, 1, False, [True, True]], tolerance)
        assert f"aclnnGridSampler{count}DBackward" in simulator.log()


def test_arguments_beyond_the_functions_are_composed(simulator):
    x, grid, grad = images(Draw("float64"), 2)
    compare("grid_sampler_2d", [x, grid, 2, 1, True], 1e-9)
    compare("grid_sampler_2d", [x[:0], grid[:0], 0, 0, True], 0)
    compare("grid_sampler_2d_backward", [grad[:0], x[:0], grid[:0], 0, 0, True, [True, True]], 0)
    assert not any("GridSampler" in name for name in simulator.log())


def sample(library, device, image, points, options):
    """Return samples, and the gradients of images and points."""
    x, grid = (library.tensor(each).to(device).requires_grad_() for each in (image, points))
    found = library.nn.functional.grid_sample(x, grid, **options)
    found.backward(found.detach() * 2 + 1)
    return [each.detach().cpu().numpy() for each in (found, x.grad, grid.grad)]


@pytest.mark.parametrize("count", MODES)
def test_samples_and_gradients_are_torchs(count, host_calls):
    torch = pytest.importorskip("torch", reason="the results are compared with torch's")
    torchlike = pytest.importorskip("torchlike")
    random = np.random.default_rng(7)
    host_calls()
    for mode, padding, align in product(MODES[count], PADDINGS, (False, True)):
        sizes, made = (random.integers(1, 6, count).tolist() for _ in range(2))
        image = random.standard_normal((2, 3, *sizes)).astype("float32")
        points = random.uniform(-1.7, 1.7, (2, *made, count)).astype("float32")
        options = {"mode": mode, "padding_mode": padding, "align_corners": align}
        found, expected = (sample(*each, image, points, options) for each in ((torchlike, "npu"), (torch, "cpu")))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-4, err_msg=f"{options} {sizes}")
    assert host_calls() == {}


@pytest.mark.of_functions
def test_a_plan_samples_as_single_calls_do(simulator, host_calls):
    torchlike = pytest.importorskip("torchlike")
    image = torchlike.arange(48.0).sin().reshape(1, 3, 4, 4).to("npu")
    theta = torchlike.tensor([[[0.9, -0.2, 0.1], [0.3, 0.7, -0.1]]]).to("npu")
    host_calls()
    results = []
    for pipelined in (False, True, True):
        x, map_ = image.clone().requires_grad_(), theta.clone().requires_grad_()
        simulator.reset()
        with dc.pipeline() if pipelined else nullcontext():
            grid = torchlike.nn.functional.affine_grid(map_, [1, 3, 5, 4], align_corners=False)
            total = torchlike.nn.functional.grid_sample(x, grid, align_corners=False).square().sum()
            total.backward()
        results.append([total.item(), *x.grad.flatten().tolist(), *map_.grad.flatten().tolist()])
        assert {"aclnnGridSampler2D", "aclnnGridSampler2DBackward"} <= set(simulator.log())
    assert results[1] == results[2] == results[0]
    assert host_calls() == {}
