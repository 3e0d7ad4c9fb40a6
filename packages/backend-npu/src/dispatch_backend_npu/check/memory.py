"""Trying device memory: sizes, the gaps that the toolkit needs, copies, more than there is."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..acl.errors import OutOfMemoryError
from ..aclnn.dtypes import supports
from ..aclnn.launch import launch
from ..arrays import allocate_array
from ..runtime import allocate, memory, stream
from ..runtime.allocator import mem_get_info, memory_stats
from ..runtime.device import chip

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Sizes about the alignment of blocks, the usual ones of tensors, and some beyond the pieces that the allocator carves.
SIZES: Final = (1, 31, 32, 33, 511, 512, 513, 4096, 65536, 262144, 262145, 1 << 20, (1 << 21) + 1, 5 << 20)
#: The bytes after each block that kernels may read and write.
GAP: Final = 32
_ALIGNMENT: Final = 32


def _bytes(size: int, seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng(seed + size).integers(0, 256, size, np.uint8)


def _expect(found: NDArray[Any], expected: NDArray[Any], what: str) -> None:
    differ = np.flatnonzero(found != expected)
    if differ.size:
        first = int(differ[0])
        values = f"{found[first]} for {expected[first]}"
        raise AssertionError(f"{what}: {differ.size} of {expected.size} differ, the first at {first}: {values}")


def check_blocks() -> str:
    """Allocate blocks of many sizes, each twice, and check that they are aligned and lie apart."""
    blocks = [allocate(size) for size in SIZES for _ in range(2)]
    for block in blocks:
        if block.pointer % _ALIGNMENT:
            raise AssertionError(f"a block of {block.nbytes} bytes is not aligned to {_ALIGNMENT} bytes")
    ordered = sorted(blocks, key=lambda block: block.pointer)
    for one, other in pairwise(ordered):
        apart = other.pointer - one.pointer - one.nbytes
        if apart < GAP:
            raise AssertionError(
                f"{apart} bytes lie between a block of {one.nbytes} bytes and the next, where kernels need {GAP}"
            )
    return f"{len(blocks)} blocks"


def check_copies() -> str:
    """Copy bytes to the device and back, in blocks that lie beside each other."""
    for size in SIZES:
        sent = [_bytes(size, seed) for seed in (1, 2, 3)]
        blocks = [allocate(size) for _ in sent]
        for block, values in zip(blocks, sent, strict=True):
            memory.copy_to_device(values, block.pointer)
        for block, values in zip(blocks, sent, strict=True):
            _expect(memory.copy_to_host(block.pointer, size), values, f"{size} bytes to the device and back")
    return f"{len(SIZES)} sizes"


def check_pinned_copies() -> str:
    """Copy by a stream between pinned memory and the device."""
    current = stream.current()
    for size in SIZES:
        values, block = _bytes(size), allocate(size)
        source, target = memory.allocate_pinned(size), memory.allocate_pinned(size)
        source.array()[:], target.array()[:] = values, 0
        memory.copy_to_device(source, block.pointer, current)
        found = memory.copy_to_host(block.pointer, size, target, current)
        current.synchronize()
        _expect(found, values, f"{size} bytes of pinned memory to the device and back")
    return f"{len(SIZES)} sizes"


def check_copies_on_device() -> str:
    """Copy and fill memory on the device."""
    for size in SIZES:
        values, one, other = _bytes(size), allocate(size), allocate(size)
        memory.copy_to_device(values, one.pointer)
        memory.copy_on_device(other.pointer, one.pointer, size)
        memory.fill(one.pointer, size, 165)
        _expect(memory.copy_to_host(other.pointer, size), values, f"{size} bytes copied on the device")
        _expect(memory.copy_to_host(one.pointer, size), np.full(size, 165, np.uint8), f"{size} bytes filled")
    return f"{len(SIZES)} sizes"


def check_neighbours() -> str:
    """Run an operator on blocks, and check that it leaves the bytes of their neighbours as they are."""
    from dispatch_aten.dtypes import ScalarType
    from dispatch_aten.shapes import TensorMeta

    if not supports("aclnnInplaceFillScalar", chip().family):
        return "this chip has no function that fills"
    counts = (1, 7, 8, 9, 127, 128, 129, 1023, 1025, 65535)
    for count in counts:
        spec = TensorMeta((count,), (1,), ScalarType.Float)
        arrays = [allocate_array(spec) for _ in range(3)]
        for array in arrays:
            memory.fill(array.block.pointer, array.block.nbytes, 165)
        launch("aclnnInplaceFillScalar", arrays[1], 1.5)
        values = memory.copy_to_host(arrays[1].block.pointer, 4 * count).view(np.float32)
        _expect(values, np.full(count, 1.5, np.float32), f"{count} elements filled by an operator")
        for array in (arrays[0], arrays[2]):
            found = memory.copy_to_host(array.block.pointer, 4 * count)
            _expect(found, np.full(4 * count, 165, np.uint8), f"beside {count} elements that an operator filled")
    return f"{len(counts)} sizes"


def check_room() -> str:
    """Ask for more memory than the device has, and go on afterwards."""
    free, total = mem_get_info()
    if not 0 < free <= total:
        raise AssertionError(f"the device says that {free} of {total} bytes are free")
    try:
        allocate(2 * total)
    except OutOfMemoryError:
        check_copies()
        return f"{total / 2**30:.1f} GiB, {free / 2**30:.1f} GiB free"
    raise AssertionError(f"a block of {2 * total} bytes was allocated, and the device has {total}")


def check_reuse() -> str:
    """Check that the memory of a block that is gone is used again."""
    pointer = allocate(4096).pointer
    again = allocate(4096).pointer
    if pointer != again:
        raise AssertionError("the memory of a block that is gone was not used again")
    reserved = memory_stats()["reserved_bytes.all.current"]
    return f"{reserved / 2**20:.1f} MiB reserved"


CHECKS: Final = {
    "blocks": check_blocks,
    "copies": check_copies,
    "pinned copies": check_pinned_copies,
    "copies on the device": check_copies_on_device,
    "neighbours of an operator's block": check_neighbours,
    "reuse": check_reuse,
    "more than there is": check_room,
}
"""The checks of memory by their names."""
