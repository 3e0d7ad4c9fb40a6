"""Right calls of operators of ``convolution.rows`` that follow one pattern."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from dispatch_core import ops

from ..drawing import MASKS, CallRow, Draw, Make, call

Options: TypeAlias = tuple[list[int], list[int], list[int], bool, list[int], int]
#: A convolution's options: stride, padding, dilation, transposed, output padding, groups.
CONVOLUTIONS: Final[tuple[Options, ...]] = (
    ([1], [0], [1], False, [0], 1),
    ([2], [1], [2], False, [0], 2),
    ([1, 1], [1, 1], [1, 1], False, [0, 0], 4),
    ([2, 1], [1, 0], [1, 2], False, [0, 0], 1),
    ([2, 3], [1, 0], [1, 2], True, [1, 0], 2),
    ([1, 1], [0, 0], [2, 2], True, [1, 1], 1),
    ([2, 2, 1], [1, 0, 1], [1, 1, 1], False, [0, 0, 0], 2),
    ([2, 1, 1], [0, 1, 0], [1, 1, 2], True, [1, 0, 0], 2),
)


def _input_and_weight(r: Draw, options: Options) -> tuple[Any, ...]:
    count, transposed, groups = len(options[0]), options[3], options[5]
    kernel = (3, 2, 2)[:count]
    return r.f(2, 4, *(6, 7, 5)[:count]), r.f(4, 4 // groups, *kernel), r.f(4 // groups * groups if transposed else 4)


def _convolution(options: Options) -> Make:
    return lambda r: (*_input_and_weight(r, options), *options)


def _convolution_backward(options: Options, mask: tuple[bool, ...] = MASKS[0]) -> Make:
    def make(r: Draw) -> tuple[Any, ...]:
        input, weight, bias = _input_and_weight(r, options)
        made = ops.aten.convolution(input, weight, bias, *options)
        return r.f(*made.shape), input, weight, [4], *options, list(mask)

    return make


ONE: Final = [1, 1]


def _list_calls() -> Iterator[CallRow]:
    for options in CONVOLUTIONS:
        yield call("convolution", _convolution(options))
        yield call("convolution_backward", _convolution_backward(options))
    for mask in MASKS[1:]:
        yield call("convolution_backward", _convolution_backward(CONVOLUTIONS[3], mask))
    yield call("_convolution", lambda r: (*_convolution(CONVOLUTIONS[3])(r), False, False, False, False))
    for count in (1, 2, 3):
        sizes, kernel = (6, 7, 5)[:count], (3, 2, 2)[:count]
        yield call(f"conv{count}d", lambda r, s=sizes, k=kernel: (r.f(3, 2, *s), r.f(4, 2, *k), r.f(4), [1], [1]))
        yield call(f"conv{count}d", lambda r, s=sizes, k=kernel: (r.f(2, *s), r.f(4, 2, *k), r.f(4), [2], [1]))
        yield call(
            f"conv{count}d.padding", lambda r, s=sizes, k=kernel: (r.f(3, 2, *s), r.f(4, 2, *k), r.f(4), [1], "same")
        )
        name = f"conv_transpose{count}d{'' if count == 1 else '.input'}"
        yield call(name, lambda r, s=sizes, k=kernel: (r.f(3, 2, *s), r.f(2, 4, *k), r.f(4), [2], [1], [1]))
    yield call("_convolution_mode", lambda r: (r.f(1, 2, 5, 5), r.f(2, 2, 3, 3), None, ONE, "valid", ONE, 1))
    yield call("conv_tbc", lambda r: (r.f(5, 2, 3), r.f(3, 3, 4), r.f(4), 1))
    yield call("conv_tbc_backward", lambda r: (r.f(5, 2, 4), r.f(5, 2, 3), r.f(3, 3, 4), r.f(4), 1))
    yield call("im2col", lambda r: (r.f(2, 3, 6, 5), [3, 2], [1, 2], [1, 0], [2, 1]))
    yield call("im2col", lambda r: (r.f(3, 6, 5), [1, 1], [1, 1], [0, 0], [1, 1]))
    yield call("col2im", lambda r: (r.f(2, 18, 9), [6, 5], [3, 2], [1, 2], [1, 0], [2, 1]))


CALLS: Final = tuple(_list_calls())
