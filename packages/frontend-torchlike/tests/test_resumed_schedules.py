"""Schedules that are resumed, by ``last_epoch`` or from their state, against those that run through."""

import copy
import itertools
import os
import random

import pytest

import torchlike
from torchlike.optim import lr_scheduler as schedules

SCHEDULES = {
    "LambdaLR": lambda o, e: schedules.LambdaLR(o, lambda step: 0.9**step, last_epoch=e),
    "MultiplicativeLR": lambda o, e: schedules.MultiplicativeLR(o, lambda step: 0.9, last_epoch=e),
    "StepLR": lambda o, e: schedules.StepLR(o, 3, 0.5, last_epoch=e),
    "MultiStepLR": lambda o, e: schedules.MultiStepLR(o, [2, 5], 0.5, last_epoch=e),
    "ConstantLR": lambda o, e: schedules.ConstantLR(o, 0.5, 4, last_epoch=e),
    "LinearLR": lambda o, e: schedules.LinearLR(o, 0.3, 0.9, 5, last_epoch=e),
    "ExponentialLR": lambda o, e: schedules.ExponentialLR(o, 0.9, last_epoch=e),
    "PolynomialLR": lambda o, e: schedules.PolynomialLR(o, 6, 2.0, last_epoch=e),
    "CosineAnnealingLR": lambda o, e: schedules.CosineAnnealingLR(o, 4, 0.01, last_epoch=e),
    "CosineAnnealingWarmRestarts": lambda o, e: schedules.CosineAnnealingWarmRestarts(o, 2, 2, 0.01, last_epoch=e),
    "CyclicLR": lambda o, e: schedules.CyclicLR(o, 0.1, 1.0, 3, cycle_momentum=False, last_epoch=e),
    "OneCycleLR": lambda o, e: schedules.OneCycleLR(o, 1.0, 12, cycle_momentum=False, last_epoch=e),
}
#: These take their own rates from the optimizer when they are made, so that they represent themselves.
ALONE = ("CyclicLR", "OneCycleLR")
PAIRS = list(itertools.product([name for name in SCHEDULES if name not in ALONE], repeat=2))
STEPS = 11
#: How many pairs are drawn for each test; more in a run of their own.
DRAWN = min(int(os.environ.get("DISPATCH_SCHEDULES") or 25), len(PAIRS))


def make_optimizer(state=None):
    optimizer = torchlike.optim.SGD([torchlike.nn.Parameter(torchlike.zeros(1))], lr=1.0)
    if state is not None:
        optimizer.load_state_dict(state)
    return optimizer


def follow(optimizer, schedule, steps):
    """Return the rates of the next steps."""
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


def check_resumption(make, at, restore):
    """Compare a schedule that is made again at step ``at`` with the one that went there."""
    optimizer = make_optimizer()
    schedule = make(optimizer, -1)
    follow(optimizer, schedule, at)
    state, states = copy.deepcopy(schedule.state_dict()), copy.deepcopy(optimizer.state_dict())
    expected = follow(optimizer, schedule, STEPS - at)
    again = make_optimizer(states)
    resumed = make(again, -1 if restore else at - 1)
    if restore:
        resumed.load_state_dict(state)
        again.load_state_dict(states)  # a schedule that is made sets its first rates
    assert resumed.last_epoch == at
    assert resumed.get_last_lr() == pytest.approx([expected[0]])
    assert follow(again, resumed, STEPS - at) == pytest.approx(expected)


@pytest.mark.parametrize("restore", [False, True], ids=["last_epoch", "state"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_resumed_schedule_goes_on_as_one_that_runs_through(name, restore):
    for at in range(1, STEPS):
        check_resumption(SCHEDULES[name], at, restore)


@pytest.mark.parametrize("restore", [False, True], ids=["last_epoch", "state"])
def test_resumed_schedules_one_after_the_other_go_on(restore):
    for first, second in random.Random(int(restore)).sample(PAIRS, DRAWN):
        for at, inner in itertools.product((1, 3, 4, 5, 8), (False, True)):

            def make(optimizer, epoch, pair=(first, second), inner=inner):
                parts = [SCHEDULES[name](optimizer, epoch if inner else -1) for name in pair]
                return schedules.SequentialLR(optimizer, parts, [4], last_epoch=epoch)

            check_resumption(make, at, restore)


def test_warm_restarts_begin_again_at_each_power():
    optimizer = make_optimizer()
    schedule = schedules.CosineAnnealingWarmRestarts(optimizer, 1, 3)
    for rounds in range(1, 8):
        schedule.step((3**rounds - 1) // 2)
        assert schedule.get_last_lr() == [1.0]
