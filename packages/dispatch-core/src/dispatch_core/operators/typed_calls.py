"""Calls that a kernel for a set of types serves: ``Library.impl(name, fn, types=(A, B))``.

Note [Which kernel for a set of types runs]
    Such a kernel is asked where no kernel of a device serves a call: where its arrays belong to several devices, and where
    the one device has no kernel under its own key; it stands before composites, as a device's kernel does. It serves the
    call if each array is of a type of its set, and gets the arrays themselves. Of several the one whose set lies within the
    others' runs; where there is no such one, the call is an error that names all of them. A call that no set fits goes on as
    without them: a mixture is refused, or their frontend decides.

Note [Layers above kernels for sets of types]
    Profiler, Tracer, modes and Autograd see a mixture that a set has as any call, with the keys of all its devices, and go
    on to it by an explicit keyset, for which the same is asked again. There a mask with the keys of two devices means the
    one of the higher rank, as ever, unless the arrays do belong to two. Pipelines run these calls at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from ..arrays.access import to_data
from ..arrays.frontend import FRONTENDS, Frontend
from ..arrays.indices import several_in
from ..arrays.owners import TYPE_MASKS, is_of_types, is_tensor
from ..caches import is_lasting, keep
from ..calls import call_trace
from ..calls.boundary import Boundary
from ..calls.conformance import check_plain, check_results, check_types, plain_checks, plain_error
from ..calls.engine import KernelCall
from ..calls.placed_calls import place_call
from ..calls.signature import CallSignature
from ..calls.traits import Runner
from ..errors import NoKernelError
from ..keys.keyset import DispatchKeySet, has_several_devices
from ..keys.table import MARKERS, keys_of
from ..keys.type_sets import TypeSet, name_types
from .kernel_names import describe_kernel, kernel_name
from .registration import Registration
from .runners import make_kernel

if TYPE_CHECKING:
    from .entry import OperatorEntry
    from .resolution import Mixed, Resolution

#: The rules of slots that a kernel for a set of types stands below: a kernel for the very device, or a provider's for it.
_OWN: Final = frozenset({"kernel", "alternative kernel"})
#: How many combinations of types an operator keeps the kernel of.
_MOST_TYPES: Final = 256
_UNLIKE: Final = "register a kernel for types=({names}), which lies within each of them"


def consider_types(
    walked: Resolution, otherwise: Resolution | Mixed, kernels: tuple[Registration, ...]
) -> Resolution | Mixed | TypedCalls:
    """Return the runner where an operator has kernels for sets of types; see Note [Which kernel for a set of types runs].

    ``otherwise`` runs without them, and is ``walked`` unless the call is refused or its frontend decides.
    """
    key, slot = walked.key, walked.slot
    is_device = key is None or key.target is not None or key.owns_arrays
    if not is_device and (slot.registration is None or walked.is_composite()):
        return otherwise  # A factory, or a composite that is differentiated through its parts.
    if otherwise is not walked:
        return TypedCalls(walked, otherwise, kernels, is_passed_on=not is_device)
    is_own = slot.rule in _OWN
    if not is_device or (is_own and not has_several_devices(walked.mask)):
        return walked
    return TypedCalls(walked, otherwise, kernels, is_for_mixtures=is_own)


class TypedCalls:
    """Calls that one of several kernels for sets of types serves, or ``otherwise``, the winner without these."""

    def __init__(
        self,
        walked: Resolution,
        otherwise: Resolution | Mixed,
        kernels: tuple[Registration, ...],
        *,
        is_passed_on: bool = False,
        is_for_mixtures: bool = False,
    ) -> None:
        self.entry, self.mask, self.walked, self.otherwise = walked.entry, walked.mask, walked, otherwise
        self.kernels = kernels
        #: Whether a layer stands above; see Note [Layers above kernels for sets of types].
        self.is_passed_on = is_passed_on
        self._is_for_mixtures = is_for_mixtures
        self._frontend = FRONTENDS.get(walked.mask & MARKERS)
        self._hook = None if self._frontend is None else self._frontend.call_mixed

    def arrays_in(self, values: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
        """Return the arrays among a call's arguments, in schema order."""
        signature = self.entry.signature
        if signature is not None:
            return [to_data(tensor) for _, tensor in signature.tensors(values)]
        items = ([*each] if isinstance(each, list | tuple) else [each] for each in (*values, *keywords.values()))
        return [to_data(item) for each in items for item in each if is_tensor(item)]

    def choose(self, arrays: list[Any]) -> Registration | None:
        """Return the kernel that serves a call of these arrays, or None; see Note [Which kernel for a set of types runs].

        Raises ``NoKernelError`` where several do, and no set lies within the others.
        """
        found = [each for each in self.kernels if all(is_of_types(array, _types_of(each).order) for array in arrays)]
        if not found or not arrays or (self._is_for_mixtures and not self._is_mixture(arrays)):
            return None
        if len(found) == 1:
            return found[0]
        least = [each for each in found if not any(_is_less(other, each) for other in found)]
        if len(least) == 1:
            return least[0]
        kinds = list(dict.fromkeys(type(array) for array in arrays))
        names = ", ".join(name_types(kinds))
        places = " and ".join(f"{each.key.label} ({each.origin})" for each in least)
        raise NoKernelError(
            f"{self.entry.name}: {len(least)} kernels for sets of types serve ({names}), and no set lies within the others:"
            f" {places}",
            hint=_UNLIKE.format(names=names),
        )

    def _is_mixture(self, arrays: list[Any]) -> bool:
        mask = 0
        for array in arrays:
            mask |= TYPE_MASKS.get(type(array), 0)
        return has_several_devices(self.entry.registry.translate_mask(mask))

    def runner(self, *, is_plain: bool = False) -> Runner:
        """Return the function that runs the kernel that serves a call, or the winner without; short ways are not asked."""
        runs = {each: self._run_of(each) for each in self.kernels}
        arrays_in, choose = self.arrays_in, self.choose
        otherwise: Runner | None = None
        is_kept = self._is_chosen_by_types()
        #: The types of a call's arguments → the runner that serves it.
        known: dict[tuple[type, ...], Runner] = {}

        def run(*values: object, **keywords: object) -> object:
            nonlocal otherwise
            types = tuple([type(value) for value in values])
            if (found := known.get(types)) is not None:
                return found(*values, **keywords)
            arrays = arrays_in(values, keywords)
            chosen = choose(arrays)
            if chosen is not None:
                # An object may say that it is of another class than its type.
                if is_kept and all(map(is_lasting, types)) and all(type(each) is each.__class__ for each in arrays):
                    keep(known, types, runs[chosen], _MOST_TYPES)
                return runs[chosen](*values, **keywords)
            if otherwise is None:
                otherwise = self.otherwise.runner()
            return otherwise(*values, **keywords)

        # Each type's arrays lie on one device; the kernel runs on that of the type with the highest key.
        for keys in reversed(several_in(self.mask)):
            run = place_call(self.entry, run, keys, is_call=True, is_kernel=True, crosses=False, hook=self._hook)
        return run

    def kernel_runner(self, below: Runner | None) -> Runner:
        """Return the same, as the last candidate."""
        return self.runner()

    def _is_chosen_by_types(self) -> bool:
        """Return whether the arguments' types decide on the kernel: no list has further ones, no class judges instances."""
        signature = self.entry.signature
        if signature is None or self._frontend is not None:
            return False
        has_lists = any(parameter.tensors in ("list", "optional_list") for parameter in signature.parameters)
        return not has_lists and all(type(each) is type for kernel in self.kernels for each in _types_of(kernel).order)

    def _run_of(self, registration: Registration) -> Runner:
        if self.is_passed_on:
            return self.walked.runner()
        run = _make_runner(self, registration, self._frontend)
        if not call_trace.is_on():
            return run
        kernel = f"{registration.key.label}, {registration.origin.short}"
        return call_trace.trace_calls(
            run, call_trace.TracedCall.of(self.entry, self.mask, kernel, kernel_name(registration.fn))
        )


