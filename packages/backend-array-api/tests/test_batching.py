"""Function transforms on the devices of array libraries: the values of the cpu's, and no row by itself."""

from __future__ import annotations

import numpy as np
import pytest

import torchlike
import torchlike.nn.functional as F
from torchlike.func import grad, jacfwd, jacrev, vmap
from torchlike.levels.loop import LOOPS


def floats(*shape):
    """Draw normal values."""
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def differentiate_samples(weight, bias, images):
    """Return the gradients of a convolution and its norm for each sample."""

    def loss(weight, bias, image):
        return F.group_norm(F.conv2d(image[None], weight, bias).relu(), 2).pow(3).sum()

    return vmap(grad(loss, (0, 1)), in_dims=(None, None, 0))(weight, bias, images)


def differentiate_ensemble(weights, biases, x):
    """Return the gradients of several linear layers of one input."""
    return vmap(grad(lambda weight, bias: F.layer_norm(F.linear(x, weight, bias), (2,)).exp().sum(), (0, 1)))(
        weights, biases
    )


def write_and_read(x):
    """Write to a batch, and read by the places that it sorts to."""

    def function(x):
        changed = x.clone()
        changed[0] += 1
        changed[:, 1] = changed[:, 2]
        places = changed.argsort(1)
        return changed.gather(1, places), changed[places[0, 0]], changed.view(-1).cumsum(0), x.amax((0, 1))

    return vmap(function)(x)


def attend(x):
    """Return one result: attention of a sequence to itself."""
    return [vmap(lambda x: F.scaled_dot_product_attention(x, x, x).flatten().softmax(0))(x)]


def find_jacobians(x):
    """Return a Jacobian in both modes."""
    return [jacobian(lambda x: (x @ x.T).tanh().sort(1)[0])(x) for jacobian in (jacrev, jacfwd)]


PROGRAMS = {
    "samples": (differentiate_samples, floats(4, 2, 3, 3), floats(4), floats(3, 2, 5, 5)),
    "ensemble": (differentiate_ensemble, floats(3, 2, 4), floats(3, 2), floats(5, 4)),
    "writes": (write_and_read, floats(3, 4, 5)),
    "attention": (attend, floats(3, 4, 5)),
    "jacobians": (find_jacobians, floats(2, 3)),
}


@pytest.mark.parametrize(
    ("device", "name"), [*(("strict", name) for name in PROGRAMS), ("jax", "attention"), ("jax", "writes")]
)
def test_a_device_computes_transforms_as_the_cpu(device, name):
    program, *arrays = PROGRAMS[name]
    before = dict(LOOPS)
    results = {
        place: program(*(torchlike.from_numpy(array).to(place) for array in arrays)) for place in ("cpu", device)
    }
    for wanted, found in zip(*results.values(), strict=True):
        assert str(found.device) == device
        np.testing.assert_allclose(found.cpu().numpy(), wanted.numpy(), rtol=1e-3, atol=1e-4)
    assert dict(LOOPS) == before
