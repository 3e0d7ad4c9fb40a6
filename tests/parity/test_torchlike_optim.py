"""Optimizers and schedules of learning rates, against torch's: parameters to the last bits, states and rates equal."""

import warnings

import numpy as np
import pytest
import torch

import torchlike

LR = {"lr": 0.05}
OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "weight_decay": 0.1, "dampening": 0.2}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"maximize": True, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("AdamW", {"amsgrad": True}),
    ("Adamax", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1}),
    ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1}),
    ("RAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("Rprop", {}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5, "weight_decay": 0.1}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("ASGD", {"t0": 10, "weight_decay": 0.1}),
    ("Adafactor", {"weight_decay": 0.1}),
    ("Muon", {}),
    ("LBFGS", {}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "history_size": 4}),
]


def _has_bfloat16():
    try:
        return torchlike.ones(1).bfloat16() is not None
    except (TypeError, RuntimeError):
        return False


HAS_BFLOAT16 = _has_bfloat16()


def train(frontend, name, options, steps, dtype="float32", start=None, state=None):
    numbers = np.random.default_rng(0)
    arrays = [numbers.normal(size=shape).astype(dtype) for shape in ((3, 4), (4, 2))]
    a, b = (frontend.from_numpy(array.copy()) for array in start or arrays)
    x = frontend.from_numpy(numbers.normal(size=(5, 3)).astype(dtype))
    y = frontend.from_numpy(numbers.normal(size=(5, 2)).astype(dtype))
    a.requires_grad_()
    b.requires_grad_()
    groups = [a, b] if name == "LBFGS" else [{"params": [a]}, {"params": [b], "lr": 0.02}]
    optimizer = getattr(frontend.optim, name)(groups, **LR | options)
    if state is not None:
        optimizer.load_state_dict(state)

    def closure():
        optimizer.zero_grad()
        loss = ((x @ a @ b - y) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        if name == "LBFGS":
            optimizer.step(closure)
        else:
            # The gradient of a function without sums: the same to the last bit in both.
            a.grad, b.grad = (p.detach() * 3 + (p.detach() * p.detach()).clamp(max=1) for p in (a, b))
            optimizer.step()
    return [a, b], optimizer


def plain(value):
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(inner) for inner in value)
    if hasattr(value, "detach"):
        return str(value.dtype).rpartition(".")[2], tuple(value.shape), value.detach().tolist()
    return value


def close(ours, theirs):
    """Compare to a few units in the last place of numbers about one: torch rounds products and sums once."""
    for mine, its in zip(ours, theirs, strict=True):
        one, other = mine.detach().numpy(), its.detach().numpy()
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=8 * np.finfo(one.dtype).eps, atol=8 * np.finfo(one.dtype).eps)


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_fifty_steps_end_where_torch_ends(name, options):
    if name == "Muon" and not HAS_BFLOAT16:
        pytest.skip("the cpu has no bfloat16")
    steps = 5 if name == "LBFGS" else 50
    (ours, mine), (theirs, its) = (train(each, name, options, steps) for each in (torchlike, torch))
    if name in ("LBFGS", "Muon"):
        # Long dot products, in float32, and bfloat16: each library has an order of its own.
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one.detach(), other.detach(), rtol=2e-2, atol=2e-2)
    else:
        close(ours, theirs)
    state, expected = mine.state_dict(), its.state_dict()
    assert plain(state["param_groups"]) == plain(expected["param_groups"])
    assert list(state["state"]) == list(expected["state"])
    for key, value in expected["state"].items():
        assert list(state["state"][key]) == list(value)
        for inner, each in value.items():
            # The length of a step is a number or a tensor, by the last way of the line search.
            if hasattr(each, "detach") and not (name == "LBFGS" and inner == "t"):
                assert plain(state["state"][key][inner])[:2] == plain(each)[:2], inner
    if name != "LBFGS":
        assert repr(mine) == repr(its)


@pytest.mark.parametrize(("name", "options"), [case for case in OPTIMIZERS if case[0] not in ("LBFGS", "Muon")])
def test_double_precision_and_resuming_from_a_state(name, options):
    ours, mine = train(torchlike, name, options, 5, "float64")
    theirs, its = train(torch, name, options, 5, "float64")
    ours, _ = train(torchlike, name, options, 5, "float64", [p.detach().numpy() for p in ours], mine.state_dict())
    theirs, _ = train(torch, name, options, 5, "float64", [p.detach().numpy() for p in theirs], its.state_dict())
    close(ours, theirs)


