"""Refusals of operators by the values of their arguments: indices out of range, probabilities that are none, division by 0.

A check takes two numbers of arrays: whether a value is wrong, and which. NumPy computes them where the values are there,
and then the call raises. In a program that is compiled the library does, and they become the program's error word: see
`error_words`. The error is written in one place, so that both say the same, and the cpu's words are used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial, wraps
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.errors import DataDependentShapeError, DimensionError, OperatorError
from dispatch_aten.shapes import RULES, wrap_dim

from .library import Array, ArrayLibrary, Kernel, is_number


class Check(NamedTuple):
    """One condition on the values of arrays."""

    #: Takes a namespace and the arrays; returns whether a value is wrong, and which.
    measure: Callable[..., tuple[Any, Any]]
    arrays: tuple[Array, ...]
    #: Makes the error from the wrong value.
    error: Callable[[int], Exception]
    #: Whether each device may look at the elements that it has, in any shape.
    splits: bool = True

    def key(self) -> Any:
        """Return what two checks of one program share if they find the same."""
        found = self.measure
        how = (found.func, found.args, *found.keywords.items()) if isinstance(found, partial) else (found,)
        return how, tuple(map(id, self.arrays))


class _State(threading.local):
    #: Whether a kernel runs whose arguments have been checked: those of the operators that compose it are right, too.
    is_checked = False
    #: The checks of the program that is being traced; None where none is, or it has no error word.
    found: list[Check] | None = None


_state: Final = _State()


@contextmanager
def collect_checks() -> Iterator[list[Check]]:
    """Collect the checks on traced values instead of raising."""
    before, _state.found = (_state.found, _state.is_checked), []
    _state.is_checked = False
    try:
        yield _state.found
    finally:
        _state.found, _state.is_checked = before


def check_values(library: ArrayLibrary, name: str, kernel: Kernel) -> Kernel:
    """Make a kernel check the values of its arguments first, where the operator has checks."""
    find = _CHECKS.get(name)
    if find is None:
        return kernel
    rule = RULES[name]

    def look(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not any(isinstance(each, library.types) and not library.is_known(each) for each in leaves(args)):
            with suppress(DataDependentShapeError):  # the size that a mask selects is the kernel's affair
                rule(*map(library.meta, args), **{key: library.meta(value) for key, value in kwargs.items()})
        for check in find(library, *args, **kwargs):
            apply_check(library, check)

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        if _state.is_checked:
            return kernel(*args, **kwargs)
        look(args, kwargs)
        _state.is_checked = True
        try:
            return kernel(*args, **kwargs)
        finally:
            _state.is_checked = False

    return run


def leaves(args: tuple[Any, ...]) -> Iterator[Any]:
    """Yield arguments, and those in lists."""
    for each in args:
        if isinstance(each, list | tuple):
            yield from each
        else:
            yield each


def apply_check(library: ArrayLibrary, check: Check) -> None:
    """Raise the error of a check that fails; where a value is traced, collect it. Arrays without elements pass."""
    if any(0 in each.shape for each in check.arrays):
        return
    if all(library.is_known(each) for each in check.arrays):
        is_wrong, value = check.measure(np, *map(library.get, check.arrays))
        if is_wrong:
            raise check.error(int(value))
    elif _state.found is not None:
        _state.found.append(check)


# Measures.

_LOWER: Final = (1 << 32) - 1


def _find_outside(low: int, high: int, xp: Any, index: Array, *, names_high: bool = False) -> tuple[Any, Any]:
    """Find an index that is not in [low, high): the least one, or the greatest if that is wrong and ``names_high``."""
    least, greatest = xp.min(index).astype(xp.int64), xp.max(index).astype(xp.int64)
    is_low, is_high = least < low, greatest >= high
    value = xp.where(is_high, greatest, least) if names_high else xp.where(is_low, least, greatest)
    return is_low | is_high, value


def _find_target(classes: int, ignored: int, xp: Any, target: Array) -> tuple[Any, Any]:
    """Find the first target that is neither a class nor ignored."""
    flat = xp.reshape(target, (-1,)).astype(xp.int64)
    wrong = (flat != ignored) & ((flat < 0) | (flat >= classes))
    if xp is np:
        return xp.any(wrong), flat[xp.argmax(wrong)]
    # In one number of 64 bits, its place and its lower half: it is reduced once.
    none = xp.iinfo(xp.int64).max
    places = xp.arange(flat.shape[0], dtype=xp.int64)
    first = xp.min(xp.where(wrong, (places << 32) | (flat & _LOWER), none))
    return first != none, ((first & _LOWER) ^ 1 << 31) - (1 << 31)


def _find_no_probability(xp: Any, numbers: Array) -> tuple[Any, Any]:
    return ~xp.all((numbers >= 0) & (numbers <= 1)), 0


def _find_zero(xp: Any, numbers: Array) -> tuple[Any, Any]:
    return ~xp.all(numbers != 0), 0


def _find_negative(xp: Any, numbers: Array) -> tuple[Any, Any]:
    return ~xp.all(numbers >= 0), 0


def _find_bad_weight(xp: Any, weights: Array) -> tuple[Any, Any]:
    return ~xp.all(xp.isfinite(weights) & (weights >= 0)), 0


def _find_no_weight(xp: Any, weights: Array) -> tuple[Any, Any]:
    return ~xp.all(xp.any(weights > 0, axis=-1)), 0


# Errors.


def _say_rows(size: int, operator: str, argument: str, value: int) -> Exception:
    hint = f"index {value} is asked for, and the size is {size}"
    return DimensionError("index out of range in self", operator=operator, argument=argument, hint=hint)


def _say_bounds(kind: Any, dim: int, size: int, argument: str, value: int) -> Exception:
    return kind(f"index {value} is out of bounds for dimension {dim} with size {size}", argument=argument)


def _say(kind: Any, text: str, argument: str, value: int) -> Exception:
    return kind(text.format(value), argument=argument)


# Checks by operator.


def _size(array: Array, dim: int) -> tuple[int, int]:
    axis = wrap_dim(dim, max(array.ndim, 1))
    return axis, array.shape[axis] if array.ndim else 1


def _rows(operator: str, library: ArrayLibrary, self: Array, dim: int, index: Array, *_: Any, **__: Any) -> Any:
    """Check indices of rows, which are never negative; a tensor without elements takes any, as torch looks at none."""
    size = _size(self, dim)[1]
    if operator == "aten::index_select" or self.ndim == 1 or prod(self.shape):
        yield Check(partial(_find_outside, 0, size), (index,), partial(_say_rows, size, operator, "index"))


def _check_embedding(library: ArrayLibrary, weight: Array, indices: Array, *_: Any) -> Any:
    size = weight.shape[0]
    yield Check(partial(_find_outside, 0, size), (indices,), partial(_say_rows, size, "aten::embedding", "indices"))


def _along(library: ArrayLibrary, self: Array, dim: int, index: Array, *_: Any, **__: Any) -> Any:
    axis, size = _size(self, dim)
    yield Check(partial(_find_outside, 0, size), (index,), partial(_say_bounds, OperatorError, axis, size, "index"))


def _one_range(dim: int, size: int, index: Array) -> Check:
    """Return the check of indices that may count from the end."""
    find = partial(_find_outside, -size, size, names_high=True)
    return Check(find, (index,), partial(_say_bounds, DimensionError, dim, size, "indices"))


def _slices(library: ArrayLibrary, self: Array, dim: int, index: Array, *_: Any) -> Any:
    yield _one_range(*_size(self, dim), index)


def _flat(library: ArrayLibrary, self: Array, index: Array, *_: Any) -> Any:
    yield _one_range(0, prod(self.shape), index)


def _check_take(library: ArrayLibrary, self: Array, index: Array) -> Any:
    size = prod(self.shape)
    text = "out of range: tried to access an index that self does not have"
    yield Check(partial(_find_outside, -size, size), (index,), partial(_say, DimensionError, text, "index"))


def _check_indices(library: ArrayLibrary, self: Array, indices: Any, *_: Any) -> Any:
    dim = 0
    for index in indices:
        if index is not None and library.dtype_of(index) in (ScalarType.Bool, ScalarType.Byte):
            dim += index.ndim
            continue
        if index is not None:
            yield _one_range(dim, self.shape[dim], index)
        dim += 1


def _targets(
    library: ArrayLibrary, self: Array, target: Array, weight: Any, reduction: int, ignore_index: int, *_: Any
) -> Any:
    classes = self.shape[0] if self.ndim == 1 else self.shape[1]
    say = partial(_say, DimensionError, "Target {} is out of bounds.", "target")
    yield Check(partial(_find_target, classes, ignore_index), (target,), say)


def _target_gradient(library: ArrayLibrary, grad: Array, *args: Any) -> Any:
    return _targets(library, *args)


def _sorter(library: ArrayLibrary, sequence: Array, values: Any, *, sorter: Array | None = None, **_: Any) -> Any:
    if sorter is not None:
        say = partial(_say, DimensionError, "torch.searchsorted(): sorter index out of range", "sorter")
        yield Check(partial(_find_outside, 0, sequence.shape[-1]), (sorter,), say)


def _chances(library: ArrayLibrary, self: Array, p: Any = None, **_: Any) -> Any:
    chance = self if p is None else p
    text = "Expected p_in >= 0 && p_in <= 1 to be true, but got false."
    yield Check(_find_no_probability, (chance,), partial(_say, OperatorError, text, "p"))


def _rates(library: ArrayLibrary, self: Array, *_: Any, **__: Any) -> Any:
    text = "invalid Poisson rate, expected rate to be non-negative"
    yield Check(_find_negative, (self,), partial(_say, OperatorError, text, "self"))


def _spreads(library: ArrayLibrary, mean: Any, std: Array, **_: Any) -> Any:
    yield Check(
        _find_negative, (std,), partial(_say, OperatorError, "normal expects all elements of std >= 0.0", "std")
    )


def _weights(library: ArrayLibrary, self: Array, num_samples: int, replacement: bool = False, **_: Any) -> Any:
    text = (
        "invalid multinomial distribution (encountering probability entry < 0)"
        if replacement and num_samples > 1
        else "probability tensor contains either `inf`, `nan` or element < 0"
    )
    yield Check(_find_bad_weight, (self,), partial(_say, OperatorError, text, "self"))
    text = "invalid multinomial distribution (sum of probabilities <= 0)"
    yield Check(_find_no_weight, (self,), partial(_say, OperatorError, text, "self"), splits=False)


def _between_0_and_1(library: ArrayLibrary, self: Array, target: Array, *_: Any) -> Any:
    for name, argument, numbers in (("input", "self", self), ("target", "target", target)):
        text = f"all elements of {name} should be between 0 and 1"
        yield Check(_find_no_probability, (numbers,), partial(_say, OperatorError, text, argument))


def _divisor(library: ArrayLibrary, self: Array, other: Any, *_: Any, **keywords: Any) -> Any:
    """Check for an integer division by zero, unless there is nothing to divide."""
    dtypes = [library.dtype_of(each) if isinstance(each, library.types) else None for each in (self, other)]
    is_integral = all(each is None or each.is_integral or each is ScalarType.Bool for each in dtypes)
    if not is_integral or isinstance(other, float | complex) or ("rounding_mode" in keywords and _is_true(keywords)):
        return
    if is_number(other) or not hasattr(other, "shape"):
        other = library.xp.asarray(other, **library.options)
    if 0 not in self.shape:
        yield Check(_find_zero, (other,), partial(_say, OperatorError, "ZeroDivisionError", "other"))


def _is_true(keywords: dict[str, Any]) -> bool:
    """Return whether a division does not round, so that zero gives an infinity."""
    return keywords["rounding_mode"] is None


_CHECKS: Final[dict[str, Callable[..., Any]]] = {
    "index_select": partial(_rows, "aten::index_select"),
    "index_add": partial(_rows, "aten::index_add"),
    "embedding": _check_embedding,
    **dict.fromkeys(("gather", "scatter.src", "scatter.value", "scatter_add", "scatter_reduce.two"), _along),
    **dict.fromkeys(("index_copy", "index_fill.int_Scalar", "index_fill.int_Tensor"), _slices),
    **dict.fromkeys(("index.Tensor", "index_put"), _check_indices),
    "put": _flat,
    "take": _check_take,
    "nll_loss_forward": _targets,
    "nll_loss_backward": _target_gradient,
    "searchsorted.Tensor": _sorter,
    "bernoulli": _chances,
    "bernoulli.Tensor": _chances,
    "bernoulli_.Tensor": _chances,
    "poisson": _rates,
    **dict.fromkeys(("normal.float_Tensor", "normal.Tensor_Tensor"), _spreads),
    "multinomial": _weights,
    "binary_cross_entropy": _between_0_and_1,
    **dict.fromkeys(
        "floor_divide remainder.Tensor remainder.Scalar fmod.Tensor div.Tensor_mode".split(),
        _divisor,
    ),
}
#: The operators that have checks.
CHECKED: Final = frozenset(_CHECKS)
