"""Calls of captured functions that run eagerly, because recordings do not come to replays.

Note [When recording stops]
    A function whose arguments always differ would be recorded at every call, which costs more than it ever saves. So the
    recordings in a row without a replay are counted: twice as many as variants are kept may be needed (each signature is
    recorded twice), and 16 more. Then the function runs eagerly, for 256 calls at first, and for twice as many each time
    that recording was tried again in vain. A recording because a check is due represents a replay, and ends the row; one
    that gives tensors their first gradients, which comes once as a rule, is not counted, unless it follows another one.

Note [Refusals of eager calls]
    Whether a call is recorded must not decide what the function means. So functions of the user's that a replay would not
    call are refused in an eager call, too: the parts of the frontends are asked for as if it were recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, Final

from dispatch_core.arrays.frontend import CAPTURING
from dispatch_core.interrupts import by_subscript, take_back, whole

from .capturing import Recording, current_recording
from .live_numbers import to_plain
from .structures import skeleton

#: How many recordings in a row are counted besides two of each variant, and after how many eager calls they begin again.
_MORE: Final = 16
_PAUSE: Final = 256


class RecordingRow:
    """The recordings in a row without a replay, and the eager calls after too many; see Note [When recording stops].

    >>> row = RecordingRow(8)
    >>> for _ in range(row.most):
    ...     row.count(0)
    >>> row.is_over(0), row.is_over(1), row.left
    (True, True, 254)
    """

    def __init__(self, variants: int) -> None:
        self.most = 2 * variants + _MORE
        self.restart(0)

    def restart(self, replays: int) -> None:
        """Begin the first row, and forget the eager calls; ``replays`` is the number of replays so far."""
        self._begin(replays)
        self._pause = _PAUSE
        #: How many eager calls are left.
        self.left = 0

    def _begin(self, replays: int) -> None:
        self._length, self._replays, self._was_first = 0, replays, False

    def count(self, replays: int, *, is_first: bool = False, is_check: bool = False) -> None:
        """Count a recording: ``is_first`` says that it gives first gradients, ``is_check`` that a check was due."""
        if self.left:
            return  # Another thread has begun it before.
        if is_check or replays != self._replays:
            self.restart(replays)
        if not is_check:
            self._length += not is_first or self._was_first
            self._was_first = is_first

    def is_over(self, replays: int) -> bool:
        """Return whether a call that would be recorded runs eagerly; it is counted as run."""
        if not self.left:
            if self._length < self.most or replays != self._replays:
                return False
            self.left, self._pause = self._pause, 2 * self._pause
        self.left -= 1
        if not self.left:
            self._begin(replays)
        return True


class EagerCall(Recording):
    """Represents the recording of a call that runs eagerly: it refuses, and takes note of nothing.

    See Note [Refusals of eager calls].
    """

    def __init__(self, name: str) -> None:
        self.name, self.is_open, self.parts = name, True, {}
        self._token: Token[EagerCall | None] | None = None

    def run(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function."""
        try:
            # See Note [Where an interrupt falls] in `interrupts`.
            self._token = _set_running[self]
            self.begin()
            result = function(*args, **kwargs)
            skeleton(result, type)
            for part in self.parts.values():
                part.check()
            return result
        finally:
            self._finish()

    @whole
    def _finish(self) -> None:
        try:
            self.end(failed=True)
        except BaseException:
            self.end(failed=True)
            raise

    def end(self, *, failed: bool) -> None:
        """Refuse nothing any more; once more after an interrupt."""
        if self._token is not None:
            take_back(self._token)
        if self in CAPTURING:
            CAPTURING.remove(self)
        for part in self.parts.values():
            part.end(failed=failed)
        self.parts.clear()

    def is_here(self) -> bool:
        """Return whether this thread or task runs the call, and records no other inside."""
        return _running.get() is self and current_recording() is None

    # Calls of frontends, of which nothing is kept.

    def see(self, tensor: object, place: str = "") -> None:
        """Do nothing: nothing is an input."""

    def own(self, tensor: object) -> None:
        """Do nothing: nothing is an input."""

    def see_part(self, tensor: object, owner: object, get: Callable[[Any], Any]) -> None:
        """Do nothing: nothing is an input."""

    def is_input(self, tensor: object) -> bool:
        """Return False: nothing is an input."""
        return False

    def is_made(self, tensor: object) -> bool:
        """Return False: all arrays are there."""
        return False

    def guard(self, function: Callable[[], Any], *value: object) -> None:
        """Do nothing: there is no replay."""

    def depend_on_places(self, holds: Callable[..., bool], *values: object) -> None:
        """Do nothing: there is no replay."""

    def effect(self, function: Callable[..., Any], *arguments: object, to: object = None) -> None:
        """Do nothing: there is no replay."""

    def number(self, function: Callable[[], Any], *, any_type: bool = False) -> Any:
        """Return ``function()`` as an ordinary number."""
        return to_plain(function())

    def compute(self, function: Callable[..., Any], *numbers: object) -> Any:
        """Return ``function(*numbers)``."""
        return function(*map(to_plain, numbers))


_running: Final[ContextVar[EagerCall | None]] = ContextVar("dispatch_core.eager_call", default=None)
_set_running: Final = by_subscript(_running.set)
