"""Frontends: tensor classes that travel through the dispatcher, each with objects for the protocols that it implements."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from difflib import get_close_matches
from functools import partial
from types import FunctionType
from typing import Any, Final, Generic, TypeVar

from .._record import Record
from ..bookkeeping.changes import notify_change
from ..bookkeeping.transactions import on_rollback
from ..errors import ArgumentError, RegistrationError, short_repr
from ..forks import Order, forkable
from ..keys.table import ARRAYS, AUTOGRAD, MARKER_BITS, MARKERS, keys_of
from ..tracebacks import api_boundary
from .access import is_mutable, to_data
from .owners import TYPE_MASKS, find_type, mask_of, where_to_find_type
from .protocols import Autograd, Capture, Layers, Views, Writes, bind, refuse_mixed
from .types import Array, BackendInfo

T = TypeVar("T")


class Frontend(Record, Generic[T]):
    """A registered frontend: its tensor class, the marker bit that its tensors carry, and the protocols that it implements.

    ``new`` makes a bare tensor. Of a protocol that it does not implement, the frontend has None.
    """

    name: str
    tensor_type: type[T]
    marker: int
    new: Callable[[], Any]
    views: Views | None = None
    writes: Writes | None = None
    autograd: Autograd | None = None
    layers: Layers | None = None
    capture: Capture | None = None

    @property
    def rebind(self) -> Callable[[Any, Any], None]:
        """The function that stores another array in a tensor."""
        return bind if self.writes is None else self.writes.rebind

    @property
    def call_mixed(self) -> Callable[..., Any]:
        """The function that decides over calls with tensors of several devices, `refuse_mixed` as a rule."""
        is_usual = self.layers is None or getattr(type(self.layers), "call_mixed", None) is Layers.call_mixed
        return refuse_mixed if is_usual else self.layers.call_mixed  # type: ignore[union-attr]  # then it is there

    def wrap(self, array: Array) -> T:
        """Return a fresh tensor for a backend's ``array``; a tensor, as a layer may have made of it, stays as it is.

        Raises ``ArgumentError`` when no backend owns the array's type.
        """
        mask = TYPE_MASKS.get(type(array))
        if not mask:
            if isinstance(array, self.tensor_type):
                return array
            mask = find_type(type(array), array)
        if not mask:
            raise ArgumentError(
                f"no backend owns arrays of type {type(array).__module__}.{type(array).__qualname__}",
                hint=where_to_find_type(type(array)) or "python -m dispatch_core list shows the installed backends",
            )
        tensor = self.new()
        tensor._dispatch_mask = mask | self.marker
        tensor._dispatch_data = array
        return tensor


#: marker bit → frontend.
FRONTENDS: Final[dict[int, Frontend[Any]]] = {}
#: Make the blocks that frontends enter with each stream of a device.
STREAM_BLOCKS: Final[list[Callable[[], AbstractContextManager[object]]]] = []
#: Whether a stream has been made current in this process; empty before.
STREAMS_CHOSEN: Final[list[bool]] = []
#: The calls of captured functions that are being recorded, in all threads.
CAPTURING: Final[list[Any]] = []
_lock: Final = forkable(Order.TABLE)
_on_frontends: Final[list[Callable[[], object]]] = []


def on_frontends(callback: Callable[[], object]) -> None:
    """Call ``callback`` whenever a frontend was registered or has gone."""
    _on_frontends.append(callback)


def _bare(tensor_type: type[T]) -> Callable[[], T]:
    """Return a function that makes a bare object: a call of the class, which is quickest, unless it does more."""
    if _is_plain(tensor_type):
        return tensor_type if type(tensor_type) is type else type.__call__.__get__(tensor_type)
    return partial(object.__new__, tensor_type)


def _is_plain(tensor_type: Any) -> bool:
    return tensor_type.__new__ is object.__new__ and tensor_type.__init__ is object.__init__


def is_bare(new: object, tensor_type: type) -> bool:
    """Return whether a frontend's ``new`` does no more than make a bare object of its class."""
    return _is_plain(tensor_type) and bool(new in (tensor_type, type.__call__.__get__(tensor_type)))


#: The parameters of `register_frontend` that take objects, each with its protocol.
_PROTOCOLS: Final[dict[str, type]] = {
    "views": Views,
    "writes": Writes,
    "autograd": Autograd,
    "layers": Layers,
    "capture": Capture,
}


