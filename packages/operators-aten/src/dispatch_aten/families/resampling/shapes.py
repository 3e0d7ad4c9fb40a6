"""Shape rules of interpolation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.dtypes import uint8
from dispatch_aten.errors import OperatorError, ShapeError
from dispatch_aten.families.padding.shapes import fresh_in_format
from dispatch_aten.shapes.meta import TensorMeta, channels_last_strides
from dispatch_aten.shapes.refusals import refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LETTERS: Final = "DHW"
_LIMIT: Final = 1 << 63

#: Operator → its dimensions, and how it weights elements; all but the nearest take ``align_corners``.
RESAMPLERS: Final[dict[str, tuple[int, str]]] = {
    **{f"upsample_nearest{count}d": (count, "nearest") for count in (1, 2, 3)},
    **{f"_upsample_nearest_exact{count}d": (count, "exact") for count in (1, 2, 3)},
    "upsample_linear1d": (1, "linear"),
    "upsample_bilinear2d": (2, "linear"),
    "upsample_trilinear3d": (3, "linear"),
    "upsample_bicubic2d": (2, "cubic"),
    "_upsample_bilinear2d_aa": (2, "smooth linear"),
    "_upsample_bicubic2d_aa": (2, "smooth cubic"),
    "_upsample_lanczos2d_aa": (2, "smooth lanczos"),
}

_KERNELS: Final = {
    "nearest": "compute_indices_weights_nearest",
    "exact": "compute_indices_weights_nearest",
    "linear": "compute_indices_weights_linear",
    "cubic": "compute_indices_weights_cubic",
}


_FEW: Final = 128
"""Images whose sizes in the result sum to at most so much have a kernel of their own in torch."""


def scale_sizes(sizes: Sequence[int], scales: Sequence[float], argument: str) -> list[int]:
    """Return sizes times factors, rounded down; raises ``OperatorError`` where one is not of 64 bits, as torch does.

    >>> scale_sizes((4, 5), (2.0, 0.5), "scale_factors")
    [8, 2]
    """
    try:
        found = [int(size * scale) for size, scale in zip(sizes, scales, strict=True)]
    except (OverflowError, ValueError):  # of an infinity or nan
        found = [_LIMIT]
    for each in found:  # a loop takes half the time of min() and max(), and each call of an upsampling comes here
        if not -_LIMIT <= each < _LIMIT:
            raise OperatorError("value cannot be converted to type int64_t without overflow", argument=argument)
    return found


def ignored_scales(shape: Sequence[int], strides: Sequence[int], output_size: Sequence[int]) -> tuple[bool, ...]:
    """Return for each dimension whether the nearest elements follow from its sizes, whatever scale is given.

    torch has a second kernel for small images and for many channels that lie innermost; it takes equal and doubled sizes for
    scales of 1 and 2. ``strides`` are in any unit.

    >>> ignored_scales((1, 1, 4, 5), (20, 20, 5, 1), (4, 6))
    (True, False)
    """
    sizes = shape[2:]
    few = len(sizes) == 2 and sum(output_size) <= _FEW
    if not few and not (len(sizes) > 1 and shape[1] > 3 and _has_channels_last(tuple(shape), strides)):
        return (False,) * len(sizes)
    return tuple([wanted in (size, 2 * size) for size, wanted in zip(sizes, output_size, strict=True)])


def _has_channels_last(shape: tuple[int, ...], strides: Sequence[int]) -> bool:
    wanted = channels_last_strides(shape)
    return all(size == 1 or given == strides[1] * own for size, given, own in zip(shape, strides, wanted, strict=True))


def _check_sizes(shape: Sequence[int], output_size: Sequence[int], count: int) -> None:
    for name, values, wanted in (("output_size", output_size, count), ("input_size", shape, count + 2)):
        if len(values) != wanted:
            raise ShapeError(f"It is expected {name} equals to {wanted}, but got size {len(values)}", argument=name)
    if min(*shape[2:], *output_size) < 1:
        given, made = (
            ", ".join(f"{letter}: {size}" for letter, size in zip(_LETTERS[-count:], sizes, strict=True))
            for sizes in (shape[2:], output_size)
        )
        joint = " and output" if count == 1 else " output"
        raise ShapeError(
            f"Input and output sizes should be greater than 0, but got input ({given}){joint} ({made})", argument="self"
        )


def _resample(count: int, kind: str) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, output_size: Sequence[int], *options: Any) -> TensorMeta:
        _check_sizes(self.shape, output_size, count)
        if not self.numel and 0 in self.shape[1:]:
            raise ShapeError(
                f"Non-empty {count + 2}D data tensor expected but got a tensor with sizes {list(self.shape)}",
                argument="self",
            )
        if self.dtype != uint8 or (kind == "linear" and count != 2):
            refuse_kinds(_KERNELS.get(kind, "upsample_generic_Nd_aa"), "bic", self.dtype)
        return fresh_in_format((*self.shape[:2], *output_size), self)

    return rule


def _resample_backward(count: int) -> Callable[..., TensorMeta]:
    def rule(
        grad_output: TensorMeta, output_size: Sequence[int], input_size: Sequence[int], *options: Any
    ) -> TensorMeta:
        _check_sizes(input_size, output_size, count)
        shape = (*input_size[:2], *output_size)
        if grad_output.ndim != count + 2:
            raise ShapeError(
                f"Expected grad_output to be a tensor of dimension {count + 2} but got: dimension {grad_output.ndim}",
                argument="grad_output",
            )
        for dim, (wanted, size) in enumerate(zip(shape, grad_output.shape, strict=True)):
            if wanted != size:
                raise ShapeError(
                    f"Expected grad_output to have the same shape as output; output.size({dim}) = {wanted} but got "
                    f"grad_output.size({dim}) = {size}",
                    argument="grad_output",
                )
        return fresh_in_format(tuple(input_size), grad_output)

    return rule
