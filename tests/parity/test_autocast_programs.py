"""Programs under autocast against torch's: layers, functions of torch.func, checkpoints, hooks, forward mode."""

import importlib
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity needs torch")

import torchlike  # noqa: E402  # after the skip

pytestmark = [
    pytest.mark.no_pipeline(reason="dtypes are compared, which pipelines do not change"),
    pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning"),  # torch's own, once in a process
]


def part(t, name):
    return importlib.import_module(f"{t.__name__}.{name}")


def half(t, *shape):
    return t.randn(*shape).bfloat16()


def _checkpoint(t, *, use_reentrant):
    checkpoint = part(t, "utils.checkpoint").checkpoint
    return checkpoint(t.nn.Linear(3, 3), t.randn(2, 3).requires_grad_(), use_reentrant=use_reentrant)


def _self_attention(t, **options):
    layer, x = t.nn.MultiheadAttention(8, 2), t.randn(5, 2, 8)
    return layer(x, x, x, **options)


def _double_backward(t):
    weight = t.randn(3, 3).requires_grad_()
    loss = (t.randn(2, 3) @ weight).float().pow(2).sum()
    (first,) = t.autograd.grad(loss, weight, create_graph=True)
    (second,) = t.autograd.grad(first.pow(2).sum(), weight)
    return loss.detach(), first.detach(), second


def _forward_mode(t):
    mode = part(t, "autograd.forward_ad")
    with mode.dual_level():
        x = mode.make_dual(t.randn(2, 3), t.randn(2, 3))
        found = mode.unpack_dual(t.nn.functional.linear(x, t.randn(4, 3)))
    return found.primal, found.tangent


def _backward_inside(t):
    weight = t.randn(3, 3).requires_grad_()
    (t.randn(2, 3) @ weight).float().pow(2).sum().backward()
    return weight.grad


def _hooks(t):
    weight, seen = t.randn(3, 3).requires_grad_(), []
    with part(t, "autograd.graph").saved_tensors_hooks(lambda x: (seen.append(x), x)[1], lambda x: x):
        made = t.randn(2, 3) @ weight
    made.float().sum().backward()
    return [each.detach() for each in seen], weight.grad


def _losses(t):
    f = t.nn.functional
    return [
        f.cross_entropy(half(t, 2, 3), t.tensor([0, 1])), f.nll_loss(half(t, 2, 3), t.tensor([0, 1])),
        f.l1_loss(half(t, 2), t.randn(2)), f.huber_loss(half(t, 2), t.randn(2)),
        f.binary_cross_entropy_with_logits(half(t, 2), half(t, 2)),
        f.gaussian_nll_loss(half(t, 2), half(t, 2), half(t, 2).abs()),
        f.ctc_loss(half(t, 4, 1, 3), t.tensor([[1, 2]]), t.tensor([4]), t.tensor([2])),
    ]  # fmt: skip


