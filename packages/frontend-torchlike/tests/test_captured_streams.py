"""Captured functions that work on several streams, called from any of them: nothing is read too early."""

from __future__ import annotations

import random

import numpy as np
import pytest
import racing_device
from racing_device import NAME, Racing, register

import dispatch_core as dc
import torchlike as t
from dispatch_core.runtime import current_stream, default_stream

pytestmark = pytest.mark.no_pipeline(reason="recorded calls are launched when they run")


@pytest.fixture
def racing():
    with register():
        yield Racing


KINDS = {
    "mul": lambda first, second: first * second * 0.1,
    "add": lambda first, second: first + second,
    "exp": lambda first, _: (first * 0.1).exp(),
    "sum": lambda first, second: first.sum() + second,
}


def draw_function(draw, streams, has_gradient):
    """Return a function of two tensors, some of whose calls are on the streams, and the same on the cpu."""
    places = [None, *range(len(streams))]
    steps = [
        (draw.choice(places), draw.choice([*KINDS]), draw.random(), draw.random()) for _ in range(draw.randint(2, 8))
    ]

    def run(x, y, is_ordered=True):
        caller = current_stream(NAME) if is_ordered else None
        made = [(x, caller), (y, caller)]
        for place, kind, *chosen in steps:
            stream = caller if place is None or not is_ordered else streams[place]
            (first, one), (second, other) = (made[int(share * len(made))] for share in chosen)
            if is_ordered:
                stream.wait_stream(one)
                stream.wait_stream(other)
            if stream is caller:
                made.append((KINDS[kind](first, second), stream))
                continue
            with stream:
                made.append((KINDS[kind](first, second), stream))
        for _, stream in made if is_ordered else ():
            caller.wait_stream(stream)
        loss = sum(each.sum() for each, _ in made)
        if has_gradient:
            loss.backward()
        return loss.detach()

    return run


@pytest.mark.parametrize("seed", range(16))
def test_drawn_functions_from_drawn_streams(seed, racing):
    draw = random.Random(seed)
    streams = [dc.Stream(NAME) for _ in range(2)]
    has_gradient = draw.random() < 0.5
    function = draw_function(draw, streams, has_gradient)
    captured = t.capture(function)
    weight, same = (
        t.tensor([0.1, 0.2, 0.3], dtype=t.float64, requires_grad=has_gradient, device=each) for each in places
    )
    for _ in range(8):
        x = t.tensor([draw.gauss(0, 1) for _ in range(3)], dtype=t.float64)
        given, caller = x.to(NAME), draw.choice([default_stream(NAME), *streams])
        with caller:
            caller.wait_stream(default_stream(NAME))
            found, expected = captured(given, weight), function(x, same, is_ordered=False)
            np.testing.assert_allclose(found.item(), expected.item(), rtol=1e-9)
            if has_gradient:
                np.testing.assert_allclose(weight.grad.tolist(), same.grad.tolist(), rtol=1e-9)
                weight.grad = same.grad = None
        default_stream(NAME).wait_stream(caller)
        assert racing.lane() is racing.lanes[0]
    assert racing.races == []
    assert captured.stats().replays > 0


places = NAME, "cpu"


def test_a_stream_that_is_named_stays_the_same_whoever_calls(racing):
    side, other, x = dc.Stream(NAME), dc.Stream(NAME), t.ones(3, device=NAME, dtype=t.float64)
    side.wait_stream(default_stream(NAME))

    @t.capture
    def compute(x):
        with side:
            return x.exp()

    for caller in (side, other):
        with caller:
            for _ in range(4):
                compute(x)
    assert side.native_handle.launched.count("exp") == 8
    assert compute.stats().replays == 4
    assert compute.stats().variants == 2


def test_the_current_stream_that_is_asked_for_is_the_caller_s(racing):
    side = dc.Stream(NAME)
    x = t.ones(3, device=NAME, dtype=t.float64)

    @t.capture
    def compute(x):
        side.wait_stream(current_stream(NAME))
        with side:
            found = x.exp()
        current_stream(NAME).wait_stream(side)
        return found

    callers = [default_stream(NAME), dc.Stream(NAME), dc.Stream(NAME)]
    for caller in callers * 2:
        caller.wait_stream(default_stream(NAME))
        with caller:
            compute(x).tolist()
    assert compute.stats().replays == 4
    assert racing.races == []


def test_a_stream_of_the_cpu_changes_nothing_in_a_pipeline_or_a_captured_function():
    stream, x = dc.Stream("cpu"), t.ones(3)
    with dc.pipeline():
        y = x + 1
        with stream:
            z = y * 2
    assert z.tolist() == [4, 4, 4]

    @t.capture
    def compute(x):
        with stream:
            return x + 1

    assert [compute(x).tolist() for _ in range(4)] == [[2, 2, 2]] * 4
    assert compute.stats().replays == 2


