"""The Mersenne Twister behind a cpu generator, giving torch's very streams (source: ``at::CPUGeneratorImpl``)."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import numpy as np

from .arrays import Array
from .ops.support.compiled_kernels import DRAWS

_WORDS: Final = 624


class MersenneTwister:
    """A Mersenne Twister with torch's seeding, and the normal sample that was drawn but not used.

    It has no lock of its own: the caller holds the generator's. With compiled draws, which take its ``capsule``, the stream
    is the same.

    >>> MersenneTwister(0).words(2).tolist()
    [2357136044, 2546248239]
    """

    __slots__ = ("_bits", "capsule", "spare_normal")

    #: The compiled module that fills arrays, or None.
    compiled: ClassVar[Any] = DRAWS

    def __init__(self, seed: int) -> None:
        self._bits = np.random.MT19937()
        self.capsule = self._bits.capsule
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Start the stream again; of the seed only the low 32 bits count, as in torch."""
        key = np.empty(_WORDS, np.uint32)
        word = seed & 0xFFFFFFFF
        for place in range(_WORDS):
            key[place] = word
            word = (1812433253 * (word ^ (word >> 30)) + place + 1) & 0xFFFFFFFF
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": _WORDS}}
        self.spare_normal: float | None = None

    def get_state(self) -> dict[str, Any]:
        """Return everything that decides about the next draws."""
        return {"bits": self._bits.state, "spare_normal": self.spare_normal}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from where ``get_state`` was called."""
        self._bits.state = state["bits"]
        self.spare_normal = state["spare_normal"]

    def words(self, count: int) -> Array:
        """Draw random 32-bit integers, as ``uint64``."""
        return self._bits.random_raw(count)

    def double_words(self, count: int) -> Array:
        """Draw random 64-bit integers, each from two draws, the high half first."""
        pairs = self._bits.random_raw(2 * count)
        return (pairs[0::2] << np.uint64(32)) | pairs[1::2]

    def uniform(self, count: int, dtype: np.dtype[Any]) -> Array:
        """Draw from [0, 1): ``float64`` of 53 random bits, else ``float32`` of 24."""
        if self.compiled is not None:
            made = np.empty(count, np.float64 if dtype.char == "d" else np.float32)
            self.compiled.uniform(self.capsule, made)
            return made
        if count <= _FEW:
            raw = self._bits.random_raw
            if dtype.char == "d":
                return np.array([((raw() << 32 | raw()) & _LONG) * 2.0**-53 for _ in range(count)])
            return np.array([(raw() & 0xFFFFFF) * 2.0**-24 for _ in range(count)], np.float32)
        if dtype.char == "d":
            return (self.double_words(count) & _LONG_BITS) * _LONG_STEP
        if count <= _TILE:
            return self._short_uniform(count)
        made = np.empty(count, np.float32)
        for start in range(0, count, _TILE):
            stop = min(start + _TILE, count)
            made[start:stop] = self._short_uniform(stop - start)
        return made

    def two_uniform(self) -> tuple[float, float]:
        """Draw two ``float64`` from [0, 1)."""
        raw = self._bits.random_raw
        return ((raw() << 32 | raw()) & _LONG) * 2.0**-53, ((raw() << 32 | raw()) & _LONG) * 2.0**-53

    def _short_uniform(self, count: int) -> Array:
        # The low words, whatever the order of bytes: they convert faster than 64 bits do.
        bits = self.words(count).astype(np.uint32)
        bits &= _SHORT_BITS
        made = bits.view(np.int32).astype(np.float32)
        made *= _SHORT_STEP
        return made


_TILE: Final = 1 << 15  # elements whose words stay in the cache
_FEW: Final = 4  # which Python computes in less time than NumPy begins to
_LONG: Final = (1 << 53) - 1
_LONG_BITS: Final = np.array(_LONG, np.uint64)
_LONG_STEP: Final = np.array(2.0**-53)
_SHORT_BITS: Final = np.array((1 << 24) - 1, np.uint32)
_SHORT_STEP: Final = np.array(2.0**-24, np.float32)
