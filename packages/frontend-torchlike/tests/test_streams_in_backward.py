"""Backward on streams: nodes run on the streams of their forward calls, and nothing reads a gradient too early."""

from __future__ import annotations

import random
from contextlib import nullcontext

import numpy as np
import pytest
from racing_device import NAME, Racing, register

import dispatch_core as dc
import torchlike as t

plain = pytestmark = pytest.mark.no_pipeline(reason="recorded calls are launched when they run")


@pytest.fixture
def racing():
    with register():
        yield Racing


def leaf(seed=0):
    return t.tensor(np.random.default_rng(seed).normal(size=3), device=NAME, requires_grad=True)


def test_a_node_runs_on_the_stream_of_its_call(racing):
    stream, x = dc.Stream(NAME), leaf()
    stream.wait_stream(dc.Stream(NAME))
    with stream:
        stream.wait_stream(default())
        y = (x.exp() * x).sum()
    default().wait_stream(stream)
    before = len(racing.lanes[0].launched)
    y.backward()
    assert len(stream.native_handle.launched) > 5
    # The seed's ones are the caller's, and so is a leaf's copy of its gradient.
    assert {"exp", "mul.Tensor", "prims::broadcast_to"}.isdisjoint(racing.lanes[0].launched[before:])
    x.grad.tolist()
    assert racing.races == []


def default():
    from dispatch_core.runtime import default_stream

    return default_stream(NAME)


def test_a_race_of_the_program_is_found(racing):
    stream, x = dc.Stream(NAME), leaf()
    with stream:
        x.exp()
    assert racing.races


@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_no_gradient_is_read_before_it_is_there(seed, in_pipeline, racing):
    with dc.pipeline() if in_pipeline else nullcontext():
        run_drawn(seed, racing)


def run_drawn(seed, racing):
    draw = random.Random(seed)
    streams = [default(), dc.Stream(NAME), dc.Stream(NAME)]
    leaves = [leaf(number) for number in range(3)]
    made = [(each, streams[0]) for each in leaves]
    plain = [t.tensor(each.detach().tolist(), dtype=t.float64, requires_grad=True) for each in leaves]
    values = list(plain)
    for _ in range(draw.randint(2, 12)):
        stream = draw.choice(streams)
        chosen = [draw.randrange(len(made)) for _ in range(2)]
        kind = draw.choice(["mul", "add", "exp", "index"])
        with stream:
            for number in chosen:
                stream.wait_stream(made[number][1])
            made.append((compute(kind, *[made[number][0] for number in chosen]), stream))
        values.append(compute(kind, *[values[number] for number in chosen]))
    caller = draw.choice(streams)
    with caller:
        for _, stream in made:
            caller.wait_stream(stream)
        loss, expected = sum(each.sum() for each, _ in made), sum(each.sum() for each in values)
        assert racing.races == []
        if draw.random() < 0.5:
            loss.backward()
            found = [each.grad for each in leaves]
        else:
            found = t.autograd.grad(loss, leaves)
        expected.backward()
        for one, other in zip(found, plain, strict=True):
            np.testing.assert_allclose(one.tolist(), other.grad.tolist(), rtol=1e-6)
    assert racing.races == []
    assert racing.lane() is racing.lanes[0]


def compute(kind, first, second):
    if kind == "index":
        return first[1:].sum() * second
    return (first * 0.1).exp() if kind == "exp" else first * second * 0.1 if kind == "mul" else first + second


