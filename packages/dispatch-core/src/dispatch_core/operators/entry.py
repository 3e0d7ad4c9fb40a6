"""One overload of an operator: its schema, its registrations, and the tables that its calls read.

Registration copies what it changes, so calls read without a lock; `call_tables` says how they see a change whole or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ..arrays.layouts import layout_of_key
from ..bookkeeping.origins import Origin
from ..calls.signature import CallSignature
from ..calls.traits import Runner
from ..keys import context
from ..keys.table import MARKERS, DispatchKey
from ..schema.model import FunctionSchema, OperatorName
from .call_tables import Table, Tables
from .candidates import GiveWay
from .dispatch_table import Slot, compute_slot
from .kernel_names import describe_kernel
from .overloads import OpOverload, make_overload
from .registration import Registration, Registrations

if TYPE_CHECKING:
    from .registries import Registry

NO_TAGS: Final[frozenset[str]] = frozenset()
_NOTHING: Final[Mapping[DispatchKey, Registrations]] = MappingProxyType({})


#: How many states of the context's masks callers may treat on their own.
_STATES: Final = 4
#: How often the tables of an entry were invalidated.
CHANGES: Final = [0]


class OperatorEntry:
    """One overload of an operator: its schema, its kernels, and the tables that its calls read."""

    # There may be ten thousand entries, most of them never called: no dictionary, and empty mappings are shared.
    __slots__ = (
        "_op",
        "_registrations",
        "_slots",
        "_specialized",
        "_specialized_has_data",
        "closed",
        "generation",
        "name",
        "operator_name",
        "origin",
        "registry",
        "specialized_mask",
        "specialized_states",
        "tables",
        "tags",
    )

    def __init__(self, owner: Registry, name: OperatorName) -> None:
        self.registry = owner
        self.operator_name = name
        self.name = str(name)
        self.tags: frozenset[str] = NO_TAGS
        self.origin: Origin | None = None
        #: Incremented by every change that could change the answer of a table.
        self.generation = 0
        self.closed = False
        #: Another object whenever the schema is another one.
        self.tables = Tables(self, None)
        #: The mask that callers may treat on their own; see Note [The specialized mask is compiled in] in `codegen`.
        self.specialized_mask: int | None = None
        self._specialized_has_data = False
        #: The mask, and the masks of the context, that callers may treat on their own besides.
        self.specialized_states: tuple[tuple[int, context.State], ...] = ()
        self._slots: dict[DispatchKey | None, Slot] = {}
        # The winner first; the mappings and tuples are replaced, never changed.
        self._registrations: Mapping[DispatchKey, Registrations] = _NOTHING
        self._specialized: Mapping[DispatchKey, Registrations] = _NOTHING
        self._op: OpOverload | None = None

    @property
    def kernels(self) -> dict[DispatchKey, Any]:
        """Return the active kernel of every key that has one of its own, fallthroughs left out."""
        active = ((key, found[0]) for key, found in self._registrations.items())
        return {key: found.fn for key, found in active if not found.is_fallthrough}

    @property
    def fallthrough(self) -> set[DispatchKey]:
        """Return the keys that the operator passes over by a registration of its own."""
        return {key for key, found in self._registrations.items() if found[0].is_fallthrough}

    @property
    def schema(self) -> FunctionSchema | None:
        """Return the schema, or None for an operator that was registered without one."""
        return self.tables.schema

    @schema.setter
    def schema(self, schema: FunctionSchema | None) -> None:
        before, self.tables = self.tables, Tables(self, schema)
        # Calls under way that bound their arguments by the old schema find later registrations, too.
        before.clear()

    @property
    def signature(self) -> CallSignature | None:
        """Return the signature of calls, or None for an operator without schema."""
        return self.tables.signature

    @property
    def call_table(self) -> Table[int]:
        """Return the runners of ordinary calls, by the mask of their arguments."""
        return self.tables.call

    @property
    def masked_table(self) -> Table[tuple[int, context.State]]:
        """Return the runners of calls under the masks of a context, by the mask of their arguments and these."""
        return self.tables.masked

    @property
    def explicit_table(self) -> Table[int]:
        """Return the runners for explicit masks."""
        return self.tables.explicit

    @property
    def op(self) -> OpOverload:
        """Return the handle that users call."""
        op = self._op
        if op is None:
            with self.registry.lock:
                op = self._op
                if op is None:
                    op = self._op = make_overload(self)
        return op

    def registrations(self, key: DispatchKey) -> tuple[Registration, ...]:
        """Return the registrations under exactly ``key``, the active one first."""
        return self._registrations.get(key, ())

    def specialized_kernels(self, key: DispatchKey, general: Registration | None = None) -> tuple[Registration, ...]:
        """Return the specialized kernels under ``key`` that ``general`` leaves, the first that serves a call first."""
        found = self._specialized.get(key, ())
        return found if general is None else tuple(each for each in found if each.is_above(general))

    # The questions of `dispatch_table.compute_slot`.
    def newest(self, key: DispatchKey) -> Registration | None:
        """Return the active registration under exactly ``key``."""
        found = self._registrations.get(key)
        return found[0] if found else None

    def fallback(self, key: DispatchKey) -> Registration | None:
        """Return the registry's fallback for ``key``."""
        return self.registry.fallbacks.get(key)

    def layout_fallback(self, key: DispatchKey) -> Registration | None:
        """Return the fallback for a layout's key where it stands before composites."""
        found = self.registry.fallbacks.get(key) if self.registry.is_process else None
        if found is None or found.is_fallthrough or (layout := layout_of_key(key)) is None:
            return None
        return None if layout.wants_parts(self.name) else found

    @property
    def way(self) -> GiveWay | None:
        """Return the kernel that runs where the operator gives way to another's, or None."""
        offers = self.registry.offers.get(self.name, ())
        return next((each for each in offers if isinstance(each, GiveWay)), None)

    def for_types(self) -> tuple[Registrations, ...]:
        """Return the registrations for each set of types, the active one first; see `typed_calls`."""
        return tuple(found for key, found in self._registrations.items() if key.kind == "types")

    def direct_keys(self) -> Mapping[DispatchKey, object]:
        """Return the keys with a registration of their own."""
        return self._registrations

    def describe_kernel(self, key: DispatchKey) -> str:
        """Return the text that names the kernel under a device's key, for errors about its results."""
        return describe_kernel(key, self.slot(key).registration)

    def slot(self, key: DispatchKey | None) -> Slot:
        """Return the slot of ``key``; None represents the empty keyset."""
        slot = self._slots.get(key)
        if slot is None:
            generation = self.generation
            slot = compute_slot(self, key)
            if (way := self.way) is not None:
                slot = way.slot(self, key, slot)
            with self.registry.lock:
                if generation == self.generation:
                    self._slots[key] = slot
        return slot

    def computed_table(self) -> dict[DispatchKey, Slot]:
        """Return, for every runtime key, the winning kernel, the rule that chose it and where it was registered."""
        return {key: self.slot(key) for key in DispatchKey if not key.is_alias}

    def specialize_for(self, mask: int, runner: Runner) -> None:
        """Specialize generated callers for ``mask``, unless they have a mask with data."""
        traits = self.tables.traits_of(runner)
        has_data = not (traits.body is None and traits.choice is None) and not mask & DispatchKey.Meta
        with self.registry.lock:
            is_better = self.specialized_mask is None or (has_data and not self._specialized_has_data)
            if is_better and self.call_table.get(mask) is runner:
                self.specialized_mask, self._specialized_has_data = mask, has_data
                self.reset_callers()

    def specialize_for_runner(self, runner: Runner) -> None:
        """Specialize generated callers for the masks of ``runner``: its results are no longer compared."""
        for mask, found in list(self.call_table.items()):
            choice = self.tables.traits_of(found).choice
            if choice is not None and choice.find() is runner:
                self.reset_callers()
            elif found is runner:
                self.specialize_for(mask, runner)
        for index, found in list(self.tables.masked.items()):
            if found is runner:
                self.specialize_for_state(index, runner)

    def specialize_for_state(self, index: tuple[int, context.State], runner: Runner) -> None:
        """Specialize generated callers for a context's masks, if ``runner`` has lines for them.

        A backend's kernel is called so in the states that `context.keep_in_code` was told of.
        """
        mask, state = index
        traits = self.tables.traits_of(runner)
        is_kernel = traits.body is not None and mask & MARKERS and context.is_kept_in_code(state)
        if traits.inlined is not None or is_kernel:
            with self.registry.lock:
                known = self.specialized_states
                if len(known) < _STATES and index not in known and self.tables.masked.get(index) is runner:
                    self.specialized_states = (*known, index)
                    self.reset_callers()

    def unspecialize(self, runner: Runner) -> None:
        """Make generated callers call ``runner`` again, instead of doing its work in their own code."""
        tables = self.tables
        mask, states = self.specialized_mask, self.specialized_states
        kept = tuple([each for each in states if tables.masked.get(each) is not runner])
        if mask is not None and tables.call.get(mask) is runner:
            mask = None
        if (mask, kept) != (self.specialized_mask, states):
            self.specialized_mask, self.specialized_states = mask, kept
            self.reset_callers()

    def invalidate(self) -> None:
        """Empty the tables, because a registration that they were computed from has changed."""
        # Slots go first: a look-up without the lock that has read the new number must find none of the older state.
        self._slots.clear()
        self.generation += 1
        CHANGES[0] += 1
        self.tables.clear()
        if self._op is not None:
            # Last: a reader of the new number finds nothing of the older state.
            self._op.generation = self.generation
            for lazy in self._op._callers:
                lazy.forget_targets()
        if self.specialized_mask is not None or self.specialized_states:
            self.specialized_mask, self.specialized_states = None, ()
            self.reset_callers()
        self.registry.invalidate_dependents(self.name)

    def reset_callers(self) -> None:
        """Make the code of the operator's callers again at their next calls."""
        op = self._op  # there are no callers without it
        for lazy in () if op is None else op._callers:
            lazy.reset()

    def __repr__(self) -> str:
        keys = ", ".join(key.label for key in sorted(self._registrations, key=lambda key: -key.rank))
        return f"<OperatorEntry {self.name}: {keys or 'no kernels'}>"
