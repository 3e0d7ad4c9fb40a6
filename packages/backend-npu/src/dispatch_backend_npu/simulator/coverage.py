"""What has been shown of every function that the backend calls, as the table of ``docs/npu.md``.

>>> print(table().splitlines()[0])
| function | library | ABI checked | simulated | run on hardware |
"""

from __future__ import annotations

import re

from ..acl.prototypes import OPERATORS, prototypes
from ..aclnn.table import PROTOTYPES
from .build import SOURCES
from .generate import read

__all__ = ["simulated", "table"]

#: Functions that have run on a device, by name. So far there are none.
ON_HARDWARE: frozenset[str] = frozenset()


def simulated() -> set[str]:
    """Give the names of the functions that the simulator has; an operator's name stands for both of its phases."""
    text = "".join(path.read_text() for path in sorted(SOURCES.glob("*.c")))
    return {*re.findall(r"\bacl\w+", text), *(operator.name for operator in read())}


def table() -> str:
    """Give one line for each function that the backend calls, operators by their name.

    The ABI is checked by the tests of the package, which compare the backend's prototypes and the simulator's with those
    of the toolkit's headers.
    """
    rows = [(name, row.library) for name, row in prototypes().items()]
    rows += [(f"{name}`, `{name}GetWorkspaceSize", OPERATORS) for name in PROTOTYPES]
    there = simulated()
    lines = ["| function | library | ABI checked | simulated | run on hardware |", "| --- | --- | --- | --- | --- |"]
    for names, library in rows:
        name = names.partition("`")[0]
        seen = ["yes" if name in known else "no" for known in (there, ON_HARDWARE)]
        lines.append(f"| `{names}` | {library} | yes | {seen[0]} | {seen[1]} |")
    return "\n".join(lines)
