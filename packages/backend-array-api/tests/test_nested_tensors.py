"""Nested tensors on the devices of array libraries: the values, gradients and refusals of the cpu's."""

from __future__ import annotations

import numpy as np
import pytest

import torchlike
import torchlike.nn.functional as F


def compute(device, *, attends):
    """Return results and gradients of a small program on nested tensors."""
    numbers = np.random.default_rng(0)
    rows = [torchlike.from_numpy(numbers.standard_normal((length, 4)).astype(np.float32)) for length in (2, 1, 3)]
    x = torchlike.nested.nested_tensor(rows, layout=torchlike.jagged).to(device).requires_grad_()
    weight = torchlike.from_numpy(numbers.standard_normal((4, 4)).astype(np.float32)).to(device).requires_grad_()
    y = F.linear(x, weight)
    if attends:
        q = y.unflatten(-1, (2, 2)).transpose(1, 2)
        y = y + F.scaled_dot_product_attention(q, q, q).transpose(1, 2).flatten(-2)
    total = (y * x).softmax(-1).sum(1)
    total.square().sum().backward()
    assert str(total.device) == str(x.grad.device) == device and x.grad.size(1) == x.size(1)
    return [each.detach().cpu().numpy() for each in (total, x.grad.values(), weight.grad, y.unbind()[2])]


@pytest.mark.parametrize(("device", "attends"), [("strict", True), ("jax", False)])
def test_a_device_computes_with_nested_tensors_as_the_cpu(device, attends):
    for found, wanted in zip(compute(device, attends=attends), compute("cpu", attends=attends), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
