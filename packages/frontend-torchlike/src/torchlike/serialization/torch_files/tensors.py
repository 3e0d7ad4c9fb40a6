"""Tensors in a pickle, as torch writes them: calls of its rebuild functions, and the storages that they lie in.

Note [Storages in files]
    A tensor is written with the whole of its storage, as in torch. On the cpu that is the array which owns the memory, or
    the part of a user's array that was given; storages that overlap, as those of two parts of one array, become one. On
    devices it is the part of the memory that the tensors span, because only elements can be read there.

    A storage says one dtype, that of its first tensor. Tensors of another dtype in it, and those whose dtype has no class of
    storages in torch, say theirs by ``_rebuild_tensor_v3``.

Note [Tensors within themselves]
    A tensor's attributes are arguments of the call that rebuilds it, so torch cannot save one that is among its own
    attributes. We set such a tensor's attributes after the call, which `load` alone understands.
"""

from __future__ import annotations

import math
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from copyreg import __newobj__  # type: ignore[attr-defined]  # typeshed has none
from typing import Any, Final

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import contiguous_strides, storage_extent
from dispatch_core.frontends import Window

from ...nn.parameter import Buffer, Parameter
from ...tensors.arrays import find_owner, read_elements
from ...tensors.mesh_places import PLACE, describe_place
from ...tensors.overriding_classes import WRAPPED, is_wrapper, read_slots
from ...tensors.storages import UntypedStorage
from ...tensors.tensor import Tensor, wrap
from ...values.dtypes import memory_format
from ...values.layouts import layout
from ...values.qschemes import qscheme
from ...values.script_objects import ScriptObject
from ..arrays import STORAGE_CLASSES, numpy_dtype
from ..layouts.nested import MODULE, is_nested, list_arguments
from ..layouts.quantized import list_parameters
from ..layouts.records import is_record, list_fields
from ..layouts.sparse import is_sparse
from ..memory import find_place
from ..sources import as_bytes
from .names import Name, make_name
from .pickling import Later, Persistent

_Array = np.ndarray[Any, Any]
#: A dtype → torch's class of storages.
_CLASSES: Final = {dtype: make_name("torch", name) for dtype, name in STORAGE_CLASSES.items()}
_UNTYPED: Final = make_name("torch.storage", "UntypedStorage")
_NAMES: Final = {
    name: make_name(module, name)
    for module, names in {
        "torch._utils": "_rebuild_tensor_v2 _rebuild_tensor_v3 _rebuild_parameter _rebuild_parameter_with_state"
        " _rebuild_qtensor"
        " _rebuild_meta_tensor_no_storage _rebuild_sparse_tensor _rebuild_wrapper_subclass",
        "torch._tensor": "_rebuild_from_type_v2",
        "torch.serialization": "_get_layout",
        MODULE: "_rebuild_njt NestedTensor",
        "torch.layouts": "rebuild_record",
    }.items()
    for name in names.split()
}


class CyclicTensorError(Exception):
    """A tensor is among its own attributes; see Note [Tensors within themselves]."""

    def __init__(self, tensor: Tensor) -> None:
        super().__init__()
        self.tensor = tensor


