"""From a mask to what runs: pass keys over, find the winner, and build the function that calls it.

Note [What is passed over]
    The highest-ranked key whose slot is not fallthrough wins. A key with nothing in its slot is passed over when it is a
    functionality, an alias, or belongs to a PrivateUse backend that nobody has claimed. A device or layout key with
    nothing is an error: another device's kernel must never see its arrays. When every key is passed over, the slot of
    the empty keyset decides, which only composites fill.

Note [Keys are loaded]
    An explicit keyset may name a device before anything has asked for it, or an Autograd key before a tensor requires grad.
    So that its meaning does not depend on what ran before, the first look-up loads the device's backend, and lets frontends
    register their kernels.

Note [A composite below masked keys]
    A composite calls other operators on the same tensors, whose masks would bring back the keys that the caller took out.
    So it runs with exactly those keys excluded in the context; Profiler stays, so that a composite's inner calls are
    recorded as its children, and Pipeline, so that they are deferred.

Note [What a composite below Autograd returns]
    What the caller gets is what the schema says, as from a backend's kernel. A fresh result is a fresh tensor, though the
    composite may have written to it, and counted that, or made it as a view. A view is a view by the operator that was
    called, and not by those that the composite has called: so the frontend knows that ``detach`` cuts the history off.
    The parts in a list stay views by what the composite has called for each, because only that says which part it is. A
    custom operator's function sees tensors and answers for them itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from .._record import Record, replace
from ..arrays.access import to_data
from ..arrays.frontend import FRONTENDS, Frontend, refuse_mixed
from ..arrays.owners import KEY_DEVICES, TYPE_MASKS, device_key, is_tensor, load_key
from ..calls.boundary import Boundary, Covered, Plan, Result, make_boundary, unwrap
from ..calls.reference import result_wrapper, tensors_in, unchecked_mask
from ..changes import on_refresh
from ..devices import Device
from ..discovery import loader
from ..errors import (
    BackendError,
    BackendNotFoundError,
    DispatchKeyError,
    EmptyKeysetError,
    FrontendMismatchError,
    NoKernelError,
    RegistrationError,
)
from ..keys import context
from ..keys.keyset import DispatchKeySet
from ..keys.table import ARRAYS, AUTOGRAD, MARKERS, DispatchKey, keys_of
from ..schema.check import bind
from ..schema.model import Argument
from ..schema.types import walk
from . import call_trace
from .dispatch_table import COMPOSITES, EXPLICIT_COMPOSITES, MISSING, Slot
from .kernel_names import kernel_keys
from .registration import KernelFactory, Registration
from .result_watch import watch_for

if TYPE_CHECKING:
    from .entry import OperatorEntry
    from .registries import Registry

__all__ = ["Resolution", "resolve"]

Runner = Callable[..., Any]


def is_passed_over(key: DispatchKey, slot: Slot) -> bool:
    """Tell whether resolution goes on below ``key``; see Note [What is passed over]."""
    if slot.registration is not None:
        return slot.registration.is_fallthrough
    if slot.rule == "ambiguous autogradother":
        return False
    return not key.owns_arrays or key.is_unclaimed


def why_passed_over(key: DispatchKey, slot: Slot) -> str:
    """Say why resolution goes on below ``key``."""
    if slot.registration is not None:
        return f"fallthrough registered under {slot.registration.key.name} at {slot.registration.origin}"
    if key.owns_arrays:
        return f"no backend has claimed {key.backend}"
    return "nothing is registered"


def walk_keys(entry: OperatorEntry, mask: int) -> Iterator[tuple[DispatchKey, Slot, bool]]:
    """Yield the keys of ``mask`` by rank, with what each leads to and whether it is passed over."""
    for key in keys_of(mask, entry.registry.profile):
        slot = entry.slot(key)
        chooses = key is DispatchKey.BackendSelect and slot is MISSING and _device_index(entry) is not None
        yield key, slot, is_passed_over(key, slot) and not chooses


class Resolution(Record):
    """Which key and slot won for a mask, and the keys that are left once others were passed over."""

    entry: OperatorEntry
    mask: int
    #: None when every key was passed over.
    key: DispatchKey | None
    slot: Slot
    #: The mask without the keys that were passed over, frontends' markers included.
    effective: int
    #: Whether the mask was given explicitly, so that arguments may carry keys that it lacks.
    explicit: bool = True

    def runner(self) -> Runner:
        """Return the function that takes all arguments in schema order and gives the caller's result.

        Raises ``NoKernelError`` when nothing has won.
        """
        if not call_trace.TRACE.is_on():
            return self._runner()
        line = self._trace_line()
        try:
            return call_trace.traced(self._runner(), line)
        except NoKernelError:
            call_trace.write(line)
            raise

    def boundary(self) -> Boundary | None:
        """Return the boundary to the backend's arrays, or None where the winner sees what the caller passed."""
        if self.key is None or not self.key.owns_arrays:
            return None
        return make_boundary(self.key, FRONTENDS.get(self.mask & MARKERS))

    def is_composite(self) -> bool:
        """Tell whether a composite has won."""
        return self.slot.registration is not None and self.slot.registration.key in COMPOSITES

    def functional(self) -> OperatorEntry | None:
        """Return the overload that runs instead, because the call writes to arrays that cannot be written; or None."""
        boundary = self.boundary()
        if boundary is None or boundary.mutable or self.is_composite() or not _writes(self.entry):
            return None
        return functional_overload(self.entry)

    def selects_device(self) -> int | None:
        """Return the index of the argument by which the core's own BackendSelect rule goes, where that has won."""
        chooses = self.key is DispatchKey.BackendSelect and self.slot.registration is None
        return _device_index(self.entry) if chooses else None

    def _trace_line(self) -> str:
        registration = self.slot.registration
        keys = ", ".join(key.name for key in keys_of(self.mask, self.entry.registry.profile))
        if registration is not None:
            through = "" if registration.key is self.key else f" by {registration.key.name}"
            found = f"{'Undefined' if self.key is None else self.key.name}{through}, {registration.origin.short}"
        elif self.selects_device() is not None:
            found = "BackendSelect, which reads the device"
        elif (functional := self.functional()) is not None:
            found = functional.name
        else:
            found = "no kernel"
        return f"{self.entry.name} ({keys}) -> {found}"

    def _runner(self) -> Runner:
        entry, key, registration = self.entry, self.key, self.slot.registration
        boundary, composite = self.boundary(), self.is_composite()
        functional = self.functional()
        if functional is not None and boundary is not None:
            return _functional_runner(entry, functional, boundary, self.effective & ~MARKERS)
        if registration is None:
            index = self.selects_device()
            if index is not None:
                return _select_runner(entry, index, self.effective & ~DispatchKey.BackendSelect)
            raise no_kernel(self)
        engine = entry.registry.engine
        keyset = DispatchKeySet(self.effective)
        prefix = (keyset,) * registration.with_keyset + (entry.op,) * registration.boxed
        fn = _made(registration.fn, entry, keyset)
        if boundary is not None and registration.key is key:
            covered = _covered(entry, keyset, self.slot.covered)
            watch = watch_for(entry, boundary, registration, self.slot.covered)
            run = engine.backend_runner(entry, boundary, fn, prefix, covered, watch)
            return self._unless_elsewhere(run, boundary)
        in_order = isinstance(registration.fn, KernelFactory) and registration.fn.in_order
        run = fn if in_order else engine.caller_runner(entry, fn, prefix)
        if registration.key in EXPLICIT_COMPOSITES and not hasattr(registration.fn, "answers_for_results"):
            run = _as_declared(entry, run, FRONTENDS.get(self.mask & MARKERS))
        return _guarded(entry, run, self.mask) if composite and self.explicit else run

    def _unless_elsewhere(self, run: Runner, boundary: Boundary) -> Runner:
        """Return ``run``, with calls whose ``device`` argument names another device left to a composite kernel."""
        entry, plan, home = self.entry, self.entry.plan, KEY_DEVICES.get(boundary.key.backend)
        if plan is None or plan.device_index is None or plan.is_factory or home is None:
            return run
        index = plan.device_index
        found = [slot for alias in COMPOSITES if (slot := entry.newest(alias)) is not None]
        if not found:
            return run
        best = max(found, key=lambda registration: registration.key.rank)
        elsewhere = replace(self, key=best.key, slot=Slot("kernel", best)).runner()

        def choose(*values: Any) -> Any:
            device = values[index]
            if device is None:
                return run(*values)
            if device.type != home:
                return elsewhere(*values)
            open_device(device)
            return run(*values)

        return choose

    def run_with_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Bind the arguments and run what has won."""
        plan = self.entry.plan
        if plan is None:
            marker = unchecked_mask(args, kwargs) & MARKERS
            return self._marked(marker).runner()(*args, **kwargs)
        values = bind(plan.schema, args, kwargs, is_tensor)
        marker = 0
        for tensor in tensors_in(plan, values):
            marker |= getattr(tensor, "_dispatch_mask", 0) & MARKERS
        return self._marked(marker).runner()(*values)

    def _marked(self, marker: int) -> Resolution:
        return replace(self, mask=self.mask | marker, effective=self.effective | marker)


def _made(fn: Any, entry: OperatorEntry, keyset: DispatchKeySet) -> Runner:
    return fn.make(entry.op, keyset) if isinstance(fn, KernelFactory) else fn


def _covered(entry: OperatorEntry, keyset: DispatchKeySet, specials: tuple[Registration, ...]) -> Covered:
    """Return the covered kernels of a key: each one's argument by index, its value and its function.

    One whose argument the schema lacks is left out: the schema may be another one since it was registered.
    """
    schema = entry.schema
    names = [] if schema is None else [argument.name for argument in schema.arguments]
    found = []
    for special in specials:
        name, value = special.when or ("", None)
        if name in names:
            fn = _made(special.fn, entry, keyset)
            found.append((names.index(name), value, partial(fn, keyset) if special.with_keyset else fn))
    return tuple(found)


def resolve(entry: OperatorEntry, mask: int, arguments: int) -> _Runs:
    """Find what runs for ``mask``; ``arguments`` is the arguments' own mask in an ordinary call, else 0.

    Raises ``FrontendMismatchError`` for tensors of two frontends, ``DispatchKeyError`` for a bit that no key owns.
    """
    if mask < 0:
        raise DispatchKeyError(f"{entry.name}: {mask} is not a mask: it is negative")
    if entry.registry.is_process and mask & (ARRAYS | AUTOGRAD):
        _prepare(mask)
    markers = mask & MARKERS
    if markers & (markers - 1):
        names = sorted(frontend.name for bit, frontend in list(FRONTENDS.items()) if markers & bit)
        raise FrontendMismatchError(
            f"{entry.name}: tensors of the frontends {' and '.join(names)} stand in one call",
            hint="convert them to one frontend first",
        )
    if len({key.backend or key.name for key in keys_of(arguments & ARRAYS)}) > 1:
        return _Mixed(entry, FRONTENDS.get(markers))
    winner: tuple[DispatchKey, Slot] | None = None
    effective = markers
    for key, slot, passed_over in walk_keys(entry, mask):
        if passed_over:
            continue
        effective |= key.value
        if winner is None:
            winner = key, slot
    if winner is None:
        slot = entry.slot(None)
        if slot.registration is not None and slot.registration.is_fallthrough:
            # An alias that is passed over reaches the empty keyset too, below which there is nothing.
            slot = MISSING
        return Resolution(entry, mask, None, slot, effective, explicit=not arguments)
    return Resolution(entry, mask, *winner, effective, explicit=not arguments)


def _prepare(mask: int) -> None:
    """Let what the keys of a mask stand for be registered; see Note [Keys are loaded].

    A backend that fails or is kept out has registered nothing, which ``no_kernel`` tells.
    """
    for key in keys_of(mask & (ARRAYS | AUTOGRAD)):
        if key.owns_arrays:
            if key.backend not in KEY_DEVICES:
                with suppress(BackendError):
                    load_key(key)
        else:
            for frontend in list(FRONTENDS.values()):
                if frontend.prepare is not None:
                    frontend.prepare(key)


# An entry's schema, and with it the plan, may be taken back by another thread at any time, so each is read once.
def _device_index(entry: OperatorEntry) -> int | None:
    """Return the index of the argument that chooses the device of a factory, or None."""
    plan = entry.plan
    return plan.device_index if plan is not None and plan.is_factory else None


def _writes(entry: OperatorEntry) -> bool:
    plan = entry.plan
    return plan is not None and bool(plan.writes)


class _Mixed(Record):
    """A call whose arguments lie on two devices: their frontend decides."""

    entry: OperatorEntry
    frontend: Frontend[Any] | None

    @property
    def hook(self) -> Runner:
        """Return what decides: the frontend's hook, or the one that refuses."""
        return refuse_mixed if self.frontend is None else self.frontend.mixed

    def runner(self) -> Runner:
        hook, entry = self.hook, self.entry

        def run(*values: Any, **keywords: Any) -> Any:
            plan = entry.plan
            positional, named = plan.split(values) if plan is not None else (values, keywords)
            return hook(entry.op, tuple(positional), named)

        if call_trace.TRACE.is_on():
            return call_trace.traced(run, f"{entry.name} -> the frontend's hook for tensors of several devices")
        return run


