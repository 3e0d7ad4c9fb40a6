"""Writes ``torchlike/shells/torch_operators.txt``: torch's operators that have no counterpart here, with their overloads.

python tools/record_absent_operators.py           # where torch is installed: writes the table
python tools/record_absent_operators.py --check   # fails where it is out of date
"""

from __future__ import annotations

import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Final

import torch

import dispatch_core as dc

TABLE: Final = Path(__file__).parent.parent / "packages/frontend-torchlike/src/torchlike/shells/torch_operators.txt"
HEAD: Final = """\
Operators aten:: of torch {version} that are not ours, with the overloads beside "default" in parentheses, by
tools/record_absent_operators.py; `operators` reads it.
"""


def table() -> str:
    """Return the table's text."""
    overloads: dict[str, list[str]] = defaultdict(list)
    for each in torch._C._dispatch_get_all_op_names():
        namespace, _, rest = each.partition("::")
        name, _, overload = rest.partition(".")
        if namespace == "aten" and not hasattr(dc.ops.aten, name):
            overloads[name].append(overload or "default")
    words = [
        f"{name}({','.join(sorted(found))})" if found != ["default"] else name for name, found in overloads.items()
    ]
    lines = textwrap.wrap(" ".join(sorted(words)), 124, break_long_words=False, break_on_hyphens=False)
    return HEAD.format(version=torch.__version__.partition("+")[0]) + "\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = table()
    if "--check" in sys.argv[1:]:
        if TABLE.read_text(encoding="utf-8") != text:
            sys.exit(f"{TABLE} is out of date: run python tools/record_absent_operators.py")
    else:
        TABLE.write_text(text, encoding="utf-8")
