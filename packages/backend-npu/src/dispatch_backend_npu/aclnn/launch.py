"""Calling functions of aclnn by name, for kernels that do more than a row of the table can say.

Note [Kernels that are noted]
    What such a kernel launches depends on how its arguments look, not on their elements. So a plan can ask it beforehand:
    within ``noted()`` nothing is launched, and arrays are made without memory; the plan does with the functions that were
    noted what it does with rows. A kernel that needs the host says so (``refuse_noting``), and runs by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dispatch_aten.shapes import Described, TensorMeta

from .. import arrays as on_device
from ..arrays import AclArray
from .calls import Number, Recipe, keep, memory_of
from .table import PROTOTYPES

__all__ = ["Unmade", "launch", "made", "noted", "refuse_noting"]

_recipes: Final = memory_of()


class _Thread(threading.local):
    """What the thread has noted, and None where it runs what it launches."""

    launches: list[tuple[str, tuple[Any, ...]]] | None = None


_thread: Final = _Thread()


class Unmade:
    """Stands for the block of an array that a noted kernel has made."""

    __slots__ = ("spec",)

    def __init__(self, spec: TensorMeta) -> None:
        self.spec = spec


@contextmanager
def noted() -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """Note what the block launches, each function with its arguments, instead of running it."""
    found = _thread.launches = []
    try:
        yield found
    finally:
        _thread.launches = None


def refuse_noting() -> None:
    """Raise ``RuntimeError`` where a kernel is noted that cannot be, see Note [Kernels that are noted]."""
    if _thread.launches is not None:
        raise RuntimeError("what it launches depends on elements")


def made(spec: TensorMeta) -> AclArray:
    """Make an array as ``spec`` describes it; its elements are whatever lay there before."""
    if _thread.launches is None:
        return on_device.made(spec)
    array: Any = object.__new__(AclArray)
    array.block, array.spec, array.storage_offset = Unmade(spec), spec, 0
    return array


def launch(function: str, *values: Any) -> None:
    """Run a function on the current stream; the arguments are those of its first phase, results included.

    Tensors are arrays of this device, or None; scalars, lists and text are Python's. A float is given to the call that was
    prepared for other floats, see Note [Prepared calls].
    """
    if _thread.launches is not None:
        _thread.launches.append((function, values))
        return
    kinds = PROTOTYPES[function]
    arrays: list[Any] = []
    numbers: list[Any] = []
    key: list[Any] = [function]
    for kind, value in zip(kinds, values, strict=True):
        if isinstance(value, Described):
            arrays.append(value)
            key.append((value.spec, value.storage_offset))
        elif kind == "const aclScalar*" and value is not None:
            key.append(value.__class__)
            numbers.append(value)
        elif isinstance(value, (list, tuple)):
            if kind.endswith("List*"):
                arrays += value
                key.append(tuple([(each.spec, each.storage_offset) for each in value]))
            else:
                key.append(tuple(value))
        else:
            key.append(value)
    place = tuple(key)
    recipe = _recipes.get(place)
    if recipe is None:
        places = iter(range(len(numbers)))
        recipe = Recipe(
            function,
            [
                Number(next(places), value) if kind == "const aclScalar*" and value is not None else value
                for kind, value in zip(kinds, values, strict=True)
            ],
        )
        keep(_recipes, place, recipe)
    recipe.launch(arrays, numbers)
