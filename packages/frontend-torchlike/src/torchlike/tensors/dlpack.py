"""Memory handed to other libraries, and taken from them, by DLPack, with the dtypes that NumPy cannot name.

An array of ``bfloat16`` or ``float8`` travels as NumPy's unsigned integers with another type code in its capsule.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from dispatch_aten.dtypes import ScalarType
from dispatch_core.frontends import materialize, write_recorded
from dispatch_core.keys import LAYOUTS

from ..names.lazy_names import Tensor
from ..values.layouts import layout_of
from .arrays import from_numpy, to_numpy
from .tensor import wrap

#: The name of a capsule → where the type code stands in it (after the data, the device and the number of dimensions), and
#: the flags, the lowest of which says that the memory is read-only.
_PLACES: Final = {b"dltensor": (20, None), b"dltensor_versioned": (52, 24)}
_UINT: Final = 1
#: Dtypes that NumPy lacks → DLPack's type code, and the dtype of NumPy's that carries them.
_CODES: Final = {
    ScalarType.BFloat16: (4, ScalarType.UInt16),
    ScalarType.Float8_e4m3fn: (10, ScalarType.Byte),
    ScalarType.Float8_e4m3fnuz: (11, ScalarType.Byte),
    ScalarType.Float8_e5m2: (12, ScalarType.Byte),
    ScalarType.Float8_e5m2fnuz: (13, ScalarType.Byte),
}
#: Dtypes that NumPy lacks → the dtype of NumPy's that carries them.
CARRIERS: Final = {dtype: carrier for dtype, (_, carrier) in _CODES.items()}
#: The text for a tensor whose gradient another library would not see (source: ``torch.Tensor.__dlpack__``).
KEPT_GRADIENT: Final = "Can't export tensors that require gradient, use tensor.detach()"
_BY_CODE: Final = {code: dtype for dtype, (code, _) in _CODES.items()}
#: DLPack's numbers for kinds of memory (``DLDeviceType``): those that the host reads, and the names of others.
_HOST: Final = {1: "cpu", 3: "cuda host", 11: "rocm host"}
_NAMES: Final = _HOST | {
    2: "cuda",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    9: "vpi",
    10: "rocm",
    12: "extension device",
    13: "cuda managed",
    14: "oneapi",
    15: "webgpu",
    16: "hexagon",
    17: "maia",
}


def export_tensor(
    tensor: Tensor,
    *,
    stream: Any = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Answer ``__dlpack__``: a capsule of the tensor's memory, of the newest version up to ``max_version`` that there is.

    Raises ``BufferError`` for a tensor that requires grad, for a device without DLPack, and for one that ``dl_device``
    asks for in vain; ``TypeError`` for a stream that is not a number, and ``AssertionError`` for a stream of a tensor on the
    cpu, which has none.
    """
    if tensor._dispatch_mask & LAYOUTS:
        raise BufferError(f"tensors of layout {layout_of(tensor)} have no DLPack")
    if tensor.requires_grad:
        raise BufferError(KEPT_GRADIENT)
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    given = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not tensor.is_cpu:
        array = _find_array(tensor)
        write_recorded(array)
        return array.__dlpack__(**(options if stream in (None, -1) else options | {"stream": stream}))
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    code, carrier = _CODES.get(tensor.dtype, (None, tensor.dtype))
    array = to_numpy(tensor if code is None else tensor.view(carrier))
    try:
        capsule = array.__dlpack__(**options)
    except ValueError as error:  # NumPy 2.1's, for a device that it lacks
        raise BufferError(str(error)) from None
    if code is not None:
        _open(capsule)[0].value = code
    return capsule


def read_device(tensor: Tensor) -> tuple[int, int]:
    """Answer ``__dlpack_device__``; no memory is handed out yet.

    Raises ``ValueError`` for a device without DLPack, ``BufferError`` for a layout without it.
    """
    if tensor._dispatch_mask & LAYOUTS:
        raise BufferError(f"tensors of layout {layout_of(tensor)} have no DLPack")
    if tensor.is_cpu:
        materialize(tensor)
        return 1, 0
    try:
        array = _find_array(tensor)
    except BufferError:
        raise ValueError(
            f"Unknown device type {tensor.device.type} for Dlpack\nHint: copy the tensor to the host first, with x.cpu()"
        ) from None
    kind, index = array.__dlpack_device__()
    return int(kind), int(index)


