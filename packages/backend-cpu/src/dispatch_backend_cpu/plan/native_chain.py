"""Chains of small arrays by one compiled kernel, where dispatch-backend-cpu-native is installed.

The kernel runs the ufuncs of the chain in their order, each by its inner loop on all elements, so with the bits of `whole`.
Numbers are options of it: for a few sets of them it has their values in the dtypes in which they take part. Everything
else is left to the function that `whole` has written.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import itemgetter
from typing import Any, Final

import numpy as np

from dispatch_aten.shapes import contiguous_strides
from dispatch_core.planning import Value

from ..arrays import Array, numpy_dtype
from ..fp_errors import ignore_fp_errors
from ..ops.pointwise.numpy_formulas import CLIP
from ..ops.support.compiled_kernels import LONGEST, LOOPS, native
from ..ops.support.constants import NUMBERS
from ..ops.support.tape import Operation, Symbol
from .chain import Chain
from .writer import function_of

_Run = Callable[[list[Any]], None]
#: How many arrays a compiled kernel of a chain takes.
_MOST: Final = 5
#: The functions whose inner loops are NumPy's for all sizes; None is a choice.
_KNOWN: Final = frozenset({None, CLIP, *(each for each in vars(np).values() if isinstance(each, np.ufunc))})


def compile_native(chain: Chain, run: _Run) -> _Run | None:
    """Return a function that computes a chain by a compiled kernel, and leaves to ``run`` whatever that does not serve.

    None where there are no compiled kernels, or where the chain is not one of small arrays of one shape and one dtype, the
    last of whose results is all that is kept.
    """
    if LOOPS is None or chain.fold is not None or chain.targets or len(chain.stored) != 1 or not chain.shape:
        return None
    ((value, symbol),) = chain.stored.items()
    arrays = [each for each in chain.inputs.values() if each.number is None]
    numbers = [each for each in chain.inputs.values() if each.number is not None]
    dtypes = {numpy_dtype(each.dtype) for each in arrays}
    if (
        len(arrays) > _MOST
        or len(dtypes) != 1
        or not dtypes <= NUMBERS.keys()
        or not all(_is_plain(each, chain.shape) for each in (*arrays, value))
    ):
        return None
    wide = [each for each in chain.operations if not each.out.is_scalar]
    if not wide or wide[-1].out is not symbol or symbol.dtype != numpy_dtype(value.dtype):
        return None
    if any(each.kind not in ("ufunc", "where") or each.fn not in _KNOWN for each in wide):
        return None
    places = [each.index for each in (*arrays, *numbers)]
    out, length = value.index, 1 + max(*places, value.index)

    def compute(*given: Any) -> Any:
        values = [None] * length
        for place, each in zip(places, given, strict=True):
            values[place] = each
        run(values)
        return values[out]

    def make(options: tuple[Any, ...], names: dict[str, Any]) -> dict[int, Any]:
        found = _make_steps(
            chain.operations, [each.index for each in arrays], [each.index for each in numbers], options
        )
        return {} if found is None else {number.num: [(LONGEST, *found, False)] for number in dtypes}

    kernel = native("chain", compute, None, dtypes, most=LONGEST, arity=len(arrays), maker=make)
    take = itemgetter(*places) if len(places) > 1 else None

    def run_native(values: list[Any]) -> None:
        values[out] = kernel(values[places[0]]) if take is None else kernel(*take(values))

    return run_native


def _is_plain(value: Value, shape: tuple[int, ...]) -> bool:
    return value.shape == shape and value.strides == contiguous_strides(shape) and 0 < prod(shape) <= LONGEST


@ignore_fp_errors
def _make_steps(
    operations: list[Operation], arrays: list[int], numbers: list[int], options: tuple[Any, ...]
) -> tuple[list[Array], list[Any]] | None:
    """Return the constants and the steps, as a compiled kernel takes them, for some numbers; None where it takes none."""
    known: dict[Symbol, Array] = {}
    constants: list[Array] = []
    places: dict[Symbol | None, int] = {}
    given = dict(zip(numbers, options, strict=True))
    wide = [each for each in operations if not each.out.is_scalar]

    def number_of(symbol: Symbol) -> Any:
        if symbol.constant is not None:
            return symbol.constant
        return known[symbol] if symbol.source is None else given[symbol.source]

    try:
        for each in operations:
            if each.out.is_scalar:
                known[each.out] = np.asarray(function_of(each)(*map(number_of, each.inputs)))
        for each in wide:
            for symbol in each.inputs:
                if symbol.is_scalar and symbol not in places:
                    places[symbol] = len(arrays) + len(constants)
                    constants.append(np.ascontiguousarray(np.asarray(number_of(symbol)).astype(symbol.dtype)))
                elif symbol.source is not None and not symbol.is_scalar:
                    places[symbol] = arrays.index(symbol.source)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None
    if not all(np.isfinite(each).all() for each in constants):
        return None  # among them are numbers that the dtype cannot hold
    steps = []
    for place, each in enumerate(wide, len(arrays) + len(constants)):
        places[each.out] = place
        taken = (*each.inputs, each.out)
        steps.append((each.fn, tuple(symbol.dtype.num for symbol in taken), tuple(places[symbol] for symbol in taken)))
    return constants, steps
