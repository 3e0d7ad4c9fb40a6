"""The API for frontends with a tensor class of their own, beyond the names of ``dispatch_core`` itself.

>>> import dispatch_core as dc
>>> class Box:
...     __slots__ = ("_dispatch_data", "_dispatch_mask")
>>> register_frontend("crates", Box).name
'crates'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from .arrays.access import storage_of, storage_offset, to_data
from .arrays.frontend import (
    CAPTURING,
    FRONTENDS,
    STREAM_BLOCKS,
    STREAMS_CHOSEN,
    Frontend,
    become,
    check_writing,
    may_need_gradient,
    register_frontend,
)
from .arrays.indices import PLACING, find_named_index
from .arrays.layouts import TensorLayout, components_of, field_names, find_layout
from .arrays.lent_memory import (
    BEFORE,
    LENT,
    WINDOWS,
    Holder,
    Window,
    forget,
    is_lent_out,
    is_pinned,
    lend,
    memory_of,
    pin,
    write_recorded,
)
from .arrays.owners import ARRAY_TYPES, KEY_TYPES, PLACES, add_stand_in
from .arrays.protocols import (
    AutocastInputs,
    Autograd,
    AutogradFormula,
    Capture,
    FunctionalBlock,
    Layers,
    RecordedCall,
    ViewCode,
    Views,
    Writes,
    bind,
    refuse_mixed,
)
from .arrays.thread_device import find_current
from .bookkeeping.changes import on_devices
from .bookkeeping.transactions import run_outside
from .calls.overriding import refused_calls
from .discovery import loader
from .errors import OperatorNotFoundError
from .keys import context
from .keys.table import ARRAYS, AUTOGRAD, DispatchKey, keys_of
from .pipelines import open_recording as recording

if TYPE_CHECKING:
    from .arrays.caller_streams import note_use
    from .arrays.types import ArrayType, Availability
    from .calls.signature import CallSignature
    from .layers.layout_calls import call_converted
    from .operators.kernel_handle import find_composite, find_functional, make_inlined_kernel
    from .operators.overloads import OpOverload
    from .operators.registration import registers_for_callers
    from .pipelines import (
        CapturePart,
        Finish,
        Pending,
        Recording,
        is_pending,
        materialize,
        materialize_value,
        run_random_steps,
    )
    from .runtime.streams import current_stream, default_stream, has_streams

__all__ = [
    "ARRAYS",
    "AUTOGRAD",
    "CAPTURING",
    "PLACES",
    "PLACING",
    "STREAMS_CHOSEN",
    "STREAM_BLOCKS",
    "WINDOWS",
    "AutocastInputs",
    "Autograd",
    "AutogradFormula",
    "Capture",
    "CapturePart",
    "Finish",
    "Frontend",
    "FunctionalBlock",
    "Holder",
    "Layers",
    "Pending",
    "RecordedCall",
    "Recording",
    "TensorLayout",
    "ViewCode",
    "Views",
    "Window",
    "Writes",
    "add_stand_in",
    "array_type",
    "array_types",
    "availability",
    "become",
    "bind",
    "call_converted",
    "call_signature",
    "captured_part",
    "check_writing",
    "components_of",
    "current_masks",
    "current_modes",
    "current_session",
    "current_stream",
    "default_stream",
    "field_names",
    "find_array_type",
    "find_composite",
    "find_current",
    "find_functional",
    "find_layout",
    "find_named_index",
    "find_with_autograd",
    "has_masks",
    "has_streams",
    "included_mask",
    "is_lent_out",
    "is_loaded",
    "is_pending",
    "is_pinned",
    "keep_in_code",
    "keys_of",
    "lend",
    "look_for_classes",
    "make_backward",
    "make_inlined_kernel",
    "make_items",
    "make_lending",
    "make_question",
    "materialize",
    "materialize_value",
    "may_need_gradient",
    "memory_of",
    "note_use",
    "on_devices",
    "pin",
    "read_offset",
    "recording",
    "refuse_mixed",
    "refused_calls",
    "register_frontend",
    "registers_for_callers",
    "renew_targets",
    "reset_masks",
    "run_outside",
    "run_random_steps",
    "runtime",
    "set_masks",
    "storage_of",
    "to_data",
    "with_included",
    "without_included",
    "write_recorded",
]

#: Names of modules that most programs never load, those of the pipelines above all.
_LATE = {
    "call_converted": ".layers.layout_calls",
    "find_composite": ".operators.kernel_handle",
    "find_functional": ".operators.kernel_handle",
    "make_inlined_kernel": ".operators.kernel_handle",
    "registers_for_callers": ".operators.registration",
    "CapturePart": ".pipelines",
    "Finish": ".pipelines",
    "Pending": ".pipelines",
    "Recording": ".pipelines",
    "is_pending": ".pipelines",
    "materialize": ".pipelines",
    "materialize_value": ".pipelines",
    "run_random_steps": ".pipelines",
    "current_stream": ".runtime.streams",
    "default_stream": ".runtime.streams",
    "has_streams": ".runtime.streams",
    "note_use": ".arrays.caller_streams",
}


def __getattr__(name: str) -> object:
    module = _LATE.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(module, __package__), name)
    return found


current_masks: Final = context.current
"""Returns the context's masks, the keys that calls include and those that they exclude, or None where there are none."""

