"""Sparse tensors in the layout of coordinates (COO) (source: ``torch.sparse``)."""

from __future__ import annotations

from typing import NoReturn

from dispatch_core.tracebacks import api_boundary

from ..names.lazy_names import missing_name
from .checking import as_sparse_gradcheck
from .construction import check_sparse_tensor_invariants
from .diagonals import spdiags
from .functions import addmm, log_softmax, mm, softmax, sum  # noqa: A004  # torch's name

from . import gradients, kernels  # isort: skip  # noqa: F401  # of the operators that the functions call

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "softmax",
    "spdiags",
    "sum",
]


@api_boundary
def __getattr__(name: str) -> NoReturn:
    """Refuse a name, with the reason where torch has it."""
    raise missing_name(__name__, name)