PROGRAMS = {
    "lstm": lambda t: t.nn.LSTM(3, 4, 2, bidirectional=True)(t.randn(5, 2, 3)),
    "gru": lambda t: t.nn.GRU(3, 4)(t.randn(5, 2, 3)),
    "gru of halves": lambda t: t.nn.GRU(3, 4)(half(t, 5, 2, 3)),
    "gru with a state of halves": lambda t: t.nn.GRU(3, 4)(t.randn(5, 2, 3), half(t, 1, 2, 4)),
    "lstm with a state of halves": lambda t: t.nn.LSTM(3, 4)(t.randn(5, 2, 3), (half(t, 1, 2, 4), half(t, 1, 2, 4))),
    "rnn": lambda t: t.nn.RNN(3, 4)(t.randn(5, 2, 3)),
    "cells": lambda t: (t.nn.LSTMCell(3, 4)(t.randn(2, 3)), t.nn.GRUCell(3, 4)(t.randn(2, 3))),
    "attention": _self_attention,
    "attention without weights": lambda t: _self_attention(t, need_weights=False),
    "encoder": lambda t: t.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)(t.randn(5, 2, 8)),
    "transformer": lambda t: t.nn.Transformer(8, 2, 1, 1, 16, dropout=0.0)(t.randn(5, 2, 8), t.randn(3, 2, 8)),
    "batch norm": lambda t: t.nn.BatchNorm2d(3)(t.nn.Conv2d(3, 3, 1)(t.randn(2, 3, 4, 4))),
    "layer norm": lambda t: t.nn.LayerNorm(4)(t.nn.Linear(4, 4)(t.randn(2, 4))),
    "group norm": lambda t: t.nn.GroupNorm(2, 4)(t.nn.Conv2d(4, 4, 1)(t.randn(2, 4, 3, 3))),
    "instance norm": lambda t: t.nn.InstanceNorm2d(4, affine=True)(t.nn.Conv2d(4, 4, 1)(t.randn(2, 4, 3, 3))),
    "embedding": lambda t: (
        t.nn.Linear(4, 2)(t.nn.Embedding(5, 4)(t.tensor([1, 2]))), t.nn.EmbeddingBag(5, 4)(t.tensor([[1]])),
    ),
    "convolutions": lambda t: (
        t.nn.ConvTranspose2d(3, 2, 2)(t.randn(1, 3, 4, 4)), t.nn.Conv1d(3, 2, 2)(t.randn(1, 3, 4)),
        t.nn.Conv3d(3, 2, 2)(t.randn(1, 3, 4, 4, 4)),
    ),
    "pooling": lambda t: (
        t.nn.AdaptiveAvgPool2d(1)(half(t, 1, 2, 4, 4)), t.nn.MaxPool3d(2)(half(t, 1, 2, 4, 4, 4)),
        t.nn.AvgPool2d(2)(half(t, 1, 2, 4, 4)),
    ),
    "products": lambda t: (
        t.einsum("ij,jk->ik", t.randn(2, 3), t.randn(3, 4)), t.nn.Bilinear(2, 3, 4)(t.randn(5, 2), t.randn(5, 3)),
        t.tensordot(t.randn(2, 3), t.randn(3, 2), 1), t.randn(2, 3) @ t.randn(3), t.dot(t.randn(3), t.randn(3)),
        t.outer(t.randn(2), t.randn(2)), t.addmv(t.randn(2), t.randn(2, 3), t.randn(3)),
        t.linalg.multi_dot([t.randn(2, 3), t.randn(3, 4), t.randn(4, 2)]),
    ),
    "losses": _losses,
    "mixed arguments": lambda t: (
        half(t, 2) + t.randn(2), half(t, 2) * 2.0, t.stack([half(t, 2), t.randn(2)]), half(t, 2, 2).add_(t.randn(2, 2)),
        t.randn(2, 2).addmm_(t.randn(2, 2), t.randn(2, 2)), t.nn.functional.cosine_similarity(half(t, 2, 3), t.randn(2, 3)),
    ),
    "matrices": lambda t: (
        t.linalg.norm(half(t, 2, 2)), t.linalg.inv(t.eye(2).bfloat16()), t.linalg.det(t.randn(2, 2)), t.cov(t.randn(3, 4)),
        t.linalg.matrix_power(t.randn(2, 2), 3), t.linalg.matrix_power(t.eye(2).bfloat16(), -2),
        t.cdist(half(t, 1, 2, 3), t.randn(1, 2, 3)), t.fft.rfft(half(t, 4)),
    ),
    "pictures": lambda t: (
        t.nn.functional.interpolate(half(t, 1, 1, 2, 2), scale_factor=2, mode="bilinear"),
        t.nn.functional.grid_sample(half(t, 1, 1, 3, 3), t.randn(1, 2, 2, 2), align_corners=False),
        t.nn.functional.affine_grid(t.randn(1, 2, 3), (1, 1, 2, 2), align_corners=False),
    ),
    "float16 in a block of bfloat16": lambda t: (
        t.nn.functional.pad(t.randn(1, 2, 4).half(), (1, 1), mode="circular"), t.vander(t.randn(3).half()),
    ),
    "weight norm": lambda t: part(t, "nn.utils.parametrizations").weight_norm(t.nn.Linear(3, 3))(t.randn(2, 3)),
    "checkpoint": lambda t: _checkpoint(t, use_reentrant=False),
    "reentrant checkpoint": lambda t: _checkpoint(t, use_reentrant=True),
    "double backward": _double_backward,
    "forward mode": _forward_mode,
    "backward inside the block": _backward_inside,
    "hooks on saved tensors": _hooks,
}  # fmt: skip


def flatten(value):
    if isinstance(value, (list, tuple)):
        return [leaf for each in value if each is not None for leaf in flatten(each)]
    return [value]


