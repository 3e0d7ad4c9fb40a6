"""Descriptors of arguments (aclTensor, aclScalar, aclIntArray, ...), and their destruction.

Every descriptor belongs to a `Descriptors`; elements of a list belong to the list. The descriptors of a collected
`Descriptors` are destroyed when the next one is created, see Note [Finalizers call nothing] in ``runtime.device``; all
others are destroyed before the runtime is closed.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from dispatch_aten.errors import OperatorError
from dispatch_aten.shapes import TensorMeta

from ..acl import library, reports
from ..acl.constants import (
    ACL_BOOL,
    ACL_COMPLEX128,
    ACL_DOUBLE,
    ACL_FORMAT_NCDHW,
    ACL_FORMAT_NCHW,
    ACL_FORMAT_NCL,
    ACL_FORMAT_ND,
    ACL_INT64,
    DATA_TYPES,
)
from ..acl.errors import AclError

#: The code in the error of a creator that returns a null pointer: ACLNN_ERR_INNER_NULLPTR.
_NULL_POINTER: Final = 561103

_DESTROYERS: Final = {
    "aclTensor": "aclDestroyTensor",
    "aclScalar": "aclDestroyScalar",
    "aclIntArray": "aclDestroyIntArray",
    "aclBoolArray": "aclDestroyBoolArray",
    "aclTensorList": "aclDestroyTensorList",
}


def int64(value: int) -> int:
    """Return an integer that fits in C's ``int64_t``.

    Raises ``OperatorError`` for another, of which ctypes would pass the lowest bits.

    >>> int64(1 << 63)
    Traceback (most recent call last):
        ...
    dispatch_aten.errors.OperatorError: value cannot be converted to type int64_t without overflow
    """
    if not -(1 << 63) <= value < 1 << 63:
        raise OperatorError("value cannot be converted to type int64_t without overflow")
    return value


#: Python's number types → the C type and ACL's number of it; bool comes first, because a bool is an int.
_SCALARS: Final[dict[type, tuple[Any, int]]] = {
    bool: (ctypes.c_bool, ACL_BOOL),
    int: (lambda value: ctypes.c_int64(int64(value)), ACL_INT64),
    float: (ctypes.c_double, ACL_DOUBLE),
}


class Descriptors:
    """The descriptors of one call's arguments."""

    __slots__ = ("_owned", "tensors")

    def __init__(self) -> None:
        #: Every aclTensor, in the order of the arguments, those in lists included.
        self.tensors: list[ctypes.c_void_p] = []
        self._owned: list[tuple[str, ctypes.c_void_p]] = []
        _live[id(self._owned)] = self._owned
        destroy_released()

    def add(self, kind: str, value: Any) -> Any:
        """Return an argument of C type ``kind`` for a call; descriptors are created from ``value``."""
        if value is None or not kind.startswith(("const acl", "acl")) or kind == "aclDataType":
            return value
        name = kind.removeprefix("const ").removesuffix("*")
        if name == "aclTensor":
            descriptor = _tensor(*value)
            self.tensors.append(descriptor)
        elif name == "aclTensorList":
            return self._tensor_list(value)
        elif name == "aclScalar":
            descriptor = _scalar(value)
        elif name == "aclIntArray":
            descriptor = _create(
                "aclCreateIntArray", (ctypes.c_int64 * max(len(value), 1))(*map(int64, value)), len(value)
            )
        else:
            descriptor = _create("aclCreateBoolArray", (ctypes.c_bool * max(len(value), 1))(*value), len(value))
        self._owned.append((_DESTROYERS[name], descriptor))
        return descriptor

    def _tensor_list(self, specs: Sequence[tuple[TensorMeta, int, int]]) -> ctypes.c_void_p:
        begun = len(self._owned)
        items = [self.add("aclTensor*", spec) for spec in specs]
        descriptor = _create(
            "aclCreateTensorList", (ctypes.c_void_p * max(len(items), 1))(*[x.value for x in items]), len(items)
        )
        # The list destroys its elements.
        self._owned[begun:] = [("aclDestroyTensorList", descriptor)]
        return descriptor

    def own(self, destroyer: str, pointer: ctypes.c_void_p) -> None:
        """Destroy ``pointer`` with the rest, and before it."""
        self._owned.append((destroyer, pointer))

    def disown(self, pointer: ctypes.c_void_p) -> None:
        """Leave the destruction of ``pointer``, which was passed to ``own``, to the caller."""
        self._owned[:] = [entry for entry in self._owned if entry[1] is not pointer]

    def replace_scalar(self, held: Any, value: Any) -> Any:
        """Replace a scalar that was added by one of another value, and return it; other numbers have no descriptor."""
        if not isinstance(held, ctypes.c_void_p):
            return value
        descriptor = _scalar(value)
        index = next(index for index, (_, pointer) in enumerate(self._owned) if pointer is held)
        self._owned[index] = ("aclDestroyScalar", descriptor)
        _destroy("aclDestroyScalar", held)
        return descriptor

    def __del__(self) -> None:
        if _live.pop(id(self._owned), None) is not None:
            _released.append(self._owned)


