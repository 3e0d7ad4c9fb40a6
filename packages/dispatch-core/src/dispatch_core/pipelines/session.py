"""A pipeline while it is open: the steps recorded so far, and what is known of their arguments."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextvars import ContextVar, Token
from typing import Any, Final

from .. import arrays
from ..keys import DispatchKey
from .graph import Pending, Step
from .needs import needed, observable
from .run import quiet, run_steps, with_arrays
from .stats import Stats

__all__ = ["Session", "current", "enter", "leave"]

_session: Final[ContextVar[Session | None]] = ContextVar("dispatch_core.pipeline", default=None)


def enter(session: Session) -> Token[Session | None]:
    """Let ``session`` record in this context."""
    return _session.set(session)


def leave(token: Token[Session | None]) -> None:
    """Let the session before record again."""
    _session.reset(token)


def current() -> Session | None:
    """Return the session that records in this context, or None."""
    session = _session.get()
    return session if session is not None and session.is_open else None


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
        #: How many of the steps write to an argument.
        self._writes = 0
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
        if step.written:
            self._writes += 1
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
        self.stats.ran_now(step.name, why)
        with self.lock:
            self._compute(tuple(step.inputs()), tuple(step.writes()))
        values = tuple(with_arrays(value) for value in step.values)
        with quiet():
            return step.entry.explicit_table[step.mask](*values)

    # Running.

    def compute(self, wanted: Iterable[Any]) -> None:
        """Run what has to run before the values in ``wanted`` can be read.

        Raises the error of a step that failed, where one of the values depends on it.
        """
        wanted = tuple(wanted)
        if any(isinstance(value, Pending) and value.value is None for value in wanted):
            self.stats.boundaries["result"] += 1
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
        if not writes and not self._writes and not any(_is_missing(value) for value in reads):
            return
        chosen = needed(steps, reads, writes)
        if chosen:
            self._run(chosen)

    def _run(self, steps: Sequence[Step]) -> Step | None:
        # Nothing records meanwhile, whatever the kernels call.
        token = _session.set(None)
        try:
            return run_steps(steps, self.stats, self.options["progress"], fuse=self.options["fuse"] is not False)
        finally:
            _session.reset(token)
            self.steps = [step for step in self.steps if not step.done]
            self._writes = sum(bool(step.written) for step in self.steps)

    def flush(self) -> None:
        """Run everything that somebody can still observe, and forget the rest. Raises the first error."""
        with self.lock:
            self.stats.flushes += 1
            steps = self.steps
            chosen = observable(steps)
            failed = self._run(chosen)
            self.stats.dropped += len(steps) - len(chosen)
            flushed = set(map(id, steps))
            self.steps = [step for step in self.steps if id(step) not in flushed]
            self._described.clear()
            self._bytes = 0
            self._writes = sum(bool(step.written) for step in self.steps)
        if failed is not None and failed.error is not None:
            raise failed.error


def _is_missing(value: Any) -> bool:
    return isinstance(value, Pending) and value.value is None


def _bytes(value: Pending) -> int:
    count = 1
    for size in value.shape:
        count *= size
    return int(count * getattr(value.dtype, "itemsize", 1))
