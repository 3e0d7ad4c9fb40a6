"""Pipelines as the core sees them: names of ``dispatch_pipelines``, which is imported where one of them is first used."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from .arrays.frontend import CAPTURING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dispatch_pipelines.capture.capture_parts import CapturePart, Finish
    from dispatch_pipelines.capture.captured_function import capture
    from dispatch_pipelines.capture.capturing import Recording, current_recording
    from dispatch_pipelines.capture.live_numbers import evaluate, in_order, is_expression
    from dispatch_pipelines.graph.model import Constant, GraphStep
    from dispatch_pipelines.graph.nodes import Node, Value, filled
    from dispatch_pipelines.graph.picture import FORMS, Edge, Picture
    from dispatch_pipelines.graph.tracer import trace
    from dispatch_pipelines.program.model import PlannedStep, Program
    from dispatch_pipelines.record.blocks import current
    from dispatch_pipelines.record.errors import GIVEN_UP, PipelineError, on_read
    from dispatch_pipelines.record.materialization import is_pending, materialize, materialize_value, run_random_steps
    from dispatch_pipelines.record.pending import Pending
    from dispatch_pipelines.run.handle import Pipeline, current_pipeline, pipeline
    from dispatch_pipelines.run.session import Session

__path__: Final[list[str]] = []  # the import system looks for the modules that were here: `surroundings.former_paths`
__all__ = [
    "FORMS",
    "GIVEN_UP",
    "CapturePart",
    "Constant",
    "Edge",
    "Finish",
    "GraphStep",
    "Node",
    "Pending",
    "Picture",
    "Pipeline",
    "PipelineError",
    "PlannedStep",
    "Program",
    "Recording",
    "Value",
    "before_read",
    "capture",
    "current",
    "current_pipeline",
    "current_recording",
    "evaluate",
    "filled",
    "in_order",
    "is_expression",
    "is_pending",
    "materialize",
    "materialize_value",
    "on_read",
    "open_recording",
    "open_session",
    "pipeline",
    "run_random_steps",
    "trace",
]

#: Module of ``dispatch_pipelines`` → its names that the core and frontends use.
_NAMES: Final = {
    "capture.capture_parts": "CapturePart Finish",
    "capture.captured_function": "capture",
    "capture.capturing": "Recording current_recording",
    "capture.live_numbers": "evaluate in_order is_expression",
    "graph.model": "Constant GraphStep",
    "graph.nodes": "Node Value filled",
    "graph.picture": "FORMS Edge Picture",
    "graph.tracer": "trace",
    "program.model": "PlannedStep Program",
    "record.blocks": "current",
    "record.errors": "GIVEN_UP PipelineError on_read",
    "record.materialization": "is_pending materialize materialize_value run_random_steps",
    "record.pending": "Pending",
    "run.handle": "Pipeline current_pipeline pipeline",
}
_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"dispatch_pipelines.{_MODULES[name]}"), name)
    return found


def open_session() -> Session | None:
    """Return the session that records in this context, or None; a program without pipelines does not load them for it.

    >>> open_session() is None
    True
    """
    current = _find_loaded("record.blocks", "current")
    return None if current is None else current()


def open_recording() -> Recording | None:
    """Return the recording here of a captured function's call, or None.

    >>> open_recording() is None
    True
    """
    if not CAPTURING:
        return None
    from dispatch_pipelines.capture.capturing import current_recording  # loaded, as something is captured

    return current_recording()


def before_read(array: object = None) -> None:
    """Raise the error of a program that has run, and has found wrong values, if any has run."""
    check = _find_loaded("record.errors", "before_read")
    if check is not None:
        check(array)


def _find_loaded(module: str, name: str) -> Callable[..., Any] | None:
    """Return a function of a module that is imported already, or None."""
    return getattr(sys.modules.get(f"dispatch_pipelines.{module}"), name, None)
