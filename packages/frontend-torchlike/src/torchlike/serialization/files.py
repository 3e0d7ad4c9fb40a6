"""Our own files: the safetensors format, with the structure as JSON among the metadata.

Note [Shared memory in files]
    Tensors whose memory overlaps are views of an entry of bytes, the memory that they span. A tensor that shares with no
    other is an entry of its own, which every reader of safetensors understands. On the cpu addresses say what overlaps, on
    devices with strides the storage. Where arrays have no strides, the views of one tensor share; their strides are those
    of the same views of an array on the meta device.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dispatch_core.escapes import to_printable

from ..creation import FACTORIES
from ..interop import read_elements
from ..layouts import refuse_layout
from ..nn.parameter import Parameter
from ..tensors import Tensor
from .arrays import Placed, check_numbers, find_dtype, finish, numpy_dtype, view_storage
from .locations import Locator
from .memory import find_place
from .refusals import refuse
from .structure import Decoder, Encoder

__all__ = ["read_file", "write_file"]

_FORMAT: Final = "torchlike.2"
#: The kinds of NumPy's dtypes that safetensors has.
_PLAIN: Final = frozenset("bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64".split())


class _FileWriter:
    """Collects the arrays of a structure."""

    def __init__(self) -> None:
        #: Every tensor and array.
        self._found: list[_Saved] = []
        #: The keys of memory on devices → their numbers; 0 is the cpu's.
        self._memories: dict[Any, int] = {}
        self.entries: dict[str, np.ndarray[Any, Any]] = {}

    def describe(self, value: Any, place: str) -> dict[str, Any]:
        """Return the node of a tensor or an array, to be completed when all are known."""
        if isinstance(value, Tensor):
            refuse_layout(value, "save()")
            node: dict[str, Any] = {"tensor": "", "dtype": value.dtype.short}
            if isinstance(value, Parameter):
                node["parameter"] = True
            if value.requires_grad:
                node["requires_grad"] = True
            if not value.is_cpu:
                node["device"] = str(value.device)
            if value.is_meta:
                node |= {"shape": list(value.shape)}
                return node
            array = read_elements(value)
        else:
            array = np.asarray(value)
            if array.dtype.name not in _PLAIN and array.dtype.kind != "c":
                raise TypeError(f"save() cannot write {place or 'the value'}, an array of dtype {array.dtype}")
            node = {"ndarray" if isinstance(value, np.ndarray) else "scalar": "", "dtype": array.dtype.name}
        steps: Sequence[int]
        number, low, steps = 0, array.__array_interface__["data"][0], [step // array.itemsize for step in array.strides]
        if isinstance(value, Tensor) and not value.is_cpu:
            # Arrays of devices may share the host's memory though their tensors do not.
            key, offset, steps = find_place(value) or (("alone", id(value)), 0, steps)
            number, low = self._memories.setdefault(key, len(self._memories) + 1), offset * array.itemsize
        self._found.append(_Saved(node, array, place or "tensor", number, low, steps))
        return node

    def finish(self) -> None:
        """Make the entries."""
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
                alone = self._found[numbers[0]]
                self._write_alone(alone.node, alone.array, alone.place)
            else:
                self._write_shared([self._found[number] for number in numbers])

    def _name(self, place: str) -> str:
        name, number = place, 1
        while name in self.entries or name == "__metadata__":
            number += 1
            name = f"{place}#{number}"
        return name

    def _write_alone(self, node: dict[str, Any], array: np.ndarray[Any, Any], place: str) -> None:
        kind = next(iter(node))
        name = node[kind] = self._name(place)
        # Elements in the order of memory, where there are no gaps: strides are kept.
        order = sorted(range(array.ndim), key=lambda dim: -abs(array.strides[dim]))
        turned = array.transpose(order)
        if order != list(range(array.ndim)) and turned.flags.c_contiguous and array.size:
            node["order"] = order
            array = turned
        if array.dtype.name in _PLAIN:
            self.entries[name] = np.ascontiguousarray(array).reshape(array.shape)
        else:
            node["shape"] = list(array.shape)
            self.entries[name] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)

    def _write_shared(self, group: list[_Saved]) -> None:
        start, end = min(each.low for each in group), max(each.high for each in group)
        # Whole elements of every dtype, so that `load` can show the memory as each of them.
        widest = max(each.array.itemsize for each in group)
        start, end = start - start % widest, end + -end % widest
        name = self._name(group[0].place)
        storage = np.zeros(end - start, np.uint8)
        for each in group:
            node, array = each.node, each.array
            node[next(iter(node))] = name
            node["shape"], node["offset"], node["stride"] = list(array.shape), each.low - start, list(each.steps)
            strides = [step * array.itemsize for step in each.steps]
            view = np.ndarray(array.shape, array.dtype, storage.data, each.low - start, strides)
            if array.size:
                view[...] = array
        self.entries[name] = storage


class _Saved(NamedTuple):
    """A tensor or array: its node, its elements, the name that its entry is to have, and where it lies in which memory."""

    node: dict[str, Any]
    array: np.ndarray[Any, Any]
    place: str
    memory: int
    low: int
    steps: Sequence[int]

    @property
    def high(self) -> int:
        """Where the byte after the last one lies."""
        if not self.array.size:
            return self.low
        last = sum((count - 1) * step for count, step in zip(self.array.shape, self.steps, strict=True))
        return self.low + (last + 1) * self.array.itemsize


def write_file(obj: Any) -> bytes:
    """Return the content of a file; raises ``TypeError`` for what is no data."""
    from safetensors.numpy import save

    writer = _FileWriter()
    structure = Encoder(writer.describe).encode(obj)
    writer.finish()
    text = json.dumps(structure, allow_nan=False, separators=(",", ":"))
    return bytes(save(writer.entries, metadata={"format": _FORMAT, "structure": text}))


def read_file(data: bytes, name: str, locate: Locator) -> Any:
    """Return the structure of a file, or a dict of tensors for one without; ``ValueError`` for one of another format."""
    from safetensors.numpy import load

    # A safetensors file may begin with any byte: the length of its header, which begins with a brace.
    if data[:1] == b"\x80" and data[8:9] != b"{":
        raise ValueError(
            f"{to_printable(name)} is a pickle, which may hold code; the zip files of torch.save can be read"
        )
    try:
        arrays = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        text = header.get("__metadata__", {}).get("structure")
        if header.get("__metadata__", {}).get("format") != _FORMAT:
            return {key: finish(array.copy(), False, False, locate("cpu")) for key, array in arrays.items()}
        reader = _FileReader(arrays, locate)
        return Decoder(reader.make).decode(json.loads(text))
    except Exception as error:  # noqa: BLE001  # whatever a wrong file leads to
        refuse(error, name, "is no safetensors file", locate.error)


class _FileReader:
    """Makes tensors and arrays of a file's entries."""

    def __init__(self, arrays: dict[str, np.ndarray[Any, Any]], locate: Locator) -> None:
        # Copies: the reader's arrays are parts of the file's content, which is not to be written to.
        self._arrays = {name: array.copy() for name, array in arrays.items()}
        self._locate, self._placed = locate, Placed()

    def make(self, node: dict[str, Any]) -> Any:
        """Return the tensor or array of a node."""
        kind, name = next(iter(node.items()))
        if kind not in ("tensor", "ndarray", "scalar"):
            raise ValueError(f"{kind!r} is no kind of value")
        dtype = find_dtype(node["dtype"])
        if node.get("device") == "meta":
            made = FACTORIES["empty"](check_numbers(node["shape"], "shape"), dtype=dtype, device="meta")
            return Parameter(made, bool(node.get("requires_grad"))) if node.get("parameter") else made
        array = self._arrays[name]
        if "offset" in node:
            if array.dtype != np.uint8 or array.ndim != 1:
                raise ValueError(f"{name!r} is no storage")
            if kind == "tensor":
                return self._placed.make(array, dtype, node, self._locate)
            array = view_storage(array, dtype, node["offset"], node["shape"], node["stride"])
        elif "shape" in node:
            array = array.view(numpy_dtype(dtype)).reshape(check_numbers(node["shape"], "shape"))
        if array.dtype != numpy_dtype(dtype):
            raise ValueError(f"{name!r} has another dtype")
        if "order" in node:
            array = array.transpose(np.argsort(check_numbers(node["order"], "order")))
        if kind == "ndarray":
            return array
        if kind == "scalar":
            return array[()]
        device = self._locate(node.get("device", "cpu"))
        return finish(array, bool(node.get("requires_grad")), bool(node.get("parameter")), device)
