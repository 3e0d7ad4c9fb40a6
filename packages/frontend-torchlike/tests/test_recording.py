"""Generated recorders record the same steps as the plain one, which defines recording."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dispatch_core as dc
import torchlike as t
from dispatch_pipelines.record import recording

pytestmark = pytest.mark.no_pipeline(reason="the tests open pipelines of their own")

SHAPES = st.sampled_from([(2, 3), (3,), (1, 3), (2, 1), (), (0, 3)])
DTYPES = st.sampled_from([t.float32, t.float64, t.int64, t.bool])
NUMBERS = st.sampled_from([2, 2.0, True, 0, -1, 0.5])

BINARY = ("add", "mul", "div", "maximum", "lt", "matmul")
UNARY = ("relu", "exp", "neg", "sum", "t", "squeeze", "floor", "sort")
WITH_NUMBER = ("add", "mul", "pow", "clamp", "fill_", "add_", "unsqueeze", "sum", "cumsum", "select", "max")
WRITING = ("add_", "mul_", "copy_", "relu_", "zero_")


@st.composite
def calls(draw, count):
    """Draw a call: a method's name, and its arguments; tensors by their number."""
    kind = draw(st.sampled_from(["binary", "unary", "number", "write", "clamp"]))
    first = draw(st.integers(0, count - 1))
    second = draw(st.integers(0, count - 1))
    if kind == "binary":
        return draw(st.sampled_from(BINARY)), first, [("tensor", second)]
    if kind == "unary":
        return draw(st.sampled_from(UNARY)), first, []
    if kind == "number":
        return draw(st.sampled_from(WITH_NUMBER)), first, [("number", draw(NUMBERS))]
    if kind == "clamp":
        return "clamp", first, [draw(st.sampled_from([("number", None), ("tensor", second)])), ("tensor", second)]
    name = draw(st.sampled_from(WRITING))
    return name, first, [("tensor", second)] if name in ("add_", "mul_", "copy_") else []


@st.composite
def programs(draw):
    given_ = [(draw(SHAPES), draw(DTYPES)) for _ in range(draw(st.integers(1, 3)))]
    number = len(given_)
    steps = []
    for _ in range(draw(st.integers(1, 8))):
        steps.append(draw(calls(number)))
        number += 1
    return given_, steps


def record_program(program):
    """Run a program in a pipeline; return the result or error of every call, and the recorded steps."""
    given_, calls_ = program
    tensors = [t.ones(shape).to(dtype) for shape, dtype in given_]
    said = []
    with dc.pipeline() as pipe:
        for name, first, arguments in calls_:
            values = [tensors[value] if kind == "tensor" else value for kind, value in arguments]
            try:
                found = getattr(tensors[first], name)(*values)
            except Exception as error:  # noqa: BLE001  # any error must be raised by the other run too
                said.append((type(error), str(error)))
                found = tensors[first]
            else:
                several = found if isinstance(found, tuple) else (found,)
                for each in several:
                    said.append((each.shape, each.stride(), each.dtype, each is tensors[first], each._version))
                found = several[0]
            tensors.append(found)
        steps = [
            (
                step.name,
                step.mask,
                step.written,
                step.state,
                [describe(value) for value in step.values],
                [(each.shape, each.dtype, each.meta) for each in step.outputs],
                [each.memory is place for each in step.outputs for place in memories(step)],
            )
            for step in pipe._session.steps
        ]
        lines = [step.line for step in pipe._session.steps]
        assert [line for line in lines if not line.startswith(f"{__file__}:")] == []
        effects = pipe._session.has_effects
    return said, steps, effects, lines, [repr(tensor.tolist()) for tensor in tensors]


def describe(value):
    """Describe a step's argument so that two runs can be compared."""
    if hasattr(value, "meta"):
        return "pending", value.meta, value.value is None
    return (type(value), repr(value.tolist())) if isinstance(value, np.ndarray) else (type(value), value)


def memories(step):
    return [value.memory for value in step.values if hasattr(value, "meta")]


def switch(monkeypatch, *, plain):
    """Make all recorders plain ones, or those that there are."""
    monkeypatch.undo()
    if plain:
        monkeypatch.setattr(recording, "is_specializable", lambda signature: False)
    for entry in list(dc.registry.entries.values()):
        if entry.tables.masked or entry.tables.explicit:
            entry.invalidate()


