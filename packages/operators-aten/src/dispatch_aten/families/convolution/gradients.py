"""Functions of the formulas of convolutions, which are linear in the input and in the weight.

The engine conjugates the gradients of operators with one result only; convolution's backward operator has three.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dispatch_core as dc
from dispatch_aten.decompositions._shared import Array, aten, ndim
from dispatch_aten.gradients._shared import conjugate

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "convolution_backward_input_gradient",
    "convolution_backward_weight_gradient",
    "convolution_grad_gradient",
]


def _add(terms: Sequence[Array | None]) -> Array | None:
    found = None
    for term in terms:
        if term is not None:
            found = term if found is None else aten.add.Tensor(found, term)
    return found


def _keep_wanted(grads: Sequence[Array | None], mask: Sequence[bool]) -> list[Array | None]:
    return [grad if kept else None for grad, kept in zip(grads, mask, strict=True)]


def convolution_grad_gradient(
    grads: Sequence[Array | None], input: Array, weight: Array, *options: Any
) -> Array | None:
    """Return the gradient that convolution's backward operator sends to the result's gradient."""
    *numbers, mask = options
    of_input, of_weight, of_bias = _keep_wanted(grads, mask)
    terms = [
        None if of_input is None else aten.convolution.default(of_input, conjugate(weight), None, *numbers),
        None if of_weight is None else aten.convolution.default(conjugate(input), of_weight, None, *numbers),
    ]
    found = _add(terms)
    if of_bias is None:
        return found
    column = aten.reshape.default(of_bias, [-1] + [1] * (ndim(input) - 2))
    if found is not None:
        return aten.add.Tensor(found, column)
    sizes = dc.shape(aten.convolution.default(input, weight, None, *numbers))
    return aten.expand.default(column, sizes)


def convolution_backward_input_gradient(
    grads: Sequence[Array | None], grad_output: Array, input: Array, weight: Array, *options: Any
) -> Array | None:
    """Return the gradient that convolution's backward operator sends to the input, through the weight's gradient."""
    *numbers, mask = options
    of_weight = _keep_wanted(grads, mask)[1]
    if of_weight is None:
        return None
    turned = conjugate(grad_output)
    return aten.convolution_backward.default(turned, input, of_weight, None, *numbers, [True, False, False])[0]


def convolution_backward_weight_gradient(
    grads: Sequence[Array | None], grad_output: Array, input: Array, weight: Array, *options: Any
) -> Array | None:
    """Return the gradient that convolution's backward operator sends to the weight, through the input's gradient."""
    *numbers, mask = options
    of_input = _keep_wanted(grads, mask)[0]
    if of_input is None:
        return None
    turned = conjugate(grad_output)
    return aten.convolution_backward.default(turned, of_input, weight, None, *numbers, [False, True, False])[1]
