"""Shape rules of reductions and scans. Their results are always row-major."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import ScalarType, bool_, int64, uint8, uint64
from dispatch_aten.errors import DimensionError, DtypeError, OperatorError, ShapeError
from dispatch_aten.promotion import Promotion, computation_type, promote_types
from dispatch_aten.shapes.dims import reduced_shape, wrap_dim, wrap_dims
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.refusals import refuse_kinds
from dispatch_core.tracebacks import warn_caller

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _reduce(self: TensorMeta, dim: int | Sequence[int] | None, keepdim: bool, dtype: ScalarType) -> TensorMeta:
    return contiguous(reduced_shape(self.shape, wrap_dims(dim, self.ndim), keepdim), dtype)


def _accumulation_dtype(self: TensorMeta, dtype: ScalarType | None) -> ScalarType:
    return computation_type(Promotion.INT_TO_LONG, self.dtype) if dtype is None else dtype


def _sum(
    self: TensorMeta,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> TensorMeta:
    return _reduce(self, dim, keepdim, _accumulation_dtype(self, dtype))


def _mean(
    self: TensorMeta,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> TensorMeta:
    found = self.dtype if dtype is None else dtype
    if not found.is_differentiable:
        which = "Input" if dtype is None else "Optional"
        raise DtypeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {found.name}",
            argument="self" if dtype is None else "dtype",
        )
    return _reduce(self, dim, keepdim, found)


def _check_not_empty(name: str, self: TensorMeta, dims: Sequence[int], unit: str = "(): ") -> None:
    """Refuse to reduce dimensions of size 0 with an operation that has no identity."""
    for dim in dims:
        if self.shape and self.shape[dim] == 0:
            raise DimensionError(f"{name}{unit}Expected reduction dim {dim} to have non-zero size.", argument="dim")


_UNSPECIFIED: Final = "{}(): Expected reduction dim to be specified for input.numel() == 0."


def _extremum(name: str, label: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, dim: int | Sequence[int] = (), keepdim: bool = False) -> TensorMeta:
        dims = wrap_dims(dim, self.ndim)
        if self.numel == 0:
            if isinstance(dim, (tuple, list)) and not dim:
                raise OperatorError(
                    _UNSPECIFIED.format(name) + " Specify the reduction dim with the 'dim' argument.", argument="dim"
                )
            _check_not_empty(name, self, (dim,) if isinstance(dim, int) else dim)
        refuse_kinds(label, "c", self.dtype)
        return _reduce(self, dims, keepdim, self.dtype) if dims else contiguous(self.shape, self.dtype)

    return rule


def _extremum_of_all(name: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta) -> TensorMeta:
        if self.numel == 0:
            raise OperatorError(
                _UNSPECIFIED.format(name) + " Specify the reduction dim with the 'dim' argument.", argument="self"
            )
        refuse_kinds(f"{name}_all", "c", self.dtype)
        return contiguous((), self.dtype)

    return rule


def _extremum_with_indices(name: str) -> Callable[..., tuple[TensorMeta, TensorMeta]]:
    def rule(self: TensorMeta, dim: int, keepdim: bool = False) -> tuple[TensorMeta, TensorMeta]:
        dim = wrap_dim(dim, self.ndim)
        _check_not_empty(name, self, (dim,))
        if self.dtype.is_complex:
            raise DtypeError(f"{name}(): does not support complex input", argument="self")
        return _reduce(self, dim, keepdim, self.dtype), _reduce(self, dim, keepdim, int64)

    return rule


def _arg_extremum(name: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, dim: int | None = None, keepdim: bool = False) -> TensorMeta:
        for refused, kind in ((self.dtype.is_complex, "complex"), (self.dtype == bool_, "bool")):
            if refused:
                raise DtypeError(f"{name}(): does not support {kind} input", argument="self")
        if dim is not None:
            _check_not_empty(name, self, (wrap_dim(dim, self.ndim),))
        elif self.numel == 0:
            raise DimensionError(_UNSPECIFIED.format(name), argument="dim")
        return _reduce(self, dim, keepdim, int64)

    return rule


def _any(self: TensorMeta, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> TensorMeta:
    # An empty list of dimensions reduces nothing here, unlike in sum.
    dims = wrap_dims(dim, self.ndim, all_if_empty=False)
    return contiguous(reduced_shape(self.shape, dims, keepdim), uint8 if self.dtype == uint8 else bool_)


def warn_of_freedom(name: str) -> None:
    """Warn that a variance has no degrees of freedom."""
    warn_caller(
        f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
        "divided by output numel)."
    )


def _var(
    self: TensorMeta,
    dim: int | Sequence[int] | None = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> TensorMeta:
    if not self.dtype.is_differentiable:
        raise DtypeError("std and var only support floating point and complex dtypes", argument="self")
    return _reduce(self, dim, keepdim, self.dtype.to_real())


def _var_of_all(self: TensorMeta, unbiased: bool = True) -> TensorMeta:
    return _var(self)


def _with_mean(rule: Callable[..., TensorMeta]) -> Callable[..., tuple[TensorMeta, TensorMeta]]:
    def both(self: TensorMeta, *args: Any, **kwargs: Any) -> tuple[TensorMeta, TensorMeta]:
        try:
            var = rule(self, *args, **kwargs)
        except DtypeError:
            raise DtypeError("var_mean only support floating point and complex dtypes", argument="self") from None
        return var, var.with_dtype(self.dtype)

    return both


def _vector_norm(
    self: TensorMeta,
    ord: float = 2,  # torch's name
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> TensorMeta:
    if not self.dtype.is_differentiable:
        raise DtypeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {self.dtype.name}",
            argument="self",
        )
    if dtype is not None and (not dtype.is_differentiable or self.dtype.is_complex != dtype.is_complex):
        raise DtypeError(
            f"linalg.vector_norm: dtype {dtype.name} does not fit the input {self.dtype.name}", argument="dtype"
        )
    if dtype is not None and promote_types(self.dtype, dtype) != dtype:
        raise DtypeError(
            f"linalg.vector_norm: the dtype of the input ({self.dtype.name}) should be convertible without narrowing to the "
            f"specified dtype ({dtype.name})",
            argument="dtype",
        )
    dims = wrap_dims(dim, self.ndim)
    if self.numel == 0 and (ord < 0 or ord == float("inf")) and 0 in [self.shape[each] for each in dims]:
        raise OperatorError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the operation does not "
            "have an identity",
            argument="self",
        )
    return _reduce(self, dims, keepdim, (dtype or self.dtype).to_real())


def _norm(
    self: TensorMeta,
    p: float | None = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: ScalarType | None = None,
) -> TensorMeta:
    if not self.dtype.is_differentiable:
        raise DtypeError(
            f"norm(): input dtype should be either floating point or complex. Got {self.dtype.name} instead.",
            argument="self",
        )
    return _vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


def _logsumexp(self: TensorMeta, dim: int | Sequence[int], keepdim: bool = False) -> TensorMeta:
    if isinstance(dim, (tuple, list)) and not dim and self.shape and not keepdim:
        # torch reduces all dimensions and makes room for a result without any.
        raise ShapeError(
            f"output with shape [] doesn't match the broadcast shape {[1] * self.ndim}",
            argument="dim",
            hint="name the dimensions to reduce all of them",
        )
    return _reduce(self, dim, keepdim, computation_type(Promotion.INT_TO_FLOAT, self.dtype))


def _count_nonzero(self: TensorMeta, dim: int | Sequence[int] | None = None) -> TensorMeta:
    return _reduce(self, dim, False, int64)


def _aminmax(self: TensorMeta, *, dim: int | None = None, keepdim: bool = False) -> tuple[TensorMeta, TensorMeta]:
    if dim is None and self.numel == 0:
        raise OperatorError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.",
            argument="self",
        )
    if dim is not None:
        dim = wrap_dim(dim, self.ndim)
        _check_not_empty("aminmax", self, (dim,), ": ")
    refuse_kinds("aminmax_cpu", "c", self.dtype)
    found = _reduce(self, dim, keepdim, self.dtype)
    return found, found


def _scan(self: TensorMeta, dim: int, *, dtype: ScalarType | None = None) -> TensorMeta:
    wrap_dim(dim, self.ndim)
    refuse_kinds("cumulative_cpu", "b", _accumulation_dtype(self, dtype))
    return contiguous(self.shape, _accumulation_dtype(self, dtype))


def _scan_inplace(self: TensorMeta, dim: int, *, dtype: ScalarType | None = None) -> TensorMeta:
    if dtype is not None and dtype != self.dtype:
        raise DtypeError(
            f"Provided dtype must match self's dtype in an in-place call: {dtype.name} != {self.dtype.name}",
            argument="dtype",
        )
    wrap_dim(dim, self.ndim)
    refuse_kinds("cumulative_cpu", "b", self.dtype)
    return self


def _cumulative_extremum(name: str) -> Callable[..., tuple[TensorMeta, TensorMeta]]:
    def rule(self: TensorMeta, dim: int) -> tuple[TensorMeta, TensorMeta]:
        wrap_dim(dim, self.ndim)
        refuse_kinds(f"{name}_cpu", "c", self.dtype)
        return contiguous(self.shape, self.dtype), contiguous(self.shape, int64)

    return rule


def _logcumsumexp(self: TensorMeta, dim: int) -> TensorMeta:
    wrap_dim(dim, self.ndim)
    refuse_kinds("logcumsumexp_out_cpu", "bi", self.dtype)
    return contiguous(self.shape, self.dtype)


def _hash(self: TensorMeta, dim: int | Sequence[int] = (), *, keepdim: bool = False, mode: int = 0) -> TensorMeta:
    if mode != 0:
        raise OperatorError(f"Unknown hash_tensor mode: {mode}", argument="mode")
    if not self.numel and not isinstance(dim, int) and not dim:
        raise OperatorError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument.",
            argument="dim",
        )
    if not self.numel:
        _check_not_empty("hash_tensor", self, wrap_dims(dim, self.ndim), ": ")
    refuse_kinds("xor_sum_cpu", "c", self.dtype)
    return _reduce(self, dim, keepdim, uint64)


def _sum_to_size(self: TensorMeta, size: Sequence[int]) -> TensorMeta:
    size = tuple(size)
    fits = len(size) <= self.ndim and all(
        wanted in (1, have) for wanted, have in zip(reversed(size), reversed(self.shape), strict=False)
    )
    if not fits:
        raise ShapeError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.", argument="size")
    return self if size == self.shape and size else contiguous(size, _accumulation_dtype(self, None))
