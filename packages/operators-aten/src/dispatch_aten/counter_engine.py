"""The engine of a device's generator that is a seed and an offset, by which functions of the device draw."""

from __future__ import annotations

import struct
from typing import Final

from .errors import OperatorError

__all__ = ["CounterEngine"]

_STATE: Final = struct.Struct("<QQ")
_WORDS: Final = 4
"""The numbers that one step of Philox gives: offsets are multiples of it."""
_LIMIT: Final = 1 << 64


class CounterEngine:
    """The place in a stream of random numbers: ``seed`` names the stream, ``offset`` counts the numbers drawn.

    >>> engine = CounterEngine()
    >>> engine.seed(7)
    >>> engine.take(10), engine.take(1)
    ((7, 0), (7, 12))
    """

    __slots__ = ("_offset", "_seed")

    def __init__(self, index: int = 0) -> None:
        self._seed = self._offset = 0

    def seed(self, seed: int) -> None:
        """Start the stream of a seed."""
        self._seed, self._offset = seed % _LIMIT, 0

    def take(self, count: int) -> tuple[int, int]:
        """Return seed and offset for a function that draws ``count`` numbers, and advance the offset past them."""
        offset = self._offset
        self._offset = (offset + -(-count // _WORDS) * _WORDS) % _LIMIT
        return self._seed, offset

    def give_back(self, count: int, taken: tuple[int, int]) -> None:
        """Go back to what ``take(count)`` returned, for numbers that were not drawn, unless others were drawn since."""
        mine = CounterEngine()
        mine._seed, mine._offset = taken
        mine.take(count)
        if (mine._seed, mine._offset) == (self._seed, self._offset):
            self._seed, self._offset = taken

    def get_state(self) -> bytes:
        """Return seed and offset in 16 bytes, as torch's Philox generators do."""
        return _STATE.pack(self._seed, self._offset)

    def set_state(self, state: bytes) -> None:
        """Continue from a state. Raises ``OperatorError`` for bytes that are none."""
        if len(state) != _STATE.size:
            raise OperatorError("RNG state is wrong size", operator="set_state", argument="new_state")
        seed, offset = _STATE.unpack(state)
        if offset % _WORDS:
            raise OperatorError("offset must be a multiple of 4", operator="set_state", argument="new_state")
        self._seed, self._offset = seed, offset