def run(t, program):
    """Return the dtypes and values of a program's results, and the gradients of its parameters."""
    t.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with t.autocast("cpu", dtype=t.bfloat16):
            results = flatten(program(t))
        needed = [each for each in results if each.requires_grad]
        if needed:
            sum(each.float().sum() for each in needed).backward()
    return [(str(each.dtype).rpartition(".")[2], np.asarray(each.detach().tolist())) for each in results]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_what_torchs_give(name):
    for (dtype, values), (expected_dtype, expected) in zip(
        run(torchlike, PROGRAMS[name]), run(torch, PROGRAMS[name]), strict=True
    ):
        assert dtype == expected_dtype
        np.testing.assert_allclose(values, expected, rtol=0.05, atol=0.05)


def make_factors(t):
    """Return functions whose gradients solve triangular systems with products of matrices on the right."""
    linalg = t.linalg
    return linalg.cholesky, lambda x: linalg.qr(x)[1], lambda x: linalg.lu(x)[1], linalg.inv


def make_transforms(t):
    """Return transforms of a loss, and the list in which it notes the dtypes that it meets."""
    f, fn, seen = part(t, "func"), t.nn.functional, []
    t.manual_seed(0)
    x, weight, target, batch = t.randn(4, 4), t.randn(4, 4), t.tensor([0, 1, 2, 3]), t.randn(5, 4, 4)
    net = t.nn.Linear(4, 4)
    weights = {name: each.detach() for name, each in net.named_parameters()}

    def note(value):
        seen.append(str(value.dtype).rpartition(".")[2])
        return value

    def loss(weight, x):
        product = note(note(fn.linear(x, weight)) @ weight)
        softmax = note(fn.softmax(product, -1))
        return note(fn.mse_loss(product, x)) + note(fn.cross_entropy(product, target)) + note(softmax.sum())

    def sum_of(factor):
        return lambda x: note(factor(x).sum())

    spread = weight @ weight.T + 4 * t.eye(4)

    def loss_of(weights, x):
        return fn.mse_loss(f.functional_call(net, weights, (x,)), x)

    return seen, {
        "plain": lambda: loss(weight, x),
        "grad": lambda: f.grad(loss)(weight, x),
        "grad of grad": lambda: f.grad(lambda weight: f.grad(loss)(weight, x).float().pow(2).sum())(weight),
        "vmap": lambda: f.vmap(loss, (None, 0))(weight, batch),
        "vmap of grad": lambda: f.vmap(f.grad(loss), (None, 0))(weight, batch),
        "grad of vmap": lambda: f.grad(lambda weight: f.vmap(loss, (None, 0))(weight, batch).sum())(weight),
        "vmap of a layer": lambda: f.vmap(lambda x: note(net(x)))(batch),
        "ensemble": lambda: f.vmap(lambda weight: fn.linear(x, weight, net.bias))(batch),
        "backward of factors": lambda: [f.grad(sum_of(factor))(spread) for factor in make_factors(t)],
        "vjp": lambda: f.vjp(lambda weight: loss(weight, x), weight)[1](t.ones(())),
        "jvp": lambda: f.jvp(lambda weight: loss(weight, x), (weight,), (t.ones(4, 4),)),
        "jacrev": lambda: f.jacrev(lambda weight: fn.linear(x, weight))(weight),
        "jacfwd": lambda: f.jacfwd(lambda weight: fn.linear(x, weight))(weight),
        "gradients per sample": lambda: list(f.vmap(f.grad(loss_of), (None, 0))(weights, batch).values()),
    }


@pytest.mark.parametrize("name", make_transforms(torchlike)[1])
def test_transforms_give_what_torchs_give(name):
    found = []
    for t in (torchlike, torch):
        seen, transforms = make_transforms(t)
        with t.autocast("cpu", dtype=t.bfloat16):
            results = flatten(transforms[name]())
        found.append((seen, [(str(each.dtype).rpartition(".")[2], np.asarray(each.tolist())) for each in results]))
    (our_notes, ours), (notes, theirs) = found
    assert our_notes == notes
    for (dtype, values), (expected_dtype, expected) in zip(ours, theirs, strict=True):
        assert dtype == expected_dtype
        np.testing.assert_allclose(values, expected, rtol=0.05, atol=0.5)
