"""Our own files: the safetensors format, with the structure as JSON among the metadata.

Note [Shared memory in files]
    Tensors whose memory overlaps are views of an entry of bytes, the memory that they span. A tensor that shares with no
    other is an entry of its own, which every reader of safetensors understands. On the cpu addresses tell overlaps, on
    devices with strides the storage. Where arrays have no strides, the views of one tensor share; their strides are those
    of the same views of an array on the meta device.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dispatch_aten.dtypes import BY_NAME, ScalarType
from dispatch_aten.shapes import contiguous_strides, is_contiguous
from dispatch_core.escapes import to_printable

from ..creation.factories import FACTORIES
from ..nn.parameter import Parameter
from ..tensors.arrays import read_elements
from ..tensors.mesh_places import describe_place, fill_place, put_in_place
from ..tensors.tensor import Tensor, frontend
from ..values.layouts import refuse_layout
from .arrays import LARGEST_ALIGNMENT, FileStorage, Placed, check_numbers, complete, find_dtype, finish, numpy_dtype
from .locations import Locator
from .memory import find_place
from .refusals import refuse
from .safetensors_format import PLAIN, ReadEntry, WrittenEntry, read_header, write_header
from .sources import Bytes, Source, as_bytes
from .structure import Decoder, Encoder

_FORMAT: Final = "torchlike.2"


class FileContent:
    """The content of a file: everything but the elements is known, and checked, before the first part.

    Raises ``TypeError`` for values that are not data.
    """

    def __init__(self, obj: Any) -> None:
        #: Every tensor and array.
        self._found: list[_Saved] = []
        #: The keys of memory on devices → their numbers; 0 is the cpu's.
        self._memories: dict[Any, int] = {}
        self._entries: dict[str, WrittenEntry] = {}
        self._makers: dict[str, Callable[[], Bytes]] = {}
        structure = Encoder(self._describe).encode(obj)
        self._make_entries()
        text = json.dumps(structure, allow_nan=False, separators=(",", ":"))
        self._header, self._names = write_header(self._entries, {"format": _FORMAT, "structure": text})

    def parts(self) -> Iterator[memoryview]:
        """Yield the file's parts in their order; see Note [Memory of load and save] in `.sources`."""
        yield memoryview(self._header)
        for name in self._names:
            yield self._makers[name]().data

    def _describe(self, value: Any, place: str) -> dict[str, Any]:
        """Return the node of a tensor or an array, to be completed when all are known."""
        if not isinstance(value, Tensor):
            array = np.asarray(value)
            if array.dtype.name not in PLAIN and array.dtype.kind != "c":
                raise TypeError(f"save() cannot write {place or 'the value'}, an array of dtype {array.dtype}")
            node: dict[str, Any] = {
                "ndarray" if isinstance(value, np.ndarray) else "scalar": "",
                "dtype": array.dtype.name,
            }
            self._found.append(_Saved.of_array(node, array, place))
            return node
        refuse_layout(value, "save()")
        node = {"tensor": "", "dtype": value.dtype.short}
        if isinstance(value, Parameter):
            node["parameter"] = True
        if value.requires_grad:
            node["requires_grad"] = True
        if value.is_cpu:
            self._found.append(_Saved.of_array(node, read_elements(value), place))
            return node
        node["device"] = str(value.device)
        if value.is_meta:
            return node | {"shape": list(value.shape), "stride": list(value.stride())}
        if (lies := describe_place(value)) is not None:
            node["place"] = lies
        # Arrays of devices may share the host's memory though their tensors do not.
        key, offset, steps = find_place(value) or (("alone", id(value)), 0, contiguous_strides(tuple(value.shape)))
        number = self._memories.setdefault(key, len(self._memories) + 1)
        kind = numpy_dtype(value.dtype)
        read = functools.partial(read_elements, value)
        self._found.append(
            _Saved(node, read, kind, tuple(value.shape), tuple(steps), place, number, offset * kind.itemsize)
        )
        return node

    def _make_entries(self) -> None:
        spans = [(each.memory, each.low, each.high) for each in self._found]
        groups: list[list[int]] = []
        before = end = -1
        for number in sorted(range(len(spans)), key=spans.__getitem__):
            memory, low, high = spans[number]
            if memory != before:
                before, end = memory, -1
            if low < end and high > low:
                groups[-1].append(number)
            else:
                groups.append([number])
            end = max(end, high)
        # In the order in which they were met.
        for numbers in sorted(map(sorted, groups)):
            if len(numbers) == 1:
                self._add_alone(self._found[numbers[0]])
            else:
                self._add_shared([self._found[number] for number in numbers])

    def _add(self, place: str, entry: WrittenEntry, make: Callable[[], Bytes]) -> str:
        """Add an entry that is named after the place of its tensor; return its name."""
        place = place or "tensor"
        name, number = place, 1
        while name in self._entries or name == "__metadata__":
            number += 1
            name = f"{place}#{number}"
        self._entries[name], self._makers[name] = entry, make
        return name

    def _add_alone(self, saved: _Saved) -> None:
        node, shape = saved.node, saved.shape
        # Elements in the order of memory, where there are no gaps: strides are kept.
        order = sorted(range(len(shape)), key=lambda dim: -abs(saved.steps[dim]))
        turned = tuple(shape[dim] for dim in order)
        is_turned = order != list(range(len(shape))) and is_contiguous(turned, tuple(saved.steps[dim] for dim in order))
        is_turned = is_turned and 0 not in shape

        def make() -> Bytes:
            array = saved.read()
            return as_bytes(array.transpose(order) if is_turned else array)

        if is_turned:
            node["order"] = order
        if saved.kind.name in PLAIN:
            entry = WrittenEntry(
                PLAIN[saved.kind.name], turned if is_turned else shape, saved.nbytes, saved.kind.itemsize
            )
        else:
            node["shape"] = list(turned if is_turned else shape)
            entry = WrittenEntry("U8", (saved.nbytes,), saved.nbytes, saved.kind.itemsize)
        node[next(iter(node))] = self._add(saved.place, entry, make)

    def _add_shared(self, group: list[_Saved]) -> None:
        start, end = min(each.low for each in group), max(each.high for each in group)
        # Whole elements of every dtype, so that `load` can show the memory as each of them.
        widest = max(each.kind.itemsize for each in group)
        start, end = start - start % widest, end + -end % widest

        def make() -> Bytes:
            for each in group:
                if (each.low, each.high) == (start, end) and is_contiguous(each.shape, each.steps):
                    return as_bytes(each.read())
            storage = np.zeros(end - start, np.uint8)
            for each in group:
                if each.nbytes:
                    strides = [step * each.kind.itemsize for step in each.steps]
                    np.ndarray(each.shape, each.kind, storage.data, each.low - start, strides)[...] = each.read()
            return storage

        name = self._add(group[0].place, WrittenEntry("U8", (end - start,), end - start, widest), make)
        for each in group:
            each.node[next(iter(each.node))] = name
            each.node["shape"], each.node["offset"] = list(each.shape), each.low - start
            each.node["stride"] = list(each.steps)