#: The pointers of each `Descriptors` in use, by the list's id, and those of collected ones.
_live: Final[dict[int, list[tuple[str, ctypes.c_void_p]]]] = {}
_released: Final[deque[list[tuple[str, ctypes.c_void_p]]]] = deque()
#: Pointers that are never destroyed.
_quarantined: Final[list[list[tuple[str, ctypes.c_void_p]]]] = []


def _destroy(destroyer: str, pointer: ctypes.c_void_p) -> None:
    """Destroy a descriptor, if it is there."""
    if pointer.value:
        reports.destroy(destroyer, pointer)


def destroy_released() -> None:
    """Destroy the descriptors of collected `Descriptors`."""
    while _released:
        try:
            owned = _released.popleft()
        except IndexError:  # Another thread was faster.
            break
        while owned:
            _destroy(*owned.pop())
    reports.warn()


def destroy_all() -> None:
    """Destroy every descriptor, in use or not."""
    _release_all()
    destroy_released()


def quarantine() -> None:
    """Keep every existing descriptor from being destroyed: a device that does not answer may still read it."""
    _release_all()
    while _released:
        _quarantined.append(_released.popleft())


def _release_all() -> None:
    """Move the pointers of each `Descriptors` in use, one at a time, because others may be collected meanwhile."""
    while _live:
        _released.append(_live.popitem()[1])


def _create(creator: str, *args: Any) -> ctypes.c_void_p:
    pointer = library.bind(creator)(*args)
    if not pointer:
        raise AclError(creator, _NULL_POINTER, library.recent_message() or "it returned a null pointer")
    return ctypes.c_void_p(pointer)


#: Dimensions → the format of images, which convolution and pooling demand; torch's own adapter gives it to every tensor.
_FORMATS: Final = {3: ACL_FORMAT_NCL, 4: ACL_FORMAT_NCHW, 5: ACL_FORMAT_NCDHW}


def _tensor(spec: TensorMeta, offset: int, nbytes: int) -> ctypes.c_void_p:
    """Describe a strided view of a flat storage, that of its whole block of memory; its address is set later.

    By the storage's length the toolkit finds out whether the view consists of whole rows, which it copies faster.
    """
    ndim = len(spec.shape)
    numbers = ctypes.c_int64 * ndim
    storage = (ctypes.c_int64 * 1)(nbytes // spec.dtype.itemsize)
    return _create(
        "aclCreateTensor",
        numbers(*spec.shape),
        ndim,
        DATA_TYPES[spec.dtype],
        numbers(*spec.strides),
        offset,
        _FORMATS.get(ndim, ACL_FORMAT_ND),
        storage,
        1,
        None,
    )


def _scalar(value: Any) -> ctypes.c_void_p:
    for python_type, (c_type, number) in _SCALARS.items():
        if isinstance(value, python_type):
            return _create("aclCreateScalar", ctypes.byref(c_type(value)), number)
    parts = (ctypes.c_double * 2)(value.real, value.imag)
    return _create("aclCreateScalar", ctypes.byref(parts), ACL_COMPLEX128)
