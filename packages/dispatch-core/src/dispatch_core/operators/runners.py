"""Runners: functions of all arguments in schema order that call the winning kernel and return the caller's result.

Note [A composite below masked keys]
    A composite calls other operators on the same tensors, whose masks would bring back the keys that the caller took out.
    So it runs with exactly those keys excluded in the context; Profiler stays, so that a composite's inner calls are
    recorded as its children, Pipeline, so that they are deferred, and the keys of layers that leave composites to their
    parts: FuncTorchGradWrapper, for forward derivatives, FuncTorchDynamicLayerFrontMode, for the levels of function
    transforms, and PythonTLSSnapshot, for observers of the graph. Alternatives
    stay on: one that has declined a call may serve its parts.

Note [Results of a composite below Autograd]
    The caller gets results as the schema says, as from a backend's kernel. A fresh result is a fresh tensor, though the
    composite may have written to it, and counted that, or made it as a view. A view is a view by the operator that was
    called, and not by those that the composite has called: so the frontend knows that ``detach`` cuts the history off.
    The parts in a list stay views by the operators that the composite has called for each, because only these say which
    part it is. A
    custom operator's function sees tensors and answers for them itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ..arrays.access import to_data
from ..arrays.frontend import CAPTURING, FRONTENDS, Frontend
from ..arrays.indices import PLACING, SEVERAL, find_named_index
from ..arrays.owners import DEVICE_KEYS, KEY_TYPES, TYPE_MASKS, device_key
from ..arrays.thread_device import find_current
from ..bookkeeping.changes import on_refresh
from ..caches import keep
from ..calls.boundary import Boundary
from ..calls.conformance import check_results, check_types, has_fixed_results
from ..calls.reference import make_result_wrapper, unchecked_mask
from ..calls.signature import Result, ResultCheck, SpecializedKernels, bad_list
from ..calls.traits import Runner, RunnerTraits
from ..devices import Device
from ..discovery import loader
from ..errors import BackendNotFoundError, NoKernelError, RegistrationError
from ..keys import context
from ..keys.keyset import DispatchKeySet, removal_mask
from ..keys.table import AUTOCAST, AUTOGRAD, LAYOUTS, MARKERS, DispatchKey, alternatives, keys_of
from ..schema.model import Argument
from ..schema.types import walk
from .registration import KernelFactory, Registration
from .result_watch import is_paused, make_watch

if TYPE_CHECKING:
    from ..arrays.protocols import Kernel
    from ..arrays.types import Array
    from ..calls.signature import CallSignature
    from .entry import OperatorEntry


def make_kernel(fn: Kernel | KernelFactory, entry: OperatorEntry, keyset: DispatchKeySet) -> Runner:
    """Return a kernel's function, which a factory makes now."""
    return fn.make(entry.op, keyset) if isinstance(fn, KernelFactory) else fn


def make_specialized_kernels(
    entry: OperatorEntry, keyset: DispatchKeySet, specials: tuple[Registration, ...]
) -> SpecializedKernels:
    """Return the specialized kernels of a key: each one's argument by index, its value and its function.

    One whose argument the schema lacks is left out: the schema may be another one since it was registered.
    """
    schema = entry.schema
    names = [] if schema is None else [argument.name for argument in schema.arguments]
    found = []
    for special in specials:
        name, value = special.when or ("", None)
        if name in names:
            fn = make_kernel(special.fn, entry, keyset)
            found.append((names.index(name), value, partial(fn, keyset) if special.with_keyset else fn))
    return tuple(found)


def make_late(make: Callable[[Runner | None], Runner], below: Runner | None) -> Runner:
    """Return a function that runs ``make(below)``, which is made at the first call."""
    made: list[Runner] = []

    def run(*values: object, **keywords: object) -> object:
        if not made:
            made.append(make(below))
        return made[0](*values, **keywords)

    return run


class DeviceChoice:
    """The work of a runner that goes by a ``device`` argument where that is left out: a caller can do it instead."""

    __slots__ = ("find", "home", "index")

    def __init__(self, index: int, home: Device | None, find: Callable[[], Runner | None]) -> None:
        #: The argument; the device that means the same as None, if one does; and how to find the runner for both.
        self.index, self.home, self.find = index, home, find


def make_device_selector(entry: OperatorEntry, index: int, rest: int) -> Runner:
    """Return the core's own BackendSelect rule: the ``device`` argument names the backend, cpu where it is None."""
    explicit_table = entry.explicit_table
    home = Device.parse("cpu")

    def find_home() -> Runner | None:
        # Only after a call has opened the device.
        return explicit_table.get(rest | DEVICE_KEYS["cpu"].value) if home in _opened else None

    def run(*values: Any) -> object:
        wanted = values[index]
        device = Device("cpu") if wanted is None else Device.parse(wanted)
        mask = context.apply_exclusions(rest | device_key(device.type).value)
        open_device(device)
        if device.index is None and (find := _currents.get(device.type, _look_first)) is not None:
            place = _find_place(device, mask, find)
            if place is not device:
                open_device(place)
                values = (*values[:index], place, *values[index + 1 :])
        return explicit_table[mask](*values)

    return entry.tables.keep_traits(run, RunnerTraits(choice=DeviceChoice(index, home, find_home)))


