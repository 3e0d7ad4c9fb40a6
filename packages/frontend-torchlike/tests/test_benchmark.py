"""Times of statements, and what is told of them."""

import pytest

import torchlike
from torchlike.utils import benchmark
from torchlike.utils.benchmark import Compare, Measurement, TaskSpec, Timer


def test_a_statement_is_timed_in_runs():
    ticks = iter(range(1000))
    timer = Timer("x + 1", globals={"x": 1}, timer=lambda: float(next(ticks)), label="add", num_threads=1)
    found = timer.timeit(10)
    assert found.times == [0.1] and found.number_per_run == 10 and found.task_spec is timer._task_spec
    assert (found.label, found.title, found.stmt, found.num_threads) == ("add", "add", "x + 1", 1)
    assert "add\n  100.00 ms\n  1 measurement, 10 runs per measurement, 1 thread" in repr(found)
    found = Timer("torch.ones(1)").blocked_autorange(min_run_time=0.001)
    assert found.median > 0 and sum(found.raw_times) >= 0.001
    with pytest.raises(AttributeError, match="no attribute 'medium'"):
        found.medium  # noqa: B018  # asking is the error
    with pytest.raises(NotImplementedError, match="Python alone"):
        Timer("1;", language=benchmark.Language.CPP)


def test_measurements_of_one_task_are_merged():
    task, other = TaskSpec("x", "pass", description="d"), TaskSpec("x", "y = 1")
    first, second = Measurement.merge(
        [Measurement(2, [2.0, 4.0], task), Measurement(1, [9.0], other), Measurement(1, [3.0], task)]
    )
    assert first.times == [1.0, 2.0, 3.0] and second.task_spec is other and first.number_per_run == 1
    assert first.has_warnings and not first.meets_confidence() and Measurement(1, [1.0] * 4, task).meets_confidence()
    assert Measurement(1, [1.0] * 8, task).significant_figures == 5 and first.significant_figures == 1
    assert first.as_row_name == "x" and second.task_spec.summarize() == "x\nsetup: y = 1"
    assert str(Compare([first])) == "x |  | d | 2.00 s"


def test_tasks_have_titles():
    assert TaskSpec("a", "pass", sub_label="part").title == "a: part"
    assert (
        TaskSpec("a\nb", "c\nd", sub_label="part").summarize()
        == "stmt: (part)\n  a\n  b\n\nsetup:\n  c\n  d\n".rstrip("\n") + "\n"
    )


def test_threads_are_set_for_a_block():
    before = torchlike.get_num_threads()
    with benchmark.set_torch_threads(1):
        assert torchlike.get_num_threads() == 1
    assert torchlike.get_num_threads() == before and benchmark.timer() > 0
