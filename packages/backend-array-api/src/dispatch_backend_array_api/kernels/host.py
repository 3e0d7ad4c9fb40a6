"""Operators that the standard has no function for and nothing composes: the cpu backend computes them on copies."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

import dispatch_core as dc
from dispatch_aten.decompositions import required_kernels

from ..library import Array, ArrayLibrary, Kernel


def make(library: ArrayLibrary, brought: Collection[str]) -> dict[str, Kernel]:
    """Return a kernel for each operator that ``brought`` lacks."""
    needed = (kernel for kernel in required_kernels(mutable=False, strided=False) if kernel.namespace == "aten")
    lacking = [name for name in needed if name not in brought]
    return {name: on_host(library, name) for name in lacking}


def on_host(library: ArrayLibrary, name: str) -> Kernel:
    """Return the kernel that has ``name`` computed by the cpu backend."""
    packet, _, overload = name.partition(".")

    def kernel(*args: Any, **kwargs: Any) -> Any:
        dc.load_backend("cpu")
        operator = getattr(getattr(dc.ops.aten, packet), overload or "default")
        options = {key: _map(library.types, _get(library), value) for key, value in kwargs.items()}
        found = operator(*[_map(library.types, _get(library), value) for value in args], **options)
        return tuple(map(library.put, found)) if isinstance(found, tuple | list) else library.put(found)

    kernel.__name__ = kernel.__qualname__ = f"{packet}_on_host"
    return kernel


def _get(library: ArrayLibrary) -> Callable[[Any], Any]:
    def get(array: Array) -> Any:
        """Return the values row by row, as the arrays of a library without strides are described."""
        values = library.get(array)
        return (
            np.ascontiguousarray(values).reshape(values.shape) if values.size else np.empty(values.shape, values.dtype)
        )

    return get


def _map(types: tuple[type, ...], function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_map(types, function, each) for each in value]
    return function(value) if isinstance(value, types) else value
