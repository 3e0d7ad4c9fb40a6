"""``out=`` of functions of sparse tensors, which torch takes for some of them: the function's result, in the output's dtype.

An output takes the places and the size of the result. One with elements is refused where it would have to shrink.
"""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.variants import functional_of

from ..tensors.tensor import Tensor
from ..values.dtypes import can_cast
from .components import become
from .construction import make_empty
from .tensor import is_sparse, record_of, replace_values


def write_result(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Put the result of the function into the last tensor, in that one's dtype."""
    *more, out = rest
    _check_output(op, self, out)
    if out is self and not record_of(self).is_coalesced and _base(op) not in ("pow", "square", "conj_physical"):
        raise RuntimeError("expected coalesced tensor for inplace operation\nHint: x.coalesce() is one")
    return _store(_functional(op)(self, *more), out)


def write_same_dtype(op: Any, self: Tensor, *rest: Any) -> Tensor:
    """Do the same for functions that keep the dtype, or tell true from false: ``out`` is of that one."""
    *_, out = rest
    _check_output(op, self, out)
    own, kind = dc.dtype(self), dc.dtype(out)
    wanted = ScalarType.Bool if _base(op) in ("isposinf", "isneginf", "signbit") else own
    if kind is not wanted and not own.is_complex:  # of which there are absolute values
        raise RuntimeError(f"Found dtype {kind.name} but expected {wanted.name}")
    return write_result(op, self, *rest)


def write_converted(op: Any, self: Tensor, out: Tensor) -> Tensor:
    """Put the elements into ``out`` first, and apply the function to them there, in that one's dtype."""
    _check_output(op, self, out)
    name, own, kind = _base(op), dc.dtype(self), dc.dtype(out)
    if name == "conj_physical" and own.is_complex:
        return write_result(op, self, out)
    record = record_of(self)
    values = op.packet.default(record.values.to(kind)) if name != "conj_physical" else record.values.to(kind, copy=True)
    return become(out, replace_values(record, values))


def write_function(op: Any, *values: Any) -> Tensor:
    """Put the result of a function of several tensors, of which some may be strided, into the last one."""
    *given, out = values
    functional = _functional(op)
    split = len(functional.schema.positional)
    names = [each.name for each in functional.schema.arguments[split:]]
    found = functional(*given[:split], **dict(zip(names, given[split:], strict=True)))
    if is_sparse(found) is not is_sparse(out):
        one, other = ("sparse", "strided") if is_sparse(found) else ("strided", "sparse")
        raise RuntimeError(f"{op.name}: the result is {one}, and out is {other}")
    if is_sparse(found):
        _check_output(op, found, out)
    return _store(found, out)


def write_empty(op: Any, size: Any, out: Tensor) -> Tensor:
    """Leave all elements out, and take a size."""
    return become(out, make_empty(size, dc.dtype(out), out.device))


def _functional(op: Any) -> Any:
    """Return the overload without ``out``."""
    base, _, overload = (functional_of(op.name.removeprefix("aten::")) or "").partition(".")
    return getattr(getattr(dc.ops.aten, base), overload or "default")


def _store(found: Tensor, out: Tensor) -> Tensor:
    """Put a result into an output of the same layout."""
    kind = dc.dtype(out)
    if not can_cast(dc.dtype(found), kind):
        raise RuntimeError(f"result type {dc.dtype(found).name} can't be cast to the desired output type {kind.name}")
    if not is_sparse(out):
        return (out if out.shape == found.shape else out.resize_(found.shape)).copy_(found)
    record = record_of(found)
    return become(out, replace_values(record, record.values.to(kind)))


def _base(op: Any) -> str:
    """Return an operator's name without namespace and overload."""
    name: str = op.name
    return name.removeprefix("aten::").partition(".")[0]


def _check_output(op: Any, self: Tensor, out: Tensor) -> None:
    """Refuse an output that is not sparse, or has elements and would have to lose dimensions or places of them."""
    if not is_sparse(self) or not is_sparse(out):
        raise RuntimeError(f"{op.name}: the tensor and out must both be sparse")
    own, other = record_of(self), record_of(out)
    if not other.count:
        return
    if (own.sparse_dim, len(own.size)) != (other.sparse_dim, len(other.size)):
        raise RuntimeError(
            f"changing the number of sparse dimensions (from {other.sparse_dim} to {own.sparse_dim}) or dense ones on a"
            " non-empty sparse tensor is not supported\nHint: out=torchlike.sparse_coo_tensor(size) is an empty one"
        )
    if any(new < old for new, old in zip(own.size, other.size, strict=True)):
        raise RuntimeError(
            f"shrinking the size of dimensions (from {list(other.size)} to {list(own.size)}) on a non-empty sparse tensor"
            " is not supported\nHint: out=torchlike.sparse_coo_tensor(size) is an empty one"
        )
