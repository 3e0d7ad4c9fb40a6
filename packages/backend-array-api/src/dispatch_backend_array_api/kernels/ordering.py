"""Sorting."""

from __future__ import annotations

from dispatch_aten.dtypes import ScalarType

from ..library import Array, ArrayLibrary, Kernel


def make(library: ArrayLibrary) -> dict[str, Kernel]:
    """Return the kernels for a library."""
    xp = library.xp

    def sort(
        self: Array, *, stable: bool | None = False, dim: int = -1, descending: bool = False
    ) -> tuple[Array, Array]:
        if not self.ndim:
            return self, library.full((), 0, ScalarType.Long)
        keys = library.cast(self, ScalarType.Byte) if library.dtype_of(self) is ScalarType.Bool else self
        order = library.indices(xp.argsort(keys, axis=dim, descending=descending, stable=True))
        return xp.take_along_axis(self, order, axis=dim), order

    return {"sort.stable": sort} if hasattr(xp, "take_along_axis") else {}
