"""Short ways: functions on arrays that serve plain calls in the place of an operator's usual kernels.

Note [When a short way is taken]
    The usual way of a composite calls other operators, each of them dispatched, and that of a factory chooses a device. A
    short way gives the same result at once where that makes no difference: in an ordinary call whose mask has no key but
    its device's and the frontend's, and Autograd's where it says so, or where no tensor of the call has a history; under no
    masks of the context, so not in profiles, traces, pipelines and captures; and where the operator and its ``parts``,
    which the usual way calls, run the kernels that the backend and the libraries registered for them; a part that gives way
    to another operator (`Registry.give_way`) stands for that one, too. That is decided when a slot of the table for
    ordinary calls is filled; a registration for the operator or one of its parts empties the tables, and so does a refresh.
    Parts that are only announced are not defined for that, as long as nothing but backends and libraries has ever
    registered anything. An alternative's kernel for a part leaves the way on where it has the trait ``is_exact``, by
    which it promises the results of the device's own, and where the way ``uses`` the part: such a way is made of the
    kernels that its parts run.

    A way may lead to another operator, one of the parts, for tensors with a history: that one is called at once, with the
    arguments that the composite would come to.

    A way that returns ``NotImplemented``, or raises, leaves the call to the usual one, which
    then names the fault. Its results are compared with the shape rule as a kernel's are, in the first calls.
    A way with a `ShortGradient` serves calls that are recorded for backward, too: the frontend makes one node in the place
    of those of the parts (``_dispatch_short_gradient``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from .._record import Record
from ..arrays.frontend import FRONTENDS
from ..calls.boundary import make_boundary
from ..calls.engine import KernelCall
from ..keys.keyset import DispatchKeySet
from ..keys.table import ARRAYS, AUTOGRAD, MARKERS, keys_of
from ..levels import Level
from . import call_trace
from .late_calls import computes_late
from .registration import Registration
from .result_watch import make_watch
from .runners import make_kernel

if TYPE_CHECKING:
    from ..keys.table import DispatchKey
    from .entry import OperatorEntry
    from .registries import Registry
    from .resolution import Resolution

Runner = Callable[..., Any]


#: A `ShortGradient` as it is registered: its fields in their order.
GradientFields: TypeAlias = (
    "tuple[Callable[..., Any], Callable[[Any, Any, tuple[Any, ...]], Any], dict[str, tuple[str, ...]], Sequence[str]]"
)


class ShortGradient(Record):
    """How an operator's short way serves calls of which a gradient may be asked.

    ``forward`` takes the way's arguments, and returns its result and the values for backward, or ``NotImplemented``.
    ``backward(kept, grad, wanted)`` returns the gradients of the operator's tensors, in the schema's order, None where
    ``wanted`` has None; it, too, may return ``NotImplemented`` or raise, before it has written to anything. ``keeps`` are
    the arguments whose elements backward needs, each with those whose gradients need it; ``parts`` are the operators that
    backward calls in the usual way.
    """

    forward: Callable[..., Any]
    backward: Callable[[Any, Any, tuple[Any, ...]], Any]
    keeps: dict[str, tuple[str, ...]]
    parts: tuple[str, ...]

    def serves(self, entry: OperatorEntry, way: ShortWay, mask: int) -> bool:
        """Return whether an operator and all parts run the kernels that the formulas are made of."""
        return _are_usual(entry, way, mask, (*way.parts, *self.parts), ())

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class ShortWay(Record):
    """A function that serves an operator's plain calls on the arrays of one device."""

    registration: Registration
    #: The full names of the operators that the usual way calls.
    parts: tuple[str, ...]
    #: Those of the parts whose kernels the function that is registered takes, to make the way.
    uses: tuple[str, ...]
    #: Whether tensors with a history are served, too.
    autograd: bool
    #: Whether the array of the argument that a result belongs to stands for the argument itself, and any other for a copy.
    itself: bool
    gradient: ShortGradient | None = None
    #: The full name of the operator that calls with a history go to, or "", and the function of the arrays that gives its
    #: arguments after the first, where these are others.
    to: str = ""
    arguments: Callable[..., Any] | None = None

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def function(self, registry: Registry, mask: int) -> Callable[..., Any]:
        """Return the way for the calls of a mask; it `uses` the kernels that the parts run for this mask."""
        way: Any = self.registration.fn
        found: Callable[..., Any] = way
        if self.uses:
            found = way(*[_kernel_of(registry, part, mask, self.registration.key) for part in self.uses])
        return found


def find_short_way(entry: OperatorEntry, mask: int) -> ShortWay | None:
    """Return the way that an ordinary call takes for a mask; see Note [When a short way is taken]."""
    for way in entry.registry.short_ways.get(entry.name, ()):
        is_plain = _serves(way, mask) and not call_trace.is_on() and not computes_late(mask)
        if is_plain and _are_usual(entry, way, mask, way.parts, way.uses):
            return way
    return None


