"""Backward on streams: nodes run on the streams of their forward calls, and nothing reads a gradient too early."""

from __future__ import annotations

import random

import numpy as np
import pytest
from racing_device import NAME, Racing, register

import dispatch_core as dc
import torchlike as t

pytestmark = pytest.mark.no_pipeline(reason="recorded calls are launched when they run")


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


@pytest.mark.parametrize("seed", range(20))
def test_no_gradient_is_read_before_it_is_there(seed, racing):
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
    x.grad.tolist()
    assert racing.races == []