_Runs = Resolution | _Mixed


def _select_runner(entry: OperatorEntry, index: int, rest: int) -> Runner:
    """Return the core's own BackendSelect rule: the ``device`` argument names the backend, cpu where it is None."""
    explicit_table = entry.explicit_table

    def run(*values: Any) -> Any:
        wanted = values[index]
        device = Device("cpu") if wanted is None else Device.parse(wanted)
        mask = context.unexcluded(rest | device_key(device.type).value)
        open_device(device)
        return explicit_table[mask](*values)

    return run


_opened: set[Device] = set()
# Factories ask again whether their device can be opened.
on_refresh(_opened.clear)


def open_device(device: Device) -> None:
    """Open a device once per process; raises ``BackendUnavailableError`` with the reason when it cannot be.

    A backend that the program itself registered, without a plugin, has nothing to open.
    """
    if device not in _opened:
        with suppress(BackendNotFoundError):  # device_key has found the backend already
            loader().open_device(device.type, device.index)
        _opened.add(device)


def _as_declared(entry: OperatorEntry, run: Runner, frontend: Frontend[Any] | None) -> Runner:
    """Return ``run`` with results as the schema says; see Note [What a composite below Autograd returns]."""
    plan, op = entry.plan, entry.op
    if frontend is None or plan is None or not any(result.kind in ("fresh", "view") for result in plan.results):
        return run
    tensor_type, wrap, view, results = frontend.tensor_type, frontend.wrap, frontend.view, plan.results

    def one(result: Result, found: Any, values: tuple[Any, ...]) -> Any:
        if not isinstance(found, tensor_type) or any(found is value for value in values):
            return found
        if result.kind == "view" and view is not None:
            return view(values[result.source], to_data(found), op, values)
        return wrap(to_data(found))

    def declared(result: Result, found: Any, values: tuple[Any, ...]) -> Any:
        if result.kind not in ("fresh", "view") or (result.kind == "view" and result.is_list):
            return found
        return [one(result, each, values) for each in found] if result.is_list else one(result, found, values)

    def run_as_declared(*values: Any) -> Any:
        found = run(*values)
        if len(results) == 1:
            return declared(results[0], found, values)
        return tuple([declared(*pair, values) for pair in zip(results, found, strict=True)])

    return run_as_declared


