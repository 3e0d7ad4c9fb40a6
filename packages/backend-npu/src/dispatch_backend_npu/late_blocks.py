"""Memory of results that few programs read: its contents are made of other arrays when its address is first asked for."""

from __future__ import annotations

from threading import Lock

from dispatch_aten.shapes import TensorMeta

from .aclnn.calls import nbytes_of
from .arrays import AclArray, allocate_array
from .runtime.allocator import MemoryBlock
from .runtime.device import guard
from .runtime.stream import Stream, current


class LateBlock(MemoryBlock):
    """The memory of an array as ``spec`` describes it, which holds other arrays until its address is asked for."""

    __slots__ = ("_held", "_lock", "_spec", "_values")

    def __init__(self, spec: TensorMeta, held: tuple[AclArray, ...]) -> None:
        self._spec = spec
        self.nbytes = nbytes_of(spec)
        #: The other arrays; None where the contents have been made.
        self._held: tuple[AclArray, ...] | None = held
        self._values: MemoryBlock | None = None
        self._lock = Lock()

    def __del__(self) -> None:
        """Free nothing: the arrays do."""

    @property
    def spec(self) -> TensorMeta:
        """The description of the contents."""
        return self._spec

    @property
    def held(self) -> tuple[AclArray, ...] | None:
        """The other arrays; None where the contents have been made of them."""
        return self._held

    def fill(self, values: AclArray, *held: AclArray) -> None:
        """Write the contents, made of the arrays that are held."""
        raise NotImplementedError

    def held_for(self, array: AclArray) -> tuple[AclArray, ...] | None:
        """Return the arrays that are held, where ``array`` is the whole one of this memory."""
        return self._held if array.spec == self._spec and not array.storage_offset else None

    def _blocks(self) -> list[MemoryBlock]:
        if self._values is not None:
            return [self._values]
        assert self._held is not None
        return [each.block for each in self._held]

    @property
    def size(self) -> int:
        """The size in bytes."""
        return sum(each.size for each in self._blocks())

    @property
    def device(self) -> int:
        """The number of the device."""
        return self._blocks()[0].device

    @property
    def pointer(self) -> int:  # type: ignore[override]  # a slot of the class above
        """The address of the contents, which are made at its first use."""
        with self._lock:
            if self._held is not None:
                with guard(self.device):
                    for each in self._held:
                        each.block.record_stream(current())
                    values = allocate_array(self._spec)
                    self.fill(values, *self._held)
                self._values, self._held = values.block, None
        assert self._values is not None
        return self._values.pointer

    def record_stream(self, stream: Stream) -> None:
        """Declare that a stream works with this memory."""
        with self._lock:
            for each in self._blocks():
                each.record_stream(stream)
