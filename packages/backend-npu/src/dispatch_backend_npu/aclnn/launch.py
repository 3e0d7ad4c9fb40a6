"""Calling a function of aclnn by name, for kernels that do more than a row of the table can say."""

from __future__ import annotations

from typing import Any, Final

from dispatch_aten.shapes import Described

from .calls import Number, Recipe, keep, memory_of
from .table import PROTOTYPES

__all__ = ["launch"]

_recipes: Final = memory_of()


def launch(function: str, *values: Any) -> None:
    """Run a function on the current stream; the arguments are those of its first phase, results included.

    Tensors are arrays of this device, or None; scalars, lists and text are Python's. A float is given to the call that was
    prepared for other floats, see Note [Prepared calls].
    """
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
