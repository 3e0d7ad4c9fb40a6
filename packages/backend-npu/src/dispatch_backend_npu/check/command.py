"""The command ``python -m dispatch_backend_npu check``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dispatch_aten.testing.outcomes import Outcome

    from .running import CheckRun

_FILE: Final = Path("npu-check.json")
_TIMEOUT: Final = 60.0
_ISSUES: Final = "https://github.com/dispatch-project/dispatch/issues/new?template=npu.yml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--json", type=Path, default=_FILE, metavar="FILE", help=f"where the report goes ({_FILE})")
    parser.add_argument("--quick", action="store_true", help="one call of each operator, in five dtypes")
    parser.add_argument(
        "--timeout", type=float, default=_TIMEOUT, metavar="SECONDS", help=f"how long one check may take ({_TIMEOUT:g})"
    )


def run(options: argparse.Namespace) -> int:
    """Run the checks, write the report and print the summary.

    Returns 0 where nothing failed, 1 where something did, 2 where the report cannot be written, 130 after Ctrl-C.
    """
    path: Path = options.json
    folder = path.absolute().parent
    if not folder.is_dir() or path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        sys.stderr.write(
            f"--json {path}: it cannot be written; nothing has run.\nHint: name a file in a folder of yours\n"
        )
        return 2
    if options.timeout <= 0:
        sys.stderr.write("--timeout takes a number of seconds above 0; nothing has run.\n")
        return 2
    from .report import write_report  # the other commands need nothing of the kit
    from .running import run_checks
    from .summary import as_text

    def begin(count: int) -> Callable[[Outcome], None]:
        from dispatch_aten.testing.showing import Progress

        sys.stderr.write(f"{count:,} checks, each of which may take {options.timeout:g} s\n")
        return Progress(count, sys.stderr)

    found = run_checks(is_quick=options.quick, timeout=options.timeout, begin=begin)
    sys.stdout.write(as_text(found))
    try:
        size = write_report(found, path)
    except OSError as error:
        sys.stderr.write(f"--json {path}: {error}\n")
        return 2
    sys.stdout.write(f"The report is in {path} ({size / 1000:.0f} kB). It names no user, machine or folder.\n")
    if _is_of_interest(found):
        sys.stdout.write(f"Please attach it to an issue, whether something failed or not:\n{_ISSUES}\n")
    return 130 if found.is_stopped else 1 if found.faults else 0


def _is_of_interest(run: CheckRun) -> bool:
    """Return whether the report says something about a chip."""
    return bool(run.device.get("count")) and not run.environment["toolkit"].get("simulator")
