"""Operators that are made of others, and run on parts as a whole.

Note [Stacks of matrices]
    A stack is one long one to the operators that a product is made of, which cannot be cut at its inner dimensions. So
    products, and attention, of stacks that are cut alike run on the parts; a mask is laid as they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.placements import Partial, Replicate, Shard
from dispatch_core import frontends

from .class_losses import by_classes
from .tensor import PlacedPart, Spec, record_of

__all__ = ["MADE"]

_aten, _own = dc.ops.aten, dc.ops.dispatch


def _find_stacks(matrices: Sequence[Any], *, groups: bool = False) -> PlacedPart | None:
    """Return the record of the first of stacks that are cut alike; None where they are not. See Note [Stacks of matrices].

    With ``groups`` the first may have a multiple of the others' last dimension of stacks.
    """
    records = [record_of(each) for each in matrices]
    first = records[0]
    if first is None:
        return None
    spec, ndim = first.spec, len(first.spec.size)
    same = ndim - 3 if groups else ndim - 2
    if ndim < 4 or any(each.is_partial() or (each.is_shard() and each.dim >= ndim - 2) for each in spec.placements):  # type: ignore[attr-defined]
        return None
    for each in records:
        if each is None or each.spec.placements != spec.placements or each.spec.mesh is not spec.mesh:
            return None
        size = each.spec.size
        if len(size) != ndim or size[:same] != spec.size[:same]:
            return None
        if size[same : ndim - 2] != spec.size[same : ndim - 2] and size[same] % _count(spec, same):
            return None
    return first


def _count(spec: Spec, dim: int) -> int:
    """Return in how many parts a dimension lies."""
    found = 1
    for each, count in zip(spec.placements, spec.mesh.shape, strict=True):
        found *= count if each.is_shard(dim) else 1
    return found


def _run_on_parts(run: Callable[..., Any], first: PlacedPart, tensors: Sequence[Any], options: dict[str, Any]) -> Any:
    made = run(*tensors, **options)
    size = [*first.spec.size[:-2], *dc.shape(made)[-2:]]
    return _own.from_local(made, first.mesh, first.placements, size)


def _lay_mask(mask: Any, first: PlacedPart) -> Any:
    """Return this process's part of a mask, which lies as the matrices do where it has their dimensions.

    Its gradient is summed over the processes that have other matrices. None for a mask on no mesh.
    """
    record, spec = record_of(mask), first.spec
    if record is None or record.spec.mesh is not spec.mesh:
        return None
    size = record.spec.size
    ahead = len(spec.size) - len(size)

    def find(placement: Any) -> Any:
        dim = placement.dim - ahead if placement.is_shard() else -1
        return Shard(dim) if dim >= 0 and size[dim] != 1 else Replicate()

    lies = tuple(map(find, spec.placements))
    pairs = zip(lies, spec.placements, strict=True)
    gradients = tuple(Partial() if here.is_replicate() and there.is_shard() else here for here, there in pairs)
    return _own.to_local(_own.redistribute(mask, spec.mesh, lies), gradients)


def _multiply(self: Any, other: Any) -> Any:
    first = _find_stacks([self, other])
    if first is None:
        return _COMPOSITES["matmul"](self, other)
    return _run_on_parts(_aten.matmul, first, [_own.to_local(self), _own.to_local(other)], {})


def _attend(query: Any, key: Any, value: Any, attn_mask: Any = None, *values: Any, **options: Any) -> Any:
    defaults = {"dropout_p": 0.0, "is_causal": False, "scale": None, "enable_gqa": False}
    named = defaults | dict(zip(defaults, values, strict=False)) | options
    first = None if named["dropout_p"] else _find_stacks([query, key, value], groups=bool(named["enable_gqa"]))
    if first is not None:
        mask = None if attn_mask is None else _lay_mask(attn_mask, first)
        if (mask is None) == (attn_mask is None):
            parts = [*map(_own.to_local, (query, key, value)), mask]
            return _run_on_parts(_aten.scaled_dot_product_attention, first, parts, named)
    return _COMPOSITES["scaled_dot_product_attention"](query, key, value, attn_mask, *named.values())


def _cross_entropy(*values: Any, **options: Any) -> Any:
    with by_classes():
        return _COMPOSITES["cross_entropy_loss"](*values, **options)


#: The kernels of operators that are made of others, with a history and without.
MADE: Final[dict[str, Callable[..., Any]]] = {
    "matmul": _multiply,
    "scaled_dot_product_attention": _attend,
    "cross_entropy_loss": _cross_entropy,
}
_COMPOSITES: Final[dict[str, Any]] = {
    name: frontends.find_composite(getattr(_aten, name).default, "CompositeImplicitAutograd") for name in MADE
}
