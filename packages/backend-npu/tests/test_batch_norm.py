"""Batch norm in training: one function, which saves other numbers than torch, and its gradient."""

import pytest

torchlike = pytest.importorskip("torchlike", reason="programs are torch's")

from dispatch_backend_npu import runtime  # noqa: E402  # after the skip
from dispatch_backend_npu.runtime import chips  # noqa: E402

F = torchlike.nn.functional
pytestmark = pytest.mark.usefixtures("npu")

SHAPES = {"vectors": (4, 3), "rows": (4, 3, 5), "images": (2, 3, 4, 5), "volumes": (2, 3, 2, 2, 3)}
TOLERANCES = {"float16": 2e-2, "bfloat16": 1.5e-1}


def train(device, shape, dtype, parameters, running, momentum=0.1, layout=None):
    """Return results, running statistics and gradients."""
    torchlike.manual_seed(1)

    def draw(*sizes, dtype=parameters):
        return (torchlike.randn(sizes) + 0.5).to(getattr(torchlike, dtype))

    x = draw(*shape, dtype=dtype)
    if layout is not None:
        x = x.to(memory_format=layout)
    x = x.to(device).requires_grad_()
    weight, bias = (draw(3).to(device).requires_grad_() if parameters else None for _ in range(2))
    statistics = [draw(3, dtype=parameters or dtype).abs().to(device) if running else None for _ in range(2)]
    y = F.batch_norm(x, *statistics, weight, bias, True, momentum, 1e-3)
    scale = draw(*shape, dtype=dtype).to(device)
    wanted = [x] if weight is None else [x, weight, bias]
    return [y.detach(), *statistics, *torchlike.autograd.grad((y * scale).sum(), wanted)]


def assert_like(found, expected, tolerance):
    for one, other in zip(found, expected, strict=True):
        if other is None:
            assert one is None
            continue
        assert (one.shape, one.dtype, one.stride()) == (other.shape, other.dtype, other.stride())
        assert torchlike.allclose(one.cpu().double(), other.double(), rtol=tolerance, atol=tolerance)


def operators(simulator):
    """Return the functions that ran."""
    return [name for name in simulator.log() if name.startswith("aclnn") and not name.endswith("WorkspaceSize")]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("dtype", "parameters"),
    [
        ("float32", "float32"),
        ("float32", None),
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float16", "float16"),
        ("float64", "float64"),
    ],
)
@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("momentum", [0.1, 0.0, 1.0])
def test_results_statistics_and_gradients_are_the_cpu_s(shape, dtype, parameters, running, momentum, host_calls):
    found, expected = (train(each, SHAPES[shape], dtype, parameters, running, momentum) for each in ("npu", "cpu"))
    assert_like(found, expected, TOLERANCES.get(dtype, 2e-4))
    assert not host_calls()


def test_channels_may_come_last():
    given = (SHAPES["images"], "float32", "float32", True, 0.1, torchlike.channels_last)
    assert_like(train("npu", *given), train("cpu", *given), 2e-4)


@pytest.mark.no_pipeline(reason="opens another chip")
@pytest.mark.parametrize("asked", ["910B", "910A", "310P", "950"])
def test_each_chip_saves_what_it_does(asked, npu, monkeypatch):
    runtime.finalize(force=True)
    monkeypatch.setenv("DISPATCH_NPU_SIMULATE", asked)
    monkeypatch.setenv(chips.VARIABLE, "1")
    given = (SHAPES["images"], "float32", "float32", True)
    assert_like(train("npu", *given), train("cpu", *given), 2e-4)
    batch = torchlike.ops.aten._native_batch_norm_legit.no_stats
    x = torchlike.arange(12.0).reshape(4, 3)
    for found, expected in zip(
        batch(x.to("npu"), None, None, True, 0.1, 0.5), batch(x, None, None, True, 0.1, 0.5), strict=True
    ):
        assert torchlike.allclose(found.cpu(), expected, rtol=1e-5, atol=1e-5)
    runtime.finalize(force=True)


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_a_step_is_two_functions_of_the_images(simulator):
    net = torchlike.nn.BatchNorm2d(3).to("npu")
    x = torchlike.rand(2, 3, 4, 5, device="npu", requires_grad=True)
    simulator.reset()
    y = net(x)
    forward = operators(simulator)
    assert forward.count("aclnnBatchNorm") == 1 and not {"aclnnVarMean", "aclnnSub"} & set(forward)
    gradient = torchlike.ones_like(y)
    simulator.reset()
    torchlike.autograd.grad(y, (x, net.weight, net.bias), gradient)
    assert operators(simulator) == ["aclnnMul", "aclnnReciprocal", "aclnnSubs", "aclnnBatchNormBackward"]


def test_variances_that_are_far_below_eps():
    results = []
    for device in ("cpu", "npu"):
        x = (torchlike.arange(24.0).reshape(4, 3, 2) * 1e-5).to(device).requires_grad_()
        y = F.batch_norm(x, None, None, None, None, True, 0.1, 1e-2)
        results.append([y.detach(), torchlike.autograd.grad((y * y).sum() + (y * x.detach()).sum(), x)[0]])
    assert_like(results[1], results[0], 1e-5)


def test_second_derivatives():
    x = torchlike.randn(4, 2, 3, dtype=torchlike.float64).to("npu").requires_grad_()
    weight = torchlike.tensor([0.5, -2.0], dtype=torchlike.float64).to("npu").requires_grad_()

    def normalise(x, weight):
        return F.batch_norm(x, None, None, weight, None, True, 0.1, 1e-2)

    assert torchlike.autograd.gradgradcheck(normalise, (x, weight))
    found = []
    for device in ("cpu", "npu"):
        given = x.detach().float().to(device).requires_grad_()
        first = torchlike.autograd.grad((normalise(given, None) ** 3).sum(), given, create_graph=True)[0]
        found.append(torchlike.autograd.grad((first * first).sum(), given)[0])
    assert_like(found[1:], found[:1], 2e-2)


def test_one_element_a_channel_is_composed():
    x = torchlike.ones(1, 3, device="npu")
    batch = torchlike.ops.aten._native_batch_norm_legit_functional
    *_, moved = batch(x, None, None, torchlike.zeros(3, device="npu"), torchlike.ones(3, device="npu"), True, 0.1, 0.1)
    assert moved.isnan().all()


def test_a_cumulative_average():
    nets = []
    for device in ("cpu", "npu"):
        net = torchlike.nn.BatchNorm1d(3, momentum=None).to(device)
        for step in range(3):
            net((torchlike.arange(12.0).reshape(4, 3) * (step + 1)).to(device))
        nets.append([net.running_mean, net.running_var])
    assert_like(nets[1], nets[0], 1e-4)
