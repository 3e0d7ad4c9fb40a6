"""Points that fill a cube evenly (source: ``torch.quasirandom``)."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from dispatch_aten.dtypes import get_default_dtype
from dispatch_aten.errors import library_hint

from .creation.factories import FACTORIES
from .random import Generator
from .tensors.arrays import from_numpy
from .tensors.tensor import Tensor

__all__ = ["SobolEngine"]


def _load_directions(dimension: int, bits: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the direction numbers of Joe and Kuo, which SciPy has too: one row for each dimension."""
    try:
        qmc = import_module("scipy.stats.qmc")
    except ImportError as error:
        raise RuntimeError(f"SobolEngine needs SciPy, which is not installed\nHint: {library_hint('scipy')}") from error
    return np.asarray(qmc.Sobol(dimension, scramble=False, bits=bits)._sv, np.int64)


class SobolEngine:
    """Draws the points of a Sobol sequence, scrambled if asked for (source: ``torch.quasirandom.SobolEngine``).

    Raises ``ValueError`` for a dimension beyond 1 to 21,201, ``RuntimeError`` without SciPy.

    >>> SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT: ClassVar = 30
    MAXDIM: ClassVar = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        directions = _load_directions(dimension, self.MAXBIT)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            directions, shift = self._scramble(directions)
        self.sobolstate, self.shift = from_numpy(directions), from_numpy(shift)
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def _scramble(self, directions: Any) -> tuple[Any, Any]:
        """Multiply the directions by random triangular matrices of bits, and draw the first point."""
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        randint, bits = FACTORIES["randint"], self.MAXBIT
        powers = 1 << np.arange(bits, dtype=np.int64)
        shift = randint(2, (self.dimension, bits), device="cpu", generator=generator).numpy() @ powers
        drawn = randint(2, (self.dimension, bits, bits), device="cpu", generator=generator).numpy()
        rows = (np.tril(drawn, -1) + np.eye(bits, dtype=np.int64)) @ powers[::-1]
        met = rows[:, None, :] & directions[:, :, None]
        parities = np.zeros_like(met)
        for bit in range(bits):
            parities ^= met >> bit & 1
        return parities @ powers[::-1], shift

    def _advance(self, n: int) -> Any:
        """Return the next ``n`` points as integers, the first point of all being the shift."""
        first = 0 if self.num_generated else 1
        before = np.arange(max(self.num_generated - 1, 0), self.num_generated - 1 + n)
        if first:
            before = np.arange(n - 1)
        # In the order of Gray's code one direction is added at a time: that of the lowest bit that is 0.
        lowest = ~before & (before + 1)
        places = np.log2(lowest).astype(np.int64)
        steps = self.sobolstate.numpy().T[places]
        points = np.concatenate([self.quasi.numpy()[None], steps])
        points = np.bitwise_xor.accumulate(points, 0)
        self.quasi = from_numpy(points[-1].copy())
        self.num_generated += n
        return points if first else points[1:]

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Return the next ``n`` points, a row each."""
        points = from_numpy(self._advance(n) * 2.0**-self.MAXBIT)
        result: Tensor = points.to(get_default_dtype() if dtype is None else dtype)
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Return the next ``2**m`` points; ``ValueError`` where their number in all is not a power of 2."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin at the first point again."""
        self.quasi, self.num_generated = self.shift.clone(), 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out ``n`` points."""
        self._advance(n)
        return self

    def __repr__(self) -> str:
        told = f"{', scramble=True' if self.scramble else ''}{'' if self.seed is None else f', seed={self.seed}'}"
        return f"SobolEngine(dimension={self.dimension}{told})"
