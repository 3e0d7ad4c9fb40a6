"""Frontends: tensor classes that travel through the dispatcher, and the hooks by which they take part.

Note [The boundary contract]
    A frontend's tensor has two instance attributes, `_dispatch_mask` (its keys and its frontend's marker bit) and
    `_dispatch_data` (the backend's array). Everything else is optional hooks on the class, looked up once:

    ``_dispatch_new()``                    a bare object for a fresh result
    ``_dispatch_view(base, data, op, args)``  the tensor for a result that the schema calls a view of ``base``
    ``_dispatch_views(base, parts, op, args)``  the same for a list of views of ``base``; without it each is made alone
    ``_dispatch_view_code(op, mask)``      (static) the views that generated code may make of tensors with this mask, and
                                           of their views, where arrays can be written: a list of `ViewCode`
    ``_dispatch_mutated(tensor)``          a kernel wrote to this tensor
    ``_dispatch_rebind(tensor, data)``     the tensor's array is now ``data``
    ``_dispatch_remake(tensor)``           the tensor's array is used up: give it another one if it is a view of one that
                                           is there, and return whether it is
    ``_dispatch_mixed(op, args, kwargs)``  the tensors lie on more than one device
    ``_dispatch_autograd(op, keyset, formula)``  (static) the kernel under an Autograd key of ``keyset`` for an operator
                                           that was given an `AutogradFormula`
    ``_dispatch_batching(op, keyset, rule)``  (static) the kernel under ``FuncTorchBatched`` for an operator that was given
                                           a batching rule
    ``_dispatch_autocast(op, keyset, casts)``  (static) the kernel under an Autocast key for an operator that was given
                                           `AutocastInputs`

    ``_dispatch_become(tensor, view)``     the tensor is now another view, of itself or of another tensor; asked where
                                           arrays cannot be written
    ``_dispatch_writing(tensor, name)``    the operator ``name`` gives the tensor another array; raises where it must not
    ``_dispatch_has_history(tensor)``      (static) whether a tensor with an Autograd key may need a gradient; where none
                                           of a call's does, the call may take a short way
    ``_dispatch_records()``                (static) whether calls are recorded for backward here at all
    ``_dispatch_short_gradient(op, mask, gradient, usual, short)``  (static) the runner of calls with an Autograd key in
                                           their ``mask`` of an operator whose short way has a `ShortGradient`: it makes a
                                           node, or goes on with ``usual``, and where nothing is recorded with ``short``
    ``_dispatch_prepare(key)``             (static) a call arrives at an Autograd key: register its kernel, if need be
    ``_dispatch_capture(recording)``       (static) a captured function's call begins: see `pipelines.capture_parts`
    ``_dispatch_functional()``             (static) a `FunctionalBlock`, in which values take the place of writes
    ``_dispatch_environment()``            (static) a value of the settings on which a captured call depends

    The core has no autograd engine, and neither batches nor casts; a frontend that does answers ``_dispatch_autograd`` and
    its kind, once for each operator and keyset, with a function of the operator's arguments. That function goes on with
    ``op.redispatch`` below the keys. Without the hook the formula, the rule or the casts are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from .._record import Record
from ..changes import notify_change
from ..errors import ArgumentError, DeviceMismatchError, RegistrationError, short_repr
from ..forks import Order, forkable
from ..keys.table import AUTOGRAD, MARKER_BITS, MARKERS, DispatchKey
from ..keys.type_sets import name_types
from ..tracebacks import api_boundary
from ..transactions import on_rollback
from .access import is_mutable, to_data
from .owners import TYPE_MASKS, find_type, is_tensor, mask_of, where_to_find_type
from .types import BackendInfo

T = TypeVar("T")


class AutogradFormula(Record):
    """How to differentiate an operator, as its author wrote it (source: ``torch.library.register_autograd``).

    ``backward(ctx, *grads)`` gives one gradient for each positional argument, or None. ``setup_context(ctx, inputs,
    output)`` keeps the values for backward; it is called by keyword, with ``keyword_only_inputs`` too where the schema has
    such arguments. ``backward`` is None where no formula was given: the operator has a history that cannot be followed.
    """

    backward: Callable[..., Any] | None = None
    setup_context: Callable[..., Any] | None = None


class AutocastInputs(Record):
    """How to call an operator where autocast is on for a device (source: ``torch.library.register_autocast``).

    Its floating-point tensors are cast to ``dtype``, and it runs with autocast off for the device, whose key is ``key``.
    """

    device_type: str
    dtype: Any
    key: DispatchKey


class ViewCode(Record):
    """How generated code makes a view of some tensors, in the place of the hook: it gets a mask and one attribute.

    Its value, and the condition that the tensor must meet besides its mask, if any, are text. There ``{base}`` stands for
    the tensor that is viewed, ``{rest}`` for the further arguments as the items of a tuple, ``__op`` for the operator;
    ``constants`` have names that begin with two underscores.
    """

    base_mask: int
    condition: str
    mask: int
    attribute: str
    value: str
    constants: dict[str, Any]


class FunctionalBlock(Protocol):
    """A block of a program in which a frontend computes values in the place of writes."""

    def begin(self) -> None:
        """Enter the block."""

    def end(self) -> None:
        """Leave the block, unless that was done; no operator is called."""

    def finish(self) -> None:
        """Write to the tensors from outside the values that they should hold, once each; called after the end."""

    def leave(self, tensor: Any) -> Any:
        """Return the tensor that stands, after that, for one of the block; another one as it is."""

    def settle(self) -> None:
        """Turn the tensors of the block that are still in use into ordinary ones; the last call."""


class Frontend(Record, Generic[T]):
    """A registered frontend: its tensor class, the marker bit that its tensors carry, and its hooks."""

    name: str
    tensor_type: type[T]
    marker: int
    new: Callable[[], Any]
    view: Callable[[Any, Any, Any, tuple[Any, ...]], Any] | None
    mutated: Callable[[Any], None] | None
    rebind: Callable[[Any, Any], None]
    mixed: Callable[..., Any]
    autograd: Callable[[Any, Any, AutogradFormula], Callable[..., Any]] | None
    prepare: Callable[[Any], None] | None = None
    writing: Callable[[Any, str], None] | None = None
    become: Callable[[Any, Any], None] | None = None
    views: Callable[[Any, list[Any], Any, tuple[Any, ...]], list[Any]] | None = None
    capture: Callable[[Any], Any] | None = None
    environment: Callable[[], Any] | None = None
    has_history: Callable[[Any], bool] | None = None
    view_code: Callable[[Any, int], list[ViewCode]] | None = None
    short_gradient: Callable[[Any, int, Any, Callable[..., Any], Callable[..., Any]], Callable[..., Any]] | None = None
    records: Callable[[], bool] | None = None
    remake: Callable[[Any], bool] | None = None
    functional: Callable[[], FunctionalBlock] | None = None
    batching: Callable[[Any, Any, Callable[..., Any]], Callable[..., Any]] | None = None
    autocast: Callable[[Any, Any, AutocastInputs], Callable[..., Any]] | None = None

    def wrap(self, array: Any) -> T:
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
#: The calls of captured functions that are being recorded, in all threads.
CAPTURING: Final[list[Any]] = []
_lock: Final = forkable(Order.TABLE)
_PIPELINE: Final = DispatchKey.Pipeline.value


def _bare(tensor_type: type[T]) -> Callable[[], T]:
    """Return a function that makes a bare object: the class itself, which is quickest, unless its construction does more."""
    plain = tensor_type.__new__ is object.__new__ and tensor_type.__init__ is object.__init__
    return tensor_type if plain and type(tensor_type) is type else partial(object.__new__, tensor_type)


def bind(tensor: Any, data: Any) -> None:
    """Store ``data`` in ``tensor``, an array of its device or a value that will be one, and the keys that say which."""
    tensor._dispatch_data = data
    tensor._dispatch_mask = tensor._dispatch_mask & ~_PIPELINE | TYPE_MASKS.get(type(data), 0) & _PIPELINE


def refuse_mixed(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Refuse a call whose arrays lie on different devices, naming argument and device of each."""
    from .access import device

    found: list[tuple[str, str]] = []
    kinds: dict[type, None] = {}
    wrapped = False
    names = (
        [str(index) for index in range(len(args))]
        if op._entry.schema is None
        else [argument.name for argument in op.schema.arguments]
    )
    values = dict(zip(names, args, strict=False)) | kwargs
    for name, value in values.items():
        for item in value if isinstance(value, list | tuple) else (value,):
            if is_tensor(item):
                found.append((name, str(device(item))))
                kinds[type(item)] = None
                wrapped = wrapped or frontend_of(item) is not None
    devices = sorted({place for _, place in found})
    where = ", ".join(f"'{name}' on {place}" for name, place in found)
    raise DeviceMismatchError(
        f"{op.name}: Expected all tensors to be on the same device, but found at least two devices,"
        f" {devices[0]} and {devices[-1]}! (arguments {where}){_list_sets(op)}",
        hint="move them to one device first" + ("" if wrapped else _suggest_set(op, kinds)),
    )


