"""Captured functions: recorded twice, and replayed from then on without recording.

Note [Variants]
    A call that no variant's guard lets pass is recorded. Where the guard of an earlier recording lets it pass, the two are
    compared, and become a variant. Variants are tried from the newest on, and the one whose last replay is the longest ago
    goes when there are too many. All lists are replaced, never changed: calls read them without a lock.

Note [Functions that cannot be captured]
    ``fullgraph=False`` is torch's word for a function that may run eagerly where it cannot be one graph. Here it does so as
    a whole, from the call on in which a recording gave up or differed; what that call has done is not done again.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import MethodType
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar, overload
from weakref import WeakMethod

from dispatch_core.arrays.frontend import FRONTENDS
from dispatch_core.calls import KernelTraits
from dispatch_core.display import show_number_of
from dispatch_core.display.progress_reports import begin_watch
from dispatch_core.errors import ArgumentError, CaptureError, short_repr
from dispatch_core.keys import context
from dispatch_core.keys.table import DispatchKey, keys_of
from dispatch_core.operators.entry import CHANGES
from dispatch_core.surroundings.logs import Log
from dispatch_core.tracebacks import api_boundary, trim_traceback

from ..program.guard_writer import Names
from ..record.blocks import current, paused
from ..record.errors import GIVEN_UP, before_read
from ..record.materialization import materialize
from ..record.pending import Pending
from ..run.planned_runs import split
from .capture_stats import OTHERS, CaptureStats
from .capturing import CaptureBlock, Recording, current_recording
from .eager_calls import EagerCall, RecordingRow
from .held_tensors import find_held
from .live_numbers import to_plain
from .recorded import RecordedRun, compare
from .replay import make_replay
from .replay_guards import MISS, ReplayGuard
from .structures import Arguments, Results, tensors_in

#: The keys of layers that see single calls: under them a captured function runs eagerly.
_LAYERS: Final = sum(
    DispatchKey[name].value
    for name in (
        "Batched FuncTorchBatched FuncTorchDynamicLayerFrontMode FuncTorchGradWrapper FuncTorchVmapMode Functionalize"
        " Profiler Python PythonDispatcher PythonTLSSnapshot Tracer VmapMode"
    ).split()
)


_LOG: Final = Log("capture")
_OPTIONS: Final = ("check", "max_variants", "donate", "check_indices", "fullgraph")


_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")
_S = TypeVar("_S")
_N = TypeVar("_N")
_F = TypeVar("_F", bound=Callable[..., object])


class Variant:
    """One recorded way through a captured function: its guard, and its replay once there is one."""

    def __init__(self, recorded: RecordedRun, guard: Callable[..., Any]) -> None:
        self.recorded, self.guard = recorded, guard
        self.run: Callable[..., Any] = guard
        #: Whether registrations have changed since it was recorded.
        self.is_outdated = False
        self.replays: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        #: The number of its function's replays at the last one of its own.
        self.used = 0
        self.fused = self.donated = 0
        #: Return what the plan says of itself.
        self.notes: tuple[Callable[[], str], ...] = ()

    def first_run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Replay, and compare the results with the shape rules; see Note [When a replay is compared] in `replay`."""
        assert self.replays is not None
        found = self.replays[0](args, kwargs)
        if found is not MISS:
            self.run = self.replays[1]
        return found

    def bring_up_to_date(self) -> None:
        """Drop the recordings from before registrations changed: calls are recorded again and compared."""
        changes = self.recorded.changes
        if changes[0] != CHANGES[0]:
            # In this order: other threads may be about to replay it.
            self.is_outdated, self.run = True, _run_nothing
            changes[0] = CHANGES[0]


