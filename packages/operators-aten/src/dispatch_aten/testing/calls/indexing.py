"""Right calls of the operators of ``operators.indexing``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("diagonal_backward", lambda r: (r.f(3), [3, 4], 0, 0, 1)),
    call("select_backward", lambda r: (r.f(3), [2, 3], 0, 1)),
    call("slice_backward", lambda r: (r.f(2, 3), [2, 9], 1, 0, 9, 3)),
    call("index.Tensor", lambda r: (r.f(4, 3, 5), [r.i(4, 2), None, r.i(5, 3, 1)])),
    call("index.Tensor", lambda r: (r.f(4, 3), [np.array([True, False, True, True])])),
    call("index_put", lambda r: (r.f(4, 3), [r.i(4, 2)], r.f(3), True)),
    call("index_put", lambda r: (r.f(4, 3), [np.array([2, 0])], r.f(2, 3), False)),
    call("index_select", lambda r: (r.f(4, 3), 1, r.i(3, 5))),
    call("index_add", lambda r: (r.f(4, 3), 0, r.i(4, 5), r.f(5, 3)), alpha=2),
    call("gather", lambda r: (r.f(4, 3), 1, r.i(3, 2, 5))),
    call("scatter.src", lambda r: (r.f(4, 3), 0, np.array([[0, 1, 2]]), r.f(1, 3))),
    call("scatter.value", lambda r: (r.f(4, 3), 0, r.i(4, 2, 3), 2.5)),
    call("scatter_add", lambda r: (r.f(4, 3), 0, r.i(4, 6, 3), r.f(6, 3))),
    call("masked_select", lambda r: (r.f(4, 3), r.b(3))),
    call("masked_scatter", lambda r: (r.f(4, 3), r.b(4, 3), r.f(13))),
    call("take", lambda r: (r.f(4, 3), r.i(12, 2, 2) - 3)),
    call("select_scatter", lambda r: (r.f(4, 3), r.f(3), 0, 2)),
    call("slice_scatter", lambda r: (r.f(4, 3), r.f(2, 3), 0, 1, None, 2)),
    call("diagonal_scatter", lambda r: (r.f(4, 3), r.f(3))),
    call("embedding", lambda r: (r.f(4, 3), r.i(4, 2, 2))),
    call("embedding_dense_backward", lambda r: (r.f(5, 3), np.array([0, 2, 1, 2, 2]), 4, 1, True)),
    call("one_hot", lambda r: (r.i(4, 2, 2), 5)),
    call("one_hot", lambda r: (r.i(4, 5),)),
    call("nonzero_numpy argwhere nonzero", lambda r: (r.i(2, 3, 4),)),
    call("value_selecting_reduction_backward", lambda r: (r.f(2), 1, r.i(3, 2), [2, 3], False)),
    call("scatter.reduce", lambda r: (r.f(4, 3), 0, r.i(4, 2, 3), r.f(2, 3)), reduce="multiply"),
    call("scatter.value_reduce", lambda r: (r.f(4, 3), 0, r.i(4, 2, 3), 2.5), reduce="add"),
)