@given(st.lists(programs(), min_size=1, max_size=3))
@settings(max_examples=60)
def test_generated_recorders_record_as_the_plain_one_does(several):
    with pytest.MonkeyPatch.context() as monkeypatch:
        switch(monkeypatch, plain=True)
        plain = [record_program(program) for program in several for _ in range(2)]
        switch(monkeypatch, plain=False)
        assert [record_program(program) for program in several for _ in range(2)] == plain


def test_answers_follow_the_default_dtype():
    a = t.ones(2).to(t.int64)
    try:
        with dc.pipeline():
            found = [(a / a).dtype, (a / a).dtype]
            t.set_default_dtype(t.float64)
            found.append((a / a).dtype)
            t.set_default_dtype(t.float32)
            found.append((a / a).dtype)
    finally:
        t.set_default_dtype(t.float32)
    assert found == [t.float32, t.float32, t.float64, t.float32]


def test_equal_numbers_of_different_types_are_told_apart():
    a = t.ones(2).to(t.int64)
    with dc.pipeline():
        found = [(a * number).dtype for number in (1, 1.0, True, 1, 1.0)]
    assert found == [t.int64, t.float32, t.int64, t.int64, t.float32]


def test_a_wrong_call_fails_each_time_at_its_own_line():
    a, b = t.ones(2), t.ones(3)
    with dc.pipeline() as pipe:
        for _ in range(3):
            with pytest.raises(RuntimeError, match="size of tensor a"):
                a + b
    assert pipe.stats().recorded == 0


def test_limits_count_records():
    a = t.ones(2)
    with dc.pipeline(max_ops=3) as pipe:
        kept = [a + a for _ in range(7)]
        assert (pipe.stats().flushes, pipe.stats().recorded, len(pipe._session.steps)) == (2, 7, 1)
    assert [each.tolist() for each in kept] == [[2.0, 2.0]] * 7


def test_a_value_whose_pipeline_is_closed_is_used_at_once():
    a = t.ones(2)
    with dc.pipeline():
        b = a + a
    assert ((b + b).tolist(), (b + a).tolist()) == ([4.0, 4.0], [3.0, 3.0])
    with dc.pipeline() as pipe:
        c = b + b
        assert pipe.stats().recorded == 1
    assert c.tolist() == [4.0, 4.0]


def lines_of(pipe):
    return [step.line.rpartition("/")[2] for step in pipe._session.steps]


def test_a_step_names_the_users_innermost_line():
    a = t.ones(2)
    first = lines_of.__code__.co_firstlineno

    def double(x):
        return x + x

    with dc.pipeline() as pipe:
        t.add(a, a)
        double(a)
        dc.ops.aten.add.Tensor(a, a)
        t.nn.Sequential(t.nn.ReLU())(a)
        found = lines_of(pipe)
    here = [f"test_recording.py:{first + offset}" for offset in (12, 9, 14, 15)]
    assert found == here


def test_threads_may_look_at_the_records_of_another():
    a = t.ones(2)
    done = threading.Event()
    with dc.pipeline() as pipe:

        def look():
            while not done.is_set():
                len(pipe._session.steps)

        thread = threading.Thread(target=look)
        thread.start()
        try:
            kept = a
            for _ in range(2000):
                kept = kept + a
        finally:
            done.set()
            thread.join()
        assert len(pipe._session.steps) == pipe.stats().recorded == 2000
    assert kept.tolist() == [2001.0, 2001.0]


def test_a_view_beyond_its_base_is_made_at_once():
    with t.pipeline() as pipe:
        base = t.arange(4)
        inside = base[1:].as_strided((2,), (2,), 1)
        assert inside._pending and base._pending
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 32"):
            base.as_strided((3,), (4,))
        before = t.arange(4)[1:].as_strided((4,), (1,), 0)
        assert not before._pending
    assert (inside.tolist(), before.tolist()) == ([1, 3], [0, 1, 2, 3])
    assert pipe.stats().eager == {("aten::as_strided", "only the array knows where its memory ends"): 1}
