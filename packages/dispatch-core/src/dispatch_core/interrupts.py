"""Context managers that an interrupt does not leave on.

Note [Where an interrupt falls]
    CPython looks for signals when a function begins, after a call, and where a loop jumps back; nowhere else. So a guard
    sets a context variable by a subscript, which is not a call, as the last thing that ``__enter__`` does: Ctrl-C falls
    before that, or inside the block. ``__exit__`` takes it back inside a ``try`` that holds from the first instruction on
    (`whole`), where Ctrl-C falls that came while the block ended; the handler finishes the exit.

    Where a condition sends a loop back before its last line, the table of handlers of CPython 3.13 leaves the jump out, and
    Ctrl-C there leaves the function without ``__exit__``. So the block of a guard holds no such loop, but calls a function.

Note [Where an array dies]
    A function that a weak reference calls begins where its object dies, so Ctrl-C may fall there, and Python drops the
    error: the entry that the function was to remove would stay, and pass for one of the next object with that id. So
    entries go by ``partial(entries.pop, key)``, which is C throughout: the reference it is given is ``pop``'s default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import Token
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from .lazy_text import repr_by_attributes

__all__ = ["Guard", "Leaving", "Tokens", "by_subscript", "take_back", "whole"]

if TYPE_CHECKING:
    _A_contra = TypeVar("_A_contra", contravariant=True)
    _R_co = TypeVar("_R_co", covariant=True)

    class BySubscript(Protocol[_A_contra, _R_co]):
        """A function that is called by a subscript."""

        def __getitem__(self, value: _A_contra, /) -> _R_co:
            """Return the function's value."""


_F = TypeVar("_F", bound=Callable[..., Any])

#: The tokens of a guard's innermost entry and, last, the same for the entries around it; None where it is not entered.
Tokens: TypeAlias = tuple[Any, ...] | None

#: Of a number in CPython's tables of handlers: the bits in one byte, and whether another byte follows.
_BITS: Final = 6
_MORE: Final = 1 << _BITS
#: Set in the first byte of a table's entry.
_BEGIN: Final = 0x80


def whole(function: _F) -> _F:
    """Start the first ``try`` block of a function where the function starts.

    CPython's table of handlers has entries of four numbers: where one begins, its length, the handler, the stack's depth.
    Another implementation of Python has no such table; there the function stays as it is.
    """
    code = function.__code__
    if not hasattr(code, "co_exceptiontable"):
        return function
    table = iter(code.co_exceptiontable)
    length = _number(table) + _number(table)
    handlers = bytes((_BEGIN, *_bytes(length), *table))
    function.__code__ = code.replace(co_exceptiontable=handlers)
    return function


def _number(table: Iterator[int]) -> int:
    byte = next(table)
    number = byte & (_MORE - 1)
    while byte & _MORE:
        byte = next(table)
        number = number << _BITS | byte & (_MORE - 1)
    return number


def _bytes(number: int) -> Iterator[int]:
    if number >= _MORE:
        yield from (byte | _MORE for byte in _bytes(number >> _BITS))
    yield number & (_MORE - 1)


def by_subscript(function: Callable[[_A_contra], _R_co]) -> BySubscript[_A_contra, _R_co]:
    """Return an object whose subscript ``made[value]`` is ``function(value)``, without a look for signals after it.

    The function is one written in C, which does not become a method.

    >>> by_subscript(len)["abc"]
    3
    """
    return type("_BySubscript", (), {"__slots__": (), "__getitem__": function})()


def take_back(token: Token[Any]) -> bool:
    """Restore a variable's earlier value; return whether that was possible: in the token's own context, once."""
    try:
        token.var.reset(token)
    except (RuntimeError, ValueError):
        return False
    return True


class Leaving:
    """A context manager that restores by `_leave` what it changed, which called again after an interrupt does the rest."""

    __slots__ = ()

    def _leave(self) -> None:
        raise NotImplementedError

    @whole
    def __exit__(self, *exception: object) -> None:
        try:
            self._leave()
        except BaseException:
            # An interrupt; see Note [Where an interrupt falls].
            self._leave()
            raise


class Guard:
    """A context manager that sets context variables, and may be entered again inside itself.

    Subclasses write ``__enter__`` and ``__exit__`` by Note [Where an interrupt falls]; both leave unfinished work to
    `_leave`.
    """

    __slots__ = ("_tokens",)

    _tokens: Tokens

    __repr__ = repr_by_attributes()

    def _leave(self, outer: Tokens) -> None:
        """Undo the innermost entry, unless that was done; the entries ``outer`` are left."""
        if self._tokens is not outer:
            *tokens, _ = self._tokens  # type: ignore[misc]  # it is entered
            for token in reversed(tokens):
                take_back(token)
            self._tokens = outer

    def _finish(self, token: Token[Any] | None = None) -> None:
        """End an exit that was interrupted; ``token`` is the entry's, where it is not among the guard's any more."""
        if token is not None:
            take_back(token)
        elif self._tokens is not None:
            self._leave(self._tokens[-1])
