"""Padding: indices that point back into the array, and for gradients the added borders laid back onto it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, arange_like, aten, copy_into, fill, meta_of, ndim
from dispatch_aten.decompositions._writes import scatter_into
from dispatch_aten.errors import OperatorError, UnsupportedError
from dispatch_aten.families.padding.shapes import padding_pairs
from dispatch_aten.promotion import Number
from dispatch_aten.shapes import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _crop(self: Array, around: Sequence[tuple[int, int]]) -> Array:
    """Return a view without the parts that negative padding takes away."""
    for dim, (before, after) in enumerate(around):
        if before < 0 or after < 0:
            size = dc.shape(self)[dim]
            self = aten.slice.Tensor(self, dim, max(-before, 0), size - max(-after, 0))
    return self


def _constant_pad_nd(self: Array, pad: Sequence[int], value: Number = 0) -> Array:
    wanted = RULES["constant_pad_nd"](meta_of(self), pad, value)
    around = padding_pairs(pad, ndim(self))
    inner = _crop(self, around)
    if all(each <= 0 for each in pad):
        return aten.clone.default(inner)
    fresh = aten.new_empty_strided.default(self, wanted.shape, wanted.strides)
    fresh = fill(fresh, value)
    if 0 in dc.shape(inner):
        return fresh
    starts = [max(before, 0) for before, _ in around]
    places = [
        (dim, start, start + size, 1) for dim, (start, size) in enumerate(zip(starts, dc.shape(inner), strict=True))
    ]
    return scatter_into(fresh, [(aten.slice.Tensor, place) for place in places], inner)


def _source(self: Array, size: int, before: int, after: int, *, reflects: bool) -> Array:
    """Return the places in a dimension of ``size`` that its padded elements come from."""
    places = aten.sub.Scalar(arange_like(self, size + before + after), before)
    if not reflects:
        return aten.clamp.default(places, 0, size - 1)
    turned = aten.rsub.Scalar(aten.abs.default(places), size - 1)
    return aten.rsub.Scalar(aten.abs.default(turned), size - 1)


def _pad_by(name: str, *, reflects: bool) -> Callable[..., Array]:
    def kernel(self: Array, padding: Sequence[int]) -> Array:
        wanted = RULES[name](meta_of(self), padding)
        found = self
        for dim, (before, after) in enumerate(padding_pairs(padding, ndim(self))):
            if before or after:
                size = dc.shape(self)[dim]
                index = _source(self, size, before, after, reflects=reflects)
                found = aten.index_select.default(found, dim, index)
        return in_format(aten.clone.default(self) if found is self else found, wanted)

    return kernel


def in_format(found: Array, wanted: Any) -> Array:
    """Return a fresh array with the strides that a rule has inferred."""
    if dc.strides(found) == wanted.strides or not dc.has_strides(found):
        return found
    return copy_into(aten.new_empty_strided.default(found, wanted.shape, wanted.strides), found)


def _lay_back(grad: Array, dim: int, size: int, before: int, after: int, *, reflects: bool) -> Array:
    """Return the gradient of one padded dimension: its inner part, and the borders added where they come from."""
    count = ndim(grad)
    whole = dc.shape(grad)[dim]
    left = min(max(before, 0), whole)
    right = max(min(before + size, whole), left)

    def place(part: Array, start: int) -> Array:
        pad = [0, 0] * (count - 1 - dim) + [start, size - start - dc.shape(part)[dim]]
        return aten.constant_pad_nd.default(part, pad, 0)

    def border(start: int, stop: int) -> Array:
        part = aten.slice.Tensor(grad, dim, start, stop)
        return aten.flip.default(part, [dim]) if reflects else aten.sum.dim_IntList(part, [dim], True)

    found = place(aten.slice.Tensor(grad, dim, left, right), max(-before, 0) if right > left else 0)
    if left:
        found = aten.add.Tensor(found, place(border(0, left), 1 if reflects else 0))
    if right < whole:
        start = size - 1 - (whole - right) if reflects else size - 1
        found = aten.add.Tensor(found, place(border(right, whole), start))
    return found


def _pad_backward(name: str, *, reflects: bool) -> Callable[..., Array]:
    def kernel(grad_output: Array, self: Array, padding: Sequence[int]) -> Array:
        wanted = RULES[name](meta_of(grad_output), meta_of(self), padding)
        found = grad_output
        for dim, (before, after) in enumerate(padding_pairs(padding, ndim(self))):
            if before or after:
                found = _lay_back(found, dim, dc.shape(self)[dim], before, after, reflects=reflects)
        return in_format(aten.clone.default(found) if found is grad_output else found, wanted)

    return kernel


def _pad_circular(self: Array, pad: Sequence[int]) -> Array:
    shape = dc.shape(self)
    if len(pad) + 4 != 2 * len(shape):
        raise OperatorError(
            f"Invalid padding size, expected {2 * len(shape) - 4} but got {len(pad)}",
            operator="aten::_pad_circular",
            argument="pad",
        )
    found = self
    for dim, (before, after) in enumerate(padding_pairs(pad, len(shape))):
        size = shape[dim]
        if before > size or after > size:
            raise OperatorError("Padding value causes wrapping around more than once.", argument="pad")
        if size + before + after < 0:
            raise OperatorError("Negative padding value is resulting in an empty dimension", argument="pad")
        middle = aten.slice.Tensor(found, dim, max(-before, 0), size - max(-after, 0))
        inner = dc.shape(middle)[dim]
        parts = [middle]
        if before > 0:
            parts.insert(0, aten.slice.Tensor(middle, dim, inner - before, inner))
        if after > 0:
            parts.append(aten.slice.Tensor(middle, dim, 0, after))
        found = middle if len(parts) == 1 else aten.cat.default(parts, dim)
    return aten.clone.default(found, memory_format=0)


#: In the order of torch's enumeration.
_MODES: Final = ("reflect", "replicate", "circular", "constant")


def _pad_enum(self: Array, pad: Sequence[int], mode: int, value: float | None = None) -> Array:
    if len(pad) % 2:
        raise OperatorError("Padding length must be divisible by 2", argument="pad")
    count = ndim(self)
    if len(pad) > 2 * count:
        raise OperatorError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {count}",
            argument="pad",
        )
    name = _MODES[mode] if 0 <= mode < len(_MODES) else ""
    if name == "constant":
        return aten.constant_pad_nd.default(self, pad, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise OperatorError(f'Padding mode "{name}" doesn\'t take in value argument', argument="value")
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or count not in (dims + 1, dims + 2):
        raise UnsupportedError(
            f"Padding size {len(pad)} is not supported for {count}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)",
            argument="pad",
        )
    if name == "circular":
        if count == dims + 1:
            return aten.squeeze.dim(aten._pad_circular.default(aten.unsqueeze.default(self, 0), pad), 0)
        return aten._pad_circular.default(self, pad)
    kind = {"reflect": "reflection", "replicate": "replication"}.get(name)
    if kind is None:
        raise UnsupportedError(f"Unrecognised padding mode {mode}", argument="mode")
    return getattr(aten, f"{kind}_pad{dims}d").default(self, pad)


def _pad(self: Array, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Array:
    if mode not in _MODES:
        raise UnsupportedError(f"Unrecognised padding mode {mode}", argument="mode")
    return aten._pad_enum.default(self, pad, _MODES.index(mode), value)


def _explicit() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {"constant_pad_nd": _constant_pad_nd}
    for kind in ("reflection", "replication"):
        for name in (f"{kind}_pad{count}d" for count in (1, 2, 3)):
            found[name] = _pad_by(name, reflects=kind == "reflection")
            found[f"{name}_backward"] = _pad_backward(f"{name}_backward", reflects=kind == "reflection")
    return found


FORMULAS: Final[dict[str, Callable[..., Any]]] = _explicit()
