"""Arguments of functions that no operator checks, or that its schema does not take as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .tensor import Tensor


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
