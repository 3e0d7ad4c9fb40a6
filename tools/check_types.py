"""Checks programs with mypy and pyright: correct ones have no error, and every planted mistake is found on its line.

python tools/check_types.py [FOLDER]   # tests/typing by default

A line that ends in ``# error`` holds a mistake. mypy and pyright must each report an error on that line, and on no other.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

#: File → the lines on which a checker reports an error, with its text.
Reports = dict[Path, dict[int, str]]

_MYPY_LINE: Final = re.compile(r"^(.+?):(\d+): error: (.*)$", re.MULTILINE)


def _run(*command: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def run_mypy(folder: Path) -> Reports:
    """Return mypy's errors, as strict as it can be, and with the installed packages as users have them."""
    found: Reports = {}
    options = ("--strict", "--config-file=", "--no-incremental", "--hide-error-context", "--no-pretty")
    for name, line, text in _MYPY_LINE.findall(_run("mypy", *options, "correct", "mistakes", folder=folder)):
        found.setdefault(folder / name, {})[int(line)] = text
    return found


def run_pyright(folder: Path) -> Reports:
    """Return pyright's errors by the settings in the folder."""
    found: Reports = {}
    report = json.loads(_run("pyright", "--outputjson", "--pythonpath", sys.executable, folder=folder))
    for each in report["generalDiagnostics"]:
        if each["severity"] == "error":
            lines = found.setdefault(Path(each["file"]), {})
            lines[each["range"]["start"]["line"] + 1] = each["message"].replace("\n", " ")
    return found


CHECKERS: Final[dict[str, Callable[[Path], Reports]]] = {"mypy": run_mypy, "pyright": run_pyright}


def compare(folder: Path) -> tuple[int, list[str]]:
    """Return how many mistakes are planted, and what a checker did not find or took for a mistake."""
    count, faults = 0, []
    reports = {name: check(folder) for name, check in CHECKERS.items()}
    for path in sorted(folder.glob("*/*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        planted = {number for number, line in enumerate(lines, 1) if line.endswith("# error")}
        count += len(planted)
        for name, report in reports.items():
            found = report.get(path, {})
            faults += [
                f"{path}:{line}: {name} finds no mistake: {lines[line - 1]}" for line in sorted(planted - {*found})
            ]
            faults += [f"{path}:{line}: {name}: {found[line]}" for line in sorted({*found} - planted)]
    return count, faults


def main() -> None:
    """Print what differs, and fail if anything does."""
    folder = Path(*sys.argv[1:2] or [Path(__file__).parents[1] / "tests" / "typing"]).resolve()
    count, faults = compare(folder)
    if faults or not count:
        sys.exit("\n".join([*faults, f"{len(faults)} differences for {count} planted mistakes"]))
    sys.stdout.write(f"{count} planted mistakes found by {' and '.join(CHECKERS)}, no false alarm\n")


if __name__ == "__main__":
    main()
