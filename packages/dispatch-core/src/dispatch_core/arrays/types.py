"""A backend's description: its name, its key, its array types. Part of the vendor API."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NoReturn, TypeAlias

from .._record import Record
from ..errors import ArgumentError, BackendError, short_repr
from ..keys.type_sets import CONTAINERS, is_unaskable

#: An array of a backend. Its class is the vendor's, and knows nothing of the dispatcher, which reads it by its `ArrayType`.
Array: TypeAlias = Any
#: A scalar type of the operator library, which an array's `ArrayType` reads. The dispatcher only compares and shows it.
Dtype: TypeAlias = Any


def _no_shape(array: object) -> NoReturn:
    """Read the shape of arrays whose type was registered without it: raise ``BackendError``."""
    raise _absent("shape", array)


def _no_dtype(array: object) -> NoReturn:
    """Read the dtype of arrays whose type was registered without it: raise ``BackendError``."""
    raise _absent("dtype", array)


def _absent(what: str, array: object) -> BackendError:
    kind = type(array)
    return BackendError(
        f"an object of type {kind.__module__}.{kind.__qualname__} has no {what}: its ArrayType names no function that"
        " reads one",
        hint=f"where objects of the type have one, write ArrayType({kind.__qualname__}, {what}=lambda array: ...)",
    )


class ArrayType(Record):
    """A type of array that a backend owns, and the functions by which the dispatcher and composites read one.

    The class alone is enough: calls, kernels, profiles, traces and modes need no more. Without ``shape`` and ``dtype``
    nothing is compared with shape rules, pipelines run calls at once, and a reader of either raises ``BackendError``.

    ``shape`` gives a tuple of ints, with None for a size that is not known until the array is computed (the plugin has the
    hook ``dispatch_compute`` then), ``strides`` and ``storage_offset`` count elements, ``dtype`` gives the operator
    library's scalar type. ``coerce`` turns a kernel's result that is not an array (a NumPy scalar) into one.
    Where arrays are not ``mutable``, an in-place call runs the functional overload and rebinds the tensor's data.
    ``storage`` gives a key that arrays in one memory share with no others (the address of its owner); without it, an
    array shares memory with itself alone. ``empty(shape, strides, dtype)`` makes an array whose elements do not matter;
    ``opcheck`` makes its stand-ins by that of the meta device. ``layout`` gives shape, strides and dtype as one hashable
    value, which is looked at often while a pipeline is open; without it, it is made of the three. Where ``device_index``
    tells on which of several devices an array lies, ``current_device`` tells where one would be made now.
    ``copy_span(arrays, limit)`` copies the memory that arrays share, from the first element of any to the last, and returns
    for each the array like it in the copy, of the same shape, strides and dtype, or None for more than ``limit`` bytes.
    A pipeline reads memory that the user may write to by it; without it, calls on such memory run at once.

    Without ``strides`` every array is row-major, and where arrays are not ``mutable`` either, none is a view of another:
    the dispatcher makes torch's views by the functions of ``prims``. With ``subclasses`` a class is of this type where
    ``issubclass`` or ``isinstance`` say so, registered (virtual) subclasses included, such as an abstract base class has.
    ``traceable`` says that kernels and composites can run on stand-ins of arrays, as a compiler of whole programs has them:
    a pipeline records composites as one step then.

    Raises ``ArgumentError`` where ``type`` is not a class, or a reader no function.

    >>> class Circle:
    ...     pass
    >>> ArrayType(Circle).is_described
    False
    """

    type: type
    shape: Callable[[Array], tuple[Any, ...]] = _no_shape
    dtype: Callable[[Array], Dtype] = _no_dtype
    strides: Callable[[Array], tuple[int, ...]] | None = None
    storage_offset: Callable[[Array], int] | None = None
    mutable: bool = True
    coerce: Callable[[Any], Array] | None = None
    device_index: Callable[[Array], int | None] | None = None
    storage: Callable[[Array], Hashable] | None = None
    empty: Callable[[tuple[int, ...], tuple[int, ...], Dtype], Array] | None = None
    layout: Callable[[Array], Hashable] | None = None
    current_device: Callable[[], int] | None = None
    copy_span: Callable[[Sequence[Array], int], list[Array] | None] | None = None
    subclasses: bool = False
    traceable: bool = False

    def __post_init__(self) -> None:
        """Refuse values that are not a class or a function."""
        if not isinstance(self.type, type):
            raise _misfit("ArrayType(type=...)", "the class of the backend's arrays", self.type)
        if self.type in CONTAINERS:
            raise ArgumentError(
                f"ArrayType({self.type.__qualname__}): operators take these as containers of arrays, or as no array",
                hint="name the class of the backend's arrays; a subclass of the container is one, too",
            )
        if self.subclasses and is_unaskable(self.type):
            raise ArgumentError(
                f"ArrayType({self.type.__qualname__}): the protocol cannot be asked for its instances",
                hint="decorate the protocol with typing.runtime_checkable",
            )
        for name in _READERS:
            reader = getattr(self, name)
            if not callable(reader) and (reader is not None or name in _REQUIRED):
                shown = short_repr(reader)
                what = f"ArrayType({name}=...) of {self.type.__qualname__}"
                raise _misfit(what, "a function", reader, f"write {name}=lambda array: {shown}")

    @property
    def is_described(self) -> bool:
        """Return whether arrays of the type tell both shape and dtype."""
        return self.shape is not _no_shape and self.dtype is not _no_dtype

    def __repr__(self) -> str:
        defaults = type(self)._fields
        given = [f"{name}={getattr(self, name)!r}" for name in defaults if getattr(self, name) is not defaults[name]]
        return f"ArrayType({', '.join([self.type.__qualname__, *given[1:]])})"


_REQUIRED: Final = ("shape", "dtype")
_READERS: Final = (
    *_REQUIRED,
    "strides",
    "storage_offset",
    "coerce",
    "device_index",
    "storage",
    "empty",
    "layout",
    "current_device",
    "copy_span",
)


class BackendInfo(Record):
    """A backend: the device's name, its dispatch key, and the array types that are its own.

    ``dispatch_key`` may be a key that exists ("CPU", "PrivateUse1") or a new name, which becomes a backend key with its
    derived keys; left empty it is made from the device's name ("acme" gives "Acme"). With ``fallback="host"`` the host
    computes, on copies, the operators that the backend has no kernel for and nothing composes; a tuple names some of them.

    Raises ``ArgumentError`` for fields of another type, and for an empty name.
    """

    name: str
    dispatch_key: str = ""
    array_types: tuple[ArrayType, ...] = ()
    fallback: str | tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse fields of another type."""
        fallback: object = self.fallback
        if fallback != "host" and not (isinstance(fallback, tuple) and all(isinstance(each, str) for each in fallback)):
            raise _misfit(
                f"BackendInfo({short_repr(self.name)}, fallback=...)",
                "'host' or a tuple of operators' names",
                fallback,
                "write fallback='host', or fallback=('aten::hash_tensor',)",
            )
        name: object
        key: object
        types: object
        name, key, types = self.name, self.dispatch_key, self.array_types
        if not isinstance(name, str) or not name:
            raise _misfit("BackendInfo(name=...)", "the device's name", name, 'write BackendInfo("acme", ...)')
        what = f"BackendInfo({name!r}, array_types=...)"
        if not isinstance(key, str):
            raise _misfit(
                f"BackendInfo({name!r}, dispatch_key=...)",
                "the name of a key",
                key,
                "leave it empty to get a key of its own",
            )
        if not isinstance(types, tuple):
            raise _misfit(what, "a tuple of ArrayTypes", types, "write array_types=(array_type,)")
        for each in types:
            if not isinstance(each, ArrayType):
                hint = "write array_types=(ArrayType(Array),), with your arrays' class"
                raise _misfit(what, "a tuple of ArrayTypes", each, hint)


class Availability(Record):
    """Whether a device can be opened on this machine and, if not, why; of one that can, a remark for ``dispatch doctor``.

    >>> bool(Availability(False, "libascendcl.so was not found"))
    False
    """

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


def _misfit(what: str, wanted: str, given: object, hint: str | None = None) -> ArgumentError:
    """Return the error for a field that was given something else."""
    sort = f"the class {given.__qualname__}" if isinstance(given, type) else f"of type {type(given).__qualname__}"
    return ArgumentError(f"{what} takes {wanted}, not {short_repr(given)}, {sort}", hint=hint)
