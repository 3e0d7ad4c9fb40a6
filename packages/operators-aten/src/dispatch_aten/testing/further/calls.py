"""The kinds of further samples, and how many of each an operator has."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, Final

import numpy as np

from ...operators import ATEN_BY_NAME, KIND_OF
from ...variants import is_inplace, is_out
from ..changes import CHANGES, Arguments, arrays_in, map_arrays
from ..comparing import is_up_to_sign
from ..drawing import Array
from ..samples import Sample, derive, names_written, op_samples, schema_of, unfit_changes
from . import values
from .sizes import DRAWN, LARGE, resize

#: The seed of the draws, where none is given.
SEED: Final = 0
#: Kinds of operators of which each has all dtypes that a device claims; others have two of them.
_ALL_DTYPES: Final = frozenset({"pointwise", "comparison", "activation", "reduction", "copy", "indexing", "ordering"})
#: Kinds without other sizes: matrices have to stay regular, and windows have sizes of their own.
_ONE_SIZE: Final = frozenset({"linalg", "recurrent", "attention", "convolution", "factory", "random", "resampling"})
_ONE_LARGE: Final = frozenset({"pointwise", "comparison", "copy", "reduction"})
#: Operators whose results go on from one another: a device that adds in float32 loses digits on the way.
_RUNNING: Final = ("cum", "logcumsumexp")
#: Kinds whose operators take any values.
_ANY_VALUES: Final = frozenset({"pointwise", "comparison", "activation", "reduction", "copy", "indexing", "lists"})
#: Operators that choose one of equal elements in the same way everywhere.
_TIES: Final = ("argmax", "argmin", "max.", "min.", "sort.stable", "argsort.stable", "cummax", "cummin")
#: Operators whose results have the square of their arguments' sizes.
_SQUARE: Final = (
    "diagflat",
    "diag_embed",
    "diag",
    "vander",
    "combinations",
    "cartesian_prod",
    "cdist",
    "outer",
    "ger",
    "kron",
)
#: The dtypes that further samples have.
_DTYPES: Final[tuple[str, ...]] = ("int8", "int16", "int32", "float16", "bfloat16")
#: Operators whose arguments are sorted.
_SORTED: Final = ("searchsorted", "bucketize")
#: Operators that are told the size of the result, which follows from the argument's.
_TOLD: Final = ("_fft_c2r",)
#: Operators of pooling whose arguments are places in another one.
_PLACES: Final = re.compile("backward|unpool")
#: Operators that divide integers, which is an error by zero.
_DIVIDES: Final = re.compile(r"_*[ir]?(div|floordiv|floor_divide|remainder|fmod|mod|true_divide)")
#: How arrays of further samples lie in memory.
_LAYOUTS: Final = ("offset", "step", "expanded", "mixed")
#: How the arrays of further ``out=`` samples lie, or by what they do not fit.
_OUTS: Final = ("none", "small", "another dtype", "offset")
#: Names of numbers that operators multiply by, and values for them by dtypes; integers take a fraction's whole part.
_FACTORS: Final = {
    "alpha": (("int64", 2), ("float32", -3), ("int64", 1.5)),
    "beta": (("int64", 3), ("float32", 2), ("int64", 2.5)),
}


def further_samples(
    name: str, dtypes: frozenset[str], seed: int = SEED, plain_ones: Iterable[Sample] = ()
) -> Iterator[Sample]:
    """Yield further samples of an operator for a device that has these dtypes; which ones the name and the seed decide.

    The cpu backend decides which of them are calls at all, as for `op_samples`, whose samples ``plain_ones`` may be.
    """
    rows = [sample for sample in plain_ones or op_samples(name) if not (sample.change or sample.layout)]
    if not rows or not any(True for _ in arrays_in(rows[0].arguments)):
        return
    plain, *others = rows
    random = np.random.default_rng([zlib.crc32(name.encode()), seed])
    unfit = unfit_changes(name)
    if "int64" not in unfit:
        by_zero = not _DIVIDES.match(name)
        yield from _of_dtypes(plain, dtypes, random, by_zero=by_zero)
        for row in others:
            dtype = str(random.choice(["int64", "int32", "int8"]))
            if dtype in dtypes:
                yield from _make(name, values.cast(row.arguments, dtype, by_zero=by_zero), dtype)
    yield from _of_values(plain, dtypes, random, unfit)
    yield from _of_sizes(plain, random)
    if "transposed" not in unfit:
        is_fresh = not (is_inplace(name) or is_out(name))
        for layout in _LAYOUTS if is_fresh else random.choice(_LAYOUTS, 2, replace=False):
            # A matrix of equal rows has several decompositions.
            if not (layout == "expanded" and (is_inplace(name) or is_up_to_sign(name))):
                yield Sample(name, plain.arguments, layout=str(layout))
    if is_out(name):
        yield Sample(name, plain.arguments, out="transposed")
        for out in random.choice(_OUTS, 2, replace=False):
            yield Sample(name, plain.arguments, out=str(out))


def _make(name: str, arguments: Arguments | None, change: str) -> Iterator[Sample]:
    if arguments is not None:
        yield Sample(name, derive(name, arguments), change)


def _of_dtypes(plain: Sample, dtypes: frozenset[str], random: Any, *, by_zero: bool) -> Iterator[Sample]:
    found = [each for each in _DTYPES if each in dtypes]
    if KIND_OF[plain.name] not in _ALL_DTYPES or is_out(plain.name):  # the functional one has all
        found = [str(each) for each in random.permutation(found)[:2]]
    for dtype in found:
        yield from _make(plain.name, values.cast(plain.arguments, dtype, by_zero=by_zero), dtype)
    numbers = {each.name for each in schema_of(plain.name).arguments}
    for factor in filter(numbers.__contains__, _FACTORS):
        for dtype, number in _FACTORS[factor]:
            if dtype in dtypes and (made := values.cast(plain.arguments, dtype)) is not None:
                yield Sample(plain.name, {**made, factor: number}, f"{dtype}, {factor}={number}")
    if KIND_OF[plain.name] == "copy" and len([*arrays_in(plain.arguments)]) > 1:
        whole = [each for each in ("uint8", "int8", "int16", "int32", "int64") if each in dtypes]
        pairs = [pair for pair in product(whole, whole) if pair[0] != pair[1]]
        for place in random.permutation(len(pairs))[:8]:
            first, second = pairs[int(place)]
            yield from _make(plain.name, values.mix(plain.arguments, (first, second)), f"{second} to {first}")


def _of_values(plain: Sample, dtypes: frozenset[str], random: Any, unfit: tuple[str, ...]) -> Iterator[Sample]:
    name = plain.name
    if KIND_OF[name] not in _ANY_VALUES | {"ordering"} or is_out(name):
        return
    if "nan" not in unfit and KIND_OF[name] != "ordering":
        yield from _make(name, values.specialize(plain.arguments), "special values")
    if name.startswith(_TIES):
        yield from _make(name, values.tie(plain.arguments, random), "equal elements")
    if "int64" in unfit:
        return
    for dtype in ("int8", "uint8"):
        if dtype in dtypes and "pointwise" in ATEN_BY_NAME[name].tags:
            yield from _make(name, values.extremes(plain.arguments, dtype, random), f"{dtype} from its ends")
    whole = [each for each in ("int8", "int32", "int64") if each in dtypes]
    if whole and KIND_OF[name] in {"reduction", "ordering"}:
        dtype = str(random.choice(whole))
        yield from _make(name, values.negate(plain.arguments, dtype), f"negative {dtype}")


def _of_sizes(plain: Sample, random: Any) -> Iterator[Sample]:
    name, kind = plain.name, KIND_OF[plain.name]
    if kind in _ONE_SIZE or name.startswith((*_SORTED, *_TOLD)) or (kind == "pooling" and _PLACES.search(name)):
        return
    sizes = [int(random.choice(each)) for each in DRAWN]
    if kind in _ONE_LARGE and not name.startswith(_RUNNING) and not random.integers(6):
        sizes.append(LARGE)
    source = _single(plain.arguments) if random.integers(2) else plain.arguments
    if name.startswith(_SQUARE):
        sizes = [size for size in sizes if size < 100]
    place = (
        {"layout": "guarded"}
        if "transposed" not in unfit_changes(name) and set(names_written(name)) & set(plain.arguments)
        else {}
    )
    if is_out(name):
        place = {"out": "guarded"}
    flat = "pointwise" in ATEN_BY_NAME[name].tags
    for size in sizes:
        made = resize(_flatten(source) if flat else source, size, random)
        if made is not None:
            yield Sample(name, derive(name, made), f"size {size:,}", **place)
    if flat and not place and (made := resize(_flatten(source), 65, random)):
        yield Sample(name, derive(name, made), "size 65", "step")
    if flat and (made := _broadcast(plain.arguments)):
        yield Sample(name, made, "sizes of 1")


def large_samples(name: str, dtypes: frozenset[str], plain: Sample) -> Iterator[Sample]:
    """Yield a sample of many elements of an element-wise operator or a reduction, in one dtype.

    >>> [str(each) for each in large_samples("exp", frozenset({"float32"}), next(op_samples("exp")))]
    ['exp(float32[70001])  size 70,001']
    """
    flat = "pointwise" in ATEN_BY_NAME[name].tags
    if not (flat or KIND_OF[name] in _ONE_LARGE | {"activation"}) or name.startswith((*_SQUARE, *_SORTED, *_RUNNING)):
        return
    source = _single(plain.arguments) if "float32" in dtypes else plain.arguments
    source = _flatten(source) if flat else dict(map_arrays(source, _keep_one_row))
    made = resize(source, LARGE, np.random.default_rng(zlib.crc32(name.encode())))
    if made is not None:
        yield Sample(name, derive(name, made), f"size {LARGE:,}")


def _keep_one_row(array: Array) -> Array:
    return array[(slice(1),) * (array.ndim - 1)] if array.ndim else array


def _single(arguments: Arguments) -> Arguments:
    return CHANGES["float32"](arguments) or arguments


def _broadcast(arguments: Arguments) -> Arguments | None:
    """Return the call with a size of 1 at the end of the last array; None where there are not two of two dimensions."""
    arrays = [array for array in arrays_in(arguments) if array.ndim]
    if len(arrays) < 2 or arrays[0].ndim < 2:
        return None
    last, shape = arrays[-1], arrays[0].shape
    narrow = np.resize(last, (*shape[:-1], 1))
    return dict(map_arrays(arguments, lambda array: narrow if array is last else array))


def _flatten(arguments: Arguments) -> Arguments:
    """Return an element-wise call with arrays of one dimension, as kernels for groups of elements read them."""
    longest = max((array.size for array in arrays_in(arguments)), default=0)
    return dict(map_arrays(arguments, lambda array: np.resize(array.reshape(-1), longest) if array.size > 1 else array))
