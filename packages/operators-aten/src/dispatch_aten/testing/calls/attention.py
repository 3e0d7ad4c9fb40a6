"""Functions that draw arguments of the operators of ``attention.rows``."""

from __future__ import annotations

from itertools import product
from typing import Any, Final

import numpy as np

from dispatch_core import ops

from ..drawing import CallRow, Draw, Make, call


def _bag(r: Draw) -> tuple[Any, ...]:
    return r.f(6, 3), r.i(6, 7), np.array([0, 3, 3])


def _heads(r: Draw) -> tuple[Any, ...]:
    return r.f(2, 3, 4, 5), r.f(2, 3, 6, 5), r.f(2, 3, 6, 5)


def _attention_backward(mask: tuple[bool, ...]) -> Make:
    """Make a call of the gradient of attention from its forward."""

    def make(r: Draw) -> tuple[Any, ...]:
        query, key, value = _heads(r)
        hidden = np.arange(24).reshape(4, 6) % 5 > 0
        results = ops.aten._scaled_dot_product_efficient_attention(query, key, value, hidden, True)
        return r.f(2, 3, 4, 5), query, key, value, hidden, *results, 0.0, [*mask, False]

    return make


CALLS: Final[tuple[CallRow, ...]] = tuple(
    [
        call("_scaled_dot_product_efficient_attention_backward", _attention_backward(mask))
        for mask in product((True, False), repeat=3)
    ]
)
