"""Writes through views of arrays that cannot be written: the base with another part, as a new array.

Each view has an inverse: a function of the base's array and of the part's new one that gives the base's new one. Of a view
of a view the inverses are folded from the last to the first, so that no more is computed than the part and the slices
that it lies in. A write through an expanded view leaves its last value, as the same write does in torch where it is
allowed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import dispatch_core as dc

from .decompositions._shared import Array, arange_like, aten, numel, prims
from .families.view.functional import (
    cut,
    diagonal_slice,
    positions,
    reorder,
    reshape_to,
    slice_bounds,
    transposition,
)
from .shapes import RULES, contiguous
from .shapes.dims import wrap_dim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .shapes import TensorMeta

__all__ = ["write_through"]

Step = tuple[Any, tuple[Any, ...]]
"""A view: the operator, and its arguments after the first."""


def _call(function: Callable[..., Any], operator: Any, first: Any, args: Sequence[Any]) -> Any:
    """Call an operator or its rule; ``args`` are all arguments after the first in schema order."""
    further = operator.schema.arguments[1:]
    count = sum(not argument.kwarg_only for argument in further)
    names = [argument.name for argument in further[count:]]
    return function(first, *args[:count], **dict(zip(names, args[count:], strict=False)))


def write_through(base: Array, views: Sequence[Step], part: Array) -> Array:
    """Return ``base`` with ``part`` in the elements that a view of a view of it shows; nothing is written to.

    >>> import numpy as np
    >>> base, aten = np.zeros((2, 3)), dc.ops.aten
    >>> write_through(base, [(aten.t.default, ()), (aten.select.int, (0, 1))], np.array([1.0, 2.0]))
    array([[0., 1., 0.],
           [0., 2., 0.]])
    >>> write_through(np.zeros(2), [(aten.expand.default, ((3, 2),)), (aten.select.int, (0, 1))], np.ones(2))
    array([1., 1.])
    """
    held, metas = [base], [contiguous(dc.shape(base), dc.dtype(base))]

    def make(count: int) -> Array:
        while len(held) <= count:
            operator, args = views[len(held) - 1]
            held.append(_call(operator, operator, held[-1], args))
        return held[count]

    for number, (operator, args) in enumerate(views):
        rule = RULES.get(operator.name.removeprefix("aten::"))
        found = None if rule is None else _call(rule, operator, metas[-1], args)
        view = make(number + 1) if found is None else found
        metas.append(
            contiguous(dc.shape(view), dc.dtype(view)) if found is None else contiguous(found.shape, found.dtype)
        )
    last = len(views)
    for number in range(last - 1):
        # A view of an expanded one shows some of its rows, of which the last need not be one.
        if views[number][0].name == "aten::expand" and metas[number + 1].numel != metas[number].numel:
            places = arange_like(base, metas[number].numel)
            places = reshape_to(places, metas[number].shape)
            for operator, args in views[number:]:
                places = _call(operator, operator, places, args)
            part = _place(partial(make, number), metas[number], metas[-1], part, places)
            last = number
            break
    for number in reversed(range(last)):
        operator, args = views[number]
        inverse = _INVERSES.get(operator.name, partial(_by_position, operator))
        part = inverse(partial(make, number), metas[number], metas[number + 1], part, *args)
    return part


def _reshape(base: Callable[[], Array], whole: TensorMeta, view: TensorMeta, part: Array, *_: Any) -> Array:
    return reshape_to(part, whole.shape)


def _turn(order: Sequence[int], part: Array) -> Array:
    """Return the array whose dimensions were brought into an order."""
    back = sorted(range(len(order)), key=order.__getitem__)
    return reorder(part, back)


def _permute(base: Callable[[], Array], whole: TensorMeta, view: TensorMeta, part: Array, dims: Sequence[int]) -> Array:
    return _turn([wrap_dim(dim, whole.ndim) for dim in dims], part)


def _transpose(
    base: Callable[[], Array], whole: TensorMeta, view: TensorMeta, part: Array, dim0: int = 0, dim1: int = -1
) -> Array:
    return _turn(transposition(whole.ndim, dim0, dim1), part)


def _put(whole: Callable[[], Array], size: int, part: Array, dim: int, start: int, end: int, step: int) -> Array:
    """Return an array with ``part`` in some places of a dimension."""
    if (start, end, step) == (0, size, 1):
        return part
    return prims.slice_scatter.default(whole(), part, dim, start, end, step) if start < end else whole()


def _slice(
    base: Callable[[], Array],
    whole: TensorMeta,
    view: TensorMeta,
    part: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    dim = wrap_dim(dim, whole.ndim)
    size = whole.shape[dim]
    return _put(base, size, part, dim, *slice_bounds(size, start, end, step))


def _select(base: Callable[[], Array], whole: TensorMeta, view: TensorMeta, part: Array, dim: int, index: int) -> Array:
    dim = wrap_dim(dim, whole.ndim)
    size = whole.shape[dim]
    row = reshape_to(part, (*whole.shape[:dim], 1, *whole.shape[dim + 1 :]))
    return _put(base, size, row, dim, index % size, index % size + 1, 1)


def _diagonal(
    base: Callable[[], Array],
    whole: TensorMeta,
    view: TensorMeta,
    part: Array,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
) -> Array:
    order, flat, bounds = diagonal_slice(whole.shape, offset, dim1, dim2)

    def lines() -> Array:
        return reshape_to(reorder(base(), order), flat)

    found = _put(lines, flat[-1], part, len(flat) - 1, *bounds)
    return _turn(order, reshape_to(found, tuple(whole.shape[dim] for dim in order)))


def _expand(base: Callable[[], Array], whole: TensorMeta, view: TensorMeta, part: Array, *_: Any, **__: Any) -> Array:
    if not view.numel:
        return base()
    new = view.ndim - whole.ndim
    for dim, size in enumerate(view.shape):
        if size > 1 and (dim < new or whole.shape[dim - new] == 1):
            part = cut(part, dim, size - 1, size)
    return reshape_to(part, whole.shape)


def _place(base: Callable[[], Array], whole: TensorMeta, view: TensorMeta, part: Array, places: Array) -> Array:
    flat = reshape_to(base(), (whole.numel,))
    found = aten.index_put.default(flat, [reshape_to(places, (view.numel,))], reshape_to(part, (view.numel,)))
    return reshape_to(found, whole.shape)


def _by_rule(name: str) -> Callable[..., Array]:
    """Make the inverse of a view that shows elements in no order of dimensions."""

    def inverse(base: Callable[[], Array], whole: TensorMeta, view: TensorMeta, part: Array, *args: Any) -> Array:
        if not view.numel:
            return base()
        places = positions(base(), RULES[name](whole, *args))
        return _place(base, whole, view, part, places)

    return inverse


def _by_position(
    operator: Any, base: Callable[[], Array], whole: TensorMeta, view: TensorMeta, part: Array, *args: Any
) -> Array:
    """Write through a view that another library has defined: its elements' positions are the view of all positions."""
    lines = reshape_to(arange_like(base(), numel(base())), whole.shape)
    return _place(base, whole, view, part, _call(operator, operator, lines, args))


