"""Right calls of the operators of ``operators.matmul``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("mm", lambda r: (r.f(2, 3), r.f(3, 4))),
    call("bmm", lambda r: (r.f(5, 2, 3), r.f(5, 3, 4))),
    call("mv", lambda r: (r.f(2, 3), r.f(3))),
    call("dot vdot", lambda r: (r.f(3), r.f(3))),
    call("outer", lambda r: (r.f(3), r.f(2))),
    call("addmm", lambda r: (r.f(4), r.f(2, 3), r.f(3, 4)), beta=2, alpha=0.5),
    call("addmm", lambda r: (r.f(4), r.f(2, 3), r.f(3, 4))),
    call("addmm", lambda r: (r.f(2, 4), r.f(2, 3), r.f(3, 4))),
    call("baddbmm", lambda r: (r.f(2, 4), r.f(5, 2, 3), r.f(5, 3, 4)), beta=2, alpha=0.5),
    call("linear", lambda r: (r.f(5, 2, 3), r.f(4, 3), r.f(4))),
    call("linear", lambda r: (r.f(2, 3), r.f(4, 3), r.f(4))),
    call("linear", lambda r: (r.f(3), r.f(4, 3))),
    call("addbmm", lambda r: (r.f(2, 4), r.f(5, 2, 3), r.f(5, 3, 4))),
    call("addmv", lambda r: (r.f(2), r.f(2, 3), r.f(3))),
    call("addr", lambda r: (r.f(2, 3), r.f(2), r.f(3))),
    call("ger", lambda r: (r.f(2), r.f(3))),
    call("inner", lambda r: (r.f(2, 3), r.f(2, 3))),
    call("tensordot", lambda r: (r.f(2, 3, 4), r.f(4, 3, 5), [1, 2], [1, 0])),
    call("einsum", lambda r: ("bij,bjk->ik", [r.f(2, 3, 4), r.f(2, 4, 5)])),
    call("chain_matmul", lambda r: ([r.f(2, 3), r.f(3, 4), r.f(4, 2)],)),
    *(
        call("matmul", lambda r, a=a, b=b: (r.f(*a), r.f(*b)))
        for a, b in (
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 2)),
            ((2, 3), (3, 4)),
            ((5, 2, 3), (3, 4)),
            ((5, 2, 3), (3,)),
            ((3,), (5, 3, 2)),
            ((2, 3), (5, 3, 4)),
            ((5, 1, 2, 3), (4, 3, 2)),
        )
    ),
)
