"""One overload of an operator: its schema, what is registered for it, and the tables that its calls read.

Note [Tables are filled on a miss]
    An operator's tables map a mask, or a mask and the context's masks, to the function that runs. A miss resolves the mask
    by the rules of `table` and `resolve` and fills the slot; every registration that could change an answer empties the
    tables. Registration copies what it changes, so calls read without a lock; a slot resolved from an older state is not
    stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from . import arrays, masks
from .boundary import Plan, make_plan
from .errors import ClosedOperatorError
from .kernel import Origin, Registration
from .keys import ARRAYS, DispatchKey
from .resolve import resolve
from .schema.model import FunctionSchema, OperatorName
from .table import Slot, compute_slot

if TYPE_CHECKING:
    from .ops import OpOverload
    from .registry import Registry

__all__ = ["OperatorEntry", "closed_error", "kernel_keys"]

Runner = Callable[..., Any]
NO_TAGS: Final[frozenset[str]] = frozenset()
_NOTHING: Final[Mapping[DispatchKey, tuple[Registration, ...]]] = MappingProxyType({})


class Table(dict[Any, Runner]):
    """What runs for a mask; one that is not there yet is looked up and, unless something changed meanwhile, kept."""

    __slots__ = ("__missing__",)

    def __init__(self, lookup: Callable[[Any], Runner]) -> None:
        super().__init__()
        self.__missing__ = lookup


class OperatorEntry:
    """One overload of an operator: its schema, its kernels, and the tables that its calls read."""

    # There may be ten thousand entries, most of them never called: no dictionary, and what is empty is shared.
    __slots__ = (
        "_covered",
        "_op",
        "_plan",
        "_registrations",
        "_slots",
        "call_table",
        "closed",
        "explicit_table",
        "generation",
        "name",
        "operator_name",
        "origin",
        "registry",
        "schema",
        "tags",
    )

    def __init__(self, owner: Registry, name: OperatorName) -> None:
        self.registry = owner
        self.operator_name = name
        self.name = str(name)
        self.schema: FunctionSchema | None = None
        self.tags: frozenset[str] = NO_TAGS
        self.origin: Origin | None = None
        #: Bumped by whatever could change the answer of a table.
        self.generation = 0
        self.closed = False
        self.call_table = Table(self.lookup)
        self.explicit_table = Table(self.lookup_explicit)
        self.masked_table = Table(self.lookup_masked)
        #: The mask that callers may treat on their own; see Note [The usual mask is compiled in] in `codegen`.
        self.usual: int | None = None
        self._usual_has_data = False
        self._slots: dict[DispatchKey | None, Slot] = {}
        # Newest first; the mappings and tuples are replaced, never changed.
        self._registrations: Mapping[DispatchKey, tuple[Registration, ...]] = _NOTHING
        self._covered: Mapping[DispatchKey, tuple[Registration, ...]] = _NOTHING
        self._plan: Plan | None = None
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
    def plan(self) -> Plan | None:
        """Return what the schema asks of calls, or None for an operator without one."""
        schema, plan = self.schema, self._plan
        if schema is None:
            return None
        # Compared, not just reset: another thread may be storing the plan of a schema that was taken back meanwhile.
        if plan is None or plan.schema is not schema:
            plan = self._plan = make_plan(schema, arrays.is_tensor)
        return plan

    @property
    def op(self) -> OpOverload:
        """Return the handle that users call."""
        op = self._op
        if op is None:
            from .ops import make_overload  # handles stand above the registry

            with self.registry.lock:
                op = self._op
                if op is None:
                    op = self._op = make_overload(self)
        return op

    def registrations(self, key: DispatchKey) -> tuple[Registration, ...]:
        """Return what is registered under exactly ``key``, newest first."""
        return self._registrations.get(key, ())

    def covered(self, key: DispatchKey) -> tuple[Registration, ...]:
        """Return the covered kernels under ``key``, newest first."""
        return self._covered.get(key, ())

    # What `table.compute_slot` asks.
    def newest(self, key: DispatchKey) -> Registration | None:
        """Return the active registration under exactly ``key``."""
        found = self._registrations.get(key)
        return found[0] if found else None

    def fallback(self, key: DispatchKey) -> Registration | None:
        """Return the registry's fallback for ``key``."""
        return self.registry.fallbacks.get(key)

    def direct_keys(self) -> Mapping[DispatchKey, object]:
        """Return the keys with a registration of their own."""
        return self._registrations

    def slot(self, key: DispatchKey | None) -> Slot:
        """Return what ``key`` leads to; None stands for the empty keyset."""
        slot = self._slots.get(key)
        if slot is None:
            generation = self.generation
            slot = compute_slot(self, key)
            with self.registry.lock:
                if generation == self.generation:
                    self._slots[key] = slot
        return slot

    def computed_table(self) -> dict[DispatchKey, Slot]:
        """Return, for every runtime key, the winning kernel, the rule that chose it and where it was registered."""
        return {key: self.slot(key) for key in DispatchKey if not key.is_alias}

    def lookup(self, mask: int) -> Runner:
        """Resolve a call whose arguments have ``mask``, with nothing masked in this context."""
        runner = self._fill(self.call_table, mask, mask, mask | DispatchKey.BackendSelect)
        self._get_used_to(mask, runner)
        return runner

    def _get_used_to(self, mask: int, runner: Runner) -> None:
        """Let callers treat ``mask`` on their own, unless they do so with a better one."""
        has_data = hasattr(runner, "body") and not mask & DispatchKey.Meta
        with self.registry.lock:
            if self.call_table.get(mask) is runner and (self.usual is None or (has_data and not self._usual_has_data)):
                self.usual, self._usual_has_data = mask, has_data
                self.op._late[0].forget()

    def lookup_masked(self, key: tuple[int, masks.State]) -> Runner:
        """Resolve a call whose arguments have a mask, under the masks of a context."""
        mask, state = key
        effective = mask | state[0] | DispatchKey.BackendSelect
        effective ^= effective & state[1]
        # Tensors of several devices are the frontend's to judge, whatever is masked; else the effective keys decide alone.
        several = (mask & ARRAYS).bit_count() > 1
        return self._fill(self.masked_table, key, mask if several else 0, effective)

    def lookup_explicit(self, mask: int) -> Runner:
        """Resolve a call for an explicit mask: priority decides, also between devices."""
        return self._fill(self.explicit_table, mask, 0, mask)

    def _fill(self, table: Table, index: object, arguments: int, mask: int) -> Runner:
        if self.closed:
            raise closed_error(self)
        generation = self.generation
        runner = resolve(self, mask, arguments).runner()
        with self.registry.lock:
            if generation == self.generation:
                table[index] = runner
        return runner

    def forget(self) -> None:
        """Empty the tables, because something that they were computed from has changed."""
        self.generation += 1
        self.call_table.clear()
        self.explicit_table.clear()
        self.masked_table.clear()
        self._slots.clear()
        if self.usual is not None:
            self.usual = None
            self.op._late[0].forget()

    def __repr__(self) -> str:
        keys = ", ".join(key.label for key in sorted(self._registrations, key=lambda key: -key.rank))
        return f"<OperatorEntry {self.name}: {keys or 'no kernels'}>"


def closed_error(entry: OperatorEntry) -> ClosedOperatorError:
    """Return the error for a call of an operator that is gone."""
    return ClosedOperatorError(
        f"{entry.name} is gone: the library that defined it was closed",
        hint="keep the Library object open as long as its operators are in use",
    )


def kernel_keys(entry: OperatorEntry) -> str:
    """Return the keys with a kernel and who registered each, for error texts."""
    lines = [
        f"{key.label} ({entry.registrations(key)[0].origin})"
        for key in sorted(entry.kernels, key=lambda key: -key.rank)
    ]
    return ", ".join(lines) or "no key at all"
