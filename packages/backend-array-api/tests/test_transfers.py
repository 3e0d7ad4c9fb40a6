"""Replays of captured steps on one device: nothing is read by the host, or put by it, but a number that has changed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

from replayed_steps import OPTIMIZERS, count_transfers, make_step, run_guarded

import torchlike
from torchlike.optim.lr_scheduler import ExponentialLR, StepLR


@pytest.mark.parametrize("kind", ["MLP", "GPT"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_replay_transfers_nothing(kind, optimizer, monkeypatch):
    step = make_step(kind, optimizer, schedule=lambda rule: StepLR(rule, 100))
    found = count_transfers(monkeypatch)
    losses = run_guarded(step)
    assert not found
    assert losses == sorted(losses, reverse=True)
    assert step.schedule.last_epoch == 8


def test_a_schedule_costs_one_put_for_each_new_rate(monkeypatch):
    step = make_step("MLP", "Adam", schedule=lambda rule: ExponentialLR(rule, 0.9))
    found = count_transfers(monkeypatch)
    for count in range(1, 4):
        step.run(*step.batch)
        assert found == {"put": count}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_go_on_from_numbers_that_the_program_writes(optimizer):
    """Counts of steps and rates are the host's; those on the device follow them."""
    captured, eager = (make_step("MLP", optimizer) for _ in range(2))
    for step, run in ((captured, captured.run), (eager, eager.run.__wrapped__)):
        for change in ("none", "rate", "count", "state", "none"):
            if change == "rate":
                step.rule.param_groups[0]["lr"] *= 0.3
            if change == "count":
                for state in step.rule.state.values():
                    if "step" in state:
                        state["step"].fill_(2)
            if change == "state":
                step.rule.load_state_dict(step.rule.state_dict())
            for _ in range(4):
                run(*step.batch)
    for one, other in zip(captured.net.parameters(), eager.net.parameters(), strict=True):
        np.testing.assert_allclose(one.detach().cpu().numpy(), other.detach().cpu().numpy(), rtol=1e-5, atol=1e-6)
    states = [[*step.rule.state_dict()["state"].values()] for step in (captured, eager)]
    assert [state.get("step") for state in states[0]] == [state.get("step") for state in states[1]]


def test_parameters_whose_counts_differ_have_numbers_of_their_own():
    captured, eager = (make_step("MLP", "Adam") for _ in range(2))
    for step, run in ((captured, captured.run), (eager, eager.run.__wrapped__)):
        first = next(iter(step.rule.state.values()))
        first["step"].fill_(40)
        for _ in range(3):
            run(*step.batch)
    for one, other in zip(captured.net.parameters(), eager.net.parameters(), strict=True):
        np.testing.assert_allclose(one.detach().cpu().numpy(), other.detach().cpu().numpy(), rtol=1e-5, atol=1e-6)


def test_reading_a_state_reads_its_arrays_alone(monkeypatch):
    step = make_step("MLP", "Adam")
    found = count_transfers(monkeypatch)
    state = step.rule.state_dict()["state"]
    assert not found
    assert {each["step"].item() for each in state.values()} == {5.0}
    assert torchlike.is_tensor(state[0]["exp_avg"])
