"""Right calls of the operators of ``operators.lists``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("cat", lambda r: ([r.f(2, 3), r.f(1, 3)], 0)),
    call("cat", lambda r: ([r.f(2, 3), np.zeros(0), r.f(2, 1)], -1)),
    call("stack", lambda r: ([r.f(2, 3), r.f(2, 3)], 1)),
    call("hstack", lambda r: ([r.f(2), r.f()],)),
    call("vstack", lambda r: ([r.f(2), r.f(1, 2)],)),
    call("meshgrid cartesian_prod", lambda r: ([r.f(2), r.f(3)],)),
    call("meshgrid.indexing", lambda r: ([r.f(2), r.f(3), r.f()],), indexing="xy"),
    call("broadcast_tensors", lambda r: ([r.f(2, 1), r.f(3)],)),
    call("repeat", lambda r: (r.f(2, 1), [2, 1, 3])),
    call("tile", lambda r: (r.f(2, 1), [3])),
    call("flip", lambda r: (r.f(2, 3), [0, -1])),
    call("roll", lambda r: (r.f(2, 3), [1, -1], [0, 1])),
    call("roll", lambda r: (r.f(2, 3), [4])),
    call("sort", lambda r: (r.f(2, 3), 0, True)),
    call("sort.stable", lambda r: (r.f(2, 3),), stable=True, dim=1, descending=False),
    call("argsort", lambda r: (r.f(2, 3), 0)),
    call("topk", lambda r: (r.f(2, 5), 3)),
    call("topk", lambda r: (r.f(2, 5), 2, 0, False)),
    call("argsort.stable", lambda r: (r.f(2, 3),), stable=True, dim=0),
    call("broadcast_to", lambda r: (r.f(2, 1), [3, 2, 4])),
    call("kron", lambda r: (r.f(2, 3), r.f(2, 2))),
    call("kron", lambda r: (r.f(3), r.f(2))),
    call("combinations", lambda r: (r.f(4), 2)),
    call("repeat_interleave.Tensor", lambda r: (np.array([1, 0, 3]),)),
    call("repeat_interleave.self_Tensor", lambda r: (r.f(3, 2), np.array([1, 0, 3]), 0)),
    call("repeat_interleave.self_int", lambda r: (r.f(3, 2), 2, 1)),
    call("flipud fliplr rot90 atleast_1d atleast_2d atleast_3d", lambda r: (r.f(3, 2),)),
    call(
        "atleast_1d.Sequence atleast_2d.Sequence atleast_3d.Sequence dstack column_stack block_diag",
        lambda r: ([r.f(3), r.f(3)],),
    ),
)
