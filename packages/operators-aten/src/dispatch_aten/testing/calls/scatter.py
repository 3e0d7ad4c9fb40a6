"""Right calls of the operators of ``operators.scatter``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("segment_reduce", lambda r: (r.f(6, 2), "sum"), lengths=np.array([2, 4])),
    call("index_copy", lambda r: (r.f(4, 3), 0, np.array([2, 0]), r.f(2, 3))),
    call("index_fill.int_Scalar", lambda r: (r.f(4, 3), 0, np.array([2, 0]), 1.5)),
    call("index_fill.int_Tensor", lambda r: (r.f(4, 3), 0, np.array([2, 0]), r.f())),
    call("index_reduce", lambda r: (r.f(4, 3), 0, np.array([2, 0, 2]), r.f(3, 3), "prod")),
    call("scatter_reduce.two", lambda r: (r.f(4, 3), 0, r.i(4, 2, 3), r.f(2, 3), "amax")),
    call("put", lambda r: (r.f(4, 3), np.array([0, 5, 7]), r.f(3))),
    call("take_along_dim", lambda r: (r.f(4, 3), r.i(4, 2, 3), 0)),
    call("nonzero_static", lambda r: (r.i(2, 3, 4),), size=5),
    call("as_strided_scatter", lambda r: (r.f(9), r.f(2, 2), [2, 2], [1, 3], 1)),
)
