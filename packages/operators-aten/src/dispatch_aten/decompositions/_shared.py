"""Helpers of the composite kernels.

Note [Fresh arrays may be read-only]
    A composite that makes an array and then writes to it works on immutable arrays too, if it continues with the results
    of ``fill``, ``copy_into`` and ``scatter_into`` (`_writes`). Where a backend's arrays are immutable these call functional
    operators, which such a backend registers in place of ``fill_.Scalar``, ``copy_`` and ``index_put_``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final, TypeAlias

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType, bfloat16, float16, float32, int64, uint8
from dispatch_aten.operators import row_of
from dispatch_aten.promotion import Category, Number, Operand, Promotion, computation_type, result_type, scalar_dtype
from dispatch_aten.shapes import RULES
from dispatch_aten.shapes.dims import wrap_dims
from dispatch_aten.shapes.meta import TensorMeta
from dispatch_core.calls import traits_of

from ._layout import lay_out

Array: TypeAlias = Any
"""A backend's array or a frontend's tensor."""

aten: Final[Any] = dc.ops.aten
prims: Final[Any] = dc.ops.prims


def has_views(self: Array) -> bool:
    """Return whether an array like ``self`` can show another's elements: not without strides where it cannot be written.

    See Note [Views of arrays without strides] in `view`.
    """
    return dc.has_strides(self) or dc.is_mutable(self)


def serve(
    function: Callable[..., Any],
    *,
    mutable: bool | None = None,
    strided: bool | None = None,
    viewed: bool | None = None,
) -> Callable[..., Any]:
    """Return a composite that says which arrays it serves: by whether they can be written, have strides, or have views."""

    def serves(are_mutable: bool, have_strides: bool) -> bool:
        wanted = (mutable, are_mutable), (strided, have_strides), (viewed, are_mutable or have_strides)
        return all(want in (None, have) for want, have in wanted)

    return dc.KernelTraits(serves=serves)(function)


def has_kernel(name: str, self: Array) -> bool:
    """Return whether the backend of an array has registered a kernel for an operator."""
    return dc.registry.has_kernel(name, dc.device_key(dc.device(self).type))


def overload(name: str) -> Any:
    """Return an overload of ``aten``, such as that of ``"add.Tensor"`` or ``"relu"``."""
    packet, _, found = name.partition(".")
    return getattr(getattr(aten, packet), found or "default")


def maybe_multiply(self: Array, factor: Number) -> Array:
    """Return ``self * factor``, and ``self`` itself for 1."""
    return self if factor == 1 else aten.mul.Scalar(self, factor)


def is_number(value: object) -> bool:
    """Return whether ``value`` is a Python number, as a ``Scalar`` argument is."""
    return isinstance(value, (bool, int, float, complex))


def ndim(self: Array) -> int:
    """Return the number of dimensions."""
    return len(dc.shape(self))


def numel(self: Array) -> int:
    """Return the number of elements."""
    return math.prod(dc.shape(self))


def count_of(sizes: Sequence[int], dim: int | Sequence[int] | None) -> int:
    """Return the number of elements that a reduction over ``dim`` brings together."""
    return math.prod(sizes[each] for each in wrap_dims(dim, len(sizes)) if sizes)


def is_array(value: object) -> bool:
    """Return whether a positional argument is an array: neither a number nor a list of numbers, a dtype or the like."""
    return value is not None and not isinstance(value, (bool, int, float, complex, str, list, tuple, ScalarType))


def check_by_rule(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    """Check the arguments by the operator's shape rule first, so that bad ones get torch's error.

    The result lies in memory as the rule says. That of an element-wise operator does so by itself where its operands do.
    """
    operator = row_of(name)
    is_elementwise = "pointwise" in operator.tags
    if is_elementwise and operator.schema.partition("->")[0].count("Tensor") == 1:

        def check(*args: Any, **kwargs: Any) -> Array:
            RULES[name](*[meta_of(value) if is_array(value) else value for value in args], **kwargs)
            return function(*args, **kwargs)

        return check

    def kernel(*args: Any, **kwargs: Any) -> Array:
        described = _describe(args)
        expected = RULES[name](*described, **kwargs)
        result = function(*args, **kwargs)
        if is_elementwise:
            steps = expected.strides
            for meta in described:
                if meta.__class__ is TensorMeta and meta.strides != steps and meta.strides:
                    return lay_out(result, expected)
            return result
        return lay_out(result, expected)

    return kernel


def keep_layout(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    """Return an element-wise composite whose result lies in memory as the operator's shape rule says.

    The rule is asked only where an operand lies otherwise than the result: parts that swap the operands, or that compute
    with one of them before another, take their order in memory from another one than the operator does.
    """

    def kernel(*args: Any, **kwargs: Any) -> Array:
        result = function(*args, **kwargs)
        if isinstance(result, tuple):
            return lay_out(result, RULES[name](*_describe(args), **kwargs))
        if not dc.has_strides(result):
            return result
        steps = dc.strides(result)
        for value in args:
            # An operand without dimensions has no part in the layout.
            if is_array(value) and (theirs := dc.strides(value)) != steps and theirs:
                return lay_out(result, RULES[name](*_describe(args), **kwargs))
        return result

    return traits_of(function)(wraps(function)(kernel))


def _describe(args: tuple[Any, ...]) -> list[Any]:
    return [meta_of(value) if is_array(value) else value for value in args]


def meta_of(self: Array) -> TensorMeta:
    """Describe an array for the shape rules."""
    return TensorMeta(dc.shape(self), dc.strides(self), dc.dtype(self), dc.storage_offset(self))


def common_dtype(*operands: Array | Number) -> ScalarType:
    """Return the dtype in which an element-wise operator computes on arrays and numbers."""
    return result_type(*[_operand(value) for value in operands])


def _operand(value: Array | Number) -> Operand:
    if is_number(value):
        return Operand(scalar_dtype(value), Category.WRAPPED)
    return Operand(dc.dtype(value), Category.DIMENSIONED if dc.shape(value) else Category.ZERO_DIM)


def as_scalar_tensor(value: Number, like: Array, dtype: ScalarType) -> Array:
    """Make a tensor without dimensions beside ``like``.

    An integer beyond the dtype's range wraps around, as it does where torch converts a wrapped number's tensor.
    """
    if isinstance(value, int) and not isinstance(value, bool) and dtype.is_integral:
        bits = 8 * dtype.itemsize
        if not (-(1 << (bits - 1)) if dtype.is_signed else 0) <= value < (1 << (bits - 1)):
            value %= 1 << bits
            if dtype.is_signed and value >> (bits - 1):
                value -= 1 << bits
    return aten.new_full.default(like, (), value, dtype=dtype)


def cast(self: Array, dtype: ScalarType) -> Array:
    """Return ``self`` in another dtype, and ``self`` itself where it has that dtype."""
    return self if dc.dtype(self) == dtype else aten._to_copy.default(self, dtype=dtype)


def subtract(self: Array, other: Array) -> Array:
    """Return the difference of two arrays, of which one may have truth values: they count as 0 and 1."""
    if ScalarType.Bool in (dc.dtype(self), dc.dtype(other)):
        self, other = [cast(each, uint8) if dc.dtype(each) == ScalarType.Bool else each for each in (self, other)]
    return aten.sub.Tensor(self, other)


def truncate_for(dtype: ScalarType, value: Number) -> Number:
    """Return a factor as torch converts it for a dtype: to an integer where that is one."""
    return int(value.real) if dtype.is_integral else value


def widen(self: Array) -> Array:
    """Return an array, but 16-bit numbers as ``float32``, in which torch computes on them, and None for None."""
    return cast(self, float32) if self is not None and dc.dtype(self) in (float16, bfloat16) else self


def compute_in_float(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function that computes on 16-bit numbers in ``float32``, which torch calls its opmath type."""

    @wraps(function)
    def kernel(self: Array, *args: Any, **kwargs: Any) -> Array:
        dtype = dc.dtype(self)
        if dtype not in (float16, bfloat16):
            return function(self, *args, **kwargs)
        wide = [widen(each) if is_array(each) else each for each in args]
        return cast(function(widen(self), *wide, **kwargs), dtype)

    return kernel


