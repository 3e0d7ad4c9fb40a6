"""Tensors and NumPy, copies and pickles: the places where arrays cross to the user."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_char
from functools import cache, partial
from sys import getrefcount
from typing import Any, Final
from weakref import ref

import numpy as np

import dispatch_core as dc
from dispatch_aten import host
from dispatch_aten.dtypes import BY_NAME, NOT_IN_NUMPY
from dispatch_core.frontends import (
    PLACING,
    WINDOWS,
    Holder,
    Window,
    included_mask,
    is_lent_out,
    make_lending,
    materialize,
    memory_of,
    pin,
    write_recorded,
)
from dispatch_core.keys import AUTOGRAD, LAYOUTS, DispatchKey
from dispatch_core.tracebacks import trim_traceback

from ..history.grad_mode import is_grad_enabled
from ..history.views import share_memory
from ..values.argument_types import DeviceLike
from ..values.devices import as_device
from ..values.layouts import answer, refuse_layout
from .overriding_classes import is_wrapper, read_slots
from .tensor import Tensor, frontend, wrap

_ndarray: Final[Any] = np.ndarray
_PIPELINE: Final = DispatchKey.Pipeline.value
_CPU: Final = dc.Device.parse("cpu")
#: The mask of the cpu's tensors without gradients, layers and layouts.
_PLAIN: Final = DispatchKey.CPU.value | frontend.marker
#: id of an array that the user gave → a reference to the view of it that all windows of its memory refer to. Those of views
#: that are gone mean nothing, and go when there are many.
_sources: Final[dict[int, ref[np.typing.NDArray[Any]]]] = {}
_many_sources = _FEW_SOURCES = 256


class _BorrowedArray(Holder):
    """An array of the user's, known by our only reference to it, a view: held while there are other references."""

    __slots__ = ()

    def is_held(self) -> bool:
        view = self()
        return view is not None and getrefcount(view.base) > _OWN


_VIEW: Final = np.empty(1).view()
#: The number of references that the view and the counting are; it depends on the interpreter.
_OWN: Final = getrefcount(_VIEW.base)


class _LentArray(Holder):
    """An array that was lent out: held while it lives, unless it came back and the last reference to it is ours."""

    __slots__ = ()

    def is_held(self) -> bool:
        array = self()
        return array is not None and not ((known := _sources.get(id(array))) is not None and known() is not None)

    def is_over(self) -> bool:
        # The tensor that the array came back to may go before the user's own reference to the array.
        return self() is None


def _mend_idle_strides(array: np.typing.NDArray[Any]) -> tuple[int, ...]:
    """Return an array's strides; those that tensors do not have, but that no element is found by, as in row-major order."""
    shape, itemsize, mended = array.shape, array.itemsize, []
    step = itemsize
    for size, stride in zip(reversed(shape), reversed(array.strides), strict=True):
        idle = size == 1 or not array.size
        mended.append(step if idle and (stride < 0 or stride % itemsize) else stride)
        step = mended[-1] * max(size, 1)
    return tuple(reversed(mended))


lend, _borrow_whole = make_lending(_sources, _BorrowedArray, np.ndarray, np.asarray)


