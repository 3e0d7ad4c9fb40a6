"""Distinct elements, how often they come, and rows of zeros with a one: their sizes are read from the device, one number."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DataDependentShapeError, OperatorError
from dispatch_aten.shapes import cached_rule, contiguous, wrap_dim

from ..aclnn.composition import compose
from ..aclnn.conditions import is_filled
from ..aclnn.launch import allocate_result, forbid_collecting, launch
from ..arrays import AclArray, to_numpy
from .copy import KERNELS as COPIES
from .reduction import KERNELS as REDUCTIONS
from .selection import pack

_Three = tuple[AclArray, AclArray, AclArray]

#: UniqueConsecutive's dimension where the array is flattened.
_FLAT: Final = 1000
#: The largest number of places that RepeatInterleaveTensor returns.
_MOST_PLACES: Final = 1 << 22


def _places(*shape: int) -> AclArray:
    return allocate_result(contiguous(shape, ScalarType.Long))


def _read(array: AclArray) -> int:
    """Return the element of an array that has one, after waiting for the device."""
    return int(to_numpy(array).item())


def _find_greatest(array: AclArray) -> int:
    found = allocate_result(contiguous((), array.spec.dtype))
    launch("aclnnMax", array, found)
    return _read(found)


def _is_taken(self: AclArray) -> bool:
    """Return whether distinct entries are found by the functions: of integers, whose zeros have no sign, and none is nan."""
    dtype = self.spec.dtype
    return (dtype.is_integral or dtype is ScalarType.Bool) and is_filled(self.spec)


def _cut(values: AclArray, dim: int, count: int) -> AclArray:
    """Return the first entries of an array along a dimension, which lie packed at its beginning."""
    shape = list(values.spec.shape)
    shape[dim] = count
    spec = contiguous(tuple(shape), values.spec.dtype)
    if spec == values.spec:
        return values
    found: AclArray = COPIES["clone"](values.view(spec.shape, spec.strides, 0))
    return found


def _return(
    values: AclArray, dim: int, count: int, inverse: AclArray | None, counts: AclArray | None
) -> tuple[AclArray, AclArray, AclArray]:
    none = _places(0)
    return (
        _cut(values, dim, count),
        none if inverse is None else inverse,
        none if counts is None else _cut(counts, 0, count),
    )


def _unique(self: AclArray, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False) -> _Three:
    forbid_collecting()
    if not _is_taken(self):
        found: _Three = compose("_unique2", self, sorted, return_inverse, return_counts)
        return found
    size, self = self.spec.numel, pack(self)
    values, counts = allocate_result(contiguous((size,), self.spec.dtype)), _places(size)
    inverse = allocate_result(contiguous(self.spec.shape, ScalarType.Long))
    launch("aclnnUnique2", self, sorted, True, return_counts, values, inverse, counts)
    count = _find_greatest(inverse) + 1
    return _return(values, 0, count, inverse if return_inverse else None, counts if return_counts else None)


def _unique_consecutive(
    self: AclArray, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> _Three:
    forbid_collecting()
    if not _is_taken(self) or (dim is not None and not self.spec.shape):
        found: _Three = compose("unique_consecutive", self, return_inverse, return_counts, dim)
        return found
    shape = self.spec.shape
    where = None if dim is None else wrap_dim(dim, len(shape))
    size = self.spec.numel if where is None else shape[where]
    values = allocate_result(contiguous((size,) if where is None else shape, self.spec.dtype))
    inverse, counts = _places(*(shape if where is None else (size,))), _places(size)
    place = _FLAT if where is None else where
    launch("aclnnUniqueConsecutive", self, True, return_counts, place, values, inverse, counts)
    count = _read(inverse.view((), (), size - 1)) + 1
    return _return(values, where or 0, count, inverse if return_inverse else None, counts if return_counts else None)


def _unique_dim(
    self: AclArray, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> _Three:
    forbid_collecting()
    if not _is_taken(self) or not self.spec.shape:
        found: _Three = compose("unique_dim", self, dim, sorted, return_inverse, return_counts)
        return found
    where = wrap_dim(dim, len(self.spec.shape))
    size = self.spec.shape[where]
    values = allocate_result(contiguous(self.spec.shape, self.spec.dtype))
    inverse, counts = _places(size), _places(size)
    launch("aclnnUniqueDim", self, sorted, True, where, values, inverse, counts)
    count = _find_greatest(inverse) + 1
    return _return(values, where, count, inverse if return_inverse else None, counts if return_counts else None)


_bincount_rule: Final = cached_rule("bincount")


def _bincount(self: AclArray, weights: AclArray | None = None, minlength: int = 0) -> AclArray:
    forbid_collecting()
    with suppress(DataDependentShapeError):
        _bincount_rule(self, weights, minlength)
    if not self.spec.numel:
        found: AclArray = compose("bincount", self, weights, minlength)
        return found
    least, most = map(_read, REDUCTIONS["aminmax"](self))
    if least < 0:
        raise OperatorError(
            "bincount only supports 1-d non-negative integral inputs.", operator="aten::bincount", argument="self"
        )
    dtype = ScalarType.Long
    if weights is not None:
        dtype = ScalarType.Float if weights.spec.dtype is ScalarType.Float else ScalarType.Double
    counts = allocate_result(contiguous((max(most + 1, minlength),), dtype))
    launch("aclnnBincount", self, weights, minlength, counts)
    return counts


_one_hot_rule: Final = cached_rule("one_hot")


def _one_hot(self: AclArray, num_classes: int = -1) -> AclArray:
    """Return a row for each integer; where the number of classes is given, one out of range gets zeros alone."""
    if num_classes <= 0:
        forbid_collecting()
        if self.spec.dtype is not ScalarType.Long or not self.spec.numel or num_classes != -1:
            found: AclArray = compose("one_hot", self, num_classes)
            return found
        least, most = map(_read, REDUCTIONS["aminmax"](self))
        if least < 0:
            raise OperatorError("Class values must be non-negative.", operator="aten::one_hot", argument="self")
        num_classes = most + 1
    rows = allocate_result(_one_hot_rule(self, num_classes))
    if not rows.spec.numel:
        return rows
    one = contiguous((1,), ScalarType.Long)
    on, off = allocate_result(one), allocate_result(one)
    launch("aclnnInplaceOne", on)
    launch("aclnnInplaceZero", off)
    if self.spec.shape:
        launch("aclnnOneHot", self, num_classes, on, off, -1, rows)
    else:
        launch(
            "aclnnOneHot",
            self.view((1,), (1,), self.storage_offset),
            num_classes,
            on,
            off,
            -1,
            rows.view((1, num_classes), (num_classes, 1), 0),
        )
    return rows


_places_rule: Final = cached_rule("repeat_interleave.Tensor")


def _repeat_places(repeats: AclArray, *, output_size: int | None = None) -> AclArray:
    """Return each index as often as ``repeats`` says; negative ones are not looked for where the size is given."""
    if output_size is None:
        forbid_collecting()
        with suppress(DataDependentShapeError):
            _places_rule(repeats)
        if repeats.spec.numel:
            ends = allocate_result(contiguous((), ScalarType.Long))
            launch("aclnnReduceSum", repeats, (), False, ScalarType.Long, ends)
            least = allocate_result(contiguous((), repeats.spec.dtype))
            launch("aclnnMin", repeats, least)
            if _read(least) < 0:
                raise OperatorError(
                    "repeats can not be negative", operator="aten::repeat_interleave.Tensor", argument="repeats"
                )
            output_size = _read(ends)
    if not repeats.spec.numel or (output_size or 0) > _MOST_PLACES:
        found: AclArray = compose("repeat_interleave.Tensor", repeats, output_size=output_size)
        return found
    places = allocate_result(_places_rule(repeats, output_size=output_size))
    if places.spec.numel:
        launch("aclnnRepeatInterleaveTensor", repeats, output_size, places)
    return places


KERNELS: Final[dict[str, Callable[..., Any]]] = {
    "_unique2": _unique,
    "unique_consecutive": _unique_consecutive,
    "unique_dim": _unique_dim,
    "bincount": _bincount,
    "one_hot": _one_hot,
    "repeat_interleave.Tensor": _repeat_places,
}
