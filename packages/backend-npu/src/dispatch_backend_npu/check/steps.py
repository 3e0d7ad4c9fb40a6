"""Training steps, with gradients written out: eager, in a pipeline, captured, by graphs; each is compared with the cpu."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

import numpy as np

import dispatch_core as dc
from dispatch_aten.dtypes import BY_NAME
from dispatch_core import ops

from ..acl.library import bind
from ..plan import graph
from ..plan.captured import Graph

Step = Callable[..., Any]

#: Dtype → how far losses and weights may lie apart after the steps, relative to their size.
_TOLERANCES: Final = {"float32": 2e-3, "float16": 3e-2}
_COUNT: Final = 5
#: Rows of the data, and of those for graphs: plans that were made without graphs have none.
_ROWS: Final = (48, 40)
_RATE: Final = -0.1
#: The share of the rate that a step by a graph has of that of the step before.
_DECAY: Final = 0.9


def _perceptron(x: Any, labels: Any, one: Any, w1: Any, b1: Any, w2: Any, b2: Any, rate: float = _RATE) -> Any:
    """Train two layers for a step, in place, and return the loss."""
    aten = ops.aten
    hidden = aten.addmm(b1, x, w1)
    active = aten.relu(hidden)
    scores = aten._log_softmax(aten.addmm(b2, active, w2), 1, False)
    loss, total = aten.nll_loss_forward(scores, labels, None, 1, -100)
    grad = aten.nll_loss_backward(one, scores, labels, None, 1, -100, total)
    grad = aten._log_softmax_backward_data(grad, scores, 1, dc.dtype(scores))
    grad_hidden = aten.threshold_backward(aten.mm(grad, aten.t(w2)), hidden, 0)
    for weight, gradient in (
        (w2, aten.mm(aten.t(active), grad)),
        (b2, aten.sum(grad, [0])),
        (w1, aten.mm(aten.t(x), grad_hidden)),
        (b1, aten.sum(grad_hidden, [0])),
    ):
        aten.add_(weight, gradient, alpha=rate)
    return loss


def _convolution(x: Any, labels: Any, one: Any, w1: Any, b1: Any, w2: Any, b2: Any, rate: float = _RATE) -> Any:
    """Train a convolution and a layer for a step, in place, and return the loss."""
    aten = ops.aten
    images = aten.view(x, [-1, 1, 8, 8])
    made = aten.convolution(images, w1, b1, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    pooled, places = aten.max_pool2d_with_indices(aten.relu(made), [2, 2])
    flat = aten.view(pooled, [-1, 64])
    scores = aten._log_softmax(aten.addmm(b2, flat, w2), 1, False)
    loss, total = aten.nll_loss_forward(scores, labels, None, 1, -100)
    grad = aten.nll_loss_backward(one, scores, labels, None, 1, -100, total)
    grad = aten._log_softmax_backward_data(grad, scores, 1, dc.dtype(scores))
    grad_pooled = aten.view(aten.mm(grad, aten.t(w2)), [-1, 4, 4, 4])
    grad_made = aten.max_pool2d_with_indices_backward(
        grad_pooled, aten.relu(made), [2, 2], [2, 2], [0, 0], [1, 1], False, places
    )
    grad_made = aten.threshold_backward(grad_made, made, 0)
    _, grad_w1, grad_b1 = aten.convolution_backward(
        grad_made, images, w1, [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [False, True, True]
    )
    for weight, gradient in (
        (w2, aten.mm(aten.t(flat), grad)),
        (b2, aten.sum(grad, [0])),
        (w1, grad_w1),
        (b1, grad_b1),
    ):
        aten.add_(weight, gradient, alpha=rate)
    return loss


#: Program → its step, and the shapes of its weights.
_PROGRAMS: Final[dict[str, tuple[Step, tuple[tuple[int, ...], ...]]]] = {
    "perceptron": (_perceptron, ((64, 32), (32,), (32, 10), (10,))),
    "convolution": (_convolution, ((4, 1, 3, 3), (4,), (64, 10), (10,))),
}
WAYS: Final = ("eager", "pipeline", "captured", "graph")
"""The ways in which steps run. By a graph, the learning rate changes."""


class NotThereError(Exception):
    """The toolkit or the chip cannot do what a check tries, and need not; the text says why."""


STEPS: Final = (
    *(("perceptron", dtype, way) for dtype in _TOLERANCES for way in WAYS),
    *(("convolution", "float32", way) for way in WAYS),
)
"""The programs, each with a dtype and a way."""


def check_step(program: str, dtype: str, way: str) -> str:
    """Train on the device and on the cpu from the same weights; return the last loss.

    Raises ``AssertionError`` where losses or weights differ, ``NotThereError`` where no graph has run.
    """
    decay = _DECAY if way == "graph" else 1.0
    told = ""
    if way == "graph":
        bind("aclmdlRICaptureBegin")
        with _graphs() as obstacles:
            found, weights = _train(program, dtype, way, "npu", decay)
        if obstacles:
            raise NotThereError(f"no step ran as a graph: {obstacles[0]}")
        with patch.object(graph.Graphs, "take", lambda graphs, values: None):
            told = _compare(weights, _train(program, dtype, way, "npu", decay)[1])
    else:
        found, weights = _train(program, dtype, way, "npu", decay)
    expected, wanted = _train(program, dtype, "eager", "cpu", decay, _ROWS[way == "graph"])
    tolerance = _TOLERANCES[dtype]
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not np.isclose(one, other, tolerance, tolerance):
            raise AssertionError(f"the loss of step {number} is {one:.6g}, the cpu's {other:.6g}")
    for number, (weight, other) in enumerate(zip(weights, wanted, strict=True)):
        apart = float(np.max(np.abs(weight - other)))
        if not apart <= tolerance:
            raise AssertionError(f"weights {number} lie {apart:.3g} from the cpu's after {_COUNT} steps")
    return f"loss {found[-1]:.4f} after {_COUNT} steps{told}"


def _compare(weights: list[Any], others: list[Any]) -> str:
    """Return how far the weights of graphs lie from those of steps without, which may round in another order."""
    apart = [float(np.max(np.abs(one - other))) for one, other in zip(weights, others, strict=True)]
    return f", {max(apart):.2g} from those without graphs" if any(apart) else ", the bits of those without graphs"


@contextmanager
def _graphs() -> Iterator[list[str]]:
    """Ask for graphs within the block, and yield a list, which then has the reason why none has run, if so."""
    obstacles: list[str] = []
    executed: list[Graph] = []
    begin = Graph.begin

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            obstacles.append(record.getMessage().rpartition("without a graph: ")[2])

    def count_execution(run: Graph, values: list[Any]) -> None:
        executed.append(run)
        begin(run, values)

    logger, handler = logging.getLogger("dispatch_core.pipelines"), Collector(logging.INFO)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with patch.dict("os.environ", {graph.VARIABLE: "1"}), patch.object(Graph, "begin", count_execution):
            yield obstacles
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    if executed:
        obstacles.clear()
    elif not obstacles:
        obstacles.append("no plan was captured")


def _train(
    program: str, dtype: str, way: str, device: str, decay: float, rows: int | None = None
) -> tuple[list[float], list[Any]]:
    step, shapes = _PROGRAMS[program]
    random = np.random.default_rng(0)

    def put(values: Any) -> Any:
        return ops.prims.device_put(np.ascontiguousarray(values), device=dc.Device(device))

    rows = rows or _ROWS[way == "graph"]
    data = [put(random.standard_normal((rows, 64)).astype(dtype)), put(random.integers(0, 10, rows))]
    data.append(ops.aten.ones([], dtype=BY_NAME[dtype], device=dc.Device(device)))
    weights = [put((random.standard_normal(shape) * 0.2).astype(dtype)) for shape in shapes]
    run = dc.capture(step) if way == "captured" else step
    losses = []
    for number in range(_COUNT):
        # Another argument would be another recording.
        rate = {} if way == "captured" else {"rate": _RATE * decay**number}
        if way in ("pipeline", "graph"):
            with dc.pipeline():
                loss = run(*data, *weights, **rate)
        else:
            loss = run(*data, *weights, **rate)
        losses.append(float(_read(loss)))
    return losses, [_read(weight).astype(np.float64) for weight in weights]


def _read(array: Any) -> Any:
    return np.asarray(ops.prims.device_get(array))
