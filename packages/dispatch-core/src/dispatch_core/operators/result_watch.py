"""Watches: the results of a kernel are compared with the answer of the operator's shape rule in the first calls.

Note [When results are compared]
    A kernel that drops a dimension, changes the dtype, or whose array answers strides that its elements do not have gives
    wrong values far from where it stands. So a kernel's results are compared with the rule's answer: shape, dtype, and
    strides where they matter. A `Watch` stands around the kernel of a table's entry and compares every call; once
    `_QUIET` calls in a row have brought no new dtypes and ranks it takes itself out, so that later calls cost the same as
    without it; a call that a kernel declines counts, too, with its dtypes and ranks as others. A pipeline compares
    when a signature runs for the first time, and ``opcheck`` always does. With the environment variable
    ``DISPATCH_CHECK_RESULTS`` watches stay.
    Nothing is compared with the rule where there is none, where a composite serves Meta, and where the rule raises: it
    cannot tell the result without values, or it is stricter than the kernel. Types, numbers and memory of results are held
    against the schema all the same; see Note [Memory by the schema] in `conformance`.

Note [A rule runs unseen]
    The rule runs beside the kernel, which has run once already. So it runs under no masks of the context, where no layer,
    pipeline or profiler sees it, on arrays without data and without the call's generator: it draws no random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from ..arrays.access import dtype, is_described, shape, show_look, sizes_of, strides
from ..arrays.owners import ARRAY_TYPES, KEY_TYPES, device_key
from ..bookkeeping.changes import on_refresh
from ..calls.boundary import Boundary, bad_result, make_coercer, make_view_checker
from ..calls.conformance import (
    ALWAYS,
    check_plain,
    compare_shape,
    compare_with,
    find_rule,
    find_stand_in_maker,
    find_strange_memory,
    has_fixed_results,
    memory_error,
    misfit_error,
    plain_checks,
    plain_error,
    together,
)
from ..calls.signature import CallSignature, bad_count, bad_list
from ..calls.traits import Runner, traits_of
from ..errors import BackendError, KernelResultError
from ..keys import context
from ..keys.keyset import DispatchKeySet
from ..keys.table import DispatchKey
from .kernel_names import describe_kernel
from .registration import KernelFactory, Registration

if TYPE_CHECKING:
    from .entry import OperatorEntry

#: After how many calls without new dtypes and ranks a watch ends.
_QUIET: Final = 32
_META: Final = DispatchKey.Meta
_is_paused: Final[ContextVar[bool]] = ContextVar("dispatch_core.operators.result_watch", default=False)
_is_absent = False


@on_refresh
def _look_again() -> None:
    """Look for the meta device again when the next runner is made."""
    global _is_absent
    _is_absent = False


def _has_rules(entry: OperatorEntry) -> bool:
    """Return whether there may be shape rules; the process's own registry loads the meta device for that."""
    global _is_absent
    if _META not in KEY_TYPES and not _is_absent and entry.registry.is_process:
        try:
            device_key("meta")
        except BackendError:
            _is_absent = True
    return _META in KEY_TYPES


def make_watch(
    entry: OperatorEntry,
    boundary: Boundary,
    registration: Registration | None = None,
    specialized: Sequence[Registration] = (),
) -> Watch | None:
    """Return a watch over a table's entry, or None where the schema fixes no results.

    ``registration`` and ``specialized`` are its kernels; there is none where the functional operator computes new values.
    """
    signature = entry.signature
    if signature is None or not boundary.array_types or not has_fixed_results(signature):
        return None
    has_rule = boundary.key is not _META and bool(signature.results or signature.writes) and _has_rules(entry)
    rule = find_rule(entry) if has_rule else None
    return Watch(entry, signature, boundary, rule, registration, specialized)


def is_paused() -> bool:
    """Return whether a caller compares results itself."""
    return _is_paused.get()


@contextmanager
def pause() -> Iterator[None]:
    """Compare nothing while the block runs, for callers that compare results themselves."""
    token = _is_paused.set(True)
    try:
        yield
    finally:
        _is_paused.reset(token)