def _run_nothing(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return MISS


_FIRST: Final = "it is the first call"
_REFUSED: Final = "because it cannot be captured"


class capture(Generic[_P, _R]):  # noqa: N801  # it is called like a function, and decorates one
    """Record a function's operators twice, and replay them from the third call on without running the function.

    >>> @capture
    ... def pair(number):
    ...     return [number, number + 1]
    >>> [pair(3) for _ in range(4)]
    [[3, 4], [3, 4], [3, 4], [3, 4]]
    >>> pair.stats()
    <CaptureStats: 1 variant, 2 replays, 2 recordings>

    ``check=n`` records every n-th call again, and raises where it differs from its variant. ``max_variants`` are kept; more
    than that are said once, by a warning. After 2 * ``max_variants`` + 16 recordings in a row without a replay calls run
    eagerly, which another warning says once; recording is tried again after 256 of them, and then after twice as many.
    With ``donate=False`` no device's compiler uses up the memory of an array that is overwritten. ``check_indices=False``
    is the promise that indices and other values are right in replays, whose compiled programs then do not look. With
    ``fullgraph=False`` a function that cannot be captured runs eagerly from then on, which a warning says. Raises
    ``CaptureError`` where a replay cannot repeat a call, or two calls differ; ``ArgumentError`` for anything but a
    function that can be captured.
    """

    #: The newest first; see Note [Variants].
    _variants: tuple[Variant, ...] = ()

    @overload
    def __new__(
        cls,
        function: Callable[_P, _R],
        /,
        *,
        check: int = 0,
        max_variants: int = 8,
        donate: bool = True,
        check_indices: bool = True,
        fullgraph: bool = True,
    ) -> capture[_P, _R]: ...
    @overload
    def __new__(  # type: ignore[misc]  # without a function it is a decorator
        cls,
        function: None = None,
        /,
        *,
        check: int = 0,
        max_variants: int = 8,
        donate: bool = True,
        check_indices: bool = True,
        fullgraph: bool = True,
    ) -> Callable[[Callable[_P, _R]], capture[_P, _R]]: ...
    @api_boundary
    def __new__(cls, function: Any = None, /, **options: Any) -> Any:
        """Return a captured function; without one a decorator."""
        for name in options:
            if name not in _OPTIONS:
                raise ArgumentError(
                    f"capture() got an unexpected option {name!r}", hint=f"it takes {', '.join(_OPTIONS)}"
                )
        if function is None:
            return functools.partial(cls, **options)
        self = object.__new__(cls)
        self._begin(function, **options)
        return self

    def _begin(
        self,
        function: Callable[..., Any],
        *,
        check: int = 0,
        max_variants: int = 8,
        donate: bool = True,
        check_indices: bool = True,
        fullgraph: bool = True,
    ) -> None:
        _check(function, check, max_variants)
        # Not the attributes of an object that is called, such as a module.
        functools.update_wrapper(self, function, updated=())
        self._name: str = getattr(function, "__qualname__", type(function).__qualname__)
        # A method is held weakly: it often is an attribute of its own object.
        is_method = isinstance(function, MethodType)
        self._function: Callable[[], Any] = WeakMethod(function) if is_method else lambda: function
        if is_method:
            del vars(self)["__wrapped__"]
        self._every, self._most = check, max_variants
        self._planning = {"donate": bool(donate), "check_indices": bool(check_indices)}
        self._fullgraph = bool(fullgraph)
        #: Why calls run eagerly from now on, if they do.
        self._refusal: CaptureError | None = None
        #: Replays, and calls that looked for a variant in `_replay_or_record`.
        self._replays = self._calls = 0
        self._row = RecordingRow(max_variants)
        #: Calls that were recorded once, the newest first.
        self._candidates: tuple[Variant, ...] = ()
        self._stats = CaptureStats()
        #: Whether it was said that there are too many variants, and that calls run eagerly.
        self._has_warned = self._has_said = False
        self._lock = threading.Lock()

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Replay the call, or record it."""
        try:
            if not self._every:
                for variant in self._variants:
                    found = variant.run(args, kwargs)
                    if found is not MISS:
                        variant.used = self._replays = self._replays + 1
                        return found
            return self._call(args, kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...
    @overload
    def __get__(self: capture[Concatenate[_S, _Q], _R], owner: _S, kind: type | None = None) -> Callable[_Q, _R]: ...
    def __get__(self, owner: object, kind: type | None = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Find out why no variant ran at once, and run one, or the function."""
        function = self._function()
        if function is None:
            raise CaptureError(f"the object whose method {self._name} is captured is gone", hint="keep the object")
        if current_recording() is not None:
            return function(*args, **kwargs)  # a part of the recorded call
        if self._refusal is not None:
            self._stats.eager[_REFUSED] += 1
            return function(*args, **kwargs)
        state = context.current()
        layers = 0 if state is None else state[0] & _LAYERS
        if layers:
            for frontend in list(FRONTENDS.values()):
                layers &= -1 if frontend.capture is None else ~frontend.capture.passing_layers()
        if layers:
            self._stats.eager[f"under {' and '.join(key.name for key in keys_of(layers))}"] += 1
            return function(*args, **kwargs)
        if any(getattr(each, "_dispatch_mask", 0) & DispatchKey.Meta for each, _ in tensors_in((args, kwargs), "")):
            self._stats.eager["on meta"] += 1
            return function(*args, **kwargs)
        session = current()
        if session is not None:
            _LOG.debug("flush of a pipeline: the captured function %s is called", self._name)
            session.flush()
            with paused(state):
                return self._replay_or_record(function, args, kwargs)
        return self._replay_or_record(function, args, kwargs)

    def _replay_or_record(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._bring_in(args, kwargs)
        self._calls += 1
        is_due = self._every and self._calls % self._every == 0
        for variant in (*self._variants, *self._candidates):
            variant.bring_up_to_date()
            again = is_due or variant.is_outdated or variant.replays is None
            found = (variant.guard if again else variant.run)(args, kwargs)
            if found is MISS:
                continue
            if again:
                is_check = bool(is_due and variant.replays is not None and not variant.is_outdated)
                if not is_check and self._is_over():
                    return self._run_eagerly(function, args, kwargs)
                why = "its check is due" if is_due else "the kernels have changed" if variant.is_outdated else ""
                _LOG.debug("%s is recorded again: %s", self._name, why or "a replay takes two equal recordings")
                return self._record(function, args, kwargs, variant, is_check=is_check)
            variant.used = self._replays = self._replays + 1
            return found
        if self._is_over():
            return self._run_eagerly(function, args, kwargs)
        why = self._why(args, kwargs)
        with self._lock:
            self._stats.count_miss(why)
        tell = _LOG.info if self._variants else _LOG.debug
        tell("%s is recorded, because %s; variants so far: %d", self._name, why, len(self._variants))
        return self._record(function, args, kwargs, None)

    def _is_over(self) -> bool:
        """Return whether a call that would be recorded runs eagerly; see Note [When recording stops] in `eager_calls`."""
        with self._lock:
            return self._row.is_over(self._replays)

    def _run_eagerly(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call that is not recorded, because too many were in vain."""
        why = f"after {self._row.most} calls in a row without a replay"
        with self._lock:
            says, self._has_said = not self._has_said, True
            self._stats.eager[why] += 1
        if says:
            _LOG.info("%s runs eagerly from now on, %s; recording is tried again now and then", self._name, why)
            because = self._most_frequent()
            warnings.warn(
                f"{self._name} runs eagerly {why}, because {because}; recording is tried again now and then",
                RuntimeWarning,
                stacklevel=5,
            )
        return EagerCall(self._name).run(function, args, kwargs) if self._fullgraph else function(*args, **kwargs)

    def _give_up(self, refusal: CaptureError) -> None:
        """Run eagerly from now on; see Note [Functions that cannot be captured]."""
        with self._lock:
            says, self._refusal = self._refusal is None, refusal
            self._variants = self._candidates = ()
        if says:
            warnings.warn(f"{self._name} runs eagerly from now on: {refusal}", RuntimeWarning, stacklevel=6)

    def _bring_in(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Replace computed pending values by their arrays: guards accept arrays only."""
        given = [tensor for tensor, _ in tensors_in((args, kwargs), "")]
        for variant in (*self._variants, *self._candidates):
            given += [each.reference() for each in variant.recorded.inputs if each.reference is not None]
        for tensor in given:
            if isinstance(getattr(tensor, "_dispatch_data", None), Pending):
                materialize(tensor)

    def _record(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        before: Variant | None,
        *,
        is_check: bool = False,
    ) -> Any:
        """Record a call, compare it with the one ``before``, and run it as a pipeline."""
        arguments = Arguments(Names(), "return miss")
        arguments.write(args, kwargs)
        recorded: RecordedRun | None = None
        tensors: list[Any] = []
        recording = Recording(self._name, gives_up=not self._fullgraph)
        watch = begin_watch("steps", recording.describe_progress)
        try:
            with CaptureBlock(recording):
                try:
                    held = find_held(function, recording.parts.values())
                    for tensor, place in _places(args, kwargs):
                        recording.see(tensor, place)
                        if id(tensor) in held and recording.is_input(tensor):
                            recording.inputs[id(tensor)].is_held = True
                    result = function(*args, **kwargs)
                    recorded = self._keep(recording, result, arguments)
                finally:
                    recording.end(failed=recorded is None)
                if recorded is not None:
                    tensors = [*recorded.tensors, *(each.tensor for each in recorded.inputs)]
                    made, fault = self._compare(recorded, arguments, before, result)
        except BaseException:
            recording.restore_failed()
            raise
        finally:
            recording.end(failed=True)
            if watch is not None:
                watch.end()
        if recorded is None:
            tensors = [tensor for tensor, _ in tensors_in(result, "")]
        for tensor in tensors:
            if isinstance(getattr(tensor, "_dispatch_data", None), Pending):
                materialize(tensor)
        result = _with_arrays(result)
        tensors = []
        if recorded is None:
            assert recording.refusal is not None
            self._give_up(recording.refusal)
            return result
        recorded.release()
        for each in (made.guard, *(made.replays or ())):
            ReplayGuard.refer(each, recorded.inputs)
        if fault is not None and not self._fullgraph:
            self._give_up(fault)
            return result
        self._publish(made, before, is_counted=fault is None, is_check=is_check)
        if fault is not None:
            raise fault
        return result

    def _keep(self, recording: Recording, result: object, arguments: Arguments) -> RecordedRun | None:
        """Write down a call that has returned; return None where the recording has given up, or does so now."""
        recording.gives_up = False
        try:
            if recording.refusal is not None:
                return None
            return RecordedRun(recording, recording.session.steps[:], result, arguments.described, arguments.name_of)
        except CaptureError as error:
            if self._fullgraph:
                raise
            recording.refusal = error
            return None

    def _compare(
        self, recorded: RecordedRun, arguments: Arguments, before: Variant | None, result: object
    ) -> tuple[Variant, CaptureError | None]:
        """Make a variant of a recorded call; with a replay, if it is the second one and equal to the first."""
        fault = None
        if before is not None:
            try:
                compare(self._name, before.recorded, recorded)
            except CaptureError as error:
                # Raised once the call has run; but other kernels may well do otherwise.
                fault = error
        guard = ReplayGuard(recorded, arguments)
        made = Variant(recorded, guard.guard())
        if before is not None and fault is None:
            segments = split(recorded, **self._planning)
            made.fused = sum(segment.plan.fused for segment in segments)
            made.donated = sum(segment.plan.donated for segment in segments)
            made.notes = tuple([note for segment in segments for note in segment.plan.notes])
            made.replays = make_replay(guard, segments, result)
            made.run = made.first_run
        return made, None if before is None or before.is_outdated else fault

    def _publish(self, made: Variant, before: Variant | None, *, is_counted: bool, is_check: bool) -> None:
        """Keep a recording instead of ``before``."""
        warns = False
        with self._lock:
            self._stats.recordings += 1
            if is_counted:
                self._row.count(self._replays, is_first=made.recorded.is_first, is_check=is_check)
            self._candidates = tuple([each for each in self._candidates if each is not before])
            others = [each for each in self._variants if each is not before]
            if made.replays is None:
                self._candidates = (made, *self._candidates)[: self._most]
            else:
                if len(others) == self._most:
                    warns, self._has_warned = not self._has_warned, True
                    others.remove(min(reversed(others), key=lambda each: each.used))
                made.used = self._replays
                others.insert(0, made)
            self._variants = tuple(others)
        if warns:
            why = self._most_frequent()
            warnings.warn(
                f"{self._name} is captured in more than {self._most} variants, because {why}; those that were"
                " not used for the longest are dropped",
                RuntimeWarning,
                stacklevel=4,
            )

    def _most_frequent(self) -> str:
        """Return why most calls fit no variant, in words for a warning."""
        reasons = self._stats.misses.most_common()
        return next((each for each, _ in reasons if each not in (_FIRST, OTHERS)), "the kernels have changed")

    def _why(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Return why no variant fits a call."""
        known = (*self._variants, *self._candidates)
        if not known:
            return _FIRST
        arguments = Arguments(Names(), "")
        arguments.write(args, kwargs)
        given = {place: tensor for tensor, place in _places(args, kwargs)}
        return known[0].recorded.reason(arguments.described, given)

    def stats(self) -> CaptureStats:
        """Return the figures so far, as a copy."""
        found = CaptureStats()
        with self._lock:
            vars(found).update(
                {name: Counter(each) if isinstance(each, Counter) else each for name, each in vars(self._stats).items()}
            )
            found.variants = len(self._variants)
            found.replays = self._replays
        return found

    def explain(self) -> str:
        """Return the recordings, the conditions of each variant, and why calls were recorded."""
        lines = [f"{self._name}: {self.stats()!r}"]
        for number, variant in enumerate(self._variants):
            recorded = variant.recorded
            donated = f", {variant.donated} arrays donated" if variant.donated else ""
            steps = show_number_of("step", len(recorded.program.nodes))
            lines.append(f"variant {number}: {steps}, {variant.fused} of them run together{donated}")
            lines += [
                f"    {text}" for text in (*filter(None, [note() for note in variant.notes]), *recorded.conditions())
            ]
        lines += [
            f"recorded once: {show_number_of('step', len(each.recorded.program.nodes))}" for each in self._candidates
        ]
        lines += [f"recorded because {why}: {count}" for why, count in self._stats.misses.most_common()]
        lines += [f"ran eagerly {why}: {count}" for why, count in self._stats.eager.most_common()]
        return "\n".join(lines)

    def clear(self) -> None:
        """Forget everything that was recorded. Raises the error of a replay that has found wrong values."""
        with self._lock:
            self._variants = self._candidates = ()
            self._row.restart(self._replays)
        before_read()

    def __del__(self, is_over: Callable[[], bool] = sys.is_finalizing) -> None:
        # Python only prints errors raised here: the devices keep them for the thread that ran the replay. As the interpreter
        # ends, the names of this module may be gone.
        if self._variants and not is_over():
            with suppress(Exception):
                before_read(GIVEN_UP)

    def __reduce__(self) -> Any:
        # A copy has recorded nothing.
        return _capture_again, (self._function(), self._every, self._most, self._planning, self._fullgraph)

    def __repr__(self) -> str:
        return f"<captured {self._name}: {show_number_of('variant', len(self._variants))}>"

    @staticmethod
    @api_boundary
    def number(function: Callable[[], _N]) -> _N:
        """Return ``function()``, a number that replays ask for again; call it inside a captured function.

        >>> capture.number(lambda: 3)
        3
        """
        recording = current_recording()
        return function() if recording is None else recording.number(function, any_type=True)

    @staticmethod
    def traceable(function: _F) -> _F:
        """Declare that the operators that a hook, or a custom autograd function, calls are all that it does.

        Captured functions refuse others, because replays would not call them. Returns ``function``, so that it decorates.

        >>> @capture.traceable
        ... def double(grad):
        ...     return grad * 2
        """
        return KernelTraits(is_traceable=True)(function)


def _capture_again(
    function: Any, check: int, most: int, planning: dict[str, bool] | None = None, fullgraph: bool = True
) -> Any:
    return capture(function, check=check, max_variants=most, fullgraph=fullgraph, **(planning or {}))


def _check(function: object, check: object, most: object) -> None:
    if not callable(function):
        raise ArgumentError(f"capture() takes a function, not {short_repr(function)}")
    code = getattr(function, "__call__", None)  # noqa: B004  # the method, which may be asynchronous
    for each in (function, code):
        if inspect.isgeneratorfunction(each) or inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each):
            raise ArgumentError(
                f"capture() cannot take {short_repr(function)}: its code runs piece by piece",
                hint="capture a plain function that it calls",
            )
    for name, value, least in (("check", check, 0), ("max_variants", most, 1)):
        if type(value) is not int or value < least:
            raise ArgumentError(f"capture(): option {name!r} must be an int from {least} on, not {value!r}")


def _places(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[Any, str]]:
    """Return the tensors among arguments, with their places as `Arguments` names them."""
    found = [pair for index, value in enumerate(args) for pair in tensors_in(value, f"argument {index}")]
    return found + [pair for name, value in kwargs.items() for pair in tensors_in(value, f"argument {name}")]


def _with_arrays(result: object) -> Any:
    """Return a result with arrays instead of values that have been computed."""
    names = Names()

    def keep(value: object) -> str | None:
        is_pending = any(isinstance(each, Pending) for each, _ in tensors_in(value, ""))
        return None if is_pending else names.add(value)

    def add_plain(number: object) -> str:
        return names.add(to_plain(number))

    results = Results(names, lambda each: names.add(each.value if isinstance(each, Pending) else each), add_plain, keep)
    return eval(results.text(result), names.scope)  # noqa: S307  # it is written here
