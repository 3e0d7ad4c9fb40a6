"""Recorded graphs: the calls of a block are recorded while they run, and ``replay`` runs them again on the same memory.

Note [What a replay does]
    Every call of an operator in the block, of autograd's too, is kept with its tensors. A replay calls each again and
    writes its results to the memory that they had, so that a program changes an input in place, replays, and reads the
    output. Python code between the calls does not run again. Calls are launched one by one, in a pipeline: a replay saves
    the program's own Python code, not the launches. Reading a value to the host within the block is refused, because a
    replay could not follow the branch that a program takes upon it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final, TypeAlias

import torchlike
from torchlike import Tensor
from torchlike.utils._python_dispatch import TorchDispatchMode

from . import _DEVICE

__all__ = ["NPUGraph", "graph", "graph_pool_handle", "make_graphed_callables"]

_handles: Final = itertools.count(1)
#: The graphs that a thread records, the innermost last.
_recorded: Final = threading.local()
#: Operators that read values to the host.
_READS: Final = frozenset(
    {"aten::_local_scalar_dense", "aten::item", "aten::equal", "aten::nonzero", "aten::is_nonzero", "prims::device_get"}
)


#: A call: the operator, its arguments, and its results, with whether each has memory of its own.
RecordedCall: TypeAlias = tuple[Any, Any, Any, list[tuple[Tensor, bool]]]


class GraphRecorder(TorchDispatchMode):
    """Records every call of an operator on the device, with its arguments and results."""

    def __init__(self, calls: list[RecordedCall]) -> None:
        super().__init__()
        self._calls = calls
        #: The tensors from outside that calls write to, each with its elements before the first of these calls.
        self._written: dict[Any, tuple[Tensor, Tensor]] = {}
        self._own: set[int] = set()

    def _keep_written(self, func: Any, values: Sequence[Any]) -> None:
        for argument, value in zip(func.schema.arguments, values, strict=False):
            if not argument.is_write:
                continue
            for tensor in _tensors(value):
                place = tensor.untyped_storage().data_ptr()
                key = place, tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
                if place not in self._own and key not in self._written:
                    self._written[key] = tensor.detach(), tensor.detach().clone()

    def restore(self) -> None:
        """Give tensors from outside the elements that they had before the block: it records, and computes nothing."""
        with torchlike.no_grad():
            for tensor, before in reversed(self._written.values()):
                tensor.copy_(before)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name().partition(".")[0]
        if name in _READS:
            raise RuntimeError(
                f"{name} reads a value to the host while a graph is recorded\n"
                "Hint: read it after the block, or after a replay"
            )
        kwargs = kwargs or {}
        self._keep_written(func, [*args, *(kwargs.get(each.name) for each in func.schema.arguments[len(args) :])])
        result = func(*args, **kwargs)
        returns = func.schema.returns
        values = result if len(returns) > 1 else (result,)[: len(returns)]
        fresh = [_is_fresh(entry) for entry, value in zip(returns, values, strict=True) for _ in _tensors(value)]
        found = [(each.detach(), is_fresh) for each, is_fresh in zip(_tensors(result), fresh, strict=True)]
        self._own.update(each.untyped_storage().data_ptr() for each, is_fresh in found if is_fresh and each.numel())
        self._calls.append((func, args, kwargs, found))
        return result


class _Passing(TorchDispatchMode):
    """Passes calls on. Within a mode operators give tensors, those too that take none."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class NPUGraph:
    """A graph that `graph` records and ``replay`` runs again; see Note [What a replay does] (source: ``torch_npu.npu``)."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._calls: list[RecordedCall] = []
        self._recorder: GraphRecorder | None = None
        self._pool: tuple[int, int] = (0, next(_handles))

    @property
    def calls(self) -> list[RecordedCall]:
        """The recorded calls, each with its arguments and results; parts of a graph are changed there."""
        return self._calls

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Begin to record the calls of this thread."""
        if self._recorder is not None or self._calls:
            raise RuntimeError("this graph has been recorded\nHint: reset() it, or make another")
        self._pool = pool or self._pool
        self._recorder = GraphRecorder(self._calls)
        self._recorder.__enter__()
        _recorded.graphs = [*recorded_graphs(), self]

    def capture_end(self) -> None:
        """End the recording."""
        if self._recorder is None:
            raise RuntimeError("this graph is not being recorded")
        recorder, self._recorder = self._recorder, None
        _recorded.graphs = [each for each in recorded_graphs() if each is not self]
        recorder.__exit__(None, None, None)
        recorder.restore()

    def replay(self) -> None:
        """Run the recorded calls again on the same memory; ``RuntimeError`` where nothing was recorded."""
        if self._recorder is not None or not self._calls:
            raise RuntimeError("this graph has no recorded calls\nHint: record them: with torch.npu.graph(g): ...")
        with torchlike.no_grad(), torchlike.pipeline(), _Passing():
            for func, args, kwargs, before in self._calls:
                now = _tensors(func(*args, **kwargs))
                for (place, is_fresh), value in zip(before, now, strict=True):
                    if is_fresh:
                        place.copy_(value)

    def reset(self) -> None:
        """Forget the recorded calls and their tensors."""
        self._calls.clear()

    def pool(self) -> tuple[int, int]:
        """Return the handle of the graph's memory, which other graphs may be given."""
        return self._pool


