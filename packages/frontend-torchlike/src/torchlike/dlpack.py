"""Memory handed to other libraries, and taken from them, by DLPack, ``bfloat16`` too, which NumPy cannot name.

A ``bfloat16`` array travels as NumPy's ``uint16`` with another type code in its capsule.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dispatch_aten.dtypes import bfloat16, uint16

from .interop import from_numpy, to_numpy

if TYPE_CHECKING:
    from .tensors import Tensor

__all__ = ["export_tensor", "import_tensor"]

#: The name of a capsule → where the type code stands in it: after the data, the device and the number of dimensions.
_PLACES: Final = {b"dltensor": 20, b"dltensor_versioned": 52}
_UINT, _BFLOAT = 1, 4


def export_tensor(tensor: Tensor, *, stream: Any = -1, **options: Any) -> Any:
    """Answer ``__dlpack__``.

    Raises ``BufferError`` for a tensor that requires grad, ``TypeError`` for a stream that is no number, and
    ``AssertionError`` for a stream of a tensor on the cpu, which has none.
    """
    if tensor.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (None, -1):
        if tensor.is_cpu:
            raise AssertionError("stream should be None on cpu.")
        options["stream"] = stream
    if tensor.dtype is not bfloat16:
        return to_numpy(tensor).__dlpack__(**options)
    capsule = to_numpy(tensor.view(uint16)).__dlpack__(**options)
    _find_code(capsule).value = _BFLOAT
    return capsule


def import_tensor(source: Any) -> Tensor:
    """Return a tensor in the memory of an object with ``__dlpack__``, or of a capsule."""
    capsule = source.__dlpack__() if hasattr(source, "__dlpack__") else source
    device = source.__dlpack_device__() if hasattr(source, "__dlpack_device__") else (1, 0)
    code, is_old = _find_code(capsule), "_versioned" not in repr(capsule)
    is_bfloat = code.value == _BFLOAT
    if is_bfloat:
        code.value = _UINT
    array = np.from_dlpack(_Capsule(capsule, device))
    made = from_numpy(np.asarray(_Writable(array)) if is_old else array)
    return made.view(bfloat16) if is_bfloat else made


class _Capsule:
    """Hands a DLPack capsule on, which says nothing of its device itself."""

    def __init__(self, capsule: Any, device: tuple[int, int]) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class _Writable:
    """Lets an array be written to, which NumPy refuses where a capsule of the old form does not say whether it may be."""

    def __init__(self, array: Any) -> None:
        self._array = array
        given = array.__array_interface__
        self.__array_interface__ = {**given, "data": (given["data"][0], False)}


def _find_code(capsule: Any) -> ctypes.c_uint8:
    """Return the type code in a capsule that was not taken yet."""
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = python.PyCapsule_GetName(capsule)
    place = _PLACES.get(name or b"")
    if place is None:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might "
            "have already constructed a tensor from it once."
        )
    return ctypes.c_uint8.from_address(python.PyCapsule_GetPointer(capsule, name) + place)
