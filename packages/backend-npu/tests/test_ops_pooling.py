"""Pooling gives what the cpu and torch give: by functions of aclnn or, beyond them, by parts."""

from contextlib import nullcontext

import numpy as np
import pytest
from npu_cases import Draw, assert_runs, compare

import dispatch_core as dc
from dispatch_backend_npu.aclnn.table import OPERATORS

aten = dc.ops.aten
pytestmark = pytest.mark.no_pipeline(reason="kernels are called by hand, on raw arrays")


@pytest.fixture(autouse=True)
def _device(npu):
    dc.load_backend("npu")


def pool_arguments(d, size, kernel, stride, padding, ceil_mode):
    x = d(2, 3, *size)
    count = len(size)
    window = (kernel, stride, padding, [1] * count, ceil_mode)
    found, places = getattr(aten, f"max_pool{count}d_with_indices")(x, *window)
    return [d(*found.shape), x, *window, places]


def adaptive_arguments(d, shape, size):
    x = d(*shape)
    found, places = getattr(aten, f"adaptive_max_pool{len(size)}d")(x, size)
    return [d(*found.shape), x, places]


def unpool_arguments(d, shape, count, size):
    """Return elements and places that are different in each plane."""
    planes, each = int(np.prod(shape[:-count])), int(np.prod(shape[-count:]))
    places = np.stack([d.random.permutation(int(np.prod(size)))[:each] for _ in range(planes)])
    return [d(*shape), d.lay_out(places.reshape(shape)), size]


