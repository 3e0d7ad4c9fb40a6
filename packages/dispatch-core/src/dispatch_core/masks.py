"""The context's masks: keys that every call in this thread or task includes or excludes.

Note [Masks are per context]
    The state is one immutable pair (include, exclude) in a ContextVar, or None when nothing is masked: right for threads,
    which start with none, and for asyncio tasks, which do not see each other's. A call reads it once.
    It holds keys only: a keyset that a kernel was given carries its frontend's marker, which is nothing to mask.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, Self

from .keys import MARKERS
from .keyset import DispatchKeySet, KeyLike, KeysetLike, as_mask, removal_mask

__all__ = ["apply_masks", "exclude_keys", "include_keys"]

#: (include, exclude), as masks.
State = tuple[int, int]
_state: Final[ContextVar[State | None]] = ContextVar("dispatch_core.masks", default=None)
current = _state.get


class _Guard:
    """Hold keys in the context's masks while a ``with`` block runs; the same guard may be entered again inside itself."""

    __slots__ = ("_exclude", "_include", "_tokens")

    def __init__(self, include: int, exclude: int) -> None:
        self._include, self._exclude = include, exclude
        self._tokens: list[Token[State | None]] = []

    def __enter__(self) -> Self:
        state = _state.get()
        if state is None:
            self._tokens.append(_state.set((self._include, self._exclude)))
        else:
            self._tokens.append(_state.set((state[0] | self._include, state[1] | self._exclude)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _state.reset(self._tokens.pop())


@lru_cache(maxsize=512, typed=True)
def _included(*keys: KeyLike | KeysetLike) -> int:
    mask = 0
    for key in keys:
        mask |= as_mask(key)
    return mask & ~MARKERS


@lru_cache(maxsize=512, typed=True)
def _excluded(*keys: KeyLike | KeysetLike) -> int:
    mask = 0
    for key in keys:
        mask |= removal_mask(key)
    return mask & ~MARKERS


def _remembered(find: Any, keys: tuple[Any, ...]) -> int:
    """Return the mask for ``keys``, found once: what a key or a name stands for never changes."""
    try:
        return find(*keys)
    except TypeError:
        pass  # A list cannot be remembered; and what is no key at all is refused below.
    return find.__wrapped__(*keys)


class include_keys(_Guard):  # noqa: N801  # a context manager is spelled like a function
    """Add keys to every call in this thread or task while the block runs.

    Takes keys, names, keysets or masks. Raises ``DispatchKeyError`` for unknown ones.

    >>> with include_keys("Profiler"):
    ...     apply_masks(DispatchKeySet(["CPU"]))
    DispatchKeySet(Profiler, CPU)
    """

    __slots__ = ()

    def __init__(self, *keys: KeyLike | KeysetLike) -> None:
        super().__init__(_remembered(_included, keys), 0)


class exclude_keys(_Guard):  # noqa: N801  # a context manager is spelled like a function
    """Take keys out of every call in this thread or task while the block runs; exclusion beats inclusion.

    Excluding a key excludes that key alone; excluding the alias Autograd excludes every Autograd key, of backends that
    register later too.

    >>> with exclude_keys("CPU"):
    ...     apply_masks(DispatchKeySet(["CPU", "Meta"]))
    DispatchKeySet(Meta)
    """

    __slots__ = ()

    def __init__(self, *keys: KeyLike | KeysetLike) -> None:
        super().__init__(0, _remembered(_excluded, keys))


def apply_masks(keyset: KeysetLike) -> DispatchKeySet:
    """Return (``keyset`` with the included keys) without the excluded ones.

    >>> apply_masks("CPU")
    DispatchKeySet(CPU)
    """
    return DispatchKeySet(masked(as_mask(keyset)))


def masked(mask: int) -> int:
    """Apply the context's masks to ``mask``."""
    state = _state.get()
    if state is None:
        return mask
    mask |= state[0]
    return mask ^ (mask & state[1])


def unexcluded(mask: int) -> int:
    """Take the context's excluded keys out of ``mask``, adding nothing."""
    state = _state.get()
    return mask if state is None else mask ^ (mask & state[1])
