"""A tensor's memory as an object: its place, its size and its bytes.

>>> import torchlike
>>> part = torchlike.arange(4)[2:]
>>> len(part.storage()), part.storage().tolist(), part.untyped_storage().nbytes()
(4, [0, 1, 2, 3], 32)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self
from weakref import ref

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import storage_extent
from dispatch_core.frontends import included_mask

from ..names.lazy_names import LeftOut
from ..names.spelling import spell
from ..values.layouts import refuse_layout
from .arrays import find_owner, put, read_address, read_device_address, read_elements
from .mapped_files import cut, map_file
from .overriding_classes import is_wrapper
from .tensor import Tensor, wrap


def _find_whole(tensor: Tensor) -> Tensor:
    """Return the tensor itself, and where a view does not tell its base, the one with all elements."""
    storage = tensor._state.storage
    if storage is None or storage.aliases is None or dc.has_strides(tensor):
        return tensor
    alias = next((each() for each, views in storage.aliases.members if views is None), None)
    return wrap(storage.aliases.data) if alias is None else alias


def _find_owner(tensor: Tensor) -> Any:
    """Return the array whose bounds are those of the memory that a tensor on the cpu lies in."""
    data = tensor._dispatch_data
    return find_owner(data if type(data) is np.ndarray and not included_mask() else read_elements(tensor))


def _read_bytes(owner: Any) -> Any:
    """Return the bytes of the memory of an array that has no gaps, in that memory."""
    turned = owner.transpose(sorted(range(owner.ndim), key=lambda dim: -owner.strides[dim]))
    return turned.reshape(-1).view(np.uint8)


def _find_key(storage: UntypedStorage) -> Any:
    """Return the key of the memory."""
    return dc.storage_of(storage._tensor._dispatch_data)


def _find_device_method(storage: Any, kind: type, name: str) -> Any:
    """Return the method or question that tensors have for a device of any backend, of a storage or its class."""
    found = vars(Tensor).get(name)
    if isinstance(found, LeftOut) and type(found) is not LeftOut:
        return found.__get__(storage, kind)
    what = f"type object {kind.__name__!r}" if storage is None else f"{kind.__name__!r} object"
    raise AttributeError(f"{what} has no attribute {name!r}", name=name, obj=kind if storage is None else storage)


class _StorageKind(type):
    def __getattr__(cls, name: str) -> Any:
        return _find_device_method(None, cls, name)


class UntypedStorage(metaclass=_StorageKind):
    """The memory that a tensor lies in, or some of its own, in bytes (source: ``torch.UntypedStorage``).

    Takes a tensor, a number of bytes, or their values.

    >>> storage = UntypedStorage([1, 2, 3])
    >>> storage[1:].fill_(7)
    [torchlike.UntypedStorage of 2 elements on cpu]
    >>> storage.tolist()
    [1, 7, 7]
    """

    __module__ = "torchlike"  # see Note [Public paths]
    __slots__ = ("_tensor", "filename")

    def __init__(self, source: Any = 0, /, *, device: Any = None) -> None:
        #: The path of the file that writes to the memory change, None for other memory.
        self.filename: str | None = None
        if not isinstance(source, Tensor):
            is_size = isinstance(source, int)
            source = put(np.empty(source, np.uint8) if is_size else np.array(source, np.uint8), device)
        refuse_layout(source, "storage()")
        self._tensor = source if is_wrapper(source) else _find_whole(source).detach()

    @classmethod
    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> Self:
        """Return the bytes of a file, mapped into memory (source: ``torch.UntypedStorage.from_file``).

        ``nbytes`` is the number of bytes from the file's beginning, 0 for all. Writes to ``shared`` memory change the file,
        which is made, and grows, where it has too few bytes; else they stay in this process. Raises ``RuntimeError`` for a
        file that is too small, ``OSError`` for one that cannot be opened.
        """
        made = cls(put(map_file(filename, shared, nbytes)))
        made.filename = os.fspath(filename) if shared else None
        return made

    def __getattr__(self, name: str) -> Any:
        return _find_device_method(self, type(self), name)

    def untyped(self) -> UntypedStorage:
        """Return the storage in bytes."""
        return self if type(self) is UntypedStorage else UntypedStorage(self._tensor)

    def clone(self) -> Self:
        """Return a storage with a copy of the memory."""
        return type(self)(self._flat().clone())

    def cpu(self) -> Self:
        """Return the storage, or a copy of it, on the cpu."""
        return self if self._tensor.is_cpu else type(self)(self._flat().cpu())

    def to(self, device: Any, non_blocking: bool = False) -> Self:
        """Return the storage, or a copy of it, on a device."""
        place = dc.Device.parse(device)
        return self if self.device == place else type(self)(self._flat().to(place, non_blocking=non_blocking))

    def is_pinned(self, device: Any = None) -> bool:
        """Return whether the memory is one that a device, any by default, copies from by itself."""
        return bool(self._tensor.is_pinned(device))

    def pin_memory(self, device: Any = None) -> Self:
        """Return the storage, or a copy of it, in memory that a device copies from by itself; the accelerator by default."""
        return self if self.is_pinned(device) else type(self)(self._flat().pin_memory(device))

    def resize_(self, nbytes: int) -> Self:
        """Return the storage, which has as many bytes already; raises ``RuntimeError`` for another number of bytes."""
        self._refuse_wrapper()
        if nbytes != self.nbytes():
            raise RuntimeError(
                f"Trying to resize storage that is not resizable\nHint: it has {self.nbytes()} bytes, not {nbytes}: "
                "resize_ of a tensor gives it memory of another size"
            )
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> Self:
        """Copy the elements of another storage, of as many, into this one."""
        self._flat().copy_(source._flat(), non_blocking)
        return self

    def fill_(self, value: Any) -> Self:
        """Set all elements to a value."""
        self._flat().fill_(value)
        return self

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is that of CUDA: never."""
        return False

    @property
    def device(self) -> dc.Device:
        """Where the memory is."""
        return self._tensor.device

    def data_ptr(self) -> int:
        """Return the address of the first byte, 0 where there is none; raises ``RuntimeError`` for memory of a wrapper."""
        tensor = self._tensor
        self._refuse_wrapper()
        if not tensor.is_cpu:
            found = None if tensor.is_meta else read_device_address(tensor)
            return found - tensor.storage_offset() * tensor.dtype.itemsize if found else 0
        owner = _find_owner(tensor)
        return read_address(owner) if owner.nbytes else 0

    def nbytes(self) -> int:
        """Return the number of bytes."""
        tensor = self._tensor
        if not tensor.is_cpu or is_wrapper(tensor):
            return (tensor.storage_offset() + storage_extent(tensor.shape, tensor.stride())) * tensor.dtype.itemsize
        return int(_find_owner(tensor).nbytes)

    def size(self) -> int:
        """Return the number of elements."""
        return len(self)

    def element_size(self) -> int:
        """Return the bytes per element."""
        return 1

    def is_shared(self) -> bool:
        """Return False: memory is not shared between processes."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and _find_key(self) == _find_key(other)

    def __hash__(self) -> int:
        return hash(_find_key(self))

    def __len__(self) -> int:
        return self.nbytes() // self.element_size()

    def read_as(self, dtype: ScalarType) -> Tensor:
        """Return the whole memory as a vector of a dtype."""
        if not self.nbytes():
            return self._tensor
        whole = self._flat().view(ScalarType.Byte)
        rest = len(whole) % dtype.itemsize
        return (whole[:-rest] if rest else whole).view(dtype)

    def _refuse_wrapper(self) -> None:
        if is_wrapper(self._tensor):
            raise RuntimeError(
                "Attempted to access the data pointer on an invalid python storage.\n"
                f"Hint: {type(self._tensor).__name__} has no elements of its own: ask the tensors that it wraps"
            )

    def _read(self, count: int) -> Tensor:
        self._refuse_wrapper()
        found: Tensor = dc.ops.aten.as_strided.default(self._tensor, (count,), (1,), 0)
        return found

    def _flat(self) -> Tensor:
        """Return the whole memory as a vector."""
        count = self.nbytes() // self._tensor.dtype.itemsize
        whole: Tensor = self._read(count)
        return whole.view(ScalarType.Byte)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            if isinstance(index, int) and not -len(self) <= index < len(self):
                raise IndexError(f"index {index} out of range for storage of size {len(self)}")
            return self._flat()[index].item()
        start, stop, step = index.indices(len(self))
        if step != 1:
            raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
        stop = max(start, stop)
        if not self._tensor.is_cpu:
            return type(self)(self._flat()[start:stop].clone())
        size = self.element_size()
        part = put(cut(_read_bytes(_find_owner(self._tensor)), start * size, stop * size))
        return type(self)(part.view(self._flat().dtype) if stop > start else self._flat()[:0].clone())

    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return the elements as Python's numbers."""
        found: list[Any] = self._flat().tolist()
        return found

    def __repr__(self) -> str:
        return f"[{spell(self.__module__)}.{type(self).__name__} of {len(self)} elements on {self.device}]"


