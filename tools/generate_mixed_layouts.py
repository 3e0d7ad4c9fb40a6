"""Writes ``torchlike/sparse/mixed_layouts.py``: which layouts of arguments torch computes with.

PYTHONPATH=FOLDER_OF_TORCH python tools/generate_mixed_layouts.py           # writes the module
PYTHONPATH=FOLDER_OF_TORCH python tools/generate_mixed_layouts.py --check   # fails where it is out of date

Each operator is called with small tensors of every combination of layouts.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from pathlib import Path
from typing import Any

import torch

MODULE = Path(__file__).parent.parent / "packages/frontend-torchlike/src/torchlike/sparse/mixed_layouts.py"
#: The operators with rules for sparse tensors that take more than one tensor.
ELEMENT_WISE = "add sub mul div floor_divide add_ sub_ mul_ div_".split()
OTHERS = {"copy_": ((2, 2), (2, 2)), "mm": ((2, 2), (2, 2)), "mv": ((2, 2), (2,)), "addmm": ((2, 2), (2, 2), (2, 2))}
HEAD = '''\
"""Which layouts of arguments torch {version} computes with, by ``tools/generate_mixed_layouts.py``.

The letters are those of an operator's tensors in their order: ``s`` for a sparse one, ``d`` for a strided one, ``0`` for a
strided one without dimensions. All other combinations with a sparse tensor are refused.
"""

from __future__ import annotations

from typing import Final

#: The version of torch that was asked.
VERSION: Final = "{version}"
#: Operator → the layouts of its tensors, each with that of the result.
RESULTS: Final = {{
{results}}}
'''


def make(letter: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Return a tensor of the layout that a letter stands for."""
    made = torch.ones(() if letter == "0" else shape)
    return made.to_sparse() if letter == "s" else made


def probe(name: str, shapes: tuple[tuple[int, ...], ...], letters: str) -> dict[str, str]:
    """Return the layouts of results for all combinations with a sparse tensor that are computed."""
    packet = getattr(torch.ops.aten, name)
    op: Any = packet.Tensor if "Tensor" in packet.overloads() else packet.default
    results = {}
    for combination in itertools.product(letters, repeat=len(shapes)):
        layouts = "".join(combination)
        if "s" in layouts:
            with contextlib.suppress(RuntimeError):  # NotImplementedError is one
                found = op(*[make(*pair) for pair in zip(combination, shapes, strict=True)])
                results[layouts] = str(found.layout).removeprefix("torch.")
    return results


def write() -> str:
    """Return the text of the module."""
    rows = {f"{name}.Tensor" if name != "floor_divide" else name: ((2, 2), (2, 2)) for name in ELEMENT_WISE}
    text = ""
    for name, shapes in {**rows, **OTHERS}.items():
        found = probe(name.partition(".")[0], shapes, "sd0" if name in rows else "sd")
        items = ", ".join(f'"{layouts}": "{layout}"' for layouts, layout in found.items())
        text += f'    "{name}": {{{items}}},\n'
    return HEAD.format(version=torch.__version__.partition("+")[0], results=text)


def main() -> None:
    """Write the module, or compare it."""
    text = write()
    if "--check" in sys.argv[1:]:
        sys.exit(MODULE.read_text() != text and f"{MODULE} is out of date: python tools/generate_mixed_layouts.py")
    MODULE.write_text(text)


if __name__ == "__main__":
    main()
