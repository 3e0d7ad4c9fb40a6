"""The context's masks: keys that every call in this thread or task includes or excludes.

The state is one immutable pair (include, exclude) in a ContextVar, or None when nothing is masked: right for threads,
which start with none, and for asyncio tasks, which do not see each other's. A call reads it once.
It holds keys only: a keyset that a kernel was given carries its frontend's marker, which is nothing to mask.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, Self

from ..caches import keep
from ..interrupts import Guard, by_subscript, whole
from ..lazy_text import fit_line
from ..tracebacks import api_boundary, trim_traceback
from .keyset import DispatchKeySet, KeyLike, KeysetLike, as_mask, removal_mask
from .table import MARKERS

#: (include, exclude), as masks.
State = tuple[int, int]
_state: Final[ContextVar[State | None]] = ContextVar("dispatch_core.keys.context", default=None)
current = _state.get
#: The keys that every call of the process includes, unless its context excludes them: see `switched_on`.
process_mask: Final = [0]
#: Sets the state by subscript; see Note [Where an interrupt falls] in `interrupts`.
set_state: Final = by_subscript(_state.set)
reset_state: Final = _state.reset


class MaskGuard(Guard):
    """Give the context the masks that it had before a ``with`` block, when that ends."""

    __slots__ = ()

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            token, self._tokens = self._tokens  # type: ignore[misc]  # a guard that is left was entered
            reset_state(token)
        except BaseException:
            # The interrupt may have come first.
            self._finish(locals().get("token"))
            raise


class _Guard(MaskGuard):
    """Hold keys in the context's masks while a ``with`` block runs; the same guard may be entered again inside itself."""

    __slots__ = ("_own",)

    #: The state where nothing else is masked.
    _own: State

    def __repr__(self) -> str:
        included, excluded = self._own
        return fit_line(
            f"{type(self).__name__}({', '.join(key.label for key in DispatchKeySet(included or excluded))})"
        )

    def __enter__(self) -> Self:
        own, state, outer = self._own, current(), self._tokens
        if state is not None:
            own = (state[0] | own[0], state[1] | own[1])
        try:
            self._tokens = (set_state[own], outer)
            return self
        except BaseException:
            self._leave(outer)
            raise


_KEPT: Final = 512


#: The states of which the code of calls may know.
_in_code: Final[set[State]] = set()
_CODE_STATES: Final = 64


def keep_in_code(state: State) -> None:
    """Write a state into the code of calls: it runs a backend's kernel itself there.

    For states that many calls are made in; past a number of them the others do without.
    """
    if len(_in_code) < _CODE_STATES:
        _in_code.add(state)


def is_kept_in_code(state: State) -> bool:
    """Return whether the code of calls may know of a state."""
    return state in _in_code


def with_included(mask: int) -> State:
    """Return the context's state with the keys of ``mask`` included, as one object for equal states.

    Calls that are compiled for a state compare it by identity.
    """
    state = current()
    return intern_state(mask, 0) if state is None else intern_state(state[0] | mask, state[1])


def without_included(mask: int) -> State | None:
    """Return the context's state without the keys of ``mask`` among the included ones; None where nothing is left."""
    state = current()
    if state is None:
        return None
    included, excluded = state[0] & ~mask, state[1]
    return intern_state(included, excluded) if included or excluded else None


@lru_cache(maxsize=_KEPT)
def intern_state(included: int, excluded: int) -> State:
    """Return the state of two masks, as one object for equal ones."""
    return included, excluded


@lru_cache(maxsize=_KEPT, typed=True)
def _find_included(*keys: KeyLike | KeysetLike) -> State:
    mask = 0
    for key in keys:
        mask |= as_mask(key)
    return mask & ~MARKERS, 0


@lru_cache(maxsize=_KEPT, typed=True)
def _find_excluded(*keys: KeyLike | KeysetLike) -> State:
    mask = 0
    for key in keys:
        mask |= removal_mask(key)
    return 0, mask & ~MARKERS


#: The states of guards made of names alone. Keys and masks are not looked up here: they equal numbers of other types.
_INCLUDED_NAMES: Final[dict[tuple[Any, ...], State]] = {}
_EXCLUDED_NAMES: Final[dict[tuple[Any, ...], State]] = {}


def _find_state(find: Callable[..., State], keys: tuple[Any, ...], names: dict[tuple[Any, ...], State]) -> State:
    """Return the state of a guard made of ``keys``, found once: the meaning of a key or a name never changes."""
    try:
        found = find(*keys)
    except TypeError:
        pass  # A list cannot be a key of the cache; and objects that are no dispatch keys are refused below.
    except Exception as error:
        trim_traceback(error)
        raise
    else:
        for key in keys:
            if type(key) is not str:
                return found
        return keep(names, keys, found, _KEPT)
    return api_boundary(find.__wrapped__)(*keys)  # type: ignore[attr-defined]  # lru_cache's


class include_keys(_Guard):  # noqa: N801  # a context manager is spelled like a function
    """Add keys to every call in this thread or task while the block runs.

    Takes keys, names, keysets or masks. Raises ``DispatchKeyError`` for unknown ones.

    >>> with include_keys("Profiler"):
    ...     apply_masks(DispatchKeySet(["CPU"]))
    DispatchKeySet(Profiler, CPU)
    """

    __slots__ = ()

    def __init__(self, *keys: KeyLike | KeysetLike) -> None:
        try:
            own = _INCLUDED_NAMES.get(keys)
        except TypeError:
            own = None
        self._own = own or _find_state(_find_included, keys, _INCLUDED_NAMES)
        self._tokens = None


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
        try:
            own = _EXCLUDED_NAMES.get(keys)
        except TypeError:
            own = None
        self._own = own or _find_state(_find_excluded, keys, _EXCLUDED_NAMES)
        self._tokens = None


def apply_masks(keyset: KeysetLike) -> DispatchKeySet:
    """Return (``keyset`` with the included keys) without the excluded ones.

    >>> apply_masks("CPU")
    DispatchKeySet(CPU)
    """
    return DispatchKeySet(apply_to_mask(as_mask(keyset)))


def apply_to_mask(mask: int) -> int:
    """Apply the context's masks to ``mask``, and the keys that the process includes."""
    mask |= process_mask[0]
    state = _state.get()
    if state is None:
        return mask
    mask |= state[0]
    return mask ^ (mask & state[1])


def apply_exclusions(mask: int) -> int:
    """Take the context's excluded keys out of ``mask``, adding nothing."""
    state = _state.get()
    return mask if state is None else mask ^ (mask & state[1])
