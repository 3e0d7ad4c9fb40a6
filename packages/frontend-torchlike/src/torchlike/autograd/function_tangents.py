"""The tangents of a custom function's results: those that its ``jvp`` returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dispatch_core as dc

from ..functions.operator_functions import FUNCTIONS
from ..history import tangents
from ..names.lazy_names import import_lazily
from ..tensors.tensor import Tensor
from ..values.size import Size
from .saved import read_version

if TYPE_CHECKING:
    from .function import Context
else:
    Context = import_lazily("torchlike.autograd.function", "Context")


def push_forward(
    context: Context,
    results: list[Any],
    inputs: list[Tensor | None],
    moved: list[Tensor | None],
    sources: list[int | None],
    level: int,
) -> None:
    """Set the results' tangents to those that ``jvp`` returns; ``sources`` are the inputs that were returned as they are."""
    kept, context.saved = context.saved, tuple((each, read_version(each)) for each in context.for_forward)
    try:
        found = compute_tangents(context, shapes_of_tangents(context, results), inputs, moved, sources)
    finally:
        context.saved = kept
    for result, tangent in zip(results, found, strict=True):
        if tangent is not None:
            tangents.set_tangent(result, tangent, level)


def shapes_of_tangents(context: Context, results: Sequence[Any]) -> list[Size | None]:
    """Return the shape of each result's tangent, None for a result that has none."""
    plain = {id(each) for each in context.without_grad}
    return [
        each.shape if isinstance(each, Tensor) and id(each) not in plain and each.dtype.is_differentiable else None
        for each in results
    ]


def compute_tangents(
    context: Context,
    shapes: Sequence[Size | None],
    inputs: Sequence[Any],
    moved: Sequence[Tensor | None],
    sources: Sequence[int | None],
) -> list[Tensor | None]:
    """Return the tangents of a call's results by the function's ``jvp``, whose context has the values saved for it.

    ``shapes`` are those of `shapes_of_tangents`; ``sources`` has the number of the input that a result is, as it is or
    changed in place. Raises ``RuntimeError`` for tangents that do not fit.
    """
    if context.materialize:
        zeros = FUNCTIONS["zeros_like"]
        moved = [
            zeros(each.detach()) if way is None and isinstance(each, Tensor) and each.dtype.is_differentiable else way
            for each, way in zip(inputs, moved, strict=True)
        ]
    found = context.function.jvp(context, *moved)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(shapes):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients "
            f"(expected {len(shapes)} but got {len(found)})"
        )
    dirty = {id(each) for each in context.dirty}
    for number, (shape, tangent, source) in enumerate(zip(shapes, found, sources, strict=True)):
        if tangent is None:
            continue
        if not isinstance(tangent, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {number}.")
        if shape is None:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {number}, but  the corresponding forward output is not a "
                "differentiable Tensor.You should return None at that position instead."
            )
        if tangent.shape != shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                f"supported. Tensor is of size {list(shape)} while the given forward gradient is of size "
                f"{list(tangent.shape)}."
            )
        if source is not None:
            _check_alias(tangent, moved[source], id(inputs[source]) in dirty)
    return list(found)


def _check_alias(tangent: Tensor, given: Tensor | None, is_dirty: bool) -> None:
    """Refuse the tangent of an input that was returned as it is, or changed in place, if it is another's."""
    if is_dirty and tangent is not given:
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
            "input inplace, then the jvp function must modify the corresponding gradient inplace."
        )
    if not is_dirty and given is not None and (tangent is given or dc.storage_of(tangent) != dc.storage_of(given)):
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
