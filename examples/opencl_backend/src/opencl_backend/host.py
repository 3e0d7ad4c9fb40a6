"""Operators that the host computes: their arrays are copied there and back. They need a cpu backend beside this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import dispatch_core as dc
from dispatch_aten.shapes import TensorMeta, cached_rule

from .arrays import Array
from .moves import download, upload


def _on_host(name: str) -> Callable[..., Any]:
    rule = cached_rule(name)

    def kernel(*arguments: Any, **keywords: Any) -> Any:
        specs = rule(*arguments, **keywords)
        index = next(each.block.index for each in arguments if isinstance(each, Array))
        values = getattr(dc.ops.aten, name)(
            *(download(each) if isinstance(each, Array) else each for each in arguments), **keywords
        )
        if isinstance(specs, TensorMeta):
            return upload(values, specs, index)
        return tuple(upload(each, spec, index) for each, spec in zip(values, specs, strict=True))

    return kernel


_NAMES: Final = (
    "linalg_cholesky_ex", "linalg_solve_triangular", "linalg_lu_factor_ex", "_linalg_eigh", "_linalg_svd", "linalg_qr",
    "geqrf", "linalg_ldl_factor_ex", "linalg_ldl_solve", "linalg_matrix_exp",
)  # fmt: skip
ATEN: Final = {name: _on_host(name) for name in _NAMES}
