"""Random chunks, drawn on workers: tasks name this module, which they have installed."""

from __future__ import annotations

from typing import Any

import numpy as np


def draw_block(kind: str, bounds: tuple[int, ...], seed: int, dtype: str, block_info: Any = None) -> Any:
    """Draw the chunk of an array: the same numbers for a seed and a place, however often it is computed.

    >>> where = {None: {"chunk-location": (0, 1), "chunk-shape": (1, 2), "num-chunks": (1, 2)}}
    >>> first = draw_block("uniform", (), 7, "float32", block_info=where)
    >>> first.shape, (first == draw_block("uniform", (), 7, "float32", block_info=where)).all()
    ((1, 2), np.True_)
    """
    if not block_info:  # Dask asks for an example
        return np.empty((), dtype)
    place = block_info[None]
    number = int(np.ravel_multi_index(place["chunk-location"], place["num-chunks"])) if place["chunk-location"] else 0
    # Each chunk has 2**128 numbers of the stream for itself.
    generator: Any = np.random.Generator(np.random.Philox(key=seed, counter=number << 128))
    shape = place["chunk-shape"]
    if kind == "integers":
        return generator.integers(*bounds, size=shape, dtype=np.int64).astype(dtype)
    draw = generator.random if kind == "uniform" else generator.standard_normal
    if dtype in ("float32", "float64"):
        return draw(shape, dtype)
    return draw(shape).astype(dtype)
