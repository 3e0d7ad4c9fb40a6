"""Examples of functions, by their names under ``torchlike``; ``examples.txt`` has them, and the tests run them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType


@cache
def read_examples() -> Mapping[str, str]:
    """Return every example by the name of its function: ``add``, ``linalg.svd``, ``Tensor.add_``."""
    text = files(__package__).joinpath("examples.txt").read_text(encoding="utf-8")
    found = re.findall(r"^# (\S+)\n((?:.+\n)+)", text, re.MULTILINE)
    return MappingProxyType({name: example.rstrip() for name, example in found})


def example_of(name: str) -> str:
    """Return the example of a function as text that ``doctest`` runs, "" where there is none.

    >>> example_of("relu").splitlines()[-1]
    'tensor([0., 0., 2.])'
    """
    example = read_examples().get(name)
    return "" if example is None else f">>> import torchlike\n{example}"
