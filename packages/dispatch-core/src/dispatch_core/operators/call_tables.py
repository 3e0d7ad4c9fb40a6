"""The tables that an operator's calls read: from a mask to the function that runs.

Note [Tables are filled on a miss]
    A table maps a mask, or a mask and the context's masks, to the function that runs. A miss resolves the mask by the rules
    of `dispatch_table` and `resolve` and fills the slot; every registration that could change an answer empties the tables.
    A resolution during which a registration changed is made again: it may have seen one key before the change and another
    after it, and so have found a winner that was never right.

Note [Tables belong to a schema]
    A call binds its arguments by a schema, and the runners of a table expect them so bound. So an operator whose schema
    changes gets tables of its own for the new one. A call under way that asks the old ones is answered for the old schema,
    from the present registrations, and nothing of that is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..arrays import owners
from ..bookkeeping.levels import Level
from ..calls import reference
from ..calls.conformance import MAY_COPY, check_results, has_fixed_results
from ..calls.signature import CallSignature, make_signature
from ..calls.traits import NO_TRAITS, Runner, RunnerTraits
from ..errors import ClosedOperatorError, DispatchError
from ..keys import context
from ..keys.switched_on import included_mask
from ..keys.table import ARRAYS, DispatchKey
from ..schema.check import bind
from ..schema.model import FunctionSchema
from .kernel_names import describe_kernel
from .result_watch import is_paused

if TYPE_CHECKING:
    from .entry import OperatorEntry


#: `resolution.resolve`, imported with the first operator: `import dispatch_core` can do without, and a first call may come
#: when the interpreter ends, where nothing can be imported any more.
_resolve: Any = None


def _import_resolution() -> None:
    global _resolve
    from .resolution import resolve

    _resolve = resolve


_Index = TypeVar("_Index")


class Table(dict[_Index, Runner]):
    """The runners by mask; a missing one is looked up and, unless a registration changed meanwhile, kept."""

    __slots__ = ("tables",)

    def __init__(self, tables: Tables) -> None:
        super().__init__()
        self.tables = tables

    def __missing__(self, index: _Index) -> Runner:
        if not isinstance(index[0] if isinstance(index, tuple) else index, int):
            return _refuse_class(self.tables)
        return _check_first_call(self, index, self.find(index))

    def find(self, index: _Index) -> Runner:
        """Return the runner for callers that keep it, whether or not it is in the table."""
        found = self.get(index)
        return self.lookup(index) if found is None else found

    def lookup(self, index: _Index) -> Runner:
        """Find a runner that is missing."""
        raise NotImplementedError

    def forget(self, index: _Index, runner: Runner) -> None:
        """Take a runner back, so that the next call is a first one again."""
        with self.tables.entry.registry.lock:
            if self.get(index) is runner:
                self.tables.entry.unspecialize(runner)
                del self[index]

    def masks(self, index: _Index) -> tuple[int, int]:
        """Return the arguments' keys and the effective mask of an entry."""
        raise NotImplementedError


def _refuse_class(tables: Tables) -> Runner:
    """Return the runner for a class of tensors where a tensor is expected: its mask is the descriptor of its tensors'."""
    signature = tables.signature
    assert signature is not None  # calls without a schema look at each argument

    def refuse(*values: object) -> object:
        by_name = {
            each.name: value for each, value in zip(signature.parameters, values, strict=True) if each.keyword_only
        }
        bind(signature.schema, values[: len(values) - len(by_name)], by_name, owners.is_tensor)
        return reference.arguments_mask(signature, values)  # refuses a tensor whose mask is no number

    return refuse


#: Keys of calls whose results are those of a program's class, which are compared where they are returned.
_OVERRIDING: Final = DispatchKey.TorchFunction | DispatchKey.TorchFunctionMode | DispatchKey.Python


def _check_first_call(table: Table[_Index], index: _Index, run: Runner) -> Runner:
    """Return ``run`` with the results of one call held against the schema; see Note [When results are compared].

    A call that fails, or whose results are compared elsewhere, does not count. A backend's kernel has a watch, and answers
    for itself. A frontend's layer calls a composite itself and gives its results, so values without tensors are compared,
    too; a layer of the program may return another object for one.
    """
    tables = table.tables
    signature = tables.signature
    if signature is None or not has_fixed_results(signature) or _is_compared(tables.traits_of(run)):
        return run
    arguments, mask = table.masks(index)
    if (arguments or mask) & _OVERRIDING or mask & _OVERRIDING & ~DispatchKey.Python:
        return run
    found = _resolve(tables.entry, mask, arguments)
    registration = getattr(getattr(found, "slot", None), "registration", None)
    if registration is None:
        return run

    below = _resolve(tables.entry, mask & ARRAYS, 0)
    compared = (found, below) if registration.level is Level.BACKEND else (found,)
    has_plain = any(hasattr(each, "slot") and each.is_composite() for each in compared)
    kernels = (getattr(getattr(each, "slot", None), "registration", None) for each in (found, below))
    copies = any(each is not None and each.traits.answers_for_results for each in kernels)

    def name_kernel() -> str:
        text = describe_kernel(found.key or registration.key, registration)
        kernel = getattr(getattr(below, "slot", None), "registration", None)
        if kernel is None or kernel is registration:
            return text
        return f"{text}\nBelow it: {describe_kernel(below.key or kernel.key, kernel)}"

    def check_first(*values: object) -> object:
        has_passed = False
        try:
            returned = run(*values)
            if not is_paused():
                tags = tables.entry.tags | ({MAY_COPY} if copies else set())
                check_results(signature, tags, returned, values, name_kernel, has_plain=has_plain)
                has_passed = True
        finally:
            if not has_passed:
                table.forget(index, run)
        return returned

    # Plain code runs it, for this call alone; see Note [First calls run in plain code].
    return tables.keep_traits(check_first, RunnerTraits(is_first=True, is_watched=True))


