"""Alternatives: further implementations of a device's operators, and which of them are on.

A provider's kernels stand under a key of their own (Note [Alternatives] in `keys.table`), so that switching them on is
to include a key: nothing is registered, and calls elsewhere are as they were. A context manager includes keys for its
thread or task, and ``DISPATCH_KERNELS`` for all: these are no part of the context's masks, which cost a look in every
call, but of each table's entries, and contexts may exclude them.
Of several for one device the one that was switched on last stands highest.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Self

from ..bookkeeping.changes import on_refresh
from ..discovery import loader
from ..errors import ArgumentError, short_repr
from ..lazy_text import fit_line
from ..tracebacks import api_boundary
from . import context
from .table import DispatchKey, alternative_key, alternatives, keys_of

#: The environment variable that switches providers on for the whole process.
VARIABLE: Final = "DISPATCH_KERNELS"
#: Whether the variable has been read.
_is_read: Final = [False]


def included_mask() -> int:
    """Return the keys that every call of the process includes, loading their providers at the first need.

    Raises ``BackendError`` once for those that cannot be loaded; the others are on.
    """
    if not _is_read[0]:
        if os.environ.get(VARIABLE, "").strip():
            loader().kernels.include()
        else:
            _is_read[0] = True
    return context.process_mask[0]


def is_included() -> bool:
    """Return whether the variable was read, and its providers are included."""
    return _is_read[0]


def include_everywhere(keys: Iterable[DispatchKey]) -> None:
    """Include the keys of providers, the highest first, in every call of the process."""
    context.process_mask[0] = _stack(keys)
    _is_read[0] = True


@on_refresh
def _read_again() -> None:
    _is_read[0], context.process_mask[0] = False, 0


def _stack(keys: Iterable[DispatchKey]) -> int:
    """Return the mask of providers' keys, the highest first, each at its place above its device."""
    mask = 0
    places: dict[DispatchKey, int] = {}
    for key in reversed(list(keys)):
        assert key.target is not None
        place = places[key.target] = places.get(key.target, -1) + 1
        mask |= alternative_key(key.name.removeprefix(f"{key.target.name}_"), key.target, place)
    return mask


@lru_cache(maxsize=512)
def _find_state(
    state: context.State | None, keys: tuple[DispatchKey, ...], everywhere: int, *, only: bool
) -> context.State | None:
    """Return the masks of a context in which ``keys`` are switched on, in front of those that are on under ``state``."""
    included, excluded = state or (0, 0)
    on = (everywhere | included) & ~excluded & alternatives[0]
    others = () if only else [key.registered_as for key in keys_of(on)]
    mask = _stack(dict.fromkeys([*keys, *others]))
    rest = ~alternatives[0]
    included, excluded = included & rest | mask, excluded & rest | everywhere & ~mask
    # Calls without masks are the quickest.
    return context.intern_state(included, excluded) if included or excluded else None


class use_kernels(context.MaskGuard):  # noqa: N801  # a context manager is spelled like a function
    """Use other distributions' kernels in this thread or task while the block runs; the names are those of `list`.

    They stand above the kernels of their devices' backends and below the program's own; the first name stands above the
    others, and above those of the blocks around. With ``only`` there are no others: ``use_kernels(only=True)`` uses the
    backends' kernels. Raises ``BackendNotFoundError`` for a name that no installed distribution provides, and
    ``BackendError`` where its provider was refused or failed.

    >>> with use_kernels(only=True):
    ...     pass
    """

    __slots__ = ("_keys", "_only")

    def __repr__(self) -> str:
        return fit_line(f"use_kernels({', '.join([*(key.label for key in self._keys), f'only={self._only}'])})")

    @api_boundary
    def __init__(self, *names: str, only: bool = False) -> None:
        for name in names:
            if not isinstance(name, str):
                raise ArgumentError(
                    f"expected the names of providers of kernels, not {short_repr(name)}",
                    hint="python -m dispatch_core list shows them",
                )
        self._keys = tuple(loader().kernels.ensure(name) for name in dict.fromkeys(names))
        self._only = only
        self._tokens = None

    def __enter__(self) -> Self:
        own = _find_state(context.current(), self._keys, included_mask(), only=self._only)
        outer = self._tokens
        try:
            self._tokens = (context.set_state[own], outer)
            return self
        except BaseException:
            self._leave(outer)
            raise
