"""The report of a run as data for JSON, without names of users, machines and folders."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from dispatch_aten.testing.outcomes import Outcome
from dispatch_core.files import write_text

from .cells import function_of
from .privacy import Privacy
from .running import PARTS, CheckRun, part_of

FORMAT: Final = 1
"""The version of the report's form, ``version`` in the file."""


def as_data(run: CheckRun, privacy: Privacy) -> dict[str, Any]:
    """Return a run for JSON."""
    counts = {part: dict(Counter(outcome.status for outcome in run.of_part(part))) for part in PARTS}
    return {
        "format": "dispatch-backend-npu check",
        "version": FORMAT,
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(run.seconds, 1),
        "stopped": run.is_stopped,
        "options": run.options,
        "environment": privacy.clean_data(run.environment, has_addresses=False),
        "device": privacy.clean_data(run.device, has_addresses=False),
        "counts": counts,
        "failed": [privacy.clean_data(_describe(outcome)) for outcome in run.faults],
        "checks": [
            privacy.clean_data({"check": each.check, "status": each.status, "reason": each.reason})
            for each in run.outcomes
            if part_of(each) != "operators"
        ],
        "operators": _describe_operators(run),
        "functions": sorted({name for each in run.outcomes if each.status == "passed" for name in each.kernels}),
    }


def _describe(outcome: Outcome) -> dict[str, Any]:
    fields = {"check": outcome.check, "reason": outcome.reason, "place": outcome.place}
    return fields | {"functions": list(outcome.kernels)}


def _describe_operators(run: CheckRun) -> dict[str, dict[str, Any]]:
    """Return for each operator the function of its row, and for each dtype how it was computed, or its status."""
    found: dict[str, dict[str, Any]] = {}
    for outcome in run.of_part("operators"):
        if outcome.check == "operators: all":
            continue
        operator, _, dtype = outcome.check.partition(": ")[2].rpartition(" ")
        function = function_of(operator)
        entry = found.setdefault(operator, {"function": function, "dtypes": {}})
        entry["dtypes"][dtype] = describe_cell(outcome, function)
    return found


def describe_cell(outcome: Outcome, function: str) -> str:
    """Return how a cell was computed: "kernel", "parts", "host" or "view"; its status where it did not pass.

    >>> describe_cell(Outcome("operators: neg int8", "passed", kernels=("aclnnNeg",)), "aclnnNeg")
    'kernel'
    """
    if outcome.status != "passed":
        return outcome.status
    if outcome.kernel == "host":
        return "host"
    if not outcome.kernels:
        return "view"
    return "kernel" if not function or function in outcome.kernels else "parts"


def write_report(run: CheckRun, path: Path) -> int:
    """Write the report to a file, and return its size in bytes. Raises ``OSError``."""
    text = json.dumps(as_data(run, Privacy.of_this_machine()), indent=1, ensure_ascii=False) + "\n"
    write_text(path, text)
    return len(text.encode())
