"""Resampling gives what the cpu and torch give: by functions of aclnn or, beyond them, by parts."""

import numpy as np
import pytest
from npu_cases import Draw, assert_runs, compare

import dispatch_core as dc
from dispatch_backend_npu.aclnn.table import OPERATORS

pytestmark = pytest.mark.no_pipeline(reason="kernels are called by hand, on raw arrays")


@pytest.fixture(autouse=True)
def _device(npu):
    dc.load_backend("npu")


#: Operator → its arguments, each case a function of a `Draw`.
CASES = {
    "upsample_nearest1d": [
        lambda d: [d(2, 3, 5), [8]],
        lambda d: [d(2, 3, 5), [3]],
        lambda d: [d(1, 2, 4), [10], 2.5],
    ],
    "upsample_nearest1d_backward": [
        lambda d: [d(2, 3, 8), [8], [2, 3, 5]],
        lambda d: [d(2, 3, 3), [3], [2, 3, 7]],
    ],
    "upsample_nearest2d": [lambda d: [d(2, 3, 4, 5), [7, 3]], lambda d: [d(1, 2, 3, 2), [6, 4], 2.0, 2.0]],
    "upsample_nearest2d_backward": [lambda d: [d(2, 3, 7, 3), [7, 3], [2, 3, 4, 5]]],
    "upsample_bilinear2d": [
        lambda d: [d(2, 3, 4, 5), [7, 3], False],
        lambda d: [d(2, 3, 4, 5), [7, 3], True],
        lambda d: [d(1, 2, 3, 2), [6, 4], False, 2.0, 2.0],
    ],
    "upsample_bilinear2d_backward": [
        lambda d: [d(2, 3, 7, 3), [7, 3], [2, 3, 4, 5], False],
        lambda d: [d(2, 3, 7, 3), [7, 3], [2, 3, 4, 5], True],
    ],
    "upsample_linear1d": [
        lambda d: [d(2, 3, 5), [8], False],
        lambda d: [d(2, 3, 5), [3], True],
        lambda d: [d(2, 3, 4), [1], True],
        lambda d: [d(1, 2, 4), [10], False, 2.5],
    ],
    "upsample_linear1d_backward": [
        lambda d: [d(2, 3, 8), [8], [2, 3, 5], False],
        lambda d: [d(2, 3, 3), [3], [2, 3, 7], True],
    ],
    "upsample_trilinear3d": [
        lambda d: [d(2, 3, 4, 3, 2), [5, 2, 4], False],
        lambda d: [d(2, 3, 4, 3, 2), [5, 1, 4], True],
        lambda d: [d(1, 2, 2, 3, 4), [4, 3, 6], False, 2.0, 1.0, 1.5],
    ],
    "upsample_trilinear3d_backward": [
        lambda d: [d(2, 3, 5, 2, 4), [5, 2, 4], [2, 3, 4, 3, 2], False],
        lambda d: [d(2, 3, 5, 2, 4), [5, 2, 4], [2, 3, 4, 3, 2], True],
    ],
    "upsample_bicubic2d": [
        lambda d: [d(2, 3, 4, 5), [7, 3], False],
        lambda d: [d(2, 3, 4, 5), [7, 3], True],
        lambda d: [d(1, 2, 3, 2), [6, 4], False, 2.0, 2.0],
    ],
    "upsample_bicubic2d_backward": [
        lambda d: [d(2, 3, 7, 3), [7, 3], [2, 3, 4, 5], False],
        lambda d: [d(2, 3, 7, 3), [7, 3], [2, 3, 4, 5], True],
    ],
}
FUNCTIONS = {name: OPERATORS[name][0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced"])
def test_a_function_of_aclnn_computes_what_the_cpu_does(name, layout, simulator):
    for case in CASES[name]:
        simulator.reset()
        compare(name, case(Draw("float32", layout)), 2e-5)
        assert_runs(simulator, FUNCTIONS[name], "Float")


@pytest.mark.parametrize("name", CASES)
def test_half_precision_is_rounded_once(name, simulator):
    simulator.reset()
    compare(name, CASES[name][0](Draw("float16")), 2e-2)
    assert_runs(simulator, FUNCTIONS[name], "Half")


@pytest.mark.parametrize("name", CASES)
def test_other_types_are_composed_where_the_function_does_not_take_them(name, simulator):
    function = FUNCTIONS[name]
    for text, dtype in (("float64", "Double"), ("uint8", "Byte")):
        if text == "uint8" and not ("nearest" in name and "backward" not in name):
            continue
        simulator.reset()
        compare(name, CASES[name][0](Draw(text)), 1e-9)
        assert_runs(simulator, function, dtype)


def test_images_of_uint8_are_composed_of_integers(simulator):
    compare("upsample_bilinear2d", [Draw("uint8")(1, 2, 5, 4), [3, 6], False], 0)
    compare("_upsample_bicubic2d_aa", [Draw("uint8")(1, 2, 5, 4), [3, 6], False], 0)


#: What the functions refuse beside scalar types.
BEYOND = {
    "upsample_nearest1d": [lambda d: [d(1, 1, 4), [6], 1.6], lambda d: [d(0, 2, 4), [6]]],
    "upsample_nearest2d": [lambda d: [d(1, 1, 4, 4), [6, 6], 1.6, 1.6]],
    "upsample_linear1d": [lambda d: [d(1, 1, 4), [6], False, 1.6]],
    "upsample_linear1d_backward": [lambda d: [d(1, 1, 501), [501], [1, 1, 1], False]],
    "upsample_bicubic2d": [lambda d: [d(1, 1, 4, 4), [6, 6], False, 1.6, 1.6], lambda d: [d(0, 1, 4, 4), [6, 6], True]],
    "upsample_trilinear3d": [lambda d: [d(1, 1, 51, 1, 1), [1, 2, 2], False]],
}


@pytest.mark.parametrize("name", BEYOND)
def test_arguments_beyond_the_function_are_composed(name, simulator):
    for case in BEYOND[name]:
        simulator.reset()
        compare(name, case(Draw()), 2e-5)
        assert FUNCTIONS[name] not in simulator.log()


@pytest.mark.of_functions
def test_a_gradient_of_bfloat16_keeps_its_length_on_the_device(simulator):
    torchlike = pytest.importorskip("torchlike")
    for size, taken in ((5, True), (7, False)):
        simulator.reset()
        grads = torchlike.ones(1, 2, size, dtype=torchlike.bfloat16)
        arguments = ([size], [1, 2, 5], False)
        found = torchlike.ops.aten.upsample_linear1d_backward(grads.to("npu"), *arguments)
        expected = torchlike.ops.aten.upsample_linear1d_backward(grads, *arguments)
        np.testing.assert_allclose(found.cpu().float().numpy(), expected.float().numpy(), rtol=2e-2)
        assert ("aclnnUpsampleLinear1dBackward" in simulator.log()) == taken


#: Mode → whether it has ``align_corners``, and its numbers of dimensions.
MODES = {
    "nearest": (False, (1, 2)),
    "linear": (True, (1,)),
    "bilinear": (True, (2,)),
    "bicubic": (True, (2,)),
    "trilinear": (True, (3,)),
}


@pytest.mark.parametrize("mode", MODES)
def test_interpolation_and_its_gradient_are_torchs(mode, host_calls):
    torch = pytest.importorskip("torch", reason="the results are compared with torch's")
    torchlike = pytest.importorskip("torchlike")
    has_corners, ranks = MODES[mode]
    random = np.random.default_rng(7)
    host_calls()
    for _ in range(12):
        count = int(random.choice(ranks))
        shape = [int(each) for each in random.integers(1, 6, count + 2)]
        options = {"align_corners": bool(random.integers(2))} if has_corners else {}
        if random.integers(2):
            options["size"] = [int(each) for each in random.integers(1, 9, count)]
        else:
            options["scale_factor"] = float(random.choice([1.0, 1.5, 2.0, 2.7]))
        image = random.standard_normal(shape).astype("float32")
        results = []
        for library, device in ((torchlike, "npu"), (torch, "cpu")):
            x = library.tensor(image).to(device).requires_grad_()
            found = library.nn.functional.interpolate(x, mode=mode, **options)
            found.backward(found.detach() * 2 + 1)
            results.append([each.detach().cpu().numpy() for each in (found, x.grad)])
        for found, expected in zip(*results, strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4, err_msg=f"{shape} {options}")
    assert host_calls() == {}
