"""The context manager that opens a pipeline, and its options."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from numbers import Integral
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from dispatch_core import devkit
from dispatch_core.arrays import owners
from dispatch_core.display import show_number_of
from dispatch_core.display.progress_reports import choose_progress, close_display, find_progress
from dispatch_core.errors import ArgumentError, BackendError, DispatchError
from dispatch_core.interrupts import whole
from dispatch_core.keys.table import DispatchKey
from dispatch_core.operators.registration import kernel_factory
from dispatch_core.operators.registries import Registry
from dispatch_core.operators.registries import registry as process_registry
from dispatch_core.surroundings.logs import Log
from dispatch_core.tracebacks import api_boundary, trim_traceback

from ..record.blocks import current, enter, innermost, leave, tidy
from ..record.errors import before_read
from ..record.liveness import observable_steps
from ..record.stats import Stats
from .executors import Executor
from .session import Session

if TYPE_CHECKING:
    from ..graph.snapshots import PipelineGraph
    from ..record.steps import Step

_LOG: Final = Log("pipelines")


class Pipeline:
    """Record operators while the block runs, and run them when their results are needed or the block ends.

    ``max_ops`` and ``max_bytes`` make it flush by itself as soon as so many steps, or steps with results of so many bytes
    in all, wait; the step that reaches the limit is run with them. Views take no bytes. ``fuse=False`` runs every kernel
    alone. ``check_indices=False`` is the user's promise that indices and other values are right: compiled programs do not
    look then. ``inputs_unchanged=True`` is the user's promise not to write to memory that tensors share while the block is
    open, so that calls on it are recorded like any others. ``trace=True`` prints each step on stderr as it runs, and
    measures the time in shape rules. ``progress(done, total)`` is called during flushes that take long, at most about
    twenty times a second; an error that it raises ends the flush, and the steps that are left stay recorded.
    ``progress=True`` shows a bar where standard error is a terminal, tqdm's if it is installed; ``"always"`` elsewhere, too.
    None represents the default: no limits, ``fuse``, no promise, no ``trace``; `show_progress` asks for bars around.

    Inside a function that is captured the block does nothing: its calls belong to the captured call.

    The block may be entered again, inside itself and after its end; other threads and tasks have blocks of their own.
    Raises ``ArgumentError`` for unknown options and ill-typed values.
    """

    #: The entries inside a function that is captured.
    _captured = 0

    def __init__(self, *, registry: Registry | None = None, **options: object) -> None:
        if registry is None:
            registry = process_registry
        elif not isinstance(registry, Registry):
            raise ArgumentError(f"pipeline(): option 'registry' must be a Registry or None, not {registry!r}")
        self._registry = registry
        found = check_options(options)
        if "progress" not in options and (progress := find_progress("pipeline", "steps")) is not None:
            found = {**found, "progress": progress}
        self._session = Session(found)

    def __enter__(self) -> Self:
        before = innermost()
        outer = None if before is None else current()
        if outer is not None and outer.recording is not None and outer.recording.is_open:
            # The operators belong to the replay.
            self._captured += 1
            return self
        if DispatchKey.Meta not in owners.KEY_TYPES:
            _load_shape_rules()
        if DispatchKey.Pipeline not in self._registry.fallbacks:
            self._register()
        try:
            enter(self._session, self, outer)
            return self
        except BaseException:
            if innermost() is not before:
                leave(self._session)
                tidy()
            raise

    def _register(self) -> None:
        from ..record.recording import make_recorder  # recording stands above

        self._registry.ensure_fallback(DispatchKey.Pipeline, kernel_factory(make_recorder, in_order=True))

    @whole
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._captured:
            self._captured -= 1
            return
        try:
            has_left = leave(self._session)
            self._finish(has_left, error)
        except BaseException as fault:
            # An interrupt may have come first; see Note [Where an interrupt falls] in `interrupts`.
            if "has_left" not in locals():
                leave(self._session)
                self._finish(True, fault)
            tidy()
            trim_traceback(fault)
            raise

    def _finish(self, has_left: bool, error: BaseException | None) -> None:
        """Flush at the end of a block."""
        session = self._session
        if not (has_left or session.is_closed):
            raise DispatchError("pipeline: the block has ended already", hint="every entry has one exit")
        try:
            session.finish()
            before_read()
        except Exception as fault:
            if error is None:
                raise
            error.add_note(f"While the pipeline was flushed: {type(fault).__name__}: {fault}")
        finally:
            if (shown := session.options["progress"]) is not None:
                close_display(shown)
        tidy()

    @api_boundary
    def flush(self) -> None:
        """Run every observable step in order, also after the block. Raises the first error that no read has raised.

        >>> pipe = pipeline(max_ops=100)
        >>> pipe.flush()
        """
        _LOG.debug("flush of %d calls: the program asks for it", self._session.waiting)
        self._session.flush()

    def graph(self, *, groups: Sequence[Sequence[Step]] | None = None) -> PipelineGraph:
        """Return the recorded steps that have not run, to print, to draw and to save.

        ``groups`` are shown as fused; by default those that the devices' plugins plan. Raises ``ArgumentError`` for a group
        with a step that is not pending.
        """
        from ..graph.snapshots import snapshot  # most programs draw none

        session = self._session
        with session.lock:
            if groups is None:
                waiting = observable_steps(session.steps) if session.options["fuse"] else ()
                groups = Executor(session.options, Stats()).planned_groups(waiting) if waiting else ()
            return snapshot(session.steps, self._registry, groups)

    def stats(self) -> Stats:
        """Return the figures of the pipeline so far, as a copy."""
        session = self._session
        with session.lock:
            session.take_records()
            return session.stats.snapshot()

    def __repr__(self) -> str:
        return f"<pipeline: {', '.join(self._facts())}>"

    def _facts(self) -> list[str]:
        session = self._session
        return [
            "open" if session.is_open else "closed",
            f"{show_number_of('step', session.waiting)} wait{'s' if session.waiting == 1 else ''}",
        ]

    @devkit.for_notebooks
    def _repr_html_(self) -> str | None:
        """Return the figures and the steps that wait; nothing is computed for it, and no plan made."""
        from ..graph.picture import MOST_DRAWN

        parts = self.stats().html_parts()
        waiting = self._session.waiting
        if 0 < waiting <= MOST_DRAWN:
            graph = self.graph(groups=())
            parts = [
                f'<div class="dispatch-picture">{graph.svg()}</div>',
                devkit.to_details("code", devkit.to_block(graph.code)),
                *parts,
            ]
        elif waiting:
            parts = [devkit.to_note(f"graph().svg() draws {show_number_of('step', waiting)}"), *parts]
        return devkit.to_fragment("pipeline", self._facts(), parts)


pipeline = Pipeline


def _load_shape_rules() -> None:
    """Load the meta device, whose kernels are the shape rules; without it, every operator runs at once."""
    with suppress(BackendError):
        owners.device_key("meta")


def current_pipeline() -> Session | None:
    """Return the pipeline that records in this context, or None."""
    return current()


def _positive(value: object) -> int | None:
    """Return a positive integer of any type as an int; None for anything else, truth values among it."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    number = operator.index(value)
    return number if number > 0 else None


