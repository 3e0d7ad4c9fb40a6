"""From a mask to the kernel that runs: pass keys over and find the winner.

Note [Keys that are passed over]
    The highest-ranked key whose slot is not fallthrough wins. A key with nothing in its slot is passed over when it is a
    functionality, an alias, or belongs to a PrivateUse backend that no vendor has claimed. A device or layout key with
    nothing is an error: another device's kernel must never see its arrays. When every key is passed over, the slot of
    the empty keyset decides, which only composites fill. A layer's kernel gets the keyset without those passed over,
    but with the layers that have no kernel for this operator: they may have one for the parts of a composite below.

Note [Keys are loaded]
    An explicit keyset may name a device before anything has asked for it, or an Autograd key before a tensor requires grad.
    So that its meaning does not depend on earlier calls, the first look-up loads the device's backend, and lets frontends
    register their kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .._record import Record, replace
from ..arrays.access import computes_late
from ..arrays.frontend import FRONTENDS, Frontend
from ..arrays.indices import SEVERAL, several_in
from ..arrays.launches import find_log, number_kernel
from ..arrays.layouts import check_layouts, find_hint, have_history, passing_layers
from ..arrays.owners import KEY_DEVICES, is_tensor, load_key
from ..arrays.protocols import refuse_mixed
from ..bookkeeping.levels import Level
from ..calls import call_trace
from ..calls.boundary import Boundary, make_boundary
from ..calls.engine import KernelCall
from ..calls.late_calls import compute_first
from ..calls.placed_calls import make_index_test, place_call
from ..calls.reference import unchecked_mask
from ..calls.traits import Runner, RunnerTraits
from ..discovery import loader
from ..errors import BackendError, DispatchKeyError, EmptyKeysetError, FrontendMismatchError, NoKernelError
from ..keys.keyset import DispatchKeySet, has_several_devices
from ..keys.table import ARRAYS, AUTOGRAD, LAYOUTS, MARKERS, DispatchKey, alternatives, keys_of
from ..schema.check import bind
from . import runners
from .candidates import list_candidates
from .dispatch_table import COMPOSITES, EXPLICIT_COMPOSITES, MISSING, OTHER_DEVICE, OTHER_LAYOUT, Slot, is_composite
from .kernel_names import describe_kernel, kernel_keys, kernel_name
from .registration import KernelFactory
from .result_watch import make_watch
from .typed_calls import TypedCalls, consider_types

if TYPE_CHECKING:
    from .entry import OperatorEntry


#: Keys of tensors whose classes may have the call, whatever devices the others are on.
_OVERRIDING: Final = DispatchKey.Python | DispatchKey.TorchFunction


def is_passed_over(key: DispatchKey, slot: Slot) -> bool:
    """Return whether resolution goes on below ``key``; see Note [Keys that are passed over]."""
    if slot is OTHER_DEVICE or slot is OTHER_LAYOUT:
        return True
    if slot.registration is not None:
        return slot.registration.is_fallthrough
    if slot.rule == "ambiguous autogradother":
        return False
    return not key.owns_arrays or key.is_unclaimed


def explain_passing_over(key: DispatchKey, slot: Slot) -> str:
    """Return the reason why resolution goes on below ``key``."""
    if slot.registration is not None:
        return f"fallthrough registered under {slot.registration.key.name} at {slot.registration.origin}"
    if slot is OTHER_LAYOUT:
        return slot.rule
    if key.owns_arrays:
        return f"no backend has claimed {key.backend}"
    return "nothing is registered" if slot is MISSING else slot.rule


def walk_keys(entry: OperatorEntry, mask: int) -> Iterator[tuple[DispatchKey, Slot, bool]]:
    """Yield the keys of ``mask`` by rank, with the slot of each and whether it is passed over."""
    passing = passing_layers(mask, is_process=entry.registry.is_process) if mask & LAYOUTS else 0
    for key in keys_of(mask, entry.registry.profile):
        slot = entry.slot(key) if key.target is None or mask & key.target else OTHER_DEVICE
        if key & passing:
            slot = OTHER_LAYOUT
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
    #: The layers that were passed over for want of a kernel.
    idle: int = 0

    def runner(self, *, is_plain: bool = False) -> Runner:
        """Return the function that takes all arguments in schema order and gives the caller's result.

        It asks the candidates one after the other (Note [Candidates] in `candidates`); calls are ``is_plain`` where they are
        ordinary ones without masks in their context. Raises ``NoKernelError`` when nothing has won.
        """
        run: Runner | None = None
        for candidate in reversed([*list_candidates(self, is_plain=is_plain)]):
            if not (candidate.reason or candidate.is_inlined):
                # Those below an alternative may never be asked, and their errors are those of calls that reach them.
                run = candidate.runner(run) if candidate.found is self else runners.make_late(candidate.runner, run)
        assert run is not None  # the last candidate has a slot, if an empty one
        return self._place(run) if self.mask & SEVERAL[0] else run

    def _place(self, run: Runner) -> Runner:
        """Return ``run`` on the device of its arrays; see Note [Placed calls] in `placed_calls`."""
        frontend, registration = FRONTENDS.get(self.mask & MARKERS), self.slot.registration
        is_call = not (self.explicit or self.mask & _OVERRIDING)
        is_layout = self.key is not None and self.key.kind == "layout"
        placed = place_call(
            self.entry,
            run,
            several_in(self.mask)[0],
            is_call=is_call,
            is_kernel=self.boundary() is not None or is_layout or self.is_composite(),
            crosses=registration is not None and registration.traits.crosses_devices,
            hook=None if frontend is None else frontend.call_mixed,
        )
        tables = self.entry.tables
        before = tables.traits_of(run)
        is_compared = before.is_watched is not None or before.body is not None
        return tables.keep_traits(placed, RunnerTraits(is_watched=False)) if is_compared else placed

    def kernel_runner(self, below: Runner | None) -> Runner:
        """Return the function that calls the slot's kernel, and ``below`` where it may decline."""
        traced = self._describe_call() if call_trace.is_on() else None
        try:
            run = self._runner(below)
        except NoKernelError:
            if traced is not None:
                call_trace.write(str(traced))
            raise
        run = compute_first(self, run) if computes_late(self.mask) else run
        return run if traced is None else call_trace.trace_calls(run, traced)

    def following(self) -> _Runs | None:
        """Return the resolution of the calls that the kernel declines; None where it may not, being no alternative's."""
        if self.key is None or self.key.target is None:
            return None
        found = resolve(self.entry, self.mask & ~self.key.value, 0)
        return replace(found, explicit=self.explicit) if isinstance(found, Resolution) else found

    def boundary(self) -> Boundary | None:
        """Return the boundary to the backend's arrays, or None where the winner sees the caller's arguments."""
        key = self.key if self.key is None else self.key.target or self.key
        if key is None or key.kind != "device":
            return None
        return make_boundary(key, FRONTENDS.get(self.mask & MARKERS))

    def is_composite(self) -> bool:
        """Return whether a composite has won."""
        return is_composite(self.slot.registration)

    def functional(self) -> OperatorEntry | None:
        """Return the overload that runs instead, because the call writes to arrays that cannot be written; or None.

        A composite does its own writing, but raw arrays are refused under the name of the operator that was called.
        """
        boundary = self.boundary()
        if boundary is None or boundary.mutable or not _writes(self.entry):
            return None
        kernel = self.slot.kernel
        is_derived = isinstance(kernel, KernelFactory) and kernel.is_derived
        if self.is_composite() and not is_derived and boundary.frontend is not None:
            return None
        return runners.find_functional(self.entry)

    def selects_device(self) -> int | None:
        """Return the index of the argument by which the core's own BackendSelect rule goes, where that has won."""
        chooses = self.key is DispatchKey.BackendSelect and self.slot.registration is None
        return _device_index(self.entry) if chooses else None

    def _describe_call(self) -> call_trace.TracedCall:
        registration = self.slot.registration
        if (functional := self.functional()) is not None:
            found = functional.name
        elif registration is not None:
            through = "" if registration.key is self.key else f" by {registration.key.name}"
            found = f"{'Undefined' if self.key is None else self.key.name}{through}, {registration.origin.short}"
        elif self.selects_device() is not None:
            found = "BackendSelect, which reads the device"
        else:
            found = "no kernel"
        function = "" if registration is None else kernel_name(registration.fn)
        return call_trace.TracedCall.of(self.entry, self.mask, found, function)

    def _runner(self, below: Runner | None) -> Runner:
        entry, key, registration = self.entry, self.key, self.slot.registration
        boundary, composite = self.boundary(), self.is_composite()
        functional = self.functional()
        if functional is not None and boundary is not None:
            return runners.make_functional_runner(entry, functional, boundary, self.effective & ~MARKERS)
        if registration is None:
            index = self.selects_device()
            if index is not None:
                return runners.make_device_selector(entry, index, self.effective & ~DispatchKey.BackendSelect)
            raise no_kernel_error(self)
        engine = entry.registry.engine
        keyset = DispatchKeySet(self.effective if boundary is not None else self.effective | self.idle)
        prefix = (keyset,) * registration.with_keyset + (entry.op,) * registration.boxed
        fn = runners.make_kernel(registration.fn, entry, keyset)
        of_tensors = registration.takes_tensors
        if boundary is not None and key is not None and registration.key is key.registered_as and not of_tensors:
            specialized = runners.make_specialized_kernels(entry, keyset, self.slot.specialized)
            if (log := find_log(key)) is not None:
                fn = number_kernel(fn, entry, log, len(prefix))
                specialized = tuple(
                    (place, value, number_kernel(each, entry, log)) for place, value, each in specialized
                )
            watch = make_watch(entry, boundary, registration, self.slot.specialized)
            run = engine.make_backend_runner(KernelCall(entry, boundary, fn, prefix, specialized, watch, below))
            return self._unless_elsewhere(run, boundary)
        in_order = isinstance(registration.fn, KernelFactory) and registration.fn.in_order
        who = partial(describe_kernel, key or registration.key, registration)
        # Those of libraries and frontends answer for themselves, once a first call has passed.
        is_held = registration.level is Level.PROGRAM and (of_tensors or not isinstance(registration.fn, KernelFactory))
        # The kernels of a layout call operators on its components, as composites do on their arguments.
        of_layout = registration.key.kind == "layout"
        check = runners.make_result_check(entry, self.mask, who, of_layout=of_layout) if is_held else None
        run = fn if in_order else engine.make_caller_runner(entry, fn, prefix, check)
        is_transparent = bool(self.mask & LAYOUTS) and have_history(self.mask)
        conforms = (registration.key in EXPLICIT_COMPOSITES or of_layout) and not is_transparent
        if conforms and not (of_tensors or registration.traits.answers_for_results):
            run = runners.conform_results(entry, run, FRONTENDS.get(self.mask & MARKERS), who, of_layout=of_layout)
        if of_layout and not is_transparent:
            run = runners.report_writes(entry, run, FRONTENDS.get(self.mask & MARKERS))
        excludes = composite or (of_layout and not is_transparent)
        return runners.exclude_masked_off(entry, run, self.mask) if excludes and self.explicit else run

    def _unless_elsewhere(self, run: Runner, boundary: Boundary) -> Runner:
        """Return ``run``, with calls whose ``device`` argument names another device left to a composite kernel."""
        entry, signature, home = self.entry, self.entry.signature, KEY_DEVICES.get(boundary.key.backend)
        if signature is None or signature.device_index is None or signature.is_factory or home is None:
            return run
        index = signature.device_index
        found = [slot for alias in COMPOSITES if (slot := entry.newest(alias)) is not None]
        if not found:
            return run
        best = max(found, key=lambda registration: registration.key.rank)
        elsewhere = replace(self, key=best.key, slot=Slot("kernel", best)).runner()
        own = self.slot.registration
        has_indices = self.mask & SEVERAL[0] and not (own is not None and own.traits.crosses_devices)
        goes_elsewhere = make_index_test(signature, self.mask & SEVERAL[0]) if has_indices else None

        def choose(*values: Any) -> object:
            device = values[index]
            if device is None:
                return run(*values)
            if device.type != home or (goes_elsewhere is not None and goes_elsewhere(values, device)):
                return elsewhere(*values)
            runners.open_device(device)
            return run(*values)

        return entry.tables.keep_traits(choose, RunnerTraits(choice=runners.DeviceChoice(index, None, lambda: run)))

    def run_with_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Bind the arguments and run the winner."""
        signature = self.entry.signature
        if signature is None:
            marker = unchecked_mask(args, kwargs) & MARKERS
            return self._add_marker(marker).runner()(*args, **kwargs)
        values = bind(signature.schema, args, kwargs, is_tensor)
        marker = 0
        for _, tensor in signature.tensors(values):
            marker |= getattr(tensor, "_dispatch_mask", 0) & MARKERS
        return self._add_marker(marker).runner()(*values)

    def _add_marker(self, marker: int) -> Resolution:
        return replace(self, mask=self.mask | marker, effective=self.effective | marker)


def resolve(entry: OperatorEntry, mask: int, arguments: int) -> _Runs:
    """Find the winner for ``mask``; ``arguments`` is the arguments' own mask in an ordinary call, else 0.

    Raises ``FrontendMismatchError`` for tensors of two frontends, ``DispatchKeyError`` for a bit that no key owns.
    """
    if mask < 0:
        raise DispatchKeyError(f"{entry.name}: {mask} is not a mask: it is negative")
    if entry.registry.is_process and mask & (ARRAYS | AUTOGRAD):
        _prepare(mask)
    if (layouts := mask & LAYOUTS) & (layouts - 1):
        check_layouts(entry.name, layouts)
    markers = mask & MARKERS
    if markers & (markers - 1):
        names = sorted(frontend.name for bit, frontend in list(FRONTENDS.items()) if markers & bit)
        raise FrontendMismatchError(
            f"{entry.name}: tensors of the frontends {' and '.join(names)} stand in one call",
            hint="convert them to one frontend first",
        )
    is_mixed = not arguments & _OVERRIDING and has_several_devices(arguments)
    mixed = Mixed(entry, FRONTENDS.get(markers)) if is_mixed else None
    kernels = tuple(found[0] for found in entry.for_types())
    if mixed is not None and not kernels:
        return mixed
    found = _walk(entry, mask, markers, is_explicit=not arguments)
    return consider_types(found, mixed or found, kernels) if kernels else found


def _walk(entry: OperatorEntry, mask: int, markers: int, *, is_explicit: bool) -> Resolution:
    """Find the winner for ``mask`` among the kernels under keys."""
    winner: tuple[DispatchKey, Slot] | None = None
    effective, idle = markers, 0
    for key, slot, passed_over in walk_keys(entry, mask):
        if passed_over and key.target is None:
            if slot is not OTHER_LAYOUT and key.kind == "functionality" and key is not DispatchKey.BackendSelect:
                idle |= key.value
            continue
        # Alternatives stay: a composite below, or the device that is chosen there, may have use for them.
        effective |= key.value
        if winner is None and not passed_over:
            winner = key, slot
    if winner is None:
        slot = entry.slot(None)
        if slot.registration is not None and slot.registration.is_fallthrough:
            # An alias that is passed over reaches the empty keyset too, below which there is nothing.
            slot = MISSING
        return Resolution(entry, mask, None, slot, effective, explicit=is_explicit, idle=idle)
    return Resolution(entry, mask, *winner, effective, explicit=is_explicit, idle=idle)


def _prepare(mask: int) -> None:
    """Load the backends, and let frontends register the kernels, of the keys of a mask; see Note [Keys are loaded].

    A backend that fails or is kept out has registered nothing, which ``no_kernel_error`` tells.
    """
    for key in keys_of(mask & (ARRAYS | AUTOGRAD)):
        if key.owns_arrays:
            if key.backend not in KEY_DEVICES:
                with suppress(BackendError):
                    load_key(key)
        else:
            for frontend in list(FRONTENDS.values()):
                if frontend.autograd is not None:
                    frontend.autograd.prepare(key)


# An entry's schema, and with it the signature, may be taken back by another thread at any time, so each is read once.
def _device_index(entry: OperatorEntry) -> int | None:
    """Return the index of the argument that chooses the device of a factory, or None."""
    signature = entry.signature
    return signature.device_index if signature is not None and signature.is_factory else None


def _writes(entry: OperatorEntry) -> bool:
    signature = entry.signature
    return signature is not None and bool(signature.writes)


class Mixed(Record):
    """A call whose arguments lie on several devices, and no kernel takes them: their frontend decides."""

    entry: OperatorEntry
    frontend: Frontend[Any] | None

    @property
    def hook(self) -> Runner:
        """Return the function that decides: the frontend's hook, or the one that refuses."""
        return refuse_mixed if self.frontend is None else self.frontend.call_mixed

    def runner(self, *, is_plain: bool = False) -> Runner:
        """Return the function that hands the call to the hook."""
        hook, entry = self.hook, self.entry

        def run(*values: object, **keywords: object) -> object:
            signature = entry.signature
            positional, named = signature.split(values) if signature is not None else (values, keywords)
            return hook(entry.op, tuple(positional), named)

        if call_trace.is_on():
            found = "the frontend's hook for tensors of several devices"
            return call_trace.trace_calls(run, call_trace.TracedCall(entry.name, (), found))
        return run


