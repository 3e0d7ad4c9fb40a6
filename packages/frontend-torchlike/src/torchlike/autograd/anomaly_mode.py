"""Anomaly mode: an error in backward, or a gradient that is nan, names the forward call that it belongs to."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final, Self

from dispatch_core.lazy_text import repr_by_attributes
from dispatch_core.tracebacks import is_own_frame

from ..history.graph_settings import anomaly_mode
from ..history.node import Node
from ..names.lazy_names import Tensor
from .observer import observe

_TRACEBACK: Final = "traceback_"


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on (source: ``torch.is_anomaly_enabled``)."""
    return anomaly_mode.get()[0]


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode refuses gradients that are nan (source: ``torch.is_anomaly_check_nan_enabled``)."""
    return anomaly_mode.get()[1]


def _keep_traceback(node: Node, results: Sequence[Any]) -> None:
    frames = traceback.walk_stack(None)
    own = [(frame, line) for frame, line in frames if not is_own_frame(frame)]
    summary = traceback.StackSummary.extract(iter(reversed(own)))
    node.metadata[_TRACEBACK] = summary.format()


def check(run: Callable[..., None], refuses_nan: bool) -> Callable[..., None]:
    """Return the engine's function that runs a node, with the checks of anomaly mode."""

    def run_checked(node: Node, grads: list[Tensor | None], buffers: Any) -> None:
        def apply(given: list[Tensor | None]) -> tuple[Tensor | None, ...]:
            found = plain(given)
            if refuses_nan:
                for number, grad in enumerate(found):
                    if grad is not None and _has_nan(grad):
                        raise RuntimeError(f"Function '{node.name()}' returned nan values in its {number}th output.")
            return found

        plain = node.apply
        node.apply = apply  # type: ignore[method-assign, assignment]
        try:
            run(node, grads, buffers)
        except Exception:
            _warn(node)
            raise
        finally:
            del node.apply  # the class has its own

    return run_checked


def _has_nan(grad: Tensor) -> bool:
    values: Any = grad._dispatch_data.values if grad.is_sparse else grad.detach()
    return bool((values != values).any())  # noqa: PLR0124  # nan alone differs from itself


def _warn(node: Node) -> None:
    lines = node.metadata.get(_TRACEBACK)
    if lines is None:
        text = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    else:
        text = f"Traceback of forward call that caused the error:\n{''.join(lines)}"
    warnings.warn(f"Error detected in {node.name()}. {text}", UserWarning, stacklevel=2)


class set_detect_anomaly:  # noqa: N801  # torch's name
    """Set anomaly mode, for good or for a block (source: ``torch.autograd.set_detect_anomaly``).

    Every recorded call keeps its traceback; an error in backward warns with that of the call whose gradient failed. With
    ``check_nan`` a gradient that is nan is an error.
    """

    __repr__ = repr_by_attributes()

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = anomaly_mode.get()
        self._stack = ExitStack()
        anomaly_mode.set((mode, check_nan))
        if mode:
            self._stack.enter_context(observe(_keep_traceback))

    def __enter__(self) -> Self | None:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()
        anomaly_mode.set(self._before)


class detect_anomaly:  # noqa: N801  # torch's name
    """Find the forward call of an error in backward, for a block (source: ``torch.autograd.detect_anomaly``).

    >>> import torchlike, warnings
    >>> x = torchlike.tensor([-1.0], requires_grad=True)
    >>> with detect_anomaly(), warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     x.sqrt().sum().backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    __repr__ = repr_by_attributes("_check_nan")

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan

    def __enter__(self) -> None:
        self._set = set_detect_anomaly(True, self._check_nan)

    def __exit__(self, *exc: object) -> None:
        self._set.__exit__()
