"""Running recorded steps: each in its order, what depends on a failed one left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from .errors import fault_of, spoil, step_error
from .graph import Pending, Step, place_of
from .progress import reporter

if TYPE_CHECKING:
    from .stats import Stats

__all__ = ["mark", "run_steps", "with_arrays"]


def run_steps(steps: Sequence[Step], stats: Stats, progress: Callable[[int, int], object] | None = None) -> Step | None:
    """Run steps in the order in which they were recorded; return the first that failed.

    What ``progress`` raises ends the run; the steps that are left are not done.
    """
    first = None
    report = reporter(progress, len(steps))
    started = perf_counter_ns()
    try:
        for number, step in enumerate(steps, 1):
            # What ``progress`` does, or a kernel, may have needed this one already.
            if not step.done:
                _run_step(step)
                stats.executed += 1
            if step.error is not None and first is None:
                first = step
            report(number)
    finally:
        stats.impl_time += perf_counter_ns() - started
    return first


def _run_step(step: Step) -> None:
    step.done = True
    error = next((found for value in step.inputs() if (found := fault_of(value)) is not None), None)
    if error is None:
        try:
            found = step.entry.explicit_table[step.mask](*map(with_arrays, step.values))
            _keep(step, found)
        except Exception as raised:  # noqa: BLE001  # whatever it is, it is kept for whoever asks for the result
            error = step_error(step, raised)
    if error is None:
        step.values = ()
    else:
        mark(step, error)


def mark(step: Step, error: Any) -> None:
    """Let everything that a step would have made or written carry its error."""
    step.error = error
    for output in step.outputs:
        if output is not None:
            output.error, output.step = error, None
    for value in step.writes():
        spoil(value, error)
    # The error's traceback keeps the step alive, and is not to keep what it would have made.
    step.values = step.outputs = ()


def _keep(step: Step, found: Any) -> None:
    """Give the arrays that a kernel returned to the values that stand for them."""
    plan = step.entry.plan
    assert plan is not None
    outputs = iter(step.outputs)
    for result, value in zip(plan.results, (found,) if len(plan.results) == 1 else found or (), strict=True):
        if result.kind == "self":
            continue
        for each in value if result.is_list else (value,):
            output = next(outputs)
            if output is not None:
                output.value = each
                output.step = None
                # Before a view of it is asked for its place; see Note [Places].
                place_of(output)


def with_arrays(value: Any) -> Any:
    """Return an argument with arrays in the place of values that have been computed."""
    if isinstance(value, Pending):
        return value.value
    if isinstance(value, list):
        return [with_arrays(item) for item in value]
    return value
