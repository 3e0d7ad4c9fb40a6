"""Explanations as data: the overloads, the keys and the outcome of each; to be read as text or stored as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from dispatch_core import Origin
from dispatch_core.errors import DispatchError
from dispatch_core.inspection import Slot, kernel_name, kernel_place
from dispatch_core.keys import AUTOGRAD, DispatchKey, DispatchKeySet


@dataclass(frozen=True, slots=True)
class Overload:
    """One overload that was considered, and why it was not chosen; the reason is empty for the one that was."""

    name: str
    schema: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ArgumentKeys:
    """One tensor among the arguments: its name, its type, its keys and the frontend it belongs to, if any."""

    name: str
    type: str
    keys: DispatchKeySet
    frontend: str = ""


@dataclass(frozen=True, slots=True)
class KeyOutcome:
    """One key of the effective set, and its outcome.

    ``outcome`` is "passed over", "runs" for the winner, "missing" where a kernel should be and is not, and "below" for a
    key that is reached when the winner redispatches. ``key`` is "Undefined" when every key is passed over.
    """

    key: str
    outcome: Literal["passed over", "runs", "missing", "below"]
    #: The rule that filled the key's slot (see `dispatch_table`), or why it is passed over.
    reason: str
    kernel: str = ""
    #: The file and line of the kernel's function, or "" where Python does not know.
    place: str = ""
    #: The key that the kernel is registered under; an alias, where a composite serves many.
    registered_under: str = ""
    origin: Origin | None = None

    def __str__(self) -> str:
        if self.outcome == "passed over":
            return f"passed over: {self.reason}"
        if not self.kernel:
            return f"{self.outcome}: {self.reason}"
        defined = f" at {self.place}" if self.place else ""
        origin = f", registered under {self.registered_under} at {self.origin}" if self.origin is not None else ""
        return f"{self.outcome}: {self.kernel}{defined} ({self.reason}){origin}"


@dataclass(frozen=True, slots=True)
class CandidateOutcome:
    """One function that may serve the call or was passed over, with the reason, which is empty for one that is asked."""

    kernel: str
    #: "kernel", "specialized kernel" or "short way".
    kind: str
    registered_under: str
    level: str
    #: The calls that it serves.
    serves: str
    reason: str
    origin: Origin

    def __str__(self) -> str:
        return f"{self.told} ({self.kind}, {self.level}), registered under {self.registered_under} at {self.origin}"

    @property
    def told(self) -> str:
        """Return which calls it is asked for, or why it is passed over."""
        return f"passed over: {self.reason}" if self.reason else f"asked: {self.serves}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Which kernel a call runs, and why. ``str`` is to be read, ``to_dict()`` to be stored.

    ``error`` is the error of the call; ``then`` explains where it goes on, for a factory on the device that it names and for
    a write to arrays that cannot be written.
    """

    operator: str
    schema: str
    overloads: tuple[Overload, ...] = ()
    arguments: tuple[ArgumentKeys, ...] = ()
    #: The context's masks.
    included: DispatchKeySet = field(default_factory=DispatchKeySet)
    excluded: DispatchKeySet = field(default_factory=DispatchKeySet)
    #: The effective set, which is walked by rank.
    keys: DispatchKeySet = field(default_factory=DispatchKeySet)
    #: The set without the keys that are passed over, as kernels registered with ``with_keyset`` get it.
    kernel_keys: DispatchKeySet = field(default_factory=DispatchKeySet)
    steps: tuple[KeyOutcome, ...] = ()
    #: The functions that are asked to serve the call, in this order, and those that are not.
    candidates: tuple[CandidateOutcome, ...] = ()
    notes: tuple[str, ...] = ()
    error: DispatchError | None = None
    then: Explanation | None = None
    #: The source of the generated functions for a call and for a redispatch.
    source: str = field(default="", repr=False)

    @property
    def winner(self) -> KeyOutcome | None:
        """Return the step whose kernel runs, or None."""
        return next((step for step in self.steps if step.outcome == "runs"), None)

    def to_dict(self, *, source: bool = False) -> dict[str, Any]:
        """Return the explanation as plain data for JSON; with ``source``, the generated source too."""
        found = plain(self)
        assert isinstance(found, dict)
        if not source:
            _drop_source(found)
        return found

    def __str__(self) -> str:
        lines = [self.schema or self.operator]
        if len(self.overloads) > 1:
            lines.append("overloads")
            lines += _columns([("", each.name, each.reason or "chosen") for each in self.overloads])
        if self.arguments:
            lines.append("arguments")
            lines += _columns([("", each.name, f"{each.type} {show_keys(each.keys)}") for each in self.arguments])
        if self.included or self.excluded:
            lines.append(
                f"masks: included {show_keys(self.included)}, excluded {show_keys(_collapse_autograd(self.excluded))}"
            )
        if self.steps or self.keys:
            lines.append(f"keys {show_keys(self.keys)}")
        lines += _columns([(_MARKS.get(step.outcome, ""), step.key, str(step)) for step in self.steps])
        if len(self.candidates) > 1:
            lines.append("candidates")
            lines += _columns([("" if each.reason else ">", each.kernel, str(each)) for each in self.candidates])
        lines += [f"note: {note}" for note in self.notes]
        if self.then is not None:
            lines += ["then", *(f"  {line}" for line in str(self.then).splitlines())]
        elif self.error is not None:
            lines.append(f"raises {type(self.error).__name__}: {self.error}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ..fragments import to_fragment  # most explanations are text

        return to_fragment(self.operator, [], _html_parts(self))


_MARKS = {"runs": ">", "missing": "!"}


def _html_parts(found: Explanation) -> list[str]:
    """Return an explanation as pieces of HTML, in the order of its text."""
    from dispatch_core.display import Column, DataTable

    from ..fragments import to_block, to_note, to_part

    def table(titles: str, rows: Iterable[Sequence[str]]) -> str:
        columns = [Column(title, is_code=title not in _PROSE, wraps=title in _PROSE) for title in titles.split()]
        return DataTable(columns, rows).html()

    parts = [to_block(found.schema)] if found.schema else []
    if len(found.overloads) > 1:
        rows = [(each.name, each.reason or "chosen") for each in found.overloads]
        parts += [to_part("overloads"), table("overload reason", rows)]
    if found.arguments:
        given = [(each.name, each.type, ", ".join(key.name for key in each.keys)) for each in found.arguments]
        parts += [to_part("arguments"), table("argument type keys", given)]
    if found.included or found.excluded:
        excluded = show_keys(_collapse_autograd(found.excluded))
        parts.append(to_note(f"masks: included {show_keys(found.included)}, excluded {excluded}"))
    if found.steps:
        steps = [
            (
                each.key,
                each.outcome,
                each.kernel,
                each.registered_under,
                each.reason,
                str(each.origin or ""),
            )
            for each in found.steps
        ]
        parts += [to_part("keys, by rank"), table("key outcome kernel under reason origin", steps)]
    if len(found.candidates) > 1:
        asked = [
            (each.kernel, each.kind, each.registered_under, each.level, each.told, str(each.origin))
            for each in found.candidates
        ]
        parts += [to_part("candidates, in order"), table("kernel kind under level reason origin", asked)]
    parts += [to_note(f"note: {note}") for note in found.notes]
    if found.then is not None:
        parts += [to_part(f"then {found.then.operator}"), *_html_parts(found.then)]
    elif found.error is not None:
        parts.append(to_block(f"raises {type(found.error).__name__}: {found.error}"))
    return parts


#: The columns of an explanation that are sentences.
_PROSE = frozenset(["reason"])


def show_keys(keys: DispatchKeySet) -> str:
    """Return the names of keys in parentheses."""
    return f"({', '.join(key.name for key in keys)})"


def _collapse_autograd(keys: DispatchKeySet) -> DispatchKeySet:
    """Leave out the members of the alias Autograd, where the set has the alias."""
    alias = keys.mask & DispatchKey.Autograd
    return DispatchKeySet(keys.mask & ~AUTOGRAD | alias) if alias else keys


def _columns(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    rows = list(rows)
    width = max((len(name) for _, name, _ in rows), default=0)
    return [f"{mark:<2}{name:<{width}}  {text}" for mark, name, text in rows]


def plain(value: Any) -> Any:
    """Turn a field's value into one for JSON."""
    match value:
        case DispatchKeySet():
            return [key.name for key in value]
        case tuple():
            return [plain(item) for item in value]
        case DispatchError():
            return {"type": type(value).__name__, "message": str(value)}
        case Origin():
            return {name: getattr(value, name) for name in ("distribution", "version", "file", "line")}
        case Explanation() | Overload() | ArgumentKeys() | KeyOutcome() | CandidateOutcome():
            return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return value


def _drop_source(found: dict[str, Any]) -> None:
    found.pop("source")
    if found["then"] is not None:
        _drop_source(found["then"])


def describe_slot(key: str, outcome: Literal["runs", "missing", "below"], slot: Slot) -> KeyOutcome:
    """Return the step for a key that is not passed over, and its slot."""
    registration = slot.registration
    if registration is None:
        return KeyOutcome(key, outcome, "no kernel" if slot.rule == "missing" else slot.rule)
    name, place = kernel_name(registration.fn), kernel_place(registration.fn)
    return KeyOutcome(key, outcome, slot.rule, name, place, registration.key.name, registration.origin)
