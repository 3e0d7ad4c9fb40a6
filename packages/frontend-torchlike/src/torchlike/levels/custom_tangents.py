"""The `jvp` of custom functions, and of operators with a forward rule, in transforms that differentiate along directions.

Note [A jvp as a node]
    A level of forward mode differentiates backward by the gradients that enter it (see Note [Forward by backward twice] in
    `jacobians`). A function with a ``jvp`` records a node of its own for that: backward is a function of the entering
    gradients, and the gradient of this one, along directions of the inputs, is what ``jvp`` returns. The gradients
    themselves are zeros there, as those that enter are, and no ``backward`` is needed. So does an operator with a rule for
    its tangents (`ForwardRule`), which takes the place of a ``jvp``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..autograd.forward_rules import ForwardRule
from ..autograd.function import Context, Function
from ..autograd.function_tangents import compute_tangents, shapes_of_tangents
from ..autograd.saved import read_version
from ..functions import FUNCTIONS
from ..history.grad_mode import is_grad_enabled, set_grad_enabled
from ..tensors import Tensor
from ..utils.pytree import tree_map
from .calls import map_tensors, written_tensors
from .stack import below

if TYPE_CHECKING:
    from .grad_level import GradLevel

__all__ = ["keep_call", "make_pushing", "record_pushing"]


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


def record_pushing(
    rule: ForwardRule, level: GradLevel, op: Any, values: tuple[Any, ...], call: Callable[[Any, tuple[Any, ...]], Any]
) -> Any:
    """Run a call of an operator by ``call``, and record a node that computes tangents by its rule."""

    def compute(context: Any) -> Any:
        context.dirty, context.materialize = tuple(written_tensors(op, values)), False
        names = rule.arguments
        with below():
            inner = map_tensors(op, level.leave, values)
            arguments = {name: copy(name, value) for name, value in zip(names, inner, strict=True)}
        output = call(op, values)
        results = list(output) if isinstance(output, tuple) else [output]
        with below():
            own = [copy(name, level.leave(each)) for name, each in zip(rule.results, results, strict=True)]
        context.values = arguments, own, level.grad_mode
        keep_call(context, values, results, [None] * len(results))
        return output

    def copy(name: str, value: Any) -> Any:
        # The function may write to what the rule reads.
        return (
            tree_map(lambda each: each if each is None else FUNCTIONS["clone"](each), value)
            if name in rule.reads
            else value
        )

    return _make_function(rule)._run(values, {}, compute)


@lru_cache(maxsize=1024)
def _make_function(rule: ForwardRule) -> type[Function]:
    """Return the function that records calls of an operator, with its rule as ``jvp``."""

    def jvp(ctx: Any, *ways: Any) -> Any:
        values, results, records = ctx.values
        with set_grad_enabled(records and is_grad_enabled()):
            return tuple(rule.compute(values, dict(zip(values, ways, strict=True)), results))

    methods = {"backward": staticmethod(_run_transposed), "jvp": staticmethod(jvp)}
    return type(rule.op.name.rpartition("::")[2], (Function,), methods)


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