set_masks: Final = context.set_state
"""Sets the context's masks by subscript, ``set_masks[masks]``, for guards of layers; returns the token for `reset_masks`."""

reset_masks: Final = context.reset_state
"""Restores the masks before a token was made."""

keep_in_code = context.keep_in_code
with_included, without_included = context.with_included, context.without_included

find_array_type: Final = ARRAY_TYPES.get
"""Returns the `ArrayType` of a class of arrays, or None, for less than a call of `array_type` costs."""


def make_question(
    frontend: Frontend[Any],
    plain: Any,
    attribute: str,
    *,
    array_type: type | None = None,
    answers: Mapping[Any, Any] | None = None,
    beside: str | None = None,
    unless_zero: str | None = None,
    takes_index: bool = False,
    keys: int = 0,
    state: str | None = None,
    absent: object = False,
    busy: object = None,
    sure: type | None = None,
) -> Any:
    """Return a property or a method of a frontend's class that a compiled front answers; ``plain`` itself without a front.

    For a tensor whose array is of ``array_type`` the answer is the ``attribute`` of the array (``"flags.writeable"`` is one
    of an attribute), or what the dictionary ``answers`` has for it, or for the pair of it and the attribute ``beside``; not
    for an array whose attribute ``unless_zero`` is 0. A method that ``takes_index`` may be given an int, and answers with
    that item. With ``keys`` the answer is ``absent`` for a tensor without one of them, and else the ``attribute`` of its
    state, in the slot ``state``: a bool, or with ``sure`` any object, but None and bools of states of that class alone; and
    nothing is answered while ``busy`` is true. Whatever is not found so is the answer of ``plain``.

    >>> class Flag:
    ...     __slots__ = ("_dispatch_data", "_dispatch_mask")
    ...     colour = property(lambda self: "red")
    >>> flags = register_frontend("flags of an example", Flag)
    >>> flag, colour = flags.new(), make_question(flags, Flag.colour, "colour", array_type=str)
    >>> flag._dispatch_data = 1
    >>> isinstance(colour, property), colour.__get__(flag)
    (True, 'red')
    """
    from .calls.native import find_front

    front = find_front()
    if front is None:
        return plain
    from .calls.native.questions import make_answered  # which others do without

    given = attribute, array_type, answers, beside, unless_zero, takes_index, keys, state, absent, busy, sure
    return make_answered(front, frontend, plain, *given)


