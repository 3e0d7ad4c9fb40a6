"""A guard accepts only recordings that its plan was made for, and their results are those of the calls one by one."""

from __future__ import annotations

import gc
import random
import weakref

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_pipelines.program import guards
from dispatch_pipelines.program import plan as plans
from dispatch_pipelines.program.fingerprints import build, fingerprint, fingerprint_node
from dispatch_pipelines.program.model import DEFAULTS
from dispatch_pipelines.record.steps import step_type
from dispatch_pipelines.run import scheduler

aten = dc.ops.aten
CPU = dc.DispatchKey.CPU


@pytest.fixture(autouse=True)
def hits(monkeypatch):
    """The guards' answers, flush by flush."""
    plans.clear()
    answers = []
    find = guards.find

    def observe(records, options):
        found = find(records, options)
        answers.append(found is not None)
        return found

    monkeypatch.setattr(guards, "find", observe)
    yield answers
    plans.clear()


def play(program, *arguments, **options):
    """Run a program in a pipeline; return its results as lists."""
    with dc.pipeline(**options):
        found = program(*arguments)
    return [each.tolist() for each in found]


def same(program, *arguments, **options):
    expected = [each.tolist() for each in program(*arguments)]
    assert play(program, *arguments, **options) == expected


def ones(*shape, dtype=torchlike.float32):
    return torchlike.ones(*shape, dtype=dtype)


def chain(a, b, number=2.0):
    t = a * b
    t = t + number
    return (t - b,)


def test_the_third_time_a_guard_recognises_it(hits):
    for _ in range(5):
        same(chain, ones(3), ones(3) * 4)
    assert hits == [False, False, True, True, True]


def test_values_and_numbers_of_a_type_may_differ(hits):
    for number in (2.0, 3.5, -1.0, 0.0, float("inf")):
        same(chain, ones(3) * number, ones(3), number)
    assert hits[2:] == [True] * 3


#: Type of a parameter → what a random number makes an argument of.
DRAWN = {
    "float": lambda draw: draw.choice([0.0, -1.5, 2.25]),
    "float?": lambda draw: draw.choice([None, 0.5, 4.0]),
    "float[]": lambda draw: [draw.choice([0.5, 2.0, -3.0]) for _ in range(draw.randrange(4))],
    "Scalar": lambda draw: draw.choice([1, 2.0, True]),
    "Scalar[]": lambda draw: [draw.choice([3, 0.25, False]) for _ in range(draw.randrange(4))],
    "int": lambda draw: draw.randrange(3),
    "int[]": lambda draw: [draw.randrange(3) for _ in range(draw.randrange(3))],
    "bool": lambda draw: draw.random() < 0.5,
    "str": lambda draw: draw.choice(["a", "bb"]),
    "Tensor": lambda draw: ones(3) * draw.randrange(1, 4),
    "Tensor[]": lambda draw: [ones(3) * draw.randrange(1, 4) for _ in range(draw.randrange(1, 3))],
}


def _sum_of(value):
    if isinstance(value, (list, tuple)):
        return sum((place + 2) * _sum_of(item) for place, item in enumerate(value))
    return 0.5 if value is None else len(value) if isinstance(value, str) else value


@pytest.mark.parametrize("seed", range(40))
def test_arguments_of_every_type_come_to_a_guarded_plan_as_they_are(seed):
    draw = random.Random(seed)
    kinds = draw.sample(sorted(DRAWN), 4)
    parameters = ", ".join(f"{kind} x{place}" for place, kind in enumerate(kinds))
    with dc.Library(f"guarded{seed}", "DEF") as library:
        library.define(f"f(Tensor self, {parameters}) -> Tensor")
        library.impl("f", lambda self, *given: self + _sum_of(given), "CPU")
        library.impl("f", lambda self, *given: self, "Meta")
        operator = getattr(dc.ops, f"guarded{seed}").f

        def program(a, *given):
            b = operator(a, *given) * 2.0
            return (operator(b, *given) + 0.5,)

        given = [DRAWN[kind](draw) for kind in kinds]
        for _ in range(4):
            same(program, ones(3), *given)
            if draw.random() < 0.3:
                given = [DRAWN[kind](draw) for kind in kinds]