_STAYS = MARKERS | DispatchKey.Profiler | DispatchKey.Pipeline


def _guarded(entry: OperatorEntry, run: Runner, mask: int) -> Runner:
    """Return ``run`` under an exclusion of the keys that are masked off; see Note [A composite below masked keys]."""
    plan = entry.plan

    def guarded(*values: Any, **keywords: Any) -> Any:
        dropped = masked_off(entry.registry, plan, mask, values, keywords)
        if not dropped:
            return run(*values, **keywords)
        with context.exclude_keys(dropped):
            return run(*values, **keywords)

    return guarded


def masked_off(
    registry: Registry, plan: Plan | None, mask: int, values: tuple[Any, ...], keywords: dict[str, Any]
) -> int:
    """Return the keys that an ordinary call with these arguments would have and ``mask`` lacks."""
    held = unchecked_mask(values, keywords) if plan is None else 0
    for tensor in tensors_in(plan, values) if plan is not None else ():
        held |= getattr(tensor, "_dispatch_mask", 0) or TYPE_MASKS.get(type(tensor), 0)
    held = registry.translated(held)
    state = context.current()
    if state is not None:
        held |= state[0]
        held ^= held & state[1]
    return (held ^ (held & mask)) & ~_STAYS


def functional_overload(entry: OperatorEntry) -> OperatorEntry | None:
    """Return the overload that computes what an in-place or ``out=`` overload writes, or None.

    It is named like the in-place one without the underscore, or stands in the same packet, and takes the same arguments
    without those that are only written to. There is none for an operator that does not return what it writes.
    """
    name, schema, plan = entry.operator_name, entry.schema, entry.plan
    if (
        schema is None
        or plan is None
        or {item.source for item in plan.results if item.kind == "self"} != set(plan.writes)
    ):
        return None
    in_place = name.name.endswith("_") and not name.name.endswith("__")
    packet = name.packet[:-1] if in_place else name.packet
    wanted = [_shape_of(item) for item in schema.arguments if in_place or not (item.is_write and item.kwarg_only)]
    for other in entry.registry.packets.get(packet, {}).values():
        theirs = other.schema
        if other is entry or theirs is None or theirs.is_mutable or len(theirs.returns) != len(schema.returns):
            continue
        if [_shape_of(item) for item in theirs.arguments] == wanted:
            return other
    return None