_Runs = Resolution | Mixed | TypedCalls


def describe_device_of(key: DispatchKey) -> str:
    """Return the state of the installed device that a key belongs to, as text; "" where there is none."""
    device = loader().device_of_key(key) if key.owns_arrays else None
    return "" if device is None else f"device {device!r} is {loader().backends()[device]}"


def no_kernel_error(resolution: Resolution) -> NoKernelError:
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
    if key is None and not keyset - DispatchKey.BackendSelect - alternatives[0]:
        return EmptyKeysetError(
            f"{entry.name}: the set of dispatch keys is empty: there are no tensor arguments, or their keys are masked"
            f" off, and no composite kernel\nKernels are registered under {kernel_keys(entry)}",
            hint="pass a tensor, or register a kernel for BackendSelect or CompositeExplicitAutograd",
        )
    place = f"{key.label}, the highest key of" if key is not None else "any key of"
    owner = KEY_DEVICES.get(key.backend) if key is not None else None
    hint = describe_device_of(key) if key is not None and owner is None else ""
    hint = find_hint(key) if key is not None and key.kind == "layout" else hint
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
            over.append(f"{passed.name} ({explain_passing_over(passed, slot)})")
    above = f"\nPassed over: {', '.join(over)}" if over else ""
    return NoKernelError(
        f"{entry.name}: no kernel for {place} {keyset!r}{above}\nKernels are registered under {kernel_keys(entry)}",
        hint=hint,
    )
