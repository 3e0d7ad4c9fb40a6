"""Captured functions may use up the memory of arrays that they overwrite, where nothing else needs it.

The planner here uses it up as badly as it can be: it spoils the elements.
"""

import numpy as np
import pytest
import test_captured_programs as programs

import dispatch_core as dc
import torchlike
from dispatch_core.discovery import loader
from dispatch_core.planning import PlannedStep

pytestmark = pytest.mark.no_pipeline(reason="captured functions run outside of pipelines, or flush them")


class Spoiler:
    """Plans programs of a device as one step each, which spoils what it may use up."""

    def __init__(self, device):
        self.device, self.spoiled, self.copies, self.fails = device, [], 0, False

    def plan(self, name, program):
        if name != self.device or not program.fuse:
            return []
        donated = [value.index for value in program.values if value.successor is not None]

        def run(values):
            for node in program.nodes:
                node.run(values)
            for index in donated:
                array = values[index]
                inner = array.array
                inner.flags.writeable = True
                inner.reshape(-1).view(np.uint8)[...] = 0xA5
                values[index] = None
                self.spoiled.append(array)
            if self.fails:
                raise ArithmeticError("the step has failed")

        return [PlannedStep(tuple(range(len(program.nodes))), run, donated=tuple(donated), copy=self.copy)]

    def copy(self, array):
        self.copies += 1
        return type(array)(array.array)


@pytest.fixture
def spoiler(frozen_backend, monkeypatch):
    made = Spoiler("frozen")
    torchlike.empty(0, device="frozen")
    monkeypatch.setattr(loader(), "plan", made.plan)
    return made


def is_spoiled(spoiler, key):
    return any(id(each) == key for each in spoiler.spoiled)


def test_random_programs_mean_the_same(spoiler):
    replays = [programs.compare(seed, "frozen") for seed in range(programs.FIRST, programs.FIRST + 8)]
    assert sum(replays) > 0
    assert spoiler.spoiled


@pytest.mark.parametrize("name", programs.OPTIMIZERS)
def test_training_steps_use_up_parameters_and_state(name, spoiler):
    make = programs.OPTIMIZERS[name]
    expected, _ = programs.train("frozen", make, 8, captured=False)
    found, captured = programs.train("frozen", make, 8, captured=True)
    assert repr(found) == repr(expected)
    # Four parameters; the values of each have states.
    assert len(spoiler.spoiled) == captured.stats().replays * 4 * {"SGD": 2, "Adam": 3}[name]
    assert not spoiler.copies


def put(*values):
    return torchlike.tensor(values).to("frozen")


def add_one(x):
    x.add_(1)


#: What else refers to an array → a function of the tensor that makes it so.
HELD = {
    "another tensor": lambda x: x.detach(),
    "a view of all of it": lambda x: x.view(3),
    "the array itself": lambda x: x._dispatch_data,
    "a list": lambda x: [x._dispatch_data],
    "a node": lambda x: (torchlike.ones(3, device="frozen", requires_grad=True) * x.view(3)).grad_fn,
    "a copy of the tensor": lambda x: x.clone(),
}


#: Of these the function that gives the array that was kept.
KEPT = {
    "the array itself": lambda held: held,
    "a list": lambda held: held[0],
    "a copy of the tensor": lambda held: held._dispatch_data,
}


@pytest.mark.parametrize("name", HELD)
def test_what_something_else_refers_to_is_kept(name, spoiler):
    step = dc.capture(add_one)
    x = put(1.0, 2.0, 3.0)
    for _ in range(3):
        step(x)
    assert (step.stats().replays, len(spoiler.spoiled)) == (1, 1)
    held, array = HELD[name](x), id(x._dispatch_data)
    for number in range(5, 9):
        step(x)
        if number == 5:
            assert is_spoiled(spoiler, array) == (name == "a copy of the tensor")
        assert x.tolist() == [number, number + 1, number + 2]
        if name in ("another tensor", "a view of all of it"):
            # Aliases see the write, as anywhere.
            assert held.tolist() == x.tolist()
    if name in KEPT:
        assert KEPT[name](held).array.tolist() == [4.0, 5.0, 6.0]
    # Once it is gone, the next array is used up.
    del held
    step(x)
    array = id(x._dispatch_data)
    step(x)
    step(x)
    assert is_spoiled(spoiler, array)


