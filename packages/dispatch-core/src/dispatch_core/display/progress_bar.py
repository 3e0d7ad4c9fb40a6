"""The bar that ``progress=True`` shows: tqdm's where it is installed, else one line that is written again and again."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from ..errors import ArgumentError

#: The option that shows a bar even where standard error is no terminal.
ALWAYS: Final = "always"


def choose_progress(value: object) -> Any:
    """Return the function that reports progress for the option's value, or None where there is nothing to report to.

    True is a bar where standard error is a terminal or a notebook's, ``"always"`` one in any case, False none. Raises
    ``ArgumentError`` for anything else than these and functions.
    """
    if value is False or value is None:
        return None
    if value is True:
        return ProgressBar() if _is_watched() else None
    if isinstance(value, str) and value == ALWAYS:
        return ProgressBar()
    if callable(value):
        return value
    raise ArgumentError(
        f"pipeline(): option 'progress' must be a bool, {ALWAYS!r}, a function of two ints or None, not {value!r}"
    )


def _is_watched() -> bool:
    return _is_terminal() or "ipykernel" in sys.modules


def _is_terminal() -> bool:
    # Without a console, as below pythonw, there is no stream; another one may lack the method.
    is_terminal = getattr(sys.stderr, "isatty", None)
    return bool(is_terminal is not None and is_terminal())


class ProgressBar:
    """A bar for each flush that takes long: ``bar(done, total)`` shows how far it is."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._done = self._total = 0

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` steps have run; the bar ends with the last one."""
        if self._bar is None or total != self._total or done < self._done:
            self.close()
            self._bar, self._total = _make_bar(total), total
        self._bar.update(done - self._done)
        self._done = done
        if done == total:
            self.close()

    def close(self) -> None:
        """End the bar of a flush that did not come to its end."""
        bar, self._bar, self._done = self._bar, None, 0
        if bar is not None:
            bar.close()


def _make_bar(total: int) -> Any:
    if find_spec("tqdm") is None:
        return _Line(total)
    # The bar of notebooks needs their widgets.
    in_notebook = "ipykernel" in sys.modules and find_spec("ipywidgets") is not None
    tqdm = import_module("tqdm.notebook" if in_notebook else "tqdm").tqdm
    return tqdm(total=total, desc="pipeline", unit=" steps", leave=False)


class _Line:
    """A line on standard error, in the place of tqdm's bar."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._ends = total, 0, not _is_terminal()
        self._shown = -1

    def update(self, steps: int) -> None:
        self._done += steps
        percent = 100 * self._done // self._total if self._total else 100
        if self._ends and percent // 10 == self._shown // 10:
            return  # a file needs no line for each percent
        self._shown = percent
        text = f"pipeline: {self._done:,} of {self._total:,} steps, {percent} %"
        self._write(f"{text}\n" if self._ends else f"\r{text}")

    def close(self) -> None:
        if not self._ends:
            # Erase the line, as tqdm does.
            self._write("\r" + " " * 60 + "\r")

    def _write(self, text: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
