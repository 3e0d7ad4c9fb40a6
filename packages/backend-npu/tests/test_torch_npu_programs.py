"""Programs as users of Ascend write them: training, mixed precision, transformers, checkpoints, and programs for CUDA."""

import pytest
import torch_npu_programs as programs

pytestmark = pytest.mark.usefixtures("npu")

TRAINING = """
import torch
import torch.nn as nn
import torch_npu

torch.npu.set_device("npu:0")
torch.npu.set_compile_mode(jit_compile=False)
torch.npu.config.allow_internal_format = False
torch.manual_seed(0)
torch.npu.manual_seed_all(0)
device = torch.device("npu:0" if torch.npu.is_available() else "cpu")
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
x = torch.randn(64, 4).npu()
target = (x[:, :1] * 2 - x[:, 1:2]).npu()
stream = torch.npu.Stream()
for step in range(60):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), target)
    loss.backward()
    optimizer.step()
    if not step:
        first = loss.item()
torch.npu.synchronize()
print(first > 10 * loss.item(), loss.device, torch.npu.memory_allocated() > 0, torch.npu.max_memory_allocated() > 0)
with torch.npu.stream(stream):
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    y = model(x)
    end.record()
stream.synchronize()
print(start.elapsed_time(end) >= 0, torch.npu.get_device_name().startswith("Ascend"))
"""


def test_a_training_loop(tmp_path):
    assert programs.run(TRAINING, tmp_path) == "True npu:0 True True\nTrue True\n"


TRANSFER = """
import torch
import torch.nn as nn
import torch_npu
from torch_npu.contrib import transfer_to_npu
from torch.cuda.amp import GradScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.cuda.manual_seed_all(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
data = torch.randn(64, 3)
loader = DataLoader(TensorDataset(data, data.sum(1, keepdim=True)), batch_size=16, shuffle=True, pin_memory=True)
model = nn.Linear(3, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
losses, pinned = [], []
for epoch in range(15):
    for x, y in loader:
        pinned.append(x.is_pinned())
        x, y = x.cuda(non_blocking=True), y.to(device, non_blocking=True)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    losses.append(loss.item())
print(losses[-1] < losses[0] / 100, all(pinned), x.is_cuda, x.device, next(model.parameters()).device)
with torch.autocast("cuda", dtype=torch.float16):
    print(model(x).dtype, torch.is_autocast_enabled("cuda"))
print(torch.zeros(2, device="cuda:0").device, torch.device("cuda", 1), torch.Generator(device="cuda").device)
with torch.device("cuda"):
    print(torch.ones(1).device)
with torch.cuda.device(1):
    print(torch.cuda.current_device(), torch.ones(1, device="cuda").device)
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    print(torch.cuda.current_stream() == stream, torch.cuda.memory_allocated() > 0)
torch.cuda.synchronize()
import torch.cuda.amp
print(torch.cuda is torch.npu is torch_npu.npu, torch.cuda.amp is torch.npu.amp, GradScaler is torch.npu.amp.GradScaler)
print(torch.cuda.CUDAGraph is torch.npu.NPUGraph, isinstance(x, torch.cuda.FloatTensor), GradScaler().is_enabled())
torch.save(model.state_dict(), "weights.pt")
print({name: each.device.type for name, each in torch.load("weights.pt", map_location="cuda:0").items()})
print(torch.load("weights.pt", map_location=lambda storage, name: storage.cuda(1))["bias"].device)
try:
    torch.distributed.init_process_group(backend="nccl", init_method="env://")
except RuntimeError as error:
    print(str(error).splitlines()[0])
"""