def recorded_graphs() -> list[NPUGraph]:
    """Return the graphs that this thread records, the innermost last."""
    found: list[NPUGraph] = getattr(_recorded, "graphs", [])
    return found


class graph:  # noqa: N801  # torch_npu's own name
    """Record the calls of a block in a graph (source: ``torch_npu.npu``).

    They run as they are recorded, and what they have written to tensors from outside is taken back; an error in the block
    leaves the graph without calls.

    Args:
        npu_graph: The graph.
        pool: A handle of memory that graphs share; each tensor keeps its own here.
        stream: The stream that the calls are queued on, a new one by default.
        capture_error_mode: Without effect: reading a value is refused in every mode.
        auto_dispatch_capture: Without effect.
    """

    def __init__(
        self,
        npu_graph: NPUGraph,
        pool: Any = None,
        stream: Any = None,
        capture_error_mode: str = "global",
        auto_dispatch_capture: bool = False,
    ) -> None:
        self._graph, self._pool, self._mode = npu_graph, pool, capture_error_mode
        self._stream = stream
        self._blocks = ExitStack()

    def __enter__(self) -> NPUGraph:
        _DEVICE.synchronize()
        self._blocks.enter_context(_DEVICE.stream(self._stream or _DEVICE.Stream()))
        self._graph.capture_begin(self._pool, self._mode)
        return self._graph

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._graph.capture_end()
        if kind is not None:
            self._graph.reset()
        self._blocks.close()
        _DEVICE.synchronize()


def graph_pool_handle() -> tuple[int, int]:
    """Return a new handle of memory that graphs share (source: ``torch_npu.npu``).

    >>> graph_pool_handle() != graph_pool_handle()
    True
    """
    return (0, next(_handles))


def make_graphed_callables(
    callables: Any,
    sample_args: Sequence[Any],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Return functions whose calls are recorded once and then replayed, with gradients: `torchlike.capture` of each.

    A module keeps its parameters, and its ``forward`` is replaced. ``sample_args`` are arguments of a first call, which
    records it (source: ``torch_npu.npu``).
    """
    if isinstance(callables, tuple):
        return tuple(make_graphed_callables(each, sample) for each, sample in zip(callables, sample_args, strict=True))
    function: Callable[..., Any] = callables.forward if isinstance(callables, torchlike.nn.Module) else callables
    captured = torchlike.capture(function)
    for _ in range(max(num_warmup_iters, 1)):
        captured(*sample_args)
    if isinstance(callables, torchlike.nn.Module):
        setattr(callables, "forward", captured)  # noqa: B010  # it stands in for the method, of this module alone
        return callables
    return captured


def _is_fresh(entry: Any) -> bool:
    """Return whether a result of a schema has memory of its own."""
    return getattr(entry.type, "element", entry.type).alias is None


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [found for each in value for found in _tensors(each)] if isinstance(value, (list, tuple)) else []
