"""Collectives of batches: what each rank has of all rows goes at once; messages to one rank are refused under ``vmap``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import dispatch_core as dc

from ..errors import OperatorError

__all__ = ["RULES", "refuse"]

_aten: Final = dc.ops.aten


def _of_elements(name: str) -> Callable[..., Any]:
    """Return the rule of a collective that does the same to each element: it takes the batch as it is."""

    def rule(info: Any, in_dims: Any, self: Any, how: object, group: object) -> Any:
        return getattr(dc.ops.dispatch, name)(self, how, group), in_dims[0]

    return rule


def _behind_rows(array: Any, batch: int) -> Any:
    """Return a batch whose second dimension is that of the rows of `vmap`, because the first one is shared out."""
    return _aten.unsqueeze(array, 0) if len(dc.shape(array)) == 1 else _aten.movedim(array, batch, 1)


def _all_gather(info: Any, in_dims: Any, self: Any, group: object) -> Any:
    return dc.ops.dispatch.all_gather(_behind_rows(self, in_dims[0]), group), 1


def _reduce_scatter(info: Any, in_dims: Any, self: Any, op: str, group: object) -> Any:
    if len(dc.shape(self)) == 1:
        raise OperatorError("reduce_scatter: the first dimension of [] has no equal parts")
    return dc.ops.dispatch.reduce_scatter(_behind_rows(self, in_dims[0]), op, group), 1


def refuse(name: str) -> Callable[..., NoReturn]:
    """Return a rule for a collective that has none."""

    def rule(*args: object, **kwargs: object) -> NoReturn:
        raise OperatorError(
            f"{name}: it is refused under vmap, which may not call it as often in all processes",
            hint="call it outside of the mapped function, for the whole batch",
        )

    return rule


RULES: Final[dict[str, Callable[..., Any]]] = {
    **{name: _of_elements(name) for name in ("all_reduce", "all_reduce_", "broadcast", "broadcast_")},
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
}
