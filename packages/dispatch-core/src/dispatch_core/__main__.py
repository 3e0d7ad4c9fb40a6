"""``python -m dispatch_core``: what is installed, and what is wrong with it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from .errors import DispatchError
from .plugins import BackendState, backends
from .plugins.doctor import Finding, examine

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 for fine, 1 for something found, 2 for a command that cannot run."""
    parser = argparse.ArgumentParser(prog="python -m dispatch_core", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the installed devices; nothing is loaded")
    listing.add_argument("--all", action="store_true", help="show every dispatch key, too")
    listing.set_defaults(run=_list)
    doctor = commands.add_parser("doctor", help="try every plugin in a process of its own")
    doctor.add_argument(
        "--timeout", type=_seconds, default=10.0, metavar="SECONDS", help="for each plugin (default: 10)"
    )
    doctor.set_defaults(run=_doctor)
    for command in (listing, doctor):
        command.add_argument("--json", action="store_true", help="report in JSON")
    options = parser.parse_args(arguments)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except DispatchError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has seen enough; what is still buffered must not fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return status


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


def _list(options: argparse.Namespace) -> int:
    states = [state for first in backends().values() for state in (first, *first.rivals)]
    keys = _keys() if options.all else []
    if options.json:
        shown: dict[str, Any] = {"devices": [_state_row(state) for state in states]}
        if options.all:
            shown["keys"] = keys
        print(json.dumps(shown, indent=2))
        return 0
    rows = [
        (state.device, state.distribution, state.version, state.state, state.dispatch_key, state.reason)
        for state in states
    ]
    _table(("device", "distribution", "version", "state", "key", "reason"), rows)
    if not rows:
        print("No backend is installed. Hint: pip install dispatch-backend-cpu")
    if options.all:
        print()
        _table(("dispatch key", "bit", "rank"), [tuple(str(cell) for cell in key.values()) for key in keys])
    return 0


def _state_row(state: BackendState) -> dict[str, Any]:
    row = asdict(state)
    del row["rivals"]
    return row


def _keys() -> list[dict[str, Any]]:
    from .keys import DispatchKey

    return [
        {"name": key.name, "bit": key.bit, "rank": key.rank} for key in sorted(DispatchKey, key=lambda key: -key.rank)
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [head, *rows]
    if len(lines) == 1:
        return
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _doctor(options: argparse.Namespace) -> int:
    findings = examine(options.timeout)
    wrong = [finding for finding in findings if not finding.fine]
    if options.json:
        print(json.dumps({"fine": not wrong, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        for finding in findings:
            print("\n".join(_describe(finding)))
        print(f"{len(findings)} examined, {len(wrong)} with faults")
    return 1 if wrong else 0


def _describe(finding: Finding) -> list[str]:
    origin = f" of {finding.distribution} {finding.version}" if finding.distribution else ""
    seconds = "" if finding.seconds is None else f", loaded in {finding.seconds:.2f} s"
    first, *more = finding.reason.splitlines() or [""]
    reason = f": {first}" if first else ""
    lines = [f"{finding.outcome:<9}  {finding.kind} {finding.name!r}{origin}{seconds}{reason}"]
    lines += [f"           {line}" for line in more]
    lines += [f"           note: {note}" for note in finding.notes]
    lines += [f"           | {line}" for line in finding.output.splitlines()]
    return lines


if __name__ == "__main__":
    sys.exit(main())
