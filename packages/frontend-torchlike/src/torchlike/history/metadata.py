"""The shape and dtype of a tensor, kept for the checks of its gradient, and read from its array where that is quickest."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from dispatch_aten import shapes
from dispatch_aten.dtypes import BY_NAME, ScalarType
from dispatch_core import frontends
from dispatch_core.caches import keep

from ..values.size import Size

#: Shape and dtype, the dtype as the array itself has it (see `to_scalar_type`).
Meta: TypeAlias = tuple[tuple[int, ...], Any]


class _ScalarTypes(dict[Any, ScalarType]):
    """A dtype as an array has it → the scalar type."""

    def __missing__(self, dtype: Any) -> ScalarType:
        found = self[dtype] = dtype if isinstance(dtype, ScalarType) else BY_NAME[str(dtype)]
        return found


class _Sizes(dict["tuple[int, ...]", Size]):
    """An array's shape → the same as users see it, for as many shapes as a program uses again and again."""

    def __missing__(self, shape: tuple[int, ...]) -> Size:
        return keep(self, shape, Size(shape), 4096)


class _Strides(dict["tuple[tuple[int, ...], int]", "tuple[int, ...]"]):
    """An array's strides in bytes and the size of its elements → the strides in elements."""

    def __missing__(self, given: tuple[tuple[int, ...], int]) -> tuple[int, ...]:
        steps, itemsize = given
        return keep(self, given, tuple([step // itemsize for step in steps]), 4096)


SCALAR_TYPES: Final = _ScalarTypes()
to_scalar_type: Final = SCALAR_TYPES.__getitem__
SIZES: Final = _Sizes()
STRIDES: Final = _Strides()


class _Plain(dict[type, bool]):
    """Type of array → whether its ``shape`` and ``dtype`` are known to be those of its `ArrayType`, or NumPy's.

    To read these costs less than to ask for them. Of any other type the attributes may mean something else.
    """

    def __missing__(self, cls: type) -> bool:
        is_numpy = (cls.__module__, cls.__qualname__) == ("numpy", "ndarray")
        # Asked last: most programs open no pipeline, and never load the class.
        found = is_numpy or issubclass(cls, shapes.HasSpec) or issubclass(cls, frontends.Pending)
        self[cls] = found
        return found


is_plain: Final = _Plain()