def _shape_of(argument: Argument) -> tuple[object, ...]:
    """Return an argument's name and type, without what the type says of aliasing."""
    parts = ((type(part), getattr(part, "name", ""), getattr(part, "size", None)) for part in walk(argument.type))
    return argument.name, *parts


def _functional_runner(entry: OperatorEntry, functional: OperatorEntry, boundary: Boundary, mask: int) -> Runner:
    """Return a runner for arrays that cannot be written: compute the new value, then rebind the tensor to it."""
    plan = entry.plan
    assert plan is not None and functional.schema is not None  # noqa: PT018  # functional_overload found both
    if boundary.frontend is None:
        raise unwritable(entry, functional, boundary)
    wrap = result_wrapper(entry, plan, boundary)
    explicit_table = functional.explicit_table
    watch = watch_for(entry, boundary)
    names = {argument.name for argument in functional.schema.arguments}
    kept = [index for index, parameter in enumerate(plan.parameters) if parameter.name in names]

    def compute(*data: Any) -> Any:
        return explicit_table[mask](*[data[index] for index in kept])

    def run(*values: Any) -> Any:
        data = tuple(unwrap(p.tensors, value) for p, value in zip(plan.parameters, values, strict=True))
        if watch is None:
            return wrap(compute(*data), values)
        found = compute(*data) if watch.is_settled else watch.run(compute, data, {}, data)
        watch.check_replacements(found, data)
        return wrap(found, values)

    return run