def _list_sets(op: Any) -> str:
    """Return a line that lists the sets of types for which an operator has kernels, or ""."""
    held = ", ".join(f"{found[0].key.label} ({found[0].origin})" for found in op._entry.for_types())
    return held and f"\nKernels for sets of types: {held}"


def _suggest_set(op: Any, kinds: Iterable[type]) -> str:
    names = ", ".join(name_types(kinds))
    return f", or register a kernel for all of their types: Library.impl({op.name!r}, kernel, types=({names}))"


#: The fields of a frontend that are members of its class, each with the prefix ``_dispatch_``.
_HOOKS: Final = tuple(field for field in Frontend.__match_args__ if field not in ("name", "tensor_type", "marker"))


@api_boundary
def register_frontend(name: str, tensor_type: type[T]) -> Frontend[T]:
    """Register ``tensor_type``: operators take and return tensors of it and of its subclasses.

    See Note [The boundary contract] for the members of the class. Results are made by ``tensor_type`` itself, whatever
    subclass the arguments have. Raises ``RegistrationError`` when the class belongs to a frontend already.

    >>> class Box:
    ...     __slots__ = ("_dispatch_mask", "_dispatch_data")
    >>> register_frontend("boxes", Box).name
    'boxes'
    """
    if not isinstance(tensor_type, type):
        raise ArgumentError(f"a frontend is registered for a class of tensors, not {short_repr(tensor_type)}")
    with _lock:
        for known in FRONTENDS.values():
            if issubclass(tensor_type, known.tensor_type) or issubclass(known.tensor_type, tensor_type):
                raise RegistrationError(
                    f"frontend {name!r}: {tensor_type.__qualname__} belongs to frontend {known.name!r} already",
                    hint="a tensor class belongs to one frontend",
                )
        bit = next((1 << bit for bit in MARKER_BITS if 1 << bit not in FRONTENDS), 0)
        if not bit:
            raise RegistrationError(f"no room for frontend {name!r}: {len(MARKER_BITS)} are registered")
        usual = {"new": _bare(tensor_type), "rebind": bind, "mixed": refuse_mixed}
        hooks: dict[str, Any] = {hook: getattr(tensor_type, f"_dispatch_{hook}", usual.get(hook)) for hook in _HOOKS}
        frontend = Frontend(name=name, tensor_type=tensor_type, marker=bit, **hooks)
        FRONTENDS[bit] = frontend
    on_rollback(lambda: _remove(frontend))
    return frontend


