"""Right calls of the operators of ``operators.view``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

import numpy as np

from ...dtypes import BY_NAME
from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("view.dtype", lambda r: (r.f(2, 6), BY_NAME["int64"])),
    call("slice_inverse", lambda r: (r.f(3, 2), r.f(5, 2), 0, 1, 4, 1)),
    call("view _unsafe_view", lambda r: (r.f(2, 6), [3, -1])),
    call("reshape", lambda r: (r.f(2, 6).T, [3, -1])),
    call("as_strided", lambda r: (r.f(9), [3, 3], [1, 2], 1)),
    call("as_strided", lambda r: (r.f(4), [4, 3], [1, 0], 0)),
    call("select.int", lambda r: (r.f(2, 3), -1, -2)),
    call("slice.Tensor", lambda r: (r.f(2, 9), 1, 1, -1, 3)),
    call("slice.Tensor", lambda r: (r.f(2, 9), 1, None, None, 2)),
    call("expand", lambda r: (r.f(2, 1), [4, -1, 3])),
    call("permute", lambda r: (r.f(2, 3, 4), [2, 0, -2])),
    call("transpose.int movedim.int", lambda r: (r.f(2, 3, 4), 0, -1)),
    call("t numpy_T detach adjoint mH matrix_H", lambda r: (r.f(2, 3),)),
    call("squeeze", lambda r: (r.f(1, 3, 1),)),
    call("squeeze.dim", lambda r: (r.f(1, 3, 1), -1)),
    call("squeeze.dims", lambda r: (r.f(1, 3, 1), [0, 1])),
    call("unsqueeze", lambda r: (r.f(2, 3), -1)),
    call("narrow", lambda r: (r.f(5, 3), 0, -3, 2)),
    call("split.Tensor unsafe_split.Tensor unsafe_chunk", lambda r: (r.f(5, 3), 2)),
    call("split_with_sizes", lambda r: (r.f(5, 3), [1, 2], 1)),
    call("chunk tensor_split.sections", lambda r: (r.f(5, 3), 3)),
    call("tensor_split.indices", lambda r: (r.f(5, 3), [1, 4], 0)),
    call("unbind.int", lambda r: (r.f(2, 3), 1)),
    call("diagonal", lambda r: (r.f(3, 4, 2), 1, -1, 0)),
    call("flatten.using_ints", lambda r: (r.f(2, 3, 4), 1)),
    call("unflatten.int", lambda r: (r.f(2, 6), 1, [2, -1])),
    call("movedim.intlist", lambda r: (r.f(2, 3, 4), [0, 1], [-1, 0])),
    call("mT", lambda r: (r.f(2, 3, 4),)),
    call("ravel", lambda r: (r.f(2, 3).T,)),
    call("alias", lambda r: (r.f(2),)),
    call("view_as reshape_as", lambda r: (r.f(2, 3), r.f(3, 2))),
    call("expand_as", lambda r: (r.f(2, 1), r.f(3, 2, 4))),
    call("narrow.Tensor", lambda r: (r.f(5, 3), 0, np.array(1), 2)),
    call("swapaxes swapaxes_ swapdims_", lambda r: (r.f(2, 3), 0, 1)),
    call("split.sizes unsafe_split_with_sizes", lambda r: (r.f(5, 3), [1, 4])),
    call("trace", lambda r: (r.spd(),)),
    call("diagflat diag", lambda r: (r.f(3, 2),)),
    call("diag_embed", lambda r: (r.f(3, 2), 1)),
    call("unfold", lambda r: (r.f(2, 9), 1, 3, 2)),
    call("unfold_backward", lambda r: (r.f(2, 4, 3), [2, 9], 1, 3, 2)),
    call("tensor_split.tensor_indices_or_sections", lambda r: (r.f(5, 3), np.array([1, 4]))),
    call("hsplit.array dsplit.array vsplit.array", lambda r: (r.f(4, 4, 4), [1, 3])),
    call("hsplit.int dsplit.int vsplit.int", lambda r: (r.f(4, 4, 4), 2)),
    call("fill_diagonal_", lambda r: (r.f(2, 3), 1.5)),
)