def test_a_host_s_copy_between_streams(racing):
    side, x = dc.Stream(NAME), t.ones(3, device=NAME, dtype=t.float64)

    def compute(x):
        side.wait_stream(current_stream(NAME))
        with side:
            made = t.full((3,), 2.0, dtype=t.float64).to(NAME) * x
        current_stream(NAME).wait_stream(side)
        return made.cpu()

    captured = t.capture(compute)
    for number in range(5):
        assert captured(x * number).tolist() == [2.0 * number] * 3
    assert captured.stats().replays == 3
    assert racing.races == []
    assert racing.lane() is racing.lanes[0]


def test_arrays_that_other_streams_use_are_told_to_the_device(racing, monkeypatch):
    told = []
    monkeypatch.setattr(racing_device.Streams, "record", lambda array, lane: told.append((array, lane)), raising=False)
    side, x = dc.Stream(NAME), t.ones(3, device=NAME, dtype=t.float64)
    leaf = t.ones(3, device=NAME, dtype=t.float64, requires_grad=True)

    def compute(x):
        side.wait_stream(current_stream(NAME))
        with side:
            made = x.exp()
            made.add_(1)
        current_stream(NAME).wait_stream(side)
        return made * 2

    with dc.pipeline():
        found = compute(x)
    assert found.tolist() == pytest.approx([2 * (np.e + 1)] * 3)
    assert [lane for _, lane in told] == [racing.lanes[0]]
    captured = t.capture(compute)
    for _ in range(4):
        told.clear()
        captured(x)
        assert [lane for _, lane in told] == [racing.lanes[0]]
    with side:
        side.wait_stream(default_stream(NAME))
        loss = leaf.exp().sum()
    default_stream(NAME).wait_stream(side)
    told.clear()
    loss.backward()
    assert {lane for _, lane in told} == {racing.lanes[0], side.native_handle}
    with dc.pipeline():
        pending = x + 1
        told.clear()
        pending.record_stream(side)
        assert told[0][1] is side.native_handle


def test_a_write_on_another_stream_comes_before_what_reads_it(racing):
    side, x = dc.Stream(NAME), t.ones(3, device=NAME, dtype=t.float64)
    side.wait_stream(default_stream(NAME))
    with dc.pipeline():
        y = x + 1
        with side:
            side.wait_stream(default_stream(NAME))
            y.add_(1)
        z = y * 2  # the program does not wait
    assert z.tolist() == [6, 6, 6]
    assert racing.races == []


def test_a_stream_that_is_entered_within_another_s_block_is_told_of_what_it_uses(racing, monkeypatch):
    told = []
    monkeypatch.setattr(racing_device.Streams, "record", lambda array, lane: told.append(lane), raising=False)
    side, other, x = dc.Stream(NAME), dc.Stream(NAME), t.ones(3, device=NAME, dtype=t.float64)
    side.wait_stream(default_stream(NAME))

    @t.capture
    def compute(x):
        with side:
            made = x.exp()
            other.wait_stream(side)
            with other:
                return made.tanh()

    for _ in range(4):
        told.clear()
        compute(x)
        assert told == [other.native_handle]


def test_what_crosses_streams_of_another_device_of_the_type_is_ordered_there(racing):
    place = dc.Device(NAME, 1)
    side, x = dc.Stream(place), t.ones(3, device=place, dtype=t.float64)
    side.wait_stream(default_stream(place))
    with dc.pipeline():
        with side:
            y = x.exp()
        z = y + 1  # a race in eager calls
    assert z.device == place
    assert racing.races == []


@pytest.mark.parametrize("kind", ["of the whole", "through a view", "after a read"])
def test_writes_are_ordered_without_the_program(kind, racing, monkeypatch):
    waits = []
    wait = racing_device.Event.wait
    monkeypatch.setattr(racing_device.Event, "wait", lambda *args: (waits.append(args[1]), wait(*args))[1])
    first, second, x = dc.Stream(NAME), dc.Stream(NAME), t.ones(3, device=NAME, dtype=t.float64)
    for stream in (first, second):
        stream.wait_stream(default_stream(NAME))
    waits.clear()
    with dc.pipeline():
        y = x * 2
        with first:
            z = y * 5 if kind == "after a read" else (y[:2] if kind == "through a view" else y).add_(1)
        with second:
            w = y.mul_(3) if kind == "after a read" else y * 3
    for stream in (first, second):
        default_stream(NAME).wait_stream(stream)
    assert (z.tolist(), w.tolist()) == {
        "of the whole": ([3] * 3, [9] * 3),
        "through a view": ([3] * 2, [9, 9, 6]),
        "after a read": ([10] * 3, [6] * 3),
    }[kind]
    assert waits[:2] == [first.native_handle, second.native_handle]
    assert racing.races == []
