"""Keys of dicts and elements of sets from files: small, so that their hashes are computed in bounded time and stack."""

from __future__ import annotations

from typing import Any, Final

#: How many parts a key may have, those that are met again counted again: Python hashes them each time, by recursion.
_MOST: Final = 10_000


def check_key(value: Any) -> Any:
    """Return a value whose hash may be asked for; raises ``ValueError`` for tuples of more than ten thousand parts.

    >>> check_key(("a", (1, 2)))
    ('a', (1, 2))
    """
    left, count = [value], 0
    while left:
        each = left.pop()
        if isinstance(each, (tuple, frozenset)):
            count += 1 + len(each)
            if count > _MOST:
                raise ValueError(f"a key has more than {_MOST} parts")
            left.extend(each)
    return value
