"""The progress of data loaders: shown in a block that asks for it, and erased however the loop ends."""

from __future__ import annotations

import gc
import io
import random
import sys

import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.display import progress_reports
from dispatch_devkit import progress_bar
from torchlike.utils.data import DataLoader, Dataset, IterableDataset


class Terminal(io.StringIO):
    def isatty(self):
        return True

    @property
    def left(self):
        """Return what stands on the line in the end."""
        return self.getvalue().rpartition("\r")[2] or self.getvalue().rpartition("\r")[0].rpartition("\r")[2].strip()


class Stream(IterableDataset):
    def __init__(self, count, is_sized):
        self.count = count
        if is_sized:
            self.__class__ = type("Sized", (Stream,), {"__len__": lambda self: self.count})

    def __iter__(self):
        return iter(range(self.count))


class Rows(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index == 13:
            raise ValueError("an unlucky row")
        return index


@pytest.fixture
def show(monkeypatch):
    """Return a function that replaces standard error by a terminal, on which each report is written."""

    def show():
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress_reports, "_PAUSE", 0)
        monkeypatch.setattr(progress_bar, "find_spec", lambda name: None)
        return stream

    return show


def test_each_batch_is_reported_with_their_number(monkeypatch):
    monkeypatch.setattr(progress_reports, "_PAUSE", 0)
    told = []
    with dc.show_progress(lambda *figures: told.append(figures)):
        list(DataLoader(Rows(5), batch_size=2))
        list(DataLoader(Stream(3, is_sized=False)))
        sized = DataLoader(Stream(3, is_sized=True), batch_size=2)
        for _ in sized:
            pass
        list(DataLoader(Rows(2), batch_size=None))
    assert told == [(1, 3), (2, 3), (3, 3), (1, None), (2, None), (3, None), (1, 2), (2, 2), (1, 2), (2, 2)]
    # A length that the program asked for would be compared with the number of samples.
    assert sized._IterableDataset_len_called is None


@pytest.mark.parametrize("seed", range(25))
def test_nothing_is_left_however_loops_end(show, seed):
    drawn = random.Random(seed)
    terminal = show()

    def run(depth):
        count = drawn.choice([0, 1, 5, 12, 20])
        data = Rows(count) if drawn.random() < 0.6 else Stream(count, is_sized=drawn.random() < 0.5)
        loader = DataLoader(data, batch_size=drawn.choice([None, 1, 3]))
        for _ in range(2):
            for _ in loader:
                if depth < 2 and drawn.random() < 0.2:
                    run(depth + 1)
                if drawn.random() < 0.05:
                    break
                if drawn.random() < 0.01:
                    raise RuntimeError

    error = None
    try:
        with dc.show_progress():
            run(0)
    except (RuntimeError, ValueError) as found:
        error = found  # its traceback holds the loops' iterators
    assert terminal.left == "", error


def test_a_loop_that_is_left_early_erases_its_bar_at_once(show):
    terminal = show()
    with dc.show_progress():
        for _ in DataLoader(Rows(5)):
            assert "DataLoader: 1 of 5 batches, 20 %" in terminal.getvalue()
            break
        gc.collect()
        assert terminal.left == ""


@pytest.mark.parametrize("is_persistent", [False, True])
def test_workers_are_quiet_and_their_batches_counted(show, is_persistent):
    terminal = show()
    with dc.show_progress():
        loader = DataLoader(Rows(6), batch_size=2, num_workers=1, persistent_workers=is_persistent)
        for _ in range(2):
            assert [each.tolist() for each in loader] == [[0, 1], [2, 3], [4, 5]]
        for _ in loader:
            break
    assert terminal.left == ""
    assert terminal.getvalue().count("3 of 3 batches, 100 %") == 2


def test_without_a_block_nothing_is_shown_or_counted(show):
    terminal = show()
    loader = DataLoader(Rows(4))
    assert iter(loader)._report is None
    list(loader)
    assert terminal.getvalue() == ""


def test_a_recording_of_a_captured_step_is_quiet_in_a_pipe(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    step = torchlike.capture(lambda x: x * 2)
    with dc.show_progress():
        for batch in DataLoader(torchlike.arange(4.0), batch_size=2):
            step(batch)
    assert stream.getvalue() == ""
