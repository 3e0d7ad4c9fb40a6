"""A pipeline while it is open, and the handle that users hold."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar, Token
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Final, Self

from .. import arrays
from ..errors import ArgumentError
from ..keys import DispatchKey
from ..kernel import kernel_factory
from ..masks import exclude_keys, include_keys
from ..registry import Registry
from ..registry import registry as process_registry
from .errors import step_error
from .graph import Pending, Step
from .needs import needed, observable

__all__ = ["Pipeline", "Session", "current", "current_pipeline", "pipeline"]

_session: Final[ContextVar[Session | None]] = ContextVar("dispatch_core.pipeline", default=None)


def current() -> Session | None:
    """Return the session that records in this context, or None."""
    session = _session.get()
    return session if session is not None and session.is_open else None


class Stats:
    """What a pipeline has done so far. Times in nanoseconds."""

    def __init__(self) -> None:
        self.recorded = 0
        self.executed = 0
        self.fused = 0
        self.dropped = 0
        #: Views of arrays that were there, made at once.
        self.views = 0
        self.flushes = 0
        self.cache_hits = 0
        self.cache_misses = 0
        self.bytes_saved = 0
        self.meta_time = 0
        self.plan_time = 0
        self.impl_time = 0
        #: (operator, reason) → calls that ran at once.
        self.eager: Counter[tuple[str, str]] = Counter()


class Session:
    """The steps that were recorded while a pipeline is open, and what is known of their arguments."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.steps: list[Step] = []
        self.stats = Stats()
        self.is_open = True
        #: Held while steps run, so that a value is computed once, by whoever needs it.
        self.lock = threading.RLock()
        #: id of an array → the array and what the meta device knows of it. The array is kept, so the id stays its own.
        self._described: dict[int, tuple[Any, Any]] = {}
        #: How many recorded steps write to arrays that were there before.
        self._outside_writes = 0
        self._bytes = 0

    # Recording.

    def describe(self, plan: Any, values: Sequence[Any]) -> list[Any]:
        """Return the arguments with meta arrays in the place of arrays and pending values."""
        found = [
            self.describe_one(value) if parameter.tensors else value
            for parameter, value in zip(plan.parameters, values, strict=True)
        ]
        if plan.device_index is not None:
            found[plan.device_index] = None
        return found

    def describe_one(self, value: Any) -> Any:
        """Return the meta array of an array or a pending value; of a list, those of its elements."""
        if isinstance(value, Pending):
            return value.meta
        if isinstance(value, (list, tuple)):
            return [self.describe_one(item) for item in value]
        if value is None:
            return None
        known = self._described.get(id(value))
        if known is None:
            meta = arrays.KEY_TYPES[DispatchKey.Meta][0].empty
            assert meta is not None
            known = value, meta(arrays.shape(value), arrays.strides(value), arrays.dtype(value))
            self._described[id(value)] = known
        return known[1]

    def add(self, step: Step) -> None:
        """Keep a step for later, and flush where a limit is reached."""
        self.steps.append(step)
        self.stats.recorded += 1
        if step.written and any(not isinstance(value, Pending) for value in step.writes()):
            self._outside_writes += 1
        most = self.options["max_ops"]
        if most is not None and len(self.steps) >= most:
            self.flush()
        most = self.options["max_bytes"]
        if most is not None:
            self._bytes += sum(_bytes(output) for output in step.outputs if output is not None)
            if self._bytes >= most:
                self.flush()

    def run_now(self, step: Step, why: str) -> Any:
        """Run a step that cannot be recorded, after everything that it needs."""
        self.stats.eager[step.name, why] += 1
        with self.lock:
            self._compute(tuple(step.inputs()), tuple(step.writes()))
        values = tuple(_with_arrays(value) for value in step.values)
        with _QUIET():
            return step.entry.explicit_table[step.mask](*values)

    # Running.

    def compute(self, wanted: Iterable[Any]) -> None:
        """Run what has to run before the values in ``wanted`` can be read.

        Raises the error of a step that failed, where one of the values depends on it.
        """
        wanted = tuple(wanted)
        with self.lock:
            self._compute(wanted, ())
        for value in wanted:
            if isinstance(value, Pending):
                error = value.error or value.memory.error
                if error is not None:
                    raise error

    def _compute(self, reads: Sequence[Any], writes: Sequence[Any]) -> None:
        steps = self.steps
        if not steps:
            return
        if not writes and not self._outside_writes and not any(isinstance(value, Pending) for value in reads):
            return
        chosen = needed(steps, reads, writes)
        if chosen:
            self._run(chosen)

    def flush(self) -> None:
        """Run everything that somebody can still observe, and forget the rest. Raises the first error."""
        with self.lock:
            self.stats.flushes += 1
            steps = self.steps
            chosen = observable(steps)
            self.stats.dropped += len(steps) - len(chosen)
            failed = self._run(chosen)
            self.steps = [step for step in self.steps if not step.done and step not in _Identities(steps)]
            self._described.clear()
            self._bytes = 0
            self._outside_writes = 0
        if failed is not None and failed.error is not None:
            raise failed.error

    def _run(self, steps: Sequence[Step]) -> Step | None:
        """Run steps in the order in which they were recorded; return the first that failed."""
        first = None
        token = _session.set(None)
        started = perf_counter_ns()
        try:
            with _QUIET():
                for step in steps:
                    self._run_step(step)
                    if step.error is not None and first is None:
                        first = step
        finally:
            _session.reset(token)
            self.stats.impl_time += perf_counter_ns() - started
            self.steps = [step for step in self.steps if not step.done]
        return first

    def _run_step(self, step: Step) -> None:
        step.done = True
        self.stats.executed += 1
        error = next((found for value in step.inputs() if (found := _fault(value)) is not None), None)
        if error is None:
            try:
                found = step.entry.explicit_table[step.mask](*map(_with_arrays, step.values))
            except Exception as raised:  # noqa: BLE001  # whatever it is, it is kept for whoever asks for the result
                error = step_error(step, raised)
        if error is not None:
            step.error = error
            for output in step.outputs:
                if output is not None:
                    output.error = error
            for value in step.writes():
                if isinstance(value, Pending):
                    value.memory.error = error
        else:
            _keep(step, found)
        step.values = ()


