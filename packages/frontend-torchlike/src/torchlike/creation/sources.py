"""Tensors made of buffers, and of other libraries' arrays (source: ``torch.asarray``, ``frombuffer``, ``from_dlpack``)."""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np

from dispatch_aten.dtypes import ScalarType, as_dtype, get_default_dtype

from ..overriding.handling import make_override
from ..overriding.mode_stack import ENTERED
from ..tensors.arguments import check_tensor
from ..tensors.arrays import from_numpy
from ..tensors.dlpack import CARRIERS, KEPT_GRADIENT, import_tensor
from ..tensors.foreign_data import is_foreign, read_foreign, share_array
from ..tensors.storages import UntypedStorage
from ..tensors.tensor import Tensor
from ..values.devices import as_device, factory_device
from ..values.dtypes import to_numpy_dtype
from .factories import tensor, wrap_result

__all__ = ["asarray", "from_dlpack", "frombuffer", "to_dlpack"]


_ask: Final = make_override(lambda: asarray)


def asarray(
    obj: Any,
    *,
    dtype: ScalarType | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """Make a tensor of a tensor, an array, a buffer, a sequence or a number, sharing memory where possible.

    Memory is shared, unless ``copy`` is true, with tensors, NumPy's arrays, objects with ``__dlpack__`` and buffers, where
    dtype and device are theirs. Raises ``ValueError`` where ``copy`` is False and that is not possible.

    >>> import torchlike
    >>> base = torchlike.ones(2)
    >>> asarray(base).data_ptr() == base.data_ptr()
    True
    """
    if ENTERED:
        given = {"dtype": dtype, "device": device, "copy": copy, "requires_grad": requires_grad}
        found = _ask((obj,), {name: value for name, value in given.items() if value is not None})
        if found is not NotImplemented:
            return cast("Tensor", found)
    if copy is False and isinstance(obj, np.generic):
        raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray.")
    shared = _share(obj, dtype)
    if shared is None:
        if copy is False:
            if isinstance(obj, np.ndarray) or is_foreign(obj):
                raise ValueError("can't alias an array with negative or odd strides, or of a dtype that NumPy lacks.")
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    wanted, place = shared.dtype if dtype is None else dtype, factory_device(device) or shared.device
    same = wanted == shared.dtype and place.type == shared.device.type
    if copy is False and not same:
        if wanted != shared.dtype:
            raise ValueError(f"can't alias tensor with dtype '{shared.dtype.name}' into dtype '{wanted.name}'.")
        raise ValueError(f"can't alias tensor from device '{shared.device}' to '{place}'.")
    if not same:
        shared = shared.to(device=place, dtype=wanted)
    elif copy:
        shared = shared.clone()
    if not requires_grad:
        return shared.detach() if requires_grad is False and shared.requires_grad else shared
    return shared if shared.requires_grad else wrap_result(shared.detach() if same and not copy else shared, True)


def _share(obj: Any, dtype: ScalarType | None) -> Tensor | None:
    """Return a tensor in an object's memory, or None for one without memory to share."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, UntypedStorage):
        return None if dtype is None else obj.read_as(dtype)
    if isinstance(obj, np.generic):
        return from_numpy(np.array(obj))
    if type(obj).__name__ == "PyCapsule":
        return from_dlpack(obj)
    found = read_foreign(obj) if is_foreign(obj) else obj
    if isinstance(found, np.ndarray):
        return share_array(found)
    if isinstance(found, Tensor):
        return found
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=get_default_dtype() if dtype is None else dtype)


def frombuffer(
    buffer: Any, *, dtype: ScalarType, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """Return a vector in the memory of an object with Python's buffer protocol.

    ``offset`` is in bytes; writes into a buffer that is read-only are refused. Raises ``ValueError`` where the buffer does
    not hold that many elements.

    >>> import torchlike
    >>> frombuffer(bytearray([1, 2, 3]), dtype=torchlike.uint8, offset=1)
    tensor([2, 3], dtype=torchlike.uint8)
    """
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    dtype = as_dtype(dtype)
    size, step = view.nbytes, dtype.itemsize
    if not size or not count:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count > 0 and offset + count * step > size:
        raise ValueError(
            f"requested buffer length ({count} * {step} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({size} bytes)"
        )
    if count < 0 and (size - offset) % step:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({step})"
        )
    found = from_numpy(np.frombuffer(view, to_numpy_dtype(CARRIERS.get(dtype, dtype)), count, offset))
    return wrap_result(found.view(dtype) if dtype in CARRIERS else found, requires_grad)


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor in the memory of another library's, or of a DLPack capsule (source: ``torch.from_dlpack``).

    It is where that memory is: the host's is the cpu's, and an array elsewhere keeps its device if that is installed.
    Raises ``BufferError`` where ``copy`` is False and a copy is needed, for memory of a device that is not, and for a tensor
    that requires grad.
    """
    kind = type(ext_tensor)
    if not hasattr(kind, "__dlpack__") and kind.__name__ != "PyCapsule":
        raise TypeError(
            f"from_dlpack expects an object with __dlpack__, or a capsule, not {kind.__name__}\n"
            "Hint: asarray takes arrays and tables without it"
        )
    if isinstance(ext_tensor, Tensor):
        if ext_tensor.requires_grad:
            raise BufferError(KEPT_GRADIENT)
        shared = ext_tensor.detach()
    else:
        shared = import_tensor(ext_tensor)
    place = as_device(device)
    if place is not None and place.type != shared.device.type:
        if copy is False:
            raise BufferError(f"a copy is needed from {shared.device} to {place}")
        return shared.to(place)
    return shared.clone() if copy else shared


def to_dlpack(tensor: Tensor) -> Any:  # torch's name
    """Return a DLPack capsule of a tensor's memory, which one other library may take (source: ``torch.utils.dlpack``)."""
    check_tensor(tensor, "to_dlpack", "tensor")
    return tensor.__dlpack__()
