"""The kernels that a kernel goes on to: the one that it replaces, or those below it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from .._record import replace
from ..arrays.owners import WAITING, is_tensor
from ..bookkeeping.origins import Origin
from ..caches import keep
from ..calls.codegen import Inlined, make_late_inlined_runner
from ..calls.reference import arguments_mask, unchecked_mask
from ..calls.signature import CallSignature
from ..calls.traits import Runner
from ..errors import ArgumentError, ClosedOperatorError, NoKernelError, OperatorNotFoundError
from ..keys import context
from ..keys.keyset import DispatchKeySet, KeyLike, KeysetLike, as_key, as_mask
from ..keys.table import MARKERS, DispatchKey, keys_of
from ..lazy_text import fit_line
from ..schema.check import bind
from ..tracebacks import api_boundary
from .dispatch_table import Slot, is_composite
from .entry import OperatorEntry
from .kernel_names import kernel_keys
from .namespaces import OpOverloadPacket
from .overloads import OpOverload, is_overload
from .registration import KernelFactory
from .registries import Registry, the_registry
from .resolution import Resolution
from .runners import find_functional as _find_functional
from .runners import make_kernel

#: An operator as users name it: `as_overload` finds the overload.
OperatorLike: TypeAlias = str | OpOverload | OpOverloadPacket


def as_overload(op: object, registry: Registry | None = None) -> OpOverload:
    """Return the overload that ``op`` names or is: a name, an overload, a packet with one overload, or a custom operator.

    Raises ``OperatorNotFoundError`` where there is none, or several; ``ArgumentError`` for anything else.
    """
    if is_overload(op):
        return op
    found = op
    if isinstance(op, str):
        found = the_registry(registry).find(op)
    elif not isinstance(op, OpOverloadPacket):
        found = getattr(op, "op", None)
    if is_overload(found):
        return found
    if not isinstance(found, OpOverloadPacket):
        raise ArgumentError(f"expected an operator or its name, not {type(op).__name__}")
    overloads = found.overloads()
    if len(overloads) > 1:
        raise OperatorNotFoundError(
            f"{found.name} has {len(overloads)} overloads", hint=f"name one of {', '.join(overloads)}"
        )
    overload: OpOverload = getattr(found, overloads[0])
    return overload


class KernelHandle:
    """One kernel of one operator (source: ``torch.library.get_kernel``).

    It stays the same kernel whatever is registered after it. Made by ``get_kernel``.
    """

    __slots__ = ("_entry", "_generation", "_runners", "_slot", "key")

    def __init__(self, entry: OperatorEntry, key: DispatchKey, slot: Slot) -> None:
        self._entry, self._slot = entry, slot
        #: The dispatch key that it was looked up for.
        self.key = key
        self._generation = -1
        self._runners: dict[int, Runner] = {}

    @property
    def origin(self) -> Origin | None:
        """Return where the kernel was registered."""
        return self._slot.origin

    @property
    def rule(self) -> str:
        """Return the rule by which the kernel serves its key, as in ``computed_table()``."""
        return self._slot.rule

    def call_boxed(self, keyset: KeysetLike, /, *args: object, **kwargs: object) -> Any:
        """Run the kernel; ``keyset`` is passed to a kernel that takes one, and stays masked off in a composite.

        Arguments are checked and defaults filled in as in any call; tensors are unwrapped for a kernel that sees arrays,
        arrays passed as they are, and those that a pipeline has yet to compute are computed.
        Raises ``ClosedOperatorError`` once the kernel was taken back.
        """
        signature = self._entry.signature
        # A kernel under a device's key was given its frontend's marker with the keyset, but has arrays to pass on.
        mask = as_mask(keyset) & ~MARKERS
        if signature is None:
            return self._runner(mask | unchecked_mask(args, kwargs) & MARKERS)(*args, **kwargs)
        values = bind(signature.schema, args, kwargs, is_tensor)
        held = arguments_mask(signature, values)
        if held & DispatchKey.Pipeline and self.key.owns_arrays:
            values = tuple(map(WAITING[0], values))
        return self._runner(mask | held & MARKERS)(*values)

    def __call__(self, /, *args: object, **kwargs: object) -> Any:
        """Run the kernel with the keyset of a call that arrives at its key: the arguments' keys from that key down."""
        held, key = context.apply_to_mask(unchecked_mask(args, kwargs)), self.key
        if not key.is_alias:
            held = key.value | sum(other for other in keys_of(held) if other.rank < key.rank)
        return self.call_boxed(held, *args, **kwargs)

    def _runner(self, mask: int) -> Runner:
        entry = self._entry
        if self._generation != entry.generation:
            self._check_alive()
            held = entry.specialized_kernels(self.key)
            left = tuple(special for special in self._slot.specialized if special in held)
            self._slot = replace(self._slot, specialized=left)
            self._runners, self._generation = {}, entry.generation
        runner = self._runners.get(mask)
        if runner is None:
            runner = Resolution(entry, mask, self.key, self._slot, mask).runner()
            self._runners[mask] = runner
        return runner

    def _check_alive(self) -> None:
        registration, entry = self._slot.registration, self._entry
        assert registration is not None
        way = entry.way
        if registration in (*entry.registrations(registration.key), entry.fallback(self.key), way and way.registration):
            return
        raise ClosedOperatorError(
            f"the kernel of {entry.name} for {self.key.name} was taken back; it was registered at {registration.origin}",
            hint="keep the Library object open as long as its kernels are in use",
        )

    def __repr__(self) -> str:
        origin = self._slot.origin
        place = "" if origin is None else f", {origin.distribution or origin.short}"
        return fit_line(f"<KernelHandle {self._entry.name} {self.key.name}: {self._slot.rule}{place}>")


