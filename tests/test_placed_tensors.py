"""Tensors over several processes: operators give what they give for one device, for generated placements and meshes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ranks_in_threads import run_ranks

import torchlike as torch
from torchlike.distributed.placed import record_of
from torchlike.distributed.tensor import DeviceMesh, DTensor, Partial, Replicate, Shard, distribute_tensor

F = torch.nn.functional


def full(x: Any) -> Any:
    """Return all elements of a tensor."""
    return x if record_of(x) is None else x.full_tensor()


def place(x: Any, mesh: DeviceMesh, placements: Any) -> Any:
    """Return a tensor that lies so, of one that all processes have; it has memory of its own."""
    return distribute_tensor(x.clone(), mesh, placements, src_data_rank=None)


def lay(x: Any, mesh: DeviceMesh, placements: Any) -> Any:
    """Return a tensor that lies so; one to be summed has other numbers in each process."""
    found = place(x, mesh, [Replicate() if isinstance(each, Partial) else each for each in placements])
    local = found.to_local().clone()
    for dim, each in enumerate(placements):
        if isinstance(each, Partial) and each.reduce_op == "sum":
            count = mesh.shape[dim]
            local = local * ((mesh.get_coordinate()[dim] + 1) / (count * (count + 1) / 2))
    return DTensor.from_local(local, mesh, placements, shape=list(x.shape))


def of_placements(random_: random.Random, shape: Any, ndim: int, *, partial: bool) -> list[Any]:
    """Draw placements for a tensor of a shape."""
    choices: list[Any] = [Replicate(), *(Shard(dim) for dim in range(len(shape)))]
    if partial:
        choices.append(Partial())
    return [random_.choice(choices) for _ in range(ndim)]


def draw(*shape: int, dtype: Any = torch.float64, high: int = 0) -> Any:
    if high:
        return torch.randint(0, high, shape)
    return torch.randn(*shape, dtype=dtype)


CASES: dict[str, tuple[Callable[..., Any], Callable[[], list[Any]]]] = {
    "add": (lambda x, y: x + y, lambda: [draw(4, 6), draw(4, 6)]),
    "add_broadcast": (lambda x, y: x + y, lambda: [draw(5, 1, 3), draw(4, 1)]),
    "add_alpha": (lambda x, y: torch.add(x, y, alpha=2), lambda: [draw(5, 3), draw(3)]),
    "sub_number": (lambda x: 1 - x, lambda: [draw(5, 3)]),
    "mul": (lambda x, y: x * y, lambda: [draw(4, 6), draw(6)]),
    "div": (lambda x, y: x / (y * y + 1), lambda: [draw(4, 6), draw(6)]),
    "number": (lambda x: 2 * x + 1, lambda: [draw(7, 3)]),
    "relu": (lambda x: x.relu() - x.neg(), lambda: [draw(4, 6)]),
    "where": (lambda c, x, y: torch.where(c > 0, x, y), lambda: [draw(4, 6), draw(4, 6), draw(6)]),
    "lerp": (lambda x, y: x.lerp(y, 0.3), lambda: [draw(4, 6), draw(4, 6)]),
    "addcmul": (lambda x, y, z: x.addcmul(y, z, value=2), lambda: [draw(4, 6), draw(4, 6), draw(6)]),
    "mm": (lambda x, y: x @ y, lambda: [draw(4, 6), draw(6, 8)]),
    "mm_uneven": (lambda x, y: x @ y, lambda: [draw(5, 7), draw(7, 3)]),
    "bmm": (torch.bmm, lambda: [draw(4, 3, 6), draw(4, 6, 2)]),
    "matmul": (lambda x, y: x @ y, lambda: [draw(2, 4, 3, 6), draw(2, 4, 6, 2)]),
    "matmul_3d_2d": (lambda x, y: x @ y, lambda: [draw(4, 3, 6), draw(6, 2)]),
    "linear": (F.linear, lambda: [draw(4, 3, 6), draw(8, 6), draw(8)]),
    "addmm": (lambda b, x, y: torch.addmm(b, x, y, beta=0.5), lambda: [draw(8), draw(4, 6), draw(6, 8)]),
    "mv": (lambda x, y: x @ y, lambda: [draw(4, 6), draw(6)]),
    "dot": (lambda x, y: x @ y, lambda: [draw(6), draw(6)]),
    "sum": (lambda x: x.sum(), lambda: [draw(4, 6)]),
    "sum_dim": (lambda x: x.sum(1), lambda: [draw(4, 6, 2)]),
    "sum_keepdim": (lambda x: x.sum((0, 2), keepdim=True), lambda: [draw(4, 6, 2)]),
    "mean": (lambda x: x.mean(), lambda: [draw(4, 6)]),
    "mean_uneven": (lambda x: x.mean(1) + x.mean(), lambda: [draw(7, 5)]),
    "amax": (lambda x: x.amax(0), lambda: [draw(4, 6)]),
    "max": (lambda x: x.max() + x.min(), lambda: [draw(5, 3)]),
    "max_dim": (lambda x: x.max(1), lambda: [draw(4, 6)]),
    "argmax": (lambda x: x.argmax(1), lambda: [draw(4, 6)]),
    "prod": (lambda x: x.prod(1), lambda: [draw(4, 4)]),
    "any": (lambda x: (x > 1.5).any(1), lambda: [draw(4, 4)]),
    "all": (lambda x: (x > -1.5).all(), lambda: [draw(4, 4)]),
    "var": (lambda x: x.var(1) + x.std(), lambda: [draw(4, 6)]),
    "norm": (lambda x: x.norm() + torch.linalg.vector_norm(x, 3), lambda: [draw(4, 6)]),
    "norm_inf": (lambda x: torch.linalg.vector_norm(x, float("inf"), dim=1), lambda: [draw(4, 6)]),
    "logsumexp": (lambda x: x.logsumexp(1), lambda: [draw(4, 6)]),
    "t": (lambda x: x.t(), lambda: [draw(4, 6)]),
    "permute": (lambda x: x.permute(2, 0, 1), lambda: [draw(4, 6, 2)]),
    "view_join": (lambda x: x.view(8, 6), lambda: [draw(4, 2, 6)]),
    "view_part": (lambda x: x.view(4, 2, 3, 2), lambda: [draw(8, 6)]),
    "view_odd": (lambda x: x.reshape(5, 6), lambda: [draw(5, 2, 3)]),
    "view_all": (lambda x: x.view(-1), lambda: [draw(3, 5)]),
    "flatten": (lambda x: x.flatten(1), lambda: [draw(4, 2, 6)]),
    "squeeze": (lambda x: x.squeeze(1), lambda: [draw(4, 1, 6)]),
    "unsqueeze": (lambda x: x.unsqueeze(1), lambda: [draw(4, 6)]),
    "expand": (lambda x: x.expand(3, 4, 6), lambda: [draw(4, 1)]),
    "select": (lambda x: x[:, 2], lambda: [draw(4, 6, 2)]),
    "slice": (lambda x: x[:, 1:5:2], lambda: [draw(4, 6, 2)]),
    "split": (lambda x: x.split(2, 1), lambda: [draw(4, 6)]),
    "chunk": (lambda x: x.chunk(3, 0), lambda: [draw(6, 4)]),
    "unbind": (lambda x: x.unbind(1), lambda: [draw(4, 3)]),
    "cat": (lambda x, y: torch.cat([x, y], 1), lambda: [draw(4, 3), draw(4, 2)]),
    "stack": (lambda x, y: torch.stack([x, y], 1), lambda: [draw(4, 3), draw(4, 3)]),
    "softmax": (lambda x: x.softmax(1) + x.log_softmax(1), lambda: [draw(4, 6)]),
    "cumsum": (lambda x: x.cumsum(1), lambda: [draw(4, 6)]),
    "sort": (lambda x: x.sort(1), lambda: [draw(4, 6)]),
    "topk": (lambda x: x.topk(2), lambda: [draw(4, 6)]),
    "flip": (lambda x: x.flip(1), lambda: [draw(4, 6)]),
    "tril": (lambda x: x.tril(), lambda: [draw(4, 6, 6)]),
    "pad": (lambda x: F.pad(x, (1, 2)), lambda: [draw(4, 6)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (6,), w, b), lambda: [draw(4, 3, 6), draw(6), draw(6)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (6,), w), lambda: [draw(4, 3, 6), draw(6)]),
    "embedding": (F.embedding, lambda: [draw(4, 3, high=8), draw(8, 6)]),
    "gather": (lambda x, i: x.gather(1, i), lambda: [draw(4, 6), draw(4, 6, high=6)]),
    "index_select": (lambda x, i: x.index_select(1, i), lambda: [draw(4, 6), draw(6, high=6)]),
    "index": (lambda x, i: x[:, i], lambda: [draw(4, 6, 2), draw(4, high=6)]),
    "conv": (lambda x, w, b: F.conv2d(x, w, b, padding=1), lambda: [draw(4, 2, 6, 6), draw(3, 2, 3, 3), draw(3)]),
    "pool": (lambda x: F.max_pool2d(F.avg_pool2d(x, 2), 2), lambda: [draw(4, 2, 8, 8)]),
    "gelu": (lambda x: F.gelu(x) + F.silu(x) + x.tanh(), lambda: [draw(4, 6)]),
    "mse": (F.mse_loss, lambda: [draw(5, 6), draw(5, 6)]),
    "smooth_l1": (lambda x, y: F.smooth_l1_loss(x, y) + F.l1_loss(x, y), lambda: [draw(5, 6), draw(5, 6)]),
    "huber": (lambda x, y: F.huber_loss(x, y, reduction="sum"), lambda: [draw(5, 6), draw(5, 6)]),
    "bce": (
        lambda x, y: F.binary_cross_entropy_with_logits(x, (y > 0).to(x.dtype)),
        lambda: [draw(5, 6), draw(5, 6)],
    ),
    "cross_entropy": (F.cross_entropy, lambda: [draw(6, 5), draw(6, high=5)]),
    "cross_entropy_ignore": (
        lambda x, y: F.cross_entropy(x, y, ignore_index=2, label_smoothing=0.1),
        lambda: [draw(7, 5), draw(7, high=5)],
    ),
    "nll_sum": (lambda x, y: F.nll_loss(x, y, reduction="sum"), lambda: [draw(6, 5), draw(6, high=5)]),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda: [draw(2, 4, 6, 8), draw(2, 4, 6, 8), draw(2, 4, 6, 8)],
    ),
    "inplace": (lambda x, y: x.clone().add_(y).mul_(2).sub_(1), lambda: [draw(4, 6), draw(4, 6)]),
    "inplace_view": (lambda x: x.clone().unsqueeze_(0).transpose_(1, 2), lambda: [draw(4, 6)]),
    "out": (lambda x, y: torch.mul(x.detach(), y.detach(), out=torch.empty_like(x)), lambda: [draw(4, 6), draw(4, 6)]),
    "like": (lambda x: torch.ones_like(x) + torch.zeros_like(x) + x.new_full((4, 6), 3.0), lambda: [draw(4, 6)]),
    "new": (lambda x: x.new_zeros(3) + x.sum(), lambda: [draw(4, 6)]),
    "to": (lambda x: x.to(torch.float32).to(torch.float64) * 2, lambda: [draw(4, 6).to(torch.float32).double()]),
    "masked_fill": (lambda x: x.masked_fill(x > 0, -1.0), lambda: [draw(4, 6)]),
    "roll": (lambda x: x.roll(1, 1), lambda: [draw(4, 6)]),
    "qr": (lambda x: torch.linalg.qr(x.detach()).Q.abs(), lambda: [draw(6, 3)]),
    "nonzero": (lambda x: (x > 0).nonzero(), lambda: [draw(4, 6)]),
    "einsum": (lambda x, y: torch.einsum("bij,bjk->bik", x, y), lambda: [draw(4, 2, 6), draw(4, 6, 3)]),
    "rotary": (
        lambda x, y: torch.view_as_real(
            torch.view_as_complex(x.reshape(2, 4, 3, 4, 2)) * torch.view_as_complex(y)
        ).transpose(2, 4),
        lambda: [draw(2, 4, 3, 8), draw(4, 1, 4, 2)],
    ),
    "group_norm": (lambda x: F.group_norm(x, 2), lambda: [draw(4, 4, 3)]),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), lambda: [draw(6, 4)]),
}


def leaves(found: Any) -> list[Any]:
    return [each for each in (found if isinstance(found, (tuple, list)) else (found,)) if each is not None]


@pytest.mark.filterwarnings("ignore:The operator")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(2,), (3,), (2, 2)])
def test_operators_and_gradients_are_those_of_one_device(name: str, shape: tuple[int, ...]) -> None:
    function, make = CASES[name]
    drawn = random.Random(f"{name}{shape}")
    torch.manual_seed(0)
    given = make()
    floats = [each.is_floating_point() for each in given]
    singles = [each.clone().requires_grad_(is_float) for each, is_float in zip(given, floats, strict=True)]
    expected = leaves(function(*singles))
    differentiable = [each for each in expected if each.requires_grad]
    weights = [torch.randn(each.shape, dtype=torch.float64) for each in differentiable]
    if differentiable:
        sum((each * w).sum() for each, w in zip(differentiable, weights, strict=True)).backward()
    # Every placement of the first tensor in turn, and drawn ones.
    ways = [
        [of_placements(drawn, each.shape, len(shape), partial=f) for each, f in zip(given, floats, strict=True)]
        for _ in range(8)
    ]
    if all(len(each.shape) == len(given[0].shape) for each in given):
        ways += [[[Shard(dim)] * len(shape) for _ in given] for dim in range(given[0].dim())]

    def run(mesh: DeviceMesh) -> None:
        for way in ways:
            placed = [lay(each, mesh, p).detach() for each, p in zip(given, way, strict=True)]
            for each, is_float in zip(placed, floats, strict=True):
                each.requires_grad_(is_float)
            found = leaves(function(*placed))
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                assert one.shape == other.shape and one.dtype == other.dtype, (way, one.shape, other.shape)
                np.testing.assert_allclose(
                    full(one.detach()).numpy(), other.detach().numpy(), 1e-10, 1e-10, err_msg=str(way)
                )
            if not differentiable:
                continue
            total = 0
            for each, w in zip([each for each in found if each.requires_grad], weights, strict=True):
                total = total + (each * place(w, mesh, [Replicate()] * mesh.ndim)).sum()
            total.backward()
            for each, single, is_float in zip(placed, singles, floats, strict=True):
                if not is_float or single.grad is None:
                    continue
                spec = each.grad._dispatch_data.spec
                assert spec is each._dispatch_data.spec.without_partial
                np.testing.assert_allclose(full(each.grad).numpy(), single.grad.numpy(), 1e-10, 1e-10, err_msg=str(way))

    run_ranks(shape, run)


def test_the_gradient_of_a_part_may_lie_otherwise() -> None:
    def run(mesh: DeviceMesh) -> Any:
        part = torch.ones(3, requires_grad=True)
        x = DTensor.from_local(part, mesh, [Replicate()], grad_placements=[Partial()])
        (x * 2).backward(DTensor.from_local(torch.ones(3), mesh, [Partial()]))
        return part.grad.tolist()

    assert run_ranks((2,), run) == [[2.0] * 3] * 2
