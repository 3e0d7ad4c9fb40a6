"""The standard's questions about the namespace: its dtypes, its devices, and its capabilities."""

from __future__ import annotations

__name__ = "torchlike.array_api.inspection"  # see Note [Public paths]

from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, get_default_dtype
from dispatch_core.frontends import availability
from torchlike.values.devices import get_default_device

from .data_types import DTYPES, isdtype

__all__ = ["__array_namespace_info__"]


class ArrayNamespaceInfo:
    """Questions of a program before it computes (source: the array API standard, inspection).

    >>> info = __array_namespace_info__()
    >>> info.default_dtypes()["integral"], sorted(info.dtypes(kind="real floating"))
    (torchlike.int64, ['float32', 'float64'])
    """

    __module__ = "torchlike.array_api"

    def capabilities(self) -> dict[str, Any]:
        """Return the abilities that depend on values: masks as indices and results of unknown shapes are both there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> dc.Device:
        """Return the device of tensors that are made without one."""
        return get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, ScalarType]:
        """Return the dtypes of results that are made without one, by kind."""
        default = get_default_dtype()
        return {
            "real floating": default,
            "complex floating": default.to_complex(),
            "integral": ScalarType.Long,
            "indexing": ScalarType.Long,
        }

    def devices(self) -> tuple[dc.Device, ...]:
        """Return the default device, the cpu, and those that the program has used, as asking imports no library.

        A device whose tensors have no values is none of them.
        """
        used = (name for name, backend in dc.backends().items() if backend.state == "loaded" and name not in _EMPTY)
        found = [name for name in used if availability(name)]
        return tuple(dict.fromkeys([get_default_device(), dc.Device("cpu"), *map(dc.Device, found)]))

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, ScalarType]:
        """Return the standard's dtypes by name, those of a kind if one is given."""
        return {name: dtype for name, dtype in DTYPES.items() if kind is None or isdtype(dtype, kind)}


#: Devices whose tensors have shapes only.
_EMPTY: Final = frozenset({"meta"})


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807  # the standard's name
    """Return the answers about the namespace."""
    return ArrayNamespaceInfo()