#: Operator → its arguments, each case a function of a `Draw`.
CASES = {
    "max_pool2d_with_indices": [
        lambda d: [d(2, 3, 7, 6), [3, 2], [2, 1], [1, 1], [1, 1], False],
        lambda d: [d(3, 5, 8), [2, 3], [2, 2], [0, 1], [1, 1], True],
    ],
    "max_pool2d_with_indices_backward": [
        lambda d: pool_arguments(d, (7, 6), [3, 2], [2, 1], [1, 1], False),
        lambda d: pool_arguments(d, (5, 8), [2, 3], [2, 2], [0, 1], True),
    ],
    "max_pool3d_with_indices": [
        lambda d: [d(2, 3, 5, 7, 6), [2, 3, 2], [1, 2, 1], [1, 1, 0], [1, 1, 1], False],
        lambda d: [d(3, 4, 5, 8), [2, 2, 3], [], [0, 0, 1], [1, 1, 1], True],
        lambda d: [d(1, 2, 4, 4, 4), [2], [2], [1], [1], False],
    ],
    "max_pool3d_with_indices_backward": [
        lambda d: pool_arguments(d, (5, 7, 6), [2, 3, 2], [1, 2, 1], [1, 1, 0], False),
        lambda d: pool_arguments(d, (4, 5, 8), [2, 2, 3], [], [0, 0, 1], True),
    ],
    "avg_pool3d": [
        lambda d: [d(2, 3, 5, 7, 6), [2, 3, 2], [1, 2, 1], [1, 1, 0], False, True, None],
        lambda d: [d(3, 4, 5, 8), [2, 2, 3], [], [0, 0, 1], True, False, None],
        lambda d: [d(1, 2, 5, 5, 5), [3], [2], [1], True, True, None],
        lambda d: [d(1, 2, 5, 5, 5), [3, 3, 3], [2, 2, 2], [1, 1, 1], True, True, 5],
    ],
    "avg_pool3d_backward": [
        lambda d: [d(2, 3, 6, 4, 5), d(2, 3, 5, 7, 6), [2, 3, 2], [1, 2, 1], [1, 1, 0], False, True, None],
        lambda d: [d(3, 2, 3, 3), d(3, 4, 5, 8), [2, 2, 3], [], [0, 0, 1], True, False, None],
    ],
    "_adaptive_avg_pool3d": [lambda d: [d(2, 3, 4, 7, 5), [2, 3, 2]], lambda d: [d(2, 2, 3, 4), [1, 5, 1]]],
    "_adaptive_avg_pool3d_backward": [lambda d: [d(2, 3, 2, 3, 2), d(2, 3, 4, 7, 5)]],
    "adaptive_max_pool3d": [lambda d: [d(2, 3, 4, 7, 5), [2, 3, 2]], lambda d: [d(2, 2, 3, 4), [1, 5, 1]]],
    "adaptive_max_pool2d_backward": [
        lambda d: adaptive_arguments(d, (2, 3, 7, 5), [3, 2]),
        lambda d: adaptive_arguments(d, (2, 3, 4), [5, 1]),
    ],
    "adaptive_max_pool3d_backward": [
        lambda d: adaptive_arguments(d, (2, 3, 4, 7, 5), [2, 3, 2]),
        lambda d: adaptive_arguments(d, (2, 2, 3, 4), [1, 5, 1]),
    ],
    "max_unpool2d": [
        lambda d: unpool_arguments(d, (2, 3, 2, 3), 2, [4, 5]),
        lambda d: unpool_arguments(d, (3, 2, 2), 2, [2, 3]),
    ],
    "max_unpool3d": [
        lambda d: [*unpool_arguments(d, (2, 3, 2, 1, 3), 3, [4, 2, 5]), [2, 2, 2], [0, 0, 0]],
        lambda d: [*unpool_arguments(d, (3, 2, 2, 1), 3, [2, 3, 2]), [1, 1, 1], [1, 0, 0]],
    ],
    "avg_pool2d": [
        lambda d: [d(2, 3, 7, 6), [3, 2], [2, 1], [1, 1], False, True, None],
        lambda d: [d(3, 5, 8), [2, 3], [2, 2], [1, 1], True, False, None],
        lambda d: [d(1, 2, 5, 5), [3, 3], [2, 2], [1, 1], True, True, None],
        lambda d: [d(1, 2, 5, 5), [3, 3], [2, 2], [1, 1], True, True, 5],
    ],
    "avg_pool2d_backward": [
        lambda d: [d(2, 3, 4, 7), d(2, 3, 7, 6), [3, 2], [2, 1], [1, 1], False, True, None],
        lambda d: [d(3, 3, 5), d(3, 5, 8), [2, 3], [2, 2], [0, 1], True, False, None],
    ],
    "_adaptive_avg_pool2d": [lambda d: [d(2, 3, 7, 5), [3, 2]], lambda d: [d(2, 3, 4), [5, 1]]],
    "_adaptive_avg_pool2d_backward": [lambda d: [d(2, 3, 3, 2), d(2, 3, 7, 5)]],
    "adaptive_max_pool2d": [lambda d: [d(2, 3, 7, 5), [3, 2]], lambda d: [d(2, 3, 4), [5, 1]]],
}
#: Operators of more than a row.
WRITTEN = {
    "max_pool2d_with_indices": "aclnnMaxPool2dWithIndices",
    "max_pool2d_with_indices_backward": "aclnnMaxPool2dWithIndicesBackward",
    "max_pool3d_with_indices": "aclnnMaxPool3dWithArgmax",
    "max_pool3d_with_indices_backward": "aclnnMaxPool3dWithArgmaxBackward",
    "adaptive_max_pool3d": "aclnnAdaptiveMaxPool3d",
    "adaptive_max_pool2d_backward": "aclnnAdaptiveMaxPool3dBackward",
    "adaptive_max_pool3d_backward": "aclnnAdaptiveMaxPool3dBackward",
}
FUNCTIONS = {name: WRITTEN.get(name) or OPERATORS[name][0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced"])
def test_a_function_of_aclnn_computes_what_the_cpu_does(name, layout, simulator):
    for case in CASES[name]:
        simulator.reset()
        compare(name, case(Draw("float32", layout)), 2e-5)
        assert_runs(simulator, FUNCTIONS[name], "Float")


@pytest.mark.parametrize("name", CASES)
def test_half_precision_is_rounded_once(name, simulator):
    function = FUNCTIONS[name]
    if name == "max_pool2d_with_indices_backward":  # the function of images takes float32 alone on this chip
        function = FUNCTIONS["max_pool3d_with_indices_backward"]
    for case in CASES[name]:
        simulator.reset()
        compare(name, case(Draw("float16")), 2e-2)
        assert_runs(simulator, function, "Half")


@pytest.mark.parametrize("name", CASES)
def test_other_types_are_composed_where_the_function_does_not_take_them(name, simulator):
    simulator.reset()
    compare(name, CASES[name][0](Draw("float64")), 1e-9)
    assert_runs(simulator, FUNCTIONS[name], "Double")


#: What the functions refuse beside scalar types.
BEYOND = {
    "max_pool2d_with_indices": [lambda d: [d(1, 2, 7, 7), [2, 2], [1, 1], [0, 0], [2, 2], False]],
    "max_pool2d_with_indices_backward": [
        lambda d: [d(1, 2, 5, 5), d(1, 2, 7, 7), [2, 2], [1, 1], [0, 0], [2, 2], False, d.integers(49, 1, 2, 5, 5)],
    ],
    "max_pool3d_with_indices": [
        lambda d: [d(1, 2, 7, 7, 7), [2, 2, 2], [1, 1, 1], [0, 0, 0], [1, 2, 2], False],
        lambda d: [d(0, 2, 4, 4, 4), [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1], False],
    ],
    "avg_pool2d": [lambda d: [d(0, 2, 4, 4), [2, 2], [2, 2], [0, 0], False, True, None]],
    "avg_pool3d": [lambda d: [d(0, 2, 4, 4, 4), [2], [2], [0], False, True, None]],
    "_adaptive_avg_pool3d": [lambda d: [d(2, 2, 4, 4, 4), [2, 0, 2]], lambda d: [d(0, 2, 4, 4, 4), [2, 1, 2]]],
    "adaptive_max_pool3d": [lambda d: [d(2, 2, 4, 4, 4), [2, 0, 2]]],
    "max_unpool2d": [
        lambda d: [d(1, 2, 2), np.array([[[0, 1], [1, 0]]]), [1, 2]],
        lambda d: [d(0, 2, 2, 2), np.zeros((0, 2, 2, 2), "int64"), [4, 4]],
    ],
}


@pytest.mark.parametrize("name", BEYOND)
def test_arguments_beyond_the_function_are_composed(name, simulator):
    for case in BEYOND[name]:
        simulator.reset()
        compare(name, case(Draw()), 2e-5)
        assert FUNCTIONS[name] not in simulator.log()


@pytest.mark.of_functions
def test_integers_are_put_back_exactly(simulator):
    for dtype in ("int64", "uint8"):
        simulator.reset()
        compare("max_unpool2d", CASES["max_unpool2d"][0](Draw(dtype)), 0)
        assert "aclnnMaxUnpool2d" in simulator.log()


def pool(functions, name, x, random):
    """Return the result of a layer with options that ``random`` draws."""
    count = x.dim() - 2
    sizes = [int(each) for each in random.integers(1, 5, count)]
    if name.startswith("adaptive"):
        return getattr(functions, f"{name}{count}d")(x, sizes)
    window = [int(each) for each in random.integers(1, 4, count)]
    options = {"padding": min(window) // 2, "ceil_mode": bool(random.integers(2))}
    if random.integers(2):
        options["stride"] = int(random.integers(1, 4))
    if name == "avg_pool":
        options["count_include_pad"] = bool(random.integers(2))
    if name != "max_unpool":
        return getattr(functions, f"{name}{count}d")(x, window, **options)
    found, places = getattr(functions, f"max_pool{count}d")(x, window, window, return_indices=True)
    return getattr(functions, f"max_unpool{count}d")(found, places, window, window, output_size=x.shape)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", ["max_pool", "avg_pool", "adaptive_max_pool", "adaptive_avg_pool", "max_unpool"])
def test_pooling_and_its_gradient_are_torchs(name, dtype, host_calls):
    torch = pytest.importorskip("torch", reason="the results are compared with torch's")
    torchlike = pytest.importorskip("torchlike")
    random = np.random.default_rng(7)
    host_calls()
    for seed in range(10):
        shape = [int(each) for each in random.integers(3, 8, int(random.choice([4, 5])))]
        image = random.permutation(int(np.prod(shape))).reshape(shape).astype(dtype) / 64
        results = []
        for library, device in ((torchlike, "npu"), (torch, "cpu")):
            x = library.tensor(image if device == "npu" else image.astype("float32")).to(device).requires_grad_()
            found = pool(library.nn.functional, name, x, np.random.default_rng(seed))
            found.backward(found.detach() * 2 + 1)
            results.append([each.detach().cpu().numpy() for each in (found, x.grad)])
        tolerance = 1e-4 if dtype == "float32" else 2e-2
        for found, expected in zip(*results, strict=True):
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance, err_msg=f"{shape} {seed}")
    assert host_calls() == {}


def test_a_plan_pools_as_single_calls_do(simulator, host_calls):
    torchlike = pytest.importorskip("torchlike")
    image = torchlike.arange(2 * 3 * 6 * 7).sin().reshape(2, 3, 6, 7)
    host_calls()
    for dtype in (torchlike.float32, torchlike.float16):
        results = []
        for pipelined in (False, True, True):
            x = image.to("npu", dtype).requires_grad_()
            with dc.pipeline() if pipelined else nullcontext():
                halved = torchlike.nn.functional.max_pool2d(x, 2, 1, 1)
                total = torchlike.nn.functional.adaptive_max_pool2d(halved, [3, 2]).sum()
                total = total + torchlike.nn.functional.max_pool3d(x, 2, 2).sum()
                total.backward()
            results.append([total.item(), *x.grad.flatten().tolist()])
        assert results[1] == results[2] == results[0]
    assert host_calls() == {}
