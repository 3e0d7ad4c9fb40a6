"""Calls of scalar types that a function does not take: composed, or computed by the host, and never refused by the chip."""

import pytest

import dispatch_core as dc
import torchlike
from dispatch_backend_npu import runtime
from dispatch_backend_npu.acl import AclError
from dispatch_backend_npu.aclnn import calls
from dispatch_backend_npu.runtime import chips

pytestmark = pytest.mark.no_pipeline(reason="compares the calls of functions")

#: Calls that an Atlas A2 refuses, each with its function and its scalar types.
CALLS = {
    "relu": ("aclnnRelu", "float64 int16 uint8", lambda x: x.relu()),
    "relu_": ("aclnnInplaceRelu", "float64 int16", lambda x: x.clone().relu_()),
    "tanh": ("aclnnTanh", "float64", lambda x: x.tanh()),
    "mm": ("aclnnMm", "float64 int32 int64 uint8", lambda x: x @ x),
    "bmm": ("aclnnBatchMatMul", "float64 int32 int64", lambda x: torchlike.bmm(x[None], x[None])),
    "mv": ("aclnnMv", "float64 int64", lambda x: x @ x[0]),
    "std": ("aclnnStd", "float64", lambda x: x.std(0)),
    "var": ("aclnnVarCorrection", "float64", lambda x: x.var(0)),
    "logsumexp": ("aclnnLogSumExp", "float64", lambda x: x.logsumexp(1)),
    "max.dim": ("aclnnMaxDim", "float64 int8 int16 uint8", lambda x: x.max(1)[0]),
    "sign": ("aclnnSign", "int8 int16 uint8", lambda x: x.sign()),
    "ceil": ("aclnnCeil", "int8 int16 int32 int64 uint8", lambda x: x.ceil()),
    "neg": ("aclnnNeg", "int16 uint8", lambda x: -x),
    "fmod": ("aclnnFmodTensor", "int16", lambda x: x.fmod(x + 2)),
    "eye": ("aclnnEye", "float64", lambda x: torchlike.eye(3, dtype=x.dtype, device=x.device)),
    "masked_fill": ("aclnnInplaceMaskedFillScalar", "float64 int16 uint8", lambda x: x.masked_fill(x > 2, 7)),
    "mse_loss": ("aclnnMseLoss", "float64", lambda x: torchlike.nn.functional.mse_loss(x, x + 1)),
}
CELLS = [(name, dtype) for name, (_, dtypes, _) in CALLS.items() for dtype in dtypes.split()]


def _numbers(dtype, device):
    return torchlike.tensor([[1, 2, 3], [4, 3, 1], [0, 5, 2]], dtype=getattr(torchlike, dtype)).to(device)


@pytest.mark.parametrize(("name", "dtype"), CELLS)
def test_a_call_that_the_function_refuses_gives_the_values_of_the_cpu(name, dtype, simulator):
    function, _, call = CALLS[name]
    expected = call(_numbers(dtype, "cpu"))
    found = call(_numbers(dtype, "npu"))
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert torchlike.allclose(found.cpu().double(), expected.double())
    # A wider type may serve instead.
    assert dtype != "float64" or function not in simulator.log()
    with dc.pipeline():
        again = call(_numbers(dtype, "npu"))
    assert torchlike.equal(again, found)


#: Calls that are computed in a wider type, or leave their elements as they are: name → dtypes.
WIDER = {
    "erf": "bfloat16 int32 uint8",
    "asin": "bfloat16",
    "lgamma": "bfloat16 int64 bool",
    "exp": "int8 int16 int32",
    "cosh": "int64 bool",
    "ceil": "int64 uint8",
    "round": "int16",
    "trunc": "int32 int8",
    "sign": "uint8 int16",
}


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name, each in WIDER.items() for dtype in each.split()])
def test_the_host_computes_nothing_that_a_wider_type_serves(name, dtype, npu, host_calls):
    x = torchlike.tensor([[0, 1, 1], [1, 0, 1]]) if name == "asin" else torchlike.tensor([[1, 2, 3], [100, 127, 4]])
    x = x.to(getattr(torchlike, dtype))
    expected, found = getattr(torchlike, name)(x), getattr(torchlike, name)(x.T.to("npu")).T
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert torchlike.allclose(found.cpu().double(), expected.double(), rtol=1e-6, equal_nan=True)
    assert host_calls() == {}
    written = x.clone().to("npu")
    if expected.dtype is x.dtype:
        assert getattr(torchlike, f"{name}_" if hasattr(torchlike, f"{name}_") else name)(written).dtype is x.dtype


@pytest.mark.of_functions
@pytest.mark.parametrize(("name", "dtype"), CELLS)
def test_the_simulator_refuses_it_as_the_chip_does(name, dtype, simulator, monkeypatch):
    function, _, call = CALLS[name]
    x = _numbers(dtype, "npu")
    runtime.finalize(force=True)  # no call is prepared
    x = _numbers(dtype, "npu")
    monkeypatch.setattr(calls, "find_refused", lambda *given: "")
    with pytest.raises(AclError, match=f"{function}GetWorkspaceSize") as refused:
        call(x)
    assert refused.value.code == 161002
    assert "this chip takes no" in str(refused.value)


@pytest.mark.parametrize("asked", ["910B", "910_93", "910A", "310P", "310B", "950"])
def test_a_network_is_trained_on_each_chip(asked, npu, monkeypatch):
    runtime.finalize(force=True)
    monkeypatch.setenv("DISPATCH_NPU_SIMULATE", asked)
    monkeypatch.setenv(chips.VARIABLE, "1")

    def train(device):
        torchlike.manual_seed(3)
        nn = torchlike.nn
        layers = (nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 10))
        net = nn.Sequential(*layers)
        images, labels = torchlike.rand(5, 1, 8, 8).to(device), torchlike.arange(5).to(device)
        net.to(device)
        optimizer = torchlike.optim.AdamW(net.parameters(), 0.01)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    expected = train("cpu")
    assert train("npu") == pytest.approx(expected, rel=2e-3)
    runtime.finalize(force=True)


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss"])
def test_a_composed_loss_takes_truth_values_as_numbers(npu, name):
    target = torchlike.tensor([True, False, True])
    found = []
    for device in ("cpu", "npu"):
        x = torchlike.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
        loss = getattr(torchlike.nn.functional, name)(x, target.to(device))
        found.append((loss.item(), *torchlike.autograd.grad(loss, x)[0].tolist()))
    assert found[0] == pytest.approx(found[1])