@api_boundary
def get_kernel(op: OperatorLike, key: KeyLike, *, registry: Registry | None = None) -> KernelHandle:
    """Return the kernel that ``op`` runs under ``key`` now, by whatever rule.

    ``op`` is an overload or a name. A kernel that is registered for the key afterwards can go on to it without meeting
    itself.
    Raises ``NoKernelError`` where the key has none or is passed over, ``OperatorNotFoundError`` for an unknown operator.

    >>> from dispatch_core import Library, Registry
    >>> r = Registry()
    >>> library = Library("demo", "DEF", registry=r)
    >>> _ = library.define("twice(int x) -> int")
    >>> _ = library.impl("twice", lambda x: 2 * x, "CPU")
    >>> before = get_kernel(r.ops.demo.twice, "CPU")
    >>> with Library("demo", "IMPL", registry=r) as patch:
    ...     @patch.impl("twice", key="CPU", with_keyset=True, allow_override=True)
    ...     def twice_and_one(keyset, x):
    ...         return before.call_boxed(keyset, x) + 1
    ...     r.redispatch("demo::twice", "CPU", 20)
    41
    """
    entry = as_overload(op, registry)._entry
    found = as_key(key)
    slot = entry.slot(found)
    if slot.registration is None or slot.registration.is_fallthrough:
        raise NoKernelError(
            f"{entry.name} has no kernel for {found.name} ({slot.rule if slot.registration is None else 'fallthrough'})",
            hint=f"kernels are registered under {kernel_keys(entry)}",
        )
    return KernelHandle(entry, found, slot)


def fast_redispatch(op: OperatorLike, keyset: KeysetLike, *, registry: Registry | None = None) -> Runner:
    """Return a function that runs ``op`` for ``keyset``, as ``op.redispatch`` does but for arguments that were checked.

    It takes all arguments by position, in the schema's order, and neither checks them nor fills in defaults: for a kernel,
    which got them so, it is the quickest way down. ``keyset`` is made of the one that the kernel was given, which knows
    whether the arguments are a frontend's tensors or arrays. Keys that the context of a call excludes are left out; kernels
    that are registered later are found. Best used by the kernels of ``kernel_factory``, once for each keyset.

    >>> from dispatch_core import Library, Registry, include_keys, kernel_factory
    >>> r = Registry()
    >>> library = Library("demo", "DEF", registry=r)
    >>> _ = library.define("scale(int x, *, int by=2) -> int")
    >>> _ = library.impl("scale", lambda x, *, by: x * by, "CompositeExplicitAutograd")
    >>> def make(op, keyset):
    ...     down = fast_redispatch(op, keyset - "Tracer")
    ...     def kernel(x, by):
    ...         return down(x, by) + 1
    ...     return kernel
    >>> _ = library.impl("scale", kernel_factory(make), "Tracer")
    >>> with include_keys("Tracer"):
    ...     r.ops.demo.scale(20)
    41
    """
    entry = as_overload(op, registry)._entry
    return entry.registry.engine.make_fast_redispatch(entry, as_mask(keyset))


