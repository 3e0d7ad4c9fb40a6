"""Shape rules of sorting and selecting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import bool_, int64
from dispatch_aten.errors import DtypeError, OperatorError

from .dims import wrap_dim
from .layout import preserve_format
from .meta import TensorMeta, contiguous

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RULES"]


def _sort(self: TensorMeta, dim: int = -1, descending: bool = False, **options: Any) -> tuple[TensorMeta, TensorMeta]:
    wrap_dim(dim, self.ndim)
    if self.dtype.is_complex:
        raise DtypeError(" Sort does not support complex dtypes on CPU", argument="self")
    return preserve_format(self), preserve_format(self, int64)


def _sort_stable(
    self: TensorMeta, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[TensorMeta, TensorMeta]:
    return _sort(self, dim, descending)


def _argsort(self: TensorMeta, dim: int = -1, descending: bool = False, **options: Any) -> TensorMeta:
    return _sort(self, options.get("dim", dim), descending)[1]


def _topk(
    self: TensorMeta,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,  # torch's name
) -> tuple[TensorMeta, TensorMeta]:
    dim = wrap_dim(dim, self.ndim)
    if not 0 <= k <= (self.shape[dim] if self.shape else 1):
        raise OperatorError("selected index k out of range", argument="k")
    if self.dtype.is_complex:
        raise DtypeError(" topk does not support complex dtypes on CPU", argument="self")
    if self.dtype == bool_:
        raise DtypeError("topk does not support bool dtypes on CPU", argument="self")
    shape = (*self.shape[:dim], k, *self.shape[dim + 1 :]) if self.shape else ()
    return contiguous(shape, self.dtype), contiguous(shape, int64)


RULES: Final[dict[str, Callable[..., Any]]] = {
    "sort": _sort,
    "sort.stable": _sort_stable,
    "argsort": _argsort,
    "argsort.stable": _argsort,
    "topk": _topk,
}