def make_items(
    frontend: Frontend[Any],
    plain: Callable[..., Any],
    *,
    array_type: type,
    unless: object,
    operators: tuple[Any, Any, Any, Any],
    frames: tuple[Callable[..., Any], Callable[..., Any]],
) -> Callable[..., Any]:
    """Return a method that reads items of a tensor, of which a compiled front serves the plain ones; ``plain`` without one.

    The indices are ints, slices, None and ``...``, alone or in a tuple; the tensors are of the frontend's class itself, with
    arrays of ``array_type``; and nothing is served while the object ``unless`` is true. The ``operators`` are called as
    ``row(tensor, dim, index)``, ``range(tensor, dim, start, stop, step)``, ``wrap(tensor, dim)`` for None, and
    ``all(tensor)`` where every dimension is kept. Their errors pass the ``frames`` of the functions in which ``plain`` calls
    them for a slice, and for a tuple.

    >>> class Row:
    ...     __slots__ = ("_dispatch_data", "_dispatch_mask")
    >>> def read(row, index):
    ...     return f"item {index}"
    >>> rows = register_frontend("rows of an example", Row)
    >>> found = make_items(rows, read, array_type=int, unless=(), operators=(min, min, min, min), frames=(read, read))
    >>> found(rows.new(), 2)
    'item 2'
    """
    from .calls.native import find_front

    front = find_front()
    if front is None:
        return plain
    from .calls.native.questions import make_item  # which others do without

    made: Callable[..., Any] = make_item(front, frontend, plain, array_type, unless, operators, frames)
    return made


def make_lending(
    sources: dict[int, Any], holder: type[Holder], array_type: type, show: Callable[[Any], Any]
) -> tuple[Callable[..., Any], Callable[[Any], Any]]:
    """Return `lend`, and a function that takes an array of the user's over, both as a compiled front has them.

    The second one serves a whole array of ``array_type`` that owns its memory and may be written to. It returns what
    ``show`` makes of a ``memoryview`` of the view of the array that ``sources`` has a weak reference to, by the array's id,
    or gets one; the memory is lent until a ``holder`` of that view says otherwise. For every other array, and without a
    front, it returns None.

    >>> lend, borrow = make_lending({}, Holder, bytearray, bytes)
    >>> borrow(1) is None
    True
    """
    from .calls.native import find_front

    front = find_front()
    if front is None:
        return lend, lambda array: None
    made = front.Lending(LENT, BEFORE, lend, forget, sources, holder, array_type, show)
    return made.lend, made.borrow


def make_backward(**parts: object) -> Callable[..., Any] | None:
    """Return a function that runs backward in compiled code; None where no compiled front is installed.

    The ``parts`` are those that torchlike's engine gives: the front's does as that one. The function returns None, or
    ``NotImplemented`` before it has done anything.

    >>> make_backward is not None
    True
    """
    from .calls.native import find_front

    front = find_front()
    if front is None:
        return None
    made: Callable[..., Any] = front.Backward(**parts)
    return made


def renew_targets(op: OpOverload) -> None:
    """Make compiled callers ask again how an operator's runners are run: one of them runs otherwise now."""
    for lazy in op._callers:
        lazy.forget_targets()


def array_type(array: object) -> ArrayType | None:
    """Return the `ArrayType` of an array, or of a value that represents one; None for a type that no backend owns."""
    return ARRAY_TYPES.get(type(array))


def array_types(keys: int) -> tuple[ArrayType, ...]:
    """Return the types of array that kernels under the keys of a mask return.

    >>> array_types(0)
    ()
    """
    return tuple(known for key in keys_of(keys & ARRAYS) for known in KEY_TYPES.get(key, ()))


