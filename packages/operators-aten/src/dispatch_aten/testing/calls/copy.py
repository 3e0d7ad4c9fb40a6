"""Right calls of the operators of ``operators.copy``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

from dispatch_core import Device

from ...dtypes import BY_NAME
from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("to.device", lambda r: (r.f(2, 3), Device("cpu"), BY_NAME["float32"])),
    call("_to_copy", lambda r: (r.f(2, 3),), dtype=BY_NAME["float32"]),
    call("copy", lambda r: (r.f(2, 3), r.f(3))),
    call("copy", lambda r: (r.f(2, 3).T, r.f(3, 2))),
    call("copy", lambda r: (r.f(3, 2), r.f(2, 3).T)),
    call("contiguous", lambda r: (r.f(2, 3).T,)),
    call("type_as", lambda r: (r.f(2, 3), r.i(2, 1))),
    call("to.dtype", lambda r: (r.f(2, 3), BY_NAME["int32"])),
    call("clone set_", lambda r: (r.f(2, 3),)),
    call("item is_nonzero", lambda r: (r.f(1),)),
    call("to.other", lambda r: (r.f(2, 3), r.i(3, 2))),
    call("to.dtype_layout", lambda r: (r.f(2, 3),), dtype=BY_NAME["int64"]),
    call("resize_", lambda r: (r.f(2, 3), [3, 4])),
    call("view_as_real_copy", lambda r: (r.c(2, 3),)),
    call(
        "view_as_complex_copy alias_copy detach_copy squeeze_copy t_copy diagonal_copy unbind_copy.int",
        lambda r: (r.f(3, 2),),
    ),
    call("is_set_to", lambda r: (r.f(2, 3), r.f(2, 3))),
    call("as_strided_copy", lambda r: (r.f(9), [3, 3], [1, 2], 1)),
    call("expand_copy", lambda r: (r.f(2, 1), [4, -1, 3])),
    call("permute_copy", lambda r: (r.f(2, 3, 4), [2, 0, -2])),
    call("transpose_copy.int", lambda r: (r.f(2, 3, 4), 0, -1)),
    call("narrow_copy", lambda r: (r.f(5, 3), 0, 1, 2)),
    call("select_copy.int", lambda r: (r.f(2, 3), -1, -2)),
    call("slice_copy.Tensor", lambda r: (r.f(2, 9), 1, 1, -1, 3)),
    call("split_copy.Tensor", lambda r: (r.f(5, 3), 2)),
    call("split_with_sizes_copy", lambda r: (r.f(5, 3), [1, 4])),
    call("squeeze_copy.dim", lambda r: (r.f(1, 3, 1), -1)),
    call("squeeze_copy.dims", lambda r: (r.f(1, 3, 1), [0, 1])),
    call("unsqueeze_copy", lambda r: (r.f(2, 3), -1)),
    call("view_copy", lambda r: (r.f(2, 6), [3, -1])),
    call("view_copy.dtype", lambda r: (r.f(2, 6), BY_NAME["int64"])),
    call("unfold_copy", lambda r: (r.f(2, 9), 1, 3, 2)),
    call("_local_scalar_dense", lambda r: (r.f(1, 1),)),
    call("resize_as_ set_.source_Tensor", lambda r: (r.f(2, 3), r.f(4))),
    call("set_.source_Tensor_storage_offset", lambda r: (r.f(2, 3), r.f(9), 1, [2, 2], [1, 3])),
)
