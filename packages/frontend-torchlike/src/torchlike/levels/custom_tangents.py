"""The `jvp` of a custom function in transforms that differentiate along directions.

Note [A jvp as a node]
    A level of forward mode differentiates backward by the gradients that enter it (see Note [Forward by backward twice] in
    `jacobians`). A function with a ``jvp`` records a node of its own for that: backward is a function of the entering
    gradients, and the gradient of this one, along directions of the inputs, is what ``jvp`` returns. The gradients
    themselves are zeros there, as those that enter are, and no ``backward`` is needed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..autograd.function import Context, Function
from ..autograd.function_tangents import compute_tangents, shapes_of_tangents
from ..autograd.saved import read_version
from ..functions import FUNCTIONS
from ..tensors import Tensor

__all__ = ["keep_call", "make_pushing"]


@lru_cache(maxsize=1024)
def make_pushing(cls: type[Function]) -> type[Function]:
    """Return the function that records calls of one with a ``jvp``; see Note [A jvp as a node]."""
    methods = {"backward": staticmethod(_run_transposed), "jvp": staticmethod(cls.jvp)}
    return type(cls.__name__, (Function,), methods)


def keep_call(context: Context, inputs: tuple[Any, ...], results: list[Any], sources: list[int | None]) -> None:
    """Keep of a call what `compute_tangents` takes, and the versions of what was saved for ``jvp``."""
    versions = [(each, read_version(each)) for each in context.for_forward]
    shapes = shapes_of_tangents(context, results)
    context.call = inputs, shapes, sources, tuple(versions)  # type: ignore[attr-defined]  # contexts take any attribute


def _run_transposed(context: Any, *gradients: Any) -> Any:
    return _Transposed._run((context, *gradients), {})


class _Transposed(Function):
    """Backward as a function of the entering gradients."""

    @staticmethod
    def forward(ctx: Any, context: Any, *gradients: Any) -> Any:
        """Return the inputs' gradients."""
        ctx.context = context
        ctx.set_materialize_grads(False)
        inputs = context.call[0]
        zeros = FUNCTIONS["zeros_like"]
        pairs = zip(inputs, context.needs_input_grad, strict=True)
        return tuple(zeros(each) if is_needed else None for each, is_needed in pairs)

    @staticmethod
    def backward(ctx: Any, *ways: Any) -> Any:
        """Return the tangents of the function's results."""
        context = ctx.context
        inputs, shapes, sources, versions = context.call
        dirty = {id(each) for each in context.dirty}
        # The tangent of an input that is changed in place is changed in place, and belongs to others here.
        moved = [
            each.clone() if isinstance(each, Tensor) and id(value) in dirty else each
            for value, each in zip(inputs, ways, strict=True)
        ]
        kept, context.saved = context.saved, versions
        try:
            return (None, *compute_tangents(context, shapes, inputs, moved, sources))
        finally:
            context.saved = kept
