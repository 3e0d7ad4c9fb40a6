"""Shape rules of operators that make tensors, fill them or draw random numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import ScalarType, bool_, float16, float64, get_default_dtype, int64
from dispatch_aten.errors import OperatorError, ShapeError, UnsupportedError
from dispatch_aten.promotion import Number, check_output_dtype, scalar_dtype

from .layout import broadcast_shapes, check_output_shape, preserve_format
from .meta import TensorMeta, channels_last_strides, contiguous
from .pointwise import elementwise
from .refusals import GREATEST, c_name, check_fits, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["RULES", "arange_length", "with_memory_format"]

_CONTIGUOUS, _PRESERVE, _CHANNELS_LAST = 0, 1, 2


def with_memory_format(meta: TensorMeta, dtype: ScalarType | None, memory_format: int | None) -> TensorMeta:
    """Describe a fresh tensor of ``meta``'s shape in a memory format (torch's number; None preserves)."""
    dtype = meta.dtype if dtype is None else dtype
    if memory_format is None or memory_format == _PRESERVE:
        return preserve_format(meta, dtype)
    if memory_format == _CONTIGUOUS:
        return contiguous(meta.shape, dtype)
    if meta.ndim != memory_format + 2:
        raise ShapeError(
            f"required rank {memory_format + 2} tensor to use channels_last format", argument="memory_format"
        )
    return TensorMeta(meta.shape, channels_last_strides(meta.shape), dtype)


def _check_size(size: Sequence[int]) -> tuple[int, ...]:
    for length in size:
        if length < 0:
            raise ShapeError(f"Trying to create tensor with negative dimension {length}: {list(size)}", argument="size")
    return tuple(size)


def _empty(size: Sequence[int], *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    meta = contiguous(_check_size(size), dtype)
    if options.get("memory_format") == _PRESERVE:
        raise OperatorError("unsupported memory format Preserve", argument="memory_format")
    return with_memory_format(meta, None, options.get("memory_format") or 0)


def _zeros(size: Sequence[int], *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    if any(length < 0 for length in size):
        raise ShapeError("zeros: Dimension size must be non-negative.", argument="size")
    return contiguous(size, dtype)


def _empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: ScalarType | None = None, **options: Any
) -> TensorMeta:
    if len(size) != len(stride):
        raise ShapeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})",
            argument="stride",
        )
    if any(step < 0 for step in stride):
        raise ShapeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}", argument="stride"
        )
    return TensorMeta(_check_size(size), tuple(stride), get_default_dtype() if dtype is None else dtype)


def _full(size: Sequence[int], fill_value: Number, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    found = scalar_dtype(fill_value) if dtype is None else dtype
    check_fits(fill_value, found, "fill_value")
    return contiguous(_check_size(size), found)


def arange_length(start: Number, end: Number, step: Number) -> int:
    """Return the number of elements of ``arange``; raise torch's errors for ranges that have none.

    >>> arange_length(0, 5, 2)
    3
    """
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise OperatorError(
            "value cannot be converted to type double without overflow: a range is real", argument="end"
        )
    if step == 0:
        raise OperatorError("step must be nonzero", argument="step")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise OperatorError(f"unsupported range: {start} -> {end}", argument="end")
    if (end < start) if step > 0 else (end > start):
        raise OperatorError("upper bound and lower bound inconsistent with step sign", argument="end")
    if all(isinstance(value, int) for value in (start, end, step)):
        return int(-((start - end) // step))
    return math.ceil((end - start) / step)


def _arange_from(
    start: Number, end: Number, step: Number = 1, *, dtype: ScalarType | None = None, **options: Any
) -> TensorMeta:
    if dtype is None:
        dtype = int64 if all(isinstance(value, int) for value in (start, end, step)) else get_default_dtype()
    if dtype.is_integral:
        start, end, step = (int(value) if not isinstance(value, complex) else value for value in (start, end, step))
    _check_none_of("arange_cpu", "bc", dtype)
    return contiguous((arange_length(start, end, step),), dtype)


def _arange(end: Number, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    return _arange_from(0, end, dtype=dtype)


def _linspace(start: Number, end: Number, steps: int, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    if steps < 0:
        raise OperatorError("number of steps must be non-negative", argument="steps")
    if dtype is None:
        dtype = get_default_dtype()
        if isinstance(start, complex) or isinstance(end, complex):
            dtype = dtype.to_complex()
    _check_none_of("linspace_cpu", "b", dtype)
    return contiguous((steps,), dtype)


def _eye(n: int, m: int | None = None, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    for name, value in (("n", n), ("m", m)):
        if value is not None and value < 0:
            raise OperatorError(f"{name} must be greater or equal to 0, got {value}", argument=name)
    return contiguous((n, n if m is None else m), dtype)


def _scalar_tensor(s: Number, *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    meta = contiguous((), dtype)
    # Torch makes a half of any real number here, if need be an infinity, where a fill refuses.
    check_fits(s, float64 if meta.dtype == float16 else meta.dtype, "s")
    return meta


def _like(
    self: TensorMeta, *args: Any, dtype: ScalarType | None = None, memory_format: int | None = None, **options: Any
) -> TensorMeta:
    return with_memory_format(self, dtype, memory_format)


def _full_like(
    self: TensorMeta,
    fill_value: Number,
    *,
    dtype: ScalarType | None = None,
    memory_format: int | None = None,
    **options: Any,
) -> TensorMeta:
    check_fits(fill_value, self.dtype if dtype is None else dtype, "fill_value")
    return with_memory_format(self, dtype, memory_format)


def _new(self: TensorMeta, size: Sequence[int], *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    return contiguous(_check_size(size), self.dtype if dtype is None else dtype)


def _new_zeros(self: TensorMeta, size: Sequence[int], *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
    return _zeros(size, dtype=self.dtype if dtype is None else dtype)


def _new_full(
    self: TensorMeta, size: Sequence[int], fill_value: Number, *, dtype: ScalarType | None = None, **options: Any
) -> TensorMeta:
    found = self.dtype if dtype is None else dtype
    check_fits(fill_value, found, "fill_value")
    return contiguous(_check_size(size), found)


def _new_empty_strided(
    self: TensorMeta, size: Sequence[int], stride: Sequence[int], *, dtype: ScalarType | None = None, **options: Any
) -> TensorMeta:
    return _empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype)


def _triangle(name: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, diagonal: int = 0) -> TensorMeta:
        if self.ndim < 2:
            raise ShapeError(f"{name}: input tensor must have at least 2 dimensions", argument="self")
        return contiguous(self.shape, self.dtype)

    return rule


def _fill(self: TensorMeta, value: TensorMeta | Number) -> TensorMeta:
    if isinstance(value, TensorMeta):
        if value.shape:
            raise ShapeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.",
                argument="value",
            )
    else:
        check_fits(value, self.dtype, "value")
    return preserve_format(self)


def _fill_inplace(self: TensorMeta, value: TensorMeta | Number) -> TensorMeta:
    _fill(self, value)
    return self


def _check_none_of(label: str, kinds: str, dtype: ScalarType) -> None:
    if kind_of(dtype) in kinds:
        raise UnsupportedError(f"\"{label}\" not implemented for '{dtype.name}'")


def _check_real(label: str, dtype: ScalarType) -> None:
    if not dtype.is_differentiable:
        raise UnsupportedError(f"\"{label}\" not implemented for '{dtype.name}'")


def _random(label: str) -> Callable[..., TensorMeta]:
    def rule(size: Sequence[int], *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
        meta = contiguous(_check_size(size), dtype)
        _check_real(label, meta.dtype)
        return meta

    return rule


def _check_range(low: int, high: int | None, dtype: ScalarType) -> None:
    """Refuse an empty range of random integers, and one that the dtype does not hold."""
    if high is not None and low >= high:
        raise OperatorError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}", argument="high"
        )
    if dtype.is_complex:
        raise OperatorError(
            "check_random_bounds handles only integral, floating-point and boolean types", argument="dtype"
        )
    least, greatest = _bounds(dtype)
    for name, argument, value in (("from", "low", low), ("to - 1", "high", low if high is None else high - 1)):
        if not least <= value <= greatest:
            raise OperatorError(f"{name} is out of bounds for {c_name(dtype)}", argument=argument)


def _bounds(dtype: ScalarType) -> tuple[float, float]:
    if dtype == bool_:
        return 0, 1
    if dtype.is_integral:
        return dtype.bounds
    greatest = GREATEST.get(dtype, math.inf)
    return -greatest, greatest


def _randint(high: int, size: Sequence[int], *, dtype: ScalarType | None = int64, **options: Any) -> TensorMeta:
    return _randint_low(0, high, size, dtype=dtype)


def _randint_low(
    low: int, high: int, size: Sequence[int], *, dtype: ScalarType | None = int64, **options: Any
) -> TensorMeta:
    meta = contiguous(_check_size(size), dtype)
    _check_range(low, high, meta.dtype)
    return meta


def _randperm(n: int, *, dtype: ScalarType | None = int64, **options: Any) -> TensorMeta:
    dtype = int64 if dtype is None else dtype
    _check_none_of("randperm", "bc", dtype)
    return contiguous(_check_size((n,)), dtype)


def _random_like(label: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, **options: Any) -> TensorMeta:
        options.pop("generator", None)
        meta = _like(self, **options)
        _check_real(label, meta.dtype)
        return meta

    return rule


def _randint_like(self: TensorMeta, *bounds: int, **options: Any) -> TensorMeta:
    options.pop("generator", None)
    low, high = (0, *bounds) if len(bounds) == 1 else bounds
    meta = _like(self, **options)
    _check_range(low, high, meta.dtype)
    return meta


def _uniform_inplace(self: TensorMeta, from_: float = 0.0, to: float = 1.0, **options: Any) -> TensorMeta:
    from_ = options.get("from", from_)
    _check_real("check_uniform_bounds", self.dtype)
    greatest = GREATEST.get(self.dtype, math.inf)
    for name, value in (("from", from_), ("to", to)):
        if not -greatest <= value <= greatest:
            raise OperatorError(f"{name} is out of bounds for {c_name(self.dtype)}", argument=name)
    if from_ > to:
        raise OperatorError(
            f"uniform_ expects to return a [from, to) range, but found from={from_:g} > to={to:g}", argument="from"
        )
    return self


def _normal_inplace(self: TensorMeta, mean: float = 0.0, std: float = 1.0, **options: Any) -> TensorMeta:
    if not std >= 0:
        raise OperatorError(f"normal expects std >= 0.0, but found std {std:g}", argument="std")
    _check_real("normal_kernel_cpu", self.dtype)
    return self


def _exponential_inplace(self: TensorMeta, lambd: float = 1.0, **options: Any) -> TensorMeta:
    if not lambd > 0:
        raise OperatorError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}", argument="lambd")
    if not self.dtype.is_floating_point:
        raise OperatorError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {self.dtype.name}",
            argument="self",
        )
    return self


def _bernoulli_inplace(self: TensorMeta, p: TensorMeta | float = 0.5, **options: Any) -> TensorMeta:
    if isinstance(p, TensorMeta):
        if not p.dtype.is_floating_point:
            raise OperatorError(
                f"expected probabilities tensor to have floating type, got {p.dtype.name}", argument="p"
            )
        check_output_shape(broadcast_shapes(self.shape, p.shape, argument="p"), self.shape)
    elif not 0 <= p <= 1:
        raise OperatorError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}", argument="p")
    _check_none_of(f"bernoulli_{'tensor_cpu_self' if isinstance(p, TensorMeta) else 'scalar_cpu'}_", "c", self.dtype)
    return self


def _bernoulli(self: TensorMeta, p: float | None = None, **options: Any) -> TensorMeta:
    if p is not None:
        _bernoulli_inplace(self, p)
    else:
        _check_real("bernoulli_tensor_cpu_self_", self.dtype)
        _check_none_of("bernoulli_tensor_cpu_self_", "c", self.dtype)
    return preserve_format(self) if p is None else contiguous(self.shape, self.dtype)


def _random_inplace(self: TensorMeta, *bounds: int | None, **options: Any) -> TensorMeta:
    if len(bounds) == 2:
        low, high = bounds
        _check_range(low or 0, high, self.dtype)
    elif len(bounds) == 1:
        _check_range(0, bounds[0], self.dtype)
    else:
        _check_none_of("random_kernel_cpu", "c", self.dtype)
    return self


def _native_dropout(input: TensorMeta, p: float, train: bool | None) -> tuple[TensorMeta, TensorMeta]:
    if input.numel == 0:
        return input, preserve_format(input)
    if train is False:
        return preserve_format(input), preserve_format(input, bool_)
    # torch draws the mask in the input's dtype and divides it in place.
    check_output_dtype(get_default_dtype(), input.dtype)
    _check_none_of("bernoulli_scalar_cpu_", "c", input.dtype)
    return elementwise(input, 1.0), preserve_format(input, bool_)


_INPLACE: Final[dict[str, Callable[..., Any]]] = {
    "fill_.Scalar": _fill_inplace,
    "fill_.Tensor": _fill_inplace,
    "zero_": lambda self: self,
    "uniform_": _uniform_inplace,
    "normal_": _normal_inplace,
    "exponential_": _exponential_inplace,
    "bernoulli_.float": _bernoulli_inplace,
    "bernoulli_.Tensor": _bernoulli_inplace,
    "random_": _random_inplace,
    "random_.to": _random_inplace,
    "random_.from": _random_inplace,
}

RULES: Final[dict[str, Callable[..., Any]]] = _INPLACE | {
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "full": _full,
    "zeros": _zeros,
    "ones": _empty,
    "arange": _arange,
    "arange.start": _arange_from,
    "arange.start_step": _arange_from,
    "linspace": _linspace,
    "eye": _eye,
    "eye.m": _eye,
    "scalar_tensor": _scalar_tensor,
    "empty_like": _like,
    "zeros_like": _like,
    "ones_like": _like,
    "full_like": _full_like,
    "new_empty": _new,
    "new_empty_strided": _new_empty_strided,
    "new_full": _new_full,
    "new_zeros": _new_zeros,
    "new_ones": _new,
    "tril": _triangle("tril"),
    "triu": _triangle("triu"),
    "fill.Scalar": _fill,
    "fill.Tensor": _fill,
    "rand": _random("check_uniform_bounds"),
    "rand.generator": _random("check_uniform_bounds"),
    "randn": _random("normal_kernel_cpu"),
    "randn.generator": _random("normal_kernel_cpu"),
    "randint": _randint,
    "randint.generator": _randint,
    "randint.low": _randint_low,
    "randint.low_generator": _randint_low,
    "randperm": _randperm,
    "randperm.generator": _randperm,
    "rand_like": _random_like("check_uniform_bounds"),
    "rand_like.generator": _random_like("check_uniform_bounds"),
    "randn_like": _random_like("normal_kernel_cpu"),
    "randn_like.generator": _random_like("normal_kernel_cpu"),
    "randint_like": _randint_like,
    "randint_like.generator": _randint_like,
    "randint_like.low_dtype": _randint_like,
    "randint_like.low_generator_dtype": _randint_like,
    "bernoulli": _bernoulli,
    "bernoulli.p": _bernoulli,
    "native_dropout": _native_dropout,
}