class TypedStorage(UntypedStorage):
    """The memory that a tensor lies in, in elements of its dtype (source: ``torch.TypedStorage``)."""

    __module__ = "torchlike"  # see Note [Public paths]
    __slots__ = ()

    @property
    def dtype(self) -> ScalarType:
        """The type of the elements."""
        return self._tensor.dtype

    @property
    def _untyped_storage(self) -> UntypedStorage:
        return self.untyped()

    def element_size(self) -> int:
        """Return the bytes per element."""
        return self.dtype.itemsize

    def _flat(self) -> Tensor:
        whole: Tensor = self._read(len(self))
        return whole


def _return(value: Any) -> Any:
    return value


class StorageWeakRef:
    """A weak reference to the memory of a storage, by which two are compared (source: ``torch.multiprocessing.reductions``).

    >>> import torchlike
    >>> x = torchlike.ones(2, 2)
    >>> refer = lambda tensor: StorageWeakRef(tensor.untyped_storage())
    >>> refer(x) == refer(x[0]), refer(x) == refer(x.clone())
    (True, False)
    """

    __slots__ = ("_memory", "cdata")

    def __init__(self, storage: UntypedStorage) -> None:
        data = storage._tensor._dispatch_data
        #: The key of the memory.
        self.cdata = _find_key(storage)
        memory = _find_owner(storage._tensor) if type(data) is np.ndarray else getattr(data, "storage", data)
        try:
            self._memory: Callable[[], Any] = ref(memory)
        except TypeError:  # an array on meta, which has none, and takes no references of this kind
            self._memory = partial(_return, memory)

    def expired(self) -> bool:
        """Return whether the memory is gone."""
        return self._memory() is None

    def __hash__(self) -> int:
        return hash(self.cdata)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StorageWeakRef):
            return NotImplemented
        return self.cdata == other.cdata
