"""Arguments of functions that no operator checks, or that its schema does not take as they are."""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np

from .tensors import Tensor


def check_tensor(value: Any, function: str, name: str = "input") -> None:
    """Raise ``TypeError``, in torch's words, for anything but a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}(): argument '{name}' must be Tensor, not {type(value).__name__}")


def check_tensors(values: Any, function: str, name: str) -> None:
    """Raise ``TypeError``, in torch's words, for a list with elements that are no tensors."""
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{function}(): argument '{name}' must be tuple of Tensors, but found element of type "
                f"{type(value).__name__} at pos {position}"
            )


def to_python_number(value: Any) -> Any:
    """Return a number of NumPy's as Python's, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def replace_none(
    empty: dict[str, int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]] | None:
    """Put a list for None where ``empty`` says that the schema's default is one, as torch does; None if there is none."""
    wanted = {key for key, place in empty.items() if (args[place] if place < len(args) else kwargs.get(key, 0)) is None}
    if not wanted:
        return None
    places = {empty[key] for key in wanted}
    found = [[] if place in places else each for place, each in enumerate(args)]
    return found, {key: [] if key in wanted else value for key, value in kwargs.items()}


def places_of_numbers(overloads: list[Any]) -> dict[str, int]:
    """Return the arguments, and their places, that are numbers with a fraction where they are not tensors."""
    given = [
        (argument.name, place, str(argument.type))
        for op in overloads
        for place, argument in enumerate(op.schema.arguments)
    ]
    tensors = {name for name, _, kind in given if kind.startswith("Tensor")}
    return {
        name: place for name, place, kind in given if kind.rstrip("?") in ("float", "Scalar") and name not in tensors
    }


def replace_tensors(
    numbers: dict[str, int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]] | None:
    """Put their numbers for tensors without dimensions where a number is asked for, as torch does; None if there is none.

    A tensor that requires grad stays: its number would not.
    """
    places = {*numbers.values()}

    def replace(value: Any, wanted: bool) -> Any:
        is_number = wanted and isinstance(value, Tensor) and not value.dim() and not value.requires_grad
        return value.item() if is_number else value

    found = [replace(value, place in places) for place, value in enumerate(args)]
    named = {key: replace(value, key in numbers) for key, value in kwargs.items()}
    same = all(map(is_, found, args)) and all(named[key] is kwargs[key] for key in kwargs)
    return None if same else (found, named)
