"""``t[...]`` and ``t[...] = value``: Python's indices as select, slice, unsqueeze, index and index_put_.

Ints, slices, ``None`` and ``...`` make views, one operator for each; tensors, masks and sequences are gathered and indexed
at once at the end, as in torch.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import QUANTIZED, ScalarType, float16, get_default_dtype
from dispatch_core import frontends
from dispatch_core.keys import LAYOUTS
from dispatch_core.tracebacks import trim_traceback

from ..creation.factories import FACTORIES, tensor
from ..creation.literals import is_sequence
from ..history.metadata import is_plain
from ..history.transforms import FRONT
from ..overriding.handling import PLAIN, make_override
from ..overriding.mode_stack import ENTERED
from ..tensors.arrays import put
from ..tensors.foreign_data import is_foreign
from ..tensors.tensor import Tensor, frontend
from ..values.dtypes import format_type
from ..values.layouts import has_sparse_layout

_LONGEST_TUPLE = 32
_aten = dc.ops.aten
_alias, _index, _index_put, _select_int, _slice_tensor, _unsqueeze = (
    _aten.alias.default,
    _aten.index.Tensor,
    _aten.index_put_.default,
    _aten.select.int,
    _aten.slice.Tensor,
    _aten.unsqueeze.default,
)
_copy, _fill_number, _fill_tensor, _view = (
    _aten.copy_.default,
    _aten.fill_.Scalar,
    _aten.fill_.Tensor,
    _aten.view.default,
)
_INDEX_TYPES = frozenset({ScalarType.Long, ScalarType.Int, ScalarType.Short, ScalarType.Char})


def _as_tuple(index: Any) -> tuple[Any, ...]:
    """Read a lone index as a tuple of one; a list that holds more than numbers is read as a tuple, as torch still does."""
    if isinstance(index, tuple):
        return index
    if (
        isinstance(index, list)
        and len(index) < _LONGEST_TUPLE
        and any(
            item is None or item is ... or isinstance(item, (Tensor, list, tuple, range, slice, np.ndarray))
            for item in index
        )
    ):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of "
            "x[seq]. Later this will be interpreted as tensor index, x[torchlike.tensor(seq)], which will result "
            "either in an error or a different result",
            UserWarning,
            stacklevel=4,
        )
        return tuple(index)
    return (index,)


def _count_dims(item: Any) -> int:
    """Return the number of dimensions of the tensor that an index stands for."""
    if type(item) is int or type(item) is slice:
        return 1
    if item is None or item is ... or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, np.ndarray):
        return item.ndim if item.dtype == np.bool_ else 1
    if not isinstance(item, Tensor):
        if not is_foreign(item):
            return 1
        item = tensor(item)
    return item.dim() if _is_mask(item) else 1


def _as_index(item: Any, self: Tensor) -> Any:
    """Turn one index into None, ``...``, a slice, an int or a tensor; raises ``IndexError`` for anything else."""
    if type(item) is int:
        return item
    if item is None or item is ... or isinstance(item, (slice, Tensor)):
        if isinstance(item, Tensor) and not (item.dtype in _INDEX_TYPES or _is_mask(item)):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return item
    if isinstance(item, (bool, np.bool_)):
        return tensor(bool(item), device=self.device)
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, (list, tuple, range)):
        made = tensor(list(item), device=self.device)
        return made if _is_mask(made) else made.to(ScalarType.Long)
    if isinstance(item, np.ndarray):
        return tensor(item, device=self.device)
    if is_foreign(item) or is_sequence(item):  # of another library, or a sequence of another class
        made = tensor(item, device=self.device)
        return made.to(ScalarType.Long) if not made.numel() and made.is_floating_point() else _as_index(made, self)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(item).__name__})"
    )


def _split(self: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None]]:
    """Apply the part of an index that makes views; return the view and the tensors that are left to index it with."""
    try:
        shape = _read_shape(self)
        rank = len(shape)
        if isinstance(index, Tensor):
            count, is_mask = index.dim(), index.dtype is ScalarType.Bool
            if count and rank >= (count if is_mask else 1) and (is_mask or index.dtype in _INDEX_TYPES):
                return self, [index]
        elif (found := _take_ranges(self, index if type(index) is tuple else (index,), shape)) is not None:
            return found, []
        items = _as_tuple(index)
        if len(items) <= rank and all(map(_is_list_of_places, items)):
            return self, [*items]
        used = sum(_count_dims(item) for item in items)
        if not rank and isinstance(index, int) and not isinstance(index, bool):
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number"
            )
        if not rank and isinstance(index, slice):
            _read_bounds(index)
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        if used > rank:
            raise IndexError(f"too many indices for tensor of dimension {rank}")
        result = self
        dim = covered = place = 0
        left: list[Tensor | None] = []
        for each in items:
            item = _as_index(each, self)
            if item is ...:
                dim += rank - used
                place += rank - used
            elif item is None:
                result = _unsqueeze(result, dim)
                dim += 1
            elif isinstance(item, slice):
                result = _slice(result, dim, item)
                dim += 1
                place += 1
            elif not isinstance(item, Tensor):
                result = _select(result, dim, item, place)
                place += 1
            elif item.dim() or _is_mask(item) or item.is_meta or item._dispatch_mask & FRONT:
                if not item.dim() and _is_mask(
                    item
                ):  # a mask without dimensions keeps or drops one that is added for it
                    result = _unsqueeze(result, dim)
                    item = item.reshape(1).to(ScalarType.Bool)
                left.extend([None] * (dim - covered))
                left.append(item)
                dim += item.dim() if _is_mask(item) else 1
                covered = dim
                place += _count_dims(item)
            else:
                result = _select(result, dim, int(item), place)
                place += 1
        return result, left
    except Exception as error:
        trim_traceback(error)
        raise


def _take_ranges(self: Tensor, items: tuple[Any, ...], shape: tuple[int, ...]) -> Tensor | None:
    """Apply indices of one dimension or none each, without ado; None where they have other types, or do not fit."""
    skipped, dots = len(shape) - len(items), 0
    for item in items:
        kind = type(item)
        if kind is not int and kind is not slice:
            if item is None:
                skipped += 1
            elif item is ... and not dots:
                skipped += 1
                dots = 1
            else:
                return None
    if skipped < 0:
        return None
    result, dim, place = self, 0, 0
    for item in items:
        kind = type(item)
        if kind is slice:
            if not item.start is item.stop is item.step is None:
                start, stop, step = _read_bounds(item)
                result = _slice_tensor(result, dim, start, stop, step)
            dim += 1
            place += 1
        elif kind is int:
            size = shape[place]
            if not -size <= item < size:
                raise IndexError(f"index {item} is out of bounds for dimension {place} with size {size}")
            result = _select_int(result, dim, item)
            place += 1
        elif item is None:
            result = _unsqueeze(result, dim)
            dim += 1
        else:  # ``...`` represents the dimensions that have no index
            dim += skipped
            place += skipped
    return result


def _is_list_of_places(item: Any) -> bool:
    return isinstance(item, Tensor) and item.dtype in _INDEX_TYPES and item.dim() > 0


def _is_mask(item: Tensor) -> bool:
    return item.dtype in (ScalarType.Bool, ScalarType.Byte)


def _read_shape(self: Tensor) -> tuple[int, ...]:
    data = self._dispatch_data
    shape: tuple[int, ...] = data.shape if is_plain[type(data)] else dc.shape(data)
    return shape


def _read_strides(self: Tensor) -> tuple[int, ...]:
    """Return the strides, in bytes where NumPy has them: whether one is 0 is all that is asked."""
    data = self._dispatch_data
    strides: tuple[int, ...] = data.strides if type(data) is np.ndarray and data.size else dc.strides(data)
    return strides


def _select(self: Tensor, dim: int, index: int, place: int) -> Tensor:
    """Take one row of dimension ``dim``, which was number ``place`` before others were taken out."""
    shape = _read_shape(self)
    if dim >= len(shape):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}], but got {dim})\n"
            "Hint: write `...` once; each represents all dimensions that have no index"
        )
    size = shape[dim]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {place} with size {size}")
    return _select_int(self, dim, index)


def _read_bounds(item: slice) -> tuple[int | None, int | None, int]:
    """Read the bounds of a slice; raises ``ValueError`` for the steps that torch refuses."""
    start, stop, step = item.start, item.stop, item.step
    if start is not None and (type(start) is not int or not -_FARTHEST <= start <= _FARTHEST):
        start = _to_int(start)
    if stop is not None and (type(stop) is not int or not -_FARTHEST <= stop <= _FARTHEST):
        stop = _to_int(stop)
    if step is None:
        return start, stop, 1
    step = _to_int(step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero\nHint: flip(x, dims) copies a tensor in reverse")
    return start, stop, step


def _slice(self: Tensor, dim: int, item: slice) -> Tensor:
    start, stop, step = _read_bounds(item)
    if start is stop is None and step == 1:
        return self
    return _slice_tensor(self, dim, start, stop, step)


#: As in Python, a slice's bound beyond any size is one that is as far as there is.
_FARTHEST: Final = (1 << 63) - 1


def _to_int(part: Any) -> int:
    if type(part) is int and -_FARTHEST <= part <= _FARTHEST:
        return part
    try:
        number = int(part.__index__())
    except Exception as error:  # noqa: BLE001  # the conversion is the caller's, and may raise anything
        why = f": {error}" if isinstance(part, int) else ""
        raise TypeError(f"slice indices must be integers or None or have an __index__ method{why}") from None
    return min(max(number, -_FARTHEST), _FARTHEST)


_ask_getitem: Final = make_override(lambda: Tensor.__getitem__)
_ask_setitem: Final = make_override(lambda: Tensor.__setitem__)


def getitem(self: Tensor, index: Any) -> Tensor:
    """Read elements: a view where the index has no tensors, else a copy."""
    if (ENTERED or type(self) is not Tensor) and (overridden := _ask_getitem((self, index), {})) is not NotImplemented:
        return overridden
    # The plain cases of `_split`, at once.
    kind = type(index)
    if kind is int or kind is slice or kind is tuple:
        data = self._dispatch_data
        shape = data.shape if is_plain[type(data)] else dc.shape(data)
        result = None
        if kind is tuple:
            result = _take_ranges(self, index, shape)
        elif shape:
            if kind is slice:
                result = _slice(self, 0, index)
            elif -shape[0] <= index < shape[0]:
                return _select_int(self, 0, index)
        if result is not None:
            return _alias(result) if result is self else result
    elif index is None:
        return _unsqueeze(self, 0)
    if kind not in PLAIN and (overridden := _ask_getitem((self, index), {})) is not NotImplemented:
        return overridden
    result, left = _split(self, index)
    if left:
        result = _index(result, left)
    elif result is self:
        # Even ``t[...]`` is a tensor of its own.
        result = _alias(result)
    return result


#: Ints, slices, None and ``...`` are read by a compiled front, if there is one.
getitem = frontends.make_items(
    frontend,
    getitem,
    array_type=np.ndarray,
    unless=ENTERED,
    operators=(_select_int, _slice_tensor, _unsqueeze, _alias),
    frames=(_slice, _take_ranges),
)


def _make_source(self: Tensor, value: complex) -> Tensor:
    """Return a number as a tensor of the dtype and on the device of the one that it is written to."""
    data = self._dispatch_data
    if type(data) is np.ndarray and data.dtype in _FLOATS and type(value) is float and -_LARGE < value < _LARGE:
        return put(np.array(value, data.dtype))
    make = FACTORIES["scalar_tensor"] if isinstance(value, complex) else tensor
    dtype = get_default_dtype() if self.dtype in QUANTIZED else self.dtype
    return make(value, dtype=dtype, device=self.device)


#: Dtypes that hold every number below.
_FLOATS: Final = frozenset(map(np.dtype, "fd"))
_LARGE: Final = 1e30


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Write elements, with broadcasting; a number fills, a tensor is copied in."""
    if (ENTERED or type(self) is not Tensor or type(value) not in PLAIN or type(index) not in PLAIN) and _ask_setitem(
        (self, index, value), {}
    ) is not NotImplemented:
        return
    if self._dispatch_mask & LAYOUTS and has_sparse_layout(self):
        raise TypeError("Cannot assign to a sparse tensor\nHint: make another one, of its indices and values")
    target, left = _split(self, index)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Tensor):
        source = value
    elif not isinstance(value, (bool, int, float, complex)):
        hint = (
            "\nHint: make a tensor of it first, with torchlike.tensor"
            if is_foreign(value) or is_sequence(value)
            else ""
        )
        raise TypeError(f"can't assign a {type(value).__name__} to a {format_type(self)}{hint}")
    elif left:
        _index_put(target, left, _make_source(self, value))
        return
    else:
        if self.dtype is float16 or 0 in _read_strides(target):
            # Torch makes a tensor of each number. A half holds any then, and elements that share memory are not written to.
            value = FACTORIES["scalar_tensor"](value, dtype=self.dtype, device=self.device)
            _fill_tensor(target, value)
        else:
            _fill_number(target, value)
        return
    # A complex number may not fit, which is for the operator to say.
    dtype = target.dtype
    if left and source.dtype != dtype and source.dim() == 0 and not source.dtype.is_complex and dtype not in QUANTIZED:
        source = source.to(dtype)
    # Leading dimensions of size one are dropped, so that a row can be set from a matrix of one row.
    shape = _read_shape(source)
    if shape and shape[0] == 1:
        ones = next((place for place, size in enumerate(shape) if size != 1), len(shape))
        source = _view(source, shape[ones:])
    if left:
        _index_put(target, left, source)
    else:
        _copy(target, source)
