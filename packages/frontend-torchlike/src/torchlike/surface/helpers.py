"""Small functions of torch's own that libraries import (source: ``torch._utils``)."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Final, Generic, NoReturn, ParamSpec

import dispatch_core as dc
from dispatch_aten.dtypes import ScalarType

from ..accelerator import current_accelerator
from ..device_modules.modules import get_device_module
from ..functions.operator_functions import FUNCTIONS
from ..tensors.printing import printoptions
from ..tensors.tensor import Tensor
from ..utils.failures import ExceptionWrapper, KeyErrorMessage
from ..utils.tensor_lists import flatten_dense_tensors as _flatten_dense_tensors
from ..utils.tensor_lists import reorder_tensors_as as _reorder_tensors_as
from ..utils.tensor_lists import take_tensors as _take_tensors
from ..utils.tensor_lists import unflatten_dense_tensors as _unflatten_dense_tensors

__all__ = [
    "CallbackRegistry",
    "ExceptionWrapper",
    "KeyErrorMessage",
    "_flatten_dense_tensors",
    "_reorder_tensors_as",
    "_take_tensors",
    "_unflatten_dense_tensors",
    "boolean_dispatch",
    "classproperty",
    "cpu_count",
    "get_current_device_index",
    "try_import",
]

_P = ParamSpec("_P")
_CPU: Final = "cpu"


def cpu_count() -> int | None:
    """Return the number of processors that the process may use.

    >>> cpu_count() > 0
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def _get_available_device_type() -> str | None:
    """Return the type of the accelerator, None where there is none."""
    found = current_accelerator()
    return None if found is None else found.type


def _get_device_module(device_type: str) -> ModuleType:
    """Return the module of a type of devices; ``RuntimeError`` where there is none."""
    found: ModuleType = get_device_module(device_type)
    return found


def _get_device_attr(get_member: Callable[[Any], Any]) -> Any:
    """Return an attribute of the accelerator's module, None where there is no accelerator."""
    kind = _get_available_device_type()
    return None if kind is None else get_member(get_device_module(kind))


def _get_current_device_index() -> Any:
    """Return the index of the accelerator's current device, None where there is no accelerator."""
    return _get_device_attr(lambda module: module.current_device())


def _get_all_device_indices() -> Any:
    """Return the indices of the accelerator's devices, None where there is no accelerator."""
    return _get_device_attr(lambda module: list(range(module.device_count())))


def _get_devices_properties(device_ids: Iterable[int]) -> list[Any]:
    """Return the properties of the accelerator's devices."""
    read = _get_device_attr(lambda module: module.get_device_properties)
    return [None if read is None else read(each) for each in device_ids]


def get_current_device_index() -> int:
    """Return the index of the current cuda device: -1, since there is none."""
    return -1


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """Return the index of a device, None for the current one where there is no accelerator.

    Args:
        device: The device or its name, or the index itself.
        optional: Whether a device without an index, or None, means the current one.
        allow_cpu: Whether the cpu is a device; its index is -1.

    Raises ``ValueError`` for the cpu and for a device without an index, where they are not allowed.

    >>> _get_device_index("meta:1"), _get_device_index(3), _get_device_index("cpu", allow_cpu=True)
    (1, 3, -1)
    """
    if isinstance(device, str):
        device = dc.Device.parse(device)
    found: int | None = device if isinstance(device, int) else None
    if isinstance(device, dc.Device):
        if device.type == _CPU and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        found = -1 if device.type == _CPU else device.index
    if found is None:
        if not optional:
            raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
        found = _get_current_device_index()
    return found


def _element_size(dtype: Any) -> int:
    """Return the number of bytes of one element; ``RuntimeError`` for anything but a dtype.

    >>> import torchlike
    >>> _element_size(torchlike.float64)
    8
    """
    if not isinstance(dtype, ScalarType):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return int(dtype.itemsize)