#: option → its default, a function that returns the value to keep or None to refuse it, and the description in errors.
_OPTIONS: Final[dict[str, tuple[Any, Callable[[Any], Any], str]]] = {
    "max_ops": (None, _positive, "a positive int"),
    "max_bytes": (None, _positive, "a positive int"),
    "inputs_unchanged": (False, lambda value: value if isinstance(value, bool) else None, "a bool"),
    "fuse": (True, lambda value: value if isinstance(value, bool) else None, "a bool"),
    "check_indices": (True, lambda value: value if isinstance(value, bool) else None, "a bool"),
    "trace": (False, lambda value: value if isinstance(value, bool) else None, "a bool"),
    "progress": (None, choose_progress, ""),
}
_DEFAULTS: Final = {name: default for name, (default, _, _) in _OPTIONS.items()}


def check_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return all options, None replaced by the default. Raises ``ArgumentError`` for unknown names and ill-typed values."""
    if not options:
        return _DEFAULTS
    found = _DEFAULTS.copy()
    for name, value in options.items():
        if name not in _OPTIONS:
            raise ArgumentError(
                f"pipeline() got an unexpected option {name!r}",
                hint=f"it takes {', '.join(sorted(_OPTIONS))}",
            )
        _, take, words = _OPTIONS[name]
        if value is None:
            continue
        found[name] = take(value)
        if found[name] is None and words:
            raise ArgumentError(f"pipeline(): option {name!r} must be {words} or None, not {value!r}")
    return found
