"""Descriptors of arguments: aclTensor, aclScalar, aclIntArray and their kind, and who destroys them.

Every one belongs to a `Descriptors`; elements of a list belong to the list. When a `Descriptors` goes, what it has made is
left to whoever makes the next one, see Note [Finalizers call nothing] in ``runtime.device``; what is left in the end, and
what is still in use then, is destroyed before the runtime is closed.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from dispatch_aten.errors import OperatorError
from dispatch_aten.shapes import TensorMeta

from ..acl import library, reports
from ..acl.constants import ACL_BOOL, ACL_COMPLEX128, ACL_DOUBLE, ACL_FORMAT_ND, ACL_INT64, DATA_TYPES
from ..acl.errors import AclError
from ..arrays import extent

__all__ = ["Descriptors", "destroy_all", "drain", "int64", "quarantine"]

#: What a creator that gives a null pointer is reported with: ACLNN_ERR_INNER_NULLPTR.
_NULL: Final = 561103

_DESTROYERS: Final = {
    "aclTensor": "aclDestroyTensor",
    "aclScalar": "aclDestroyScalar",
    "aclIntArray": "aclDestroyIntArray",
    "aclBoolArray": "aclDestroyBoolArray",
    "aclTensorList": "aclDestroyTensorList",
}


def int64(value: int) -> int:
    """Give an integer that C's type can hold: ctypes would pass the lowest bits of any other.

    Raises ``OperatorError``.

    >>> int64(1 << 63)
    Traceback (most recent call last):
        ...
    dispatch_aten.errors.OperatorError: value cannot be converted to type int64_t without overflow
    """
    if not -(1 << 63) <= value < 1 << 63:
        raise OperatorError("value cannot be converted to type int64_t without overflow")
    return value


#: Python's number types → the C type and ACL's number of it; a bool is an int, too, so it comes first.
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
        drain()

    def add(self, kind: str, value: Any) -> Any:
        """Give what stands for an argument of C type ``kind`` in a call."""
        if value is None or not kind.startswith(("const acl", "acl")) or kind == "aclDataType":
            return value
        name = kind.removeprefix("const ").removesuffix("*")
        if name == "aclTensor":
            found = _tensor(*value)
            self.tensors.append(found)
        elif name == "aclTensorList":
            return self._tensor_list(value)
        elif name == "aclScalar":
            found = _scalar(value)
        elif name == "aclIntArray":
            found = _made("aclCreateIntArray", (ctypes.c_int64 * max(len(value), 1))(*map(int64, value)), len(value))
        else:
            found = _made("aclCreateBoolArray", (ctypes.c_bool * max(len(value), 1))(*value), len(value))
        self._owned.append((_DESTROYERS[name], found))
        return found

    def _tensor_list(self, looks: Sequence[tuple[TensorMeta, int]]) -> ctypes.c_void_p:
        begun = len(self._owned)
        items = [self.add("aclTensor*", look) for look in looks]
        found = _made(
            "aclCreateTensorList", (ctypes.c_void_p * max(len(items), 1))(*[x.value for x in items]), len(items)
        )
        # The list destroys its elements.
        self._owned[begun:] = [("aclDestroyTensorList", found)]
        return found

    def own(self, destroyer: str, pointer: ctypes.c_void_p) -> None:
        """Have ``pointer`` destroyed with the rest, and before it."""
        self._owned.append((destroyer, pointer))

    def disown(self, pointer: ctypes.c_void_p) -> None:
        """Leave it to somebody else to destroy ``pointer``, which was given to ``own``."""
        self._owned[:] = [entry for entry in self._owned if entry[1] is not pointer]

    def replace_scalar(self, held: ctypes.c_void_p, value: Any) -> ctypes.c_void_p:
        """Give a scalar of another value in place of one that was added."""
        found = _scalar(value)
        place = next(index for index, (_, pointer) in enumerate(self._owned) if pointer is held)
        self._owned[place] = ("aclDestroyScalar", found)
        _destroy("aclDestroyScalar", held)
        return found

    def __del__(self) -> None:
        if _live.pop(id(self._owned), None) is not None:
            _left.append(self._owned)


#: What descriptors in use own, by the list's id; what those that are gone owned.
_live: Final[dict[int, list[tuple[str, ctypes.c_void_p]]]] = {}
_left: Final[deque[list[tuple[str, ctypes.c_void_p]]]] = deque()
#: What is never destroyed.
_kept: Final[list[list[tuple[str, ctypes.c_void_p]]]] = []


def _destroy(destroyer: str, pointer: ctypes.c_void_p) -> None:
    """Destroy a descriptor, if it is there."""
    if pointer.value:
        reports.destroy(destroyer, pointer)


def drain() -> None:
    """Destroy what descriptors that are gone owned."""
    while _left:
        try:
            owned = _left.popleft()
        except IndexError:  # Another thread was faster.
            break
        while owned:
            _destroy(*owned.pop())
    reports.tell()


def destroy_all() -> None:
    """Destroy every descriptor, whether somebody still has it or not."""
    _move(_left)
    drain()


def quarantine() -> None:
    """Let every descriptor that there is be: a device that does not answer may still work with it."""
    _move(_left)
    while _left:
        _kept.append(_left.popleft())


def _move(into: deque[list[tuple[str, ctypes.c_void_p]]]) -> None:
    """Take what descriptors in use own from them, one at a time: others may go meanwhile."""
    while _live:
        into.append(_live.popitem()[1])


def _made(creator: str, *args: Any) -> ctypes.c_void_p:
    pointer = library.bind(creator)(*args)
    if not pointer:
        raise AclError(creator, _NULL, library.recent_message() or "it gave a null pointer")
    return ctypes.c_void_p(pointer)


def _tensor(spec: TensorMeta, offset: int) -> ctypes.c_void_p:
    """Describe a strided view of a row of elements, as long as the view needs; its address is given later."""
    ndim = len(spec.shape)
    numbers = ctypes.c_int64 * ndim
    storage = (ctypes.c_int64 * 1)(offset + extent(spec))
    return _made(
        "aclCreateTensor",
        numbers(*spec.shape),
        ndim,
        DATA_TYPES[spec.dtype],
        numbers(*spec.strides),
        offset,
        ACL_FORMAT_ND,
        storage,
        1,
        None,
    )


def _scalar(value: Any) -> ctypes.c_void_p:
    for python_type, (c_type, number) in _SCALARS.items():
        if isinstance(value, python_type):
            return _made("aclCreateScalar", ctypes.byref(c_type(value)), number)
    parts = (ctypes.c_double * 2)(value.real, value.imag)
    return _made("aclCreateScalar", ctypes.byref(parts), ACL_COMPLEX128)
