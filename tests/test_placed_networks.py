"""What networks are made of gives on parts what it gives on one device, with the gradients, and does not gather."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ranks_in_threads import run_ranks
from test_placed_tensors import draw, full, place

import torchlike as torch
from torchlike.distributed.placed import gathers
from torchlike.distributed.tensor import DeviceMesh, Replicate, Shard
from torchlike.distributed.tensor.parallel import loss_parallel

F = torch.nn.functional
R, S0, S1, S2 = Replicate(), Shard(0), Shard(1), Shard(2)
HEADS = [[S0, S1]] * 3
heads = draw(4, 4, 6, 8)


def images(*shape: int) -> list[Any]:
    """Return a batch of images, and a number for each channel, twice."""
    return [draw(*shape), draw(shape[1]), draw(shape[1])]


def classes(*shape: int) -> list[Any]:
    return [draw(*shape), torch.arange(shape[0]) * 3 % shape[1]]


def entropy(**options: Any) -> Callable[..., Any]:
    return lambda x, y: F.cross_entropy(x, y, **options)


def entropy_by_blocks(x: Any, y: Any) -> Any:
    with loss_parallel():
        return F.nll_loss(F.log_softmax(x, 1), y)


attend = F.scaled_dot_product_attention
CASES: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    "attention": (lambda q, k, v: attend(q, k, v, is_causal=True), [heads] * 3, HEADS),
    "attention_mask": (attend, [heads] * 3 + [draw(6, 6)], [*HEADS, [R, R]]),
    "attention_mask_of_samples": (attend, [heads] * 3 + [draw(4, 1, 6, 6)], [*HEADS, [R, R]]),
    "attention_groups": (
        lambda q, k, v: attend(q, k, v, enable_gqa=True),
        [heads, draw(4, 2, 6, 8), draw(4, 2, 6, 8)],
        HEADS,
    ),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        images(4, 4, 6, 5),
        [[S0, R], [R, R], [R, R]],
    ),
    "batch_norm_uneven": (lambda x: F.batch_norm(x, None, None, training=True), [draw(5, 4)], [[S0, S0]]),
    "batch_norm_pixels": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        images(4, 4, 6, 5),
        [[S0, S2], [R, R], [R, R]],
    ),
    "batch_norm_channels": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        images(4, 4, 6, 5),
        [[S0, S1], [R, S0], [R, S0]],
    ),
    "batch_norm_evaluated": (
        lambda x, m, v: F.batch_norm(x, m.detach(), v.detach().abs()),
        images(5, 4, 3),
        [[S0, S1], [R, R], [R, R]],
    ),
    "batch_norm_evaluated_with_an_empty_part": (
        lambda x, m, v: F.batch_norm(x, m.detach(), v.detach().abs()),
        images(3, 4, 3),
        [[S0, S0], [R, R], [R, R]],
    ),
    "instance_norm": (
        lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
        images(4, 4, 6, 5),
        [[S0, R], [R, R], [R, R]],
    ),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), images(5, 4, 6), [[S0, S0], [R, R], [R, R]]),
    "columns_of_a_convolution": (
        lambda x, w, b: F.conv2d(x, w, b, padding=1),
        [draw(4, 4, 5, 5), draw(6, 4, 3, 3), draw(6)],
        [[S0, R], [R, S0], [R, S0]],
    ),
    "rows_of_a_convolution": (F.conv2d, [draw(4, 4, 5, 5), draw(6, 4, 3, 3)], [[S0, S1], [R, S1]]),
    "columns_of_a_transposed_convolution": (
        F.conv_transpose2d,
        [draw(4, 4, 5, 5), draw(4, 6, 3, 3), draw(6)],
        [[S0, R], [R, S1], [R, S0]],
    ),
    "depthwise_convolution": (
        lambda x, w: F.conv2d(x, w, groups=4),
        [draw(4, 4, 5, 5), draw(4, 1, 3, 3)],
        [[S0, R], [R, R]],
    ),
    "pool": (lambda x: F.max_pool2d(x, 2), [draw(4, 2, 6, 6)], [[S0, S1]]),
    "resize": (lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), [draw(4, 2, 6, 5)], [[S0, S1]]),
    "reflect": (lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), [draw(4, 2, 6, 5)], [[S0, S1]]),
    "cross_entropy": (entropy(), classes(6, 7), [[S0, S1], [S0, R]]),
    "cross_entropy_of_few_classes": (entropy(label_smoothing=0.1), classes(6, 3), [[S1, S1], [R, R]]),
    "cross_entropy_ignoring": (entropy(ignore_index=3, reduction="sum"), classes(6, 5), [[S0, S1], [S0, R]]),
    "cross_entropy_of_each": (entropy(reduction="none"), classes(6, 5), [[S0, S1], [S0, R]]),
    "cross_entropy_weighted": (
        lambda x, y, w: F.cross_entropy(x, y, w.detach()),
        [*classes(6, 5), draw(5).abs()],
        [[S1, S0], [R, S0], [R, R]],
    ),
    "log_softmax_by_classes": (entropy_by_blocks, classes(6, 5), [[S0, S1], [S0, R]]),
}


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_one_device(name: str) -> None:
    function, arguments, ways = CASES[name]

    def prepare(x: Any) -> Any:
        return x.detach().requires_grad_(x.is_floating_point())

    single = [prepare(each) for each in arguments]
    expected = function(*single)
    weights = torch.linspace(0.5, 1.5, expected.numel(), dtype=expected.dtype).reshape(expected.shape)
    (expected * weights).sum().backward()
    before = gathers()

    def run(mesh: DeviceMesh) -> None:
        placed = [prepare(place(each, mesh, way)) for each, way in zip(arguments, ways, strict=True)]
        found = function(*placed)
        (found * place(weights, mesh, [R, R])).sum().backward()
        np.testing.assert_allclose(full(found.detach()).numpy(), expected.detach().numpy(), 1e-12, 1e-12)
        for one, other in zip(placed, single, strict=True):
            if other.grad is not None:
                np.testing.assert_allclose(full(one.grad).numpy(), other.grad.numpy(), 1e-11, 1e-11)

    run_ranks((2, 2), run)
    assert gathers() == before


def test_running_statistics_are_those_of_the_whole_batch() -> None:
    torch.manual_seed(0)
    batch, single = draw(6, 4, 3), torch.nn.BatchNorm1d(4).double()
    single(batch)

    def run(mesh: DeviceMesh) -> None:
        norm = torch.distributed.tensor.distribute_module(torch.nn.BatchNorm1d(4).double(), mesh)
        norm(place(batch, mesh, [S0]))
        for one, other in zip(norm.buffers(), single.buffers(), strict=True):
            np.testing.assert_allclose(full(one).numpy(), other.numpy(), 1e-12)

    run_ranks((3,), run)


def test_ordinary_labels_are_taken_by_a_loss_of_classes_in_parts() -> None:
    def run(mesh: DeviceMesh) -> Any:
        x = place(torch.arange(8.0).reshape(2, 4), mesh, [S1]).requires_grad_()
        with loss_parallel():
            loss = F.cross_entropy(x, torch.tensor([1, 3]))
            loss.backward()
        assert x.grad.placements == (S1,)
        return float(loss.full_tensor())

    expected = float(F.cross_entropy(torch.arange(8.0).reshape(2, 4), torch.tensor([1, 3])))
    assert run_ranks((2,), run) == [pytest.approx(expected)] * 2


@pytest.mark.parametrize(("number", "ignored"), [(9, -100), (-1, -100), (4, -100), (-100, 0)])
def test_labels_and_rows_that_no_process_has_are_refused_as_on_one_device(number: int, ignored: int) -> None:
    labels = torch.tensor([1, number])

    def run(mesh: DeviceMesh) -> None:
        scores, rows = place(draw(2, 4), mesh, [S1]), place(draw(4, 3), mesh, [S0])
        chosen = place(labels, mesh, [R])
        with pytest.raises(IndexError, match="out of bounds"):
            F.cross_entropy(scores, chosen, ignore_index=ignored)
        with pytest.raises(IndexError, match="index out of range in self"):
            F.embedding(chosen, rows)

    run_ranks((2,), run)
