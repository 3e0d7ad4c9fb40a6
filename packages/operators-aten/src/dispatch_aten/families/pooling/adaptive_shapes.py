"""Shape rules of pooling to a wanted size, of pooling at random places, and of its inverse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import int64
from dispatch_aten.errors import OperatorError, ShapeError, UnsupportedError
from dispatch_aten.families.padding.shapes import fresh_in_format
from dispatch_aten.shapes.meta import TensorMeta, contiguous
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def check_gradient(grad: TensorMeta, shape: tuple[int, ...], argument: str = "grad_output") -> None:
    """Refuse a gradient, or indices, of another shape than the result's."""
    if grad.shape != shape:
        raise ShapeError(
            f"Expected a tensor of shape {list(shape)}, but got a tensor of shape {list(grad.shape)}", argument=argument
        )


def _check_adaptive(name: str, self: TensorMeta, output_size: Sequence[int], count: int, colon: str) -> None:
    if len(output_size) != count:
        raise OperatorError(f"{name}: internal error: output_size.size() must be {count}", argument="output_size")
    if self.ndim not in (count + 1, count + 2):
        raise ShapeError(
            f"{name}(): Expected {count + 1}D or {count + 2}D tensor, but got{colon} {list(self.shape)}",
            argument="self",
        )
    for dim in range(self.ndim - count, self.ndim):
        if not self.shape[dim]:
            raise ShapeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(self.shape)} with dimension {dim} being empty",
                argument="self",
            )
    if min(output_size, default=0) < 0:
        listed = ", ".join(map(str, output_size))
        raise OperatorError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{listed}}}",
            argument="output_size",
        )
    refuse_kinds(name, "bic", self.dtype)


def _adaptive_avg_pool(count: int) -> Callable[..., TensorMeta]:
    name = f"adaptive_avg_pool{count}d"

    def rule(self: TensorMeta, output_size: Sequence[int]) -> TensorMeta:
        _check_adaptive(name, self, output_size, count, "")
        shape = (*self.shape[:-count], *output_size)
        return fresh_in_format(shape, self) if count == 2 else contiguous(shape, self.dtype)

    return rule


def _adaptive_max_pool(count: int) -> Callable[..., Any]:
    name = f"adaptive_max_pool{count}d"

    def rule(self: TensorMeta, output_size: Sequence[int]) -> tuple[TensorMeta, TensorMeta]:
        _check_adaptive(name, self, output_size, count, ":")
        shape = (*self.shape[:-count], *output_size)
        made = fresh_in_format(shape, self) if count == 2 else contiguous(shape, self.dtype)
        return made, made.with_dtype(int64)

    return rule


def _adaptive_backward(count: int) -> Callable[..., TensorMeta]:
    def rule(grad_output: TensorMeta, self: TensorMeta, indices: TensorMeta | None = None) -> TensorMeta:
        if grad_output.ndim != self.ndim or self.ndim not in (count + 1, count + 2):
            raise ShapeError(
                f"Expected a gradient of {self.ndim} dimensions, but got: {list(grad_output.shape)}",
                argument="grad_output",
            )
        check_gradient(grad_output, (*self.shape[:-count], *grad_output.shape[-count:]))
        if indices is not None:
            check_gradient(indices, grad_output.shape, "indices")
        if grad_output.dtype != self.dtype:
            raise OperatorError(
                f"expected dtype {self.dtype.name} for `grad_output` but got dtype {grad_output.dtype.name}",
                argument="grad_output",
            )
        return fresh_in_format(self.shape, self) if count == 2 else contiguous(self.shape, self.dtype)

    return rule


_SIDES: Final = ("time", "height", "width")


def _fractional(count: int) -> Callable[..., Any]:
    name = f"fractional_max_pool{count}d"

    def rule(
        self: TensorMeta, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: TensorMeta
    ) -> tuple[TensorMeta, TensorMeta]:
        for argument, values in (("kernel_size", kernel_size), ("output_size", output_size)):
            if len(values) != count:
                words = "Ints" if count == 2 else "three Ints"
                raise OperatorError(
                    f"{name}: {argument} must either be a single Int or tuple of {words}", argument=argument
                )
        if self.ndim not in (count + 1, count + 2):
            raise ShapeError(
                f"{name}(): Expected {count + 1}D or {count + 2}D tensor, but got: {list(self.shape)}", argument="self"
            )
        for dim in range(self.ndim - count - 1, self.ndim):
            if not self.shape[dim]:
                raise ShapeError(
                    f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got"
                    f"{list(self.shape)} with dimension {dim} being empty.",
                    argument="self",
                )
        _check_samples(self, random_samples, count)
        for side, size, kernel, wanted in zip(
            _SIDES[-count:], self.shape[-count:], kernel_size, output_size, strict=True
        ):
            if wanted + kernel - 1 > size or kernel < 1 or wanted < 1:
                raise ShapeError(
                    f"{name}(): pool {side} {kernel} too large relative to input {side} {size}", argument="kernel_size"
                )
        refuse_kinds(f"{name}_out_frame", "bic", self.dtype)
        made = contiguous((*self.shape[:-count], *output_size), self.dtype)
        return made, made.with_dtype(int64)

    return rule