def test_lent_memory_is_kept(spoiler, monkeypatch):
    from dispatch_core.arrays.lent_memory import Holder, lend

    class Owner:
        pass

    step = dc.capture(add_one)
    x = put(1.0, 2.0)
    for _ in range(3):
        step(x)
    owner, array = Owner(), id(x._dispatch_data)
    lend(x._dispatch_data, Holder, owner)
    step(x)
    assert (spoiler.copies, is_spoiled(spoiler, array)) == (1, False)
    del owner
    step(x)
    assert spoiler.copies == 1


def swap(x, y):
    x.data, y.data = y.data, x.data


#: Functions of two tensors that leave the first one's array somewhere, or do not overwrite it.
KEEPING = {
    "returned before": lambda x, y: [x * 1, x.add_(y)][0],
    "returned as a view": lambda x, y: [x.detach(), x.add_(y)][0],
    "read only": lambda x, y: x + y,
    "swapped": swap,
    "saved by a node": lambda x, y: [(y.detach().requires_grad_() * x).sum(), x.data.add_(1)][0],
    "another's": lambda x, y: [setattr(y, "data", x.data), x.add_(1)][1],
}


@pytest.mark.parametrize("name", KEEPING)
def test_arrays_that_the_call_leaves_are_kept(name, spoiler):
    function = KEEPING[name]
    captured = dc.capture(function)

    def call(called, number):
        given = [put(1.0, 2.0 + number), put(3.0, 4.0)]
        result = called(*given)
        return [None if each is None else (each.tolist(), each._version) for each in (*given, result)]

    for number in range(5):
        assert call(captured, number) == call(function, number)
    assert captured.stats().replays or name == "swapped"


def test_nothing_is_used_up_elsewhere(spoiler):
    x = put(1.0, 2.0)
    kept = dc.capture(add_one, donate=False)
    for _ in range(5):
        kept(x)
    with dc.pipeline():
        x.add_(1).mul_(2)
    x.add_(1)
    assert not spoiler.spoiled
    assert x.tolist() == [15.0, 17.0]


def test_a_replay_that_fails_afterwards_marks_the_tensors(spoiler):
    def program(x, y, z):
        x.add_(y)
        y.mul_(2)
        return z + 1

    step = dc.capture(program)
    x, y, z = put(1.0, 2.0), put(3.0, 4.0), put(5.0)
    for _ in range(3):
        step(x, y, z)
    held, versions, values = y._dispatch_data, (x._version, y._version), y.tolist()
    spoiler.fails = True
    where = r"(?s)one of 3 calls that run as one program.*the step has failed.*test_donation"
    with pytest.raises(ArithmeticError, match=where):
        step(x, y, z)
    spoiler.fails = False
    # What was used up was the copy of one of them.
    assert y.tolist() == held.array.tolist() == values
    assert (x._version, y._version) == versions
    for read in (x.tolist, lambda: x + 1, lambda: step(x, y, z), lambda: str(x), lambda: x.add_(1)):
        with pytest.raises(ArithmeticError, match="the step has failed"):
            read()
    assert (x.shape, x.dtype, x.device.type) == ((2,), torchlike.float32, "frozen")
    x.data = put(1.0, 1.0)
    step(x, y, z)
    assert x.tolist() == [1.0 + values[0], 1.0 + values[1]]


def test_planners_cannot_use_up_what_is_needed(frozen_backend, monkeypatch):
    def plan(name, program):
        every = [value.index for value in program.values if value.given]
        return [PlannedStep((0,), program.nodes[0].run, donated=tuple(every[:1]), copy=lambda array: array)]

    monkeypatch.setattr(loader(), "plan", plan)
    step = dc.capture(lambda x: x * 2 + x)
    x = put(1.0, 2.0)
    with pytest.warns(RuntimeWarning, match="cannot plan a pipeline.*uses up value 0"):
        found = [step(x).tolist() for _ in range(3)]
    assert found == [[3.0, 6.0]] * 3
