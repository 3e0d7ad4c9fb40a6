"""What a row of the breadth table costs at least here: the NumPy calls that compute it, alone, and one call's dispatch.

An expression is evaluated as it stands with NumPy's arrays instead of tensors, unless it has another form below.
``N`` is NumPy, ``G`` a random generator, ``O`` and ``J`` a float32 and an int64 array of no dimension, since a Python
number costs NumPy 400 ns more. None stands where nothing is computed: the floor is the dispatch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

#: What a call costs beside its NumPy calls, in nanoseconds.
DISPATCH: Final = 250.0

#: Expression → the NumPy calls that compute it.
FLOORS: Final[dict[str, str | None]] = {
    # element-wise
    "x + 1": "N.add(x, O)",
    "x * 2.5": "N.multiply(x, O)",
    "1 - x": "N.subtract(O, x)",
    "x ** 2": "N.square(x)",
    "p ** 0.5": "N.sqrt(p)",
    "x.abs()": "N.absolute(x)",
    "x.exp()": "N.exp(x)",
    "p.log()": "N.log(p)",
    "p.sqrt()": "N.sqrt(p)",
    "p.rsqrt()": "N.divide(O, N.sqrt(p))",
    "x.sin()": "N.sin(x)",
    "x.tanh()": "N.tanh(x)",
    "x.sigmoid()": "N.divide(O, N.add(O, N.exp(N.negative(x))))",
    "x.relu()": "N.maximum(x, O)",
    "F.gelu(x)": "N.multiply(N.multiply(x, O), N.add(O, N.tanh(N.multiply(x, O))))",
    "F.silu(x)": "N.divide(x, N.add(O, N.exp(N.negative(x))))",
    "F.leaky_relu(x)": "N.maximum(x, N.multiply(x, O))",
    "F.softplus(x)": "N.logaddexp(x, O)",
    "x.clamp(-1, 1)": "N.minimum(N.maximum(x, O), O)",
    "x.clamp(min=0)": "N.maximum(x, O)",
    "x.round()": "N.rint(x)",
    "T.maximum(x, y)": "N.maximum(x, y)",
    "T.where(b, x, y)": "N.where(b, x, y)",
    "x.masked_fill(b, 0.0)": "N.where(b, O, x)",
    "T.lerp(x, y, 0.5)": "N.add(x, N.multiply(N.subtract(y, x), O))",
    "T.add(x, y, alpha=2)": "N.add(x, N.multiply(y, O))",
    "x.float()": None,
    "x.to(T.int64)": "x.astype(N.int64)",
    "i // 3": "N.floor_divide(i, J)",
    "x > 0": "N.greater(x, O)",
    "T.isnan(x)": "N.isnan(x)",
    "x.clone()": "x.copy()",
    "x.log1p()": "N.log1p(x)",
    # in place
    "z.add_(y)": "N.add(z, y, z)",
    "z.mul_(1.0)": "N.multiply(z, O, z)",
    "z.add_(y, alpha=0.0)": "N.add(z, N.multiply(y, O), z)",
    "z.zero_()": "z.fill(0)",
    "z.fill_(0.5)": "z.fill(0.5)",
    "z.copy_(y)": "N.copyto(z, y)",
    "z.clamp_(-1, 1)": "N.minimum(N.maximum(z, O, z), O, z)",
    "T.add(x, y, out=z)": "N.add(x, y, z)",
    "z.uniform_()": "G.random(None, N.float32, z)",
    "z.normal_()": "G.standard_normal(None, N.float32, z)",
    # reductions
    "x.sum()": "N.add.reduce(x)",
    "x.mean()": "N.divide(N.add.reduce(x), O)",
    "x.max()": "N.maximum.reduce(x)",
    "x.std()": "N.sqrt(N.divide(N.add.reduce(N.square(N.subtract(x, N.add.reduce(x)))), O))",
    "x.norm()": "N.sqrt(N.dot(x, x))",
    "b.any()": "N.logical_or.reduce(b)",
    "x.logsumexp(0)": "N.log(N.add.reduce(N.exp(N.subtract(x, N.maximum.reduce(x)))))",
    "m.sum(0)": "N.add.reduce(m, 0)",
    "m.sum(1)": "N.add.reduce(m, 1)",
    "m.mean(-1, keepdim=True)": "N.divide(N.add.reduce(m, -1, keepdims=True), O)",
    "m.max(1)": "N.maximum.reduce(m, 1), m.argmax(1)",
    "m.cumsum(1)": "N.add.accumulate(m, 1)",
    "x.sort()": "x.take(x.argsort(kind='stable'))",
    "x.topk(1)": "x.take(x.argpartition(-1)[-1:])",
    "m.var(-1, unbiased=False)": "variance(m)",
    "T.count_nonzero(i)": "N.count_nonzero(i)",
    # joining and splitting
    "T.cat([x, y])": "N.concatenate((x, y))",
    "T.stack([x, y])": "N.concatenate((x[None], y[None]))",
    "T.cat([m, m], 1)": "N.concatenate((m, m), 1)",
    "m.chunk(2)": "m[:1], m[1:]",
    "m.split(1)[0]": "[m[j : j + 1] for j in range(w)]",
    "m.repeat(2, 1)": "N.concatenate((m, m))",
    "m.flip(0)": "m[::-1].copy()",
    "m.roll(1, 0)": "N.concatenate((m[-1:], m[:-1]))",
    # indexing
    "x[0]": "x[0, ...]",
    "m[0]": "m[0, ...]",
    "x[k]": "x.take(k)",
    "m[r]": "m.take(r, 0)",
    "m.index_select(0, r)": "m.take(r, 0)",
    "x.gather(0, k)": "x.take(k)",
    "z.index_add_(0, k, y)": "N.add.at(z, k, y)",
    "z.scatter_(0, k, y)": "z.put(k, y)",
    "z.scatter_add_(0, k, y)": "N.add.at(z, k, y)",
    "b.nonzero()": "N.transpose(b.nonzero())",
    "setitem(z, b, 0.0)": "N.putmask(z, b, O)",
    "T.triu(m)": "N.multiply(m, m)",
    # factories
    "T.zeros(s)": "N.zeros(s, N.float32)",
    "T.ones(s)": "N.ones(s, N.float32)",
    "T.empty(s)": "N.empty(s, N.float32)",
    "T.full((s,), 2.0)": "N.full(s, 2.0, N.float32)",
    "T.arange(s)": "N.arange(s)",
    "T.linspace(0, 1, s)": "N.multiply(N.arange(s), O)",
    "T.rand(s)": "G.random(s, N.float32)",
    "T.randn(s)": "G.standard_normal(s, N.float32)",
    "T.zeros_like(x)": "N.zeros(s, N.float32)",
    "T.ones_like(x)": "N.ones(s, N.float32)",
    "x.new_zeros(s)": "N.zeros(s, N.float32)",
    "T.randperm(s)": "G.permutation(s)",
    "T.from_numpy(a)": None,
    "T.tensor(a)": "a.copy()",
    # softmax and losses
    "F.softmax(m, -1)": "softmax(m)",
    "F.log_softmax(m, -1)": "log_softmax(m)",
    "F.cross_entropy(m, r)": "N.add.reduce(log_softmax(m)[rows, r])",
    "F.nll_loss(m, r)": "N.add.reduce(m[rows, r])",
    "F.mse_loss(x, y)": "N.divide(N.add.reduce(N.square(N.subtract(x, y))), O)",
    "F.l1_loss(x, y)": "N.divide(N.add.reduce(N.absolute(N.subtract(x, y))), O)",
    "F.binary_cross_entropy_with_logits(x, q)": (
        "N.divide(N.add.reduce(N.add(N.subtract(N.maximum(x, O), N.multiply(x, q)),"
        " N.log1p(N.exp(N.negative(N.absolute(x)))))), O)"
    ),
    "F.smooth_l1_loss(x, y)": (
        "N.divide(N.add.reduce(N.multiply(N.square(N.minimum(N.absolute(N.subtract(x, y)), O)), O)), O)"
    ),
    "F.one_hot(r, w)": "N.eye(w, dtype=N.int64).take(r, 0)",
    "F.normalize(m, dim=-1)": ("N.divide(m, N.maximum(N.sqrt(N.add.reduce(N.square(m), -1, keepdims=True)), O))"),
    "F.kl_div(m, m)": "N.divide(N.add.reduce(N.multiply(m, N.subtract(N.log(N.absolute(m)), m)), None), O)",
    "F.binary_cross_entropy(q, q)": (
        "N.divide(N.add.reduce(N.add(N.multiply(q, N.log(q)),"
        " N.multiply(N.subtract(O, q), N.log1p(N.negative(q))))), O)"
    ),
    "F.cosine_similarity(m, m)": (
        "N.divide(N.add.reduce(N.multiply(m, m), 1),"
        " N.sqrt(N.multiply(N.add.reduce(N.square(m), 1), N.add.reduce(N.square(m), 1))))"
    ),
    # matrices
    "m @ m": "N.dot(m, m)",
    "m @ v": "N.dot(m, v)",
    "v @ v": "N.dot(v, v)",
    "F.linear(m, m, v)": "N.add(N.dot(m, m.T), v)",
    "T.addmm(m, m, m)": "N.add(m, N.dot(m, m))",
    "T.outer(v, v)": "N.multiply(v[:, None], v)",
    "T.bmm(m[None], m[None])": "N.matmul(m[None], m[None])",
    "T.einsum('ij,jk->ik', m, m)": "N.dot(m, m)",
    "T.dot(v, v)": "N.dot(v, v)",
    # networks
    "F.layer_norm(m, (w,))": "normalize(m)",
    "F.embedding(r, m)": "m.take(r, 0)",
    "F.dropout(x, 0.5)": "N.multiply(x, N.multiply(N.greater(G.random(s, N.float32), O), O))",
    "F.batch_norm(c, e, d, training=True)": "normalize(c.reshape(c.shape[1], -1)).reshape(c.shape)",
    "F.batch_norm(c, e, d)": "N.multiply(N.subtract(c, O), O)",
    "F.pad(x, (1, 1))": "N.concatenate((x[:1], x, x[:1]))",
    "F.conv2d(c, f, padding=1)": "convolution(c, f)",
    "F.max_pool2d(c, 2)": (
        "N.maximum(N.maximum(c[..., ::2, ::2], c[..., 1::2, ::2]), N.maximum(c[..., ::2, 1::2], c[..., 1::2, 1::2]))"
    ),
    "F.avg_pool2d(c, 2)": (
        "N.multiply(N.add(N.add(c[..., ::2, ::2], c[..., 1::2, ::2]), N.add(c[..., ::2, 1::2], c[..., 1::2, 1::2])), O)"
    ),
    "F.interpolate(c, scale_factor=2)": "c.repeat(2, 2).repeat(2, 3)",
    "F.scaled_dot_product_attention(h, h, h)": ("N.matmul(softmax(N.multiply(N.matmul(h, h.swapaxes(-1, -2)), O)), h)"),
    "F.group_norm(c, 1)": "normalize(c.reshape(1, -1)).reshape(c.shape)",
    "F.conv1d(c[:, :, 0], f[:, :, 0], padding=1)": "convolution(c[:, :, 0], f[:, :, 0])",
    # gradients: the calls of the forward formula and of its derivative
    "grad(lambda g: (g * g).sum())": "N.add.reduce(N.multiply(x, x)), N.multiply(x, O), N.add(x, x)",
    "grad(lambda g: g.tanh().mean())": "N.add.reduce(N.tanh(x)), N.multiply(N.subtract(O, N.square(x)), O)",
    "grad(lambda g: g.exp().log().sum())": "N.add.reduce(N.log(N.exp(x))), N.divide(x, x), N.multiply(x, x)",
    "grad(lambda g: F.mse_loss(g, y))": "N.add.reduce(N.square(N.subtract(x, y))), N.multiply(N.subtract(x, y), O)",
    "grad(lambda g: g.view(-1).sum())": "N.add.reduce(x), N.full(s, 1.0, N.float32)",
    "grad(lambda g: g.softmax(0).sum())": (
        "N.add.reduce(softmax(x)), N.subtract(N.multiply(x, x), N.multiply(x, N.add.reduce(N.multiply(x, x))))"
    ),
    # views
    "x.view(-1)": "x.reshape(-1)",
    "m.t()": "m.T",
    "m.permute(1, 0)": "m.transpose(1, 0)",
    "m.transpose(0, 1)": "m.transpose(1, 0)",
    "x.unsqueeze(0)": "x[None]",
    "m.flatten()": "m.reshape(-1)",
    "x.detach()": "x.view()",
    "m.expand(2, *m.shape)": "N.ndarray((2, *m.shape), m.dtype, m, 0, (0, *m.strides))",
    "m.view(-1)": "m.reshape(-1)",
    "m.narrow(0, 0, 1)": "m[:1]",
    "m.select(0, 0)": "m[0, ...]",
    "x.view_as(x)": "x.view()",
    "m.unbind(0)[0]": "[m[j, ...] for j in range(w)]",
    "m.contiguous()": None,
    "m.t().contiguous()": "m.T.copy()",
    "T.atleast_1d(x)": None,
    # host reads
    "float(x)": "x.item()",
    "int(i)": "i.item()",
    "bool(x)": "x.item()",
    "x.numpy()": None,
    "x.device": None,
    "x.size(0)": "x.shape[0]",
    "x.dim()": "x.ndim",
    "x.numel()": "x.size",
    "x.stride()": "x.strides",
    "x.is_contiguous()": "x.flags.c_contiguous",
    "x.data_ptr()": "x.__array_interface__",
    "x.requires_grad": None,
    "x.to(T.float32)": None,
    "x.to('cpu')": None,
    "x.contiguous()": None,
    "x.cpu()": None,
    "T.is_tensor(x)": None,
    "x.storage_offset()": None,
    "x.element_size()": "x.itemsize",
    "x.is_floating_point()": "x.dtype",
    "T.tensor(1.0)": "N.array(1.0, N.float32)",
    "T.tensor([1.0, 2.0])": "N.array([1.0, 2.0], N.float32)",
    "x.grad": None,
    # guards
    "no_grad()": None,
    "x.requires_grad_(False)": None,
    "x.detach_()": None,
}


def floor_of(call: str, names: dict[str, Any]) -> Callable[[], object]:
    """Return a function that makes the NumPy calls of a row alone.

    ``names`` are the row's inputs as NumPy's arrays; `names_for_floors` adds what the formulas above use.
    """
    formula = FLOORS.get(call, call)
    return eval(f"lambda: ({formula})", names)  # type: ignore[no-any-return]  # noqa: S307  # the table above


def names_for_floors(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the row's inputs with the names that only formulas use."""
    width = inputs["w"]
    return inputs | {
        "N": np,
        "G": np.random.default_rng(0),
        "O": np.array(1, np.float32),
        "J": np.array(3),
        "rows": np.arange(width),
        "softmax": softmax,
        "log_softmax": log_softmax,
        "variance": variance,
        "normalize": normalize,
        "convolution": convolution,
    }