@api_boundary
def register_frontend(
    name: str,
    tensor_type: type[T],
    *,
    new: Callable[[], T] | None = None,
    views: Views | None = None,
    writes: Writes | None = None,
    autograd: Autograd | None = None,
    layers: Layers | None = None,
    capture: Capture | None = None,
) -> Frontend[T]:
    """Register ``tensor_type``: operators take and return tensors of it and of its subclasses.

    The objects implement the protocols of those names, in `dispatch_core.frontends`; without one, tensors do what is
    usual. Results are made by ``new``, or else by ``tensor_type`` itself, whatever subclass the arguments have. Raises
    ``RegistrationError`` when the class or the name belongs to a frontend already, and ``ArgumentError`` for an object
    without all methods of its protocol.

    >>> class Box:
    ...     __slots__ = ("_dispatch_mask", "_dispatch_data")
    >>> register_frontend("boxes of the example", Box).name
    'boxes of the example'
    """
    if not isinstance(tensor_type, type):
        raise ArgumentError(f"a frontend is registered for a class of tensors, not {short_repr(tensor_type)}")
    given: dict[str, Any] = {
        "views": views,
        "writes": writes,
        "autograd": autograd,
        "layers": layers,
        "capture": capture,
    }
    for parameter, protocol in _PROTOCOLS.items():
        _check_methods(name, parameter, protocol, given[parameter])
    flat = _adapt_flat_hooks(name, tensor_type)
    given |= {parameter: made for parameter, made in flat.items() if given.get(parameter) is None}
    new = new or given.pop("new", None) or _bare(tensor_type)
    with _lock:
        for known in FRONTENDS.values():
            if issubclass(tensor_type, known.tensor_type) or issubclass(known.tensor_type, tensor_type):
                raise RegistrationError(
                    f"frontend {name!r}: {tensor_type.__qualname__} belongs to frontend {known.name!r} already",
                    hint="a tensor class belongs to one frontend",
                )
            if known.name == name:
                raise RegistrationError(
                    f"frontend {name!r}: {known.tensor_type.__module__}.{known.tensor_type.__qualname__} is registered"
                    " under the name already",
                    hint="a name belongs to one frontend: choose another one",
                )
        bit = next((1 << bit for bit in MARKER_BITS if 1 << bit not in FRONTENDS), 0)
        if not bit:
            raise RegistrationError(f"no room for frontend {name!r}: {len(MARKER_BITS)} are registered")
        frontend = Frontend(name=name, tensor_type=tensor_type, marker=bit, new=new, **given)
        FRONTENDS[bit] = frontend
    for callback in _on_frontends:
        callback()
    on_rollback(lambda: _remove(frontend))
    return frontend


def _methods_of(protocol: type) -> list[str]:
    return [each for each, value in vars(protocol).items() if isinstance(value, FunctionType) and each[0] != "_"]


def _check_methods(name: str, parameter: str, protocol: type, given: object) -> None:
    """Refuse an object that lacks methods of its protocol, or that is a class instead of one of its objects."""
    if given is None:
        return
    shown = f"frontend {name!r}: {parameter}= takes an object with the methods of frontends.{protocol.__name__}"
    if isinstance(given, type):
        raise ArgumentError(f"{shown}, not the class {given.__qualname__}", hint=f"make one: {given.__qualname__}()")
    missing = [each for each in _methods_of(protocol) if not callable(getattr(given, each, None))]
    if missing:
        raise ArgumentError(
            f"{shown}, but {short_repr(given)} lacks {', '.join(missing)}",
            hint=f"derive its class from dispatch_core.frontends.{protocol.__name__}, whose methods do what is usual",
        )
    own = {each for cls in type(given).__mro__[:-1] if cls is not protocol for each in vars(cls) if each[0] != "_"}
    for each in sorted(own.difference(dir(protocol))):
        near = get_close_matches(each, _methods_of(protocol), 1, 0.8)
        if near and near[0] not in own:
            raise ArgumentError(
                f"{shown}; {type(given).__qualname__} has {each}, which nothing asks for",
                hint=f"did you mean {near[0]}?",
            )


#: The former names of methods as members of tensor classes, ``_dispatch_…``, where they had others.
_FORMER: Final = {
    "note_write": "mutated",
    "check_write": "writing",
    "autograd_kernel": "autograd",
    "batching_kernel": "batching",
    "autocast_kernel": "autocast",
    "functional_block": "functional",
    "call_mixed": "mixed",
    "capture_part": "capture",
}


def _wrap_view(base: object, data: object, op: Any, args: tuple[Any, ...]) -> object:
    return wrap_like(base, data)