def call_signature(op: OpOverload) -> CallSignature:
    """Return the parameters and results of an operator's calls.

    Raises ``OperatorNotFoundError`` for an operator without a schema.

    >>> import dispatch_core as dc
    >>> with dc.Library("demo", "DEF") as library:
    ...     _ = library.define("move(Tensor(a!) self, *, Tensor? other=None) -> Tensor(a!)")
    ...     found = call_signature(dc.ops.demo.move.default)
    >>> [(each.name, each.tensors, each.writes) for each in found.parameters], found.results[0].kind
    ([('self', 'tensor', True), ('other', 'optional', False)], 'self')
    """
    signature = op._entry.signature
    if signature is None:
        raise OperatorNotFoundError(
            f"{op.name} has no schema, so its tensors cannot be told",
            hint="define it with a schema: dispatch_core.Library.define",
        )
    return signature


def is_loaded(device: str) -> bool:
    """Return whether a device's backend is loaded; nothing is loaded or searched for.

    >>> is_loaded("nowhere")
    False
    """
    return loader().is_loaded(device)


def availability(device: str) -> Availability:
    """Ask a device's plugin whether the device can be opened on this machine.

    Raises ``BackendNotFoundError`` where nothing provides the device, ``BackendError`` where its plugin failed, and
    ``BackendUnavailableError`` if the plugin raises instead of answering.
    """
    return loader().availability(device)


def runtime(device: str) -> Any:
    """Return a device's own interface, which its plugin gives: its streams and its memory, for instance.

    Raises as `availability` does, and ``BackendError`` if the plugin has none.
    """
    return loader().runtime(device)


def look_for_classes() -> None:
    """Hand the calls of tensors with the key ``Python`` to their classes from now on: see `Layers.call_class`."""
    from .layers.mode_kernels import LAYER  # the modes' kernels, which most programs do without
    from .operators.registries import registry

    registry.ensure_fallback(DispatchKey.Python, LAYER)


def find_with_autograd() -> context.State | None:
    """Return the context's masks without the exclusion of autograd, which handlers of modes and of classes run with."""
    from .layers import mode_stack  # few programs use modes

    return mode_stack.find_with_autograd()


def current_modes() -> list[Any]:
    """Return the modes that get the calls of this thread or task here, the innermost last.

    >>> current_modes()
    []
    """
    if not included_mask() & DispatchKey.Python:
        return []
    from .layers.mode_stack import current_entry  # loaded, as a mode is on

    found, entry = [], current_entry()
    while entry is not None:
        if entry.mode is not None and entry.is_open:
            found.append(entry.mode)
        entry = entry.outer
    return found[::-1]


def included_mask() -> int:
    """Return the mask of the keys that the running context includes in every call.

    >>> import dispatch_core as dc
    >>> with dc.include_keys("Tracer"):
    ...     included_mask() == dc.DispatchKey.Tracer.value
    True
    """
    state = context.current()
    return 0 if state is None else state[0]


def has_masks() -> bool:
    """Return whether the running context includes or excludes keys, as profiles, traces and pipelines do.

    >>> has_masks()
    False
    """
    return context.current() is not None


def current_session() -> object:
    """Return the object of the pipeline, or of the recorded call of a captured function, that records here, or None.

    Values that a frontend keeps are good for one such object: later ones must compute them again.

    >>> current_session() is None
    True
    """
    if not included_mask() & DispatchKey.Pipeline:
        return None
    from .pipelines import current  # loaded, as something records

    return current()


def read_offset(tensor: object) -> int:
    """Return where a tensor begins in its memory, in elements, for Python code, which a replay would not ask again."""
    found = storage_offset(tensor)
    recorded = recording()
    if recorded is not None:
        recorded.depend_on_places(lambda shift: shift == 0, tensor)
    return found


def captured_part(name: str) -> Any:
    """Return the `CapturePart` of the frontend ``name`` in the captured function's call that runs here, or None.

    By it a frontend tells of tensors that are read or changed without an operator. A call that runs eagerly has parts, too:
    they refuse the same.

    >>> captured_part("boxes") is None
    True
    """
    if not CAPTURING:
        return None
    call = next((each for each in CAPTURING[:] if each.is_here()), None)
    parts = {} if call is None else call.parts
    return next((part for marker, part in parts.items() if FRONTENDS[marker].name == name), None)