def softmax(x: Any) -> Any:
    """Return the softmax over the last dimension, in five calls."""
    found = np.subtract(x, np.maximum.reduce(x, -1, keepdims=True))
    np.exp(found, found)
    return np.divide(found, np.add.reduce(found, -1, keepdims=True), found)


def log_softmax(x: Any) -> Any:
    """Return the logarithm of the softmax over the last dimension, in six calls."""
    found = np.subtract(x, np.maximum.reduce(x, -1, keepdims=True))
    return np.subtract(found, np.log(np.add.reduce(np.exp(found), -1, keepdims=True)), found)


def variance(x: Any) -> Any:
    """Return the variance over the last dimension."""
    count = np.float32(x.shape[-1])
    return np.add.reduce(np.square(np.subtract(x, np.add.reduce(x, -1, keepdims=True) / count)), -1) / count


def normalize(x: Any) -> Any:
    """Return rows of mean 0 and variance 1."""
    found = np.subtract(x, np.add.reduce(x, -1, keepdims=True))
    return np.divide(found, np.sqrt(np.add.reduce(np.square(found), -1, keepdims=True)), found)


def convolution(x: Any, weight: Any) -> Any:
    """Return the convolution with a border of one zero: windows laid out beside each other, and one product."""
    padded = np.zeros((*x.shape[:2], *(size + 2 for size in x.shape[2:])), x.dtype)
    padded[(..., *(slice(1, -1) for _ in x.shape[2:]))] = x
    places, window = x.shape[2:], weight.shape[2:]
    steps = padded.strides
    columns = np.ndarray((x.shape[1], *window, *places), x.dtype, padded, 0, (steps[1], *steps[2:], *steps[2:]))
    rows = weight.reshape(len(weight), -1)
    return np.dot(rows, columns.reshape(rows.shape[1], math.prod(places))).reshape(1, len(weight), *places)
