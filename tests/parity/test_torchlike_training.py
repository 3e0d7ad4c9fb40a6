"""Networks trained beside torch from the same seed: initial weights, losses, every step of the optimizers."""

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch", reason="parity needs torch")

OPTIMIZERS = {
    "sgd": lambda t, p: t.optim.SGD(p, lr=0.1),
    "momentum": lambda t, p: t.optim.SGD(p, lr=0.05, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "nesterov": lambda t, p: t.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True),
    "maximize": lambda t, p: t.optim.SGD(p, lr=0.01, maximize=True),
    "adam": lambda t, p: t.optim.Adam(p, lr=0.01),
    "adam decay": lambda t, p: t.optim.Adam(p, lr=0.01, betas=(0.8, 0.99), weight_decay=0.1, amsgrad=True),
    "adamw": lambda t, p: t.optim.AdamW(p, lr=0.01, weight_decay=0.2),
}


def train(t, make, steps=10):
    t.manual_seed(3)
    net = t.nn.Sequential(t.nn.Linear(6, 8), t.nn.Tanh(), t.nn.Linear(8, 8), t.nn.ReLU(), t.nn.Linear(8, 3))
    optimizer = make(t, net.parameters())
    x = t.randn(16, 6)
    target = t.randint(0, 3, (16,))
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = t.nn.CrossEntropyLoss(label_smoothing=0.05)(net(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().numpy() for p in net.parameters()], repr(net), repr(optimizer)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training(name):
    losses, weights, net, _ = train(torch, OPTIMIZERS[name])
    our_losses, our_weights, our_net, _ = train(torchlike, OPTIMIZERS[name])
    assert our_net == net
    np.testing.assert_allclose(our_losses, losses, rtol=1e-4)
    for ours, theirs in zip(our_weights, weights, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-5)


def test_initial_weights_are_torchs():
    for layer in ("uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_"):
        made = []
        for t in (torch, torchlike):
            t.manual_seed(11)
            made.append(getattr(t.nn.init, layer)(t.empty(7, 5)).numpy())
        np.testing.assert_allclose(made[1], made[0], rtol=1e-6, atol=1e-7, err_msg=layer)
    made = []
    for t in (torch, torchlike):
        t.manual_seed(5)
        made.append([p.detach().numpy() for p in t.nn.Linear(9, 4).parameters()])
    for theirs, ours in zip(*made, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


def test_state_dicts_have_torchs_names_and_faults():
    def messages(t):
        net = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Sequential(t.nn.Linear(3, 1, bias=False)))
        state = dict(net.state_dict())
        names = list(state)
        state["x"] = t.zeros(1)
        state["0.weight"] = t.zeros(5, 5)
        del state["0.bias"]
        with pytest.raises(RuntimeError) as caught:
            net.load_state_dict(state)
        return names, str(caught.value).replace("torchlike.", "torch.")

    assert messages(torchlike) == messages(torch)


def test_optimizer_state_dicts_look_like_torchs():
    def state(t):
        w = t.ones(3, requires_grad=True)
        optimizer = t.optim.SGD([w], lr=0.1, momentum=0.9)
        w.sum().backward()
        optimizer.step()
        found = optimizer.state_dict()
        (group,) = found["param_groups"]
        return found["state"][0]["momentum_buffer"].tolist(), group["params"], group["lr"]

    assert state(torchlike) == state(torch)


@pytest.mark.parametrize("kind", ["linear", "transposed", "gaps", "expanded", "accumulated"])
def test_a_leafs_gradient_lies_as_torchs_does(kind):
    def strides(t):
        if kind == "linear":
            layer = t.nn.Linear(6, 4)
            layer(t.ones(5, 6)).sum().backward()
            return layer.weight.grad.stride(), layer.bias.grad.stride()
        leaf = {
            "transposed": lambda: t.ones(3, 4).t(),
            "gaps": lambda: t.ones(3, 8)[:, ::2],
            "expanded": lambda: t.ones(3, 1).expand(3, 4),
            "accumulated": lambda: t.ones(3, 4),
        }[kind]()
        leaf.requires_grad_()
        for _ in range(1 + (kind == "accumulated")):
            (leaf.t() @ t.ones(leaf.shape[0], 2)).sum().backward()
        return leaf.grad.stride()

    assert strides(torchlike) == strides(torch)
