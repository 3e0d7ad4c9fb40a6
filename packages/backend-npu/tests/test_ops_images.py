"""Operators on images, rows and indices give what the cpu gives: by functions of aclnn or, beyond them, by parts."""

import numpy as np
import pytest
from npu_cases import Draw, assert_runs, compare

import dispatch_core as dc
from dispatch_backend_npu.aclnn.table import OPERATORS

pytestmark = pytest.mark.no_pipeline(reason="kernels are called by hand, on raw arrays")


@pytest.fixture(autouse=True)
def _device(npu):
    dc.load_backend("npu")


def statistics(draw, x, groups):
    """Return the mean and the inverse deviation of an array's rows, ``groups`` of them in each of its items."""
    rows = x.reshape(x.shape[0] * groups, -1).astype("float64")
    return (rows.mean(1).astype(x.dtype), (1 / np.sqrt(rows.var(1) + 1e-5)).astype(x.dtype))


def layer_norm_backward(d, mask):
    x = d(3, 2, 4)
    mean, rstd = (each.reshape(3, 1, 1) for each in statistics(d, x, 1))
    return [d(3, 2, 4), x, [2, 4], mean, rstd, d(2, 4), d(2, 4), mask]


def group_norm_backward(d, mask):
    x = d(2, 6, 3)
    mean, rstd = (each.reshape(2, 3) for each in statistics(d, x, 3))
    return [d(2, 6, 3), x, mean, rstd, d(6), 2, 6, 3, 3, mask]