def _are_usual(entry: OperatorEntry, way: ShortWay, mask: int, parts: tuple[str, ...], uses: tuple[str, ...]) -> bool:
    """Return whether an operator and its parts have no kernels for a mask that would hide the short way."""
    registry = entry.registry

    def is_usual(name: str) -> bool:
        if name not in uses and registry.waits_below(name, way.registration, mask):
            return True
        part = registry.find_entry(name)
        return part is not None and _is_usual(part, way, mask, True, name in uses)

    return _is_usual(entry, way, mask, entry.name in parts, entry.name in uses) and all(map(is_usual, parts))


def _kernel_of(registry: Registry, name: str, mask: int, device: DispatchKey) -> Callable[..., Any]:
    """Return the kernel that an operator runs for arrays of a device: of those that may decline, one after the other."""
    entry = registry.find_entry(name)
    assert entry is not None
    found = [
        make_kernel(registration.fn, entry, DispatchKeySet(mask))
        for key in keys_of(mask, registry.profile)
        if (key.target or key) is device and (registration := entry.slot(key).registration) is not None
    ]
    return found[0] if len(found) == 1 else partial(_first_that_serves, found)


def _first_that_serves(kernels: Sequence[Callable[..., Any]], *args: Any, **kwargs: Any) -> Any:
    for kernel in kernels:
        if (found := kernel(*args, **kwargs)) is not NotImplemented:
            return found
    return NotImplemented


def shorten(resolution: Resolution, run: Runner) -> Runner:
    """Return the runner of an ordinary call: ``run``, or one that takes the operator's short way before it."""
    entry, mask = resolution.entry, resolution.mask
    frontend, way = FRONTENDS.get(mask & MARKERS), find_short_way(entry, mask)
    if way is None:
        return run
    redirect = _make_redirect(entry, way, run) if way.to else run
    if way.registration.fn is way.arguments:
        return redirect
    boundary = make_boundary(way.registration.key, frontend)
    watch = make_watch(entry, boundary, way.registration)
    kernel = entry.slot(way.registration.key).registration
    if kernel is not None and kernel.fn is way.registration.fn:
        found = run  # the way is there for its gradient alone
    else:
        short = way.function(entry.registry, mask)
        call = KernelCall(entry, boundary, short, watch=watch, below=run, is_short=True, itself=way.itself)
        found = entry.registry.engine.make_backend_runner(call)
    if way.autograd or not mask & AUTOGRAD or frontend is None or frontend.has_history is None:
        return found
    if way.gradient is not None and frontend.short_gradient is not None and way.gradient.serves(entry, way, mask):
        return frontend.short_gradient(entry.op, mask & (ARRAYS | AUTOGRAD | MARKERS), way.gradient, run, found)
    signature = entry.signature
    if signature is None:
        return redirect
    # A view has the history of its base even where nothing records, and the other operator is as quick there.
    always = way.arguments is not None or any(each.alias is not None for each in signature.schema.returns)
    records = None if always else frontend.records
    return entry.registry.engine.make_history_choice(entry, redirect, found, frontend.has_history, records)


def _make_redirect(entry: OperatorEntry, way: ShortWay, run: Runner) -> Runner:
    """Return a runner that calls the operator that a way leads to; ``run`` where the way declines or fails."""
    found = entry.registry.find_entry(way.to)
    assert found is not None  # it is a part, and find_short_way has found all
    if way.arguments is None:
        return found.op
    return entry.registry.engine.make_redirect(entry, found.op, way.arguments, run)


def _serves(way: ShortWay, mask: int) -> bool:
    frontend = FRONTENDS.get(mask & MARKERS)
    may_pass = way.autograd or (frontend is not None and frontend.has_history is not None)
    return mask & (ARRAYS if may_pass else ARRAYS | AUTOGRAD) == way.registration.key


def _is_usual(entry: OperatorEntry, way: ShortWay, mask: int, is_part: bool, is_used: bool) -> bool:
    """Return whether an operator has no kernel for a mask that would hide the short way: one of a higher or later level."""
    short = way.registration
    for key in keys_of(mask, entry.registry.profile):
        found = entry.slot(key).registration if key.target is None or mask & key.target else None
        if found is None:
            continue
        if found is entry.way:
            target = entry.way_target()
            if target is None or not _is_usual(target, way, mask, is_part, is_used):
                return False
        if found.level > short.level or (found.key.owns_arrays and found.is_above(short)):
            may_stay = is_part and key.target is short.key and found.level is Level.ALTERNATIVE
            if not (may_stay and (is_used or found.traits.is_exact)):
                return False
    return True
