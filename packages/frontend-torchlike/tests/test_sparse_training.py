"""Sparse gradients of embeddings, and the optimizers that take or refuse them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import torchlike
from torchlike import nn, optim

INDICES = [[1, 4, 1], [0, 1, 4]]


def make(sparse, **options):
    torchlike.manual_seed(0)
    return nn.Embedding(6, 3, sparse=sparse, **options)


def train(layer, optimizer, steps=3):
    for step in range(steps):
        optimizer.zero_grad()
        (layer(torchlike.tensor(INDICES)) ** 2 * (step + 1)).sum().backward()
        optimizer.step()
    return layer.weight.detach()


def test_the_gradient_has_the_rows_that_were_read():
    layer = make(True)
    layer(torchlike.tensor(INDICES)).sum().backward()
    grad = layer.weight.grad
    assert grad.is_sparse and grad.shape == (6, 3) and grad._indices().tolist() == [[1, 4, 1, 0, 1, 4]]
    dense = make(False)
    dense(torchlike.tensor(INDICES)).sum().backward()
    assert not dense.weight.grad.is_sparse and grad.to_dense().tolist() == dense.weight.grad.tolist()
    with torchlike.no_grad():
        assert not layer(torchlike.tensor([1])).requires_grad


def test_padding_and_shortened_rows():
    layer = make(True, padding_idx=1, max_norm=1.0)
    found = layer(torchlike.tensor(INDICES))
    assert (found.norm(dim=-1) <= 1.0001).all()
    found.sum().backward()
    assert (
        layer.weight.grad._indices().tolist() == [[4, 0, 4]] and layer.weight.grad.to_dense()[1].tolist() == [0.0] * 3
    )
    layer = make(True, scale_grad_by_freq=True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        layer(torchlike.tensor(INDICES)).sum().backward()


@pytest.mark.parametrize(
    "options", [{}, {"mode": "sum"}, {"padding_idx": 4}, {"padding_idx": -2, "max_norm": 1.0}], ids=str
)
def test_bags_have_sparse_gradients_of_the_rows_that_were_read(options):
    sparse, dense = nn.EmbeddingBag(6, 3, sparse=True, **options), nn.EmbeddingBag(6, 3, **options)
    dense.load_state_dict(sparse.state_dict())
    for bag in (sparse, dense):
        (bag(torchlike.tensor(INDICES)) ** 2).sum().backward()
    found = sparse.weight.grad
    assert found.is_sparse and not found.is_coalesced()
    assert found._indices().tolist() == [[1, 1, 0, 1] if "padding_idx" in options else [1, 4, 1, 0, 1, 4]]
    assert torchlike.allclose(found.to_dense(), dense.weight.grad)
    with torchlike.no_grad():
        assert not sparse(torchlike.tensor(INDICES)).requires_grad


def test_weights_of_bags_have_gradients_beside_sparse_ones():
    weight = torchlike.eye(3, requires_grad=True)
    factors = torchlike.tensor([2.0, 3.0, 4.0], requires_grad=True)
    read, offsets = torchlike.tensor([2, 0, 2]), torchlike.tensor([0, 2])
    bags = nn.functional.embedding_bag(read, weight, offsets, mode="sum", sparse=True, per_sample_weights=factors)
    assert bags.tolist() == [[3.0, 0.0, 2.0], [0.0, 0.0, 4.0]]
    (bags * torchlike.tensor([[1.0, 1.0, 1.0], [5.0, 5.0, 5.0]])).sum().backward()
    assert factors.grad.tolist() == [1.0, 1.0, 5.0]
    assert weight.grad.to_dense().tolist() == [[3.0] * 3, [0.0] * 3, [22.0] * 3]


def test_bags_refuse_what_has_no_sparse_gradient():
    weight, read = torchlike.ones(6, 3, requires_grad=True), torchlike.tensor(INDICES)
    with pytest.raises(ValueError, match="max mode does not support sparse weights"):
        nn.functional.embedding_bag(read, weight, mode="max", sparse=True)
    bags = nn.functional.embedding_bag(read, weight, scale_grad_by_freq=True, sparse=True)
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        bags.sum().backward()


def test_gradients_of_several_uses_are_added():
    layer, head = make(True), make(False)
    for weight in (layer, head):
        for _ in range(2):
            (weight(torchlike.tensor([1, 2])).sum() + weight(torchlike.tensor([2])).sum() * 2).backward()
    assert layer.weight.grad.is_sparse and layer.weight.grad.to_dense().tolist() == head.weight.grad.tolist()
    (layer.weight * 2).sum().backward()
    (head.weight * 2).sum().backward()
    assert not layer.weight.grad.is_sparse and layer.weight.grad.tolist() == head.weight.grad.tolist()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9}),
        ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
        ("Adagrad", {"lr": 0.1, "lr_decay": 0.2, "initial_accumulator_value": 0.3}),
    ],
)
def test_sparse_gradients_train_as_strided_ones(name, options):
    sparse, dense = make(True), make(False)
    kind = getattr(optim, name)
    found, wanted = (train(each, kind(each.parameters(), **options)) for each in (sparse, dense))
    assert torchlike.allclose(found, wanted, atol=1e-6) and not torchlike.equal(found, make(True).weight.detach())


def test_sparse_adam_moves_only_what_has_a_gradient():
    layer = make(True)
    weight = layer.weight.detach().numpy().astype(np.float64).copy()
    optimizer = optim.SparseAdam(layer.parameters(), lr=0.1, betas=(0.8, 0.9), eps=1e-6)
    mean, square = np.zeros_like(weight), np.zeros_like(weight)
    for step, rows in enumerate(([1, 4, 1], [0, 1], [4, 4]), 1):
        grad = np.zeros_like(weight)
        np.add.at(grad, rows, 2 * weight[rows])
        there = sorted({*rows})
        mean[there] += 0.2 * (grad - mean)[there]
        square[there] += 0.1 * (grad**2 - square)[there]
        size = 0.1 * np.sqrt(1 - 0.9**step) / (1 - 0.8**step)
        weight[there] -= size * mean[there] / (np.sqrt(square[there]) + 1e-6)
        optimizer.zero_grad()
        (layer(torchlike.tensor(rows)) ** 2).sum().backward()
        optimizer.step()
        np.testing.assert_allclose(layer.weight.detach().numpy(), weight, rtol=2e-5, atol=1e-6)
    assert optimizer.state[layer.weight]["step"] == 3
    other = optim.SparseAdam(make(True).parameters(), lr=0.5)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert other.param_groups[0]["lr"] == 0.1


def test_sparse_adam_refuses_strided_gradients_and_sparse_parameters():
    layer = make(False)
    layer(torchlike.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="does not support dense gradients, please consider Adam instead"):
        optim.SparseAdam(layer.parameters()).step()
    with pytest.raises(ValueError, match=r"Sparse params at indices \[\[0, 0\]\]: SparseAdam requires dense"):
        optim.SparseAdam([torchlike.eye(2).to_sparse().requires_grad_()])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Adam", "Adam does not support sparse gradients, please consider SparseAdam instead"),
        ("AdamW", "Adam does not support sparse gradients, please consider SparseAdam instead"),
        *[
            (name, f"{name} does not support sparse")
            for name in "RMSprop Adamax NAdam RAdam Rprop Adadelta ASGD".split()
        ],
        ("Adafactor", "Adafactor does not support sparse gradients"),
    ],
)
def test_other_optimizers_refuse_before_they_change_anything(name, text):
    first, second = make(False), make(True)
    optimizer = getattr(optim, name)([*first.parameters(), *second.parameters()])
    (first(torchlike.tensor([1])) + second(torchlike.tensor([1]))).sum().backward()
    before = first.weight.detach().clone()
    with pytest.raises(RuntimeError, match=text):
        optimizer.step()
    assert torchlike.equal(first.weight, before) and not optimizer.state


def test_weight_decay_of_sparse_gradients_is_refused():
    for kind, text in ((optim.Adagrad, "weight_decay option is not compatible"), (optim.SGD, "add.sparse, dense")):
        layer = make(True)
        layer(torchlike.tensor([1])).sum().backward()
        with pytest.raises(RuntimeError, match=text):
            kind(layer.parameters(), lr=0.1, weight_decay=0.1).step()


def test_gradients_are_forgotten_and_set_to_zero():
    layer = make(True)
    layer(torchlike.tensor([1])).sum().backward()
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad.is_sparse and layer.weight.grad._nnz() == 0
    layer(torchlike.tensor([1])).sum().backward()
    assert layer.weight.grad._nnz() == 1
    layer.zero_grad()
    assert layer.weight.grad is None


def test_a_step_in_a_pipeline():
    sparse, dense = make(True), make(True)
    for layer, context in ((sparse, torchlike.pipeline()), (dense, torchlike.enable_grad())):
        optimizer = optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
        with context:
            train(layer, optimizer)
    assert torchlike.allclose(sparse.weight, dense.weight)
