"""Right calls of the operators of ``operators.complex_numbers``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("angle", lambda r: (r.f(2, 3),)),
    call(
        "_conj_physical resolve_conj conj conj_physical is_conj is_neg resolve_neg sgn real imag view_as_real",
        lambda r: (r.c(2, 3),),
    ),
    call("view_as_complex", lambda r: (r.f(3, 2),)),
    call("complex polar", lambda r: (r.f(2, 3), r.f(2, 3))),
)
