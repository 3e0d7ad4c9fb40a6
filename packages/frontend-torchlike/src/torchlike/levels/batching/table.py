"""The batching rule of each operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from dispatch_aten.errors import AtenError
from dispatch_aten.families import broadcasts
from dispatch_aten.variants import functional_of, is_inplace

from . import (
    attention,
    convolutions,
    factories,
    folding,
    indexing,
    joins,
    losses,
    matrices,
    normalizations,
    pointwise,
    products,
    quantization,
    reductions,
    searching,
    views,
)
from .calls import BatchedCall, Rule, aten, bind, overload

BatchingRule: TypeAlias = Callable[[Any, int, tuple[Any, ...], dict[str, Any]], Any]
"""A rule for callers: overload, size of the batch, arguments → results, each with the batch as its dimension 0."""

_MODULES: Final = (
    pointwise,
    reductions,
    views,
    joins,
    indexing,
    products,
    quantization,
    convolutions,
    normalizations,
    attention,
    folding,
    losses,
    matrices,
    factories,
    searching,
)

RULES: Final[dict[str, Rule]] = {name: rule for module in _MODULES for name, rule in module.RULES.items()}
"""The rules by name with overload; `pointwise.FAMILIES` has those that all overloads of an operator share."""


@cache
def find_rule(op: Any) -> BatchingRule | None:
    """Return the batching rule of an overload; None where there is none.

    A rule takes the overload, the size of the batch, and the call's arguments, batched ones as `Batch`. It calls operators
    on the level below and returns results whose dimension 0 is the batch; an in-place operator writes into the batch and
    returns it.

    >>> import torchlike, dispatch_core as dc
    >>> from torchlike.levels.batching import Batch
    >>> op = dc.ops.aten.sum.dim_IntList
    >>> find_rule(op)(op, 2, (Batch(torchlike.tensor([[1.0, 2.0], [3.0, 4.0]])), [0]), {})
    tensor([3., 7.])
    """
    run = find_rule_in_order(op)
    if run is None:
        return None
    return lambda op, size, args, kwargs: run(op, size, bind(op, args, kwargs))


@cache
def find_rule_in_order(op: Any) -> Callable[[Any, int, Sequence[Any]], Any] | None:
    """Return the same rule as a function of all arguments in the schema's order."""
    rule = _rule_of(op.name)
    if rule is None:
        return None

    def run(op: Any, size: int, values: Sequence[Any]) -> Any:
        try:
            return rule(BatchedCall(op, size, list(values)))
        except AtenError as error:
            raise error.at(op.name) from None

    return run


def _rule_of(qualified: str) -> Rule | None:
    namespace, _, name = qualified.partition("::")
    if namespace != "aten":
        return None
    if name in RULES:
        return RULES[name]
    base = name.partition(".")[0]
    if not is_inplace(name):
        return pointwise.FAMILIES.get(base, pointwise.broadcast if broadcasts(name) else None)
    if base[:-1] in pointwise.FAMILIES or broadcasts(name):
        return pointwise.FAMILIES.get(base[:-1], pointwise.broadcast)  # the operator writes into the batch itself
    functional = functional_of(name)
    if functional is None or "inplace_view" in overload(name).tags:
        return None
    rule = _rule_of(f"aten::{functional}")
    return rule and _write_result(overload(functional), rule)


def _write_result(functional: Any, rule: Rule) -> Rule:
    """Return the rule of an in-place overload: its functional overload's, and a copy into the batch."""

    def run(call: BatchedCall) -> Any:
        result = rule(BatchedCall(functional, call.size, list(call.given)))
        return aten.copy_.default(call["self"].tensor, result)

    return run