def _adapt_flat_hooks(name: str, tensor_type: type) -> dict[str, Any]:
    """Return objects for the protocols whose methods a tensor class has under their former names, with a warning."""
    made: dict[str, Any] = {}
    found: list[str] = []
    for parameter, protocol in _PROTOCOLS.items():
        former = {each: f"_dispatch_{_FORMER.get(each, each)}" for each in _methods_of(protocol)}
        hooks = {each: staticmethod(hook) for each, old in former.items() if (hook := getattr(tensor_type, old, None))}
        if parameter == "views" and hooks:  # without the member, a view was a fresh tensor
            hooks.setdefault("view", staticmethod(_wrap_view))
        if hooks:
            made[parameter] = type(f"Flat{protocol.__name__}", (protocol,), hooks)()
            found += [former[each] for each in hooks if hasattr(tensor_type, former[each])]
    if new := getattr(tensor_type, "_dispatch_new", None):
        made["new"] = new
        found.append("_dispatch_new")
    if found:
        parameters = ", ".join(f"{each}=" for each in made)
        warnings.warn(
            f"frontend {name!r}: {', '.join(found)} of {tensor_type.__qualname__} are methods of protocols now; the members"
            f" go in 0.2\nHint: give register_frontend objects: {parameters}",
            DeprecationWarning,
            stacklevel=4,
        )
    return made


def _remove(frontend: Frontend[Any]) -> None:
    with _lock:
        FRONTENDS.pop(frontend.marker, None)
    for callback in _on_frontends:
        callback()
    # The next frontend gets the same marker; nothing may go on making this one's tensors for it.
    notify_change()


def refuse_tensors(info: BackendInfo) -> None:
    """Raise ``RegistrationError`` for an array type of a backend that is a frontend's class of tensors."""
    for cls in (each.type for each in info.array_types):
        for frontend in FRONTENDS.values():
            if issubclass(cls, frontend.tensor_type):
                raise RegistrationError(
                    f"device {info.name!r} claims the array type {cls.__module__}.{cls.__qualname__}, which is a class of"
                    f" tensors of frontend {frontend.name!r}",
                    hint="claim the class of your arrays, which such tensors hold",
                )


def frontend_of(value: object) -> Frontend[Any] | None:
    """Return the frontend whose tensor ``value`` is, or None for a raw array."""
    mask = getattr(value, "_dispatch_mask", 0)
    try:
        return FRONTENDS.get(mask & MARKERS) if mask else None
    except TypeError:  # a class of tensors, whose mask is a descriptor
        return None


def may_need_gradient(value: object) -> bool:
    """Return whether a value is a frontend's tensor that may need a gradient; never False for one that does."""
    mask = getattr(value, "_dispatch_mask", 0)
    if not mask & AUTOGRAD:
        return False
    frontend = FRONTENDS[mask & MARKERS]
    return frontend.autograd is None or frontend.autograd.has_history(value)


def wrap_like(reference: object, array: object) -> Any:
    """Return ``array`` as a tensor of the frontend that ``reference`` belongs to; unchanged when that is a raw array.

    For composite kernels: a factory called inside one returns a raw array.
    """
    frontend = frontend_of(reference)
    if frontend is not None and type(array) not in TYPE_MASKS and not isinstance(array, frontend.tensor_type):
        mask_of(array)  # loads the backend that owns it, or raises
    return array if frontend is None else frontend.wrap(array)


def check_writing(tensor: object, name: str) -> None:
    """Ask the frontend of ``tensor`` whether the operator ``name`` may give it another array, as a write does."""
    frontend = frontend_of(tensor)
    if frontend is not None and frontend.writes is not None:
        frontend.writes.check_write(tensor, name)


def become(tensor: object, view: object) -> Any:
    """Turn a frontend's ``tensor`` into ``view``, and return it; ``view`` is one of the tensor itself or of another."""
    frontend = frontend_of(tensor)
    if frontend is None or frontend.writes is None or is_mutable(view):
        return rebind(tensor, view)
    frontend.writes.become(tensor, view)
    frontend.writes.note_write(tensor)
    return tensor


def rebind(tensor: object, value: object) -> Any:
    """Store the array of ``value`` in a frontend's ``tensor``, and return it; for a raw array return ``value`` itself.

    For composite kernels that write to an argument by giving it another array, as a resize does; it counts as a write.
    Raises ``ArgumentError`` for an array of another device or layout.
    """
    frontend = frontend_of(tensor)
    if frontend is None:
        return value
    data = to_data(value)
    keys = TYPE_MASKS.get(type(data)) or mask_of(data)  # which loads the backend that owns it, or raises
    if (keys ^ tensor._dispatch_mask) & ARRAYS:  # type: ignore[attr-defined]  # a frontend's tensor
        names = " and ".join(key.label for key in keys_of(keys & ARRAYS))
        raise ArgumentError(
            f"rebind: the array belongs to {names}, and the tensor is of another device or layout",
            hint="copy the array to the tensor's device first",
        )
    frontend.rebind(tensor, data)
    if frontend.writes is not None:
        frontend.writes.note_write(tensor)
    return tensor
