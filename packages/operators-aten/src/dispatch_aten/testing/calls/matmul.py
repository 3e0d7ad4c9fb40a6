"""Right calls of operators of ``matmul.rows`` that follow one pattern."""

from __future__ import annotations

from typing import Final

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
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
