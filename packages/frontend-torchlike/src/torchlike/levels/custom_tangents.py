"""The `jvp` of custom functions, and of operators with a forward rule, in transforms that differentiate along directions.

Note [A jvp as a node]
    A level of forward mode differentiates backward by the gradients that enter it (see Note [Forward by backward twice] in
    `jacobians`). A function with a ``jvp`` records a node of its own for that: backward is a function of the entering
    gradients, and the gradient of this one, along directions of the inputs, is the result of ``jvp``. The gradients
    themselves are zeros there, as those that enter are, and no ``backward`` is needed. So does an operator with a rule for
    its tangents (`ForwardRule`), which takes the place of a ``jvp``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dispatch_core.frontends import call_signature

from ..autograd.forward_ad import push_forward
from ..autograd.function import Context, Function
from ..autograd.function_tangents import compute_tangents, shapes_of_tangents
from ..autograd.rules.forward_rules import ForwardRule
from ..autograd.saved import read_version
from ..functions.operator_functions import FUNCTIONS
from ..history.grad_mode import is_grad_enabled, set_grad_enabled
from ..names.lazy_names import import_lazily
from ..tensors.tensor import Tensor
from ..values.pytree import tree_map
from .calls import call_in_order, map_tensors, shape_of, written_tensors
from .loop import has_fresh_results
from .stack import above, below
from .tensors import require_grad

if TYPE_CHECKING:
    from .grad_level import GradLevel
else:
    GradLevel = import_lazily("torchlike.levels.grad_level", "GradLevel")


@lru_cache(maxsize=1024)
def make_pushing(cls: type[Function]) -> type[Function]:
    """Return the function that records calls of one with a ``jvp``; see Note [A jvp as a node]."""
    methods = {"backward": staticmethod(_run_transposed), "jvp": staticmethod(cls.jvp)}
    return type(cls.__name__, (Function,), methods)


def keep_call(
    context: Context, level: GradLevel, inputs: tuple[Any, ...], results: list[Any], sources: list[int | None]
) -> None:
    """Keep the arguments of `compute_tangents`, whether the call is recorded, and versions of tensors saved for ``jvp``."""
    versions = [(each, read_version(each)) for each in context.for_forward]
    shapes = shapes_of_tangents(context, results)
    context.call = inputs, shapes, sources, tuple(versions), level.grad_mode  # type: ignore[attr-defined]  # contexts take any attribute


class CallRule:
    """The rule of an operator that has none of its own: backward of a call alone is differentiated.

    So the tangents of a call in ``no_grad`` are not recorded, either.
    """

    def __init__(self, op: Any, make_level: Callable[[], Any]) -> None:
        signature = call_signature(op)
        self.op, self._make_level = op, make_level
        self.arguments = [each.name for each in signature.parameters]
        self.results = [f"result{number}" for number in range(len(signature.results))]
        self.reads = {each.name for each in signature.parameters if each.tensors}

    def compute(
        self, values: Mapping[str, Any], ways: Mapping[str, Any], results: Sequence[Any]
    ) -> list[Tensor | None]:
        """Return the tangents of a call's results, from all arguments and their tangents by name."""
        level = self._make_level()
        level.pushes = False
        moved = {name: way for name, way in ways.items() if way is not None}
        with above(level, records=True):
            entered = {name: level.enter(values[name]) for name in moved}
            for each in entered.values():
                require_grad(each)
            found = call_in_order(self.op, tuple({**values, **entered}.values()))
            made = list(found) if isinstance(found, tuple) else [found]
            reached = [each for each in made if each is not None and each.requires_grad]
            pushed = push_forward(reached, list(entered.values()), list(moved.values())) if reached else {}
        return [
            level.leave(pushed[id(each)]) if id(each) in pushed
            else None if each is None or not each.dtype.is_differentiable
            else FUNCTIONS["zeros_like"](level.leave(each))
            for each in made
        ]  # fmt: skip


@lru_cache(maxsize=1024)
def find_call_rule(op: Any, make_level: Callable[[], Any]) -> CallRule | None:
    """Return the rule that differentiates an operator's calls alone; None for views, writes, lists and random numbers."""
    shape = shape_of(op)
    return CallRule(op, make_level) if has_fresh_results(op) and not (shape.draws or shape.lists) else None


def record_pushing(
    rule: ForwardRule | CallRule,
    level: GradLevel,
    op: Any,
    values: tuple[Any, ...],
    call: Callable[[tuple[Any, ...]], Any],
) -> Any:
    """Run a call of an operator by ``call``, and record a node that computes tangents by its rule."""

    def compute(context: Any) -> Any:
        context.dirty, context.materialize = tuple(written_tensors(op, values)), False
        names = rule.arguments
        with below():
            inner = map_tensors(op, level.leave, values)
            arguments = {name: copy(name, value) for name, value in zip(names, inner, strict=True)}
        output = call(values)
        results = list(output) if isinstance(output, tuple) else [output]
        with below():
            own = [copy(name, level.leave(each)) for name, each in zip(rule.results, results, strict=True)]
        context.values = arguments, own
        keep_call(context, level, values, results, [None] * len(results))
        return output

    def copy(name: str, value: Any) -> Any:
        # The function may write to the rule's arguments.
        return (
            tree_map(lambda each: each if each is None else FUNCTIONS["clone"](each), value)
            if name in rule.reads
            else value
        )

    return _make_function(rule)._run(values, {}, compute)


@lru_cache(maxsize=1024)
def _make_function(rule: ForwardRule | CallRule) -> type[Function]:
    """Return the function that records calls of an operator, with its rule as ``jvp``."""

    def jvp(ctx: Any, *ways: Any) -> Any:
        values, results = ctx.values
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
        inputs, shapes, sources, versions, records = context.call
        dirty = {id(each) for each in context.dirty}
        # The tangent of an input that is changed in place is changed in place, and belongs to others here.
        moved = [
            each.clone() if isinstance(each, Tensor) and id(value) in dirty else each
            for value, each in zip(inputs, ways, strict=True)
        ]
        kept, context.saved = context.saved, versions
        try:
            with set_grad_enabled(records and is_grad_enabled()):
                return (None, *compute_tangents(context, shapes, inputs, moved, sources))
        finally:
            context.saved = kept