def unwritable(entry: OperatorEntry, functional: OperatorEntry, boundary: Boundary) -> RegistrationError:
    """Return the error for a call that would write to raw arrays that cannot be written."""
    return RegistrationError(
        f"{entry.name}: arrays of {boundary.key.label} cannot be written to, and without a frontend nothing can be"
        " bound to the new value",
        hint=f"call {functional.name} instead",
    )


def key_is_not_loaded(key: DispatchKey) -> str:
    """Say what became of the installed device that a key belongs to; "" where there is none."""
    device = loader().device_of_key(key) if key.owns_arrays else None
    return "" if device is None else f"device {device!r} is {loader().backends()[device]}"


def no_kernel(resolution: Resolution) -> NoKernelError:
    """Return the error for a call that no kernel serves."""
    entry, key = resolution.entry, resolution.key
    keyset = DispatchKeySet(resolution.mask)
    if key is not None and resolution.slot.rule == "ambiguous autogradother":
        return NoKernelError(
            f"{entry.name}: the call arrived at {key.label}, where it is ambiguous: there are kernels for both"
            " CompositeImplicitAutograd and a backend that shares AutogradOther"
            f"\nKernels are registered under {kernel_keys(entry)}",
            hint="register a kernel for AutogradOther",
        )
    if key is None and not keyset - DispatchKey.BackendSelect:
        return EmptyKeysetError(
            f"{entry.name}: the set of dispatch keys is empty: there are no tensor arguments, or their keys are masked"
            f" off, and no composite kernel\nKernels are registered under {kernel_keys(entry)}",
            hint="pass a tensor, or register a kernel for BackendSelect or CompositeExplicitAutograd",
        )
    place = f"{key.label}, the highest key of" if key is not None else "any key of"
    owner = KEY_DEVICES.get(key.backend) if key is not None else None
    hint = key_is_not_loaded(key) if key is not None and owner is None else ""
    hint = hint or (
        f"the backend for device {owner!r} does not implement this operator; move the tensors to another device"
        if owner is not None
        else "register a kernel for one of these keys, or a composite"
    )
    over = []
    for passed, slot, is_over in walk_keys(entry, resolution.mask):
        if not is_over:
            break
        # BackendSelect is in every set, and tells nothing by being passed over for want of a kernel.
        if slot.registration is not None or passed is not DispatchKey.BackendSelect:
            over.append(f"{passed.name} ({why_passed_over(passed, slot)})")
    above = f"\nPassed over: {', '.join(over)}" if over else ""
    return NoKernelError(
        f"{entry.name}: no kernel for {place} {keyset!r}{above}\nKernels are registered under {kernel_keys(entry)}",
        hint=hint,
    )
