"""``dispatch doctor``: every installed plugin, tried in a process of its own."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Final

from dispatch_core.escapes import to_printable

from ..doctor.findings import Finding
from ..doctor.trials import TIMEOUT, examine
from .arguments import add_json, add_timeout
from .output import TextOutput, style_of

EXAMPLE: Final = "doctor npu dispatch-backend-cpu --timeout 30"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="a device, operator namespace, provider of kernels, array type or distribution (default: all)",
    )
    add_timeout(parser, TIMEOUT)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the findings; return 1 where something is wrong."""
    findings = examine(options.timeout, options.names)
    wrong = [finding for finding in findings if not finding.fine]
    if options.json:
        print(json.dumps({"fine": not wrong, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        output = TextOutput.of()
        for finding in findings:
            print("\n".join(_describe(finding, output)))
        print(f"{len(findings)} examined, {len(wrong)} with faults")
    return 1 if wrong else 0


def _describe(finding: Finding, output: TextOutput) -> list[str]:
    origin = to_printable(f" of {finding.distribution} {finding.version}".rstrip()) if finding.distribution else ""
    seconds = "" if finding.seconds is None else f", loaded in {finding.seconds:.2f} s"
    first, *more = map(to_printable, finding.reason.splitlines() or [""])
    reason = f": {first}" if first else ""
    text = f"{finding.kind} {finding.name!r}{origin}{seconds}{reason}"
    outcome, indent = output.paint(f"{finding.outcome:<9}", style_of(finding.outcome)), " " * 11
    if output.width is None:
        lines = [f"{outcome}  {text}", *(f"{indent}{line}" for line in more)]
    else:
        head, *rest = output.wrap(text, indent, f"{indent}  ")
        lines = [f"{outcome}  {head.removeprefix(indent)}", *rest]
        lines += [part for line in more for part in output.wrap(line, indent, f"{indent}  ")]
    for note in finding.notes:
        for number, line in enumerate(note.splitlines()):
            shown = to_printable(line)
            lines += output.wrap(f"  {shown}" if number else f"note: {shown}", indent, f"{indent}  ")
    lines += [f"{indent}| {to_printable(line)}" for line in finding.output.splitlines()]
    return lines
