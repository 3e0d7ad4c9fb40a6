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


def of_one_by_one(kind):
    """Return a class of optimizers that updates each parameter by itself."""
    return type("OneByOne", (kind,), {"update": kind.update})


SETTINGS = [
    (optim.Adam, {}),
    (optim.Adam, {"weight_decay": 0.1, "maximize": True, "betas": (0.3, 0.4)}),
    (optim.Adam, {"lr": 1, "eps": 0, "weight_decay": 1}),
    (optim.Adam, {"amsgrad": True}),
    (optim.Adam, {"lr": tensor(0.1)}),
    (optim.AdamW, {}),
    (optim.SGD, {}),
    (optim.SGD, {"lr": 0}),
    (optim.SGD, {"weight_decay": 1, "maximize": True}),
    (optim.SGD, {"momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}),
    (optim.SGD, {"momentum": 1, "nesterov": True}),
]


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_a_step_for_all_parameters_has_the_bits_of_steps_one_by_one(kind, settings):
    found = []
    for each in (kind, of_one_by_one(kind)):
        torchlike.manual_seed(0)
        sizes = [(3, 4), (5,), (), (0, 2), (7,), (2000,)]
        params = [torchlike.randn(size, requires_grad=True) for size in sizes]
        params += [torchlike.randn(3, dtype=torchlike.float64, requires_grad=True)]
        params += [torchlike.randn(4, 3).t().requires_grad_(), torchlike.randn(3, dtype=torchlike.float16)]
        optimizer = each([params[:4], params[4:]][0], **settings)
        optimizer.add_param_group({"params": params[4:], "lr": 0.5})
        for number in range(4):
            for place, param in enumerate(params):
                # One has no gradient at first, so it is a step behind.
                param.grad = None if place == 1 and number < 2 else torchlike.randn(param.shape, dtype=param.dtype)
            versions = [param._version for param in params]
            optimizer.step()
            assert [after > before for before, after in zip(versions, (p._version for p in params), strict=True)] == [
                param.grad is not None for param in params
            ]
        found.append([param.detach().numpy().tobytes() for param in params])
        found[-1] += [
            (name, value.numpy().tobytes(), value.dtype)
            for param in params
            for name, value in optimizer.state[param].items()
        ]
    assert found[0] == found[1]


def test_a_mode_sees_each_operator_of_a_step():
    from torchlike.utils._python_dispatch import TorchDispatchMode

    names = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            names.append(function.name())
            return function(*args, **(kwargs or {}))

    w = tensor([1.0], requires_grad=True)
    optimizer = optim.Adam([w])
    w.grad = tensor([1.0])
    optimizer.step()
    with Mode():
        optimizer.step()
    assert names[:2] == ["aten::lerp_.Scalar", "aten::mul_.Tensor"] and "prims::adam_" not in names, names


def test_a_step_that_fails_changes_neither_parameters_nor_counts():
    first, second = tensor([1.0], requires_grad=True), tensor([1.0], requires_grad=True)
    optimizer = optim.Adam([first, second])
    for param in (first, second):
        param.grad = tensor([1.0])
    optimizer.step()
    before = first.item(), second.item()
    kept = optimizer.state[second].pop("exp_avg_sq")
    with pytest.raises(KeyError):
        optimizer.step()
    optimizer.state[second]["exp_avg_sq"] = kept
    assert (first.item(), second.item()) == before
    assert [optimizer.state[param]["step"].item() for param in (first, second)] == [1, 1]


def test_a_captured_step_is_one_operator_for_all_parameters():
    params = [torchlike.ones(3).requires_grad_() for _ in range(4)]
    optimizer = optim.Adam(params)

    @torchlike.capture
    def run(grad):
        for param in params:
            param.grad = grad * 2
        optimizer.step()

    for _ in range(5):
        run(torchlike.ones(3))
    assert optimizer.state[params[0]]["step"].item() == 5
    other = [torchlike.ones(3).requires_grad_() for _ in range(4)]
    optimizer = optim.Adam(other)
    for _ in range(5):
        for param in other:
            param.grad = torchlike.ones(3) * 2
        optimizer.step()
    assert [param.tolist() for param in params] == [param.tolist() for param in other]