class Watch:
    """Compares one kernel's results with the shape rule's answers, until calls bring nothing new."""

    __slots__ = (
        "_boundary",
        "_checks",
        "_coerce",
        "_entry",
        "_hidden",
        "_quiet",
        "_registration",
        "_rule",
        "_said",
        "_seen",
        "_signature",
        "_specialized",
        "_view",
        "has_ended",
        "when_ended",
    )

    def __init__(
        self,
        entry: OperatorEntry,
        signature: CallSignature,
        boundary: Boundary,
        rule: Registration | None,
        registration: Registration | None,
        specialized: Sequence[Registration],
    ) -> None:
        self._entry, self._signature, self._boundary = entry, signature, boundary
        self._rule, self._registration, self._specialized = rule, registration, specialized
        self._coerce, self._view = make_coercer(boundary, signature.name), make_view_checker(boundary, signature.name)
        #: The rule as a function of the arguments in order, once it is needed.
        self._said: Runner | None = None
        self._checks = plain_checks(signature)
        #: The arguments that the rule does not get: Note [A rule runs unseen].
        self._hidden = [
            index
            for index, parameter in enumerate(signature.parameters)
            if index == signature.device_index or parameter.type.startswith("Generator")
        ]
        #: The dtypes and ranks that have come, and how many calls in a row have brought no new ones.
        self._seen: set[Any] = set()
        self._quiet = 0
        self.has_ended = False
        #: Called once, when the watch ends.
        self.when_ended: Callable[[], None] = lambda: None

    def over(self, kernel: Runner, skip: int = 0, fixed: tuple[int, Any] | None = None) -> Runner:
        """Return ``kernel`` with its results compared.

        It takes ``skip`` values before the arguments; ``fixed`` is the index and the value of one that it is called without.
        """
        signature, whose = self._signature, self._registration
        if fixed is not None:
            when = signature.parameters[fixed[0]].name, fixed[1]
            whose = next((special for special in self._specialized if special.when == when), whose)

        def compare(*args: object, **kwargs: object) -> object:
            if self.has_ended:
                return kernel(*args, **kwargs)
            values, rest = [], iter(args[skip:])
            for index, parameter in enumerate(signature.parameters):
                if fixed is not None and index == fixed[0]:
                    values.append(fixed[1])
                else:
                    values.append(kwargs[parameter.name] if parameter.name in kwargs else next(rest))
            return self.run(kernel, args, kwargs, values, whose)

        return compare

    def run(
        self,
        kernel: Runner,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        values: Sequence[Any],
        whose: Registration | None = None,
    ) -> object:
        """Run a kernel and compare its results; ``values`` are the operator's arguments in order, arrays for tensors.

        Raises ``KernelResultError`` for a result that differs from the shape rule's answer.
        """
        if _is_paused.get():
            return kernel(*args, **kwargs)
        # Before the kernel, which may write to them.
        looks: tuple[Any, ...] = ("unknown",)
        given: list[Any] | None = None
        with suppress(Exception):  # the kernel reports an argument that its own type cannot describe
            looks, given = self._describe(values)
        may_decline = whose is not None and whose.may_decline
        try:
            returned = kernel(*args, **kwargs)
        except Exception:
            if may_decline:
                self._count(("declined", *looks))
            raise
        if returned is NotImplemented and may_decline:
            self._count(("declined", *looks))
            return returned
        self._compare(returned, None if given is None else self._answer(given), values, whose)
        self._count(looks)
        return returned

    def _count(self, looks: tuple[Any, ...]) -> None:
        """Take note of a call's dtypes and ranks, and end where many have brought nothing new."""
        if looks in self._seen:
            self._quiet += 1
            if self._quiet >= _QUIET and not ALWAYS.is_on():
                self.has_ended = True
                self.when_ended()
        else:
            self._seen.add(looks)
            self._quiet = 0

    def check_replacements(self, returned: object, values: Sequence[Any]) -> None:
        """Compare with the shape rule arrays that would replace arguments that cannot be written to.

        It is asked where shape or dtype differs: the functional operator makes arrays that no argument could take.
        """
        unpacked = self._signature.unpack(returned)
        for result, found in zip(self._signature.results, unpacked, strict=True):
            if result.kind == "self" and any(
                array is not None
                and is_described(array)
                and (shape(array) != shape(written) or dtype(array) != dtype(written))
                for array, written in together(found, values[result.source], is_list=result.is_list)
            ):
                if self._rule is not None:
                    self._ask(self._describe(values)[1])
                self._compare_memory(unpacked, values, None)

    def _describe(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """Return the arrays' dtypes and ranks, and the arguments as the rule takes them."""
        signature, make = self._signature, find_stand_in_maker()
        looks: list[Any] = []
        known: dict[int, Any] = {}

        def describe(array: object) -> object:
            if array is None or make is None:
                return None
            found = known.get(id(array))
            if found is None:
                kind = dtype(array)
                if None in (sizes := sizes_of(array)):
                    raise LookupError("a size is not known")  # nor is the rule's answer
                found = known[id(array)] = make(shape(array), strides(array), kind)
                looks.append((kind, len(sizes)))
            return found

        given = list(signature.map_tensors(describe, values))
        for index in self._hidden:
            given[index] = None
        return tuple(looks), given

    def _answer(self, given: list[Any]) -> object:
        """Return the rule's answer; None where it has none."""
        try:
            return None if self._rule is None else self._ask(given)
        except Exception:  # noqa: BLE001  # see Note [When results are compared]
            return None

    def _ask(self, given: list[Any]) -> object:
        """Ask the rule; see Note [A rule runs unseen]. Raises the rule's own errors."""
        token = context.set_state[None]
        try:
            if self._said is None:
                self._said = self._bind_rule()
            return self._said(given)
        finally:
            context.reset_state(token)

    def _bind_rule(self) -> Runner:
        """Return a function that calls the rule itself, below every layer, with the arguments as kernels take them."""
        signature, rule, frontend = self._signature, self._rule, self._boundary.frontend
        assert rule is not None
        # A fake is made for the caller's frontend (Note [A fake sees the caller's arguments] in `author_kernels`).
        keyset = DispatchKeySet(_META.value | (0 if frontend is None else frontend.marker))
        fn = rule.fn.make(self._entry.op, keyset) if isinstance(rule.fn, KernelFactory) else rule.fn
        prefix = (keyset,) * rule.with_keyset
        doubts = traits_of(fn).doubts  # see `make_recorder` in `dispatch_pipelines.record.recording`

        def ask(given: list[Any]) -> object:
            positional, keywords = signature.split(tuple(given))
            if doubts is not None and doubts(*positional, **keywords):
                return None
            return fn(*prefix, *positional, **keywords)

        return ask

    def _compare(self, returned: object, answer: object, values: Sequence[Any], whose: Registration | None) -> None:
        signature = self._signature
        results = signature.results
        count = len(results)
        found = signature.unpack(returned, lambda: self._who(values, whose))
        if not count and returned is not None:
            raise bad_count(signature.name, 0, returned, self._who(values, whose))
        expected = (answer,) if count == 1 else answer
        if not isinstance(expected, tuple | list) or len(expected) != count:
            expected = (None,) * count
        for index, (result, value, meta) in enumerate(zip(results, found, expected, strict=True)):
            if result.kind == "other":
                self._check_plain(index, value, values, whose)
                continue
            if signature.leaves_out(index, values):
                continue
            if result.is_list and not isinstance(value, list | tuple):
                raise bad_list(signature.name, value, self._who(values, whose))
            if result.kind != "self" and result.is_list and _lengths_differ(value, meta):
                raise misfit_error(
                    self._entry, ("length", len(value), len(meta)), self._who(values, whose), index, count
                )
            argument = values[result.source] if result.source >= 0 else None
            for item, expected_item, written in together(value, meta, argument, is_list=result.is_list):
                array = item
                if result.kind == "self":
                    array = written if item is None else item
                elif not (item is None and result.is_optional):
                    array = self._own(item, result.kind, values, whose)
                if array is None or expected_item is None or type(array) not in ARRAY_TYPES:
                    continue  # Nothing is known; and the boundary refuses all but arrays.
                # Where arrays cannot be written to, the frontend lays out and converts the array that takes another's place.
                is_written = result.kind != "self" or self._boundary.mutable
                differs = compare_with(array, expected_item) if is_written else compare_shape(array, expected_item)
                if differs is not None:
                    raise misfit_error(self._entry, differs, self._who(values, whose), index, count)
        if whose is not None:  # else `check_replacements` follows
            self._compare_memory(found, values, whose)

    def _compare_memory(self, found: Sequence[Any], values: Sequence[Any], whose: Registration | None) -> None:
        """Refuse a copy where a view or an argument is promised; see Note [Memory by the schema]."""
        if self._boundary.key is _META or (whose is not None and whose.is_short):
            return  # Shape rules make no views of arrays without data, and a short way may copy.
        strange = find_strange_memory(self._signature, self._entry.tags, found, values, is_written=False)
        if strange is not None:
            index, fault = strange
            raise memory_error(self._signature, index, fault, self._who(values, whose))

    def _own(self, item: object, kind: str, values: Sequence[Any], whose: Registration | None) -> object:
        """Return a result as the backend's array; refuse it as the boundary would, in an error that names its kernel."""
        try:
            return self._coerce(item) if kind == "fresh" else self._view(item)
        except KernelResultError:
            pass
        raise bad_result(self._signature.name, self._boundary, item, self._who(values, whose))

    def _check_plain(self, index: int, value: object, values: Sequence[Any], whose: Registration | None) -> None:
        fault = check_plain(self._checks[index], value)
        if fault:
            raise plain_error(self._signature, index, fault, self._who(values, whose))

    def _who(self, values: Sequence[Any], whose: Registration | None) -> str:
        """Return the text that names the kernel of a result, and its arguments."""
        arrays = [item for value in values for item in (value if isinstance(value, list | tuple) else (value,))]
        given = ", ".join(show_look(item) for item in arrays if type(item) in ARRAY_TYPES)
        key = self._boundary.key
        if whose is None:
            return (
                f"Computed for {key.label}, whose arrays cannot be written to, by the functional operator; from {given}"
            )
        return f"{describe_kernel(key, whose)}; called with {given or 'no arrays'}"


def _lengths_differ(value: object, meta: object) -> bool:
    return isinstance(value, list | tuple) and isinstance(meta, list | tuple) and len(value) != len(meta)