def _handle_complex(tensor: Tensor) -> Tensor:
    """Return a complex tensor as its real view, another one as it is."""
    return FUNCTIONS["view_as_real"](tensor) if tensor.is_complex() else tensor


class _ClassPropertyDescriptor:
    """A property of a class itself."""

    def __init__(self, fget: Any) -> None:
        self.fget = fget

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.fget.__get__(instance, type(instance) if owner is None else owner)()


def classproperty(func: Any) -> _ClassPropertyDescriptor:
    """Return a property that is read from a class, too.

    >>> class Counted:
    ...     @classproperty
    ...     def name(cls):
    ...         return cls.__name__
    >>> Counted.name
    'Counted'
    """
    return _ClassPropertyDescriptor(func if isinstance(func, (classmethod, staticmethod)) else classmethod(func))


class CallbackRegistry(Generic[_P]):
    """Functions that are called together; the errors of one do not stop the others, and are written to ``stderr``.

    >>> registry = CallbackRegistry("start")
    >>> registry.add_callback(print)
    >>> registry.fire_callbacks("begun")
    begun
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.callback_list: list[Callable[_P, object]] = []

    def add_callback(self, cb: Callable[_P, object]) -> None:
        """Add a function."""
        self.callback_list.append(cb)

    def fire_callbacks(self, *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Call all functions."""
        for callback in self.callback_list:
            try:
                callback(*args, **kwargs)
            except Exception as error:  # noqa: BLE001  # a callback is the caller's
                sys.stderr.write(f"Exception in callback for {self.name} registered with {callback}: {error}\n")


def try_import(module_name: str) -> ModuleType | None:
    """Return a module, None where there is none.

    >>> try_import("json").__name__, try_import("no_such_module")
    ('json', None)
    """
    found = sys.modules.get(module_name)
    if found is not None:
        return found
    try:
        is_there = importlib.util.find_spec(module_name) is not None
    except ModuleNotFoundError:
        is_there = False
    return importlib.import_module(module_name) if is_there else None


def _import_dotted_name(name: str) -> Any:
    """Return an object by its path, whose first part is imported.

    >>> import json
    >>> _import_dotted_name("json.decoder.JSONDecoder") is json.JSONDecoder
    True
    """
    first, *rest = name.split(".")
    return functools.reduce(getattr, rest, __import__(first))


def render_call(fn: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
    """Return a call as text, with tensors by their sizes.

    >>> import torchlike
    >>> render_call(torchlike.add, [torchlike.ones(2), 1], {"alpha": 2})
    'torch.add(tensor([...], size=(2,)), 1, alpha=2)'
    """
    from ..overrides import resolve_name  # few programs override functions

    with printoptions(threshold=0, edgeitems=0):
        parts = [*map(repr, args), *(f"{name}={each!r}" for name, each in kwargs.items())]
    return f"{resolve_name(fn) or fn}({', '.join(parts)})"


def _dummy_type(name: str) -> type:
    """Return a class whose objects cannot be made: it stands where torch was built without its own."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")

    return type(name, (), {"__init__": refuse})


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str | None,
) -> Callable[..., Any]:
    """Return a function that calls one of two by a boolean argument (source: ``torch._jit_internal``).

    Args:
        arg_name: The argument's name.
        arg_index: Its place among the positional ones.
        default: Its value where it is left out.
        if_true: The function for True.
        if_false: The function for False.
        module_name: The module that the function says it is from.
        func_name: Its name; it keeps its own where this is None.

    >>> choose = boolean_dispatch("down", 1, False, lambda x, down: x - 1, lambda x, down=False: x + 1, "shop", "step")
    >>> choose(3), choose(3, True), choose(3, down=True)
    (4, 2, 2)
    """

    def choose(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs[arg_name] if arg_name in kwargs else args[arg_index] if arg_index < len(args) else default
        return (if_true if chosen else if_false)(*args, **kwargs)

    documented = if_true.__doc__ or if_false.__doc__
    choose.__doc__, choose.__module__ = documented, module_name
    if func_name is not None:
        choose.__name__ = func_name
    return choose