def _look_first() -> int:
    """Represent the function that gives the thread's index where a device's was not looked for yet."""
    raise AssertionError("it is never called")


def _find_place(device: Device, mask: int, find: Callable[[], int]) -> Device:
    """Return the thread's device of a type where factories have to name it; see Note [Several indices] in `indices`.

    Those that are recorded name it always: it may be another when they run.
    """
    key = device_key(device.type)
    if find is _look_first:
        has_indices = any(each.device_index is not None for each in KEY_TYPES.get(key, ()))
        found = _currents[device.type] = find_current(device.type) if has_indices else None
        if found is None:
            return device
        find = found
    for recording in CAPTURING:
        if recording.is_here():
            recording.guard(find)
    here = find_named_index(device.type, find)
    if here is None or (here == 0 and not (SEVERAL[0] & key.value or mask & _PIPELINE)):
        return device
    return Device(device.type, here)


_opened: set[Device] = set()
#: A device's name → the function that gives the thread's index; None where its arrays tell none.
_currents: dict[str, Callable[[], int] | None] = {}
# Factories ask again whether their device can be opened.
on_refresh(_opened.clear)
on_refresh(_currents.clear)


def open_device(device: Device) -> None:
    """Open a device once per process; raises ``BackendUnavailableError`` with the reason when it cannot be.

    A backend that the program itself registered, without a plugin, has nothing to open.
    """
    if device not in _opened:
        with suppress(BackendNotFoundError):  # device_key has found the backend already
            loader().open_device(device.type, device.index)
        _opened.add(device)


def make_result_check(
    entry: OperatorEntry, mask: int, who: Callable[[], str], *, of_layout: bool = False
) -> ResultCheck | None:
    """Return the check of a program's kernel that sees the caller's arguments; None where the schema promises no tensors.

    ``who`` tells whose the results are. Those of a layout's kernel meet no boundary below, which would notice a copy in the
    place of an argument or of a view; so their memory is looked at, too.
    """
    signature = entry.signature
    if signature is None or not has_fixed_results(signature):
        return None
    if not of_layout and all(result.kind == "other" for result in signature.results):
        return None
    frontend = FRONTENDS.get(mask & MARKERS)
    usual = None if frontend is None else frontend.tensor_type

    def check(returned: object, values: tuple[Any, ...]) -> None:
        if not is_paused():
            check_types(signature, returned, values, who)

    def check_all(returned: object, values: tuple[Any, ...]) -> None:
        if not is_paused():
            check_results(signature, entry.tags, returned, values, who, has_plain=True)

    if of_layout and any(result.kind in ("self", "view", "other") for result in signature.results):
        return ResultCheck(None, check_all)
    return ResultCheck(usual, check)


def conform_results(
    entry: OperatorEntry, run: Runner, frontend: Frontend[Any] | None, who: Callable[[], str], *, of_layout: bool
) -> Runner:
    """Return ``run`` with results as the schema says; see Note [Results of a composite below Autograd].

    ``who`` tells whose they are: a composite's, or those of a kernel ``of_layout``.
    """
    signature, op = entry.signature, entry.op
    if (
        frontend is None
        or signature is None
        or not any(result.kind in ("fresh", "view") for result in signature.results)
    ):
        return run
    tensor_type, wrap, views, results = frontend.tensor_type, frontend.wrap, frontend.views, signature.results

    def fit(result: Result, found: object, values: tuple[Any, ...]) -> object:
        if not isinstance(found, tensor_type) or any(found is value for value in values):
            return found
        if result.kind == "view" and views is not None and is_like(found, values[result.source]):
            made = views.view(values[result.source], to_data(found), op, values)
            # A captured call's view of an array that is there is pending.
            made._dispatch_mask |= found._dispatch_mask & _PIPELINE
            return made
        return wrap(to_data(found))

    def is_like(found: Any, source: Any) -> bool:
        """Return whether a view has the layout of its source: an ordinary tensor of a component is one by itself."""
        return not (found._dispatch_mask ^ source._dispatch_mask) & LAYOUTS

    def conform(result: Result, found: object, values: tuple[Any, ...]) -> object:
        if result.kind not in ("fresh", "view"):
            return found
        if not result.is_list:
            return fit(result, found, values)
        if not isinstance(found, list | tuple):
            raise bad_list(entry.name, found, who())
        if result.kind == "view":
            source = values[result.source]
            if views is None or not of_layout or not isinstance(source, tensor_type):
                return found
            are_own = all(isinstance(each, tensor_type) and is_like(each, source) for each in found)
            return views.views(source, [*map(to_data, found)], op, values) if are_own else found
        return [fit(result, each, values) for each in found]

    def run_as_declared(*values: object) -> object:
        found = run(*values)
        if len(results) == 1:
            return conform(results[0], found, values)
        return tuple([conform(*pair, values) for pair in zip(results, signature.unpack(found, who), strict=True)])

    return run_as_declared


