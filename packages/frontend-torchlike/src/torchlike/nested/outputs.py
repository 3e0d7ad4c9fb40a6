"""``out=`` of functions of nested tensors: the result of the function, written to the output's values.

Torch has no such outputs of nested tensors. A nested output has the rows of the result, as one object: an output is
never given other rows. A strided one, of a reduction, has the result's sizes, or no elements.
"""

from __future__ import annotations

from typing import Any

import dispatch_core as dc
from dispatch_aten.variants import functional_of, written_names

from ..history.grad_mode import is_grad_enabled, no_grad
from ..tensors.tensor import Tensor
from ..values.dtypes import can_cast
from .operators import Operator, refuse_operator
from .pointwise import refuse_shapes
from .tensor import NestedTensor


def write_output(operator: Operator, values: tuple[Any, ...]) -> Any:
    """Compute the function, and write its results to the outputs."""
    names = written_names(str(operator.op.schema))
    given = operator.bind(values)
    outputs = [given.pop(name) for name in names]
    if not any(isinstance(each, NestedTensor) for each in _flatten(given.values())):
        refuse_operator(operator, values)
    if is_grad_enabled() and any(each.requires_grad for each in _flatten([*given.values(), *outputs])):
        operator.refuse(
            "functions with out=... arguments don't support automatic differentiation, but one of the arguments requires"
            " grad."
        )
    packet, _, overload = (functional_of(operator.name) or "").partition(".")
    functional = Operator(getattr(getattr(dc.ops.aten, packet), overload or "default"))
    with no_grad():
        found = functional.call(given)
        results = [found] if len(names) == 1 else [*found]
        for result, out in zip(results, outputs, strict=True):
            _check(operator, result, out)
        for result, out in zip(results, outputs, strict=True):
            _write(result, out)
    return outputs[0] if len(names) == 1 else type(found)(outputs)


def _flatten(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        found += [each for each in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(each, Tensor)]
    return found


def _check(operator: Operator, result: Tensor, out: Tensor) -> None:
    """Refuse an output that cannot take a result, before anything is written."""
    kind, wanted = dc.dtype(result), dc.dtype(out)
    if not can_cast(kind, wanted):
        operator.refuse(f"result type {kind.name} can't be cast to the desired output type {wanted.name}")
    if isinstance(result, NestedTensor) is not isinstance(out, NestedTensor):
        one, other = ("nested", "strided") if isinstance(result, NestedTensor) else ("strided", "nested")
        operator.refuse(f"the result is {one}, and out is {other}")
    if result.shape != out.shape and (isinstance(out, NestedTensor) or out.numel()):
        refuse_shapes(operator, result, out)


def _write(result: Tensor, out: Tensor) -> None:
    if isinstance(result, NestedTensor):
        assert isinstance(out, NestedTensor)
        out._dispatch_data.values.copy_(result._dispatch_data.values)
        return
    if result.shape != out.shape:
        out.resize_(result.shape)
    out.copy_(result)