def _is_less(one: Registration, other: Registration) -> bool:
    """Return whether the set of one kernel lies within that of another, and not the other way round."""
    here, there = _types_of(one), _types_of(other)
    return here.is_within(there) and not there.is_within(here)


def _types_of(registration: Registration) -> TypeSet:
    return cast("TypeSet", registration.key)


def _make_runner(calls: TypedCalls, registration: Registration, frontend: Frontend[Any] | None) -> Runner:
    """Return the function that runs a kernel on the arrays of a call, and gives results as the schema says."""
    entry, signature = calls.entry, calls.entry.signature
    keyset = DispatchKeySet(calls.mask)
    kernel, prefix = make_kernel(registration.fn, entry, keyset), (keyset,) * registration.with_keyset
    if signature is None:
        device = next(key for key in keys_of(calls.mask) if key.owns_arrays)
        boundary = Boundary(device, frontend, ())
        found = entry.registry.engine.make_backend_runner(KernelCall(entry, boundary, kernel, prefix))
        return found
    deliver = _make_delivery(entry, signature, registration, frontend)
    is_positional = not any(parameter.keyword_only for parameter in signature.parameters)

    def run(*values: object) -> object:
        data = values if frontend is None else signature.unwrap(values)
        if is_positional:
            return deliver(kernel(*prefix, *data), values, data)
        positional, keywords = signature.split(data)
        return deliver(kernel(*prefix, *positional, **keywords), values, data)

    return run


