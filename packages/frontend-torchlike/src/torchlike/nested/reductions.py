"""Reductions: over the rows' other dimensions, over the ragged one, and over everything, as torch has them.

Note [Reductions of a ragged dimension]
    Sums add each value to that of its row, which reads no lengths. Others are computed of padded rows, with a padding that
    changes no result: so backward goes the same way. The batch's dimension can only be reduced together with the ragged one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..tensors.tensor import Tensor
from ..values.dtypes import finfo, iinfo
from .operators import Operator, canonical, inner_dim, refuse_gaps
from .padding import locate, pad
from .tensor import Jagged, wrap_values


def _lowest(dtype: ScalarType) -> Any:
    if dtype is ScalarType.Bool:
        return False
    return finfo(dtype).min if dtype.is_floating_point else iinfo(dtype).min


def _highest(dtype: ScalarType) -> Any:
    if dtype is ScalarType.Bool:
        return True
    return finfo(dtype).max if dtype.is_floating_point else iinfo(dtype).max


#: Name → the padding that leaves the result as it is, by the dtype.
NEUTRAL: Final[dict[str, Callable[[ScalarType], Any]]] = {
    **dict.fromkeys(("nansum", "any", "count_nonzero"), lambda dtype: 0),
    **dict.fromkeys(("prod", "all"), lambda dtype: 1),
    **dict.fromkeys(("max", "amax", "argmax"), _lowest),
    **dict.fromkeys(("min", "amin", "argmin"), _highest),
}
#: Reductions that torch has of all elements.
_OF_ALL: Final = frozenset("sum mean prod any all max min amax amin argmax argmin".split())


def reduce(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Apply a reduction; see Note [Reductions of a ragged dimension]."""
    given = operator.bind(values)
    record: Jagged = given["self"]._dispatch_data
    dim = given.get("dim")
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return _reduce_all(operator, given, record)
    dims = dim if isinstance(dim, (list, tuple)) else [dim]
    rank = record.values.dim() + 1
    outer = sorted({canonical(each, rank) for each in dims})
    of_batch, of_rows = 0 in outer, record.ragged in outer
    others = [each for each in outer if each not in (0, record.ragged)]
    if of_rows:
        refuse_gaps(operator, record)
    if of_batch and not of_rows:
        operator.refuse(
            "reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"
        )
    if of_rows and others and not of_batch:
        operator.refuse("reducing along a ragged and non-batch dimension is not supported for nested tensors")
    if of_rows and not of_batch:
        return _reduce_rows(operator, given, record)
    inner = sorted({record.ragged - 1 if each in (0, record.ragged) else each - 1 for each in outer})
    given["self"] = record.values
    given["dim"] = inner if isinstance(dim, (list, tuple)) else inner[0]
    found = operator.call(given)
    keeps = bool(given.get("keepdim"))
    if of_batch:
        return _each(found, lambda each: each.unsqueeze(0)) if keeps else found
    moved = 0 if keeps else sum(each < record.ragged - 1 for each in inner)
    return _each(found, lambda each: wrap_values(record, each, record.ragged - moved))


def _each(found: Any, function: Callable[[Tensor], Any]) -> Any:
    return type(found)([function(each) for each in found]) if isinstance(found, (list, tuple)) else function(found)


def _reduce_all(operator: Operator, given: dict[str, Any], record: Jagged) -> Any:
    if operator.packet not in _OF_ALL:
        operator.refuse("reducing all dimensions is not supported for nested tensors", "call it on x.values()")
    refuse_gaps(operator, record)
    given["self"] = record.values
    found = operator.call(given)
    return found.unsqueeze(record.ragged) if given.get("keepdim") else found


def _reduce_rows(operator: Operator, given: dict[str, Any], record: Jagged) -> Any:
    if operator.packet in ("sum", "mean"):
        return _add_rows(operator, given, record)
    if operator.packet not in NEUTRAL:
        operator.refuse(
            "not supported for NestedTensor on ragged dim", "call it on x.to_padded_tensor(...), or on the rows"
        )
    padding = NEUTRAL[operator.packet](record.values.dtype)
    given["self"] = pad(record, padding, record.find_longest())
    return operator.call(given)


def _add_rows(operator: Operator, given: dict[str, Any], record: Jagged) -> Tensor:
    """Return the sums or means of the rows, of values that are added to the row that they belong to."""
    values, wanted = record.values, given.get("dtype")
    if (
        operator.packet == "mean"
        and not (wanted or values.dtype).is_floating_point | (wanted or values.dtype).is_complex
    ):
        return operator.call(given | {"self": values, "dim": [record.ragged - 1]})  # which refuses the dtype
    dtype = wanted or (values.dtype if values.dtype.is_floating_point or values.dtype.is_complex else ScalarType.Long)
    wide = ScalarType.Float if dtype in (ScalarType.Half, ScalarType.BFloat16) else dtype
    packed = values.to(wide).movedim(record.ragged - 1, 0)
    rows, _ = locate(record)
    batch = dc.shape(record.offsets)[0] - 1
    found: Tensor = packed.new_zeros((batch, *dc.shape(packed)[1:])).index_add(0, rows, packed)
    if operator.packet == "mean":
        found = found / record.row_lengths().reshape([-1] + [1] * (found.dim() - 1))
    found = found.to(dtype)
    return found.unsqueeze(record.ragged) if given.get("keepdim") else found


def take_dims(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Apply an operator along dimensions that its schema names, none of which is the batch's or the ragged one."""
    given = operator.bind(values)
    record: Jagged = given["self"]._dispatch_data
    name = next(each for each in ("dim", "dims") if each in given)
    dims: Any = given[name]
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        operator.refuse("reducing all dimensions is not supported for nested tensors", "call it on x.values()")
    several = isinstance(dims, (list, tuple))
    inner = [inner_dim(operator, record, each) for each in (dims if isinstance(dims, (list, tuple)) else [dims])]
    given["self"], given[name] = record.values, inner if several else inner[0]
    rank = record.values.dim()

    def wrap(found: Tensor) -> Tensor:
        lost = sum(each < record.ragged - 1 for each in inner) if len(dc.shape(found)) < rank else 0
        return wrap_values(record, found, record.ragged - lost)

    return _each(operator.call(given), wrap)