def _find_array(tensor: Tensor) -> Any:
    """Return the array of a tensor on another device than the cpu, where the library that it is of has DLPack."""
    array = materialize(tensor.detach())
    if not hasattr(type(array), "__dlpack__"):
        raise BufferError(f"Cannot pack tensors on {tensor.device}\nHint: copy it to the host first, with x.cpu()")
    return array


def import_tensor(source: Any) -> Tensor:
    """Return a tensor in the memory of an object with ``__dlpack__``, or of a capsule.

    Memory of the host is the cpu's. An array elsewhere stays there if its type belongs to a device that is installed;
    otherwise ``BufferError`` names where it is. Raises ``TypeError`` for an object that keeps to DLPack in name only.
    """
    if type(source).__name__ == "PyCapsule":
        capsule = source
    else:
        kind, index = _read_pair(source)
        if kind not in _HOST:
            return _adopt(source, f"{_NAMES.get(kind, f'device type {kind}')}:{index}")
        capsule = _ask(source)
    code, is_writable = _open(capsule)
    dtype = _BY_CODE.get(code.value)
    if dtype is not None:
        code.value = _UINT
    array = np.from_dlpack(_Capsule(capsule))
    made = from_numpy(np.asarray(_Writable(array)) if is_writable and not array.flags.writeable else array)
    return made if dtype is None else made.view(dtype)


def _read_pair(source: Any) -> tuple[int, int]:
    if not hasattr(source, "__dlpack_device__"):
        return 1, 0
    found = source.__dlpack_device__()
    if not (isinstance(found, tuple) and len(found) == 2 and all(isinstance(each, int) for each in found)):
        raise TypeError(f"__dlpack_device__ of {type(source).__name__} returned {found!r}, not a pair of integers")
    return int(found[0]), int(found[1])


def _ask(source: Any) -> Any:
    """Return the capsule of an object, of the version that says whether its memory may be written to, where it has one."""
    try:
        capsule = source.__dlpack__(max_version=(1, 0))
    except TypeError:  # an object of before DLPack 1.0
        capsule = source.__dlpack__()
    if type(capsule).__name__ != "PyCapsule":
        kind = type(source).__name__
        raise TypeError(f"__dlpack__ of {kind} returned an object of type {type(capsule).__name__}, not a capsule")
    return capsule


def _adopt(source: Any, place: str) -> Tensor:
    """Return the tensor of an array on another device than the host, if its type belongs to a device that is installed."""
    try:
        return wrap(source)
    except Exception as error:
        kind = f"{type(source).__module__}.{type(source).__name__}"
        raise BufferError(
            f"the memory of {kind} is on {place}, and no device that is installed has arrays of this type\n"
            "Hint: copy it to the host with its own library first"
        ) from error


class _Capsule:
    """Hands on a DLPack capsule of the host's memory, which says nothing of its device itself."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class _Writable:
    """Lets an array be written to, which NumPy refuses for capsules of the old form, and NumPy 2.1 for every capsule."""

    def __init__(self, array: Any) -> None:
        self._array = array
        given = array.__array_interface__
        self.__array_interface__ = {**given, "data": (given["data"][0], False)}


def _open(capsule: Any) -> tuple[ctypes.c_uint8, bool]:
    """Return the type code in a capsule that was not taken yet, and whether its memory may be written to."""
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = python.PyCapsule_GetName(capsule)
    if name not in _PLACES:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
            "have already constructed a tensor from it once."
        )
    begin = python.PyCapsule_GetPointer(capsule, name)
    place, flags = _PLACES[name]
    is_writable = flags is None or not ctypes.c_uint64.from_address(begin + flags).value & 1
    return ctypes.c_uint8.from_address(begin + place), is_writable
