"""Sparse tensors of coordinates (COO), or of compressed rows or columns (CSR, CSC, BSR, BSC) (source: ``torch.sparse``)."""

from __future__ import annotations

from typing import NoReturn

from dispatch_core.tracebacks import api_boundary

from ..names.lazy_names import missing_name
from .checking import as_sparse_gradcheck
from .construction import check_sparse_tensor_invariants
from .diagonals import spdiags
from .functions import addmm, log_softmax, mm, sampled_addmm, softmax, spsolve, sum  # noqa: A004  # torch's name

from . import gradients, kernels  # isort: skip  # noqa: F401  # of the operators that the functions call
from .compressed import kernels as _kernels  # isort: skip  # noqa: F401

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]


@api_boundary
def __getattr__(name: str) -> NoReturn:
    """Refuse a name, with the reason where torch has it."""
    raise missing_name(__name__, name)
