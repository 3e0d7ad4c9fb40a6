"""``python -m dispatch_core``: list and examine the installed plugins, and explain the kernel of a call."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from .environment import parse_names
from .errors import DispatchError
from .operator_report import left_out_note, report
from .origins import Origin
from .plugins import BackendState, ProviderState, backends, kernel_providers
from .plugins.doctor import Finding, examine
from .plugins.messages import printable
from .scaffold import SORTS, STRIDED, new_backend
from .tools import BRINGS, find_tool

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 for fine, 1 for something found, 2 for a command that cannot run."""
    parser = argparse.ArgumentParser(prog="python -m dispatch_core", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="list the installed devices; nothing is loaded but by --import")
    listing.add_argument("--all", action="store_true", help="show every dispatch key, too")
    listing.set_defaults(run=_list)
    doctor = commands.add_parser("doctor", help="try every plugin in a process of its own")
    doctor.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a device, operator namespace, provider of kernels, array type or distribution (default: all)",
    )
    doctor.set_defaults(run=_doctor)
    explaining = commands.add_parser("explain", help="show an operator's kernels, and which one wins for which keys")
    explaining.add_argument("name", metavar="NAME", help="namespace::name or namespace::name.overload; aten where bare")
    explaining.add_argument(
        "--keys", default="", metavar="KEYS", help="explain the call for these keys: CPU,AutogradCPU"
    )
    explaining.add_argument(
        "--device",
        dest="devices",
        default="",
        metavar="DEVICES",
        help="load these devices' backends, too, besides those of KEYS; cpu where neither is given",
    )
    explaining.add_argument("--source", action="store_true", help="show the source of the generated callables, too")
    explaining.add_argument("--all", action="store_true", help="show every key of the computed table")
    explaining.set_defaults(run=_explain)
    for command, example in ((listing, "one that registers devices"), (explaining, "a frontend")):
        command.add_argument(
            "--import",
            dest="modules",
            action="append",
            default=[],
            metavar="MODULE",
            help=f"import a module first: {example}",
        )
    making = commands.add_parser("new-backend", help="write the package of a backend for a new device")
    making.add_argument("name", metavar="NAME", help="the device's name, in lower case; the package is NAME_backend")
    sorts = making.add_mutually_exclusive_group()
    for sort, summary in SORTS.items():
        if sort != STRIDED:
            sorts.add_argument(f"--{sort}", dest="sort", action="store_const", const=sort, help=summary)
    making.add_argument(
        "--directory",
        default=".",
        metavar="FOLDER",
        help="make the package's folder in this one (default: the current)",
    )
    making.set_defaults(run=_new_backend, sort=STRIDED)
    for command in (doctor, explaining):
        command.add_argument(
            "--timeout", type=_seconds, default=10.0, metavar="SECONDS", help="for each process (default: 10)"
        )
    for command in (listing, doctor, explaining):
        command.add_argument("--json", action="store_true", help="report in JSON")
    for name, text in BRINGS.items():
        # Its arguments are the tool's own affair, "--help" included.
        tool = commands.add_parser(name, help=text, add_help=False)
        tool.set_defaults(run=_run_tool, tool=name)
    options, rest = parser.parse_known_args(arguments)
    if rest and not hasattr(options, "tool"):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    options.rest = rest
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except (DispatchError, FileExistsError, NotADirectoryError, PermissionError) as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has seen enough; buffered output must not fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return status


def _run_tool(options: argparse.Namespace) -> int:
    status: int = find_tool(options.tool)(options.rest)
    return status


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return seconds


def _list(options: argparse.Namespace) -> int:
    for module in options.modules:
        importlib.import_module(module)
    states = [state for first in backends().values() for state in (first, *first.rivals)]
    providers = kernel_providers().values()
    keys = _keys() if options.all else []
    if options.json:
        shown: dict[str, Any] = {
            "devices": [_state_row(state) for state in states],
            "kernels": [asdict(provider) for provider in providers],
        }
        if options.all:
            shown["keys"] = keys
        print(json.dumps(shown, indent=2))
        return 0
    rows = [
        (
            state.device,
            state.distribution or "-",
            state.version or "-",
            state.state,
            state.dispatch_key,
            state.reason or (state.place and f"registered at {state.place}"),
        )
        for state in states
    ]
    _table(("device", "distribution", "version", "state", "key", "reason"), rows)
    if not rows:
        print("No backend is installed. Hint: pip install dispatch-backend-cpu")
    if providers:
        print()
        _table(("kernels", "distribution", "version", "state", "reason"), [_provider_row(each) for each in providers])
    if options.all:
        print()
        _table(("dispatch key", "bit", "rank"), [tuple(str(cell) for cell in key.values()) for key in keys])
    return 0


