"""Calls with ordinary tensors in the place of a layout's: for fallbacks that convert, call, and convert back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..arrays.frontend import wrap_like
from ..arrays.layouts import TensorLayout, components_of, find_layout


def call_converted(
    layout: TensorLayout,
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    read: Callable[[Any], Any],
    make: Callable[[Any, Any], Any],
    write: Callable[[Any, Any], object] | None = None,
) -> Any:
    """Call an operator with what ``read`` makes of each tensor of the layout, and return what its schema promises.

    ``read(record)`` is an ordinary tensor of the elements. ``make(value, record)`` makes a computed tensor one of the
    layout, with the plain fields of a record, or returns it; a result is given the record of the call's first tensor of
    the layout. An argument that the operator writes to gets the components of such a tensor, by their ``copy_``, or by
    ``write(tensor, value)``, unless ``read`` gave one of its own, which is written to already; it is what the call
    returns. A result that the schema calls a view is a view of the component (``TensorLayout.component``), with which the
    operator is called then. Lists are looked through, and a tensor that is given twice is read once.

    docs/guides/write-a-layout.md has a layout that is a few lines by it.
    """
    signature = op._entry.signature
    parameters = signature.parameters
    values = [*args, *((kwargs or {}).get(each.name, each.default) for each in parameters[len(args) :])]
    first = next(each for each in _flatten(values) if find_layout(each) is layout)._dispatch_data
    moves = "inplace_view" in op.tags or any(each.kind == "view" for each in signature.results)
    entered: dict[int, Any] = {}

    def enter(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [enter(each) for each in value]
        if find_layout(value) is not layout:
            return value
        if id(value) not in entered:
            record = value._dispatch_data
            entered[id(value)] = getattr(record, layout.component) if moves else read(record)
        return entered[id(value)]

    def leave(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [leave(each) for each in value]
        if not hasattr(value, "_dispatch_data") or find_layout(value) is not None:
            return value
        return wrap_like(value, layout.replace(first, **{layout.component: value})) if moves else make(value, first)

    given = [enter(each) for each in values]
    positional, named = signature.split(tuple(given))
    found = op(*positional, **named)
    written = [index for index, each in enumerate(parameters) if each.writes and not moves]
    for target in _flatten([values[index] for index in written]):
        if (value := entered.get(id(target))) is not None:
            _write(target, value, make, write)
    made = zip(signature.results, signature.unpack(found), strict=True)
    return signature.pack([values[each.source] if each.kind == "self" else leave(value) for each, value in made])


def _write(
    target: Any, value: Any, make: Callable[[Any, Any], Any], write: Callable[[Any, Any], object] | None
) -> None:
    """Write a computed tensor to one of a layout, unless it is a component of it."""
    components = components_of(target)
    if any(value is each for each in components):
        return
    if write is not None:
        write(target, value)
        return
    for own, new in zip(components, components_of(make(value, target._dispatch_data)), strict=True):
        if own is not new:
            own.copy_(new)


def _flatten(values: Sequence[Any]) -> Iterator[Any]:
    for each in values:
        if isinstance(each, (list, tuple)):
            yield from _flatten(each)
        else:
            yield each
