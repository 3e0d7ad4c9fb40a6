"""The first gradient of a leaf: in memory as the leaf, and not shared, whether it was copied or taken as it is."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike import nn

KEPT = []


def backward_by(make):
    """Make a function whose gradient ``make`` makes of the saved input, which is kept, as may be the gradient."""

    class Mine(torchlike.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            KEPT.append(ctx.saved_tensors[0])
            return make(*ctx.saved_tensors)

    return Mine.apply


def keep(tensor):
    KEPT.append(tensor)
    return tensor


def keep_array(tensor):
    KEPT.append(tensor.clone().numpy())
    return torchlike.from_numpy(KEPT[-1])


def give_out(tensor):
    made = tensor * 2
    KEPT.append(made.numpy())
    return made


def keep_base(tensor):
    return keep(tensor.clone()).reshape(tensor.shape[::-1]).reshape(tensor.shape)


#: Gradients that something else shows, too: made by a function of ours of the saved input.
SHARED = {
    "the saved tensor": lambda x: x,
    "its alias": lambda x: x.detach(),
    "its memory": lambda x: x.data,
    "a view": lambda x: x.t().t(),
    "kept outside": lambda x: keep(x * 2),
    "an alias of what is kept": lambda x: keep(x * 2).detach(),
    "a view of what is kept": keep_base,
    "an array of the user's": keep_array,
    "an array that was given out": give_out,
    "an expanded number": lambda x: keep(torchlike.ones(())).expand(x.shape),
    "part of what is kept": lambda x: keep(torchlike.ones(4, *x.shape))[1],
}


@pytest.mark.parametrize("make", SHARED.values(), ids=SHARED)
def test_a_gradient_that_something_else_shows_is_copied(make):
    KEPT.clear()
    x = torchlike.arange(6.0).reshape(2, 3).requires_grad_()
    backward_by(make)(x).sum().backward()
    assert x.grad.stride() == x.stride()
    before = [np.array(each) if isinstance(each, np.ndarray) else each.detach().clone() for each in KEPT]
    x.grad.add_(1)
    for have, want in zip(KEPT, before, strict=True):
        assert (have == want).all()


def test_neither_the_users_gradient_nor_another_leafs_is_taken():
    a, b = (torchlike.zeros(2, 2, requires_grad=True) for _ in range(2))
    given = torchlike.ones(4)
    (a + b).view(4).backward(given, retain_graph=True)
    a.grad.add_(1)
    b.grad.add_(2)
    assert (a.grad.tolist(), b.grad.tolist(), given.tolist()) == ([[2, 2]] * 2, [[3, 3]] * 2, [1] * 4)


def test_a_hook_may_keep_the_gradient():
    found = []
    x = torchlike.ones(3, requires_grad=True)
    x.register_hook(found.append)
    (x * 2).sum().backward()
    x.grad.zero_()
    assert found[0].tolist() == [2, 2, 2]


def test_a_second_backward_adds_to_the_first():
    x = torchlike.ones(3, requires_grad=True)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    assert (x.grad == 2 * first).all()


@pytest.mark.parametrize("inputs", [(5, 3), (2, 4, 3), (1, 3)])
def test_the_gradients_of_a_linear_layer_are_taken_as_they_are(inputs):
    layers = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1), nn.Linear(1, 2))
    with dc.profile() as profile:
        layers(torchlike.ones(inputs)).sum().backward()
    for parameter in layers.parameters():
        assert parameter.grad.stride() == parameter.stride()
        assert parameter.grad.is_leaf
        assert parameter.grad._base is None
        assert parameter.grad._version == 0
    assert "aten::clone" not in {event.name for event in profile.events}