def make_inlined_kernel(
    op: OperatorLike,
    first: Runner,
    lines: Callable[[Sequence[str]], Sequence[str]],
    constants: dict[str, Any],
) -> Runner:
    """Return a kernel for ``kernel_factory`` made of source lines, which calls under masks may have in their own code.

    ``first`` is the same kernel, which serves the first calls. ``lines`` gives the source for the names of all arguments, in
    the schema's order; each way through it returns. The names of ``constants`` begin with two underscores, and so do those
    of variables: b, c, d, i, p, r, t, x; ``__c`` holds the context's masks. See Note [Constants of code] in `calls.emit`.

    >>> from dispatch_core import Library, fast_redispatch, include_keys, kernel_factory, registry
    >>> library = Library("inlined_demo", "DEF")
    >>> _ = library.define("scale(int x, *, int by=2) -> int")
    >>> _ = library.impl("scale", lambda x, *, by: x * by, "CompositeExplicitAutograd")
    >>> def make(op, keyset):
    ...     down = fast_redispatch(op, keyset - "Tracer")
    ...     def write(words):
    ...         return [f"return __below({', '.join(words)}) + 1"]
    ...     return make_inlined_kernel(op, lambda x, by: down(x, by) + 1, write, {"__below": down})
    >>> _ = library.impl("scale", kernel_factory(make, in_order=True), "Tracer")
    >>> with include_keys("Tracer"):
    ...     {registry.ops.inlined_demo.scale(20) for _ in range(20)}
    {41}
    >>> library.close()
    """
    entry = as_overload(op)._entry
    signature = entry.signature
    if signature is None or not signature.is_specializable:
        return first

    def write(spelled: CallSignature) -> Sequence[str]:
        return lines([each.word for each in spelled.parameters])

    return make_late_inlined_runner(
        entry, signature, first, Inlined(write, {"__context": context.current, **constants}, 0)
    )


def find_composite(op: OperatorLike, key: KeyLike) -> Runner | None:
    """Return a function that runs the composite that serves ``key``, or None where another kernel or none does.

    ``key`` may be the composite's own. The function takes all arguments by position, in the schema's order, and runs the
    composite as an ordinary call does: the operators that it calls are dispatched under the context's masks. For layers
    that leave a composite to its parts, which arrive one by one.

    >>> from dispatch_core import Library, Registry
    >>> r = Registry()
    >>> library = Library("demo", "DEF", registry=r)
    >>> _ = library.define("twice(int x) -> int")
    >>> _ = library.impl("twice", lambda x: 2 * x, "CompositeImplicitAutograd")
    >>> find_composite(r.ops.demo.twice, "AutogradCPU")(21)
    42
    """
    entry = as_overload(op)._entry
    known = _COMPOSITES.get((entry, key))
    # Looked for again when a registration for the operator has changed.
    generation = entry.generation
    if known is None or known[0] != generation:
        known = keep(_COMPOSITES, (entry, key), (generation, _make_composite(entry, as_key(key))), _KEPT)
    return known[1]


_COMPOSITES: Final[dict[tuple[OperatorEntry, KeyLike], tuple[int, Runner | None]]] = {}
_KEPT: Final = 4096


def _make_composite(entry: OperatorEntry, key: DispatchKey) -> Runner | None:
    registration = entry.slot(key).registration
    if not is_composite(registration):
        return None
    keyset = DispatchKeySet(key)
    prefix = (keyset,) * registration.with_keyset + (entry.op,) * registration.boxed
    fn = make_kernel(registration.fn, entry, keyset)
    if isinstance(registration.fn, KernelFactory) and registration.fn.in_order:
        return fn
    return entry.registry.engine.make_caller_runner(entry, fn, prefix)


def find_functional(op: OperatorLike) -> OpOverload | None:
    """Return the overload that computes the values that an in-place or ``out=`` overload writes, or None.

    It takes the same arguments without those that are only written to, and is found by their names and types.

    >>> from dispatch_core import Library, Registry
    >>> r = Registry()
    >>> library = Library("demo", "DEF", registry=r)
    >>> names = library.define("double(Tensor x) -> Tensor"), library.define("double_(Tensor(a!) x) -> Tensor(a!)")
    >>> find_functional(r.ops.demo.double_).name
    'demo::double'
    """
    found = _find_functional(as_overload(op)._entry)
    return None if found is None else found.op


def below(op: OperatorLike, keyset: KeysetLike, *, registry: Registry | None = None) -> Runner:
    """Return `fast_redispatch` of the arguments: its name until 0.2."""
    warnings.warn("below is fast_redispatch now; the old name goes in 0.2", DeprecationWarning, stacklevel=2)
    return fast_redispatch(op, keyset, registry=registry)