def _make_delivery(
    entry: OperatorEntry, signature: CallSignature, registration: Registration, frontend: Frontend[Any] | None
) -> Callable[[Any, tuple[Any, ...], tuple[Any, ...]], Any]:
    """Return a function of a kernel's results, the caller's arguments and their arrays, to the results of the call."""
    kinds = [result.kind for result in signature.results]
    is_array = kinds == ["fresh"] and not signature.results[0].is_list
    says_memory = "self" in kinds or "view" in kinds
    check = plain_checks(signature)[0] if kinds == ["other"] else None
    tags = entry.tags

    def who() -> str:
        return describe_kernel(registration.key, registration)

    def deliver(returned: object, values: tuple[Any, ...], data: tuple[Any, ...]) -> object:
        if check is not None:
            if fault := check_plain(check, returned):
                raise plain_error(signature, 0, fault, who())
            return returned
        if not (is_array and type(returned) in TYPE_MASKS):
            if says_memory:
                returned = signature.pack(list(_fill_written(signature, signature.unpack(returned, who), data)))
                check_results(signature, tags, returned, data, who, has_plain=True)
            else:
                check_types(signature, returned, data, who, has_plain=True)
        return returned if frontend is None else _wrap(entry, signature, frontend, returned, values)

    return deliver


def _fill_written(signature: CallSignature, found: tuple[Any, ...], data: tuple[Any, ...]) -> Iterator[Any]:
    """Yield results with the written argument instead of None."""
    for result, value in zip(signature.results, found, strict=True):
        yield data[result.source] if value is None and result.kind == "self" else value


def _wrap(
    entry: OperatorEntry, signature: CallSignature, frontend: Frontend[Any], returned: object, values: tuple[Any, ...]
) -> object:
    """Return checked results as the frontend's tensors, each of the device that its array belongs to."""

    def wrap(kind: str, source: int, item: object) -> object:
        if item is None:
            return None
        if kind == "view" and frontend.views is not None:
            return frontend.views.view(values[source], item, entry.op, values)
        return frontend.wrap(item)

    results = []
    for result, value in zip(signature.results, signature.unpack(returned), strict=True):
        if result.kind == "other":
            results.append(value)
        elif result.kind == "self":
            results.append(values[result.source])
        elif result.is_list:
            results.append([wrap(result.kind, result.source, item) for item in value])
        else:
            results.append(wrap(result.kind, result.source, value))
    if frontend.writes is not None:
        signature.report_writes(frontend.writes.note_write, values)
    return signature.pack(results)
