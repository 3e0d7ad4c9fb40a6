"""``dispatch trace``: a program's calls, with their keys, kernels and times, while it runs.

Note [A traced program is the program]
    Its arguments, main module and path are those that ``python PROGRAM`` would give it, its exit status is the command's,
    and its errors are shown as Python shows them. The report is written at its end, whatever the end is: a return,
    ``sys.exit``, an error, Ctrl-C. Threads are waited for, as Python does. Processes that it starts are not traced.
    Everything that the report needs is imported before the program's folder comes on the path.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any, Final, TextIO

import importlib_metadata  # noqa: F401  # see Note [A traced program is the program]

from dispatch_core import trace
from dispatch_core.errors import ArgumentError, BackendError
from dispatch_core.files import write_text
from dispatch_core.inspection import (
    FORMS,
    call_trace,
    loading,  # noqa: F401  # as above
)
from dispatch_core.tools import did_you_mean

from ..pictures.chrome_trace import write_chrome_trace
from .arguments import add_json
from .call_report import CallReport
from .output import TextOutput
from .running import run_program

EXAMPLE: Final = "trace --html calls.html train.py --epochs 1"
USAGE: Final = "{0} [OPTION ...] PROGRAM [ARGUMENT ...]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.usage = USAGE.format(parser.prog)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("-m", dest="form", action="store_const", const="-m", help="PROGRAM is the name of a module")
    kind.add_argument("-c", dest="form", action="store_const", const="-c", help="PROGRAM is Python code")
    parser.add_argument(
        "--output", metavar="FILE", help="write the calls as text, or in JSON, to a file (default: standard error)"
    )
    add_json(parser)
    parser.add_argument("--html", metavar="FILE", help="write a page with the calls and their times")
    parser.add_argument("--chrome", metavar="FILE", help="write a trace in Chrome's format, which Perfetto opens")
    parser.add_argument(
        "--graph",
        metavar="FILE",
        help="write the graph of the main thread's calls: .svg, .dot, .mmd, .html or .txt; its tensors are kept",
    )
    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM",
        help="a Python file, or a folder or archive of one, and its arguments",
    )
    parser.set_defaults(form="")


def run(options: argparse.Namespace) -> int:
    """Run the program and write the reports; return its exit status."""
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    form = options.form or ""
    _check(form, program, options)
    report = CallReport(" ".join([*filter(None, [form]), *program]))
    is_printed = not (options.json or options.html or options.chrome or options.graph)
    with ExitStack() as stack:
        output = _open(options.output, stack)
        listeners: list[Any] = [report]
        if is_printed or (options.output and not options.json):
            listeners.append(call_trace.Printer(output))
        graph = trace() if options.graph else None
        stack.callback(_write, report, graph, options, output, os.getpid())
        with call_trace.listen(*listeners), graph or nullcontext():
            try:
                return run_program(form, program)
            finally:
                _wait_for_threads()


def _check(form: str, program: list[str], options: argparse.Namespace) -> None:
    """Refuse a program or a file that cannot be there, before anything runs."""
    if not program:
        raise BackendError(
            "there is no program to trace", hint="name a Python file, or -m and a module, or -c and code"
        )
    if not form and not os.path.exists(program[0]):  # noqa: PTH110  # a name may hold a null
        near = did_you_mean(program[0], os.listdir())  # noqa: PTH208
        raise BackendError(f"there is no file {program[0]!r}", hint=near or "-m runs a module, -c code")
    for name in ("output", "html", "chrome", "graph"):
        path = getattr(options, name)
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise BackendError(f"--{name} {path}: there is no folder {str(Path(path).parent)!r}")
    if options.graph is not None and Path(options.graph).suffix.lower() not in FORMS:
        raise ArgumentError(
            f"--graph {options.graph}: the suffix says nothing of the form to write",
            hint=f"suffixes are {', '.join(FORMS)}",
        )


def _open(path: str | None, stack: ExitStack) -> TextIO | None:
    """Return the file for text, which has each line at once; None for standard error."""
    if path is None:
        return None
    return stack.enter_context(Path(path).open("w", encoding="utf-8", buffering=1))


def _write(
    report: CallReport, graph: trace | None, options: argparse.Namespace, output: TextIO | None, process: int
) -> None:
    """Write the reports, unless this is the child of a fork."""
    if os.getpid() != process:
        return
    stream = output or sys.stderr
    text = json.dumps(report.to_dict(), indent=2) + "\n" if options.json else report.text(TextOutput.of(stream))
    if stream is not None:
        with suppress(BrokenPipeError):
            stream.write(text)
            stream.flush()
    if options.html:
        write_text(options.html, report.html())
    if options.chrome:
        write_chrome_trace(options.chrome, report.events, report.threads)
    if graph is not None:
        graph.picture().save(options.graph)


def _wait_for_threads() -> None:
    """Wait for the threads that Python waits for at its end."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
