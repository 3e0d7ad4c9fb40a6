"""What users hold: the context manager that opens a pipeline, and its options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from .. import arrays
from ..errors import ArgumentError
from ..kernel import kernel_factory
from ..keys import DispatchKey
from ..masks import include_keys
from ..registry import Registry
from ..registry import registry as process_registry
from .session import Session, current, enter, leave
from .stats import Stats

if TYPE_CHECKING:
    from .graph import Step
    from .show import PipelineGraph

__all__ = ["Pipeline", "current_pipeline", "pipeline"]


class Pipeline:
    """Record operators while the block runs, and run them when their results are needed or the block ends.

    ``max_ops`` and ``max_bytes`` (of results) make it flush by itself. ``progress(done, total)`` is called
    during flushes that take long, at most about twenty times a second; what it raises ends the flush, and what was not run
    stays recorded. ``trace`` measures the time in shape rules.

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
        self._entered.append(enter(self._session))
        self._guard.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._guard.__exit__(kind, error, trace)
        leave(self._entered.pop())
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

    def graph(self, *, groups: Sequence[Sequence[Step]] = ()) -> PipelineGraph:
        """Return what is recorded and not run yet, to print, to draw and to save; ``groups`` are shown as fused.

        Raises ``ArgumentError`` for a group with a step that is not pending.
        """
        from .snapshot import snapshot  # nobody who does not look pays for it

        with self._session.lock:
            return snapshot(self._session.steps, self._registry, groups)

    def stats(self) -> Stats:
        """Return what the pipeline has done so far, as it is now."""
        return self._session.stats.snapshot()


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