def report_writes(entry: OperatorEntry, run: Runner, frontend: Frontend[Any] | None) -> Runner:
    """Return ``run``, after which the frontend is told of the layouts' tensors that it has written to.

    Operators on their components tell it of these alone.
    """
    signature = entry.signature
    if frontend is None or frontend.writes is None or signature is None or not signature.writes:
        return run
    note_write = frontend.writes.note_write

    def note(tensor: Any) -> None:
        if tensor._dispatch_mask & LAYOUTS:
            note_write(tensor)

    def run_and_report(*values: object) -> object:
        found = run(*values)
        signature.report_writes(note, values)
        return found

    return run_and_report


_PIPELINE = DispatchKey.Pipeline.value
_STAYS = (
    MARKERS
    | DispatchKey.Profiler
    | DispatchKey.Pipeline
    | DispatchKey.FuncTorchGradWrapper
    | DispatchKey.FuncTorchDynamicLayerFrontMode
    | DispatchKey.PythonTLSSnapshot
)


def exclude_masked_off(entry: OperatorEntry, run: Runner, mask: int) -> Runner:
    """Return ``run`` under an exclusion of the keys that are masked off; see Note [A composite below masked keys]."""
    #: The arguments' keys and the context's masks → the masks that the composite runs under.
    states: dict[tuple[int, context.State | None], context.State | None] = {}
    find_keys = _make_key_finder(entry)

    def run_with_exclusions(*values: object, **keywords: object) -> object:
        index = find_keys(values, keywords), context.current()
        try:
            inner = states[index]
        except KeyError:
            inner = keep(states, index, _find_state_within(entry, mask, *index), _KEPT)
        if inner is index[1]:
            return run(*values, **keywords)
        # See Note [Where an interrupt falls] in `interrupts`.
        try:
            _ = context.set_state[inner]
            return run(*values, **keywords)
        except NoKernelError as error:
            _name_composite(error, entry, mask)
            raise
        finally:
            _ = context.set_state[index[1]]

    return run_with_exclusions


def _name_composite(error: NoKernelError, entry: OperatorEntry, mask: int) -> None:
    """Begin an error's text with the operator whose composite met it: with the outermost, which the user called."""
    met = vars(error).setdefault("met", str(error))
    keys = DispatchKeySet(mask & ~DispatchKey.BackendSelect)
    error.args = (f"{entry.name}: its composite, run for {keys}, calls an operator that has no kernel there\n{met}",)


_KEPT = 256


def _make_key_finder(entry: OperatorEntry) -> Callable[[tuple[Any, ...], dict[str, Any]], int]:
    """Return a function of a call's arguments that gives their keys."""
    signature = entry.signature
    if signature is None:
        return unchecked_mask
    lists = [index for index, each in enumerate(signature.parameters) if "list" in each.tensors]
    singles = [index for index, each in enumerate(signature.parameters) if each.tensors and index not in lists]

    def find_keys(values: tuple[Any, ...], _: dict[str, Any]) -> int:
        held = 0
        for index in singles:
            if (value := values[index]) is not None:
                held |= _keys_of_one(value)
        for index in lists:
            for each in values[index]:
                if each is not None:
                    held |= _keys_of_one(each)
        return held

    return find_keys


def _keys_of_one(tensor: object) -> int:
    return getattr(tensor, "_dispatch_mask", 0) or TYPE_MASKS.get(type(tensor), 0)


def _find_state_within(entry: OperatorEntry, mask: int, held: int, state: context.State | None) -> context.State | None:
    dropped = _find_dropped(entry, mask, held, state)
    if not dropped:
        return state
    included, excluded = (0, 0) if state is None else state
    return context.intern_state(included, excluded | removal_mask(dropped))


def _find_passed_over(entry: OperatorEntry, keys: int) -> int:
    """Return those of some functionality keys under which an operator has no kernel."""
    found = 0
    for key in keys_of(keys):
        registration = entry.slot(key).registration
        if registration is None or registration.is_fallthrough:
            found |= key.value
    return found


