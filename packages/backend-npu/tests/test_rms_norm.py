"""Root-mean-square normalisation, by two functions."""

import pytest

torchlike = pytest.importorskip("torchlike", reason="programs are torch's")

F = torchlike.nn.functional
pytestmark = pytest.mark.usefixtures("npu")

CASES = {
    "float32": ((4, 5, 6), (6,), "float32", "float32"),
    "two dimensions": ((4, 5, 6), (5, 6), "float32", "float32"),
    "float16": ((3, 8), (8,), "float16", "float16"),
    "bfloat16": ((3, 8), (8,), "bfloat16", "bfloat16"),
    "weight of float32": ((3, 2, 8), (8,), "bfloat16", "float32"),
    "float64": ((3, 8), (8,), "float64", "float64"),
    "no weight": ((3, 8), (8,), "float32", None),
    "a vector": ((8,), (8,), "float32", "float32"),
    "nothing": ((0, 8), (8,), "float32", "float32"),
}


def run(case, device, eps=1e-3):
    shape, normalized, dtype, weight_dtype = CASES[case]
    torchlike.manual_seed(2)
    x = torchlike.randn(shape).to(device, getattr(torchlike, dtype)).requires_grad_()
    weight = None
    if weight_dtype is not None:
        weight = torchlike.randn(normalized).to(device, getattr(torchlike, weight_dtype)).requires_grad_()
    y = F.rms_norm(x, normalized, weight, eps)
    scale = torchlike.randn(shape).to(device, y.dtype)
    given = [x] if weight is None else [x, weight]
    return [y, *torchlike.autograd.grad((y * scale).sum(), given)]


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_are_the_cpu_s(case):
    tolerance = {"float16": 4e-3, "bfloat16": 3e-2}.get(CASES[case][2], 1e-5)
    for found, expected in zip(run(case, "npu"), run(case, "cpu"), strict=True):
        assert (found.shape, found.dtype, found.stride()) == (expected.shape, expected.dtype, expected.stride())
        assert torchlike.allclose(found.cpu().double(), expected.double(), rtol=tolerance, atol=tolerance)


@pytest.mark.of_functions
@pytest.mark.no_pipeline(reason="a pipeline runs them later")
def test_forward_and_gradient_are_two_functions(simulator):
    x = torchlike.randn(4, 8, device="npu", requires_grad=True)
    weight = torchlike.ones(8, device="npu", requires_grad=True)
    gradient = torchlike.ones(4, 8, device="npu")
    simulator.reset()
    torchlike.autograd.grad(F.rms_norm(x, (8,), weight), (x, weight), gradient)
    calls = [name for name in simulator.log() if name.startswith("aclnn") and not name.endswith("WorkspaceSize")]
    assert calls == ["aclnnRmsNorm", "aclnnRmsNormGrad"]


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_second_derivatives(device):
    x = torchlike.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=torchlike.float64).to(device).requires_grad_()
    weight = torchlike.tensor([1.0, 0.5, -2.0], dtype=torchlike.float64).to(device).requires_grad_()

    def fused(x, weight):
        return torchlike.ops.aten._fused_rms_norm(x, [3], weight, 1e-2)[0]

    assert torchlike.autograd.gradcheck(fused, (x, weight))
    assert torchlike.autograd.gradgradcheck(fused, (x, weight))


def test_what_does_not_fit_is_refused():
    x = torchlike.ones(2, 3, device="npu")
    with pytest.raises(RuntimeError, match="normalized_shape"):
        F.rms_norm(x, (4,))
    with pytest.raises(RuntimeError, match="weight"):
        F.rms_norm(x, (3,), torchlike.ones(4, device="npu"))


def test_the_inverse_roots_may_lie_in_any_order(npu):
    x = torchlike.linspace(-2, 3, 24).reshape(3, 2, 4)
    weight = torchlike.tensor([1.0, -2.0, 3.0, 0.5])
    _, rstd = torchlike.ops.aten._fused_rms_norm(x, [4], weight, 1e-5)
    expected = torchlike.ops.aten._fused_rms_norm_backward(x.cos(), x, [4], rstd, weight, [True, True])
    turned = rstd.transpose(0, 1).contiguous().to("npu").transpose(0, 1)
    assert turned.stride() != rstd.stride()
    given = x.cos().to("npu"), x.to("npu"), [4], turned, weight.to("npu"), [True, True]
    for found, each in zip(torchlike.ops.aten._fused_rms_norm_backward(*given), expected, strict=True):
        torchlike.testing.assert_close(found.cpu(), each)