def schedules(sched):
    return {
        "lambda": lambda o: sched.LambdaLR(o, lambda n: 0.9**n),
        "multiplicative": lambda o: sched.MultiplicativeLR(o, [lambda n: 0.9, lambda n: 0.8]),
        "step": lambda o: sched.StepLR(o, 3),
        "multistep": lambda o: sched.MultiStepLR(o, [2, 5, 5]),
        "constant": lambda o: sched.ConstantLR(o, 0.25, 4),
        "linear": lambda o: sched.LinearLR(o, 0.25, total_iters=6),
        "exponential": lambda o: sched.ExponentialLR(o, 0.9),
        "polynomial": lambda o: sched.PolynomialLR(o, 8, 2.0),
        "cosine": lambda o: sched.CosineAnnealingLR(o, 5, 0.01),
        "restarts": lambda o: sched.CosineAnnealingWarmRestarts(o, 3, 2),
        "cyclic": lambda o: sched.CyclicLR(o, 0.01, 0.1, 3, 4, "triangular2"),
        "cyclic_exp": lambda o: sched.CyclicLR(o, [0.01, 0.02], 0.1, 3, mode="exp_range", gamma=0.9),
        "onecycle": lambda o: sched.OneCycleLR(o, [0.1, 0.2], total_steps=13),
        "onecycle3": lambda o: sched.OneCycleLR(
            o, 0.1, epochs=13, steps_per_epoch=1, three_phase=True, anneal_strategy="linear"
        ),
        "sequential": lambda o: sched.SequentialLR(
            o, [sched.ConstantLR(o, 0.1, 2), sched.CosineAnnealingLR(o, 5), sched.StepLR(o, 2)], [3, 8]
        ),
        "chained": lambda o: sched.ChainedScheduler([sched.ConstantLR(o, 0.1, 2), sched.ExponentialLR(o, 0.9)]),
        "plateau": lambda o: sched.ReduceLROnPlateau(o, patience=1, cooldown=1),
    }


def states(value):
    """Return a state without functions, which are each library's own."""
    return {
        key: [states(inner) for inner in each] if key == "_schedulers" else each
        for key, each in value.items()
        if not callable(each)
    }


@pytest.mark.parametrize("momentum", [True, False])
@pytest.mark.parametrize("name", list(schedules(torch.optim.lr_scheduler)))
def test_rates_are_torchs_and_go_on_from_a_state(name, momentum):
    def run(frontend):
        groups = [{"params": [frontend.ones(1, requires_grad=True)]}, {"params": [frontend.ones(1)], "lr": 0.3}]
        kind = {"momentum": 0.9} if momentum else {}
        make = frontend.optim.SGD if momentum else frontend.optim.Adam
        optimizer = make(groups, lr=0.1, **kind)
        schedule = schedules(frontend.optim.lr_scheduler)[name](optimizer)
        found = [list(map(float, schedule.get_last_lr()))]
        for step in range(12):
            optimizer.step()
            schedule.step(*([1.0 + step % 5] if name == "plateau" else []))
            found.append([{k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups])
        saved, state = schedule.state_dict(), optimizer.state_dict()
        seen = states(saved)
        optimizer = make(groups, lr=0.1, **kind)
        again = schedules(frontend.optim.lr_scheduler)[name](optimizer)
        optimizer.load_state_dict(state)
        again.load_state_dict(saved)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again.step(*([1.0] if name == "plateau" else []))
        return found, seen, list(map(float, again.get_last_lr()))

    assert run(torchlike) == run(torch)


def test_the_order_of_steps_is_watched_and_an_epoch_is_deprecated():
    for frontend in (torchlike, torch):
        optimizer = frontend.optim.SGD([frontend.ones(1, requires_grad=True)], lr=0.1)
        schedule = frontend.optim.lr_scheduler.StepLR(optimizer, 2)
        with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step"):
            schedule.step()
        with pytest.warns(UserWarning, match="The epoch parameter in"):
            schedule.step(4)
        assert schedule.get_last_lr() == [pytest.approx(0.001)]
        with pytest.warns(UserWarning, match="please use `get_last_lr"):
            schedule.get_lr()


REFUSED = [
    ("SGD", {"lr": -1}),
    ("SGD", {"momentum": -1}),
    ("SGD", {"nesterov": True}),
    ("Adam", {"betas": (1.0, 0.5)}),
    ("Adam", {"eps": -1}),
    ("Adam", {"betas": (0, 0.5)}),
    ("Adadelta", {"rho": 1.1}),
    ("Adagrad", {"lr_decay": -0.5}),
    ("NAdam", {"momentum_decay": -0.2}),
    ("Rprop", {"etas": (1.0, 0.5)}),
    ("RMSprop", {"momentum": -1.0}),
    ("Adafactor", {"d": 0.5}),
    ("Muon", {"adjust_lr_fn": "x"}),
    ("SparseAdam", {"lr": 0}),
    ("SGD", {"fused": True, "foreach": True}),
]


@pytest.mark.parametrize(("name", "options"), REFUSED)
def test_bad_settings_are_refused_in_torchs_words(name, options):
    def refuse(frontend):
        with pytest.raises((ValueError, RuntimeError)) as caught:
            getattr(frontend.optim, name)([frontend.ones(2, 2, requires_grad=True)], **options)
        return type(caught.value).__mro__[-4:], str(caught.value)

    assert refuse(torchlike) == refuse(torch)


def test_hooks_run_in_torchs_order_and_may_change_what_they_see():
    def run(frontend):
        seen = []
        optimizer = frontend.optim.SGD([frontend.ones(1, requires_grad=True)], lr=0.1)
        optimizer.register_step_pre_hook(lambda *args: seen.append(("pre", len(args))))
        optimizer.register_step_post_hook(lambda *args: seen.append(("post", len(args))))
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("read"))
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True)
        optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
        optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append(sorted(state)))
        handle = optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        handle.remove()
        optimizer.load_state_dict(optimizer.state_dict())
        return seen

    assert run(torchlike) == run(torch)
