"""Puts reports of the first run on a chip into the table of ``docs/npu.md``.

python tools/record_npu_runs.py npu-check.json...   # the files that ``python -m dispatch_backend_npu check`` has written

A function that has run is added to ``dispatch_backend_npu/check/runs.csv`` with the chip and the toolkit's release; what is
there already stays. A report of the simulator, or of no chip, is refused, and so is a file that is no report.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any, Final

from dispatch_backend_npu.acl.prototypes import prototypes
from dispatch_backend_npu.aclnn.table import PROTOTYPES
from dispatch_backend_npu.check.report import FORMAT
from dispatch_backend_npu.simulator import coverage

DOCUMENT: Final = Path(__file__).parents[1] / "docs" / "npu.md"
_NAME: Final = re.compile(r"[\w.+-]+")
_FORMAT: Final = "dispatch-backend-npu check"


class RefusedReportError(Exception):
    """A report that says nothing about a chip; the text says why."""


def read_report(path: Path) -> tuple[str, list[str]]:
    """Return the chip with the toolkit's release, and the functions that have run on it.

    Raises ``RefusedReportError``.
    """
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != _FORMAT:
            raise KeyError("format")
        version, device, place = found["version"], found["device"], found["environment"]["toolkit"]
        functions = [str(name) for name in found["functions"]]
        chip, count = str(device.get("chip", "")), device.get("count", 0)
        is_simulated, release = place.get("simulator", True), str(place.get("release") or "unknown")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RefusedReportError(f"{path}: it is no report of a check ({type(error).__name__}: {error})") from error
    if version != FORMAT:
        raise RefusedReportError(f"{path}: the report has version {version}, this tool reads {FORMAT}")
    if is_simulated or "simulator" in chip:
        raise RefusedReportError(f"{path}: the simulator has run, and no chip")
    if not chip or not count:
        raise RefusedReportError(f"{path}: no chip was opened")
    if not _NAME.fullmatch(chip) or not _NAME.fullmatch(release):
        raise RefusedReportError(f"{path}: the names of chip and release have other signs than those of names")
    return f"{chip} (CANN {release})", functions


def merge(runs: dict[str, str], reports: list[tuple[str, list[str]]]) -> dict[str, str]:
    """Return the chips of each function, with those of the reports, in the order of the table; unknown names are left out.

    >>> merge({"aclnnAdd": "A (CANN 8.1)"}, [("B (CANN 8.2)", ["aclnnAdd", "aclnnFly"])])
    {'aclnnAdd': 'A (CANN 8.1), B (CANN 8.2)'}
    """
    chips = {name: set(text.split(", ")) for name, text in runs.items()}
    for chip, functions in reports:
        for name in functions:
            chips.setdefault(name, set()).add(chip)
    known = [name for name in (*prototypes(), *PROTOTYPES) if name in chips]
    return {name: ", ".join(sorted(chips[name])) for name in known}


def write(runs: dict[str, str], table: Path, document: Path) -> None:
    """Write the table of runs, and the table of the document that is made of it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("function", "chips"))
    writer.writerows(runs.items())
    table.write_text(text.getvalue(), encoding="utf-8")
    lines = document.read_text(encoding="utf-8").splitlines()
    made = coverage.table().splitlines()
    begin = lines.index(made[0])
    end = next((index for index in range(begin, len(lines)) if not lines[index].startswith("|")), len(lines))
    document.write_text("\n".join([*lines[:begin], *made, *lines[end:]]) + "\n", encoding="utf-8")


def main(paths: list[str]) -> int:
    """Read all reports, and write both tables unless one is refused; return the exit status."""
    try:
        reports = [read_report(Path(path)) for path in paths]
    except RefusedReportError as error:
        sys.stderr.write(f"{error}; nothing is written\n")
        return 1
    before = coverage.read_runs()
    runs = merge(before, reports)
    write(runs, coverage.RUNS, DOCUMENT)
    chips = ", ".join(sorted({chip for chip, _ in reports}))
    sys.stdout.write(f"{chips}: {len(runs):,} functions have run on a chip, {len(before):,} before\n")
    return 0


if __name__ == "__main__":
    if not sys.argv[1:]:
        raise SystemExit(__doc__)
    raise SystemExit(main(sys.argv[1:]))
