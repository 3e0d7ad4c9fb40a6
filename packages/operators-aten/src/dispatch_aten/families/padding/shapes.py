"""Shape rules of padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dispatch_aten.errors import ShapeError
from dispatch_aten.promotion import Number
from dispatch_aten.shapes.layout import preserve_format
from dispatch_aten.shapes.meta import TensorMeta, channels_last_strides, contiguous, suggests_channels_last
from dispatch_aten.shapes.refusals import check_fits, refuse_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def fresh_in_format(shape: tuple[int, ...], like: TensorMeta) -> TensorMeta:
    """Describe a fresh result in the memory format that ``like`` suggests."""
    if len(shape) == like.ndim and suggests_channels_last(like.shape, like.strides):
        return TensorMeta(shape, channels_last_strides(shape), like.dtype)
    return contiguous(shape, like.dtype)


def padding_pairs(pad: Sequence[int], ndim: int) -> list[tuple[int, int]]:
    """Return the padding before and after each dimension; ``pad`` begins with the last one.

    >>> padding_pairs([1, 2], 2)
    [(0, 0), (1, 2)]
    """
    found = [(0, 0)] * ndim
    for place in range(len(pad) // 2):
        found[ndim - 1 - place] = pad[2 * place], pad[2 * place + 1]
    return found


def _constant_pad_nd(self: TensorMeta, pad: Sequence[int], value: Number = 0) -> TensorMeta:
    if len(pad) % 2:
        raise ShapeError(f"Length of pad must be even but instead it equals {len(pad)}", argument="pad")
    if len(pad) > 2 * self.ndim:
        raise ShapeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {self.ndim} dimensions.",
            argument="pad",
        )
    around = padding_pairs(pad, self.ndim)
    sizes = tuple(before + size + after for size, (before, after) in zip(self.shape, around, strict=True))
    for dim, (before, after) in enumerate(around):
        if self.shape[dim] + min(before, 0) + min(after, 0) < 0:
            raise ShapeError(
                f"narrow(): length must be non-negative: the input size {self.shape[dim]}, plus negative padding {before} "
                f"and {after} resulted in a negative output size. Check dimension {dim} of your input.",
                argument="pad",
            )
    if all(each <= 0 for each in pad):
        return preserve_format(TensorMeta(sizes, self.strides, self.dtype))
    check_fits(value, self.dtype, "value")
    return fresh_in_format(sizes, self)


_LETTERS: Final = "DHW"


def _check_kept(self: TensorMeta, padding: Sequence[int], count: int) -> None:
    if len(padding) != 2 * count:
        raise ShapeError(f"padding size is expected to be {2 * count}, but got: {len(padding)}", argument="padding")
    batched = self.ndim == count + 2
    if self.ndim not in (count + 1, count + 2) or 0 in self.shape[batched:]:
        raise ShapeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(self.shape)}",
            argument="self",
        )


def _pad_by(label: str, count: int, *, reflects: bool) -> Callable[..., TensorMeta]:
    def rule(self: TensorMeta, padding: Sequence[int]) -> TensorMeta:
        _check_kept(self, padding, count)
        around = padding_pairs(padding, self.ndim)
        if reflects:
            for place, dim in enumerate(range(self.ndim - 1, self.ndim - 1 - count, -1)):
                before, after = around[dim]
                if before >= self.shape[dim] or after >= self.shape[dim]:
                    raise ShapeError(
                        f"Argument #{4 + 2 * place}: Padding size should be less than the corresponding input dimension, "
                        f"but got: padding ({before}, {after}) at dimension {dim} of input {list(self.shape)}",
                        argument="padding",
                    )
        sizes = tuple(before + size + after for size, (before, after) in zip(self.shape, around, strict=True))
        inner = sizes[-count:]
        # One dimension that is left is enough.
        if max(inner) < 1:
            given = ", ".join(
                f"{name}: {size}" for name, size in zip(_LETTERS[-count:], self.shape[-count:], strict=True)
            )
            made = " ".join(f"{name}: {size}" for name, size in zip(_LETTERS[-count:], inner, strict=True))
            raise ShapeError(f"input ({given}) is too small. Calculated output {made}", argument="self")
        if min(inner) < 0:
            raise ShapeError(
                f"Trying to create tensor with negative dimension {min(inner)}: {list(sizes)}", argument="padding"
            )
        refuse_kinds(label, "b", self.dtype)
        return fresh_in_format(sizes, self)

    return rule


def _backward(label: str, forward: Callable[..., TensorMeta]) -> Callable[..., TensorMeta]:
    def rule(grad_output: TensorMeta, self: TensorMeta, padding: Sequence[int]) -> TensorMeta:
        made = forward(self, padding)
        if grad_output.shape != made.shape:
            raise ShapeError(
                f"grad_output width unexpected. Expected: {made.shape[-1]}, Got: {grad_output.shape[-1]}",
                argument="grad_output",
            )
        refuse_kinds(label, "bi", grad_output.dtype)
        return fresh_in_format(self.shape, self)

    return rule


def _rules() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {"constant_pad_nd": _constant_pad_nd}
    for kind in ("reflection", "replication"):
        for count in (1, 2, 3):
            name = f"{kind}_pad{count}d"
            found[name] = _pad_by(name, count, reflects=kind == "reflection")
            found[f"{name}_backward"] = _backward(f"{name}_backward", found[name])
    return found


MADE: Final[dict[str, Callable[..., Any]]] = _rules()
