"""The numbers of a graph that each run brings, in memory of the device.

Note [Numbers of graphs]
    A captured model holds every number that a function got. So a number that changes is an element of a tensor, and the
    function is one that takes it as such (``aclnn.tensor_forms``). A run writes its numbers to pinned memory, each in the
    dtype that the call computes in, and copies them to the graph by one copy. They are rounded as the simulator rounds the
    host's, so that results have the same bits; on a chip a function may keep a number in more bits than its 16-bit tensors.

    Functions that draw random numbers read seed and offset from there. A graph takes as many numbers from a generator as its
    functions do one by one, and the number of those that were drawn before is a part of each call.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from dispatch_aten.dtypes import ScalarType
from dispatch_aten.generator import Generator, hold_engine
from dispatch_aten.shapes import TensorMeta, contiguous
from dispatch_core import Device

from ..aclnn.launch import LateDraw
from ..arrays import AclArray, array_in
from ..runtime import allocator, memory
from ..runtime.stream import Stream

#: Where numbers begin; the toolkit asks for 32 bytes.
_SLOT: Final = 32
_WORDS: Final = 4
_MASK: Final = (1 << 64) - 1


def single(number: float) -> float:
    """Return a number as a float of C.

    >>> single(0.1)
    0.10000000149011612
    """
    return ctypes.c_float(number).value


def _half(number: float) -> int:
    """Return the bits of a number as float16."""
    number = single(number)
    try:
        return int.from_bytes(struct.pack("<e", number), "little")
    except OverflowError:
        return 0xFC00 if number < 0 else 0x7C00


def _bfloat(number: float) -> int:
    """Return the bits of a number as bfloat16: the upper half of a float's, rounded to the nearest, to even in between."""
    bits = int.from_bytes(struct.pack("<f", single(number)), "little")
    if bits & 0x7FFFFFFF > 0x7F800000:
        return bits >> 16 | 0x40
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


#: Dtype → the C type that is written, and the function that makes its value.
_WRITERS: Final[dict[ScalarType, tuple[Any, Callable[[Any], Any]]]] = {
    ScalarType.Float: (ctypes.c_float, float),
    ScalarType.Double: (ctypes.c_double, float),
    ScalarType.Half: (ctypes.c_uint16, _half),
    ScalarType.BFloat16: (ctypes.c_uint16, _bfloat),
    ScalarType.Long: (ctypes.c_uint64, int),
}
FLOATS: Final = frozenset(_WRITERS) - {ScalarType.Long}
"""The dtypes of numbers that a call computes with."""


class LateNumber:
    """A number that each run brings: its tensor's index and dtype, and the function that gives it for a run's values."""

    __slots__ = ("dtype", "index", "read")

    def __init__(self, index: int, dtype: ScalarType, read: Callable[[list[Any]], Any]) -> None:
        self.index, self.dtype, self.read = index, dtype, read

    @property
    def spec(self) -> TensorMeta:
        """The description of its tensor: seeds have one element in one dimension."""
        return contiguous((1,) if self.dtype is ScalarType.Long else (), self.dtype)


class Draws:
    """The numbers that the functions of a graph draw from one generator."""

    def __init__(self, generator: Generator | None, seed: LateNumber, offset: LateNumber) -> None:
        self.generator, self.seed, self.offset = generator, seed, offset
        self.count = 0

    def add(self, draw: LateDraw) -> int:
        """Count the numbers of another function; return how many were drawn before."""
        before = self.count
        self.count += -(-draw.count // _WORDS) * _WORDS
        return before


class NumberBlock:
    """The numbers of one graph, in pinned memory of the host and in memory of the device."""

    def __init__(self, numbers: Sequence[LateNumber], draws: Sequence[Draws]) -> None:
        self._draws = draws
        size = len(numbers) * _SLOT
        self._host = memory.allocate_pinned(size)
        self._block = allocator.allocate(size)
        #: Index and tensor of each number.
        self.arrays: list[tuple[int, AclArray]] = []
        places: dict[int, Any] = {}
        for position, number in enumerate(numbers):
            start = position * _SLOT // number.dtype.itemsize
            self.arrays.append((number.index, array_in(self._block, number.spec, start)))
            kind, convert = _WRITERS[number.dtype]
            places[number.index] = kind.from_address(self._host.pointer + position * _SLOT), number.read, convert
        drawn = {each.index for draw in draws for each in (draw.seed, draw.offset)}
        self._fields = [place for index, place in places.items() if index not in drawn]
        self._seeds = [(draw, places[draw.seed.index][0], places[draw.offset.index][0]) for draw in draws]

    def send(self, values: list[Any], stream: Stream) -> None:
        """Write the numbers of a run, and queue their copy to the device."""
        for field, read, convert in self._fields:
            field.value = convert(read(values))
        for draw, seed, offset in self._seeds:
            with hold_engine(Device("npu", stream.device), draw.generator) as engine:
                seed.value, offset.value = engine.take(draw.count)
        memory.copy_to_device(self._host, self._block.pointer, stream)
