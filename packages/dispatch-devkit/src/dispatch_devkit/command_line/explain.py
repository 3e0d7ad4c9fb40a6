"""``dispatch explain``: an operator's kernels, and the one that wins for a call's keys."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from typing import Any, Final

from dispatch_core import Origin
from dispatch_core.escapes import to_printable
from dispatch_core.inspection import parse_names

from ..operator_report import left_out_note, report
from .arguments import add_import, add_json, add_timeout
from .output import TextOutput

EXAMPLE: Final = "explain aten::add.Tensor --keys AutogradCPU,CPU"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("name", metavar="NAME", help="namespace::name or namespace::name.overload; aten where bare")
    parser.add_argument("--keys", default="", metavar="KEYS", help="explain the call for these keys: CPU,AutogradCPU")
    parser.add_argument(
        "--device",
        dest="devices",
        default="",
        metavar="DEVICES",
        help="load these devices' backends, too, besides those of KEYS; cpu where neither is given",
    )
    parser.add_argument("--source", action="store_true", help="show the source of the generated callables, too")
    parser.add_argument("--all", action="store_true", help="show every key of the computed table")
    add_import(parser, "a frontend")
    add_timeout(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the report on an operator, which a child process makes; return 0."""
    request = {
        "name": options.name,
        "keys": parse_names(options.keys),
        "devices": parse_names(options.devices),
        "modules": options.modules,
        "safe_path": sys.flags.safe_path,
        "whole": options.all,
        "source": options.source,
    }
    found, printed = report(request, options.timeout)
    sys.stderr.write(printed)
    texts = [row.pop("text", "") for row in found["operators"]]
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    output = TextOutput.of()
    for number, (row, text) in enumerate(zip(found["operators"], texts, strict=True)):
        print("" if number == 0 else "\n", output.paint(row["schema"] or row["operator"], "bold"), sep="")
        print(describe_operator(row, output))
        if text:
            print(f"\nwith these keys\n{textwrap.indent(text.partition(chr(10))[2], '  ')}")
        if options.source:
            print(f"\nsource\n{textwrap.indent(row['source'].rstrip(), '  ')}")
    sys.stderr.write("".join(map(left_out_note, found["skipped"])))
    if found["not_loaded"]:
        others = ", ".join(map(to_printable, found["not_loaded"]))
        print(
            f"note: not loaded, as the call does not need them: {others}; --device DEVICES loads them", file=sys.stderr
        )
    return 0


def describe_operator(row: dict[str, Any], output: TextOutput) -> str:
    """Return the registrations and the table of a row of the report."""
    kernels = [
        (
            f"  {found['key']}",
            " ".join([found["kernel"], *_remarks(found)]),
            _short(found["place"]),
            _place(found["origin"]),
        )
        for found in row["registrations"]
    ]
    lines = ["\nregistrations" if kernels else "\nnothing is registered"]
    lines += filter(None, [output.table(("  key", "kernel", "defined at", "registered at"), kernels)])
    slots = [
        ("  " + slot["key"], slot["rule"], slot["registered_under"] or "-", slot["kernel"] or "-")
        for slot in row["table"]
    ]
    if slots:
        lines += ["\ncomputed table", output.table(("  key", "rule", "registered under", "kernel"), slots)]
    return "\n".join(lines)


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
