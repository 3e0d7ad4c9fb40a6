"""Right calls of operators of ``reduction.rows`` that follow one pattern."""

from __future__ import annotations

import math
from typing import Final

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    *(
        call("linalg_vector_norm", lambda r, p=p: (r.f(2, 3), p, [1]))
        for p in (0, 1, 2, 3, 2.5, 0.5, math.inf, -math.inf)
    ),
)
