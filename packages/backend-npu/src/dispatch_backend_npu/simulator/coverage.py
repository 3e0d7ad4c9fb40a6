"""The checks that every function of the toolkit has passed, as the table of ``docs/npu.md``.

>>> print(table().splitlines()[0])
| function | library | ABI checked | simulated | run on hardware |
"""

from __future__ import annotations

import re

from ..acl.prototypes import OPERATORS, prototypes
from ..aclnn.table import PROTOTYPES
from .compilation import SOURCES
from .generate import read

#: Functions that have run on a device, by name. So far there are none.
ON_HARDWARE: frozenset[str] = frozenset()


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
    simulated = simulated_functions()
    lines = ["| function | library | ABI checked | simulated | run on hardware |", "| --- | --- | --- | --- | --- |"]
    for names, library in rows:
        name = names.partition("`")[0]
        answers = ["yes" if name in known else "no" for known in (simulated, ON_HARDWARE)]
        lines.append(f"| `{names}` | {library} | yes | {answers[0]} | {answers[1]} |")
    return "\n".join(lines)
