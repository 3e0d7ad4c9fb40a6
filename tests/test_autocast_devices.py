"""Autocast on devices that plugins bring: the lists of CUDA, whatever the device has kernels for, and a training run."""

import pytest

import torchlike
from torchlike import bfloat16, float16, float32, nn

pytestmark = [
    pytest.mark.usefixtures("sparing_backend", "frozen_backend", "strideless_backend"),
    pytest.mark.no_pipeline(reason="dtypes are compared, which pipelines do not change"),
]
DEVICES = ["sparing", "frozen", "strideless"]
CALLS = {
    "mm": lambda x: x @ x,
    "linear": lambda x: nn.functional.linear(x, x, x[0]),
    "exp": torchlike.exp,
    "logsumexp": lambda x: torchlike.logsumexp(x, 0),
    "softplus": nn.functional.softplus,
    "softmax": lambda x: torchlike.softmax(x, 0),
    "sum": torchlike.sum,
    "cumsum": lambda x: torchlike.cumsum(x, 0),
    "norm": torchlike.norm,
    "pow": lambda x: x**2,
    "gelu": nn.functional.gelu,
    "std": torchlike.std,
    "mean": torchlike.mean,
    "addcmul": lambda x: torchlike.addcmul(x, x.float(), x),
    "layer_norm": lambda x: nn.functional.layer_norm(x, (4,)),
    "mse_loss": lambda x: nn.functional.mse_loss(x, x),
    "cat": lambda x: torchlike.cat([x, x]),
    "einsum": lambda x: torchlike.einsum("ij,jk->ik", x, x),
    "cosine_similarity": lambda x: nn.functional.cosine_similarity(x, x),
    "smooth_l1_loss": lambda x: nn.functional.smooth_l1_loss(x, x),
    "add_": lambda x: x.clone().add_(x),
    "prelu": lambda x: nn.functional.prelu(x, x[0, :1]),
}


@pytest.mark.parametrize(("device", "dtype"), [("sparing", float16), ("strideless", float16), ("frozen", float32)])
def test_results_have_the_dtypes_of_the_lists_with_and_without_a_gradient(device, dtype):
    def results(device, *, gradient):
        x = torchlike.ones(4, 4, dtype=dtype, device=device)
        found = {}
        for name, call in CALLS.items():
            with torchlike.autocast(device):
                made = call(x.detach().requires_grad_(gradient))
            found[name] = made.dtype, made.requires_grad
        return found

    for gradient in (False, True):
        assert results(device, gradient=gradient) == results("meta", gradient=gradient)


@pytest.mark.parametrize("device", DEVICES)
def test_a_network_trains_in_mixed_precision(device):
    losses = {}
    for place in (device, "cpu"):
        torchlike.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(place)
        x, target = torchlike.randn(6, 4).to(place), torchlike.tensor([0, 1, 2, 0, 1, 2]).to(place)
        optimizer = torchlike.optim.SGD(net.parameters(), lr=0.5)
        scaler = torchlike.amp.GradScaler(place, init_scale=8.0, growth_interval=2)
        losses[place] = []
        for _ in range(6):
            optimizer.zero_grad()
            with torchlike.autocast(place, dtype=bfloat16):
                loss = nn.functional.cross_entropy(net(x), target)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses[place].append(loss.item())
        assert (scaler.get_scale(), loss.dtype, net[0].weight.grad.dtype) == (64.0, float32, float32)
    assert losses[device] == pytest.approx(losses["cpu"], rel=0.02)
    assert losses[device][0] > losses[device][-1]


@pytest.mark.parametrize("device", DEVICES)
def test_a_block_for_one_device_leaves_the_others_alone(device):
    x = torchlike.ones(2, 2, device=device)
    with torchlike.autocast("cpu"):
        assert (x @ x).dtype is float32
        with torchlike.autocast(device):
            found = (x @ x).dtype, (x.cpu() @ x.cpu()).dtype
    assert found == (float16, bfloat16)
