"""Asking the shape rules, and remembering what they said.

Note [Answers are remembered]
A rule's answer depends on its arguments' shapes, strides and dtypes, on the other arguments and on the default dtype, and
costs some ten microseconds of Python. So answers are kept under all of these, and asking again costs about one. Programs
call the same operators on the same shapes over and over; one that does not is bounded by ``_KEPT`` answers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import get_default_dtype
from dispatch_aten.promotion import Number, Promotion, computation_type, result_type, rule_for
from dispatch_aten.shapes import RULES, TensorMeta

from .arrays import Array, as_array, describe, numpy_dtype, with_strides

__all__ = ["OutputSpec", "conform", "described", "elementwise_plan", "half_as_float", "infer_output", "remembered"]


class OutputSpec:
    """What a shape rule announced, with NumPy's dtype and strides at hand."""

    __slots__ = ("array_dtype", "byte_strides", "dtype", "numel", "shape", "storage_offset", "strides")

    def __init__(self, meta: TensorMeta) -> None:
        self.shape, self.strides, self.dtype = meta.shape, meta.strides, meta.dtype
        self.storage_offset, self.numel = meta.storage_offset, meta.numel
        self.array_dtype = numpy_dtype(meta.dtype)
        self.byte_strides = tuple([stride * self.array_dtype.itemsize for stride in meta.strides])


def conform(result: Any, spec: OutputSpec) -> Array:
    """Give a fresh array the dtype and strides that a shape rule announced.

    >>> conform(np.float64(2.5), OutputSpec(describe(np.zeros((), np.float32))))
    array(2.5, dtype=float32)
    """
    array = as_array(result)
    if array.dtype is not spec.array_dtype:
        array = array.astype(spec.array_dtype)
    if array.shape != spec.shape:
        array = array.reshape(spec.shape)
    if array.strides == spec.byte_strides and array.size:
        return array
    return with_strides(array, spec.strides)


_KEPT: Final = 4096
_answers: dict[Any, Any] = {}

_COUNTS_BY_TYPE: Final = frozenset({"alpha", "beta", "value"})
"""Factors: no rule looks at their value where they are floats, and training changes them at every step."""


def described(value: Any) -> Any:
    """Describe an argument for a shape rule: arrays by ``TensorMeta``, lists item by item, the rest as it is."""
    if isinstance(value, np.ndarray):
        return describe(value)
    if isinstance(value, (list, tuple)):
        return [described(item) for item in value]
    return value


def _key(value: Any) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        # Of empty arrays it matters who owns them, see ``strides_of``.
        return value.shape, value.strides, value.dtype, value.base is None and not value.size
    if kind is list or kind is tuple:
        return tuple([_key(item) for item in value])
    return kind, value


def _keyword_key(args: tuple[Any, ...], name: str, value: Any) -> Any:
    if name in _COUNTS_BY_TYPE and type(value) is float and args[0].dtype.kind == "f":
        return name, float
    return name, _key(value)


def remembered(ask: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Give ``ask(args, kwargs)``, remembered by what ``args`` and ``kwargs`` look like."""
    key: tuple[Any, ...] = (ask, get_default_dtype()._value_, *map(_key, args))
    if kwargs:
        key += tuple([_keyword_key(args, name, value) for name, value in kwargs.items()])
    try:
        return _answers[key]
    except KeyError:
        pass
    except TypeError:  # An argument that cannot be a key.
        return ask(args, kwargs)
    found = ask(args, kwargs)
    if len(_answers) >= _KEPT:
        _answers.clear()
    _answers[key] = found
    return found


@cache
def _asker(name: str) -> Callable[..., Any]:
    """Give the function that asks the rule of ``name``."""

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = RULES[name](*map(described, args), **{key: described(value) for key, value in kwargs.items()})
        if isinstance(found, TensorMeta):
            return OutputSpec(found)
        return found if found is None else type(found)([OutputSpec(meta) for meta in found])

    return ask


def infer_output(name: str, *args: Any, **kwargs: Any) -> Any:
    """Ask the shape rule of ``name`` for the results of these arguments; it raises what torch raises."""
    return remembered(_asker(name), args, kwargs)


def elementwise_plan(name: str, arity: int, promotion: Promotion | None, *, opmath: bool) -> Callable[..., Any]:
    """Make a function that gives, for the arguments of a call, the rule's answer and the dtype to compute in.

    The first ``arity`` arguments are the operands; ``promotion`` replaces the operator's own rule; with ``opmath``
    ``float16`` is computed in ``float32``.
    """
    asked = _asker(name)
    rule = rule_for(name) if promotion is None else promotion

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[OutputSpec, np.dtype[Any]]:
        spec: OutputSpec = asked(args, kwargs)
        operands: list[TensorMeta | Number] = [described(value) for value in args[:arity] if value is not None]
        dtype = numpy_dtype(computation_type(rule, result_type(*operands)))
        return spec, half_as_float(dtype) if opmath else dtype

    def plan(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[OutputSpec, np.dtype[Any]]:
        found: tuple[OutputSpec, np.dtype[Any]] = remembered(ask, args, kwargs)
        return found

    return plan


def half_as_float(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Give the dtype that torch computes in, ``float32`` for ``float16`` (source: ``at::opmath_type``)."""
    return _FLOAT if dtype.char == "e" else dtype


_FLOAT: Final[np.dtype[Any]] = np.dtype(np.float32)
