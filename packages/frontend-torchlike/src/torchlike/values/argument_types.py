"""Types of arguments, for annotations: of a number, a dtype, a device, an index."""

from __future__ import annotations

from types import EllipsisType
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..names.lazy_names import Tensor

#: A number of Python's or NumPy's.
Number: TypeAlias = complex | np.generic
#: An array of NumPy's, of any dtype.
Array: TypeAlias = np.ndarray[Any, Any]
NumberOrTensor: TypeAlias = Tensor | Array | Number
#: A dtype, or the type of Python's numbers that means one.
DType: TypeAlias = ScalarType | type[bool] | type[int] | type[float] | type[complex]
DTypeLike: TypeAlias = DType | None
#: A device, its name with or without an index, or the index of an accelerator; None for the default.
DeviceLike: TypeAlias = dc.Device | str | int | None
#: An end or the step of a slice.
_Bound: TypeAlias = SupportsIndex | None
IndexPart: TypeAlias = (
    "SupportsIndex | slice[_Bound, _Bound, _Bound] | EllipsisType | Tensor | Array | list[Any] | range | None"
)
#: The part between the brackets of ``x[...]``.
Index: TypeAlias = "IndexPart | tuple[IndexPart | tuple[Any, ...], ...]"
