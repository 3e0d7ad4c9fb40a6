"""Mistakes in calls of functions and methods of tensors."""

import torchlike as torch
from torchlike import Tensor

x = torch.ones(2, 3)
torch.add(x, othr=x)  # error
torch.add(x, "1")  # error
torch.add(x)  # error
x.reluu()  # error
x.sum(axes=1)  # error
x.sum(dim="0")  # error
x.view("3")  # error
a, b = x.sum() if False else torch.topk(x)  # error
v, i, j = torch.max(x, dim=1)  # error
torch.zeros(2, dtype="float32")  # error
torch.zeros(2, device=3.5)  # error
torch.zeros("2")  # error
torch.zeros(2, requires_grad="yes")  # error
torch.ones(2, 3).to(3.5)  # error
x.grad.foo  # error
x.grad.zero_()  # error
torch.cat(x, x)  # error
torch.cat([x, 3])  # error
torch.cat([x, x], axis="0")  # error
torch.stack(x, y=1)  # error
torch.matmul(x)  # error
torch.matmul(x, 3)  # error
torch.where(x)[0].foo  # error
torch.linspace("0", 1, 5)  # error
torch.arange("10")  # error
torch.randint(0, 10)  # error
torch.randn(2.5)  # error
torch.full((2, 3))  # error
torch.full((2, 3), "x")  # error
torch.manual_seed("0")  # error
torch.tensor()  # error
torch.tensor([1.0], dtype=32)  # error
torch.tensor([1.0], device=1.5)  # error
torch.tensor([1.0], requires_gard=True)  # error
torch.from_numpy([1, 2])  # error
torch.einsum(x, "ij")  # error
torch.linalg.inv("x")  # error
torch.linalg.invv(x)  # error
torch.fft.fft(x, n="3")  # error
torch.special.expit("x")  # error
torch.clamp(x, min="0")  # error
torch.sort(x, descending="yes", foo=1)  # error
torch.set_default_dtype("float32")  # error
torch.device(3.5)  # error
torch.device("cpu", "0")  # error
torch.save()  # error
torch.load()  # error
torch.load("x", map_location=3.5)  # error
torch.flot32  # error
n: int = x.shape  # error
s: str = x.item()  # error
t: Tensor = x.shape  # error
t2: Tensor = x.tolist()  # error
f: float = x.sum()  # error
shape: tuple[str, ...] = x.shape  # error
x + "a"  # error
"a" + x  # error
x @ "a"  # error
x["a"]  # error
x[1.5]  # error
x[0, "a"]  # error
x["a":"b"]  # error
x[0, 0.5:]  # error
x[0] = "a"  # error
x(3)  # error
x.requires_gard = True  # error
x.dtype = 3  # error
x.shape.foo  # error
x.size("0")  # error
x.size(0).foo  # error
x.stride("0")  # error
x.stride().foo  # error
x.reshape(2, "3")  # error
x.permute("a")  # error
x.transpose(0)  # error
x.unsqueeze()  # error
x.expand(3.5)  # error
x.mean(dim=1, keepdims_=True)  # error
x.backward(retain_grph=True)  # error
x.backward(3)  # error
x.masked_fill(x > 0)  # error
x.scatter_(0, x)  # error
x.gather(1)  # error
x.split()  # error
x.chunk("2")  # error
x.repeat("2")  # error
x.numpy(forcee=True)  # error
x.type(3)  # error
x.clone(3)  # error
x.item(3)  # error
x.detach(True)  # error
x.register_hook(3)  # error
x.add_("x")  # error
x.copy_(3, foo=1)  # error
torch.autograd.grad(x)  # error
torch.autograd.grad(x, x, allow_unused=True)[0].norm()  # error
torch.set_num_threads("1")  # error
torch.autograd.grad(x, "x")  # error
torch.autograd.grad(x, x, create_graph="x")  # error
torch.distributions.Normal(0.0)  # error
torch.distributions.Normal("0", 1)  # error
torch.distributions.Normal(0.0, 1.0).sample(3)  # error
torch.distributions.Categorical(x).sample("3")  # error
torch.distributions.Normal(0.0, 1.0).sampel()  # error