def _state_row(state: BackendState) -> dict[str, Any]:
    row = asdict(state)
    del row["rivals"]
    return row


def _provider_row(provider: ProviderState) -> tuple[str, ...]:
    state = f"{provider.state}, on" if provider.is_on else provider.state
    return provider.name, provider.distribution, provider.version, state, provider.reason


def _keys() -> list[dict[str, Any]]:
    from .keys.table import DispatchKey

    return [
        {"name": key.name, "bit": key.bit, "rank": key.rank} for key in sorted(DispatchKey, key=lambda key: -key.rank)
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [head, *([printable(cell) for cell in row] for row in rows)]
    if len(lines) == 1:
        return
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _doctor(options: argparse.Namespace) -> int:
    findings = examine(options.timeout, options.names)
    wrong = [finding for finding in findings if not finding.fine]
    if options.json:
        print(json.dumps({"fine": not wrong, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        for finding in findings:
            print("\n".join(_describe(finding)))
        print(f"{len(findings)} examined, {len(wrong)} with faults")
    return 1 if wrong else 0


def _new_backend(options: argparse.Namespace) -> int:
    print(new_backend(options.name, options.directory, sort=options.sort))
    return 0


def _describe(finding: Finding) -> list[str]:
    origin = printable(f" of {finding.distribution} {finding.version}") if finding.distribution else ""
    seconds = "" if finding.seconds is None else f", loaded in {finding.seconds:.2f} s"
    first, *more = map(printable, finding.reason.splitlines() or [""])
    reason = f": {first}" if first else ""
    lines = [f"{finding.outcome:<9}  {finding.kind} {finding.name!r}{origin}{seconds}{reason}"]
    lines += [f"           {line}" for line in more]
    for note in finding.notes:
        lines += textwrap.wrap(
            f"note: {printable(note)}", 120, initial_indent=" " * 11, subsequent_indent=" " * 13, break_on_hyphens=False
        )
    lines += [f"           | {printable(line)}" for line in finding.output.splitlines()]
    return lines


def _explain(options: argparse.Namespace) -> int:
    request = {
        "name": options.name,
        "keys": parse_names(options.keys),
        "devices": parse_names(options.devices),
        "modules": options.modules,
        "whole": options.all,
        "source": options.source,
    }
    found, printed = report(request, options.timeout)
    sys.stderr.write(printed)
    texts = [row.pop("text", "") for row in found["operators"]]
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    for number, (row, text) in enumerate(zip(found["operators"], texts, strict=True)):
        print("" if number == 0 else "\n", row["schema"] or row["operator"], sep="")
        _describe_operator(row)
        if text:
            print(f"\nwith these keys\n{textwrap.indent(text.partition(chr(10))[2], '  ')}")
        if options.source:
            print(f"\nsource\n{textwrap.indent(row['source'].rstrip(), '  ')}")
    sys.stderr.write("".join(map(left_out_note, found["skipped"])))
    if found["not_loaded"]:
        others = ", ".join(map(printable, found["not_loaded"]))
        print(
            f"note: not loaded, as the call does not need them: {others}; --device DEVICES loads them", file=sys.stderr
        )
    return 0


def _describe_operator(row: dict[str, Any]) -> None:
    kernels = [
        (found["key"], " ".join([found["kernel"], *_remarks(found)]), _short(found["place"]), _place(found["origin"]))
        for found in row["registrations"]
    ]
    print("\nregistrations" if kernels else "\nnothing is registered")
    _table(("  key", "kernel", "defined at", "registered at"), [("  " + key, *rest) for key, *rest in kernels])
    slots = [
        ("  " + slot["key"], slot["rule"], slot["registered_under"] or "-", slot["kernel"] or "-")
        for slot in row["table"]
    ]
    if slots:
        print("\ncomputed table")
        _table(("  key", "rule", "registered under", "kernel"), slots)


def _remarks(found: dict[str, Any]) -> list[str]:
    remarks = [f"(for {found['when']})"] if found["when"] else []
    return [*remarks, "(replaced)"] if found["replaced"] else remarks


def _short(place: str) -> str:
    """Shorten a file and line by the folder that its package is found in."""
    file, _, line = place.rpartition(":")
    return Origin(file, int(line)).short if file else ""


def _place(origin: dict[str, Any]) -> str:
    place = f"{origin['file']}:{origin['line']}"
    return f"{origin['distribution']} {origin['version']} ({place})" if origin["distribution"] else place


if __name__ == "__main__":
    sys.exit(main())
