"""Facts about torch's functions that may be overridden, of torch 2.13, by ``tools/record_overridable.py``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple, cast

_ENTRY: Final = re.compile(r"(\S+?)(?:\(([^|]*)\|([^|]*)\|([^)]*)\))?(?:\s+|$)")

#: Methods that hand their calls on, though torch leaves them out of its list.
UNLISTED: Final = "new_empty new_empty_strided new_full new_ones new_tensor new_zeros stride to_sparse_coo unflatten"


class PythonFunction(NamedTuple):
    """How a function that is Python in torch hands on its arguments."""

    #: The arguments whose classes are asked; one that begins with a star is a list of them.
    asked: tuple[str, ...]
    positional: tuple[str, ...]
    named: tuple[str, ...]


@lru_cache(maxsize=1)
def read() -> dict[str, dict[str, PythonFunction | None]]:
    """Return for each namespace the functions that may be overridden, and how they hand on arguments where that is known."""
    from pkgutil import get_data  # few programs override functions

    data = cast("bytes", get_data("torchlike.overriding", "overridable.txt"))
    found: dict[str, dict[str, PythonFunction | None]] = {}
    for name, text in re.findall(r"^\[([^\]]+)\]\n([^\[]*)", data.decode(), re.MULTILINE):
        section = found[name] = {}
        for each in _ENTRY.finditer(text):
            word, asked, positional, named = each.groups()
            is_plain = asked is None or "**" in named
            section[word] = (
                None if is_plain else PythonFunction(*(tuple(part.split()) for part in (asked, positional, named)))
            )
    return found
