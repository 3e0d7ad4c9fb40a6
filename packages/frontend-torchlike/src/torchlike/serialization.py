"""Saving tensors by name, in the safetensors format, through the safetensors library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .interop import put, read_elements
from .tensors import Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray


def save(obj: Mapping[str, Tensor], f: str | os.PathLike[str]) -> None:
    """Write a ``state_dict`` to a file in the safetensors format.

    Raises ``TypeError`` for anything but tensors by name; torch's pickles, which can run code, are not written or read.
    """
    if not isinstance(obj, Mapping):
        raise TypeError(f"save() takes a dict of tensors by name, such as a state_dict, not {type(obj).__name__}")
    from safetensors.numpy import save_file  # not every program saves, and each would pay for the import

    arrays: dict[str, NDArray[Any]] = {}
    for name, value in obj.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise TypeError(f"save() takes a dict of tensors by name; the value of {name!r} is {type(value).__name__}")
        arrays[name] = np.ascontiguousarray(read_elements(value)).reshape(tuple(value.shape))
    save_file(arrays, os.fspath(f), metadata={"format": "torchlike"})


def load(f: str | os.PathLike[str], map_location: Any = None) -> dict[str, Tensor]:
    """Read a file in the safetensors format, onto the cpu or another device.

    Raises ``FileNotFoundError`` for a missing file and ``ValueError`` for a file of another format.
    """
    from pathlib import Path  # as in save()

    from safetensors.numpy import load as read

    data = Path(f).read_bytes()
    try:
        arrays = read(data)
    except Exception as error:
        raise ValueError(f"{os.fspath(f)} is no safetensors file: {error}") from error
    return {name: put(array, map_location) for name, array in arrays.items()}
