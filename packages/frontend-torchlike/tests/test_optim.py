"""Optimizers, against steps computed by hand."""

import pytest

import torchlike
from torchlike import optim, tensor


def step(optimizer, w, grad):
    w.grad = tensor(grad)
    optimizer.step()
    return pytest.approx(w.tolist())


def test_sgd_with_momentum_and_weight_decay():
    w = tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9, weight_decay=0.5)
    assert step(optimizer, w, [1.0]) == [1 - 0.1 * 1.5]
    # gradient 1 + 0.5 * 0.85, momentum 0.9 * 1.5
    assert step(optimizer, w, [1.0]) == [0.85 - 0.1 * (1.425 + 1.35)]


def test_nesterov():
    w = tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9, nesterov=True)
    assert step(optimizer, w, [1.0]) == [1 - 0.1 * 1.9]
    with pytest.raises(ValueError, match="Nesterov momentum requires a momentum and zero dampening"):
        optim.SGD([w], lr=0.1, nesterov=True)


def test_adam_moves_by_the_learning_rate_at_first():
    w = tensor([1.0, -1.0], requires_grad=True)
    optimizer = optim.Adam([w], lr=0.1)
    step(optimizer, w, [5.0, -0.01])
    assert w.tolist() == pytest.approx([0.9, -0.9], abs=1e-6)


def test_adamw_decays_apart_from_the_gradient():
    w = tensor([1.0], requires_grad=True)
    optimizer = optim.AdamW([w], lr=0.1, weight_decay=0.5)
    assert step(optimizer, w, [0.0]) == [0.95]


def test_zero_grad_forgets_or_zeroes():
    w = tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)
    w.grad = tensor([1.0])
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert w.grad is None


def test_groups_have_settings_of_their_own():
    a, b = tensor([1.0], requires_grad=True), tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([{"params": [a]}, {"params": [b], "lr": 1.0}], lr=0.1)
    a.grad, b.grad = tensor([1.0]), tensor([1.0])
    optimizer.step()
    assert a.tolist() == pytest.approx([0.9]) and b.tolist() == [0.0]


def test_state_dict_carries_on():
    def run(steps, optimizer, w):
        for _ in range(steps):
            step(optimizer, w, [1.0])

    w = tensor([1.0], requires_grad=True)
    first = optim.Adam([w], lr=0.1)
    run(2, first, w)
    v = w.detach().clone().requires_grad_()
    second = optim.Adam([v], lr=0.5)
    second.load_state_dict(first.state_dict())
    run(2, first, w)
    run(2, second, v)
    assert torchlike.equal(w, v)
    with pytest.raises(ValueError, match="different number of parameter groups"):
        second.load_state_dict({"state": {}, "param_groups": []})


def test_a_closure_is_run_with_grad_mode_on():
    w = tensor([1.0], requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (w * 2).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 2.0
    assert w.tolist() == pytest.approx([0.8])


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.AdamW])
def test_bad_settings_are_refused(make):
    w = tensor([1.0], requires_grad=True)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        make([w], lr=-1)
    with pytest.raises(ValueError, match="optimizer got an empty parameter list"):
        make([])
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        make([w * 2])
    with pytest.raises(TypeError, match="should be an iterable of Tensors or dicts"):
        make(w)


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW])
def test_the_choice_of_an_implementation_is_taken_and_kept(kind):
    w = tensor([1.0], requires_grad=True)
    optimizer = kind([w], lr=0.1, fused=True, foreach=False)
    assert optimizer.param_groups[0]["fused"] is True
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        kind([w], fused=True, foreach=True)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        kind([w], fused=True, differentiable=True)


@pytest.mark.parametrize(
    "wrong",
    [
        5,
        {},
        {"state": {}},
        {"state": {}, "param_groups": 3},
        {"state": [], "param_groups": []},
        {"state": {}, "param_groups": [{}]},
        {"state": {0: 1}, "param_groups": [{"params": [0]}]},
        {"state": {}, "param_groups": []},
    ],
)
def test_a_state_that_is_none_is_refused_and_changes_nothing(wrong):
    weight = torchlike.ones(2, requires_grad=True)
    optimizer = torchlike.optim.SGD([weight], lr=0.5, momentum=0.9)
    weight.sum().backward()
    optimizer.step()
    before = optimizer.state_dict()
    with pytest.raises((TypeError, ValueError)):
        optimizer.load_state_dict(wrong)
    after = optimizer.state_dict()
    assert after["param_groups"] == before["param_groups"]
    assert after["state"][0]["momentum_buffer"] is before["state"][0]["momentum_buffer"]


def test_a_group_without_parameters_and_settings_beyond_floats_are_refused():
    optimizer = torchlike.optim.SGD([torchlike.ones(2, requires_grad=True)])
    for wrong in (5, {}, {"lr": 1}):
        with pytest.raises(TypeError, match="must be a dict with the key 'params'"):
            optimizer.add_param_group(wrong)
    with pytest.raises(ValueError, match="Invalid lr: it is beyond a float's range"):
        torchlike.optim.Adam([torchlike.ones(2, requires_grad=True)], lr=10**400)


def test_optimizers_take_a_list_of_parameters_as_it_is():
    weights = torchlike.nn.ParameterList([torchlike.ones(2), torchlike.ones(1)])
    optimizer = torchlike.optim.SGD(weights, lr=0.5)
    sum(weight.sum() for weight in weights).backward()
    optimizer.step()
    assert [weight.tolist() for weight in weights] == [[0.5, 0.5], [0.5]]
    with pytest.raises(TypeError, match="pass its parameters"):
        torchlike.optim.SGD(torchlike.nn.Sequential(torchlike.nn.Linear(1, 1)), lr=0.5)


def test_an_optimizer_around_another_wraps_its_own_step():
    class Around(torchlike.optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner
            self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = {}, {}
            self._patch_step_function()

        def step(self, closure=None):
            return self.inner.step(closure)

    calls = []
    around = Around(torchlike.optim.SGD([torchlike.ones(1, requires_grad=True)], lr=0.1))
    around.register_step_pre_hook(lambda *_: calls.append("before"))
    around.register_step_post_hook(lambda *_: calls.append("after"))
    around.step()
    assert calls == ["before", "after"]
    assert torchlike.optim.Optimizer.profile_hook_step(lambda self: 3).hooked
