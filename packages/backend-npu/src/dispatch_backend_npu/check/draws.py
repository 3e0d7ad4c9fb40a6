"""Trying the device's random numbers: mean, variance, distinct values, neighbours, and equal numbers for equal seeds."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, Final, NamedTuple

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.generator import Generator
from dispatch_core import ops

from .. import arrays
from ..acl.library import bind
from ..aclnn.launch import CallInteger, launch
from ..aclnn.tensor_forms import FORMS

_COUNT: Final = 1 << 16
#: How many standard deviations a figure may lie from what is expected, and the largest kurtosis of what is drawn.
_WIDTH: Final = 6
_KURTOSIS: Final = 9


class _Law(NamedTuple):
    """A draw, its mean and variance, how many values it has at least, and the least and the largest of them."""

    draw: Callable[[Any, Generator], Any]
    mean: float
    variance: float
    distinct: int
    bounds: tuple[float, float]


_aten: Final = ops.aten
#: Floats of 24 bits: a few of so many are drawn twice.
_MANY: Final = _COUNT * 95 // 100
_LAWS: Final = {
    "uniform": _Law(lambda x, g: _aten.uniform_(x, -1.0, 3.0, generator=g), 1.0, 16 / 12, _MANY, (-1.0, 3.0)),
    "normal": _Law(lambda x, g: _aten.normal_(x, 1.0, 2.0, generator=g), 1.0, 4.0, _MANY, (-30.0, 30.0)),
    "exponential": _Law(lambda x, g: _aten.exponential_(x, 2.0, generator=g), 0.5, 0.25, _MANY, (1e-9, 30.0)),
    "bernoulli": _Law(lambda x, g: _aten.bernoulli_(x, 0.3, generator=g), 0.3, 0.21, 2, (0.0, 1.0)),
    "integers": _Law(lambda x, g: _aten.random_(x, 3, 13, generator=g), 7.5, 8.25, 10, (3.0, 12.0)),
}


def _draw(law: _Law, seed: int) -> tuple[Any, Any]:
    """Return what a law draws first and second from a seed."""
    generator = Generator("npu").manual_seed(seed)
    found = []
    for _ in range(2):
        array = ops.aten.empty([_COUNT], dtype=ScalarType.Float, device=dc.Device("npu"))
        found.append(_read(law.draw(array, generator)))
    return found[0], found[1]


def _read(array: Any) -> Any:
    return np.asarray(ops.prims.device_get(array)).astype(np.float64)


def check_law(name: str) -> str:
    """Draw numbers, and compare their figures with those of the law.

    Raises ``AssertionError`` where they lie too far apart.
    """
    law = _LAWS[name]
    first, second = _draw(law, 7)
    again, _ = _draw(law, 7)
    other, _ = _draw(law, 8)
    mean, variance, distinct = float(first.mean()), float(first.var()), len(np.unique(first))
    neighbours = float(np.mean((first[1:] - law.mean) * (first[:-1] - law.mean)) / law.variance)
    told = f"mean {mean:.4g} of {law.mean:.4g}, variance {variance:.4g} of {law.variance:.4g}, {distinct:,} values"
    low, high = law.bounds
    faults = {
        "the mean is off": abs(mean - law.mean) > _WIDTH * sqrt(law.variance / _COUNT),
        "the variance is off": abs(variance - law.variance) > _WIDTH * law.variance * sqrt((_KURTOSIS - 1) / _COUNT),
        "there are too few values": distinct < law.distinct,
        "there are values outside": not (first >= low).all() or not (first <= high).all(),
        "neighbours depend on each other": abs(neighbours) > _WIDTH / sqrt(_COUNT),
        "equal seeds draw different numbers": not np.array_equal(first, again),
        "a second draw repeats the first": np.array_equal(first, second),
        "another seed draws the same numbers": np.array_equal(first, other),
    }
    found = [fault for fault, is_there in faults.items() if is_there]
    if found:
        raise AssertionError(f"{'; '.join(found)}: {told}, correlation of neighbours {neighbours:.3g}")
    return told


def check_dropout() -> str:
    """Drop a quarter of ones: of the others there are as many as expected, each 4/3."""
    ones = ops.aten.ones([_COUNT], dtype=ScalarType.Float, device=dc.Device("npu"))
    kept, mask = ops.aten.native_dropout(ones, 0.25, True)
    found, stays = _read(kept), _read(mask)
    share = float(stays.mean())
    if abs(share - 0.75) > _WIDTH * sqrt(0.1875 / _COUNT):
        raise AssertionError(f"dropout of a quarter keeps {share:.4g}")
    if not np.allclose(found, stays * 4 / 3):
        raise AssertionError(f"{int(np.sum(~np.isclose(found, stays * 4 / 3)))} elements are not what the mask says")
    return f"{share:.4g} of 0.75 stay"


def check_permutation() -> str:
    """Draw a permutation: each number is there once, and most have moved."""
    found = _read(ops.aten.randperm(_COUNT, dtype=ScalarType.Long, device=dc.Device("npu")))
    if not np.array_equal(np.sort(found), np.arange(_COUNT)):
        raise AssertionError(f"{_COUNT - len(np.unique(found))} numbers of a permutation are missing")
    moved = float(np.abs(found - np.arange(_COUNT)).mean() / _COUNT)
    if abs(moved - 1 / 3) > _WIDTH / sqrt(_COUNT):
        raise AssertionError(f"the numbers of a permutation have moved by {moved:.3g} of its length, not by a third")
    return f"moved by {moved:.4g} of the length"


#: Functions of `FORMS` that draw → the arguments between the array and the seed.
_SEEDED: Final[dict[str, tuple[Any, ...]]] = {
    "aclnnInplaceUniform": (0.0, 1.0),
    "aclnnInplaceNormal": (0.0, 1.0),
    "aclnnInplaceRandom": (0, 1000),
    "aclnnDropoutGenMask": (0.25,),
}


def check_tensors() -> str:
    """Draw by seeds in tensors, as graphs do, and by the same seeds as numbers.

    Raises ``FunctionNotFoundError`` where the toolkit is too old, ``AssertionError`` where the numbers differ.
    """
    by_tensors = {name: FORMS[name, frozenset({"seed", "offset"})].calls[0].function for name in _SEEDED}
    for function in by_tensors.values():
        bind(function)
    seed, offset = 1234567890123, 4096
    held = [arrays.from_numpy(np.array([each], np.int64)) for each in (seed, offset - 64)]
    differ = []
    for name, settings in _SEEDED.items():
        if name == "aclnnDropoutGenMask":
            found = [arrays.from_numpy(np.zeros(_COUNT // 8, np.uint8)) for _ in range(2)]
            launch(name, (_COUNT,), *settings, CallInteger(seed), CallInteger(offset), found[0])
            launch(by_tensors[name], (_COUNT,), *settings, *held, 64, ScalarType.Float, found[1])
        else:
            found = [arrays.from_numpy(np.zeros(_COUNT, np.float32)) for _ in range(2)]
            launch(name, found[0], *settings, CallInteger(seed), CallInteger(offset))
            launch(by_tensors[name], found[1], *settings, *held, 64)
        if not np.array_equal(arrays.to_numpy(found[0]), arrays.to_numpy(found[1])):
            differ.append(by_tensors[name])
    if differ:
        raise AssertionError(
            f"{', '.join(differ)} draw other numbers than the functions whose seeds are numbers\n"
            "Hint: with DISPATCH_NPU_GRAPHS=1 a program draws other numbers than without"
        )
    return f"{len(_SEEDED)} functions draw the numbers of those whose seeds are numbers"


CHECKS: Final[dict[str, Callable[[], str]]] = {
    **{name: lambda name=name: check_law(name) for name in _LAWS},  # type: ignore[misc]  # one for each
    "dropout": check_dropout,
    "permutation": check_permutation,
    "seeds in tensors": check_tensors,
}
"""The checks by their names; each returns what it has found."""
