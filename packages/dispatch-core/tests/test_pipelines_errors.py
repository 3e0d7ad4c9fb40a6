"""Steps of a pipeline that fail: the error's text, who gets it, and the undisturbed rest."""

from __future__ import annotations

import asyncio
import pickle
import traceback
import weakref
from pathlib import Path

import pytest

import dispatch_core as dc
from dispatch_pipelines.record.errors import PipelineError


class Odd(Exception):
    """Cannot be made without its arguments, and shows nothing of them."""

    def __new__(cls, code, *, reason):
        return super().__new__(cls)

    def __init__(self, code, *, reason):
        self.code, self.reason = code, reason

    def __str__(self):
        return f"{self.code} for {self.reason}"


class Silent(ValueError):
    """Has a text that cannot be had."""

    def __str__(self):
        raise RuntimeError("no text")


class Sealed(ValueError):
    """Refuses subclasses."""

    def __init_subclass__(cls, **kwargs):
        raise TypeError("sealed")


class Slotted(OSError):
    """Keeps something in a slot."""

    __slots__ = ("extra",)


def fail(work, error, **options):
    """Record a failing step in a block, and return the pipeline's error for it."""
    work.fail_with(error)
    with pytest.raises(type(error)) as caught, work.pipeline(**options):
        result = work.ops.call(work.array(1, 2))
        assert work.ran == []
    with pytest.raises(PipelineError) as again:
        result.result()
    assert again.value is caught.value
    return caught.value


def test_the_error_names_operator_shapes_dtypes_and_the_users_line(work):
    error = fail(work, ValueError("out of paper"))
    line = next(
        n for n, text in enumerate(Path(__file__).read_text().split("\n"), 1) if "result = work.ops.call(" in text
    )
    assert str(error) == (
        f"t::call(float64[2]) failed in a pipeline: ValueError: out of paper\nRecorded at {__file__}:{line}"
    )


def test_the_error_has_the_original_as_its_cause(work):
    original = ValueError("out of paper")
    error = fail(work, original)
    assert error.__cause__ is original
    # With the kernel's own frames.
    assert traceback.extract_tb(original.__traceback__)[-1].name == "hook"


