"""The switch for progress: whom it reaches, and that nothing is left on the terminal."""

from __future__ import annotations

import io
import os
import random
import re
import sys
import threading
import time
from importlib.util import find_spec

import pytest

import dispatch_core as dc
from dispatch_core.display import begin_report, begin_watch, find_progress, progress_reports
from dispatch_devkit import progress_bar, shown_progress
from dispatch_devkit.progress_bar import ProgressBar

KINDS = pytest.mark.parametrize("kind", ["line", *(["tqdm"] if find_spec("tqdm") else [])])
PROGRAMS = int(os.environ.get("DISPATCH_TEST_PROGRAMS", "25"))


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def screen(self):
        """Return the lines that stand on the terminal in the end."""
        lines, row, column = [[]], 0, 0
        for token in re.findall(r"\x1b\[\d*[A-Za-z]|.|\n", self.getvalue(), re.DOTALL):
            if token == "\r":
                column = 0
            elif token == "\n":
                row += 1
                lines += [[] for _ in range(row + 1 - len(lines))]
            elif token == "\x1b[A":
                row -= 1
            else:
                lines[row][column:] = [*" " * (column - len(lines[row])), token, *lines[row][column + 1 :]]
                column += 1
        return ["".join(line).rstrip() for line in lines]


@pytest.fixture
def use(monkeypatch):
    """Return a function that replaces standard error by a terminal; capturing does so, too, before each test."""

    def use(kind="line"):
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress_reports, "_PAUSE", 0)
        if kind == "line":
            monkeypatch.setattr(progress_bar, "find_spec", lambda name: None)
        return stream

    return use


def run(drawn, depth=0):
    """Run loops inside of loops, some of which are left early or by an exception."""
    for _ in range(drawn.randint(1, 3)):
        count = drawn.choice([0, 1, 3, 7])
        report = begin_report(f"loop {depth}", "turns", lambda count=count: drawn.choice([count, None]))
        for turn in range(count):
            report(turn + 1)
            if depth < 2 and drawn.random() < 0.4:
                run(drawn, depth + 1)
            left = drawn.random()
            if left < 0.03:
                raise RuntimeError
            if left < 0.1:
                break
        if drawn.random() < 0.8:
            report.end()


@KINDS
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_nothing_is_left_on_the_terminal(use, kind, seed):
    terminal = use(kind)
    try:
        with dc.show_progress():
            run(random.Random(seed))
    except RuntimeError:
        pass
    assert [line for line in terminal.screen() if line] == []
    assert progress_bar._Line._shown is None


@KINDS
def test_a_loop_is_shown_while_it_runs(use, kind):
    terminal = use(kind)
    with dc.show_progress():
        report = begin_report("files", "files", lambda: 4)
        report(1)
        assert re.search(r"files: .*4", "".join(terminal.screen()))
    assert "".join(terminal.screen()) == ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_pipes_and_logs_stay_quiet(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    with dc.show_progress():
        assert find_progress("a", "b") is None
        assert begin_report("a", "b", lambda: 1 / 0) is None
        assert begin_watch("steps", lambda: 1 / 0) is None
    assert stream is None or stream.getvalue() == ""


def test_a_function_is_told_and_its_error_comes_out(monkeypatch):
    monkeypatch.setattr(progress_reports, "_PAUSE", 0)
    told = []
    with dc.show_progress(lambda *figures: told.append(figures)):
        report = begin_report("a", "b", lambda: None)
        report(1)
        report(2)
        assert begin_watch("steps", lambda: 1 / 0) is None
    assert told == [(1, None), (2, None)]
    with dc.show_progress(lambda done, total: 1 / 0):
        report = begin_report("a", "b", lambda: 3)
        with pytest.raises(ZeroDivisionError):
            report(1)


def test_blocks_inside_decide_and_other_threads_are_quiet(use):
    use()
    with dc.show_progress("always"):
        assert isinstance(find_progress("a", "b"), ProgressBar)
        with dc.show_progress(False):
            assert find_progress("a", "b") is None
        found = []
        thread = threading.Thread(target=lambda: found.append(find_progress("a", "b")))
        thread.start()
        thread.join()
        assert found == [None]
    assert find_progress("a", "b") is None


@pytest.mark.parametrize("value", [1, "sometimes", []])
def test_other_values_are_refused(value):
    with (
        pytest.raises(dc.ArgumentError, match=r"show_progress\(\): argument 'progress' must be a bool"),
        dc.show_progress(value),
    ):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_writes_nothing(use):
    terminal = use()
    with dc.show_progress():
        report = begin_report("a", "b", lambda: 9)
        report(1)
        written = terminal.getvalue()
        child = os.fork()
        if not child:
            report(2)
            report.end()
            is_quiet = find_progress("a", "b") is None and terminal.getvalue() == written
            os._exit(0 if is_quiet else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@KINDS
def test_a_watch_shows_what_lasts_and_ends(use, kind, monkeypatch):
    terminal = use(kind)
    monkeypatch.setattr(shown_progress, "_DELAY", 0)
    monkeypatch.setattr(shown_progress, "_PAUSE", 0.001)
    looks = []

    def look():
        looks.append(None)
        return ("first" if len(looks) < 3 else "second"), len(looks)

    with dc.show_progress():
        watch = begin_watch("steps", look)
        end = time.monotonic() + 10
        while len(looks) < 6 and time.monotonic() < end:
            time.sleep(0.001)
        watch.end()
        assert not watch._thread.is_alive()
    assert "first: " in terminal.getvalue()
    assert "second: " in terminal.getvalue()
    assert "".join(terminal.screen()) == ""


def test_a_watch_of_what_ends_at_once_shows_nothing(use):
    terminal = use()
    with dc.show_progress():
        begin_watch("steps", lambda: 1 / 0).end()
    assert terminal.getvalue() == ""


def test_pipelines_in_a_block_report_unless_they_say_otherwise(use):
    use()
    with dc.show_progress():
        assert isinstance(dc.pipeline()._session.options["progress"], ProgressBar)
        assert dc.pipeline(progress=False)._session.options["progress"] is None
        assert dc.pipeline(progress=print)._session.options["progress"] is print
    assert dc.pipeline()._session.options["progress"] is None


def test_a_recording_is_watched_and_an_error_ends_it(use, monkeypatch):
    terminal = use()
    monkeypatch.setattr(shown_progress, "_DELAY", 0)

    @dc.capture
    def slow(fails):
        time.sleep(0.05)
        if fails:
            raise ValueError("mine")
        return 1

    before = threading.active_count()
    with dc.show_progress():
        slow(False)
        with pytest.raises(ValueError, match="mine"):
            slow(True)
        assert "".join(terminal.screen()) == ""
    assert threading.active_count() == before
    assert "slow: recording: 0 steps" in terminal.getvalue()