def _remove(frontend: Frontend[Any]) -> None:
    with _lock:
        FRONTENDS.pop(frontend.marker, None)
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
    return FRONTENDS.get(mask & MARKERS) if mask else None


def may_need_gradient(value: object) -> bool:
    """Return whether a value is a frontend's tensor that may need a gradient; never False for one that does."""
    mask = getattr(value, "_dispatch_mask", 0)
    if not mask & AUTOGRAD:
        return False
    frontend = FRONTENDS[mask & MARKERS]
    return frontend.has_history is None or frontend.has_history(value)


def wrap_like(reference: object, array: Any) -> Any:
    """Return ``array`` as a tensor of the frontend that ``reference`` belongs to; unchanged when that is a raw array.

    For composite kernels: a factory called inside one returns a raw array.
    """
    frontend = frontend_of(reference)
    if frontend is not None and type(array) not in TYPE_MASKS and not isinstance(array, frontend.tensor_type):
        mask_of(array)  # loads the backend that owns it, or raises
    return array if frontend is None else frontend.wrap(array)


def check_writing(tensor: Any, name: str) -> None:
    """Ask the frontend of ``tensor`` whether the operator ``name`` may give it another array, as a write does."""
    frontend = frontend_of(tensor)
    if frontend is not None and frontend.writing is not None:
        frontend.writing(tensor, name)


def become(tensor: Any, view: Any) -> Any:
    """Turn a frontend's ``tensor`` into ``view``, and return it; ``view`` is one of the tensor itself or of another."""
    frontend = frontend_of(tensor)
    if frontend is None or frontend.become is None or is_mutable(view):
        return rebind(tensor, view)
    frontend.become(tensor, view)
    if frontend.mutated is not None:
        frontend.mutated(tensor)
    return tensor


def rebind(tensor: Any, value: Any) -> Any:
    """Store the array of ``value`` in a frontend's ``tensor``, and return it; for a raw array return ``value`` itself.

    For composite kernels that write to an argument by giving it another array, as a resize does; it counts as a write.
    """
    frontend = frontend_of(tensor)
    if frontend is None:
        return value
    data = to_data(value)
    if type(data) not in TYPE_MASKS:
        mask_of(data)  # loads the backend that owns it, or raises
    frontend.rebind(tensor, data)
    if frontend.mutated is not None:
        frontend.mutated(tensor)
    return tensor
