"""The command ``dispatch verify DEVICE``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dispatch_core as dc
from dispatch_core.errors import BackendError
from dispatch_core.files import write_text
from dispatch_core.tools import CommandParser, find_plugin, import_modules, program_name

from .checks import wanted_checks
from .further import SEED
from .marks import Mark, marks_beside, read_marks
from .outcomes import Outcome
from .report import verify
from .running import Records
from .showing import Progress, as_html, as_text


def main(arguments: Sequence[str]) -> int:
    """Verify a device, print the report and return the exit status.

    It is 0 for fine, 1 for faults, 2 where the page cannot be written, and 130 after Ctrl-C.
    """
    parser = CommandParser(
        prog=f"{program_name()} verify",
        description="Compare a device with the cpu, operator by operator.",
        epilog=f"example: {program_name()} verify npu --only 'aten::add*' --html report.html",
    )
    parser.add_argument("device", metavar="DEVICE", help="the device's name")
    parser.add_argument("--json", action="store_true", help="report in JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page of HTML, too")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PATTERN", help="run these checks alone: 'aten::add*'"
    )
    parser.add_argument("--samples", type=int, metavar="N", help="compare N samples of each operator at most")
    parser.add_argument(
        "--draw", type=float, default=1.0, metavar="SHARE", help="check this part of the operators: 0.1"
    )
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help="draw by another seed")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="run in N processes (1); 0: in this one, for a debugger"
    )
    parser.add_argument(
        "--timeout", type=float, default=120.0, metavar="SECONDS", help="how long one check may take (120)"
    )
    parser.add_argument("--failed-first", action="store_true", help="run the checks first that failed the last time")
    parser.add_argument("--resume", action="store_true", help="go on with the last run, which did not come to its end")
    parser.add_argument(
        "--marks", type=Path, metavar="FILE", help="marks of known failures (default: conformance.toml in the package)"
    )
    parser.add_argument(
        "--import", dest="modules", action="append", default=[], metavar="MODULE", help="import a module first"
    )
    options = parser.read(arguments)
    if options.html:
        _check_place(options.html)
    if not 0 < options.draw <= 1:
        parser.error(f"--draw takes a number above 0, up to 1, not {options.draw:g}")
    if options.jobs < 0 or options.timeout <= 0:
        parser.error("--jobs takes no number below 0, and --timeout none but those above 0")
    import_modules(options.modules)
    marks = read_marks(options.marks) if options.marks else find_marks(options.device)
    checks = wanted_checks(options.only, share=options.draw, seed=options.seed)
    records = Records(options.device, _describe_run(options, checks))
    done = records.read_done() if options.resume else []
    progress = Progress(len(checks) - len(done), sys.stderr)
    records.begin(done)

    def tell(outcome: Outcome) -> None:
        records.add(outcome)
        progress(outcome)

    report = verify(
        options.device,
        only=options.only,
        marks=marks,
        limit=options.samples,
        tell=tell,
        share=options.draw,
        seed=options.seed,
        jobs=options.jobs,
        timeout=options.timeout,
        modules=options.modules,
        first=records.read_failed() if options.failed_first else (),
        done=done,
    )
    records.finish(report.outcomes)
    sys.stdout.write(json.dumps(report.as_data(), indent=2) + "\n" if options.json else as_text(report))
    sys.stdout.flush()
    if options.html:
        try:
            write_text(options.html, as_html(report))
        except OSError as error:
            raise BackendError(f"--html {options.html}: {error}") from error
    if report.stopped:
        return 130
    return 1 if report.faults else 0


def _describe_run(options: argparse.Namespace, checks: Sequence[str]) -> dict[str, Any]:
    """Return the facts by which two runs are the same: the device, its version, the options, the checks."""
    state = dc.backends().get(options.device)
    return {
        "device": options.device,
        "version": "" if state is None else f"{state.distribution} {state.version}",
        "core": dc.__version__,
        "samples": options.samples,
        "seed": options.seed,
        "checks": f"{len(checks)} checks, {zlib.crc32(' '.join(checks).encode()):08x}",
    }


def _check_place(page: Path) -> None:
    """Refuse a page that could not be written, before minutes of checks."""
    if not page.parent.is_dir():
        raise BackendError(f"--html {page}: there is no folder {page.parent}", hint="make it first; nothing has run")
    if page.is_dir() or not os.access(page if page.exists() else page.parent, os.W_OK):
        what = "is a folder" if page.is_dir() else "cannot be written to"
        raise BackendError(f"--html {page}: it {what}", hint="name a file that can be written; nothing has run")


def find_marks(device: str) -> tuple[Mark, ...]:
    """Return the marks that a device's package keeps."""
    module = find_plugin(device)
    found = marks_beside(module) if module else ()
    return tuple(mark for mark in found if not mark.devices or device in mark.devices)