class SavedTensors:
    """The tensors of a structure, and the storages that they lie in; see Note [Storages in files].

    ``cyclic`` are those known to be among their own attributes.
    """

    def __init__(self, cyclic: Sequence[Tensor] = ()) -> None:
        self._cyclic = cyclic
        #: The tensors that were begun: one that is begun again is among its own attributes.
        self._begun: dict[int, Tensor] = {}
        self._saved: list[_WrittenTensor] = []
        self._storages: list[WrittenStorage] | None = None
        #: The id of each tensor's facts → its storage. The facts do not refer to it: a cycle would keep the memory.
        self._storage_of: dict[int, WrittenStorage] = {}
        self._own = {Tensor.__reduce_ex__, Buffer.__reduce_ex__}

    def replace(self, value: Any) -> Any:
        """Return a tensor, a dtype or a layout as the call or name that torch writes; None for other objects."""
        if isinstance(value, Tensor):
            return self._replace_tensor(value) if type(value).__reduce_ex__ in self._own else None
        if isinstance(value, ScalarType):
            return make_name("torch", value.short)
        if isinstance(value, dc.Device):
            index = () if value.index is None else (value.index,)
            return make_name("torch", "device"), (value.type, *index)
        if isinstance(value, _recurrent_class()):
            return _reduce_recurrent(value)
        if isinstance(value, UntypedStorage):
            find = self._save(value._tensor)
            return Later(lambda: find().write())
        if isinstance(value, memory_format):
            return make_name("torch", repr(value).rpartition(".")[2])
        if isinstance(value, qscheme):
            return make_name("torch", str(value.__reduce__()))
        if isinstance(value, layout):
            return _NAMES["_get_layout"], (f"torch.{value.__reduce__()}",)
        if isinstance(value, ScriptObject):  # whose class cannot be called in torch
            return __newobj__, (ScriptObject,), value.__getstate__()
        return None

    def list_storages(self) -> list[WrittenStorage]:
        """Return the storages, in the order of their keys."""
        if self._storages is None:
            self._storages = _arrange(self._saved)
            self._storage_of = {id(each): storage for storage in self._storages for each in storage.members}
        return self._storages

    def _replace_tensor(self, value: Tensor) -> tuple[Any, ...]:
        attributes = vars(value)
        later: tuple[Any, ...] = ()
        if attributes:
            if any(value is each for each in self._cyclic):
                attributes, later = {}, (attributes,)
            elif id(value) in self._begun:
                raise CyclicTensorError(value)
            self._begun[id(value)] = value
        state = dict(attributes)
        if is_wrapper(value):
            del state[WRAPPED]
        if isinstance(value, Parameter) and not is_nested(value):  # which says so by an attribute
            data = wrap(value._dispatch_data) if is_record(value) else value.detach()
            arguments: tuple[Any, ...] = data, value.requires_grad, OrderedDict()
            if state:
                return _NAMES["_rebuild_parameter_with_state"], (*arguments, state)
            return _NAMES["_rebuild_parameter"], arguments, *later
        kind: Any = _NAMES["NestedTensor"] if is_nested(value) else type(value)
        if isinstance(value, Buffer) and isinstance(kind, type) and issubclass(kind, Buffer):  # not of another class
            kind, state = Tensor, state | {"persistent": value.persistent, "_is_buffer": True}
        call = self._call(value)
        if (place := describe_place(value)) is not None:
            state |= {PLACE: place}
        if value.requires_grad and is_sparse(value):
            state |= {"requires_grad": True}  # which the call has no argument for
        if kind is Tensor and not state:
            return *call, *later
        if kind is not Tensor and (slots := read_slots(value)):  # a buffer has them in its state
            return _NAMES["_rebuild_from_type_v2"], (call[0], kind, call[1], (state, slots)), *later
        return _NAMES["_rebuild_from_type_v2"], (call[0], kind, call[1], state), *later

    def _call(self, value: Tensor) -> tuple[Any, Any]:
        """Return the function, and its arguments, that make a tensor without attributes."""
        if is_sparse(value):
            record = value._dispatch_data
            parts: tuple[Any, ...] = (record.indices,) if value.is_sparse else (record.compressed, record.plain)
            parts = *parts, record.values.detach(), value.shape, *([record.is_coalesced] if value.is_sparse else [])
            return _NAMES["_rebuild_sparse_tensor"], (value.layout, parts)
        if is_nested(value):
            return _NAMES["_rebuild_njt"], (list_arguments(value),)
        if value.is_quantized and not value.is_meta:
            return self._call_quantized(value)
        if is_record(value):
            return _NAMES["rebuild_record"], (*list_fields(value), value.requires_grad)
        if is_wrapper(value):
            sizes = tuple(value.shape), tuple(value.stride()), value.storage_offset()
            wrapped = type(value), value.dtype, *sizes, value.layout, value.device, value.requires_grad
            return _NAMES["_rebuild_wrapper_subclass"], wrapped
        if value.is_meta:
            facts = value.dtype, tuple(value.shape), tuple(value.stride()), value.requires_grad
            return _NAMES["_rebuild_meta_tensor_no_storage"], facts
        find = self._save(value)
        saved = self._saved[-1]

        def name() -> Name:
            return _NAMES["_rebuild_tensor_v2" if find().dtype is saved.dtype else "_rebuild_tensor_v3"]

        return Later(name), Later(lambda: saved.write(find()))

    def _call_quantized(self, value: Tensor) -> tuple[Any, Any]:
        """Return the function, and its arguments, that make a quantized tensor: its integers are a storage of its dtype."""
        find = self._save(value._dispatch_data.integers)
        saved = self._saved[-1]
        saved.dtype = value.dtype
        parameters = list_parameters(value, lambda scheme: make_name("torch", str(scheme.__reduce__())))
        storage, offset = Later(lambda: find().write()), Later(lambda: saved.offset_in(find()))
        facts: tuple[Any, ...] = (
            storage,
            offset,
            saved.shape,
            Later(lambda: saved.steps),
            parameters,
            False,
            OrderedDict(),
        )
        return _NAMES["_rebuild_qtensor"], facts

    def _save(self, value: Tensor) -> Callable[[], WrittenStorage]:
        """Add a tensor with a storage; return the function that finds it, once all are known."""
        saved = _WrittenTensor.of_array(value) if value.is_cpu else _WrittenTensor.of_device(value)
        self._saved.append(saved)

        def find() -> WrittenStorage:
            self.list_storages()
            return self._storage_of[id(saved)]

        return find


