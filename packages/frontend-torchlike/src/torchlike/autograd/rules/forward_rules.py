"""Tangents of operators that have a rule of their own: the fact ``tangent`` of their rows in ``dispatch_aten.families``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import dispatch_core as dc
from dispatch_aten.derivatives import find_tangents
from dispatch_aten.variants import functional_of

from ...functions.operator_functions import FUNCTIONS
from ...tensors.tensor import Tensor
from .derivative import Derivative


class ForwardRule:
    """The rule of one overload; ``op`` is the functional one of an in-place overload."""

    def __init__(self, op: Any, row: Mapping[str, str]) -> None:
        derivative = Derivative(op, row)
        self.op, self.results, self.arguments = op, derivative.results, derivative.arguments
        self.code = {
            name: compile(text, f"<tangent of {op.name}>", "eval") for name, text in derivative.gradients.items()
        }
        self.names = {name: f"{name}_t" for name in derivative.kinds if f"{name}_t" in derivative.names}
        self.functions = derivative.namespace
        #: The arguments and results whose elements the rule uses.
        self.reads = {*derivative.saved_inputs, *derivative.saved_results}
        self.defaults = {each.name: each.default for each in op.schema.arguments if each.has_default}

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments of a call by name, in order."""
        given = self.defaults | dict(zip(self.arguments, args, strict=False)) | dict(kwargs)
        return {name: given[name] for name in self.arguments}

    def compute(
        self, values: Mapping[str, Any], ways: Mapping[str, Any], results: Sequence[Any]
    ) -> list[Tensor | None]:
        """Return the tangents of a call's results, from all arguments and their tangents by name."""
        scope: dict[str, Any] = dict(values) | dict(zip(self.results, results, strict=True))
        for name, way in self.names.items():
            tangent = ways.get(name)
            scope[way] = FUNCTIONS["zeros_like"](scope[name].detach()) if tangent is None else tangent
        return [
            eval(self.code[name], self.functions, scope) if name in self.code else None  # noqa: S307  # a row of the table
            for name in self.results
        ]


@lru_cache(maxsize=1024)
def find_forward_rule(op: Any) -> ForwardRule | None:
    """Return the rule by which the tangents of an operator's results are computed, or None where backward tells them."""
    name = op.name.rpartition("::")[2]
    functional = functional_of(name) or name
    row = find_tangents(functional)
    packet, _, overload = functional.partition(".")
    return ForwardRule(getattr(getattr(dc.ops.aten, packet), overload or "default"), row) if row else None
