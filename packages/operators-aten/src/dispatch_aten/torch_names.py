"""The public names of torch 2.13, by namespace, as ``torch_names.txt`` lists them, first those that torch documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

__all__ = ["TORCH_NAMES", "is_documented"]


def _read() -> Iterator[tuple[str, bool, frozenset[str]]]:
    """Yield each namespace with the names in it that have a page of torch's documentation, and with those that have none."""
    # By the loader, which reads archives, too, and needs no `pathlib`, whose import takes longer than this.
    data: bytes = cast("Any", __spec__).loader.get_data(f"{__file__.rpartition('.')[0]}.txt")
    for namespace, no_page, names in re.findall(r"^\[([^:\]]+)(: no page)?\]\n([^\[]*)", data.decode(), re.MULTILINE):
        yield namespace, not no_page, frozenset(names.split())


_NAMES: Final = [*_read()]
_DOCUMENTED: Final = {namespace: names for namespace, has_page, names in _NAMES if has_page}

TORCH_NAMES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        namespace: names if has_page else names | _DOCUMENTED.get(namespace, frozenset())
        for namespace, has_page, names in _NAMES
    }
)
"""Namespace (``"torch"``, ``"Tensor"``, ``"nn.functional"``, …) → torch's public names in it.

>>> "relu" in TORCH_NAMES["torch"], "gelu" in TORCH_NAMES["torch"], "gelu" in TORCH_NAMES["nn.functional"]
(True, False, True)
"""


def is_documented(namespace: str, name: str) -> bool:
    """Return whether torch's documentation has a page about a name.

    >>> is_documented("torch", "add"), is_documented("torch", "abs_")
    (True, False)
    """
    return name in _DOCUMENTED.get(namespace, ())
