"""Kernels under a shape rule: ``dispatch_aten`` infers the output, NumPy only computes.

A kernel is made of its operator's shape rule and a function of arrays. The rule makes every check that does not depend on
values, with torch's errors, and infers shape, strides and dtype; the function computes; ``conform`` brings its result into
that form. So cpu and meta cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dispatch_aten.errors import OperatorError
from dispatch_aten.promotion import Promotion
from dispatch_aten.shapes import contiguous_strides, same_places

from ...arrays import FLOAT, HALF, Array, check_writable, empty_strided, memory_order, storage, storage_offset_of
from ...fp_errors import ignore_fp_errors, quietly, run, settle
from ...halves import LOOKED_UP, MANY, TILE, assign, convert, look_up
from ...kernel_table import Kernel, computed_by
from ...output_specs import OutputSpec, conform, output_rule, prepared_rule, promoting_rule, widen


def make_kernel(name: str, compute: Kernel, *, in_float: bool = False) -> Kernel:
    """Make the kernel of ``name`` from ``compute(spec, *args, **kwargs)``, where ``spec`` is the rule's answer.

    An operator with several results has a tuple of specs, and ``compute`` returns a tuple. With ``in_float`` it computes as
    well with many halves in ``float32``, its first argument.
    """
    infer, careful = output_rule(name), ignore_fp_errors(compute)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        spec = infer(*args, **kwargs)
        is_one = spec.__class__ is OutputSpec
        if (spec if is_one else spec[0]).widens:
            args = tuple(map(widen, args))
        elif in_float and args[0].dtype is HALF and args[0].size >= MANY:
            args = (quietly(convert, args[0], FLOAT), *args[1:])
        found = None
        try:
            found = run(compute, spec, *args, **kwargs)
        except (RuntimeError, OverflowError) as error:
            settle(error)
        if found is None:
            found = careful(spec, *args, **kwargs)
        if is_one:
            return finish(found, spec)
        return tuple([finish(array, each) for array, each in zip(found, spec, strict=True)])

    return computed_by(kernel, compute)


def make_prepared(name: str, prepare: Callable[..., Callable[..., Any]]) -> Kernel:
    """Make the kernel of ``name`` from ``prepare(spec, *args, **kwargs)``, which returns the function that computes.

    It is prepared once for arguments whose descriptions and options are equal, and kept with the rule's answer: so it may
    look at the arrays' shapes, strides and dtypes, and at no elements.
    """
    infer = prepared_rule(name, prepare)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        spec, compute = infer(*args, **kwargs)
        is_one = spec.__class__ is OutputSpec
        if (spec if is_one else spec[0]).widens:
            args = tuple(map(widen, args))
        found = None
        try:
            found = run(compute, *args, **kwargs)
        except (RuntimeError, OverflowError) as error:
            settle(error)
        if found is None:
            found = ignore_fp_errors(compute)(*args, **kwargs)
        if is_one:
            return finish(found, spec)
        return tuple([finish(array, each) for array, each in zip(found, spec, strict=True)])

    return computed_by(kernel, prepare)


def finish(found: Any, spec: OutputSpec) -> Array:
    """Do as ``conform``, without floating-point errors, at once for an array that is as the rule says."""
    array: Array = found if found.__class__ is np.ndarray else np.asarray(found)
    if (
        array.dtype is spec.array_dtype
        and array.shape == spec.shape
        and array.strides == spec.byte_strides
        and spec.numel
    ):
        return array
    return quietly(conform, array, spec)


def cast(value: Any, dtype: np.dtype[Any]) -> Array:
    """Return an operand in ``dtype``: arrays are converted if they must be, numbers become arrays without dimensions."""
    if isinstance(value, np.ndarray) and value.dtype is dtype:
        return value
    array = np.asarray(value)
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    if dtype.char in _SATURATING:
        array = _saturate(array)
    return convert(array, dtype)


#: The char of ``float8_e4m3fn``, which has no infinity: ml_dtypes makes nan of an overflow, torch the greatest number.
_SATURATING: Final[frozenset[str]] = frozenset("4")


def _saturate(array: Array) -> Array:
    return np.clip(array.astype(np.float32), -448, 448)


#: Operators that compute with a Python number in ``float32`` where the operands are ``bfloat16``; others round it first.
_KEEPS_NUMBERS: Final = frozenset({"mul", "div", "floor_divide"})


#: Operators that give of halves in ``float32`` the results that they have, or those before they are rounded.
_SAME_IN_FLOAT: Final = frozenset(
    """
    eq ne lt le gt ge maximum minimum fmax fmin clamp clamp_min clamp_max fmod remainder floor_divide hypot
    logical_and logical_or logical_xor logical_not logaddexp2 mul div where
    floor ceil trunc round relu sqrt reciprocal isnan isinf sign frac
    """.split()
)


def make_elementwise(
    name: str, fn: Callable[..., Any], arity: int, *, opmath: bool = False, promotion: Promotion | None = None
) -> Kernel:
    """Make the kernel of an element-wise operator from a function of ``arity`` arrays and the operator's options.

    ``fn`` receives its operands in the dtype that torch computes in; ``opmath`` asks for ``float32`` instead of ``float16``.
    Without ``promotion`` the operator's own rule decides which dtype that is.
    """
    infer = promoting_rule(name, arity, promotion, opmath=opmath)
    stem = name.partition(".")[0]
    rounds, widens = stem not in _KEEPS_NUMBERS, stem in _SAME_IN_FLOAT
    is_ufunc = isinstance(fn, np.ufunc)

    @ignore_fp_errors
    def kernel(*args: Any, **kwargs: Any) -> Array:
        spec, dtype, rounded = infer(*args, **kwargs)
        if spec.numel >= LOOKED_UP and (found := look_up(name, kernel, args, kwargs)) is not None:
            return found
        rounding = rounds
        if dtype is HALF and widens and spec.numel >= LOOKED_UP:
            dtype, rounded, rounding = FLOAT, HALF, True

        def compute(*operands: Any) -> Any:
            if rounded is not None:
                operands = tuple(
                    cast(value, rounded) if isinstance(value, np.ndarray) or (value is not None and rounding) else value
                    for value in operands
                )
            arrays = [None if value is None else cast(value, dtype) for value in operands]
            return fn(*arrays, *args[arity:], **kwargs)

        operands = args[:arity]
        if (
            spec.numel > (WHOLE if spec.array_dtype is dtype else TILE)
            and not (is_ufunc and spec.array_dtype is dtype)
            and (tiled := compute_in_tiles(compute, operands, spec)) is not None
        ):
            return tiled
        return conform(compute(*operands), spec)

    return computed_by(kernel, fn)


WHOLE = 1 << 20
"""Up to so many elements formulas are computed whole, as long as nothing is converted; of more, a `TILE` at a time."""


def compute_in_tiles(compute: Callable[..., Any], operands: Sequence[Any], spec: OutputSpec) -> Array | None:
    """Return an element-wise result, tile by tile; None where the arrays are not of one shape and without gaps."""
    full = [isinstance(each, np.ndarray) and each.shape == spec.shape for each in operands]
    for each, is_full in zip(operands, full, strict=True):
        if not (each.flags.c_contiguous if is_full else getattr(each, "ndim", 0) == 0):
            return None
    out = empty_strided(spec.shape, spec.strides, spec.array_dtype)
    if not out.flags.c_contiguous:
        return None
    given = [each.reshape(-1) if is_full else each for each, is_full in zip(operands, full, strict=True)]
    _fill_by_tiles(out.reshape(-1), compute, given, full)
    return out


def _fill_by_tiles(out: Array, compute: Callable[..., Any], operands: Sequence[Any], full: Sequence[bool]) -> None:
    """Fill an array of one dimension with a function of operands, of which those that are ``full`` have its shape."""
    size = -(-out.size // -(-out.size // TILE))  # of equal tiles
    for start in range(0, out.size, size):
        part = slice(start, start + size)
        assign(
            out[part], compute(*[each[part] if is_full else each for each, is_full in zip(operands, full, strict=True)])
        )


def formula_in_tiles(formula: Callable[..., Any], arrays: Sequence[Array], options: Sequence[Any] = ()) -> Any:
    """Return a formula of arrays of one shape and dtype without gaps, large ones tile by tile."""
    first = arrays[0]
    if first.size <= WHOLE:
        return formula(*arrays, *options)
    out = empty_strided(first.shape, contiguous_strides(first.shape), first.dtype)
    flat = [each.reshape(-1) for each in arrays]
    _fill_by_tiles(out.reshape(-1), lambda *tiles: formula(*tiles, *options), flat, [True] * len(flat))
    return out


def _check_partial_overlap(written: Array, read: Array) -> None:
    """Refuse an input that shares some, but not all, of the memory that is written to."""
    if read is written or storage(read) is not storage(written) or not np.may_share_memory(written, read):
        return
    if storage_offset_of(read) == storage_offset_of(written) and same_places(
        read.shape, read.strides, written.shape, written.strides
    ):
        return
    if _is_dense(written) and _is_dense(read):
        raise _overlap_error()


def check_apart(written: Array, *read: Any) -> None:
    """Refuse to read any element that is written to, at the place where it is written too, as ``assert_no_overlap`` does.

    Arrays with gaps are let through, as the columns of a matrix are, for which it would take long to know.
    """
    for each in read:
        if (
            isinstance(each, np.ndarray)
            and not (each.base is None and written.base is None and each is not written)
            and np.may_share_memory(written, each)
            and _is_dense(written)
            and _is_dense(each)
        ):
            raise _overlap_error()


def _is_dense(array: Array) -> bool:
    if array.flags.forc:
        return True
    return bool(array.transpose(memory_order(array)).flags.c_contiguous)


def _overlap_error() -> OperatorError:
    return OperatorError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation.",
        argument="self",
    )


def check_overlap(written: Array, *read: Any) -> None:
    """Check that ``written`` may be written to while ``read`` are read, as torch's ``TensorIterator`` does.

    Raises ``OperatorError`` for expanded and read-only arrays, and for inputs that overlap with the output partly.
    """
    check_writable(written)
    for each in read:
        if isinstance(each, np.ndarray) and not (written.base is None and each.base is None):
            _check_partial_overlap(written, each)


@ignore_fp_errors
def store(written: Array, value: Any) -> Array:
    """Do as ``write``, without floating-point errors."""
    return write(written, value)


def write(written: Array, value: Any) -> Array:
    """Store ``value``, broadcast and converted, in ``written``, and return ``written``."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "c" and written.dtype.kind not in "cb":
        value = value.real
    if written.dtype.char in _SATURATING:
        value = _saturate(np.asarray(value))
    assign(written, value)
    return written
