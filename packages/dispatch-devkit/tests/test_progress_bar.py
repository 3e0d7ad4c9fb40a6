"""The bar of ``progress=True``: whose it is, where it shows, and where it is off."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

import dispatch_core as dc
from dispatch_devkit import progress_bar
from dispatch_devkit.progress_bar import ProgressBar
from dispatch_pipelines.run.handle import check_options


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def without_tqdm(monkeypatch):
    monkeypatch.setattr(progress_bar, "find_spec", lambda name: None)


@pytest.fixture
def fake_tqdm(monkeypatch):
    made = []

    class tqdm:  # its own name
        def __init__(self, **options):
            self.made = SimpleNamespace(options=options, steps=[], ends=0)
            made.append(self.made)
            # A thread of its own would make processes that fork warn.
            assert self.monitor_interval == 0
            self.update = self.made.steps.append

        def refresh(self):
            pass

        def close(self):
            self.made.ends += 1

    monkeypatch.setattr(progress_bar, "find_spec", lambda name: None if name == "ipywidgets" else object())
    monkeypatch.setattr(progress_bar, "import_module", lambda name: SimpleNamespace(tqdm=tqdm))
    return made


def test_true_shows_a_bar_on_a_terminal_only(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(check_options({"progress": True})["progress"], ProgressBar)
    for stream in (io.StringIO(), None, object()):
        monkeypatch.setattr(sys, "stderr", stream)
        assert check_options({"progress": True})["progress"] is None
        assert isinstance(check_options({"progress": "always"})["progress"], ProgressBar)
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    assert isinstance(check_options({"progress": True})["progress"], ProgressBar)


@pytest.mark.parametrize("value", [False, None])
def test_false_and_none_show_nothing(value):
    assert check_options({"progress": value})["progress"] is None


def test_a_function_is_kept_as_it_is():
    assert check_options({"progress": print})["progress"] is print


@pytest.mark.parametrize("value", [1, 0, "sometimes", "", [], 2.5])
def test_other_values_are_refused(value):
    with pytest.raises(
        dc.ArgumentError, match="option 'progress' must be a bool, 'always', a function of two ints or None"
    ):
        dc.pipeline(progress=value)


def test_tqdm_is_told_of_the_steps_and_closed(fake_tqdm):
    bar = ProgressBar()
    for done in (3, 7, 10):
        bar(done, 10)
    assert (fake_tqdm[0].options["total"], fake_tqdm[0].steps, fake_tqdm[0].ends) == (10, [3, 4, 3], 1)
    assert fake_tqdm[0].options["desc"] == "pipeline"


def test_each_flush_has_a_bar_and_one_that_was_ended_is_closed(fake_tqdm):
    bar = ProgressBar()
    bar(5, 10)
    bar(2, 10)
    bar(1, 4)
    bar.close()
    bar.close()
    assert [(each.steps, each.ends) for each in fake_tqdm] == [([5], 1), ([2], 1), ([1], 1)]


def test_without_tqdm_a_line_is_written_again_on_a_terminal(monkeypatch, without_tqdm):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    bar = ProgressBar()
    bar(500, 2000)
    bar(2000, 2000)
    lines = stream.getvalue().split("\r")
    assert lines[1:3] == ["pipeline: 500 of 2,000 steps, 25 %", "pipeline: 2,000 of 2,000 steps, 100 %"]
    assert lines[3].isspace()
    assert lines[4] == ""


def test_a_file_gets_a_line_for_every_tenth(monkeypatch, without_tqdm):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    bar = ProgressBar()
    for done in range(1, 101):
        bar(done, 100)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "pipeline: 1 of 100 steps, 1 %"
    assert lines[-1] == "pipeline: 100 of 100 steps, 100 %"
    assert len(lines) == 11


@pytest.mark.parametrize("fails", [False, True])
def test_a_pipelines_long_flush_shows_its_bar_and_closes_it(
    registry, library, toy, meta, monkeypatch, fake_tqdm, fails
):
    """The pause between two reports is left out, so that no test takes long."""
    from dispatch_core.display import progress_reports

    monkeypatch.setattr(progress_reports, "_PAUSE", 0)
    library.define("inc(Tensor x) -> Tensor")
    library.impl("inc", lambda x: toy.array(x.a + 1) if not fails else 1 / 0, toy.key)
    library.impl("inc", lambda x: meta.array(x.shape), meta.key)
    pipe = dc.pipeline(registry=registry, progress="always")

    def run():
        with pipe:
            made = toy.array([1])
            for _ in range(4):
                made = registry.ops.t.inc(made)
            return made

    if fails:
        with pytest.raises(dc.PipelineError):
            run()
    else:
        assert run().result() == [5]
        assert sum(fake_tqdm[0].steps) == fake_tqdm[0].options["total"] == 4
    assert all(each.ends == 1 for each in fake_tqdm)