#: Operator → its arguments, each case a function of a `Draw`.
CASES = {
    "convolution": [
        lambda d: [d(2, 4, 7), d(6, 2, 3), d(6), [2], [1], [1], False, [0], 2],
        lambda d: [d(2, 3, 6, 5), d(4, 3, 3, 2), None, [1, 2], [2, 1], [2, 1], False, [0, 0], 1],
        lambda d: [d(1, 2, 4, 3, 5), d(2, 1, 2, 2, 3), d(2), [1, 1, 2], [0, 1, 1], [1, 1, 1], False, [0, 0, 0], 2],
        lambda d: [d(2, 4, 5), d(4, 3, 3), d(6), [3], [1], [2], True, [1], 2],
        lambda d: [d(1, 3, 4, 3), d(3, 2, 3, 2), None, [2, 1], [1, 0], [1, 2], True, [1, 0], 1],
    ],
    "convolution_backward": [
        lambda d: [d(2, 6, 4), d(2, 4, 7), d(6, 2, 3), [6], [2], [1], [1], False, [0], 2, [True, True, True]],
        lambda d: [
            *(d(2, 4, 6, 3), d(2, 3, 6, 5), d(4, 3, 3, 2), None, [1, 2], [2, 1], [2, 1], False, [0, 0], 1),
            [True, True, False],
        ],
        lambda d: [d(2, 6, 16), d(2, 4, 5), d(4, 3, 3), [6], [3], [1], [2], True, [1], 2, [True, True, True]],
        lambda d: [d(2, 6, 16), d(2, 4, 5), d(4, 3, 3), [6], [3], [1], [2], True, [1], 2, [False, True, False]],
    ],
    "im2col": [
        lambda d: [d(2, 3, 6, 5), [3, 2], [1, 2], [1, 1], [2, 1]],
        lambda d: [d(2, 4, 4), [2, 2], [1, 1], [0, 0], [2, 2]],
    ],
    "col2im": [lambda d: [d(2, 18, 15), [6, 5], [3, 2], [1, 2], [1, 1], [2, 1]]],
    "constant_pad_nd": [
        lambda d: [d(2, 3, 4), [1, 2, 0, 3], 1.5],
        lambda d: [d(3), [2, 0], 0],
        lambda d: [d(2), [], 1],
    ],
    "native_layer_norm": [
        lambda d: [d(3, 2, 4), [2, 4], d(2, 4), d(2, 4), 1e-5],
        lambda d: [d(3, 2, 4), [4], None, None, 1e-3],
        lambda d: [d(4), [4], d(4), None, 1e-5],
    ],
    "native_layer_norm_backward": [
        lambda d: layer_norm_backward(d, [True, True, True]),
        lambda d: layer_norm_backward(d, [True, False, False]),
    ],
    "native_group_norm": [
        lambda d: [d(2, 6, 3), d(6), d(6), 2, 6, 3, 3, 1e-5],
        lambda d: [d(2, 4, 3, 2), d(4), d(4), 2, 4, 6, 4, 1e-3],
    ],
    "native_group_norm_backward": [
        lambda d: group_norm_backward(d, [True, True, True]),
        lambda d: group_norm_backward(d, [False, True, False]),
    ],
    "_native_batch_norm_legit_no_training": [
        lambda d: [d(2, 3, 4), d(3), d(3), d(3), abs(d(3)) + 1, 0.1, 1e-5],
        lambda d: [d(4, 3), None, None, d(3), abs(d(3)) + 1, 0.1, 1e-5],
    ],
    "native_batch_norm_backward": [
        lambda d: [d(2, 3, 4), d(2, 3, 4), d(3), d(3), abs(d(3)) + 1, None, None, False, 1e-5, [True, True, True]],
    ],
    "smooth_l1_loss": [lambda d, r=reduction: [d(3, 4), d(3, 4), r, 0.7] for reduction in range(3)],
    "binary_cross_entropy": [
        lambda d: [abs(d(3, 4)) % 1, abs(d(3, 4)) % 1, None, 1],
        lambda d: [np.array([0, 1, 0.5], d.dtype), np.array([0, 0, 1], d.dtype), abs(d(3)), 0],
    ],
    "binary_cross_entropy_with_logits": [
        lambda d: [d(3, 4), abs(d(3, 4)) % 1, None, None, 1],
        lambda d: [d(3, 4), abs(d(3, 4)) % 1, abs(d(4)), abs(d(4)), 2],
        lambda d: [d(3, 4), abs(d(3, 4)) % 1, None, abs(d(4)), 0],
    ],
    "glu": [lambda d: [d(3, 4, 2), 1], lambda d: [d(6, 2), -1]],
    "_prelu_kernel": [lambda d: [d(2, 3, 2), d(1, 3, 1)]],
    "log_sigmoid_backward": [lambda d: [d(3), np.array([-2, 0, 1], d.dtype), np.exp(np.array([-2, 0, -1], d.dtype))]],
    "hardtanh_backward": [lambda d: [d(3, 4), d(3, 4), -0.5, 0.5]],
    "embedding_renorm_": [
        lambda d: [d(5, 3), d.integers(5, 4), 0.5, 2.0],
        lambda d: [d(5, 3), d.integers(5, 2, 2), 0.5, 1.0],
    ],
    "index_add": [lambda d: [d(4, 3), 0, d.integers(4, 6), d(6, 3)]],
    "index_copy_": [lambda d: [d(4, 5), 1, np.array([3, 0]), d(4, 2)]],
    "put_": [
        lambda d: [d(4, 3), np.array([[5, 0], [11, 7]]), d(2, 2), False],
        lambda d: [d(4, 3), d.integers(12, 5), d(5), True],
    ],
    "scatter.src": [lambda d: [d(4, 3), 0, np.array([[0, 3, 1], [2, 0, 3]]), d(2, 3)]],
    "scatter.value": [lambda d: [d(4, 3), 1, np.array([[0, 2], [1, 0]]), 2.5]],
    "scatter_add": [lambda d: [d(4, 3), 0, d.integers(4, 5, 3), d(5, 3)]],
    "scatter_reduce.two": [
        lambda d, r=reduce: [d(4, 3), 0, d.integers(4, 5, 3), d(5, 3), r] for reduce in ("sum", "prod")
    ],
    "tril_": [lambda d: [d(4, 5), 1], lambda d: [d(2, 3, 3), -1]],
    "triu_": [lambda d: [d(4, 5), 1]],
    "cumprod_": [lambda d: [d(3, 4), 1]],
    "cummax": [lambda d: [d.integers(4, 3, 6).astype(d.dtype), 1], lambda d: [d(3, 4), 0]],
    "cummin": [lambda d: [d.integers(4, 3, 6).astype(d.dtype), 1], lambda d: [np.array([2, np.nan, 1], d.dtype), 0]],
    "median": [lambda d: [d(3, 4)], lambda d: [np.array([2, np.nan, 1], d.dtype)]],
    "median.dim": [lambda d: [d(3, 6), 1, False], lambda d: [d(3, 5), 0, True]],
    "kthvalue": [lambda d: [d(3, 6), 2, 1, False], lambda d: [d(3, 5), 3, 0, True]],
    "searchsorted.Tensor": [
        lambda d: [np.sort(d(3, 6)), d(3, 4)],
        lambda d: [np.arange(6).astype(d.dtype), d.integers(6, 2, 3).astype(d.dtype)],
    ],
    "bucketize.Tensor": [lambda d: [d(3, 4), np.sort(d(5))]],
}
FUNCTIONS = {name: OPERATORS[name][0] if name in OPERATORS else None for name in CASES}
FUNCTIONS["native_batch_norm_backward"] = "aclnnBatchNormBackward"


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
    simulator.reset()
    compare(name, CASES[name][0](Draw("float64")), 1e-9)
    assert_runs(simulator, FUNCTIONS[name], "Double")