def cast_to_floating(self: Array) -> Array:
    """Return ``self`` as a floating-point tensor."""
    return cast(self, computation_type(Promotion.INT_TO_FLOAT, dc.dtype(self)))


def fill(fresh: Array, value: Number) -> Array:
    """Return a fresh array with ``value`` in every element; see Note [Fresh arrays may be read-only]."""
    return aten.fill_.Scalar(fresh, value) if dc.is_mutable(fresh) else aten.fill.Scalar(fresh, value)


def copy_into(fresh: Array, source: Array) -> Array:
    """Return a fresh array with the elements of ``source``; see Note [Fresh arrays may be read-only]."""
    return aten.copy_.default(fresh, source) if dc.is_mutable(fresh) else aten.copy.default(fresh, source)


def arange_like(like: Array, count: int) -> Array:
    """Return the numbers from 0 to ``count`` on the device, and in the frontend, of ``like``."""
    return dc.wrap_like(like, aten.arange.start_step(0, count, 1, dtype=int64, device=dc.device(like)))


def missing_functional(name: str, like: Array) -> dc.NoKernelError:
    """Return the error for an operator that a backend has to register only where its arrays are immutable."""
    device = dc.device(like)
    return dc.NoKernelError(
        f"aten::{name}: no kernel for device {device}, whose arrays cannot be written to",
        hint="a backend with immutable arrays brings the functional operators fill.Scalar, copy and index_put",
    )