def borrow(array: np.typing.NDArray[Any]) -> np.typing.NDArray[Any]:
    """Return an array in the same memory whose storage is the user's array, from its first element to its last.

    See Note [Windows] in ``dispatch_core.arrays.lent_memory``. Raises ``ValueError`` for layouts that tensors do not have.
    """
    found: np.typing.NDArray[Any] | None = _borrow_whole(array)
    if found is not None:
        return found
    flags = array.flags
    if array.base is None and flags.owndata and flags.c_contiguous:
        known = _sources.get(id(array))
        view: Any = None if known is None else known()
        if view is None:
            view = _view_source(array)
        shown = _open_window(view, array)
        if shown is not None:
            if flags.writeable:
                lend(shown, _BorrowedArray, view, id(array))
            return shown
    strides, itemsize = _mend_idle_strides(array), array.itemsize
    for stride in strides:
        if stride < 0:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                "currently supported. (You can probably work around this by making a copy of your array with "
                "array.copy().) "
            )
        if stride % itemsize:
            raise ValueError(
                "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate "
                "the memory."
            )
    owner = find_owner(array)
    view = _view_source(owner)
    shown = _open_window(view, array) if array is owner and array.flags.c_contiguous else None
    if shown is None:
        interface = array.__array_interface__
        interface["strides"] = strides
        if not array.flags.c_contiguous:
            last = sum((size - 1) * stride for size, stride in zip(array.shape, strides, strict=True))
            interface["shape"] = (last // itemsize + 1 if array.size else 0,)
            interface["strides"] = None
        shown = np.asarray(Window(view, interface))
        if not array.flags.c_contiguous:
            shown = np.ndarray(array.shape, shown.dtype, shown, 0, strides)
    if array.flags.writeable or owner.flags.writeable:
        # Who else holds memory that is not NumPy's own cannot be known.
        base: Any = owner.base
        is_known = owner.flags.owndata or (isinstance(base, WINDOWS) and is_lent_out(owner))
        lend(shown, _BorrowedArray if is_known else Holder, view)
    return shown


def find_owner(array: np.typing.NDArray[Any]) -> np.typing.NDArray[Any]:
    """Return the array in whose memory an array lies, itself where that is its own."""
    while isinstance(array.base, _ndarray):
        array = array.base
    return array


def _view_source(owner: np.typing.NDArray[Any]) -> np.typing.NDArray[Any]:
    """Return the view of an array of the user's that all windows of its memory refer to."""
    known = _sources.get(id(owner))
    view = None if known is None else known()
    if view is None:
        view = owner.view(_ndarray)
        _sources[id(owner)] = ref(view)
        if len(_sources) > _many_sources:
            _forget_sources()
    return view


def _forget_sources() -> None:
    global _many_sources  # a bound for the process
    for place, known in list(_sources.items()):
        if known() is None and _sources.get(place) is known:
            del _sources[place]
    _many_sources = max(_FEW_SOURCES, 2 * len(_sources))


def _open_window(memory: np.typing.NDArray[Any], array: np.typing.NDArray[Any]) -> np.typing.NDArray[Any] | None:
    """Return an array like ``array`` behind a view of ``memory``, which lies in the same place; None where it differs."""
    try:
        shown = np.asarray(memory.data)
    except (BufferError, ValueError, TypeError):  # a dtype that Python's buffers have no name for
        return None
    return shown if shown.strides == array.strides and shown.dtype is array.dtype else None


def lend_out(array: np.typing.NDArray[Any]) -> np.typing.NDArray[Any]:
    """Return an array in a tensor's memory for the user, who may keep it, or views of it, and write to them later."""
    given = _open_window(array, array)
    if given is None:
        interface = array.__array_interface__
        interface["strides"] = array.strides
        given = np.asarray(Window(array, interface))
    key = id(array) if array.base is None else None  # as `memory_of` finds it
    pin(array, lend(array, _LentArray, given, key) if array.flags.writeable else key)
    return given


@cache
def _is_known(dtype: np.dtype[Any]) -> bool:
    return str(dtype) in _NUMPY_NAMES


_NUMPY_NAMES: Final = [name for name, dtype in BY_NAME.items() if dtype not in NOT_IN_NUMPY]


def check_dtype(array: np.typing.NDArray[Any] | np.generic) -> None:
    """Raise ``TypeError`` for an array of a dtype that tensors do not have, ``ValueError`` for another order of bytes."""
    if not _is_known(array.dtype):
        if not array.dtype.isnative:
            raise ValueError(
                "given numpy array has byte order different from the native byte order. Conversion between byte orders is "
                'currently not supported.\nHint: convert it first, with array.astype(array.dtype.newbyteorder("="))'
            )
        name = f"{array.dtype.type.__module__}.{array.dtype.type.__name__}"
        raise TypeError(
            f"can't convert np.ndarray of type {name}. The only supported types are: {', '.join(_NUMPY_NAMES)}."
        )


@cache
def _device_put() -> Any:
    """Return the operator as a function that makes tensors."""
    op = dc.ops.prims.device_put.default
    return dc.rename_arguments(op, "device_put", Tensor, lambda *args, **options: wrap(op(*args, **options)))


def put(array: np.typing.NDArray[Any], device: DeviceLike = None) -> Tensor:
    """Bring a NumPy array to a device; on the cpu the tensor may share its memory."""
    if not _is_known(array.dtype) and array.dtype.type.__module__ != "ml_dtypes":
        check_dtype(array)
    made: Tensor = _device_put()(array, device=_CPU if device is None else as_device(device))
    return made


def refuse_wrapper(tensor: Tensor, name: str) -> None:
    """Raise ``RuntimeError`` for a tensor that wraps others, and has no elements."""
    if is_wrapper(tensor):
        raise RuntimeError(
            f"{name} is not supported for tensor subclasses.\n"
            f"Hint: {type(tensor).__name__} has no elements of its own: ask the tensors that it wraps"
        )


def read_elements(tensor: Tensor) -> np.typing.NDArray[Any]:
    """Return the elements of a tensor on any device as a NumPy array that must not be written to."""
    try:
        if type(tensor) is Tensor and tensor._dispatch_mask == _PLAIN:
            return host.get(tensor)
        if type(tensor) is not Tensor:
            refuse_wrapper(tensor, "reading the elements")
        refuse_layout(tensor, "reading the elements as one array")
        return host.get(tensor.detach() if tensor.requires_grad else tensor)
    except Exception as error:
        trim_traceback(error)
        raise


def is_recording(tensor: Tensor | None = None) -> bool:
    """Return whether a pipeline may record calls here, or has recorded the tensor; reads two masks and imports nothing."""
    return bool((included_mask() | getattr(tensor, "_dispatch_mask", 0)) & _PIPELINE)


def read_printable(tensor: Tensor) -> np.typing.NDArray[Any]:
    """Return the elements for printing: those of a dtype that NumPy does not have as ``float32``."""
    try:
        if type(tensor) is Tensor and tensor._dispatch_mask == _PLAIN and _is_known(tensor._dispatch_data.dtype):
            return host.get(tensor)
        return read_elements(tensor.float() if tensor.dtype in NOT_IN_NUMPY else tensor)
    except Exception as error:
        trim_traceback(error)
        raise


def _get_shareable(tensor: Tensor) -> np.typing.NDArray[Any]:
    """Return the elements of a tensor that NumPy may share; raises ``TypeError`` or ``RuntimeError`` where it may not."""
    try:
        if type(tensor) is Tensor and tensor._dispatch_mask == _PLAIN:
            _check_shareable(tensor)
            return host.get(tensor)
        if type(tensor) is not Tensor:
            refuse_wrapper(tensor, ".numpy()")
        refuse_layout(tensor, "numpy()")
        if not tensor.is_cpu:
            raise TypeError(
                f"can't convert {tensor.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                "memory first."
            )
        if tensor.requires_grad and is_grad_enabled():
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        _check_shareable(tensor)
        return host.get(tensor)
    except Exception as error:
        trim_traceback(error)
        raise


def _check_shareable(tensor: Tensor) -> None:
    if tensor.dtype in NOT_IN_NUMPY:
        raise TypeError(f"Got unsupported ScalarType {tensor.dtype.name}")


def to_numpy(tensor: Tensor, *, force: bool = False) -> np.typing.NDArray[Any]:
    """Return a NumPy array that shares memory with a cpu tensor; ``force`` allows a copy and a detach."""
    if force:
        _check_shareable(tensor)
    array = read_elements(tensor) if force else _get_shareable(tensor)
    return lend_out(array) if tensor._dispatch_mask == _PLAIN or tensor.is_cpu else array


def to_array(tensor: Tensor, dtype: Any = None, copy: bool | None = None) -> np.typing.NDArray[Any]:
    """Answer ``numpy.asarray(tensor)``."""
    array = _get_shareable(tensor)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested.")
        return array.astype(dtype)
    return array.copy() if copy else lend_out(array)


def from_numpy(ndarray: np.typing.NDArray[Any]) -> Tensor:
    """Return a cpu tensor that shares memory with a NumPy array (source: ``torch.from_numpy``).

    Raises ``TypeError`` for anything but an array, or for a dtype that tensors do not have.

    >>> import numpy
    >>> array = numpy.zeros(2)
    >>> from_numpy(array).add_(1)
    tensor([1., 1.], dtype=torchlike.float64)
    >>> array
    array([1., 1.])
    """
    if not isinstance(ndarray, _ndarray):
        raise TypeError(
            f"expected np.ndarray (got {type(ndarray).__name__})\n"
            "Hint: as_tensor takes lists, numbers and other libraries' arrays"
        )
    if not _is_known(ndarray.dtype):
        check_dtype(ndarray)
    found = _borrow_whole(ndarray)
    made: Tensor = _device_put()(borrow(ndarray) if found is None else found, device=_CPU)
    return made


class _Address(ref["np.typing.NDArray[Any]"]):
    """The address of an array, which keeps its place while something refers to it."""

    __slots__ = ("value",)

    value: int


#: id of an array whose address was read → the address.
_addresses: Final[dict[int, _Address]] = {}


def read_address(array: Any) -> int:
    """Return the address of an array's first element; its memory is lent from then on."""
    known = _addresses.get(id(array))
    if known is not None and known() is array:
        write_recorded(array)
        return known.value
    lend(array, Holder, memory_of(array))
    try:
        found = addressof(c_char.from_buffer(array))
    except (BufferError, TypeError, ValueError):  # an array that is read-only, has gaps, or has no elements
        found = int(array.__array_interface__["data"][0])
    made = _addresses[id(array)] = _Address(array, partial(_addresses.pop, id(array)))
    made.value = found
    return found


def data_ptr(tensor: Tensor) -> int:
    """Return the address of the first element; 0 for tensors without data."""
    data = tensor._dispatch_data
    if type(data) is _ndarray and not included_mask():
        known = _addresses.get(id(data))
        if known is None or known() is not data:
            return read_address(data)
        write_recorded(data)
        return known.value
    refuse_layout(tensor, "data_ptr()")
    if tensor.is_meta or is_wrapper(tensor):
        return 0
    if not tensor.is_cpu:
        found = read_device_address(tensor)
        if found is None:
            raise RuntimeError(f"data_ptr(): {tensor.device} has no addresses in this process")
        return found
    return read_address(read_elements(tensor))


def read_device_address(tensor: Tensor) -> int | None:
    """Return the address of the first element on a device, after recorded writes; None where its backend tells none."""
    from dispatch_core import runtime  # few programs hand addresses on

    address = runtime.find_interface(tensor.device.type).address
    if address is None:
        return None
    if not tensor.numel():
        return 0
    array = materialize(tensor.detach())
    write_recorded(array)
    return address(array)


def reduce(tensor: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Return the parts of a pickled tensor: its class, data, device, whether it requires grad, and its attributes."""
    kind = type(tensor)
    state: Any = tensor.__dict__ or None
    if tensor._dispatch_mask & LAYOUTS:
        return (*answer(tensor, "reduce")(tensor), state)
    if kind is not Tensor:
        if slots := read_slots(tensor):
            state = state, slots
        if is_wrapper(tensor):
            facts = tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.dtype, tensor.requires_grad
            return _rebuild_wrapper, (kind, tensor.device, *facts), state
    if tensor.is_meta:
        return _rebuild_meta, (kind, tuple(tensor.shape), tensor.dtype, tensor.requires_grad, tensor.stride()), state
    array = read_elements(tensor)
    # NumPy's pickles keep the order of no more than two dimensions.
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    turned = [] if array.flags.c_contiguous or not array.transpose(order).flags.c_contiguous else [order]
    array = array.transpose(order) if turned else array
    found = kind, array, str(tensor.device), tensor.requires_grad, *turned
    if tensor._dispatch_mask & PLACING[0]:
        from .mesh_places import describe_place  # few programs have several devices

        if (place := describe_place(tensor)) is not None:
            return _rebuild_placed, (place, *found), state
    return _rebuild, found, state


def _rebuild(
    cls: type[Tensor],
    array: np.typing.NDArray[Any],
    device: str,
    requires_grad: bool,
    order: Sequence[int] | None = None,
) -> Tensor:
    array = array if order is None else array.transpose(np.argsort(order))
    return give_class(put(array, device), cls)._require_grad(requires_grad)


def _rebuild_placed(place: dict[str, Any], *arguments: Any) -> Tensor:
    from .mesh_places import put_in_place  # as above

    made = _rebuild(*arguments)
    put_in_place(made, place)
    return made


def _rebuild_meta(
    cls: type[Tensor],
    shape: tuple[int, ...],
    dtype: Any,
    requires_grad: bool,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    meta = dc.Device("meta")
    if strides is None:  # in pickles of earlier versions
        made = dc.ops.aten.empty(shape, dtype=dtype, device=meta)
    else:
        made = dc.ops.aten.empty_strided(shape, strides, dtype=dtype, device=meta)
    return give_class(wrap(made), cls)._require_grad(requires_grad)


def _rebuild_wrapper(
    cls: Any, device: Any, size: Any, strides: Any, storage_offset: int, dtype: Any, requires_grad: bool
) -> Tensor:
    facts = {"strides": strides, "storage_offset": storage_offset, "dtype": dtype, "device": device}
    made: Tensor = cls._make_wrapper_subclass(cls, size, requires_grad=requires_grad, **facts)
    return made


_rebuild.__module__ = _rebuild_meta.__module__ = "torchlike"  # where pickles look for them


def keep_class(tensor: Tensor, cls: type[Tensor]) -> Tensor:
    """Return an alias of a wrapper as its class makes it; raises ``RuntimeError`` if that is not derived from ``cls``."""
    if not isinstance(tensor, cls):
        raise RuntimeError(
            f"Creating a new Tensor subclass {cls.__name__} but the raw Tensor object is already associated to a python"
            f" object of type {type(tensor).__name__}"
        )
    return tensor.detach()


def as_subclass(cls: type[Tensor], tensor: Tensor) -> Tensor:
    """Return an alias of a tensor, with its history, as an object of `Tensor` or of a class derived from it."""
    refuse_layout(tensor, cls.__name__)
    if type(tensor) is not Tensor and is_wrapper(tensor):
        return keep_class(tensor, cls)
    with dc.exclude_keys("TorchFunction"):
        return give_class(dc.ops.aten.alias.default(tensor), cls)


def give_class(tensor: Tensor, cls: type[Tensor]) -> Tensor:
    """Return a tensor that nothing else refers to as an object of a class."""
    if cls is Tensor:
        return tensor
    try:
        tensor.__class__ = cls
    except TypeError:  # the class has slots of its own
        made = object.__new__(cls)
        made._dispatch_data, made._dispatch_mask = tensor._dispatch_data, tensor._dispatch_mask
        if tensor._dispatch_mask & AUTOGRAD:
            made._autograd = tensor._autograd
        else:
            share_memory(made, tensor)
        return made
    return tensor