def test_after_an_error_the_caller_s_stream_is_current_again(racing):
    stream, x = dc.Stream(NAME), leaf()
    with stream:
        stream.wait_stream(default())
        y = x.exp()
    y.register_hook(lambda grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert racing.lane() is racing.lanes[0]


def test_a_stream_that_is_set_counts_as_one_that_is_entered(racing):
    from dispatch_core.runtime import set_stream

    stream, x = dc.Stream(NAME), leaf()
    stream.wait_stream(default())
    set_stream(stream)
    try:
        y = x.exp()
    finally:
        set_stream(default())
    default().wait_stream(stream)
    y.sum().backward()
    assert y.grad_fn.stream == stream
    from dispatch_core.frontends import current_masks

    assert current_masks() is None
    x.grad.tolist()
    assert racing.races == []


def test_recorded_calls_are_launched_on_the_streams_of_their_calls(racing):
    stream, x = dc.Stream(NAME), leaf().detach()
    with dc.pipeline() as pipe:
        stream.wait_stream(default())
        with stream:
            y = x.exp()
            event = stream.record_event()
            z = y * 2
        default().wait_event(event)
        w = y + 1
        default().wait_stream(stream)
        v = z + w
        assert stream.native_handle.launched == []
        assert "streams::record" in str(pipe.graph())
    assert {"exp", "mul.Tensor"} <= set(stream.native_handle.launched)
    assert "add.Tensor" not in stream.native_handle.launched
    np.testing.assert_allclose(v.tolist(), 3 * np.exp(x.tolist()) + 1)
    assert racing.races == []
    assert racing.lane() is racing.lanes[0]


def test_a_flush_within_a_block_leaves_its_stream_current(racing):
    stream, x = dc.Stream(NAME), leaf().detach()
    with dc.pipeline():
        before = x.exp()
        stream.wait_stream(default())
        with stream:
            y = before.exp()
            y.tolist()
            z = y.exp()
        assert racing.lane() is racing.lanes[0]
    assert stream.native_handle.launched == ["exp", "prims::device_get", "exp"]
    default().wait_stream(stream)
    z.tolist()
    assert racing.races == []


def test_what_crosses_streams_in_a_pipeline_is_ordered_without_the_program(racing):
    stream, x = dc.Stream(NAME), leaf().detach()
    stream.wait_stream(default())
    with dc.pipeline():
        with stream:
            y = x.exp()
        z = y + 1  # a race in eager calls
    z.tolist()
    assert racing.races == []


def test_a_question_about_an_event_runs_what_it_is_about(racing):
    stream, x = dc.Stream(NAME), leaf().detach()
    with dc.pipeline():
        stream.wait_stream(default())
        with stream:
            x.exp()
            y = x.exp()
            event = stream.record_event()
            assert stream.native_handle.launched == []
            event.synchronize()
            assert stream.native_handle.launched == ["exp"]
    assert y is not None


@plain
def test_a_captured_function_enters_streams_at_each_replay(racing):
    side, other, x = dc.Stream(NAME), dc.Stream(NAME), leaf().detach()

    @t.capture
    def compute(x):
        side.wait_stream(dc.runtime.current_stream(NAME))
        with side:
            y = x.exp()
            with other:
                other.wait_stream(side)
                z = y.tanh()
        dc.runtime.current_stream(NAME).wait_stream(other)
        return y + z

    expected = np.exp(x.tolist()) + np.tanh(np.exp(x.tolist()))
    for number in range(5):
        racing.lanes[0].launched.clear(), side.native_handle.launched.clear()
        found = compute(x)
        assert "exp" in side.native_handle.launched
        assert "tanh" in other.native_handle.launched
        assert "add.Tensor" in racing.lanes[0].launched
        np.testing.assert_allclose(found.tolist(), expected)
        assert racing.lane() is racing.lanes[0], number
    assert compute.stats().replays == 3
    caller = dc.Stream(NAME)
    for _ in range(3):
        with caller:
            caller.wait_stream(default())
            found = compute(x)
            np.testing.assert_allclose(found.tolist(), expected)
            assert racing.lane() is caller.native_handle
    assert "add.Tensor" in caller.native_handle.launched
    # A stream that the function names may be the caller's.
    for _ in range(4):
        with side:
            side.wait_stream(caller)
            np.testing.assert_allclose(compute(x).tolist(), expected)
            assert racing.lane() is side.native_handle
    assert racing.races == []


@plain
def test_an_event_from_outside_is_fixed(racing):
    side, x, kept = dc.Stream(NAME), leaf().detach(), []

    @t.capture
    def compute(x):
        kept[-1].wait()
        return x.exp()

    for _ in range(2):
        kept.append(side.record_event())
        if len(kept) == 1:
            compute(x)
    with pytest.raises(dc.CaptureError, match="streams::wait"):
        compute(x)
    again = t.capture(lambda x: (kept[-1].wait(), x.exp())[1])
    for _ in range(4):
        again(x)
    assert again.stats().replays == 2
    assert racing.races == []


@plain
def test_a_replay_that_fails_gives_the_caller_its_stream_back(racing):
    side, x = dc.Stream(NAME), leaf().detach()

    @t.capture
    def compute(x):
        with side:
            side.wait_stream(default())
            return x.exp()

    for _ in range(3):
        compute(x)
    assert compute.stats().replays == 1
    racing.fails = True
    with pytest.raises(ZeroDivisionError):
        compute(x)
    racing.fails = False
    assert racing.lane() is racing.lanes[0]
    compute(x)
    assert racing.lane() is racing.lanes[0]


@plain
def test_questions_about_streams_are_refused_within_captured_functions(racing):
    stream, x = dc.Stream(NAME), leaf().detach()

    @t.capture
    def compute(x):
        found = x.exp()
        stream.synchronize()
        return found

    with pytest.raises(dc.CaptureError, match=r"Stream.synchronize asks about work on a device while .* is captured"):
        for _ in range(4):
            compute(x)


@plain
def test_a_captured_function_runs_on_the_stream_of_its_caller(racing):
    stream, x = dc.Stream(NAME), leaf().detach()
    with stream:
        stream.wait_stream(default())
        captured = t.capture(lambda x: x.exp() + 1)
        for _ in range(4):
            captured(x)
    assert stream.native_handle.launched.count("exp") == 4
    assert captured.stats().replays == 2
    other = dc.Stream(NAME)
    with other:
        other.wait_stream(stream)
        captured(x)
    assert captured.stats().replays == 3
    assert "exp" in other.native_handle.launched
    assert racing.races == []


def test_an_event_in_an_inner_pipeline_is_after_the_calls_of_the_outer_one(racing):
    stream, x = dc.Stream(NAME), leaf().detach()
    stream.wait_stream(default())
    with dc.pipeline():
        with stream:
            y = x * x
        with dc.pipeline():
            default().wait_stream(stream)
            z = y + x
        assert z.tolist() == (x * x + x).tolist()
        with stream:
            w = x * x
        with dc.pipeline():
            stream.synchronize()
            assert stream.native_handle.launched.count("mul.Tensor") == 2
    default().wait_stream(stream)
    assert w.tolist() == y.tolist()
    assert racing.races == []


def test_calls_of_the_outer_pipeline_keep_their_stream_in_a_stream_of_the_inner_one(racing):
    stream, x = dc.Stream(NAME), leaf().detach()
    with dc.pipeline():
        y = x * x
        with dc.pipeline(), stream:
            stream.wait_stream(default())
            z = y + x
    default().wait_stream(stream)
    assert "mul.Tensor" not in stream.native_handle.launched
    assert "add.Tensor" in stream.native_handle.launched
    assert z.tolist() == (x * x + x).tolist()
    assert racing.races == []


def test_a_value_of_the_outer_pipeline_is_made_on_its_stream_where_the_inner_one_needs_it(racing):
    stream, x = dc.Stream(NAME), leaf().detach()
    stream.wait_stream(default())
    with dc.pipeline():
        y = x * x
        with dc.pipeline() as inner, stream:
            inner.flush()
            y.tolist()
    assert "mul.Tensor" not in stream.native_handle.launched
