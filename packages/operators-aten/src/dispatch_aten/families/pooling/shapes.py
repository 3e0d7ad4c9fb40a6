"""Shape rules of pooling: by windows, to a wanted size, by windows at random places, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dispatch_aten.dtypes import int64
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.families.padding.shapes import fresh_in_format
from dispatch_aten.families.pooling.adaptive_shapes import check_gradient
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WORDS: Final = {1: "one int", 2: "two ints", 3: "three ints"}
_LETTERS: Final = "THW"


class PoolWindows(NamedTuple):
    """How a pooling window moves, one number for each dimension, and the sizes of its result."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    sizes: tuple[int, ...]


def _spread(name: str, argument: str, values: Sequence[int], count: int) -> tuple[int, ...]:
    if len(values) == 1:
        return tuple(values) * count
    if len(values) != count:
        how = "must either be omitted, a single int," if argument == "stride" else "must either be a single int,"
        raise OperatorError(f"{name}: {argument} {how} or a tuple of {_WORDS[count]}", argument=argument)
    return tuple(values)


def pooled_size(size: int, kernel: int, pad: int, stride: int, dilation: int, *, ceil_mode: bool) -> int:
    """Return how often a window moves along a dimension; with ``ceil_mode`` also over the end.

    >>> pooled_size(5, 2, 0, 2, 1, ceil_mode=False), pooled_size(5, 2, 0, 2, 1, ceil_mode=True)
    (2, 3)
    """
    found = (size + 2 * pad - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    # The last window begins within the input or the padding on its left.
    return found - 1 if ceil_mode and (found - 1) * stride >= size + pad else found


def _name_values(label: str, values: Sequence[int]) -> str:
    return " ".join(f"{label}{letter}: {value}" for letter, value in zip(_LETTERS[-len(values) :], values, strict=True))


def pool_windows(
    name: str,
    shape: tuple[int, ...],
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    *,
    ceil_mode: bool,
    count: int,
) -> PoolWindows:
    """Return how a pooling operator's window moves over the last ``count`` dimensions, or raise torch's error."""
    kernel = _spread(name, "kernel_size", kernel_size, count)
    step = _spread(name, "stride", stride, count) if len(stride) else kernel
    pad = _spread(name, "padding", padding, count)
    gap = _spread(name, "dilation", dilation, count)
    ranks = f"{count + 1}D or {count + 2}D"
    if len(shape) not in (count + 1, count + 2):
        raise ShapeError(f"non-empty {ranks} (batch mode) tensor expected for input", argument="self")
    if any(each == 0 for each in step):
        raise OperatorError("stride should not be zero", argument="stride")
    for label, values, argument in (("k", kernel, "kernel_size"), ("d", step, "stride")):
        if min(values) <= 0:
            what = "kernel size" if argument == "kernel_size" else "stride"
            raise OperatorError(
                f"{what} should be greater than zero, but got {_name_values(label, values)}", argument=argument
            )
    if min(gap) <= 0:
        raise OperatorError(
            f"dilation should be greater than zero, but got {_name_values('dilation', gap)}", argument="dilation"
        )
    if 0 in shape[len(shape) - count - 1 :]:
        raise ShapeError(
            f"Expected {ranks} (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}",
            argument="self",
        )
    if name == "avg_pool3d" and any(size < wide for size, wide in zip(shape[-count:], kernel, strict=True)):
        given = " ".join(f"{letter}: {size}" for letter, size in zip(_LETTERS, shape[-count:], strict=True))
        wanted = " ".join(f"k{letter}: {size}" for letter, size in zip(_LETTERS, kernel, strict=True))
        raise ShapeError(f"input image ({given}) smaller than kernel size ({wanted})", argument="self")
    for size, around, space in zip(kernel, pad, gap, strict=True):
        if around < 0:
            raise OperatorError(f"pad must be non-negative, but got pad: {around}", argument="padding")
        if around > (space * (size - 1) + 1) // 2:
            raise OperatorError(
                f"pad should be at most half of effective kernel size, but got pad={around}, kernel_size={size} and "
                f"dilation={space}",
                argument="padding",
            )
    sizes = tuple(
        pooled_size(*numbers, ceil_mode=ceil_mode)
        for numbers in zip(shape[-count:], kernel, pad, step, gap, strict=True)
    )
    if min(sizes) < 1:
        given, made = ("x".join(map(str, (shape[-count - 1], *each))) for each in (shape[-count:], sizes))
        raise ShapeError(
            f"Given input size: ({given}). Calculated output size: ({made}). Output size is too small", argument="self"
        )
    return PoolWindows(kernel, step, pad, gap, sizes)


def _max_pool(count: int) -> Callable[..., Any]:
    name = f"max_pool{count}d"

    def rule(
        self: TensorMeta,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> tuple[TensorMeta, TensorMeta]:
        moved = pool_windows(name, self.shape, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode, count=count)
        refuse_kinds(name, "bc", self.dtype)
        made = fresh_in_format((*self.shape[:-count], *moved.sizes), self)
        return made, made.with_dtype(int64)

    return rule


def _max_pool_backward(count: int) -> Callable[..., TensorMeta]:
    forward = _max_pool(count)

    def rule(
        grad_output: TensorMeta,
        self: TensorMeta,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        indices: TensorMeta,
    ) -> TensorMeta:
        made = forward(self, kernel_size, stride, padding, dilation, ceil_mode)[0]
        check_gradient(grad_output, made.shape)
        check_gradient(indices, made.shape, "indices")
        if grad_output.dtype != self.dtype:
            raise OperatorError(
                f"expected dtype {self.dtype.name} for `gradOutput` but got dtype {grad_output.dtype.name}",
                argument="grad_output",
            )
        return fresh_in_format(self.shape, self)

    return rule


def _avg_pool(count: int) -> Callable[..., TensorMeta]:
    name = f"avg_pool{count}d"
    fresh = fresh_in_format if count == 2 else _in_rows

    def rule(
        self: TensorMeta,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> TensorMeta:
        moved = pool_windows(name, self.shape, kernel_size, stride, padding, (1,), ceil_mode=ceil_mode, count=count)
        if divisor_override == 0:
            raise OperatorError("divisor must be not zero", argument="divisor_override")
        if self.dtype != int64:
            refuse_kinds(name if count == 2 else "avg_pool3d_out_frame", "bic", self.dtype)
        return fresh((*self.shape[:-count], *moved.sizes), self)

    return rule


def _in_rows(shape: tuple[int, ...], like: TensorMeta) -> TensorMeta:
    return contiguous(shape, like.dtype)


def _avg_pool_backward(count: int) -> Callable[..., TensorMeta]:
    forward = _avg_pool(count)
    fresh = fresh_in_format if count == 2 else _in_rows

    def rule(grad_output: TensorMeta, self: TensorMeta, *options: Any) -> TensorMeta:
        check_gradient(grad_output, forward(self, *options).shape)
        return fresh(self.shape, self)

    return rule


def _rules() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for count in (2, 3):
        found[f"max_pool{count}d_with_indices"] = _max_pool(count)
        found[f"max_pool{count}d_with_indices_backward"] = _max_pool_backward(count)
        found[f"avg_pool{count}d"] = _avg_pool(count)
        found[f"avg_pool{count}d_backward"] = _avg_pool_backward(count)
    return found


MADE: Final[dict[str, Callable[..., Any]]] = _rules()
