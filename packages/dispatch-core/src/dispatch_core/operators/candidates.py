"""Candidates: the functions that may serve an operator's calls for a mask, in the order in which they are asked.

Note [Candidates]
    Torch's rules fill one slot for each key (`dispatch_table`), and the highest key whose slot is not passed over wins
    (`resolution`). The list of a mask is made of the slots that are left. A candidate is a registration, whose function and
    level it has, and serves

    * plain calls (`ShortWay`): on unchanged parts, with no masks in the context; first, and at most one;
    * calls in which an argument equals a value (``when=``): each before the kernel of its slot;
    * always: the slot's kernel; that of an alternative's key is followed by the candidates of the mask without that key;
    * instead of the slot's kernel, where another operator has one of a higher level (`GiveWay`).

    A short way and an alternative's kernel may decline a call: they return ``NotImplemented`` before they have written to
    anything, and the next candidate has the call. The last is a slot's kernel, from which that is an error.
    `Resolution.runner` makes the runner from the last candidate to the first. Generated callers have the first kernel's
    lines in their own code, with those for values as tests of identity, so a list costs a call nothing. ``dc.explain``
    shows the list, and with each candidate that is passed over the reason, which is made here and nowhere else.

Note [When a short way is taken]
    The usual way of a composite calls other operators, each of them dispatched, and that of a factory chooses a device. A
    short way gives the same result at once where that makes no difference: in an ordinary call whose mask has no key but
    its device's and the frontend's, and Autograd's where it says so, or where no tensor of the call has a history; under no
    masks of the context, so not in profiles, traces, pipelines and captures; and where the operator and its ``parts``,
    which the usual way calls, run the kernels that the backend and the libraries registered for them; a part that gives way
    represents the other operator, too. A registration for the operator or a part empties the tables, and so does a refresh.
    Parts that are only announced are not defined for that, as long as only backends and libraries have registered anything.
    An alternative's kernel for a part leaves the way on where it promises the bits of the device's own (``is_exact``), and
    where the way ``uses`` the part: such a way is made of the kernels that its parts run.

    A way may also decline by raising: the usual way then names the fault. Tensors with a history go ``to`` a part at once,
    with the arguments that the composite would come to; or a `ShortGradient` serves them, and the frontend makes one node
    instead of those of the parts (`Autograd.short_gradient`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from .._record import Record
from ..arrays.access import computes_late
from ..arrays.frontend import FRONTENDS
from ..arrays.indices import SEVERAL
from ..arrays.protocols import Kernel
from ..bookkeeping.levels import Level
from ..calls import call_trace
from ..calls.boundary import make_boundary
from ..calls.engine import KernelCall
from ..calls.traits import Runner
from ..keys.keyset import DispatchKeySet
from ..keys.table import ARRAYS, AUTOGRAD, MARKERS, DispatchKey, alternatives, keys_of
from .dispatch_table import Slot, compute_slot
from .registration import Registration
from .result_watch import make_watch
from .runners import make_kernel

if TYPE_CHECKING:
    from .entry import OperatorEntry
    from .registries import Registry
    from .resolution import Resolution
    from .typed_calls import TypedCalls

#: A `ShortGradient` as it is registered: its fields in their order.
GradientFields: TypeAlias = (
    "tuple[Callable[..., Any], Callable[[Any, Any, tuple[Any, ...]], Any], dict[str, tuple[str, ...]], Sequence[str]]"
)


class Candidate(Record):
    """A function that may serve the calls of a mask, its level, and when it serves; see Note [Candidates]."""

    #: None where the core's own rule serves factories, a kernel for a set of types may, or nothing is left.
    registration: Registration | None
    #: The resolution whose slot it stands in: of the mask, or of the mask without alternatives whose kernels decline.
    found: Resolution | TypedCalls
    #: Why it is passed over for this mask, or "".
    reason: str = ""
    way: ShortWay | None = None

    @property
    def is_inlined(self) -> bool:
        """Return whether it is a part of the runner of the kernel that follows it, as a test of an argument."""
        return self.registration is not None and self.registration.when is not None

    def runner(self, below: Runner | None) -> Runner:
        """Return the function that asks it, and runs ``below`` for the calls that it leaves."""
        return self.found.kernel_runner(below) if self.way is None else self.way.runner(self.found, below)


_NOT_PLAIN: Final = "it serves plain calls alone: the context has masks, or the keyset was given"


def list_candidates(found: Resolution, *, is_plain: bool, hidden: bool = False) -> Iterator[Candidate]:
    """Yield the candidates for a mask in their order, with the reasons for those that are passed over.

    Those that another registration hides for good are there with ``hidden``.
    """
    entry = found.entry
    is_chosen = False
    for way in entry.registry.offers.get(entry.name, ()):
        if isinstance(way, ShortWay):
            reason = way.obstacle(entry, found.mask) if is_plain else _NOT_PLAIN
            if not reason and is_chosen:
                reason = "a newer short way stands before it"
            is_chosen = is_chosen or not reason
            yield Candidate(way.registration, found, reason, way)
    last: Any = found
    while isinstance(last, type(found)):
        winner = last.slot.registration
        for special in last.slot.specialized:
            is_own = winner is not None and last.key is not None and winner.key is last.key.registered_as
            takes_values = is_own and last.boundary() is not None
            yield Candidate(special, last, "" if takes_values else "kernels for values are for arrays of a device")
        yield Candidate(winner, last)
        if hidden:
            yield from _list_hidden(last)
        last = last.following()
    if last is not None:
        yield Candidate(None, last)


def _list_hidden(found: Resolution) -> Iterator[Candidate]:
    """Yield the registrations that could be in a slot, with the reasons why they are not."""
    entry, slot, way = found.entry, found.slot, found.entry.way
    winner = slot.registration
    is_last = found.following() is None
    for key in keys_of(found.mask & alternatives[0] * is_last, entry.registry.profile):
        registration, theirs = entry.newest(key.registered_as), entry.slot(key)
        if registration is not None and theirs.registration is None:
            yield Candidate(registration, found, theirs.rule)
    if winner is None:
        return
    for special in entry.specialized_kernels(winner.key):
        if special not in slot.specialized:
            yield Candidate(special, found, f"the kernel for all calls from {winner.origin} hides it")
    if way is not None and way.registration is winner:
        own = compute_slot(entry, found.key).registration
        if own is not None:
            yield Candidate(own, found, f"{way.to} has a kernel of a higher level")
        return
    if way is not None:
        yield Candidate(way.registration, found, f"{way.to} has no kernel of a higher level")
    for each in entry.registrations(winner.key):
        if each is not winner:
            above = "of a higher level" if winner.level > each.level else "that is newer"
            yield Candidate(each, found, f"a kernel {above} hides it")


# Overloads that leave their calls to others.


class GiveWay(Record):
    """A kernel that takes a slot's place where another operator, ``to``, has a kernel of a higher level than the slot's.

    For an overload with a number, whose kernels are no more than a quicker way than that of the overload with a tensor:
    see Note [Kernels that a general kernel hides] in `levels`.
    """

    #: The full name of the other operator.
    to: str
    #: The function that calls it: a composite.
    registration: Registration
    #: Whether it counts under Autograd keys, too.
    autograd: bool

    @property
    def depends_on(self) -> frozenset[str]:
        """Return the operators whose registrations decide whether it serves."""
        return frozenset([self.to])

    def slot(self, entry: OperatorEntry, key: DispatchKey | None, slot: Slot) -> Slot:
        """Return the slot of a key: ``slot``, or the one that takes its place."""
        if key is None or not (key.owns_arrays or key.target is not None or (self.autograd and key.kind == "autograd")):
            return slot
        other, own = entry.registry.find_entry(self.to), slot.registration
        theirs = None if other is None else other.newest(key.registered_as)
        if theirs is None and other is not None and key.kind == "autograd":
            theirs = other.newest(DispatchKey.Autograd)
        if own is None and key.target is not None:
            # The device's own kernel is below.
            own = entry.newest(key.target)
        if theirs is None or theirs.level <= (Level.BACKEND if own is None else own.level):
            return slot
        return Slot("default backend kernel", self.registration)


# Short ways.


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


class ShortWay(Record):
    """A function that serves an operator's plain calls on the arrays of one device; see Note [When a short way is taken]."""

    registration: Registration
    #: The full names of the operators that the usual way calls.
    parts: tuple[str, ...]
    #: Those of the parts whose kernels the function that is registered takes, to make the way.
    uses: tuple[str, ...]
    #: Whether tensors with a history are served, too.
    autograd: bool
    #: Whether the array of the argument that a result belongs to represents the argument itself, and any other for a copy.
    itself: bool
    gradient: ShortGradient | None = None
    #: The full name of the operator that calls with a history go to, or "", and the function of the arrays that gives its
    #: arguments after the first, where these are others.
    to: str = ""
    arguments: Callable[..., Any] | None = None

    @property
    def depends_on(self) -> frozenset[str]:
        """Return the operators whose registrations decide whether it serves."""
        return frozenset([*self.parts, *(self.gradient.parts if self.gradient else ())])

    def obstacle(self, entry: OperatorEntry, mask: int) -> str:
        """Return why plain calls of a mask do not take the way, or ""."""
        frontend = FRONTENDS.get(mask & MARKERS)
        may_pass = self.autograd or (frontend is not None and frontend.autograd is not None)
        key = self.registration.key
        if mask & (ARRAYS if may_pass else ARRAYS | AUTOGRAD) != key:
            return f"it is for arrays of {key.label} alone" if may_pass else f"it is for {key.label} without Autograd"
        if call_trace.is_on():
            return "calls are traced"
        if computes_late(mask):
            return "the arrays are computed late"
        if mask & SEVERAL[0]:
            return "several devices of the type are in use"
        return self._find_change(entry, mask, self.parts, self.uses)

    def function(self, registry: Registry, mask: int) -> Kernel:
        """Return the way for the calls of a mask; it `uses` the kernels that the parts run for this mask."""
        way: Any = self.registration.fn
        found: Kernel = way
        if self.uses:
            found = way(*[_kernel_of(registry, part, mask, self.registration.key) for part in self.uses])
        return found

    def runner(self, found: Resolution | TypedCalls, run: Runner | None) -> Runner:
        """Return the runner of plain calls of a mask, which leaves to ``run`` those that the way does not serve."""
        entry, mask = found.entry, found.mask
        assert run is not None  # a slot's kernel, if a missing one
        frontend = FRONTENDS.get(mask & MARKERS)
        redirect = self._make_redirect(entry, run) if self.to else run
        if self.registration.fn is self.arguments:
            return redirect
        boundary = make_boundary(self.registration.key, frontend)
        watch = make_watch(entry, boundary, self.registration)
        kernel = entry.slot(self.registration.key).registration
        if kernel is not None and kernel.fn is self.registration.fn:
            short = run  # the way is there for its gradient alone
        else:
            fn = self.function(entry.registry, mask)
            call = KernelCall(entry, boundary, fn, watch=watch, below=run, is_short=True, itself=self.itself)
            short = entry.registry.engine.make_backend_runner(call)
        if self.autograd or not mask & AUTOGRAD or frontend is None or frontend.autograd is None:
            return short
        if self.gradient is not None and not self._find_change(entry, mask, (*self.parts, *self.gradient.parts), ()):
            own = mask & (ARRAYS | AUTOGRAD | MARKERS)
            made = frontend.autograd.short_gradient(entry.op, own, self.gradient, run, short)
            if made is not None:
                return made
        signature = entry.signature
        if signature is None:
            return redirect
        # A view has the history of its base even where nothing records, and the other operator is as quick there.
        always = self.arguments is not None or any(each.alias is not None for each in signature.schema.returns)
        records = None if always else frontend.autograd.records
        return entry.registry.engine.make_history_choice(entry, redirect, short, frontend.autograd.has_history, records)

    def _make_redirect(self, entry: OperatorEntry, run: Runner) -> Runner:
        """Return a runner that calls the operator that the way leads to; ``run`` where the way declines or fails."""
        found = entry.registry.find_entry(self.to)
        assert found is not None  # it is a part, and `obstacle` has found all
        if self.arguments is None:
            return found.op
        return entry.registry.engine.make_redirect(entry, found.op, self.arguments, run)

    def _find_change(self, entry: OperatorEntry, mask: int, parts: tuple[str, ...], uses: tuple[str, ...]) -> str:
        """Return which kernel for a mask the operator or a part has that the way knows nothing of, or ""."""
        registry = entry.registry
        found = self._find_foreign(entry, mask, entry.name in parts, entry.name in uses)
        for name in parts:
            if found:
                break
            if name in uses or not registry.waits_below(name, self.registration, mask):
                part = registry.find_entry(name)
                found = f"there is no {name}" if part is None else self._find_foreign(part, mask, True, name in uses)
        return found

    def _find_foreign(self, entry: OperatorEntry, mask: int, is_part: bool, is_used: bool) -> str:
        """Return which kernel of an operator for a mask hides the way, being of a higher or later level, or ""."""
        short, way = self.registration, entry.way
        for key in keys_of(mask, entry.registry.profile):
            found = entry.slot(key).registration if key.target is None or mask & key.target else None
            if found is None:
                continue
            if way is not None and found is way.registration:
                target = entry.registry.find_entry(way.to)
                reason = "" if target is None else self._find_foreign(target, mask, is_part, is_used)
                if target is None or reason:
                    return reason or f"there is no {way.to}"
            if found.level > short.level or (found.key.owns_arrays and found.is_above(short)):
                may_stay = is_part and key.target is short.key and found.level is Level.ALTERNATIVE
                if not (may_stay and (is_used or found.traits.is_exact)):
                    return f"{entry.name} has a kernel for {key.label} from {found.origin}"
        return ""


def _kernel_of(registry: Registry, name: str, mask: int, device: DispatchKey) -> Kernel:
    """Return the kernel that an operator runs for arrays of a device: of those that may decline, one after the other."""
    entry = registry.find_entry(name)
    assert entry is not None
    found = [
        make_kernel(registration.fn, entry, DispatchKeySet(mask))
        for key in keys_of(mask, registry.profile)
        if (key.target or key) is device and (registration := entry.slot(key).registration) is not None
    ]
    return found[0] if len(found) == 1 else partial(_first_that_serves, found)


def _first_that_serves(kernels: Sequence[Kernel], *args: object, **kwargs: object) -> object:
    for kernel in kernels:
        if (found := kernel(*args, **kwargs)) is not NotImplemented:
            return found
    return NotImplemented
