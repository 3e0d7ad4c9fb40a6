"""A tensor's memory as an object: its place, its size and its bytes. It is for reading only.

>>> import torchlike
>>> part = torchlike.arange(4)[2:]
>>> len(part.storage()), part.storage().tolist(), part.untyped_storage().nbytes()
(4, [0, 1, 2, 3], 32)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType
from dispatch_aten.shapes import storage_extent
from dispatch_core.frontends import included_mask

from ..values.layouts import refuse_layout
from .arrays import read_address, read_elements
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
    owner: Any = data if type(data) is np.ndarray and not included_mask() else read_elements(tensor)
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return owner


class UntypedStorage:
    """The memory that a tensor lies in, in bytes (source: ``torch.UntypedStorage``)."""

    __module__ = "torchlike"  # see Note [Public paths]
    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        refuse_layout(tensor, "storage()")
        self._tensor = _find_whole(tensor).detach()

    @property
    def device(self) -> dc.Device:
        """Where the memory is."""
        return self._tensor.device

    def data_ptr(self) -> int:
        """Return the address of the first byte, 0 where there is none."""
        tensor = self._tensor
        if not tensor.is_cpu:
            return 0
        owner = _find_owner(tensor)
        return read_address(owner) if owner.nbytes else 0

    def nbytes(self) -> int:
        """Return the number of bytes."""
        tensor = self._tensor
        if not tensor.is_cpu:
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

    def __len__(self) -> int:
        return self.nbytes() // self.element_size()

    def read_as(self, dtype: ScalarType) -> Tensor:
        """Return the whole memory as a vector of a dtype."""
        return self._tensor if not self.nbytes() else self._flat().view(ScalarType.Byte).view(dtype)

    def _read(self, count: int) -> Tensor:
        found: Tensor = dc.ops.aten.as_strided.default(self._tensor, (count,), (1,), 0)
        return found

    def _flat(self) -> Tensor:
        """Return the whole memory as a vector."""
        count = self.nbytes() // self._tensor.dtype.itemsize
        whole: Tensor = self._read(count)
        return whole.view(ScalarType.Byte)

    def __getitem__(self, index: Any) -> Any:
        return self.tolist()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return the elements as Python's numbers."""
        found: list[Any] = self._flat().tolist()
        return found

    def __repr__(self) -> str:
        return f"[torchlike.{type(self).__name__} of {len(self)} elements on {self.device}]"


class TypedStorage(UntypedStorage):
    """The memory that a tensor lies in, in elements of its dtype (source: ``torch.TypedStorage``)."""

    __module__ = "torchlike"  # see Note [Public paths]
    __slots__ = ()

    @property
    def dtype(self) -> ScalarType:
        """The type of the elements."""
        return self._tensor.dtype

    def element_size(self) -> int:
        """Return the bytes per element."""
        return self.dtype.itemsize

    def _flat(self) -> Tensor:
        whole: Tensor = self._read(len(self))
        return whole
