"""Right calls of the operators of ``operators.comparison``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("isposinf isneginf isreal", lambda r: (r.f(2, 3),)),
    call(
        "eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor isin.Tensor_Tensor isclose allclose",
        lambda r: (r.f(2, 3), r.f(3)),
    ),
    call("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar", lambda r: (r.f(2, 3), 0.7)),
    call("equal is_same_size", lambda r: (r.f(2, 3), r.f(2, 3))),
    call("isin.Scalar_Tensor", lambda r: (3, r.i(5, 4))),
    call("isin.Tensor_Scalar", lambda r: (r.i(5, 4), 3)),
)
