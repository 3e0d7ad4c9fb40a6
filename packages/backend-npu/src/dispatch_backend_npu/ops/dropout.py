"""Dropout by a mask of bits, which becomes an array of truth values only where a program reads it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import TensorMeta, cached_rule, contiguous

from ..aclnn.calls import nbytes_of
from ..aclnn.composition import compose
from ..aclnn.launch import allocate_result, forbid_collecting, launch
from ..arrays import AclArray, allocate_array
from ..runtime.allocator import MemoryBlock
from ..runtime.device import guard
from ..runtime.stream import Stream, current
from .random import take_offset

_forward_rule: Final = cached_rule("native_dropout")
_backward_rule: Final = cached_rule("native_dropout_backward")
_TAKEN: Final = (ScalarType.Float, ScalarType.Half, ScalarType.BFloat16)
#: The bits of a mask are a multiple of it.
_BITS: Final = 128


class MaskBlock(MemoryBlock):
    """The memory of a mask that is kept as bits until its address is asked for, as every reader but dropout does."""

    __slots__ = ("_bits", "_lock", "_spec", "_values", "p")

    def __init__(self, spec: TensorMeta, bits: AclArray, p: float) -> None:
        self._spec, self.p = spec, p
        self.nbytes = nbytes_of(spec)
        #: The bits, in the order of the elements; None where the truth values have their place.
        self._bits: AclArray | None = bits
        self._values: MemoryBlock | None = None
        self._lock = Lock()

    def __del__(self) -> None:
        """Free nothing: the arrays of bits and of values do."""

    @property
    def _held(self) -> MemoryBlock:
        held = self._values if self._bits is None else self._bits.block
        assert held is not None
        return held

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self._held.size

    @property
    def device(self) -> int:
        """The number of the device."""
        return self._held.device

    @property
    def pointer(self) -> int:  # type: ignore[override]  # a slot of the class above
        """The address of the truth values, which are made at its first use."""
        with self._lock:
            if self._bits is not None:
                self._values = self._expand(self._bits)
                self._bits = None
        return self._held.pointer

    def _expand(self, bits: AclArray) -> MemoryBlock:
        with guard(self.device):
            bits.block.record_stream(current())
            ones, kept = (allocate_array(contiguous(self._spec.shape, ScalarType.Half)) for _ in range(2))
            launch("aclnnInplaceOne", ones)
            launch("aclnnDropoutDoMask", ones, bits, self.p, kept)
            values = allocate_array(self._spec)
            launch("aclnnCast", kept, ScalarType.Bool, values)
        return values.block

    @property
    def spec(self) -> TensorMeta:
        """The description of the truth values."""
        return self._spec

    @property
    def bits(self) -> AclArray | None:
        """The bits; None where they have become truth values."""
        return self._bits

    def bits_of(self, mask: AclArray, scale: float) -> AclArray | None:
        """Return the bits of a mask in this memory, where they serve to multiply by it and by ``scale``."""
        is_whole = mask.spec == self._spec and not mask.storage_offset
        return self._bits if is_whole and self.p < 1 and scale == 1 / (1 - self.p) else None

    def record_stream(self, stream: Stream) -> None:
        """Declare that a stream works with this memory."""
        with self._lock:
            self._held.record_stream(stream)


def _forward(input: AclArray, p: float, train: bool | None) -> tuple[AclArray, AclArray]:
    if train is False or not 0 <= p <= 1 or not input.spec.numel or input.spec.dtype not in _TAKEN:
        forbid_collecting()
        found: tuple[AclArray, AclArray] = compose("native_dropout", input, p, train)
        return found
    spec, mask_spec = _forward_rule(input, p, train)
    out = allocate_result(spec)
    bits = allocate_result(contiguous((-(-spec.numel // _BITS) * _BITS // 8,), ScalarType.Byte))
    launch("aclnnDropoutGenMask", spec.shape or (1,), p, *take_offset(out), bits)
    launch("aclnnDropoutDoMask", input, bits, p, out)
    mask: Any = object.__new__(AclArray)
    mask.block, mask.spec, mask.storage_offset = MaskBlock(mask_spec, bits, p), mask_spec, 0
    return out, mask


def _backward(grad_output: AclArray, mask: AclArray, scale: float) -> AclArray:
    kept = mask.block if isinstance(mask.block, MaskBlock) else None
    bits = None if kept is None else kept.bits_of(mask, scale)
    if (
        kept is None
        or bits is None
        or grad_output.spec.shape != mask.spec.shape
        or grad_output.spec.dtype not in _TAKEN
    ):
        forbid_collecting()
        found: AclArray = compose("native_dropout_backward", grad_output, mask, scale)
        return found
    grad = allocate_result(_backward_rule(grad_output, mask, scale))
    launch("aclnnDropoutDoMask", grad_output, bits, kept.p, grad)
    return grad


KERNELS: Final[dict[str, Callable[..., Any]]] = {"native_dropout": _forward, "native_dropout_backward": _backward}
