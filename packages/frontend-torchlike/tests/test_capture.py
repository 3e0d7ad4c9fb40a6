"""Captured functions: what tensors, modules, optimizers and schedules keep besides arrays is as without capture."""

import pytest

import dispatch_core as dc
import torchlike
from torchlike import nn, optim
from torchlike.nn import functional as F  # torch's own abbreviation
from torchlike.optim import lr_scheduler as schedules

pytestmark = pytest.mark.no_pipeline(reason="captured functions run outside of pipelines, or flush them")

OPTIMIZERS = {
    "ASGD": lambda given: optim.ASGD(given, lr=0.1, t0=2),
    "Adadelta": lambda given: optim.Adadelta(given, maximize=True),
    "Adagrad": lambda given: optim.Adagrad(given, lr_decay=0.1),
    "Adam": lambda given: optim.Adam(given, lr=0.1, weight_decay=0.1, amsgrad=True),
    "AdamW": lambda given: optim.AdamW(given, lr=0.1),
    "Adamax": optim.Adamax,
    "Muon": lambda given: optim.Muon([each for each in given if each.dim() == 2], lr=0.1),
    "NAdam": optim.NAdam,
    "RAdam": optim.RAdam,
    "RMSprop": lambda given: optim.RMSprop(given, centered=True, momentum=0.5),
    "Rprop": optim.Rprop,
    "SGD": lambda given: optim.SGD(given, lr=torchlike.tensor(0.1)),
    "SGD with momentum": lambda given: optim.SGD(given, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
}
SCHEDULES = {
    "OneCycleLR": lambda given: schedules.OneCycleLR(given, 0.5, total_steps=40),
    "CyclicLR": lambda given: schedules.CyclicLR(given, 0.01, 0.1, step_size_up=3),
    "StepLR": lambda given: schedules.StepLR(given, 2),
    "CosineAnnealingWarmRestarts": lambda given: schedules.CosineAnnealingWarmRestarts(given, 3),
    "SequentialLR": lambda given: schedules.SequentialLR(
        given, [schedules.ConstantLR(given), schedules.ExponentialLR(given, 0.9)], [4]
    ),
    "ChainedScheduler": lambda given: schedules.ChainedScheduler(
        [schedules.ConstantLR(given), schedules.LambdaLR(given, lambda step: 0.95**step)]
    ),
}


def make_net():
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 3))


def train(steps, *, captured, optimizer="SGD", schedule=None, inside=False, set_to_none=True, make=make_net):
    """Return everything that can be seen of a few training steps, and the figures of the captured function."""
    torchlike.manual_seed(0)
    net = make()
    chosen = OPTIMIZERS[optimizer](list(net.parameters()))
    plan = SCHEDULES[schedule](chosen) if schedule else None

    def step(x, target):
        chosen.zero_grad(set_to_none)
        loss = F.cross_entropy(net(x), target)
        loss.backward()
        chosen.step()
        if inside:
            plan.step()
        return loss

    called = dc.capture(step) if captured else step
    log = []
    for _ in range(steps):
        loss = called(torchlike.randn(7, 4), torchlike.randint(0, 3, (7,)))
        if plan is not None and not inside:
            plan.step()
        log.append((loss.item(), loss._version, loss.grad_fn.name(), loss.requires_grad))
    log.append(show(chosen.state_dict()))
    log += [(show(each), show(each.grad)) for each in net.parameters()]
    log += [show(each) for each in net.buffers()]
    if plan is not None:
        state = {name: value for name, value in plan.state_dict().items() if name not in ("_schedulers", "lr_lambdas")}
        log.append({name: value for name, value in state.items() if not callable(value)})
    return log, called.stats() if captured else None


def show(value):
    """Return values and versions of the tensors in a nested value."""
    if isinstance(value, torchlike.Tensor):
        return value.tolist(), value._version, value.stride()
    if isinstance(value, dict):
        return {name: show(item) for name, item in value.items()}
    return list(map(show, value)) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_states_of_optimizers_after_replays_are_those_of_eager_steps(name):
    expected, _ = train(9, captured=False, optimizer=name, make=lambda: nn.Linear(4, 3))
    found, stats = train(9, captured=True, optimizer=name, make=lambda: nn.Linear(4, 3))
    assert found == expected
    assert stats.replays >= 3


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_change_the_rates_of_replays(name, inside):
    optimizer = "SGD with momentum" if name == "CyclicLR" else "AdamW"
    options = {"optimizer": optimizer, "schedule": name, "inside": inside, "make": lambda: nn.Linear(4, 3)}
    expected, _ = train(9, captured=False, **options)
    found, stats = train(9, captured=True, **options)
    assert found == expected
    assert stats.replays == 6


def test_gradients_that_are_set_to_zero_are_written_to():
    expected, _ = train(6, captured=False, set_to_none=False)
    found, stats = train(6, captured=True, set_to_none=False)
    assert found == expected
    assert stats.replays == 3
