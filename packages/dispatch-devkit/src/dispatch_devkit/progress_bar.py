"""The bar that ``progress=True`` shows: tqdm's where it is installed, else one line that is written again and again."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from dispatch_core.display import ProgressDisplay


def make_bar(label: str, unit: str, *, is_forced: bool = False) -> ProgressBar | None:
    """Return a bar where standard error is a terminal or a notebook's, or where it is forced."""
    return ProgressBar(label, unit) if is_forced or _is_watched() else None


def _is_watched() -> bool:
    return _is_terminal() or "ipykernel" in sys.modules


def _is_terminal() -> bool:
    # Without a console, as below pythonw, there is no stream; another one may lack the method.
    is_terminal = getattr(sys.stderr, "isatty", None)
    return bool(is_terminal is not None and is_terminal())


class ProgressBar(ProgressDisplay):
    """A bar for each thing that takes long: ``bar(done, total)`` shows how far it is; ``total`` is None if unknown."""

    def __init__(self, label: str = "pipeline", unit: str = "steps", *, has_rate: bool = True) -> None:
        self._label, self._unit, self._has_rate = label, unit, has_rate
        self._bar: Any = None
        self._done = 0
        self._total: int | None = None
        # A process that was forked has a copy of the bar; the line on the terminal is not its own.
        self._process = os.getpid()

    def __call__(self, done: int, total: int | None) -> None:
        """Show that ``done`` of ``total`` steps have run; the bar ends with the last one."""
        if os.getpid() != self._process:
            return
        if self._bar is None or total != self._total or done < self._done:
            self.close()
            self._bar, self._total = _make_bar(total, self._label, self._unit, self._has_rate), total
        self._bar.update(done - self._done)
        self._done = done
        if done == total:
            self.close()

    def refresh(self) -> None:
        """Show the time that has passed."""
        if self._bar is not None and os.getpid() == self._process:
            self._bar.refresh()

    def close(self) -> None:
        """End a bar that did not come to its end, and erase it."""
        bar, self._bar, self._done = self._bar, None, 0
        if bar is not None and os.getpid() == self._process:
            bar.close()

    def __del__(self) -> None:
        # A loop that is left early drops its bar. As the interpreter ends, the modules of the bar may be gone.
        if not sys.is_finalizing():
            self.close()


def _make_bar(total: int | None, label: str, unit: str, has_rate: bool) -> Any:
    if find_spec("tqdm") is None:
        return _Line(total, label, unit)
    # The bar of notebooks needs their widgets.
    in_notebook = "ipykernel" in sys.modules and find_spec("ipywidgets") is not None
    tqdm = import_module("tqdm.notebook" if in_notebook else "tqdm").tqdm
    # Without tqdm's thread: a process with threads that forks, as loaders do for their workers, is warned of.
    quiet = type("tqdm", (tqdm,), {"monitor_interval": 0})
    shown = None if has_rate else "{desc}: {n_fmt}{unit} [{elapsed}]"
    return quiet(total=total, desc=label, unit=f" {unit}", leave=False, dynamic_ncols=True, bar_format=shown)


class _Line:
    """A line on standard error, where tqdm has a bar; on a terminal one at a time is shown, the first."""

    _shown: ClassVar[_Line | None] = None

    def __init__(self, total: int | None, label: str, unit: str) -> None:
        self._total, self._label, self._unit = total, label, unit
        self._done, self._ends = 0, not _is_terminal()
        self._percent, self._written = -1, 0
        if not self._ends and _Line._shown is None:
            _Line._shown = self

    def update(self, steps: int) -> None:
        self._done += steps
        percent = 100 if not self._total else 100 * self._done // self._total
        if self._ends and percent // 10 == self._percent // 10:
            return  # a file needs no line for each percent
        self._percent = percent
        self.refresh()

    def refresh(self) -> None:
        count = f"{self._done:,}" if self._total is None else f"{self._done:,} of {self._total:,}"
        text = f"{self._label}: {count} {self._unit}" + ("" if self._total is None else f", {self._percent} %")
        if self._ends:
            self._write(f"{text}\n")
        elif _Line._shown is self:
            self._write(f"\r{text:<{self._written}}")
            self._written = max(self._written, len(text))

    def close(self) -> None:
        if _Line._shown is self:
            _Line._shown = None
            # Erase the line, as tqdm does.
            self._write("\r" + " " * self._written + "\r")

    def _write(self, text: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