#: Operators that take integers, and functions of these for them.
OF_INTEGERS = """
constant_pad_nd index_add index_copy_ put_ scatter.src scatter_add scatter_reduce.two tril_ triu_ cumprod_ kthvalue
median.dim
searchsorted.Tensor bucketize.Tensor
""".split()


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers_are_exact(name, simulator):
    for dtype, kind in (("int64", "Long"), ("uint8", "Byte")):
        simulator.reset()
        compare(name, CASES[name][0](Draw(dtype)), 0)
        assert_runs(simulator, FUNCTIONS[name], kind)


#: What the functions refuse beside scalar types.
BEYOND = {
    "convolution": [
        lambda d: [d(1, 1, 70), d(1, 1, 2), None, [64], [0], [1], False, [0], 1],
        lambda d: [d(0, 1, 4), d(1, 1, 2), None, [1], [0], [1], False, [0], 1],
    ],
    "native_layer_norm": [lambda d: [d(0, 4), [4], None, None, 1e-5]],
    "native_group_norm": [lambda d: [d(2, 4, 3), None, d(4), 2, 4, 3, 2, 1e-5]],
    "constant_pad_nd": [lambda d: [d(4), [-1, 2], 0]],
    "kthvalue": [lambda d: [d(), 1, 0, False]],
    "searchsorted.Tensor": [lambda d: [np.arange(4), d(3)]],
}


@pytest.mark.parametrize("name", BEYOND)
def test_arguments_beyond_the_function_are_composed(name, simulator):
    for case in BEYOND[name]:
        simulator.reset()
        compare(name, case(Draw()), 2e-5)
        assert FUNCTIONS[name] not in simulator.log()


@pytest.mark.of_functions
def test_reductions_that_scatter_does_not_have_are_the_hosts(host_calls):
    draw = Draw()
    arguments = [draw(4, 3), 0, draw.integers(4, 5, 3), draw(5, 3)]
    compare("scatter_reduce.two", [*arguments, "sum"], 1e-5)
    assert host_calls() == {}
    compare("scatter_reduce.two", [*arguments, "amax"], 1e-5)
    assert host_calls() == {"aten::scatter_reduce.two": 1}


def train(device, pipelined):
    """Return the losses of a small network's training, and what it computes afterwards."""
    torchlike = pytest.importorskip("torchlike")
    nn = torchlike.nn
    torchlike.manual_seed(0)
    layers = [nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.Hardswish(), nn.MaxPool2d(2)]
    layers += [nn.ConvTranspose2d(4, 3, 2, stride=2), nn.BatchNorm2d(3), nn.Mish(), nn.AdaptiveAvgPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.LayerNorm(12), nn.Linear(12, 3)).to(device)
    images = torchlike.linspace(-1, 1, 144).sin().reshape(2, 2, 6, 6).to(device)
    labels = torchlike.tensor([0, 2]).to(device)
    optimizer = torchlike.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    for _ in range(3):
        if pipelined:
            with dc.pipeline():
                loss = step()
        else:
            loss = step()
        losses.append(loss.item())
    return [*losses, *model.eval()(images).detach().cpu().numpy().ravel()]


def test_a_network_of_images_trains_on_the_device_as_on_the_cpu(host_calls):
    expected = train("cpu", pipelined=False)
    host_calls()
    np.testing.assert_allclose(train("npu", pipelined=False), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(train("npu", pipelined=True), expected, rtol=1e-4, atol=1e-4)
    assert host_calls() == {}


@pytest.mark.of_functions
def test_a_plan_repeats_the_executors_of_normalisation(simulator):
    torchlike = pytest.importorskip("torchlike")
    x, wide = torchlike.arange(6.0).reshape(2, 3).to("npu"), torchlike.ones(2, 3, dtype=torchlike.float64).to("npu")
    for number, epsilon in enumerate((1e-5, 1e-5, 0.5)):
        simulator.reset()
        with dc.pipeline():
            found = torchlike.layer_norm(x, [3], None, None, epsilon) + 1
            composed = torchlike.layer_norm(wide, [3], None, None, epsilon) + 1
        expected = (np.arange(3) - 1) / np.sqrt(2 / 3 + epsilon) + 1
        np.testing.assert_allclose(found.cpu().numpy(), [expected] * 2, rtol=1e-5)
        assert composed.cpu().tolist() == [[1] * 3] * 2
        log = simulator.log()
        assert "aclnnLayerNorm" in log
        # The first run needs a first phase, and one with another number.
        assert ("aclnnLayerNormGetWorkspaceSize" in log) == (number != 1)
