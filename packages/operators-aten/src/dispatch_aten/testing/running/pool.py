"""Processes that run checks: one that ends or hangs costs the check that it was at."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Final, Protocol

from dispatch_core.errors import BackendError

from ..claims import Claims
from ..outcomes import Outcome

#: How long a process may take until it has loaded the device, in seconds.
_START: Final = 300.0
#: How much longer than a check may take its process lives, to write where it hangs.
_GRACE: Final = 3.0
_PROGRAM: Final = "from dispatch_aten.testing.running.worker import main; main()"
_FRAME: Final = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings that a process needs to run a check.

    ``runner`` names a function of these settings in another package, ``module:function``, that returns a `Runner` for
    checks of its own; then the process loads no device by itself. ``options`` are the runner's, and JSON has them.
    """

    device: str
    limit: int | None
    seed: int
    modules: tuple[str, ...] = ()
    timeout: float = 120.0
    runner: str = ""
    options: dict[str, Any] = field(default_factory=dict)


class Runner(Protocol):
    """An object that runs checks by their names."""

    is_spent: bool
    """Whether the process can run no further check: the pool replaces it."""

    def run(self, check: str) -> Outcome:
        """Run a check."""


class Worker:
    """One process, with its answers and its standard error."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings: Final = settings
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        paths = [os.path.abspath(path) for path in sys.path]  # noqa: PTH100  # strings
        surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
        # Results are compared with the shape rules at every call.
        surroundings.setdefault("DISPATCH_CHECK_RESULTS", "1")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, json.dumps(asdict(settings))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=surroundings,
            text=True,
            encoding="utf-8",
            start_new_session=sys.platform != "win32",  # Ctrl-C is for the first process
        )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener: Final = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def wait_until_ready(self) -> Claims:
        """Return the device's claims once it is loaded.

        Raises ``BackendError`` where it cannot be loaded.
        """
        answer = self._next(_START)
        if isinstance(answer, dict) and "dtypes" in answer:
            return Claims(**{name: tuple(names) for name, names in answer.items()})
        said = "" if isinstance(answer, dict) else self._describe_end(answer)
        self._end()
        last = self._last_lines()
        self.close()
        if isinstance(answer, dict):
            raise BackendError(answer["error"], hint=answer["hint"])
        raise BackendError(
            f"a process that loads device {self._settings.device!r} {said}",
            hint=last or "--jobs 0 runs the checks in this process",
        )

    def run(self, check: str) -> Outcome:
        """Run a check; a process that ends or hangs is a failed one."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{check}\n")
            self._process.stdin.flush()
            answer = self._next(self._settings.timeout + _GRACE)
        except OSError:
            answer = "end"
        if isinstance(answer, dict):
            if answer.pop("spent", False):
                self.close()
            return Outcome(**answer)
        said = self._describe_end(answer)
        self._end()
        place = self._find_place()
        self.close()
        return Outcome(check, "failed", f"the process {said}", place=place)

    def _next(self, seconds: float) -> dict[str, Any] | str:
        """Return the next answer; "end" where the process ends, "hang" where there is none in time."""
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            return "hang"
        if not line:
            return "end"
        found: dict[str, Any] = json.loads(line)
        return found

    @property
    def is_alive(self) -> bool:
        """Return whether the process can run another check."""
        return self._process.poll() is None

    def _describe_end(self, answer: object) -> str:
        if answer == "hang":
            return f"has no answer after {self._settings.timeout:g} s"
        status = self._process.wait()
        if status >= 0:
            return f"ended with status {status}"
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"

    def _read_errors(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def _last_lines(self) -> str:
        return "\n".join(self._read_errors().splitlines()[-5:])

    def _find_place(self) -> str:
        """Return the innermost line that is not Python's own where the process was, by what it wrote at its end."""
        text = self._read_errors()
        last = text[max(text.rfind("Current thread"), text.rfind("Thread 0x"), 0) :]
        standard = sysconfig.get_path("stdlib")
        for found in _FRAME.finditer(last):
            if not found["file"].startswith((standard, "<")):
                return f"{found['function']} ({'/'.join(Path(found['file']).parts[-2:])}:{found['line']})"
        return ""

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process, and close its pipes."""
        self._end()
        self._listener.join(_GRACE)
        # A child of the process may live, and keep the pipe open that is listened to.
        answers = None if self._listener.is_alive() else self._process.stdout
        for stream in (self._process.stdin, answers, self._errors):
            with suppress(OSError):  # what a process that is gone has not read
                if stream is not None:
                    stream.close()


class WorkerPool:
    """Several processes that take checks from one list; a process that is gone is replaced."""

    def __init__(self, settings: RunSettings, jobs: int) -> None:
        self._settings: Final = settings
        self._is_closed = False
        self._workers: Final[list[Worker]] = [Worker(settings) for _ in range(jobs)]
        try:
            #: The device's claims.
            [self.claims, *_] = [worker.wait_until_ready() for worker in self._workers]
        except BaseException:
            self.close()
            raise

    def run(self, checks: Sequence[str]) -> Iterator[Outcome]:
        """Yield the outcomes as they come."""
        todo: queue.SimpleQueue[str] = queue.SimpleQueue()
        for check in checks:
            todo.put(check)
        found: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
        threads = [
            threading.Thread(target=self._serve, args=(place, todo, found), daemon=True)
            for place in range(len(self._workers))
        ]
        for thread in threads:
            thread.start()
        for _ in checks:
            outcome = found.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome

    def _serve(
        self, place: int, todo: queue.SimpleQueue[str], found: queue.SimpleQueue[Outcome | BaseException]
    ) -> None:
        """Run checks in one process, and in those that replace it, until there are none."""
        while not self._is_closed:
            try:
                check = todo.get_nowait()
            except queue.Empty:
                return
            try:
                if not self._workers[place].is_alive:
                    self._workers[place] = Worker(self._settings)
                    self._workers[place].wait_until_ready()
                found.put(self._workers[place].run(check))
            except BaseException as error:  # noqa: BLE001  # it is raised in the thread that waits
                found.put(error)
                return

    def close(self) -> None:
        """End the processes."""
        self._is_closed = True
        for worker in self._workers:
            worker.close()