class _Saved(NamedTuple):
    """A tensor or array: its node, its elements when they are asked for, where it was met, where it lies in which memory."""

    node: dict[str, Any]
    read: Callable[[], np.ndarray[Any, Any]]
    kind: np.dtype[Any]
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    place: str
    memory: int
    low: int

    @classmethod
    def of_array(cls, node: dict[str, Any], array: np.ndarray[Any, Any], place: str) -> _Saved:
        """Return an array of the host, which is held."""
        steps = tuple(step // array.itemsize for step in array.strides)
        address: int = array.__array_interface__["data"][0]
        return cls(node, lambda: array, array.dtype, array.shape, steps, place, 0, address)

    @property
    def nbytes(self) -> int:
        """How many bytes its elements are."""
        return math.prod(self.shape) * self.kind.itemsize

    @property
    def high(self) -> int:
        """Where the byte after the last one lies."""
        if not self.nbytes:
            return self.low
        last = sum((count - 1) * step for count, step in zip(self.shape, self.steps, strict=True))
        return self.low + (last + 1) * self.kind.itemsize


def read_file(source: Source, locate: Locator) -> Any:
    """Return the structure of a file, or a dict of tensors for one without; ``ValueError`` for one of another format."""
    # A safetensors file may begin with any byte: the length of its header, which begins with a brace.
    if source.starts_with(b"\x80") and (source.end - source.start < 9 or source.read(source.start + 8, 1) != b"{"):
        raise ValueError(
            f"{to_printable(source.name)} is a pickle, which may hold code; the files of torch.save can be read"
        )
    try:
        entries, metadata = read_header(source)
        if metadata.get("format") != _FORMAT:
            device = locate("cpu")
            return {name: finish(_read_plain(source, entry), False, False, device) for name, entry in entries.items()}
        reader = _FileReader(source, entries, locate)
        return Decoder(reader.make).decode(json.loads(metadata["structure"]))
    except Exception as error:  # noqa: BLE001  # whatever a wrong file leads to
        refuse(error, source.name, f"is not a safetensors file, nor one of torch.save{_describe(source)}", locate.error)


def _describe(source: Source) -> str:
    """Return the first bytes of a file that has no header, as a page or a text instead of the wanted file."""
    size = source.end - source.start
    if size < 9 or source.read(source.start + 8, 1) != b"{":
        return f" ({f'it begins with {source.read(source.start, min(size, 16))!r}' if size else 'it is empty'})"
    return ""


def _read_plain(source: Source, entry: ReadEntry) -> np.ndarray[Any, Any]:
    kind = numpy_dtype(BY_NAME[entry.dtype])
    return source.take(entry.place, entry.nbytes, alignment=kind.alignment).view(kind).reshape(entry.shape)


def _cut(array: np.ndarray[Any, Any], start: Sequence[int], shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return a copy of a part of an array: a device may go on using its memory."""
    return array[tuple(slice(begin, begin + size) for begin, size in zip(start, shape, strict=True))].copy()


class _FileReader:
    """Makes tensors and arrays of a file's entries."""

    def __init__(self, source: Source, entries: dict[str, ReadEntry], locate: Locator) -> None:
        self._source, self._entries = source, entries
        self._locate, self._placed = locate, Placed()
        self._storages: dict[str, FileStorage] = {}
        #: The entries of one tensor that were read: a file that names one a thousand times takes no thousandfold memory.
        self._alone: set[str] = set()

    def make(self, node: dict[str, Any]) -> Any:
        """Return the tensor or array of a node."""
        kind, name = next(iter(node.items()))
        if kind not in ("tensor", "ndarray", "scalar"):
            raise ValueError(f"{kind!r} is no kind of value")
        dtype = find_dtype(node["dtype"])
        if node.get("device") == "meta":
            shape = check_numbers(node["shape"], "shape")
            # Files of earlier versions have no strides.
            strides = check_numbers(node["stride"], "stride") if "stride" in node else contiguous_strides(shape)
            made = FACTORIES["empty_strided"](shape, strides, dtype=dtype, device="meta")
            return Parameter(made, bool(node.get("requires_grad"))) if node.get("parameter") else made
        if "offset" in node:
            if kind == "tensor":
                made = self._placed.make(self._find_storage(name), dtype, node, self._locate)
                if "place" in node:
                    put_in_place(made, node["place"])
                return made
            array = self._placed.view(self._find_storage(name), dtype, node)
        else:
            array = self._read(name, dtype, node)
        if kind == "ndarray":
            return array
        if kind == "scalar":
            return array[()]
        device = self._locate(node.get("device", "cpu"))
        if "place" in node:
            lying = fill_place(device, array.shape, node["place"], functools.partial(_cut, array))
            if lying is not None:
                return complete(frontend.wrap(lying), bool(node.get("requires_grad")), bool(node.get("parameter")))
        return finish(array, bool(node.get("requires_grad")), bool(node.get("parameter")), device)

    def _find_storage(self, name: str) -> FileStorage:
        """Return the storage of an entry, which is one for all tensors in it."""
        if name not in self._storages:
            entry = self._entries[name]
            if entry.dtype != "uint8" or len(entry.shape) != 1:
                raise ValueError(f"{name!r} is not a storage")
            take = functools.partial(self._source.take, entry.place, entry.nbytes, alignment=LARGEST_ALIGNMENT)
            self._storages[name] = FileStorage(entry.nbytes, take)
        return self._storages[name]

    def _read(self, name: str, dtype: ScalarType, node: dict[str, Any]) -> np.ndarray[Any, Any]:
        """Return the array of an entry of its own."""
        entry, kind = self._entries[name], numpy_dtype(dtype)
        shape = check_numbers(node["shape"], "shape") if "shape" in node else entry.shape
        if ("shape" not in node and entry.dtype != dtype.short) or math.prod(shape) * kind.itemsize != entry.nbytes:
            raise ValueError(f"{name!r} has another dtype or size")
        order = check_numbers(node["order"], "order") if "order" in node else range(len(shape))
        if sorted(order) != list(range(len(shape))):
            raise ValueError(f"{name!r} has another order")
        if name in self._alone:
            raise ValueError(f"{name!r} is the entry of one tensor, and of another one")
        self._alone.add(name)
        array = self._source.take(entry.place, entry.nbytes, alignment=kind.alignment).view(kind).reshape(shape)
        return array.transpose(np.argsort(order)) if "order" in node else array
