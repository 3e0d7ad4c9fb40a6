"""A backend's description: its name, its key, its array types. Part of the vendor API."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from .._record import Record


class ArrayType(Record):
    """A type of array that a backend owns, and the functions by which the dispatcher and composites read one.

    ``shape`` gives a tuple of ints, with None for a size that is not known until the array is computed (the plugin has the
    hook ``dispatch_compute`` then), ``strides`` and ``storage_offset`` count elements, ``dtype`` gives the operator
    library's scalar type. ``coerce`` turns a kernel's result that is no array (a NumPy scalar) into one.
    Where arrays are not ``mutable``, an in-place call runs the functional overload and rebinds the tensor's data.
    ``storage`` gives a key that arrays in one memory share with no others (the address of its owner); without it, an
    array shares memory with itself alone. ``empty(shape, strides, dtype)`` makes an array whose elements do not matter;
    ``opcheck`` makes its stand-ins by that of the meta device. ``layout`` gives shape, strides and dtype as one hashable
    value, which is looked at often while a pipeline is open; without it, it is made of the three. Where ``device_index``
    tells on which of several devices an array lies, ``current_device`` tells where one would be made now.

    Without ``strides`` every array is row-major, and where arrays are not ``mutable`` either, none is a view of another:
    the dispatcher makes torch's views by the functions of ``prims``. With ``subclasses`` a class is of this type where
    ``issubclass`` or ``isinstance`` say so, registered (virtual) subclasses included, such as an abstract base class has.
    ``traceable`` says that kernels and composites can run on stand-ins of arrays, as a compiler of whole programs has them:
    a pipeline records composites as one step then.
    """

    type: type
    shape: Callable[[Any], tuple[Any, ...]]
    dtype: Callable[[Any], Any]
    strides: Callable[[Any], tuple[int, ...]] | None = None
    storage_offset: Callable[[Any], int] | None = None
    mutable: bool = True
    coerce: Callable[[Any], Any] | None = None
    device_index: Callable[[Any], int | None] | None = None
    storage: Callable[[Any], Hashable] | None = None
    empty: Callable[[tuple[int, ...], tuple[int, ...], Any], Any] | None = None
    layout: Callable[[Any], Hashable] | None = None
    current_device: Callable[[], int] | None = None
    subclasses: bool = False
    traceable: bool = False


class BackendInfo(Record):
    """A backend: the device's name, its dispatch key, and the array types that are its own.

    ``dispatch_key`` may be a key that exists ("CPU", "PrivateUse1") or a new name, which becomes a backend key with its
    derived keys; left empty it is made from the device's name ("acme" gives "Acme").
    """

    name: str
    dispatch_key: str = ""
    array_types: tuple[ArrayType, ...] = ()


class Availability(Record):
    """Whether a device can be opened on this machine and, if not, why.

    >>> bool(Availability(False, "libascendcl.so was not found"))
    False
    """

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok
