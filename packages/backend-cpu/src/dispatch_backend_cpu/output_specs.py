"""The outputs that shape rules infer, and the arrays that conform to them.

The operator library keeps the rules' answers; see Note [Rules are cached] in ``dispatch_aten.shapes.rule_cache``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np

from dispatch_aten.errors import DtypeError
from dispatch_aten.promotion import Number, Promotion, computation_type, result_type, rule_for
from dispatch_aten.shapes import RULES, TensorMeta, memoize

from .arrays import FLOAT, Array, as_array, describe, is_extended, numpy_dtype, with_strides
from .halves import convert


class OutputSpec:
    """The output that a shape rule has inferred, with NumPy's dtype and strides at hand.

    ``widens`` says that an argument has a dtype that NumPy lacks, in whose place it computes in ``float32``.
    """

    __slots__ = ("array_dtype", "byte_strides", "dtype", "numel", "shape", "storage_offset", "strides", "widens")

    def __init__(self, meta: TensorMeta) -> None:
        self.shape, self.strides, self.dtype = meta.shape, meta.strides, meta.dtype
        self.storage_offset, self.numel = meta.storage_offset, meta.numel
        self.widens = False
        self.array_dtype = numpy_dtype(meta.dtype)
        self.byte_strides = tuple([stride * self.array_dtype.itemsize for stride in meta.strides])


def conform(result: Any, spec: OutputSpec) -> Array:
    """Return a fresh array in the dtype and strides that a shape rule has inferred.

    >>> conform(np.float64(2.5), OutputSpec(describe(np.zeros((), np.float32))))
    array(2.5, dtype=float32)
    """
    array = as_array(result)
    if array.dtype is not spec.array_dtype:
        array = convert(array, spec.array_dtype)
    if array.shape != spec.shape:
        array = array.reshape(spec.shape)
    if array.strides == spec.byte_strides and array.size:
        return array
    return with_strides(array, spec.strides)


#: How an array takes part in the key of an answer. Of empty arrays it matters who owns them, see ``strides_of``.
_KEY: Final = "{0}.shape, {0}.strides, {0}.dtype, {0}.base is None and not {0}.size"


def _describe(value: Any) -> Any:
    """Describe an argument for a shape rule: arrays by ``TensorMeta``, lists item by item, the rest as it is."""
    if isinstance(value, np.ndarray):
        return describe(value)
    if isinstance(value, (list, tuple)):
        return [_describe(item) for item in value]
    return value


def _ask(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = RULES[name](*map(_describe, args), **{key: _describe(value) for key, value in kwargs.items()})
    try:
        return _as_specs(found, args)
    except DtypeError as error:  # a dtype that NumPy lacks
        error.at(f"aten::{name}")
        raise


def _as_specs(found: Any, args: tuple[Any, ...]) -> Any:
    if found is None:
        return found
    if isinstance(found, TensorMeta):
        spec = OutputSpec(found)
        spec.widens = _has_extended(args)
        return spec
    specs = [OutputSpec(meta) for meta in found]
    for spec in specs:
        spec.widens = _has_extended(args)
    return type(found)(specs)


def _has_extended(values: Any) -> bool:
    return any(
        is_extended(value.dtype)
        if isinstance(value, np.ndarray)
        else isinstance(value, (list, tuple)) and _has_extended(value)
        for value in values
    )


def widen(value: Any) -> Any:
    """Return arrays of dtypes that NumPy lacks in ``float32``, also in lists; all else as it is."""
    if isinstance(value, np.ndarray):
        return value.astype(FLOAT) if is_extended(value.dtype) else value
    return [widen(item) for item in value] if isinstance(value, (list, tuple)) else value


@cache
def output_rule(name: str) -> Callable[..., Any]:
    """Return the shape rule of an operator for arrays: it returns an `OutputSpec` or several, and raises torch's errors."""
    return memoize(name, partial(_ask_for, name), _KEY)


def _ask_for(name: str, /, *args: Any, **kwargs: Any) -> Any:
    return _ask(name, args, kwargs)


def prepared_rule(name: str, prepare: Callable[..., Any]) -> Callable[..., Any]:
    """Return the `output_rule` of an operator and the result of ``prepare(spec, *args, **kwargs)`` for its answer."""

    def ask(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        spec = _ask(name, args, kwargs)
        if (spec if isinstance(spec, OutputSpec) else spec[0]).widens:
            args = tuple(map(widen, args))
        return spec, prepare(spec, *args, **kwargs)

    return memoize(name, ask, _KEY)


def infer_output(name: str, *args: Any, **kwargs: Any) -> Any:
    """Infer the output of an operator for these arguments, by its `output_rule`."""
    return output_rule(name)(*args, **kwargs)


def promoting_rule(name: str, arity: int, promotion: Promotion | None, *, opmath: bool) -> Callable[..., Any]:
    """Return the `output_rule` of an element-wise operator, which returns the dtype to compute in as well.

    The first ``arity`` arguments are the operands; ``promotion`` replaces the operator's own rule; with ``opmath``
    ``float16`` is computed in ``float32``. A dtype that NumPy lacks always is; the third thing returned is then the dtype
    that operands are rounded to before, else None.
    """
    return memoize(name, partial(_promote, name, promotion, arity, opmath), _KEY)


def _promote(
    name: str, promotion: Promotion | None, arity: int, opmath: bool, /, *args: Any, **kwargs: Any
) -> tuple[OutputSpec, np.dtype[Any], np.dtype[Any] | None]:
    rule = (
        rule_for(name) if promotion is None else promotion
    )  # asked here: kernels of operators are made before one is called
    spec: OutputSpec = _ask(name, args, kwargs)
    operands: list[TensorMeta | Number] = [_describe(value) for value in args[:arity] if value is not None]
    dtype = numpy_dtype(computation_type(rule, result_type(*operands)))
    if is_extended(dtype):
        return spec, FLOAT, dtype
    return spec, half_as_float(dtype) if opmath else dtype, None


def half_as_float(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that torch computes in: ``float32`` for 16-bit floats (source: ``at::opmath_type``)."""
    return FLOAT if dtype.char in "eE" else dtype