class _WrittenTensor:
    """A tensor that is saved: its facts, and the memory from ``low`` to ``high`` that goes into the file for it."""

    def __init__(self, tensor: Tensor, shape: Sequence[int], steps: Sequence[int]) -> None:
        self.dtype, self.requires_grad = tensor.dtype, tensor.requires_grad
        self.location = str(tensor.device)
        self.shape, self.steps = tuple(shape), tuple(steps)
        self.memory: Any = None
        #: Where the first element lies, in bytes.
        self.place = self.low = self.high = 0
        #: On the cpu, the array of all the memory.
        self.owner: _Array | None = None
        self.read: Callable[[], _Array] = lambda: np.empty(0)

    @classmethod
    def of_array(cls, tensor: Tensor) -> _WrittenTensor:
        """Return a tensor on the cpu."""
        array = read_elements(tensor)
        made = cls(tensor, tensor.shape, tensor.stride())
        owner: _Array = find_owner(array)
        made.place, made.owner, made.read = _address(array), owner, lambda: array
        made.low = _address(owner)
        made.high = made.low + _extent(owner.shape, owner.strides, owner.itemsize)
        # Memory without a byte has no place of its own.
        made.memory = "cpu" if made.low < made.high else ("empty", id(owner))
        if not array.size:
            made.place = made.low
        return made

    @classmethod
    def of_device(cls, tensor: Tensor) -> _WrittenTensor:
        """Return a tensor on a device, whose elements are read when the file is written."""
        size = numpy_dtype(tensor.dtype).itemsize
        alone = ("alone", id(tensor)), 0, contiguous_strides(tuple(tensor.shape))
        memory, offset, steps = find_place(tensor) or alone
        made = cls(tensor, tensor.shape, steps)
        made.memory, made.place, made.read = memory, offset * size, lambda: read_elements(tensor)
        made.low, made.high = made.place, made.place + storage_extent(made.shape, made.steps) * size
        return made

    def take_alone(self) -> None:
        """Take the tensor out of memory in which no offset describes its place."""
        array = np.ascontiguousarray(self.read())
        self.owner, self.read, self.steps = array, lambda: array, contiguous_strides(self.shape)
        self.memory, self.place = ("alone", id(self)), 0
        self.low, self.high = 0, array.nbytes

    def offset_in(self, storage: WrittenStorage) -> int:
        """Return the place of the first element, in elements."""
        return (self.place - storage.low) // self.dtype.itemsize

    def write(self, storage: WrittenStorage) -> tuple[Any, ...]:
        """Return the arguments of the rebuild function."""
        offset = self.offset_in(storage)
        facts: tuple[Any, ...] = storage.write(), offset, self.shape, self.steps, self.requires_grad, OrderedDict()
        return facts if storage.dtype is self.dtype else (*facts, make_name("torch", self.dtype.short))


