"""Compiled kernels for small arrays, where dispatch-backend-cpu-native is installed.

Note [Compiled kernels]
    An object of that distribution has the place of a kernel in a table. It serves plain calls by the ufunc's own inner
    loop, so with NumPy's bits, and leaves every other call to the kernel in Python, with the caller's own arguments. It
    serves the ufunc and the dtypes of the row, which the kernel in Python has, too. Traits and attributes are those of the
    kernel in Python, which stays the definition: without the distribution nothing differs but time. The variable
    ``DISPATCH_NATIVE`` is read when the backend loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from dispatch_core.calls import make_code, traits_of
from dispatch_core.frontends import WINDOWS
from dispatch_core.surroundings.extensions import find_extension

from ...arrays import Array
from ...fp_errors import CONTEXT
from ...kernel_table import Kernel
from .constants import NUMBERS

LAYOUT: Final = 8
"""The number that the distribution has to carry, too: of the arguments that a kernel is made of."""
DRAWS_LAYOUT: Final = 1
"""The same of the functions that draw."""
DISTRIBUTION: Final = "dispatch-backend-cpu-native"
#: The dtypes with loops of their own; the longest floats are left to Python, 16-bit ones are in `_HALVES`.
_PLAIN: Final = frozenset(map(np.dtype, "?bhilqBHILQfdFD"))


_ELEMENTWISE: Final = frozenset({"unary", "binary", "number", "binary into", "number into"})
#: The ufuncs that give of 16-bit floats what they give of float32, rounded once more → whether a Python number is rounded
#: to float16 before (2), and to bfloat16 (4).
_HALVES: Final[dict[Any, int]] = {
    **dict.fromkeys((np.add, np.subtract), 1 | 4),
    **dict.fromkeys((np.multiply, np.true_divide, np.sqrt, np.floor, np.ceil, np.trunc, np.rint), 1),
    **dict.fromkeys((np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal), 1 | 2 | 4),
}


def find_loops() -> tuple[Any, str]:
    """Return the compiled module, or None, and a sentence about it; "" where it is not there."""
    return find_extension(
        DISTRIBUTION,
        "find_loops",
        LAYOUT,
        "dispatch-backend-cpu",
        lambda loops: loops.use(CONTEXT, WINDOWS, make_code),
        on=f"compiled kernels of {DISTRIBUTION} are on",
        off="compiled kernels are off",
    )


def find_draws() -> Any:
    """Return the compiled module of random draws, or None; they are on and off with the compiled kernels."""
    if LOOPS is None:
        return None
    return find_extension(
        DISTRIBUTION,
        "find_draws",
        DRAWS_LAYOUT,
        "dispatch-backend-cpu",
        lambda draws: draws.use(np.log, np.sqrt, np.cos, np.sin),
        on=f"compiled draws of {DISTRIBUTION} are on",
        off="compiled draws are off",
    )[0]


LOOPS: Final = find_loops()[0]
DRAWS: Final = find_draws()


def native(way: str, kernel: Kernel, ufunc: Any = None, dtypes: Iterable[Any] | None = (), **options: Any) -> Kernel:
    """Return a compiled kernel that serves plain calls of ``kernel``, or that one where there is none.

    The ``way`` names the arguments that it takes and its use of them; it serves the ``dtypes`` (None: any) for which the
    ``ufunc`` has a loop. See Note [Compiled kernels].
    """
    if LOOPS is None or not (ufunc is None or isinstance(ufunc, np.ufunc)):
        return kernel
    served = _PLAIN if dtypes is None else _PLAIN.intersection(dtypes)
    if way in _ELEMENTWISE and ufunc in _HALVES:  # as they are computed in any row
        options["halves"] = _HALVES[ufunc]
    made: Kernel = LOOPS.Kernel(way, kernel, ufunc, sorted(dtype.num for dtype in served), **options)
    return traits_of(kernel)(made)


def native_formula(kernel: Kernel, formula: Callable[..., Any], arity: int, opmath: bool | None = None) -> Kernel:
    """Do the same for a formula of ``arity`` arrays of one dtype of `NUMBERS` and one shape, with dimensions.

    The formula takes options behind the arrays, and returns ``NotImplemented`` for those that it leaves. With the first few
    of them it is traced: the compiled kernel runs the ufuncs that it calls, in its order. One that does anything else, such
    as to look at values, is left to Python. 16-bit floats are computed in float32, unless ``opmath`` is None; where it is
    False, bfloat16 alone.
    """
    options = {"most": _WHOLE, "arity": arity, "maker": partial(_trace, formula, arity)}
    return native("chain", kernel, None, NUMBERS, halves=0 if opmath is None else 1 if opmath else 1 | 8, **options)


#: Formulas of more elements may call other functions, and those of more than `_WHOLE` are computed in tiles.
LONGEST: Final = (1 << 12) - 1
_WHOLE: Final = 1 << 20
#: The ufuncs in whose place long arrays have functions of their own.
_FOR_FEW: Final = frozenset({np.floor_divide, np.remainder, np.fmod})
#: Steps as a compiled kernel takes them: the ufunc, or None for a choice; the numbers of the dtypes of its operands and its
#: result; the places of these. The arrays have the first places, then come the constants, then the results.
_Steps: TypeAlias = list[tuple[Any, tuple[int, ...], tuple[int, ...]]]


def _trace(
    formula: Callable[..., Any], arity: int, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[int, list[tuple[int, list[Array], _Steps, bool]]]:
    """Return the formula with some options by the number of the dtype: for up to so many elements constants and steps."""
    from ..pointwise.erf import FEW  # as below

    found: dict[int, list[tuple[int, list[Array], _Steps, bool]]] = {}
    for dtype in NUMBERS:
        least = 1
        bands: list[tuple[int, list[Array], _Steps, bool]] = []
        for most in sorted({min(FEW[dtype.char], LONGEST), LONGEST, _WHOLE}):
            first, is_of_any_size = _trace_one(formula, arity, args, kwargs, dtype, least)
            if is_of_any_size:
                bands = [] if first is None else [(_WHOLE if _gains_where_long(first[1]) else LONGEST, *first)]
                break
            last, _ = _trace_one(formula, arity, args, kwargs, dtype, most)
            # Another size may take another way, which gives other bits.
            is_one = first is not None and last is not None and first[1] == last[1]
            constants, steps, is_foreign = first if is_one and first is not None else ([], [], False)
            if most > LONGEST and not _gains_where_long(steps):
                break
            if bands and bands[-1][2] == steps:
                bands.pop()
            bands.append((most, constants, steps, is_foreign))
            least = most + 1
        if any(steps for _, _, steps, _ in bands):
            found[dtype.num] = bands
    return found


def _gains_where_long(steps: _Steps) -> bool:
    """Return whether a formula of long arrays is computed faster in parts: NumPy passes through memory for each step."""
    return len(steps) > 2 and _FOR_FEW.isdisjoint([ufunc for ufunc, _, _ in steps])


def _trace_one(
    formula: Callable[..., Any], arity: int, args: Any, kwargs: Any, dtype: np.dtype[Any], size: int
) -> tuple[tuple[list[Array], _Steps, bool] | None, bool]:
    """Trace a formula of arrays of one dtype and so many elements.

    Return constants, steps, and whether SciPy's ufuncs are among them, or None; and whether all that is of any size.
    """
    from ..pointwise.erf import load_erf  # as the next
    from ..pointwise.numpy_formulas import CLIP
    from .tape import Tape, Untraceable  # only where kernels are compiled

    tape = Tape()
    operands = [tape.read(index, dtype) for index in range(arity)]
    tape.size = size
    try:
        result = formula(*operands, *args, **kwargs)
    except (Untraceable, AttributeError, OverflowError, TypeError, ValueError):
        return None, not tape.is_asked_for_size
    is_of_any_size = not tape.is_asked_for_size
    operations = tape.operations
    if not operations or operations[-1].out is not result or {each.kind for each in operations} - {"ufunc", "where"}:
        return None, is_of_any_size
    known = {None, CLIP, *(each for each in vars(np).values() if isinstance(each, np.ufunc))}
    foreign = {each.fn for each in operations} - known
    if foreign and not (foreign == {load_erf()} and isinstance(load_erf(), np.ufunc)):
        return None, is_of_any_size
    constants = [each for operation in operations for each in operation.inputs if each.constant is not None]
    symbols = [*operands, *constants, *(operation.out for operation in operations)]
    places = {id(symbol): index for index, symbol in enumerate(symbols)}
    steps: _Steps = []
    for operation in operations:
        taken = (*operation.inputs, operation.out)
        steps.append((operation.fn, tuple(each.dtype.num for each in taken), tuple(places[id(each)] for each in taken)))
    return ([np.ascontiguousarray(each.constant) for each in constants], steps, bool(foreign)), is_of_any_size


def native_fold(
    kernel: Kernel, ufunc: Any, dtypes: Iterable[Any], way: str = "fold", *, along: bool = False, mean: bool = False
) -> Kernel:
    """Do the same for a fold of all elements, or along one dimension; with ``mean`` it is divided by their number.

    Another ``way`` is one that folds, too.
    """
    if LOOPS is None or not isinstance(ufunc, np.ufunc):
        return kernel
    found = {dtype: _start(ufunc, dtype) for dtype in _PLAIN.intersection(dtypes)}
    constants = {dtype.num: (start,) for dtype, start in found.items() if start is not None}
    way, halves = "fold along" if along else way, int(way == "fold" and ufunc is np.add)
    return native(way, kernel, ufunc, dtypes, constants=constants, mean=mean, halves=halves)


def _start(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Array | None:
    """Return the element with which NumPy begins a fold; None where it is the first of the array."""
    if ufunc.identity is None:
        return None
    # NumPy begins a sum of floats with either zero, according to its version: the sum of -0.0 has its sign.
    first = np.full(1, -0.0 if ufunc.identity == 0 and dtype.kind in "fc" else ufunc.identity, dtype)
    if dtype.kind == "c" and ufunc.identity == 0:
        first[0] = complex(-0.0, -0.0)
    start: Array = np.asarray(ufunc.reduce(first))
    return start if start.dtype is dtype else None


def native_rows(kernel: Kernel, formula: Callable[..., Any], roles: str, marks: dict[Any, Any] | None = None) -> Kernel:
    """Do the same for a formula of rows, for float32 and float64; see `row_tape`.

    The ``roles`` are those of the arguments: ``f`` an array, the first of which gives the shape, ``b`` one with samples and
    channels, ``F`` one that is a row, which comes first; ``d`` the dimension, which is the last, or ``n`` the shape of a
    row; then ``c`` an array of one element for each row, ``v`` one of the shape of a row, or None, ``k`` one of channels, or
    None; ``s`` an array without dimensions; ``0`` a False; ``1`` a True; ``-`` None; ``t`` the mark of the dtype, of
    ``marks``; ``m`` three bools; ``o`` an option, which may be missing at the end. The formula is called with a tape, the
    arrays (those of ``v`` and ``k`` may be None), bools and options; it returns a symbol or a list of results as
    `row_tape.write_formula` takes them.
    """
    if LOOPS is None:
        return kernel
    numbers = {dtype.num: mark for dtype, mark in (marks or {}).items()}
    maker = partial(_trace_rows, formula, roles)
    return native("rows", kernel, None, NUMBERS, roles=roles, marks=numbers, maker=maker)


#: The bits of a compiled kernel's key: of an array that is there by the place of the argument, from here on three bools.
_BOOLS: Final = 12


def _trace_rows(formula: Callable[..., Any], roles: str, key: int, options: tuple[Any, ...]) -> dict[int, Any]:
    """Return the formula with some options by the number of the dtype, as a compiled kernel takes it."""
    from . import row_tape  # only where kernels are compiled

    known = frozenset({None, *(each for each in vars(np).values() if isinstance(each, np.ufunc))})
    full, column, row, one = row_tape.FULL, row_tape.COLUMN, row_tape.ROW, row_tape.ONE
    layouts = {"f": full, "b": full, "F": full, "c": column, "k": column, "v": row, "s": one}
    given = [
        None if role in "vk" and not key >> place & 1 else layouts[role]
        for place, role in enumerate(roles)
        if role in layouts
    ]
    bools = [[bool(key >> _BOOLS + index & 1) for index in range(3)]] if "m" in roles else []
    found: dict[int, Any] = {}
    for dtype in NUMBERS:
        starts = {(np.add, dtype): _start(np.add, dtype), (np.multiply, dtype): _start(np.multiply, dtype)}
        traced = row_tape.trace_rows(formula, given, (*bools, *options), dtype, starts, known)
        if traced is not None:
            found[dtype.num] = traced
    return found
