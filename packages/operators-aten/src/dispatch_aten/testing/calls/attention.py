"""Right calls of the operators of ``operators.attention``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..drawing import CallRow, Draw, call


def _bag(r: Draw) -> tuple[Any, ...]:
    return r.f(6, 3), r.i(6, 7), np.array([0, 3, 3])


def _heads(r: Draw) -> tuple[Any, ...]:
    return r.f(2, 3, 4, 5), r.f(2, 3, 6, 5), r.f(2, 3, 6, 5)


CALLS: Final[tuple[CallRow, ...]] = (
    call("scaled_dot_product_attention", lambda r: (*_heads(r), None, 0.0, True)),
    call("scaled_dot_product_attention", lambda r: (*_heads(r), r.f(4, 6))),
    call("scaled_dot_product_attention", lambda r: (*_heads(r), np.arange(24).reshape(4, 6) > 8, 0.0, True)),
    call("scaled_dot_product_attention", lambda r: (r.f(2, 3, 4, 5), r.f(2, 3, 6, 5), r.f(2, 3, 6, 5))),
    call(
        "scaled_dot_product_attention _scaled_dot_product_attention_math",
        lambda r: (r.f(2, 3, 4), r.f(2, 5, 4), r.f(2, 5, 4)),
    ),
    call("_safe_softmax", lambda r: (r.f(4, 3), 1)),
    call("embedding_bag", lambda r: (*_bag(r), False, 1)),
    call("embedding_bag.padding_idx", lambda r: (*_bag(r), False, 1, False, None, False, 2)),
    call("embedding_bag.padding_idx", lambda r: (*_bag(r), False, 1, False, None, False, None)),
    call("embedding_bag", lambda r: (r.f(6, 3), r.i(6, 4), np.array([0, 2]), False, 2)),
    call("embedding_bag", lambda r: (r.f(6, 3), r.i(6, 4), np.array([0, 2]), False, 0, False, r.f(4))),
    call("embedding_renorm", lambda r: (r.f(6, 3), r.i(6, 4), 0.7, 2.0)),
)