def _is_compared(traits: RunnerTraits) -> bool:
    """Return whether a runner's results have a watch, or had one."""
    return traits.is_watched is not None or traits.body is not None


class _Call(Table[int]):
    """Calls with nothing masked in their context, by the mask of their arguments."""

    __slots__ = ()

    def lookup(self, mask: int) -> Runner:
        runner = self.tables.fill(self, mask, *self.masks(mask), is_plain=True)
        if not self.tables.traits_of(runner).is_watched:
            self.tables.entry.specialize_for(mask, runner)
        return runner

    def masks(self, mask: int) -> tuple[int, int]:
        arguments = self.tables.entry.registry.translate_mask(mask)
        return arguments, arguments | included_mask() | DispatchKey.BackendSelect


class _Masked(Table[tuple[int, context.State]]):
    """Calls under the masks of a context, by the mask of their arguments and the context's."""

    __slots__ = ()

    def lookup(self, index: tuple[int, context.State]) -> Runner:
        # The context excludes these keys from a composite's own calls, too: it needs no guard.
        runner = self.tables.fill(self, index, *self.masks(index))
        self.tables.entry.specialize_for_state(index, runner)
        return runner

    def masks(self, index: tuple[int, context.State]) -> tuple[int, int]:
        mask, state = index
        mask = self.tables.entry.registry.translate_mask(mask)
        effective = mask | included_mask() | state[0] | DispatchKey.BackendSelect
        return mask, effective & ~state[1]


class _Explicit(Table[int]):
    """Calls for an explicit mask: priority decides, also between devices."""

    __slots__ = ()

    def lookup(self, mask: int) -> Runner:
        return self.tables.fill(self, mask, *self.masks(mask))

    def masks(self, mask: int) -> tuple[int, int]:
        return 0, mask


class Tables:
    """An operator's tables under one schema, and the signature of calls for that schema."""

    __slots__ = ("_signature", "_traits", "call", "entry", "explicit", "masked", "schema", "steps")

    def __init__(self, entry: OperatorEntry, schema: FunctionSchema | None) -> None:
        if _resolve is None:
            _import_resolution()
        self.entry, self.schema = entry, schema
        self._signature: CallSignature | None = None
        self.call: Table[int] = _Call(self)
        self.masked: Table[tuple[int, context.State]] = _Masked(self)
        self.explicit: Table[int] = _Explicit(self)
        #: id → a runner and its traits.
        self._traits: dict[int, tuple[Runner, RunnerTraits]] = {}
        #: The classes of recorded calls, and the entry's generation that they are for: `record.steps`.
        self.steps: tuple[int, dict[Any, Any]] = (-1, {})

    @property
    def signature(self) -> CallSignature | None:
        """Return the signature of calls, or None where there is no schema."""
        signature = self._signature
        if signature is None and self.schema is not None:
            signature = self._signature = make_signature(self.schema, owners.is_tensor)
        return signature

    def clear(self) -> None:
        """Empty the tables."""
        self.call.clear()
        self.masked.clear()
        self.explicit.clear()
        self._traits.clear()

    def traits_of(self, runner: Runner | None) -> RunnerTraits:
        """Return the traits of a runner of these tables."""
        found = self._traits.get(id(runner))
        return NO_TRAITS if found is None else found[1]

    def keep_traits(self, runner: Runner, traits: RunnerTraits) -> Runner:
        """Keep the traits of a runner, for as long as it may stand in the tables; return it."""
        self._traits[id(runner)] = runner, traits
        return runner

    def fill(self, table: Table[_Index], index: _Index, arguments: int, mask: int, *, is_plain: bool = False) -> Runner:
        """Find the runner for ``mask`` and keep it; see Note [Tables are filled on a miss].

        ``arguments`` is as for `resolve`; ``is_plain`` calls may take a short way.
        Raises ``ClosedOperatorError`` where the operator is gone.
        """
        entry = self.entry
        while True:
            generation, is_current = entry.generation, entry.tables is self
            try:
                if entry.closed:
                    raise closed_error(entry)
                found = _resolve(entry if is_current else self._under_old_schema(), mask, arguments)
                runner = found.runner(is_plain=is_plain)
            except DispatchError:
                # A registration holds the lock until all of it is made.
                with entry.registry.lock:
                    if generation == entry.generation:
                        raise
            else:
                with entry.registry.lock:
                    if generation == entry.generation:
                        # Another thread may have made one meanwhile: all calls share what it keeps.
                        return table.setdefault(index, runner) if is_current else runner

    def _under_old_schema(self) -> OperatorEntry:
        """Return the operator as it is now, with the schema of these tables; see Note [Tables belong to a schema]."""
        from copy import copy  # needed where two threads meet, and kept off the import path of the core

        found = copy(self.entry)
        found.tables, found._slots = self, {}
        return found


def closed_error(entry: OperatorEntry) -> ClosedOperatorError:
    """Return the error for a call of an operator that is gone."""
    return ClosedOperatorError(
        f"{entry.name} is gone: the library that defined it was closed",
        hint="keep the Library object open as long as its operators are in use",
    )