class _Identities:
    """The members of a list, by identity."""

    def __init__(self, items: Iterable[object]) -> None:
        self._ids = set(map(id, items))

    def __contains__(self, item: object) -> bool:
        return id(item) in self._ids


def _fault(value: Any) -> BaseException | None:
    return (value.error or value.memory.error) if isinstance(value, Pending) else None


def _keep(step: Step, found: Any) -> None:
    plan = step.entry.plan
    assert plan is not None
    outputs = iter(step.outputs)
    for result, value in zip(plan.results, (found,) if len(plan.results) == 1 else found, strict=True):
        if result.kind == "self":
            continue
        for each in value if result.is_list else (value,):
            output = next(outputs)
            if output is not None:
                output.value = each
                output.step = None


def _with_arrays(value: Any) -> Any:
    if isinstance(value, Pending):
        return value.value
    if isinstance(value, list):
        return [_with_arrays(item) for item in value]
    return value


def _bytes(value: Pending) -> int:
    count = 1
    for size in value.shape:
        count *= size
    return int(count * getattr(value.dtype, "itemsize", 1))


class _QUIET(exclude_keys):  # noqa: N801
    """Keep what runs now from being recorded."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(DispatchKey.Pipeline)


class Pipeline:
    """Record operators while the block runs, and run them when their results are needed or the block ends.

    ``max_ops`` and ``max_bytes`` (of results) make it flush by itself. ``progress(done, total)`` is called during flushes.
    Raises ``ArgumentError`` for unknown options and ill-typed values.
    """

    def __init__(self, *, registry: Registry | None = None, **options: Any) -> None:
        self._registry = process_registry if registry is None else registry
        self._options = _checked(options)
        self._guard = include_keys(DispatchKey.Pipeline)
        self._entered: list[Token[Session | None]] = []
        self._session = Session(self._options)

    def __enter__(self) -> Self:
        from .record import make_recorder  # recording stands above

        arrays.device_key("meta")  # its kernels are the shape rules
        with self._registry.lock:
            if DispatchKey.Pipeline not in self._registry.fallbacks:
                self._registry.register_fallback(DispatchKey.Pipeline, kernel_factory(make_recorder, in_order=True))
        self._session.is_open = True
        self._entered.append(_session.set(self._session))
        self._guard.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._guard.__exit__(kind, error, trace)
        _session.reset(self._entered.pop())
        if self._entered:
            return
        self._session.is_open = False
        try:
            self._session.flush()
        except Exception as fault:
            if error is None:
                raise
            error.add_note(f"While the pipeline was flushed: {type(fault).__name__}: {fault}")

    def flush(self) -> None:
        """Run everything recorded so far, in order. Raises the first error."""
        self._session.flush()

    def stats(self) -> Stats:
        """Return what the pipeline has done so far."""
        return self._session.stats


pipeline = Pipeline


def current_pipeline() -> Session | None:
    """Return the pipeline that records in this context, or None."""
    return current()


#: option → what it may be besides None, and in words.
_OPTIONS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "max_ops": (lambda value: type(value) is int and value > 0, "a positive int"),
    "max_bytes": (lambda value: type(value) is int and value > 0, "a positive int"),
    "fuse": (lambda value: type(value) is bool, "a bool"),
    "trace": (lambda value: type(value) is bool, "a bool"),
    "progress": (callable, "a function of two ints"),
}


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    for name, value in options.items():
        known = _OPTIONS.get(name)
        if known is None:
            raise ArgumentError(
                f"pipeline() got an unexpected option {name!r}", hint=f"it takes {', '.join(sorted(_OPTIONS))}"
            )
        if value is not None and not known[0](value):
            raise ArgumentError(f"pipeline(): option {name!r} must be {known[1]} or None, not {value!r}")
    return dict.fromkeys(_OPTIONS) | {"fuse": True} | options


