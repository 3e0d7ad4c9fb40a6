"""The public names of torch 2.13, by namespace, as ``torch_names.txt`` lists them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final


def _read() -> Mapping[str, frozenset[str]]:
    text = Path(__file__).with_name("torch_names.txt").read_text(encoding="utf-8")
    found = re.findall(r"^\[(.+)\]\n([^\[]*)", text, re.MULTILINE)
    return MappingProxyType({namespace: frozenset(names.split()) for namespace, names in found})


TORCH_NAMES: Final = _read()
"""Namespace (``"torch"``, ``"Tensor"``, ``"nn.functional"``, …) → torch's public names in it.

>>> "relu" in TORCH_NAMES["torch"], "gelu" in TORCH_NAMES["torch"], "gelu" in TORCH_NAMES["nn.functional"]
(True, False, True)
"""