@pytest.mark.parametrize(
    "original",
    [
        KeyError("name"),
        OSError(2, "gone", "file.txt"),
        FileNotFoundError(2, "gone", "file.txt"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad start"),
        UnicodeEncodeError("ascii", "\xe9", 0, 1, "not ascii"),
        ImportError("no module", name="m", path="p"),
        AttributeError("none", name="n", obj=1),
        StopIteration(5),
        SyntaxError("bad", ("f.py", 1, 2, "text")),
        AssertionError(),
        RecursionError("deep"),
        MemoryError(),
        ExceptionGroup("several", [ValueError("one")]),
        Odd(3, reason="paper"),
        Slotted(2, "gone"),
        dc.NoKernelError("none", hint="some"),
        dc.DispatchError("broken"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_error_is_caught_as_the_originals_class_and_repeats_its_text(work, original):
    error = fail(work, original)
    assert isinstance(error, type(original))
    assert isinstance(error, PipelineError)
    assert error.__cause__ is original
    assert f"{type(original).__name__}: {original}\nRecorded at " in str(error)
    for name in ("errno", "strerror", "filename", "start", "end", "object", "reason", "name", "path", "value", "code"):
        if hasattr(original, name):
            assert getattr(error, name) == getattr(original, name)
    assert "".join(traceback.format_exception(error)).count("Recorded at") == 1


def test_a_group_is_handled_by_its_members(work):
    group = ExceptionGroup("several", [ValueError("one"), KeyError("two")])
    seen = []
    try:
        raise fail(work, group)
    except* ValueError as part:
        seen += part.exceptions
    except* KeyError as part:
        seen += part.exceptions
    assert seen == list(group.exceptions)


@pytest.mark.parametrize("original", [Silent("x"), Sealed("y")], ids=lambda error: type(error).__name__)
def test_an_error_that_cannot_be_imitated_is_the_cause_all_the_same(work, original):
    work.fail_with(original)
    with pytest.raises(PipelineError, match=type(original).__name__) as caught, work.pipeline():
        work.ops.call(work.array(1)).result()
    assert caught.value.__cause__ is original


def test_an_error_of_two_nested_pipelines_is_of_one_class(work):
    first = fail(work, ValueError("inner"))
    work.fail_with(first)
    with pytest.raises(ValueError, match="inner") as caught, work.pipeline():
        work.ops.call(work.array(1)).result()
    assert type(caught.value) is type(first)


def test_errors_travel_between_processes(work):
    error = fail(work, FileNotFoundError(2, "gone", "file.txt"))
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, FileNotFoundError)
    assert isinstance(copy, PipelineError)
    assert (str(copy), copy.filename) == (str(error), "file.txt")
    plain = PipelineError("text", hint="look")
    assert PipelineError.__module__ == "dispatch_core"  # a traceback's last line names the path that users import
    assert str(pickle.loads(pickle.dumps(plain))) == "text\nHint: look"


def test_the_error_is_the_same_each_time_and_its_traceback_does_not_grow(work):
    work.fail_with(ValueError("no"))
    with work.pipeline():
        result = work.ops.call(work.array(1))
        lengths, seen = set(), set()
        for _ in range(5):
            with pytest.raises(ValueError, match="no") as caught:
                result.result()
            lengths.add(len(traceback.extract_tb(caught.value.__traceback__)))
            seen.add(id(caught.value))
            assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert len(lengths) == len(seen) == 1
    assert not getattr(caught.value, "__notes__", [])


def test_earlier_and_independent_results_stay_valid_and_dependents_carry_the_error(work, numbers):
    work.fail_with(ValueError("no"))
    with pytest.raises(ValueError, match="no") as caught, work.pipeline():
        before = work.ops.double(work.array(1))
        bad = work.ops.call(before)
        dependent = work.ops.double(work.ops.double(bad))
        left, right = work.ops.both(bad)
        independent = work.ops.add(before, before)
    assert numbers(before) == [2]
    assert numbers(independent) == [4]
    for value in (bad, dependent, left, right):
        with pytest.raises(ValueError, match="no") as again:
            value.result()
        assert again.value is caught.value
    assert work.ran == ["double", "call", "add"]


def test_a_failed_value_as_an_argument_raises_at_once(work):
    work.fail_with(ValueError("no"))
    with work.pipeline():
        bad = work.ops.call(work.array(1))
        with pytest.raises(ValueError, match="no"):
            bad.result()
        for op in (work.ops.double, work.ops.item, work.ops.unruled):
            with pytest.raises(ValueError, match="no"):
                op(bad)
    for op in (work.ops.double, work.ops.item, work.ops.unruled):
        with pytest.raises(ValueError, match="no"):
            op(bad)
    assert work.ran == ["call"]


def test_the_pipeline_is_usable_after_an_error(work, numbers):
    with work.pipeline() as pipe:
        work.fail_with(ValueError("no"))
        bad = work.ops.call(work.array(1))
        with pytest.raises(ValueError, match="no"):
            pipe.flush()
        work.hook = lambda array: None
        good = work.ops.call(work.array(5))
        pipe.flush()
        assert numbers(good) == [5]
        last = work.ops.double(good)
    assert numbers(last) == [10]
    with pytest.raises(ValueError, match="no"):
        bad.result()


def test_a_flush_raises_the_first_error_with_the_others_as_notes(work):
    errors = iter([ValueError("first"), KeyError("second"), OSError("third")])

    def hook(array):
        raise next(errors)

    work.hook = hook
    with pytest.raises(ValueError, match="first") as caught, work.pipeline():
        results = [work.ops.call(work.array(1)) for _ in range(3)]
    notes = caught.value.__notes__
    assert len(notes) == 2
    assert "KeyError: 'second'" in notes[0]
    assert "OSError: third" in notes[1]
    for result, kind in zip(results, (ValueError, KeyError, OSError), strict=True):
        with pytest.raises(kind):
            result.result()
    assert caught.value.__notes__ == notes


def test_an_error_is_raised_once_by_flushes(work):
    """An error that a read has raised is not raised again at the end of the block."""
    work.fail_with(ValueError("no"))
    with work.pipeline() as pipe:
        bad = work.ops.call(work.array(1))
        dependent = work.ops.double(bad)
        with pytest.raises(ValueError, match="no"):
            bad.result()
        pipe.flush()
    with pytest.raises(ValueError, match="no"):
        dependent.result()


def test_an_unread_error_is_raised_at_the_next_flush(work, numbers):
    """A value was read that needed a failing step only for its order."""
    work.fail_with(ValueError("no"))
    tensor = work.tensor(1)
    with pytest.raises(ValueError, match="no"), work.pipeline():
        bad = work.ops.call(tensor)
        work.ops.add_(tensor, work.tensor(1))
        assert numbers(tensor) == [2]
        assert work.ran == ["call", "add_"]
    assert bad


def test_unused_results_are_dropped_with_their_errors(work):
    work.fail_with(ValueError("no"))
    with work.pipeline() as pipe:
        work.ops.call(work.array(1))
    assert work.ran == []
    assert pipe.stats().dropped == 1


def test_the_bodys_exception_wins_and_notes_the_flushs(work):
    work.fail_with(ValueError("no"))
    results = []
    with pytest.raises(KeyError, match="body") as caught, work.pipeline():
        results.append(work.ops.call(work.array(1)))
        raise KeyError("body")
    (note,) = caught.value.__notes__
    assert note.startswith("While the pipeline was flushed: ValueError: t::call(float64[1]) failed")
    assert caught.value.__context__ is None
    assert dc.current_pipeline() is None


def test_a_body_that_fails_with_the_pipelines_error_gets_no_note_about_itself(work):
    work.fail_with(ValueError("no"))
    with pytest.raises(ValueError, match="no") as caught, work.pipeline():
        result = work.ops.call(work.array(1))
        result.result()
    assert not getattr(caught.value, "__notes__", [])


def test_the_previous_pipeline_is_restored_when_the_flush_fails(work):
    work.fail_with(ValueError("no"))
    with work.pipeline():
        outer = dc.current_pipeline()
        with pytest.raises(ValueError, match="no"), work.pipeline():
            result = work.ops.call(work.array(1))
        assert dc.current_pipeline() is outer
    assert dc.current_pipeline() is None
    assert dc.apply_masks(0) == dc.DispatchKeySet()
    assert result


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
def test_interrupts_are_not_swallowed_and_leave_the_rest_pending(work, numbers, kind):
    work.fail_with(kind())
    with work.pipeline() as pipe:
        first = work.ops.double(work.array(1))
        stopped = work.ops.call(first)
        later = work.ops.double(stopped)
        with pytest.raises(kind) as caught:
            pipe.flush()
        assert type(caught.value) is kind
        work.hook = lambda array: None
        assert numbers(first) == [2]
        assert "pending" in repr(later)
    assert numbers(later) == [4]
    assert work.ran == ["double", "call", "call", "double"]


def test_an_interrupted_write_is_not_made_twice(work, numbers):
    def hook(array):
        array.a += 1
        raise KeyboardInterrupt

    work.hook = hook
    tensor = work.tensor(1)
    with work.pipeline() as pipe:
        work.ops.call_(tensor)
        doubled = work.ops.double(tensor)
        with pytest.raises(KeyboardInterrupt):
            pipe.flush()
        work.hook = lambda array: None
    assert numbers(tensor) == [2]
    assert numbers(doubled) == [4]
    assert work.ran == ["call_", "double"]


def test_an_interrupt_while_the_block_ends_leaves_the_rest_to_a_later_flush(work, numbers):
    work.fail_with(KeyboardInterrupt())
    tensor = work.tensor(1)
    pipe = work.pipeline()
    with pytest.raises(KeyboardInterrupt), pipe:
        kept = work.ops.call(tensor)
        work.ops.add_(tensor, work.tensor(4))
    assert dc.current_pipeline() is None
    work.hook = lambda array: None
    pipe.flush()
    assert numbers(kept) == [1]
    assert numbers(tensor) == [5]


def test_a_failed_write_to_an_array_that_was_there_raises_where_it_is_read(work, numbers):
    """Reading it in the same pipeline raises; afterwards the array is as the kernel has left it."""
    work.fail_with(ValueError("no"))
    tensor = work.tensor(1)
    with work.pipeline() as pipe:
        before = work.ops.double(tensor)
        work.ops.call_(tensor)
        after = work.ops.double(tensor)
        with pytest.raises(ValueError, match="no"):
            work.ops.item(tensor)
        with pytest.raises(ValueError, match="no"):
            numbers(after)
        assert numbers(before) == [2]
        pipe.flush()
        assert work.ops.item(tensor) == 1
    assert numbers(tensor) == [1]


def test_a_failed_write_to_a_pending_value_raises_where_it_is_read(work, numbers):
    work.fail_with(ValueError("no"))
    with pytest.raises(ValueError, match="no") as caught, work.pipeline():
        value = work.ops.double(work.tensor(1))
        before = work.ops.double(value)
        work.ops.call_(value)
        after = work.ops.double(value)
    assert numbers(before) == [4]
    for each in (value, after):
        with pytest.raises(ValueError, match="no") as again:
            numbers(each)
        assert again.value is caught.value


def test_a_failed_write_alone_raises_when_the_block_ends(work):
    work.fail_with(ValueError("no"))
    tensor = work.tensor(1)
    with pytest.raises(ValueError, match="no"), work.pipeline():
        work.ops.call_(tensor)


def test_a_kernel_that_returns_nonsense_fails_as_a_step(work):
    work.library.impl("double", lambda x: 3, work.toy.key, allow_override=True)
    work.library.impl("both", lambda x: (work.array(1),), work.toy.key, allow_override=True)
    with pytest.raises(dc.KernelResultError, match="t::double"), work.pipeline():
        one = work.ops.double(work.array(1))
        two, three = work.ops.both(work.array(1))
        fine = work.ops.add(work.array(1), work.array(2))
    assert fine.result() == [3]
    with pytest.raises(PipelineError, match="t::both"):
        two.result()
    assert one is not three


def test_a_wrong_call_fails_at_its_own_line_with_the_eager_error(work):
    def rule(x, y):
        raise IndexError("shapes do not fit")

    work.library.impl("add", rule, "Meta", allow_override=True)
    with work.pipeline() as pipe:
        with pytest.raises(IndexError, match=r"^shapes do not fit$") as caught:
            work.ops.add(work.array(1), work.array(1))
        assert not isinstance(caught.value, PipelineError)
        with pytest.raises(TypeError, match="missing"):
            work.ops.add(work.array(1))
        assert pipe.stats().recorded == 0


def test_an_operator_that_runs_at_once_raises_the_original_error(work):
    original = ValueError("no")
    work.fail_with(original)
    with work.pipeline(), pytest.raises(ValueError, match=r"^no$") as caught:
        work.ops.unruled(work.array(1))
    assert caught.value is original


def test_an_error_lets_go_of_the_failed_value(work):
    work.fail_with(ValueError("no"))
    with pytest.raises(ValueError, match="no") as caught, work.pipeline():
        result = work.ops.call(work.array(1))
    gone = weakref.ref(result)
    del result
    assert gone() is None
    assert caught
