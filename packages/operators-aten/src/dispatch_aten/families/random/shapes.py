"""Shape rules of operators that draw random numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import ScalarType, bfloat16, bool_, float16, float32, float64, get_default_dtype, int64
from dispatch_aten.errors import ArgumentValueError, DtypeError, OperatorError
from dispatch_aten.families.factory.shapes import with_memory_format
from dispatch_aten.output_dtypes import check_output_dtype
from dispatch_aten.shapes.dims import check_size
from dispatch_aten.shapes.elementwise import elementwise
from dispatch_aten.shapes.layout import broadcast_shapes, check_output_shape, preserve_format
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.refusals import GREATEST, c_name, check_fits, refuse_kinds
from dispatch_core.tracebacks import warn_caller

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _sample(label: str) -> Callable[..., TensorMeta]:
    def rule(size: Sequence[int], *, dtype: ScalarType | None = None, **options: Any) -> TensorMeta:
        meta = contiguous(check_size(size), dtype)
        refuse_kinds(label, "bi", meta.dtype)
        return meta

    return rule


#: The bits of the integers that a float holds, each of them.
_DIGITS: Final = {bfloat16: 8, float16: 11, float32: 24, float64: 53}
_IMPRECISE: Final = (
    "{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {dtype} can support discrete uniform"
    " distribution only within this range."
)


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
        digits = _DIGITS.get(dtype)
        if digits is not None and abs(value) > 1 << digits:
            warn_caller(_IMPRECISE.format(name=name, digits=digits, dtype=c_name(dtype)))


def _bounds(dtype: ScalarType) -> tuple[float, float]:
    if dtype == bool_:
        return 0, 1
    if dtype.is_integral:
        return dtype.bounds
    greatest = GREATEST.get(dtype, math.inf)
    return -greatest, greatest


def _randint_low(
    low: int, high: int, size: Sequence[int], *, dtype: ScalarType | None = int64, **options: Any
) -> TensorMeta:
    meta = contiguous(check_size(size), dtype)
    _check_range(low, high, meta.dtype)
    return meta


#: The longest permutations in floats that hold each of their integers.
_MOST_PERMUTED: Final = {float16: 2**11 + 1, float32: 2**24 + 1, float64: 2**53 + 1}


def _randperm(n: int, *, dtype: ScalarType | None = int64, **options: Any) -> TensorMeta:
    dtype = int64 if dtype is None else dtype
    refuse_kinds("randperm", "bc", dtype)
    if dtype.is_integral and n > 0:
        check_fits(n - 1, dtype, "n")
    if n > _MOST_PERMUTED.get(dtype, n):
        raise OperatorError(f"n cannot be greater than {_MOST_PERMUTED[dtype]} for {dtype.name} type.", argument="n")
    return contiguous(check_size((n,)), dtype)


def _sample_like(label: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, **options: Any) -> TensorMeta:
        meta = with_memory_format(self, options.get("dtype"), options.get("memory_format"))
        refuse_kinds(label, "bi", meta.dtype)
        return meta

    return rule


def _randint_like(self: TensorMeta, *bounds: int, **options: Any) -> TensorMeta:
    low, high = (0, *bounds) if len(bounds) == 1 else bounds
    meta = with_memory_format(self, options.get("dtype"), options.get("memory_format"))
    _check_range(low, high, meta.dtype)
    return meta


def _uniform_inplace(self: TensorMeta, from_: float = 0.0, to: float = 1.0, **options: Any) -> TensorMeta:
    from_ = options.get("from", from_)
    refuse_kinds("check_uniform_bounds", "bi", self.dtype)
    greatest = GREATEST.get(self.dtype, math.inf)
    for name, value in (("from", from_), ("to", to)):
        if not -greatest <= value <= greatest:
            raise OperatorError(f"{name} is out of bounds for {c_name(self.dtype)}", argument=name)
    if to - from_ > greatest:
        raise OperatorError(
            f"uniform_ expects to-from <= std::numeric_limits<{self.dtype.name}>::max(), but found to={to:g} and "
            f"from={from_:g} which result in to-from to exceed the limit",
            argument="to",
        )
    if from_ > to:
        raise OperatorError(
            f"uniform_ expects to return a [from, to) range, but found from={from_:g} > to={to:g}", argument="from"
        )
    return self


def _normal_inplace(self: TensorMeta, mean: float = 0.0, std: float = 1.0, **options: Any) -> TensorMeta:
    if not std >= 0:
        raise OperatorError(f"normal expects std >= 0.0, but found std {std:g}", argument="std")
    refuse_kinds("normal_kernel_cpu", "bi", self.dtype)
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
    refuse_kinds(f"bernoulli_{'tensor_cpu_self' if isinstance(p, TensorMeta) else 'scalar_cpu'}_", "c", self.dtype)
    return self


def _bernoulli(self: TensorMeta, p: float | None = None, **options: Any) -> TensorMeta:
    if p is None:
        refuse_kinds("bernoulli_tensor_cpu_self_", "bic", self.dtype)
    else:
        _bernoulli_inplace(self, p)
    return contiguous(self.shape, self.dtype)


def _random_inplace(self: TensorMeta, *bounds: int | None, **options: Any) -> TensorMeta:
    if len(bounds) == 2:
        low, high = bounds
        _check_range(low or 0, high, self.dtype)
    elif len(bounds) == 1:
        _check_range(0, bounds[0], self.dtype)
    else:
        refuse_kinds("random_kernel_cpu", "c", self.dtype)
    return self


def _native_dropout(input: TensorMeta, p: float, train: bool | None) -> tuple[TensorMeta, TensorMeta]:
    if input.numel == 0:
        return input, preserve_format(input)
    if train is False:
        return preserve_format(input), preserve_format(input, bool_)
    # torch draws the mask in the input's dtype and divides it in place.
    check_output_dtype(get_default_dtype(), input.dtype)
    refuse_kinds("bernoulli_scalar_cpu_", "c", input.dtype)
    return elementwise(input, 1.0), preserve_format(input, bool_)


def _native_dropout_backward(grad_output: TensorMeta, mask: TensorMeta, scale: float) -> TensorMeta:
    return elementwise(elementwise(grad_output, mask), scale)


def _fresh(rule: Callable[..., TensorMeta]) -> Callable[..., TensorMeta]:
    """Make the rule of an operator that returns what an in-place one would write."""
    return lambda self, *args, **options: preserve_format(rule(self, *args, **options))


def _continuous(name: str, argument: str, label: str, default: float = 1.0) -> Callable[..., TensorMeta]:
    """Make the rule of an in-place generator of real numbers, whose second number must be positive."""

    def rule(self: TensorMeta, *numbers: float, **options: Any) -> TensorMeta:
        spread = numbers[1] if len(numbers) > 1 else options.get(argument, default)
        if not spread > 0:
            raise OperatorError(f"{name}_ expects {argument} > 0.0, but found {argument}={spread:g}", argument=argument)
        if label and not self.dtype.is_floating_point:
            raise OperatorError(
                f"{label} distribution is a continuous probability distribution. dtype must be a floating point but you "
                f"specified {c_name(self.dtype)}",
                argument="self",
            )
        refuse_kinds(f"{name}_cpu", "bic", self.dtype)
        return self

    return rule


def _geometric_inplace(self: TensorMeta, p: float, **options: Any) -> TensorMeta:
    if not 0 < p < 1:
        raise OperatorError(f"geometric_ expects p to be in (0, 1), but got p={p:g}", argument="p")
    refuse_kinds("geometric_cpu", "bc", self.dtype)
    return self


def _normal(mean: TensorMeta | float, std: TensorMeta | float = 1.0, **options: Any) -> TensorMeta:
    tensors = [each for each in (mean, std) if isinstance(each, TensorMeta)]
    if not isinstance(std, TensorMeta) and not std >= 0:
        raise OperatorError(f"normal expects std >= 0.0, but found std {std:g}", argument="std")
    if isinstance(std, TensorMeta) and std.dtype.is_complex:
        raise OperatorError("normal expects standard deviation to be non-complex", argument="std")
    refuse_kinds("normal_kernel_cpu", "bi", tensors[0].dtype)
    return contiguous(broadcast_shapes(*[each.shape for each in tensors]), tensors[0].dtype)


def _normal_sized(
    mean: float, std: float, size: Sequence[int], *, dtype: ScalarType | None = None, **options: Any
) -> TensorMeta:
    meta = contiguous(check_size(size), dtype)
    return _normal_inplace(meta, mean, std)


def _of_rates(label: str, kinds: str = "bic") -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, *rest: Any, **options: Any) -> TensorMeta:
        refuse_kinds(label, kinds, self.dtype)
        return contiguous(self.shape, self.dtype)

    return rule


def _binomial(count: TensorMeta, prob: TensorMeta, *rest: Any, **options: Any) -> TensorMeta:
    for name, each in (("count", count), ("prob", prob)):
        if not each.dtype.is_floating_point:
            raise ArgumentValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {each.dtype.name}", argument=name
            )
    refuse_kinds("binomial_cpu", "bich", count.dtype)
    if count.dtype != prob.dtype:
        raise DtypeError(f"Found dtype {prob.dtype.name} but expected {count.dtype.name}", argument="prob")
    return contiguous(broadcast_shapes(count.shape, prob.shape, argument="prob"), count.dtype)


def _multinomial(self: TensorMeta, num_samples: int, replacement: bool = False, **options: Any) -> TensorMeta:
    if not 0 < len(self.shape) <= 2:
        raise OperatorError("prob_dist must be 1 or 2 dim", argument="self")
    if not self.dtype.is_floating_point:
        raise OperatorError(
            f"multinomial only supports floating-point dtypes for input, got: {self.dtype.name}", argument="self"
        )
    if num_samples <= 0:
        raise OperatorError("cannot sample n_sample <= 0 samples", argument="num_samples")
    if not replacement and num_samples > self.shape[-1]:
        raise OperatorError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement", argument="num_samples"
        )
    if self.shape[-1] > 1 << 24:
        raise OperatorError("number of categories cannot exceed 2^24", argument="self")
    return contiguous((*self.shape[:-1], num_samples), int64)


def _gamma_gradient(label: str) -> Callable[..., TensorMeta]:
    def rule(*operands: TensorMeta) -> TensorMeta:
        refuse_kinds(label, "bich", operands[0].dtype)
        return elementwise(*operands)

    return rule