@pytest.mark.filterwarnings("ignore")
def test_a_program_for_cuda(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = programs.run(TRANSFER, tmp_path).splitlines()
    assert lines[:5] == [
        "True True True npu:0 npu:0",
        "torch.float16 True",
        "npu:0 npu:1 npu",
        "npu:0",
        "1 npu:1",
    ]
    assert lines[5:8] == ["True True", "True True True", "True True True"]
    assert lines[8:10] == ["{'weight': 'npu', 'bias': 'npu'}", "npu:1"]
    assert "processes do not communicate" in lines[10] or "hccl" in lines[10]


def test_a_transfer_is_told_once_at_the_line_of_the_import(tmp_path):
    program = """
import warnings
warnings.simplefilter("ignore")
import torch_npu
with warnings.catch_warnings(record=True) as caught:
    from torch_npu.contrib import transfer_to_npu
    import torch_npu.contrib.transfer_to_npu
(one,) = caught
print(one.category.__name__, one.lineno, str(one.message)[:52])
"""
    assert programs.run(program, tmp_path) == "ImportWarning 6 transfer_to_npu: the device cuda is npu from here on\n"


def test_without_a_transfer_cuda_stays_what_it_is(tmp_path):
    program = """
import torch_npu, torch
import dispatch_torch_npu.contrib
print(torch.device("cuda"), torch.cuda.is_available(), torch.ones(1).npu().is_cuda)
"""
    assert programs.run(program, tmp_path) == "cuda False False\n"


AMP = """
import torch
import torch_npu
from torch_npu.npu.amp import GradScaler, autocast
import warnings
warnings.simplefilter("ignore", FutureWarning)

torch.manual_seed(0)
model = torch.nn.Linear(8, 1).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler(init_scale=2.0**10)
x = torch.randn(32, 8).npu()
target = x.sum(1, keepdim=True)
losses = []
for step in range(40):
    optimizer.zero_grad()
    with autocast():
        out = model(x)
        loss = torch.nn.functional.mse_loss(out, target)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())
print(out.dtype, loss.dtype, losses[-1] < losses[0] / 10, scaler.get_scale())
before = model.weight.detach().clone()
optimizer.zero_grad()
scaler.scale((model(x) * float("inf")).sum()).backward()
scaler.step(optimizer)
scaler.update()
print(torch.equal(before, model.weight), scaler.get_scale())
with torch.autocast("npu", dtype=torch.bfloat16):
    print(model(x).dtype)
"""


def test_mixed_precision_with_a_scaler(tmp_path):
    assert programs.run(AMP, tmp_path) == "torch.float16 torch.float32 True 1024.0\nTrue 512.0\ntorch.bfloat16\n"


TRANSFORMER = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        if fused:
            return torch_npu.npu_rms_norm(x, self.weight, epsilon=1e-5)[0]
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.after = RMSNorm(dim), RMSNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.up = nn.Linear(dim, 4 * dim, bias=False)
        self.down = nn.Linear(2 * dim, dim, bias=False)

    def attend(self, q, k, v, mask):
        if fused:
            return torch_npu.npu_fusion_attention(
                q, k, v, self.heads, "BSND", atten_mask=mask, scale=1 / math.sqrt(q.shape[-1]), sparse_mode=3
            )[0]
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

    def rotate(self, x, cos, sin):
        if fused:
            return torch_npu.npu_rotary_mul(x, cos, sin)
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat((-second, first), -1) * sin

    def forward(self, x, cos, sin, mask):
        batch, length, dim = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, -1).unbind(2)
        y = self.attend(self.rotate(q, cos, sin), self.rotate(k, cos, sin), v, mask)
        x = x + self.out(y.reshape(batch, length, dim))
        h = self.up(self.after(x))
        if fused:
            return x + self.down(torch_npu.npu_swiglu(h))
        first, second = h.chunk(2, -1)
        return x + self.down(F.silu(first) * second)


torch.manual_seed(0)
torch.npu.set_device(0)
fused = True
block = Block(16, 4).npu()
x = torch.randn(2, 6, 16, device="npu")
angles = torch.arange(6.0).unsqueeze(1) / 10 ** torch.arange(2.0)
angles = torch.cat((angles, angles), -1)[None, :, None].npu()
mask = torch.triu(torch.ones(2048, 2048, dtype=torch.bool, device="npu"), diagonal=1)
results = []
for fused in (True, False):
    block.zero_grad()
    y = block(x, angles.cos(), angles.sin(), mask)
    y.square().mean().backward()
    results.append([y.detach(), *(each.grad.clone() for each in block.parameters())])
for first, second in zip(*results, strict=True):
    torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-6)
print(len(results[0]), y.device)
optimizer = torch.optim.AdamW(block.parameters(), lr=1e-2)
losses = []
fused = True
for step in range(10):
    loss = F.mse_loss(block(x, angles.cos(), angles.sin(), mask), x.flip(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[-1] < losses[0])
w = torch_npu.npu_format_cast(block.qkv.weight, 29)
print(w is block.qkv.weight, int(torch_npu.get_npu_format(w)))
"""


def test_a_block_of_a_transformer_is_that_of_torchs_functions(tmp_path):
    assert programs.run(TRANSFORMER, tmp_path) == "7 npu:0\nTrue\nTrue 2\n"


CHECKPOINT = """
import torch
import torch_npu

model = torch.nn.Linear(3, 2).npu()
optimizer = torch.optim.Adam(model.parameters())
model(torch.ones(1, 3).npu()).sum().backward()
optimizer.step()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.npu.get_rng_state()}, "it.pt")
drawn = torch.rand(3, device="npu")
to_second = lambda storage, name: storage.npu(1)
for place in ("npu:0", "npu:1", torch.device("npu"), "cpu", None, {"npu:0": "npu:1"}, to_second):
    found = torch.load("it.pt", map_location=place)
    weight = found["model"]["weight"]
    print(weight.device, torch.equal(weight.cpu(), model.weight.detach().cpu()))
found = torch.load("it.pt", map_location="npu:0")
other = torch.nn.Linear(3, 2).npu()
other.load_state_dict(found["model"])
again = torch.optim.Adam(other.parameters())
again.load_state_dict(found["optimizer"])
print(again.state[other.weight]["exp_avg"].device)
torch.npu.set_rng_state(found["rng"].cpu())
print(torch.equal(torch.rand(3, device="npu"), drawn))
"""


def test_checkpoints_are_read_to_a_device(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = programs.run(CHECKPOINT, tmp_path).splitlines()
    assert lines == [
        "npu:0 True",
        "npu:1 True",
        "npu:0 True",
        "cpu True",
        "npu:0 True",
        "npu:1 True",
        "npu:1 True",
        "npu:0",
        "True",
    ]
