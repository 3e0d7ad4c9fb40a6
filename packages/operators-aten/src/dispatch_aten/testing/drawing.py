"""Drawing arguments: seeded NumPy arrays, and the rows of the tables of calls."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]


class Draw:
    """Draws arrays of doubles, of indices and of bools; one seed draws the same arrays everywhere.

    >>> Draw(0).i(3, 4).tolist() == Draw(0).i(3, 4).tolist()
    True
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def f(self, *shape: int, low: float | None = None, high: float = 1.0) -> Array:
        """Draw normal values, or with ``low`` uniform ones up to ``high``."""
        if low is None:
            return np.asarray(self._random.standard_normal(shape))
        return np.asarray(self._random.uniform(low, high, shape))

    def p(self, *shape: int) -> Array:
        """Draw positive values."""
        return self.f(*shape, low=0.1, high=2.0)

    def s(self, *shape: int) -> Array:
        """Draw signs, -1 or 1."""
        return np.where(self.b(*shape), 1.0, -1.0)

    def c(self, *shape: int) -> Array:
        """Draw complex values."""
        return np.asarray(self.f(*shape) + 1j * self.f(*shape))

    def i(self, high: int, *shape: int) -> Array:
        """Draw integers from 0 up to ``high``, which is left out."""
        return np.asarray(self._random.integers(0, high, shape))

    def b(self, *shape: int) -> Array:
        """Draw bools."""
        return np.asarray(self._random.random(shape) < 0.5)

    def spd(self, size: int = 3) -> Array:
        """Draw a positive definite matrix."""
        made = self.f(size, size)
        return np.asarray(made @ made.T + size * np.eye(size))

    def reflectors(self) -> tuple[Array, Array]:
        """Draw Householder reflectors and their factors."""
        packed, factors = np.linalg.qr(self.spd(), mode="raw")
        return np.ascontiguousarray(packed.T), factors


Make: TypeAlias = Callable[..., tuple[Any, ...]]
#: Which of three gradients calls ask for, all of them first.
MASKS: Final = tuple(product((True, False), repeat=3))


class CallRow(NamedTuple):
    """A row of a table: operators of ``aten``, a function that draws their arguments, and keyword arguments."""

    names: tuple[str, ...]
    make: Make
    options: dict[str, Any]


def call(names: str, make: Make, **options: Any) -> CallRow:
    """Return a row.

    >>> call("exp log", lambda r: (r.p(2),)).names
    ('exp', 'log')
    """
    return CallRow(tuple(names.split()), make, options)