def _check_samples(self: TensorMeta, samples: TensorMeta, count: int) -> None:
    if samples.dtype != self.dtype:
        raise OperatorError("Expect _random_samples to have the same dtype as input", argument="random_samples")
    if samples.ndim != 3:
        raise ShapeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}", argument="random_samples")
    batch = self.shape[0] if self.ndim == count + 2 else 1
    if samples.shape[0] < batch:
        raise ShapeError("Expect _random_samples.size(0) no less then input batch size.", argument="random_samples")
    if samples.shape[1] != self.shape[-count - 1]:
        raise ShapeError("Expect _random_samples.size(1) equals to input channel size.", argument="random_samples")
    if samples.shape[2] != count:
        raise ShapeError(
            f"Expect _random_samples.size(2) equals to {count}; got {samples.shape[2]}.", argument="random_samples"
        )


def _fractional_backward(
    grad_output: TensorMeta,
    self: TensorMeta,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    indices: TensorMeta,
) -> TensorMeta:
    count = len(output_size)
    check_gradient(grad_output, (*self.shape[:-count], *output_size))
    check_gradient(indices, grad_output.shape, "indices")
    return contiguous(self.shape, self.dtype)


_AXES: Final = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}


def _max_unpool(count: int) -> Callable[..., TensorMeta]:
    def rule(
        self: TensorMeta,
        indices: TensorMeta,
        output_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (),
    ) -> TensorMeta:
        if indices.dtype != int64:
            raise OperatorError(
                f"elements in indices should be type int64 but got: {indices.dtype.name}", argument="indices"
            )
        given = [("output_size", output_size)]
        given += [("stride", stride), ("padding", padding)] if count == 3 else []
        for argument, values in given:
            if len(values) != count:
                raise ShapeError(
                    f"There should be exactly {_AXES[count]} in {argument}, but got {len(values)} elements.",
                    argument=argument,
                )
        if self.ndim not in (count + 1, count + 2):
            raise ShapeError(
                f"Input to max_unpooling{count}d should be a {count + 1}d or {count + 2}d Tensor, but got a tensor with "
                f"{self.ndim} dimensions.",
                argument="self",
            )
        if self.shape != indices.shape:
            raise ShapeError(
                f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got indices "
                f"tensor with shape: {list(indices.shape)}",
                argument="indices",
            )
        if 0 in self.shape[1:]:
            raise ShapeError(
                f"max_unpooling{count}d(): Expected input to have non-zero size for non-batch dimensions, but got "
                f"{list(self.shape)}",
                argument="self",
            )
        if count == 3 and min(stride) <= 0:
            raise OperatorError(
                f"strides should be greater than zero, but got stride: {list(stride)}", argument="stride"
            )
        if min(output_size) < 0:
            raise UnsupportedError(f"output_size must not be negative: {list(output_size)}", argument="output_size")
        refuse_kinds(f"max_unpool{count}d", "bc", self.dtype)
        shape = (*self.shape[:-count], *output_size)
        return fresh_in_format(shape, self) if count == 2 else contiguous(shape, self.dtype)

    return rule


def _rules() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for count in (2, 3):
        found[f"_adaptive_avg_pool{count}d"] = _adaptive_avg_pool(count)
        found[f"_adaptive_avg_pool{count}d_backward"] = _adaptive_backward(count)
        found[f"adaptive_max_pool{count}d"] = _adaptive_max_pool(count)
        found[f"adaptive_max_pool{count}d_backward"] = _adaptive_backward(count)
        found[f"fractional_max_pool{count}d"] = _fractional(count)
        found[f"fractional_max_pool{count}d_backward"] = _fractional_backward
        found[f"max_unpool{count}d"] = _max_unpool(count)
    return found


MADE: Final[dict[str, Callable[..., Any]]] = _rules()
