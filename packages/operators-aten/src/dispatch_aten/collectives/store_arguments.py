"""What a store takes as keys, values and numbers."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index

__all__ = ["as_text", "check_key", "check_keys", "check_number"]


def check_key(key: str) -> str:
    """Return a key; raises ``TypeError`` for one that is no text."""
    if not isinstance(key, str):
        raise TypeError(f"expected a str as the key, not {key!r}")
    return key


def check_keys(keys: Iterable[str]) -> list[str]:
    """Return keys; raises ``TypeError`` for those that are no text, or one text."""
    if isinstance(keys, str | bytes):
        raise TypeError(f"expected a list of keys, not {keys!r}")
    return [check_key(each) for each in keys]


def check_number(what: str, number: int, known: range | None = None) -> int:
    """Return a number; raises ``TypeError`` for one that is no int, ``ValueError`` for one that is not among the known."""
    try:
        found = index(number)
    except TypeError:
        raise TypeError(f"expected an int as the {what}, not {number!r}") from None
    if known is not None and found not in known:
        raise ValueError(f"the {what} is {found}, and not from {known[0]} to {known[-1]}")
    return found


def as_text(value: str | bytes) -> str:
    """Return a value as text of its bytes' numbers; raises ``TypeError`` for one that is neither text nor bytes."""
    if not isinstance(value, str | bytes | bytearray | memoryview):
        raise TypeError(f"expected a str or bytes as the value, not {value!r}")
    return (value.encode() if isinstance(value, str) else bytes(value)).decode("latin-1")