def find_masked_off(entry: OperatorEntry, mask: int, values: tuple[Any, ...], keywords: dict[str, Any]) -> int:
    """Return the keys that an ordinary call with these arguments would have and ``mask`` lacks.

    See Note [A composite below masked keys] for those that are left out.
    """
    signature = entry.signature
    held = unchecked_mask(values, keywords) if signature is None else 0
    for _, tensor in () if signature is None else signature.tensors(values):
        held |= _keys_of_one(tensor)
    return _find_dropped(entry, mask, held, context.current())


def _find_dropped(entry: OperatorEntry, mask: int, held: int, state: context.State | None) -> int:
    held = entry.registry.translate_mask(held)
    if state is not None:
        held |= state[0]
        held ^= held & state[1]
    found = (held ^ (held & mask)) & ~(_STAYS | alternatives[0])
    passing = found & (AUTOCAST | AUTOGRAD)
    return found ^ _find_passed_over(entry, passing) if passing else found


def find_functional(entry: OperatorEntry) -> OperatorEntry | None:
    """Return the overload that computes the values an in-place or ``out=`` overload writes, or None.

    It is named like the in-place one without the underscore, or stands in the same packet, and takes the same arguments
    without those that are only written to. There is none for an operator that does not return all that it writes.
    """
    name, schema, signature = entry.operator_name, entry.schema, entry.signature
    if (
        schema is None
        or signature is None
        or {item.source for item in signature.results if item.kind == "self"} != set(signature.writes)
    ):
        return None
    in_place = name.name.endswith("_") and not name.name.endswith("__")
    packet = name.packet[:-1] if in_place else name.packet
    wanted = [_shape_of(item) for item in schema.arguments if in_place or not (item.is_write and item.kwarg_only)]
    for other in entry.registry.find_overloads(packet).values():
        theirs = other.schema
        if other is entry or theirs is None or theirs.is_mutable or len(theirs.returns) != len(schema.returns):
            continue
        if [_shape_of(item) for item in theirs.arguments] == wanted:
            return other
    return None


def _shape_of(argument: Argument) -> tuple[object, ...]:
    """Return an argument's name and type, without the aliasing in the type."""
    parts = ((type(part), getattr(part, "name", ""), getattr(part, "size", None)) for part in walk(argument.type))
    return argument.name, *parts


def make_functional_runner(entry: OperatorEntry, functional: OperatorEntry, boundary: Boundary, mask: int) -> Runner:
    """Return a runner for arrays that cannot be written: compute the new value, then rebind the tensor to it."""
    signature = entry.signature
    assert signature is not None and functional.schema is not None  # noqa: PT018  # find_functional found both
    if boundary.frontend is None:
        raise unwritable_error(entry, functional, boundary)
    wrap = make_result_wrapper(entry, signature, boundary)
    explicit_table = functional.explicit_table
    watch = make_watch(entry, boundary)
    names = {argument.name for argument in functional.schema.arguments}
    kept = [index for index, parameter in enumerate(signature.parameters) if parameter.name in names]
    hooks, writes = boundary.frontend.writes, signature.writes

    def compute(*data: object) -> object:
        return explicit_table[mask](*[data[index] for index in kept])

    if mask & PLACING[0]:
        compute = _keep_places(entry, signature, mask, compute)

    def run(*values: object) -> object:
        if hooks is not None:
            for index in writes:
                value = values[index]
                for tensor in value if isinstance(value, list | tuple) else (value,):
                    if tensor is not None:
                        hooks.check_write(tensor, entry.name)
        data = signature.unwrap(values)
        if watch is None:
            return wrap(compute(*data), values)
        found = compute(*data) if watch.has_ended else watch.run(compute, data, {}, data)
        watch.check_replacements(found, data)
        return wrap(found, values)

    return run


def _keep_places(entry: OperatorEntry, signature: CallSignature, mask: int, compute: Runner) -> Runner:
    """Make ``compute`` lay each array that takes another's place as that lies: on one device, or on several."""
    found = entry.registry.find_entry("dispatch::place_like")
    assert found is not None  # a backend with arrays on several devices has a kernel of it
    table = found.explicit_table

    def lay(made: Array, before: Array) -> Array:
        if isinstance(made, list | tuple):
            return list(map(lay, made, before))
        return made if made is None or before is None else table[mask](made, before)

    def run(*data: Array) -> Array:
        results = zip(signature.results, signature.unpack(compute(*data)), strict=True)
        return signature.pack([lay(made, data[each.source]) if each.kind == "self" else made for each, made in results])

    return run


def unwritable_error(entry: OperatorEntry, functional: OperatorEntry, boundary: Boundary) -> RegistrationError:
    """Return the error for a call that would write to raw arrays that cannot be written."""
    return RegistrationError(
        f"{entry.name}: arrays of {boundary.key.label} cannot be written to, and a raw array, unlike a frontend's tensor,"
        " cannot be bound to a new value",
        hint=f"call {functional.name} and use its result",
    )
