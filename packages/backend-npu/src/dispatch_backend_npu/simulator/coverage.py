"""The checks that every function of the toolkit has passed, as the table of ``docs/npu.md``.

>>> print(table().splitlines()[0])
| function | library | ABI checked | simulated | ran on a chip |
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from ..acl.prototypes import OPERATORS, prototypes
from ..aclnn.table import PROTOTYPES
from .compilation import SOURCES
from .generate import read

#: A row for each function that has run on a chip: its name, the chips and the toolkits' releases.
#: ``tools/record_npu_runs.py`` writes it, of the reports of ``python -m dispatch_backend_npu check``.
RUNS = Path(__file__).parents[1] / "check" / "runs.csv"


def read_runs() -> dict[str, str]:
    """Return the chips that each function has run on, with the toolkit's release, as one text."""
    with RUNS.open(encoding="utf-8", newline="") as file:
        return {row["function"]: row["chips"] for row in csv.DictReader(file)}


def simulated_functions() -> set[str]:
    """Return the names of the functions that the simulator has; an operator's name represents both of its phases."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.c")))
    return {*re.findall(r"\b(?:acl|Hccl)\w+", text), *(operator.name for operator in read())}


def table() -> str:
    """Return a table with a line for each function that the backend calls, operators by their name.

    The ABI is checked by the tests of the package, which compare the backend's prototypes and the simulator's with those
    of the toolkit's headers.
    """
    rows = [(name, row.library) for name, row in prototypes().items()]
    rows += [(f"{name}`, `{name}GetWorkspaceSize", OPERATORS) for name in PROTOTYPES]
    simulated, runs = simulated_functions(), read_runs()
    lines = ["| function | library | ABI checked | simulated | ran on a chip |", "| --- | --- | --- | --- | --- |"]
    for names, library in rows:
        name = names.partition("`")[0]
        is_simulated = "yes" if name in simulated else "no"
        lines.append(f"| `{names}` | {library} | yes | {is_simulated} | {runs.get(name, 'no')} |")
    return "\n".join(lines)
