"""Pipelines with the front and without: the same records, plans, figures, errors and lines of the user's."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref

import pytest

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_calls_native._front", reason="the extension is not built: run nox -s native")

from random_pipelines import run_pipelines

import dispatch_core as dc
import torchlike as T
from dispatch_core.calls.native import find_front
from dispatch_pipelines import Pending
from dispatch_pipelines.program import guards
from dispatch_pipelines.program import plan as plans

front = find_front()
pytestmark = pytest.mark.skipif(front is None, reason="the compiled front is turned off")
#: Programs of one test.
COUNT = 20
PROGRAMS = int(os.environ.get("DISPATCH_NATIVE_PROGRAMS", "2000")) // 4
IN_A_PIPELINE = 4
FAR = T.tensor([7])


@pytest.fixture
def serve():
    yield front.serve
    front.serve(True)


@pytest.mark.parametrize("first", range(0, PROGRAMS, COUNT))
def test_programs_show_the_same(first, serve):
    for seed in range(first, first + COUNT):
        shown = {}
        # Once before: plans and answers that are kept from the first time on are no matter of the front.
        for on in (False, True, False) if seed % 2 else (True, False, True):
            serve(on)
            shown[on] = run_pipelines(seed)
        for without, with_front in zip(shown[False], shown[True], strict=True):
            assert without == with_front, f"program {seed}"


def _records(*calls):
    """Return what calls have recorded."""
    with dc.pipeline() as pipeline:
        found = [call() for call in calls]
        records = [*dc.current_pipeline().records]
        shown = [(each[0].entry.name, each[1][1:], each[3].co_name, each[5]) for each in records]
        del records
    return shown, [each.tolist() for each in found], pipeline.stats().recorded


def test_calls_of_plain_tensors_are_recorded_in_c():
    x, y = T.ones(3), T.ones(3)
    for _ in range(8):
        _records(lambda: T.hypot(x, y), lambda: x * 0.5)
    # Other tests may have left no room for another way of a function that they call often.
    assert IN_A_PIPELINE in front.list_ways(T.hypot)


def test_records_are_those_of_the_generated_recorder(serve):
    x = T.ones(3)
    calls = [lambda: x + x, lambda: T.maximum(x, x), lambda: x * 2.5, lambda: T.add(x, x, alpha=3), lambda: T.sum(x)]
    shown = {}
    for on in (True, False, True):
        serve(on)
        for _ in range(3):
            shown[on] = [(name, len(values), code) for name, values, code, _ in _records(*calls)[0]]
    assert shown[True] == shown[False]
    assert {code for _, _, code in shown[True]} == {"<lambda>"}


def test_an_error_names_the_line_of_the_call():
    x, far = T.ones(3), T.tensor([7])
    for _ in range(4):
        with pytest.raises(RuntimeError) as caught, dc.pipeline():
            y = x + x
            z = T.index_select(y, 0, far)
        assert f"{__file__}:{sys._getframe().f_lineno - 1}" in str(caught.value)
    del z


def test_an_answer_is_asked_for_again_under_another_default_dtype():
    x = T.tensor([1, 2])

    def half():
        with dc.pipeline():
            found = x * 0.5
        return found.dtype

    assert [half() for _ in range(4)] == [T.float32] * 4
    T.set_default_dtype(T.float64)
    try:
        assert [half() for _ in range(4)] == [T.float64] * 4
    finally:
        T.set_default_dtype(T.float32)
    assert [half() for _ in range(4)] == [T.float32] * 4


def test_numbers_of_other_types_have_other_answers():
    x = T.tensor([1, 2])
    for _ in range(3):
        for number, dtype in ((2, T.int64), (2.0, T.float32), (True, T.int64)):
            with dc.pipeline():
                found = x * number
            assert found.dtype is dtype


def test_a_kernel_that_is_registered_later_counts():
    x = T.ones(3)
    for _ in range(4):
        _records(lambda: T.neg(x))
    library = dc.Library("aten", "IMPL")
    with pytest.warns(dc.OverwriteWarning):
        library.impl("neg", lambda array: array * 3, "CPU")
    try:
        assert _records(lambda: T.neg(x))[1] == [[3.0] * 3]
    finally:
        library.close()
    assert _records(lambda: T.neg(x))[1] == [[-1.0] * 3]


def test_a_limit_flushes_where_it_is_reached():
    x = T.ones(3)
    for _ in range(3):
        with dc.pipeline(max_ops=4) as pipeline:
            kept = [x + x for _ in range(9)]
            assert pipeline.stats().executed == 8
        assert pipeline.stats().recorded == 9
        assert all(each.tolist() == [2.0] * 3 for each in kept)


def test_values_of_another_pipeline_and_computed_ones():
    x = T.ones(3)
    for _ in range(3):
        with dc.pipeline() as one:
            y = x + x
            with dc.pipeline() as two:
                z = y + x
            assert z.tolist() == [3.0] * 3
            w = z * y
        assert w.tolist() == [6.0] * 3
        assert one.stats().recorded + two.stats().recorded == 3


def test_threads_record_each_for_itself():
    x = T.ones(3)
    found: list[list[float]] = []

    def work(start):
        for turn in range(200):
            with dc.pipeline():
                y = x + start
                for _ in range(5):
                    y = y + x
                y = y * 2
            found.append([turn, start, y.tolist()[0] - 2 * (start + 6)])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 800
    assert not any(each[2] for each in found)


def _many(x, y):
    with dc.pipeline():
        t = x * y
        t = t + x
        t = t * 0.5
        t = T.maximum(t, y)
        t = t.sum()
    return t


def _unread(x, y):
    with dc.pipeline():
        for _ in range(40):
            x * y


def _fails(x, y):
    try:
        with dc.pipeline():
            T.index_select(x + y, 0, FAR)
    except RuntimeError:
        return


@pytest.mark.parametrize("program", [_many, _unread, _fails])
def test_a_pipeline_keeps_no_memory(program):
    x, y = T.ones(3), T.ones(3)
    for _ in range(100):
        program(x, y)
    gc.collect()
    grown = []
    for _ in range(4):
        before = sys.getallocatedblocks()
        for _ in range(200):
            program(x, y)
        gc.collect()
        grown.append(sys.getallocatedblocks() - before)
    assert min(grown) < 40, grown


def test_what_is_recorded_is_held_no_longer_than_the_record():
    x = T.ones(3)
    for _ in range(4):
        _many(x, x)
    count = sys.getrefcount(x._dispatch_data)
    for _ in range(10):
        _many(x, x)
    after = sys.getrefcount(x._dispatch_data)
    assert after == count


@pytest.fixture
def answers(monkeypatch):
    """The guards' answers, and whether they are the front's."""
    plans.clear()
    monkeypatch.setattr(guards, "_guards", {})
    found = []
    find = guards.find

    def observe(records, options):
        answer = find(records, options)
        kept = guards._guards.get(guards._beginning(records, options), ())
        found.append((answer is not None, [type(each) is front.Guard for each, _ in kept]))
        return answer

    monkeypatch.setattr(guards, "find", observe)
    yield found
    plans.clear()


def test_records_that_write_to_nothing_have_a_guard_in_c(answers):
    for _ in range(4):
        _many(T.ones(3), T.ones(3))
    assert answers == [(False, []), (False, []), (True, [True]), (True, [True])]


def _choose(x, y, *, number=2.0, keeps=False, dim=0, other=None):
    with dc.pipeline():
        t = x * number
        u = t + (y if other is None else other)
        found = [T.cat([u, x], dim), u.sum(dim)]
        if keeps:
            found.append(t)
        del t, u
    return [each.tolist() for each in found]


#: Changes of a call, and whether its records are recognised still.
CHANGES = {
    "another number": ({"number": 3.5}, True),
    "a number of another type": ({"number": 2}, False),
    "a number that is true": ({"number": True}, False),
    "one more is kept": ({"keeps": True}, False),
    "another dimension": ({"dim": 1}, False),
    "another array": ({"other": T.ones(2, 3)}, True),
    "another shape": ({"other": T.ones(3)}, False),
    "another dtype": ({"other": T.ones(2, 3, dtype=T.float64)}, False),
    "a list of dimensions": ({"dim": -1}, False),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_guard_tells_what_the_written_one_tells(answers, serve, name):
    changed, is_known = CHANGES[name]
    x, y = T.ones(2, 3), T.ones(2, 3)
    for _ in range(3):
        _choose(x, y)
    assert answers[-1] == (True, [True])
    for on in (True, False):
        serve(on)
        plans_before = len(answers)
        found = _choose(x, y, **changed)
        if on:
            assert answers[plans_before][0] is is_known
            shown = found
    assert found == shown
    serve(False)
    assert _choose(x, y) == _choose(x, y)
    assert answers[-1][0]


def test_a_guard_holds_nothing_of_the_records(answers):
    x, y = T.ones(2, 3), T.ones(2, 3)
    for _ in range(3):
        _choose(x, y)
    gone = weakref.ref(x._dispatch_data)
    del x
    gc.collect()
    assert gone() is None


def test_a_spec_that_is_wrong_is_refused():
    with pytest.raises((KeyError, TypeError, ValueError)):
        front.Guard({})
    with pytest.raises(ValueError, match="guard's spec"):
        front.Guard(
            {
                "written": len, "changes": [0], "change": 1, "pending": Pending, "specs": {}, "same": len,
                "calls": ((int, ((0, 9, None, None),), 1, ((0, 0, 0, None),)),), "checks": 1, "results": 1, "slots": 1,
            }
        )  # fmt: skip
