"""Run code that imports plugins in a process of its own, which it can end, hang or print in without harm to this one.

Note [How a child starts]
    A child finds the modules that its parent finds, and the current folder is on its path only where it is on the parent's.
    Python puts the folder first for ``-c``, before a line of ours has run: ``-P`` forbids that, and ``PYTHONSAFEPATH``
    forbids it to processes that a plugin starts. The parent's flags decide about the environment, ``site`` and warnings.
    ``PYTHONPATH``, ``sitecustomize`` and the import hooks of editable installations are needed, so ``-I`` is handed on where
    the parent has it, and never added. ``sys.path`` is handed over in its order, as absolute paths: a child may change its
    folder.
"""

from __future__ import annotations

import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import FileFinder
from pathlib import Path
from typing import Any, Final
from zipimport import zipimporter

#: Name in ``sys.flags`` → the interpreter's option.
_FLAGS: Final = {
    "isolated": "I",
    "ignore_environment": "E",
    "no_user_site": "s",
    "no_site": "S",
    "dont_write_bytecode": "B",
    "optimize": "O",
    "bytes_warning": "b",
}
_CHILD: Final = (
    "import importlib, json, sys; job = json.load(sys.stdin); sys.path[:] = job['path'];"
    "importlib.import_module(job['module']).run(job)"
)
_running: Final[set[subprocess.Popen[bytes]]] = set()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: its reports, the last of each kind, its notes and its output.

    ``fault`` says how it ended before it was done, ``""`` where it was done; ``timed_out`` that its time was over.
    """

    facts: dict[str, Any]
    notes: tuple[str, ...]
    output: str
    timed_out: bool
    fault: str


def interpreter_options() -> list[str]:
    """Return the options that a child starts with: this process's own, and ``-P``; see Note [How a child starts]."""
    flags = [f"-{letter * getattr(sys.flags, name)}" for name, letter in _FLAGS.items() if getattr(sys.flags, name)]
    warnings = [f"-W{option}" for option in sys.warnoptions]
    implementation = [f"-X{name}" if value is True else f"-X{name}={value}" for name, value in sys._xoptions.items()]
    return ["-P", *flags, *warnings, *implementation]


def absolute_path() -> list[str]:
    """Return ``sys.path`` with its entries as absolute paths, but for names that an import hook has put there."""
    # An entry that is not a string leads to no module.
    return [_absolute(entry) for entry in sys.path if isinstance(entry, str)]


def _absolute(entry: str) -> str:
    is_file = isinstance(pkgutil.get_importer(entry), FileFinder | zipimporter | None)
    return os.path.abspath(entry) if is_file else entry  # noqa: PTH100  # links are kept, as Python keeps them


def run_in_child(module: str, job: dict[str, Any], timeout: float, environment: dict[str, str] | None = None) -> Ended:
    """Call ``run(job)`` of a module in a new interpreter with this one's ``sys.path``, and end it when its time is over.

    Its output, on either stream, is kept apart from its reports (see `teller`).
    """
    # Windows deletes no file that a process which the plugin has left behind holds open.
    with tempfile.TemporaryDirectory(prefix="dispatch-child-", ignore_cleanup_errors=True) as folder:
        report, output = Path(folder, "report"), Path(folder, "output")
        report.touch()
        job = {**job, "module": module, "path": absolute_path(), "report": str(report)}
        with output.open("wb") as stream:
            # The output goes to a file: a pipe would stay open as long as anything that the plugin started.
            child = subprocess.Popen(
                [sys.executable, *interpreter_options(), "-c", _CHILD],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=stream,
                env={**(os.environ if environment is None else environment), "PYTHONSAFEPATH": "1"},
                start_new_session=True,
            )
            _running.add(child)
            try:
                with suppress(subprocess.TimeoutExpired):
                    child.communicate(json.dumps(job).encode(), timeout)
            finally:
                timed_out = child.poll() is None
                _kill(child)
                child.wait()
                _running.discard(child)
        told = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
        printed = output.read_text(encoding="utf-8", errors="replace")
    facts: dict[str, Any] = {}
    for fact in told:
        facts |= fact
    step = facts.get("step", "while the interpreter started")
    fault = ""
    if timed_out:
        fault = f"it did not finish within the time limit of {timeout:g} s, {step}"
    elif child.returncode != 0 or "done" not in facts:
        fault = f"{_ending(child.returncode)}, {step}"
    return Ended(facts, tuple(fact["note"] for fact in told if "note" in fact), printed, timed_out, fault)


def teller(job: dict[str, Any]) -> Any:
    """Return, to a child, the function that tells its parent facts: a line each, so that a crash leaves those before."""
    report = Path(job["report"])

    def tell(**facts: Any) -> None:
        with report.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(facts) + "\n")

    return tell


def end_child() -> None:
    """End a child that is done: threads and exit handlers that a plugin leaves behind must not decide how."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(0)


def end_children() -> None:
    """End the children that other threads wait for."""
    for child in [*_running]:
        _kill(child)


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End a child by a signal, and with it the processes that its plugin may have started."""
    if sys.platform == "win32":
        # A process has no group there; taskkill, a part of Windows, ends those that it has started, too.
        if child.poll() is not None:
            return
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                ["taskkill", "/F", "/T", "/PID", str(child.pid)],  # noqa: S607  # found as every program of the system's is
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=10,
            )
        child.kill()
    else:
        # Where nothing of the group is left there is nothing to end.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)


def _ending(status: int) -> str:
    if status >= 0:
        return f"it ended the process with exit status {status}"
    try:
        return f"it was ended by the signal {signal.Signals(-status).name}"
    except ValueError:
        return f"it was ended by the signal {-status}"
