"""A pipeline while it is open: the steps recorded so far, and what is known of their arguments."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextvars import ContextVar, Token
from typing import Any, Final

from .. import arrays
from ..keys import DispatchKey
from .graph import Pending, Step
from .needs import RANDOM, needed, observable
from .run import quiet, run_steps, with_arrays
from .stats import Stats

__all__ = ["Session", "current", "enter", "leave"]

_session: Final[ContextVar[Session | None]] = ContextVar("dispatch_core.pipeline", default=None)


def enter(session: Session) -> Token[Session | None]:
    """Let ``session`` record in this context."""
    if not session.is_open:
        session.outer = current()
        session.is_open = True
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
        self.is_open = False
        #: The session that recorded in this context before; its steps come before all of this one's.
        self.outer: Session | None = None
        #: Held while steps run, so that a value is computed once, by whoever needs it.
        self.lock = threading.RLock()
        #: id of an array → the array and what the meta device knows of it. The array is kept, so the id stays its own.
        self._described: dict[int, tuple[Any, Any]] = {}
        #: How many of the steps write to an argument or draw random numbers.
        self._effects = 0
        self._bytes = 0
        #: With how many steps those that nobody can observe are looked for.
        self._many = _MANY

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
        if step.written or step.is_random:
            self._effects += 1
        if len(self.steps) >= self._many:
            self._forget_unseen()
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
            random = (RANDOM,) if step.is_random else ()
            self._compute((*step.inputs(), *random), (*step.writes(), *random))
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
        chosen: Sequence[Step] = ()
        if self.steps and (writes or self._effects or any(map(_is_missing, reads))):
            chosen = needed(self.steps, reads, writes)
        if self.outer is not None:
            self.outer._prepare(chosen, reads, writes)
        if chosen:
            self._run(chosen)
            if len(self.steps) >= _MANY:
                self._forget_unseen()

    def _prepare(self, steps: Sequence[Step], reads: Sequence[Any] = (), writes: Sequence[Any] = ()) -> None:
        """Run what has to run before another session runs ``steps`` and its caller reads and writes."""
        with self.lock:
            random = [RANDOM] if any(step.is_random for step in steps) else []
            read = [value for step in steps for value in step.inputs()]
            written = [value for step in steps for value in step.writes()]
            self._compute([*reads, *read, *random], [*writes, *written, *random])

    def _run(self, steps: Sequence[Step]) -> Step | None:
        # Nothing records meanwhile, whatever the kernels call.
        token = _session.set(None)
        try:
            return run_steps(steps, self.stats, self.options["progress"])
        finally:
            _session.reset(token)
            self._keep([step for step in self.steps if not step.done])

    def _keep(self, steps: list[Step]) -> None:
        self.steps = steps
        self._effects = sum(bool(step.written or step.is_random) for step in steps)

    def _forget_unseen(self) -> None:
        """Forget what nobody can observe any more, and look again when there are twice as many steps."""
        with self.lock:
            steps = self.steps
            self._drop(steps, observable(steps))
            self._many = max(_MANY, 2 * len(self.steps))

    def _drop(self, steps: Sequence[Step], chosen: Sequence[Step]) -> None:
        """Forget those of ``steps`` that are not among ``chosen``."""
        kept = set(map(id, chosen))
        dropped = [step for step in steps if id(step) not in kept]
        self.stats.dropped += len(dropped)
        gone = set(map(id, dropped))
        self._keep([step for step in self.steps if id(step) not in gone])
        for step in dropped:
            # A step and its results refer to each other; what they keep alive is to go now.
            step.done, step.values, step.outputs = True, (), ()

    def flush(self) -> None:
        """Run everything that somebody can still observe, and forget the rest. Raises the first error."""
        with self.lock:
            self.stats.flushes += 1
            steps = self.steps
            chosen = observable(steps)
            self._drop(steps, chosen)
            if self.outer is not None and chosen:
                self.outer._prepare(chosen)
            failed = self._run(chosen)
            self._described.clear()
            self._bytes = 0
        if failed is not None and failed.error is not None:
            raise failed.error


#: Fewer steps than these are not searched for what nobody can observe.
_MANY: Final = 512


def _is_missing(value: Any) -> bool:
    return isinstance(value, Pending) and value.value is None


def _bytes(value: Pending) -> int:
    count = 1
    for size in value.shape:
        count *= size
    return int(count * getattr(value.dtype, "itemsize", 1))