def _return_part(base: Callable[[], Array], whole: TensorMeta, view: TensorMeta, part: Array, *_: Any) -> Array:
    return part


def _by_operator(name: str) -> Callable[..., Array]:
    """Make the inverse of a view of complex numbers, which is the operator's opposite."""
    return lambda base, whole, view, part: getattr(aten, name).default(part)


_INVERSES: Final[dict[str, Callable[..., Array]]] = {
    "aten::alias": _return_part,
    "aten::as_strided": _by_rule("as_strided"),
    "aten::detach": _return_part,
    "aten::diagonal": _diagonal,
    "aten::expand": _expand,
    "aten::permute": _permute,
    "aten::select.int": _select,
    "aten::slice.Tensor": _slice,
    "aten::squeeze": _reshape,
    "aten::squeeze.dim": _reshape,
    "aten::squeeze.dims": _reshape,
    "aten::t": _transpose,
    "aten::transpose.int": _transpose,
    "aten::unfold": _by_rule("unfold"),
    "aten::unsqueeze": _reshape,
    "aten::view": _reshape,
    "aten::view.dtype": lambda base, whole, view, part, *_: aten.view.dtype(part, whole.dtype),
    "aten::view_as_complex": _by_operator("view_as_real"),
    "aten::view_as_real": _by_operator("view_as_complex"),
}
"""The inverse of each view: it takes what makes the base's array, descriptions of the base and the view, the part, and the
view's arguments."""
