"""Calls that are refused: shapes that do not fit, places out of range, results that cannot be written."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from ...operators import ATEN_BY_NAME, KIND_OF
from ...variants import is_inplace, is_out
from ..changes import arrays_in, map_arrays
from ..drawing import Array
from ..samples import Sample, names_written
from .values import cast, is_float

#: The change to a place that some operators count from the end.
NEGATIVE: Final = "a negative place"
#: Changes of places → the place.
_PLACES: Final = {"a place out of range": 10_000, NEGATIVE: -1}


#: Kinds of operators that need all their tensors, in shapes that fit.
_FITTING: Final = frozenset({"pointwise", "comparison", "activation", "copy", "matmul", "loss", "lists"})


def list_refusals(first: Sample) -> Iterator[Sample]:
    """Yield changes of a call of which the cpu refuses some; those that it takes are no refusals.

    >>> [sample.change for sample in list_refusals(Sample("add_.Tensor", {"self": np.ones(2), "other": np.ones(2)}))]
    ['a shape that does not fit', 'integers for floats', 'an expanded output']
    """
    arguments, name = first.arguments, first.name
    floats = [array for array in arrays_in(arguments) if is_float(array)]
    if len(floats) > 1 and floats[-1].ndim and KIND_OF[name] in _FITTING:
        last = floats[-1]
        longer = np.concatenate([last, last, last], -1) if last.size else last
        yield Sample(
            name,
            dict(map_arrays(arguments, lambda array: longer if array is last else array)),
            "a shape that does not fit",
        )
    if is_out(name) and KIND_OF[name] != "factory":
        yield Sample(name, arguments, out="integers")
    is_view = "inplace_view" in ATEN_BY_NAME[name].tags
    if (
        is_inplace(name)
        and not is_view
        and "self" in names_written(name)
        and isinstance(arguments.get("self"), np.ndarray)
    ):
        if (whole := cast({"self": arguments["self"]}, "int64")) is not None:
            yield Sample(name, {**arguments, **whole}, "integers for floats")
        if arguments["self"].ndim and arguments["self"].shape[0] > 1:
            yield Sample(name, arguments, "an expanded output", layout="expanded output")


def list_places(first: Sample) -> Iterator[Sample]:
    """Yield changes of a call with integers that may be places: out of range, and negative."""
    if any(array.dtype == np.int64 and array.size for array in arrays_in(first.arguments)):
        for change, number in _PLACES.items():
            made = map_arrays(first.arguments, partial(_replace_last, number=number))
            yield Sample(first.name, dict(made), change)


def _replace_last(array: Array, number: int) -> Array:
    if array.dtype != np.int64 or not array.size:
        return array
    found = array.copy()
    found.reshape(-1)[-1] = number
    return found
