"""Dropout by a mask of bits, which becomes an array of truth values only where a program reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import TensorMeta, cached_rule, contiguous

from ..aclnn.composition import compose
from ..aclnn.launch import allocate_result, forbid_collecting, launch
from ..arrays import AclArray, allocate_array, array_in
from ..late_blocks import LateBlock
from .random import take_offset

_forward_rule: Final = cached_rule("native_dropout")
_backward_rule: Final = cached_rule("native_dropout_backward")
_TAKEN: Final = (ScalarType.Float, ScalarType.Half, ScalarType.BFloat16)
#: The bits of a mask are a multiple of it.
_BITS: Final = 128


class MaskBlock(LateBlock):
    """The memory of a mask that is kept as bits until its address is asked for, as every reader but dropout does."""

    __slots__ = ("p",)

    def __init__(self, spec: TensorMeta, bits: AclArray, p: float) -> None:
        super().__init__(spec, (bits,))
        self.p = p

    def fill(self, values: AclArray, *held: AclArray) -> None:
        """Write the truth values of the bits, which are in the order of the elements."""
        ones, kept = (allocate_array(contiguous(values.spec.shape, ScalarType.Half)) for _ in range(2))
        launch("aclnnInplaceOne", ones)
        launch("aclnnDropoutDoMask", ones, *held, self.p, kept)
        launch("aclnnCast", kept, ScalarType.Bool, values)


def bits_of(mask: AclArray, p: float) -> AclArray | None:
    """Return the bits of a mask, where they are at hand and those of a dropout with probability ``p``."""
    block: Any = mask.block
    held = block.held_for(mask) if isinstance(block, MaskBlock) and block.p == p else None
    return None if held is None else held[0]


def draw_bits(like: AclArray, count: Sequence[int], p: float) -> AclArray:
    """Draw a bit for each element of a shape, which holds with probability ``1 - p``, on the device of ``like``."""
    numel = prod(count)
    bits = allocate_result(contiguous((-(-numel // _BITS) * _BITS // 8,), ScalarType.Byte))
    launch("aclnnDropoutGenMask", count, p, *take_offset(like, numel=numel), bits)
    return bits


def _forward(input: AclArray, p: float, train: bool | None) -> tuple[AclArray, AclArray]:
    if train is False or not 0 <= p <= 1 or not input.spec.numel or input.spec.dtype not in _TAKEN:
        forbid_collecting()
        found: tuple[AclArray, AclArray] = compose("native_dropout", input, p, train)
        return found
    spec, mask_spec = _forward_rule(input, p, train)
    out = allocate_result(spec)
    bits = draw_bits(out, spec.shape or (1,), p)
    launch("aclnnDropoutDoMask", input, bits, p, out)
    return out, array_in(MaskBlock(mask_spec, bits, p), mask_spec)


def _backward(grad_output: AclArray, mask: AclArray, scale: float) -> AclArray:
    p = mask.block.p if isinstance(mask.block, MaskBlock) else 1.0
    bits = bits_of(mask, p) if p < 1 and scale == 1 / (1 - p) else None
    if bits is None or grad_output.spec.shape != mask.spec.shape or grad_output.spec.dtype not in _TAKEN:
        found: AclArray = compose("native_dropout_backward", grad_output, mask, scale)
        return found
    grad = allocate_result(_backward_rule(grad_output, mask, scale))
    launch("aclnnDropoutDoMask", grad_output, bits, p, grad)
    return grad


KERNELS: Final[dict[str, Callable[..., Any]]] = {"native_dropout": _forward, "native_dropout_backward": _backward}
