"""Guards: generated functions that return whether records have the structure that a plan was made for.

Note [Guards]
    A fingerprint takes longer than a short plan takes to run. Calls that a loop records again and again are recognised by a
    guard instead: straight-line code that looks at each argument once, by identity wherever that is enough, and returns the
    list of values that the plan starts from. A guard accepts only records whose fingerprint would be the one that it was
    written for, or where an array stands in two places that two arrays had, and nothing is written to.
    Where the compiled front of calls is installed, it looks in the function's place (`guard_specs`), and asks it in doubt.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from dispatch_core import caches
from dispatch_core.arrays import owners
from dispatch_core.calls.native import find_front
from dispatch_core.operators.entry import CHANGES

from ..record.array_specs import ARRAY_SPECS, read_spec
from ..record.pending import Pending, storage_key
from ..record.steps import masks_of_kernels, to_outputs
from .guard_specs import is_plain, make_guard_spec
from .guard_writer import GuardWriter

if TYPE_CHECKING:
    from ..record.steps import RecordedCall
    from .fingerprints import ProgramFingerprint
    from .model import PlanOptions
    from .plan import Plan

#: Returns a plan's values and those of its results that are kept, or None.
Guard = Callable[[Sequence["RecordedCall"]], "tuple[list[Any], dict[int, Pending]] | None"]

#: The first call, the number of calls, and the plans' options → guards and their plans, the newest first.
_guards: Final[dict[tuple[Any, int, PlanOptions], list[tuple[Guard, Plan]]]] = {}
#: How many structures that begin alike are kept, and how many beginnings.
_ALIKE: Final = 8
_KEPT: Final = 256
#: Records of more calls have no guard: to compile one takes as long as a hundred fingerprints.
_LONGEST: Final = 1000


def find(records: Sequence[RecordedCall], options: PlanOptions) -> tuple[Plan, list[Any], dict[int, Pending]] | None:
    """Return the plan for records, its values, and by their indices those of its results that are kept."""
    first = records[0]  # as `_beginning` has it
    known = _guards.get((first[0] if type(first) is tuple else type(first), len(records), options))
    if known is not None:
        for guard, plan in known:
            try:
                found = guard(records)
            except (TypeError, ValueError):  # A step stands where a tuple stood, or the other way round.
                continue
            if found is not None:
                return plan, *found
    return None


def keep(records: Sequence[RecordedCall], found: ProgramFingerprint, plan: Plan, options: PlanOptions) -> None:
    """Write the guard for the records of a fingerprint, which ``plan`` serves, unless it would be too long."""
    guard = _PlanGuard(found).write(records) if len(records) <= _LONGEST else None
    if guard is None:
        return
    front = find_front()
    spec = None if front is None else make_guard_spec(records, found, guard)
    if spec is not None:
        guard = front.Guard(spec)
    alike = caches.keep(_guards, _beginning(records, options), [], _KEPT)
    alike.insert(0, (guard, plan))
    del alike[_ALIKE:]


def _beginning(records: Sequence[RecordedCall], options: PlanOptions) -> tuple[Any, int, PlanOptions]:
    first = records[0]
    return first[0] if isinstance(first, tuple) else type(first), len(records), options


class _PlanGuard(GuardWriter):
    """Writes the guard of one plan."""

    def __init__(self, found: ProgramFingerprint) -> None:
        super().__init__("return None")
        self._found = found
        self.names.scope |= {
            "changes": CHANGES,
            "count": sys.getrefcount,
            "known": ARRAY_SPECS.get,
            "looks": _look,
            "masks": masks_of_kernels,
            "owner": storage_key,
        }
        #: id of an array or a value → its name.
        self._names: dict[int, str] = {}
        self._values: list[str] = []
        #: The names of arrays among the values.
        self._arrays: set[str] = set()
        self._uses: dict[str, int] = {}
        self._fresh = 0

    def write(self, records: Sequence[RecordedCall]) -> Guard | None:
        """Return the guard, or None where a call has an argument that code cannot compare."""
        lines = self.lines
        self.check(f"changes[0] != {self.names.bind(CHANGES[0])}")
        for number, record in enumerate(records):
            is_tuple = isinstance(record, tuple)
            call, given = (record[0], record[1]) if isinstance(record, tuple) else (type(record), record.values)
            outputs = to_outputs(record[2]) if isinstance(record, tuple) else record.outputs
            state = "state" if number == 0 else "then"
            values = f"v{number}"
            if is_tuple:
                made = f"o{number}"
                lines.append(f"call, {values}, {made}, _, _, {state} = records[{number}]")
                self.check(f"call is not {self.names.bind(call)}")
            else:
                lines.append(f"step = records[{number}]")
                self.check(f"step.__class__ is not {self.names.bind(call)}")
                lines.append(f"{values}, {state} = step.values, step.state")
            if number:
                self.check("then is not state and then != state and masks(then) != masks(state)")
            if not self._arguments(values, given, call.int_values):
                return None
            lines.append(f"{values} = None")
            if is_tuple and len(outputs) == 1:
                names = [made]
            else:
                names = [f"o{number}_{index}" for index in range(len(outputs))]
                source = made if is_tuple else "step.outputs"
                if is_tuple and not outputs:
                    self.check(f"{made} is not None")
                else:
                    lines.append(f"{''.join(f'{name}, ' for name in names)}= {source}" if names else "_ = None")
            for name, output in zip(names, outputs, strict=True):
                if output is None:
                    self.check(f"{name} is not None")
                    continue
                self._names[id(output)] = name
                self._values.append("None")
                self.check(f"{name}.meta is not {self.names.bind(output.meta)}")
        lines.append("step = None")
        self._places()
        return self._compile(records)

    def _arguments(self, source: str, given: Any, int_values: Sequence[int] = ()) -> bool:
        """Write lines that look at a call's arguments, or the elements of a list; return False where code cannot."""
        names: list[str] = []
        place = len(self.lines)
        for index, value in enumerate(given):
            known = self._names.get(id(value))
            kind = type(value)
            name = f"p{self._fresh}"
            self._fresh += 1
            if known is not None:
                self.check(f"{name} is not {known}")
                self._uses[known] = self._uses.get(known, 0) + 1
            elif isinstance(value, Pending):
                array = value.value
                if array is None or value.shared is not None or read_spec(array) is not value.meta:
                    return False
                # A copy of lent memory, or a value that has been computed by now.
                name = self._names[id(value)] = f"c{name[1:]}"
                shown = self._name_array()
                looks = f"{name}.meta is not {self.names.bind(value.meta)} or {name}.shared is not None"
                there = f"{name}.error is not None or ({shown} := {name}.value) is None"
                self.check(f"{name}.__class__ is not {self.names.bind(kind)} or {looks} or {there}")
            elif kind is float or kind is complex or (kind is int and index in int_values):
                name = self._name_input()
                self.check(f"{name}.__class__ is not {kind.__name__}")
            elif kind in owners.ARRAY_TYPES:
                name = self._names[id(value)] = self._name_array()
                spec = self.names.bind(read_spec(value))
                # Mostly it is remembered, which is seen without a call of ours.
                differs = f"(seen := known(id({name}))) is None or seen[1] is not {spec}"
                self.check(f"({differs}) and looks({name}) is not {spec}")
            elif kind in (list, tuple) and not is_plain(value):
                self.check(f"{name}.__class__ is not {kind.__name__} or len({name}) != {len(value)}")
                if not self._arguments(name, value):
                    return False
            else:
                self.check_constant(name, value)
            names.append(name)
        taken = f"{''.join(f'{name}, ' for name in names)}= {source}" if names else f"if {source}: return None"
        self.lines.insert(place, taken)
        # Names count as references.
        forgotten = [name for name in names if name.startswith("p")]
        if forgotten:
            self.lines.append(f"{' = '.join(forgotten)} = None")
        return True

    def _name_input(self) -> str:
        """Add a value that the plan starts from, and return its name."""
        name = f"x{len(self._values)}"
        self._values.append(name)
        return name

    def _name_array(self) -> str:
        """Add an array that the plan starts from, and return its name."""
        name = self._name_input()
        self._arrays.add(name)
        return name

    def _places(self) -> None:
        """Write lines that see that the same arrays share memory as before, where something is written to."""
        found = self._found
        if not found.places:
            return
        arrays = [(index, name) for index, name in enumerate(self._values) if name in self._arrays]
        self.check_memories((found.places[index], f"owner({name})") for index, name in arrays)

    def _compile(self, records: Sequence[RecordedCall]) -> Guard:
        found = self._found
        kept = []
        for output in found.pending.values():
            name = self._names[id(output)]
            # Referred to by the record or step, by the name here, by the call, and by each use.
            own = 3 + self._uses.get(name, 0)
            is_kept = found.is_kept(output)
            self.check(f"count({name}) {'<=' if is_kept else '>'} {own}")
            if is_kept:
                kept.append(f"{found.slots[id(output)]}: {name}")
        ending = f"return [{', '.join(self._values)}], {{{', '.join(kept)}}}"
        return self.compile("guard(records)", [ending], "guard of a plan")


def _look(value: object) -> Any:
    """Return the spec of an array; None for a computed value, which is not an array that a plan takes."""
    return None if isinstance(value, Pending) else read_spec(value)