DIFFERENT = {
    "another shape": lambda: (chain, (ones(4), ones(4))),
    "broadcasting": lambda: (chain, (ones(3), ones(1))),
    "another dtype": lambda: (chain, (ones(3, dtype=torchlike.float64), ones(3))),
    "other strides": lambda: (chain, (ones(6)[::2], ones(3))),
    "an int": lambda: (chain, (ones(3), ones(3), 2)),
    "a bool": lambda: (chain, (ones(3), ones(3), True)),
    "another operator": lambda: ((lambda a, b: (a * b + 2.0 + b,)), (ones(3), ones(3))),
    "another order": lambda: ((lambda a, b: (b - (a * b + 2.0),)), (ones(3), ones(3))),
    "one more is kept": lambda: ((lambda a, b: (t := a * b, t + 2.0 - b)), (ones(3), ones(3))),
    "one call less": lambda: ((lambda a, b: (a * b + 2.0,)), (ones(3), ones(3))),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_structures_are_not_recognised(hits, name):
    for _ in range(3):
        same(chain, ones(3), ones(3))
    program, arguments = DIFFERENT[name]()
    same(program, *arguments)
    assert hits == [False, False, True, False]


def test_one_array_in_two_places_matters_only_to_writes(hits):
    for _ in range(3):
        same(chain, ones(3), ones(3) * 4)
    x = ones(3) * 5
    same(chain, x, x)
    assert hits == [False, False, True, True]


def test_fuse_is_part_of_it(hits):
    for _ in range(3):
        same(chain, ones(3), ones(3))
    same(chain, ones(3), ones(3), fuse=False)
    assert hits[-1] is False


def test_values_that_are_not_referred_to_any_more_are_dropped_after_all(hits):
    def both(a, b, keep):
        t = a.exp()
        u = a * b
        return (t, u) if keep else (u,)

    for _ in range(3):
        play(both, ones(3), ones(3), True)
    with dc.pipeline() as pipe:
        found = both(ones(3), ones(3), False)
    assert pipe.stats().dropped == 1
    assert found[0].tolist() == [1.0, 1.0, 1.0]
    assert hits == [False, False, True, False]


@pytest.mark.parametrize("is_last_kept", [False, True])
def test_dropped_results_cost_no_fingerprint(monkeypatch, is_last_kept):
    monkeypatch.setattr(scheduler, "fingerprint", None)
    x = ones(3)
    for _ in range(3):
        with dc.pipeline() as pipe:
            for _ in range(4):
                last = x.exp()
            if not is_last_kept:
                del last
        assert pipe.stats().dropped == 4 - is_last_kept


def test_writes_to_pending_values_and_random_numbers_are_recognised(hits):
    def program(a):
        drawn = torchlike.rand_like(a)
        t = a + 1.0
        t.mul_(a)
        torchlike.rand_like(a)  # draws, though its result is dropped
        return t, drawn

    for _ in range(4):
        play(program, ones(3))
    assert hits == [False, False, True, True]


def test_writes_see_which_arrays_share_memory(hits):
    def write(a, b):
        a.add_(1.0)
        return (b * 2.0, a)

    for _ in range(3):
        assert play(write, ones(3), ones(3)) == [[2.0] * 3, [2.0] * 3]
    x = ones(3)
    assert play(write, x, x[:]) == [[4.0] * 3, [2.0] * 3]
    assert hits == [False, False, True, False]


def test_lists_and_several_results(hits):
    def program(a, b):
        first, second = torchlike.stack([a, b], 1).split(1, 1)
        values, places = (first + second).max(0)
        return values, places, torchlike.cat([a, values])

    for number in (1.0, 2.0, 3.0, 4.0):
        same(program, ones(3) * number, ones(3))
    assert hits[-1] is True


def test_a_new_kernel_is_seen(hits):
    with dc.Library("guarded", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x, "Meta")
        old = dc.Library("guarded", "IMPL", "CPU")
        old.impl("f", lambda x: x + 1)

        def program(a):
            return (dc.ops.guarded.f(dc.ops.guarded.f(a)),)

        for _ in range(3):
            assert play(program, ones(2)) == [[3.0, 3.0]]
        old.close()
        with dc.Library("guarded", "IMPL", "CPU") as new:
            new.impl("f", lambda x: x * 5)
            assert play(program, ones(2)) == [[25.0, 25.0]]
    assert hits == [False, False, True, False]


def test_a_failing_step_raises_as_ever(hits):
    def program(a, index):
        return (a.index_select(0, index) * 2.0 + 1.0,)

    good, bad = torchlike.tensor([0, 1]), torchlike.tensor([0, 9])
    for _ in range(3):
        same(program, ones(3), good)
    with pytest.raises(IndexError, match="index out of range in self"):
        play(program, ones(3), bad)
    assert hits[-1] is True
    same(program, ones(3), good)


def test_steps_that_ran_before_one_fails_keep_their_results(hits):
    def begin(a, index):
        return a.clone(), a.index_select(0, index), a.flip(0)

    given, good, bad = torchlike.arange(3.0), torchlike.tensor([0, 1]), torchlike.tensor([0, 9])
    for _ in range(3):
        same(begin, given, good)
    with pytest.raises(IndexError, match="index out of range in self"), dc.pipeline():
        copied, chosen, turned = begin(given, bad)
    assert hits[-1] is True
    assert (copied.tolist(), turned.tolist()) == ([0.0, 1.0, 2.0], [2.0, 1.0, 0.0])
    with pytest.raises(IndexError, match="index out of range in self"):
        chosen.tolist()


def test_a_guard_holds_no_arrays():
    array = np.ones(3, np.float32)
    gone = weakref.ref(array)
    for _ in range(4):
        with dc.pipeline():
            found = aten.neg(aten.mul.Tensor(array, array))
    assert found.result().tolist() == [-1.0] * 3
    del array, found
    gc.collect()
    assert gone() is None


def test_masks_are_those_of_the_call(hits):
    def program(a):
        return (a * 2.0 + 1.0,)

    for _ in range(3):
        same(program, ones(2))
    with dc.exclude_keys("AutogradCPU"):
        same(program, ones(2))
    leaf = ones(2).requires_grad_()
    with dc.pipeline():
        total = (leaf * 2.0 + 1.0).sum()
    total.backward()
    assert leaf.grad.tolist() == [2.0, 2.0]


def test_steps_on_two_indices_have_two_structures():
    entry, array = aten.exp.default._entry, ones(3)._dispatch_data
    indices = (None, 1, None)
    kinds = [step_type(entry, CPU.value, (), device=CPU, index=index) for index in indices]
    assert kinds[0] is kinds[2] is not kinds[1]
    found = [fingerprint([kind.of((array,), (None,), None, 0)], DEFAULTS) for kind in kinds]
    assert found[0].key == found[2].key != found[1].key
    nodes = [build(each, DEFAULTS).nodes[0] for each in found]
    assert [(node.device, node.index) for node in nodes] == [(CPU, index) for index in indices]
    parts = [fingerprint_node(node, ["input"]) for node in nodes]
    assert parts[0] == parts[2] != parts[1]
