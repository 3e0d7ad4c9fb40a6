"""Derivatives of collectives: sums of sums, and what is gathered is scattered again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc

from ..errors import OperatorError

__all__ = ["FORMULAS"]

_aten: Final = dc.ops.aten


def _backward_of_all_reduce(ctx: Any, grad: Any) -> tuple[Any, None, None]:
    if ctx.op not in ("sum", "avg"):
        raise OperatorError(f"all_reduce: {ctx.op} has no derivative here", hint="sum and avg do")
    return dc.ops.dispatch.all_reduce(grad, ctx.op, ctx.group), None, None


def _backward_of_all_gather(ctx: Any, grad: Any) -> tuple[Any, None]:
    found = dc.ops.dispatch.reduce_scatter(grad, "sum", ctx.group)
    return _aten.view(found, ctx.shape), None


def _backward_of_reduce_scatter(ctx: Any, grad: Any) -> tuple[Any, None, None]:
    if ctx.op not in ("sum", "avg"):
        raise OperatorError(f"reduce_scatter: {ctx.op} has no derivative here", hint="sum and avg do")
    found = dc.ops.dispatch.all_gather(grad, ctx.group)
    return (_aten.div(found, ctx.group.size) if ctx.op == "avg" else found), None, None


def _backward_of_broadcast(ctx: Any, grad: Any) -> tuple[Any, None, None]:
    found = dc.ops.dispatch.all_reduce(grad, "sum", ctx.group)
    return (found if ctx.group.rank == ctx.root else _aten.zeros_like(found)), None, None


def _keep_reduction(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, ctx.op, ctx.group = inputs


def _keep_shape(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.shape, ctx.group = list(dc.shape(inputs[0])), inputs[1]


def _keep_root(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    _, ctx.root, ctx.group = inputs


FORMULAS: Final[dict[str, tuple[Callable[..., Any], Callable[..., None]]]] = {
    "all_reduce": (_backward_of_all_reduce, _keep_reduction),
    "all_gather": (_backward_of_all_gather, _keep_shape),
    "reduce_scatter": (_backward_of_reduce_scatter, _keep_reduction),
    "broadcast": (_backward_of_broadcast, _keep_root),
}
