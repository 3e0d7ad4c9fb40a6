"""Right calls of the operators of ``operators.factory``: names, and a function that draws their arguments."""

from __future__ import annotations

from typing import Final

from ...dtypes import BY_NAME
from ..drawing import CallRow, call

CALLS: Final[tuple[CallRow, ...]] = (
    call("empty_permuted", lambda r: ([2, 3], [1, 0])),
    call("fill.Scalar", lambda r: (r.f(2, 3), 3)),
    call("fill.Tensor", lambda r: (r.f(2, 3), r.f())),
    call("tril", lambda r: (r.f(3, 4), 1)),
    call("triu", lambda r: (r.f(2, 3, 4), -1)),
    call("full_like", lambda r: (r.f(2, 3), 4), dtype=BY_NAME["int64"]),
    call("new_full", lambda r: (r.f(2, 3), [2], 4)),
    call("new_ones new_zeros new_empty", lambda r: (r.f(2, 3), [2])),
    call("linspace", lambda r: (0.5, 7, 6)),
    call("linspace", lambda r: (3, -3, 5), dtype=BY_NAME["int64"]),
    call("arange", lambda r: (5,)),
    call("arange.start", lambda r: (1.5, 5)),
    call("eye scalar_tensor", lambda r: (3,)),
    call("eye.m", lambda r: (2, 4)),
    call("full", lambda r: ([2, 3], True)),
    call("ones", lambda r: ([2, 3],), dtype=BY_NAME["int32"]),
    call("zeros empty.memory_format", lambda r: ([2, 3],)),
    call("empty_strided", lambda r: ([2, 3], [1, 2])),
    call("empty_like zero_ zeros_like ones_like", lambda r: (r.f(2, 3),)),
    call("new_empty_strided", lambda r: (r.f(2, 3), [2, 2], [1, 2])),
    call("arange.start_step", lambda r: (1, 7, 2)),
    call("bartlett_window blackman_window hamming_window hann_window", lambda r: (7,)),
    call("kaiser_window", lambda r: (7,), dtype=BY_NAME["float64"]),
    call(
        "bartlett_window.periodic blackman_window.periodic hamming_window.periodic hann_window.periodic "
        "kaiser_window.periodic",
        lambda r: (7, False),
    ),
    call("hamming_window.periodic_alpha kaiser_window.beta", lambda r: (7, True, 0.5)),
    call("hamming_window.periodic_alpha_beta", lambda r: (7, True, 0.5, 0.4)),
    call("linspace.Tensor_Tensor logspace.Tensor_Tensor", lambda r: (r.f(), r.f(), 5)),
    call("linspace.Tensor_Scalar logspace.Tensor_Scalar", lambda r: (r.f(), 3, 5)),
    call("linspace.Scalar_Tensor logspace.Scalar_Tensor", lambda r: (3, r.f(), 5)),
    call("logspace", lambda r: (0.5, 2, 5)),
    call("range", lambda r: (1, 5)),
    call("range.step", lambda r: (1, 5, 0.5)),
    call("tril_indices triu_indices", lambda r: (3, 4, 1), dtype=BY_NAME["int64"]),
    call("full", lambda r: ([2, 3], -1), dtype=BY_NAME["uint8"]),
    call("fill.Scalar fill_.Scalar", lambda r: (r.i(9, 4).astype("uint8"), -1)),
    call("fill.Scalar fill_.Scalar", lambda r: (r.b(4), 2)),
)