class WrittenStorage:
    """The memory of some tensors that becomes one entry."""

    def __init__(self, key: int, members: list[_WrittenTensor]) -> None:
        self.key = key
        #: The tensors in it, in the order in which they were met.
        self.members = members
        self.low, self.high = min(each.low for each in members), max(each.high for each in members)
        self.location = members[0].location
        dtype = members[0].dtype
        #: The dtype that the storage says, None for bytes.
        self.dtype = dtype if dtype in _CLASSES and self.nbytes % dtype.itemsize == 0 else None
        widest = max(each.dtype.itemsize for each in members)
        if not self._fits():
            # Whole elements of every dtype.
            self.low -= self.low % widest

    @property
    def nbytes(self) -> int:
        """The size of the entry."""
        return self.high - self.low

    def _fits(self) -> bool:
        return all((each.place - self.low) % each.dtype.itemsize == 0 for each in self.members)

    def list_misfits(self) -> list[_WrittenTensor]:
        """Return the tensors that lie in it where no number of their elements leads."""
        return [each for each in self.members if (each.place - self.low) % each.dtype.itemsize]

    def write(self) -> Persistent:
        """Return the storage as the pickle names it."""
        kind = _UNTYPED if self.dtype is None else _CLASSES[self.dtype]
        count = self.nbytes if self.dtype is None else self.nbytes // self.dtype.itemsize
        return Persistent(("storage", kind, str(self.key), self.location, count))

    def parts(self) -> Iterator[memoryview]:
        """Yield the bytes of the entry."""
        return self._read_host() if self.members[0].owner is not None else self._read_device()

    def _read_host(self) -> Iterator[memoryview]:
        place = self.low
        owners = {(each.low, each.high): each.owner for each in self.members}
        for (low, high), owner in sorted(owners.items(), key=lambda item: item[0]):
            assert owner is not None  # all of them are on the cpu
            if low > place:
                yield memoryview(bytes(low - place))
                place = low
            if high > place:
                yield _read_memory(owner, high - low)[place - low :].data
                place = high
        if place < self.high:
            yield memoryview(bytes(self.high - place))

    def _read_device(self) -> Iterator[memoryview]:
        for each in self.members:
            if each.low == self.low and each.high == self.high and each.steps == contiguous_strides(each.shape):
                yield as_bytes(each.read()).data
                return
        whole = np.zeros(self.nbytes, np.uint8)
        for each in self.members:
            if math.prod(each.shape):
                array = each.read()
                strides = [step * array.itemsize for step in each.steps]
                np.ndarray(each.shape, array.dtype, whole.data, each.place - self.low, strides)[...] = array
        yield whole.data


def _recurrent_class() -> tuple[type, ...]:
    """Return the class of recurrent networks, where there may be one; most programs do not import it."""
    module = sys.modules.get("torchlike.nn.modules.rnn")
    return () if module is None else (module.RNNBase,)


def _reduce_recurrent(value: Any) -> Any:
    """Return the parts of a recurrent network, with the lists of its weights that torch's has beside them."""
    call, arguments, state, *rest = value.__reduce_ex__(2)
    weights = {"_flat_weights_names": value._flat_weights_names, "_flat_weights": value._flat_weights}
    return call, arguments, state | weights, *rest


def _address(array: _Array) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def _extent(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> int:
    """Return the bytes from the first element of an array to the end of its last."""
    if 0 in shape:
        return 0
    return sum((count - 1) * step for count, step in zip(shape, strides, strict=True)) + itemsize


def _read_memory(owner: _Array, nbytes: int) -> _Array:
    """Return the bytes from an array's first element to its last one's end, in its own memory."""
    order = sorted(range(owner.ndim), key=lambda dim: -owner.strides[dim])
    turned = owner.transpose(order)
    if turned.flags.c_contiguous:
        return turned.reshape(-1).view(np.uint8)
    interface = {"data": (_address(owner), True), "shape": (nbytes,), "typestr": "|u1", "version": 3}
    return np.asarray(Window(owner, interface))


def _arrange(saved: list[_WrittenTensor]) -> list[WrittenStorage]:
    """Return the storages of tensors, which know theirs then."""
    while True:
        storages = [WrittenStorage(0, members) for members in _group(saved)]
        misfits = [each for storage in storages for each in storage.list_misfits()]
        if not misfits:
            break
        for each in misfits:
            each.take_alone()
    # In the order in which they were met.
    first = {id(each): number for number, each in enumerate(saved)}
    storages.sort(key=lambda storage: min(first[id(each)] for each in storage.members))
    for key, storage in enumerate(storages):
        storage.key = key
    return storages


def _group(saved: list[_WrittenTensor]) -> list[list[_WrittenTensor]]:
    """Return the tensors whose memory overlaps, each group in the order in which they were met."""
    groups: dict[Any, list[_WrittenTensor]] = {}
    for each in saved:
        groups.setdefault(each.memory, []).append(each)
    found: list[list[_WrittenTensor]] = []
    for memory, members in groups.items():
        if type(memory) is tuple and memory[0] == "empty":
            found.append(members)
            continue
        ordered = sorted(range(len(members)), key=lambda number: members[number].low)
        together: list[list[int]] = []
        end = -1
        for number in ordered:
            each = members[number]
            if together and each.low < end and each.low < each.high:
                together[-1].append(number)
            else:
                together.append([number])
            end = max(end, each.high)
        found += [[members[number] for number in sorted(numbers)] for numbers in together]
    return found
