"""Tensors: made, computed with, indexed, converted, differentiated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import torchlike
import torchlike as torch
import torchlike.nn.functional as F
from torchlike import Tensor

x = torchlike.tensor([1.0, 2.0], requires_grad=True)
y: Tensor = x * 2 + 1 - 3 / x
z = (x @ x).relu().sum()
z.backward()
if x.grad is not None:
    x.grad.zero_()
m = torchlike.max(torch.rand(3, 4), dim=1)
values, indices = m
v: Tensor = m.values
i: Tensor = m.indices
a = torch.zeros(2, 3)
b = torch.zeros((2, 3), dtype=torch.float64, device="cpu")
c = torch.ones(2, 3, device=torch.device("cpu"), requires_grad=True)
d = torch.arange(10).view(2, 5)
e = d[None, ..., 1:]
f = d[d > 3]
g = d[torch.tensor([0, 1]), :]
d[0, 1] = 5
d[d == 3] = 0
h = d[:, [0, 1]]
k = d[0]
n: int = d.size(0) + d.stride(-1)
steps: tuple[int, ...] = d.stride()
whole: torch.Size = d.size()
s: torch.Size = d.shape
p, q = d.shape
rows: int = d.shape[0]
t = d.T
total = sum(x)
item = z.item()
as_float: float = z.item()
as_int: int = d.sum().item()
arr: np.ndarray[Any, Any] = x.detach().numpy()
back = torch.from_numpy(arr)
cat = torch.cat([a, b], dim=0)
st = torch.stack((a, a))
chunks = torch.chunk(a, 2)
first, second = a.split(1)
left, right = torch.split(a, [1, 1])
w = torch.where(a > 0, a, torch.zeros_like(a))
w2 = torch.where(a > 0, a, 0.0)
mm = a.permute(1, 0).contiguous().view(-1)
ss = a.sum(dim=(0, 1), keepdim=True)
mean = a.mean(0)
std = a.std(dim=0, unbiased=False)
top = a.topk(2)
tv, ti = a.topk(2, dim=1)
srt = torch.sort(a, dim=-1, descending=True)
eq: Tensor = a == b
acc = (a.argmax(dim=1) == b.argmax(dim=1)).float().mean().item()
o = F.one_hot(torch.tensor([0, 1]), num_classes=3)
sm = F.softmax(a, dim=-1)
lsm = torch.log_softmax(a, dim=1)
ln = torch.linalg.norm(a)
u, s2, vh = torch.linalg.svd(a)
inv = torch.linalg.inv(torch.eye(3))
ff = torch.fft.fft(a)
sp = torch.special.expit(a)
cl = a.clamp(min=0)
cl2 = torch.clamp(a, 0, 1)
ex = a.unsqueeze(0).expand(4, -1, -1)
rp = a.repeat(2, 1)
fl = a.flatten(start_dim=1)
sq = a.squeeze()
nz = torch.nonzero(a)
r1, r2 = torch.nonzero(a, as_tuple=True)
tt = a.to("cpu").to(torch.float32).to(device="cpu", dtype=torch.float64)
tt2 = a.to(b)
half = a.half().float().long().bool()
ml = a.masked_fill(a > 0, float("-inf"))
sc = torch.zeros(3, 5).scatter_(0, torch.tensor([[0, 1, 2, 0, 0]]), 1.0)
ga = a.gather(1, torch.tensor([[0], [1]]))
ei = torch.einsum("ij,jk->ik", a, a.T)
bm = torch.bmm(torch.rand(2, 3, 4), torch.rand(2, 4, 5))
mg = torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij")
un = torch.unique(d)
un2, counts = torch.unique(d, return_counts=True)
full = torch.full((2, 3), 3.14)
li = torch.linspace(0, 1, steps=5)
ey = torch.eye(3)
tri = torch.tril(torch.ones(3, 3))
rn = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
ri = torch.randint(0, 10, (3,))
ri2 = torch.randint(10, (3,))
pm = torch.randperm(10)
torch.manual_seed(0)
print(x.shape, x.dtype, x.device, x.ndim, x.numel(), len(x), x.is_leaf)
with torch.no_grad():
    x -= 0.1 * x
for row in a:
    print(row.tolist())
if (a > 0).any():
    print(bool(a.all()))
neg = -a
powr = a**2
modr = a % 2
fd = a // 2
inv2 = ~(a > 0)
both = (a > 0) & (b < 1) | (a != 0)
np_mix = a + np.ones((2, 3))
rsub = 1 - a
rpow = 2**a
rdiv = 1 / a
hooked = x.register_hook(lambda grad: grad * 2)
hooked.remove()


def batches(data: Tensor, size: int) -> Iterator[Tensor]:
    for start in range(0, data.shape[0], size):
        yield data[start : start + size]


def compose(*functions: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def run(v: Tensor) -> Tensor:
        for function in functions:
            v = function(v)
        return v

    return run


pipeline = compose(torch.relu, torch.sigmoid, F.relu, torch.Tensor.abs, lambda v: v + 1)
by_axis: Tensor = a.sum(axis=1, keepdims=True) + torch.cumsum(a, axis=0)
torch.backends.cudnn.benchmark = True
