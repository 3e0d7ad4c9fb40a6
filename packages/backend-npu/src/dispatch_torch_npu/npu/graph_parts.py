"""Parts of recorded graphs: groups of calls that get other arguments, and scopes that a compiler may join."""

from __future__ import annotations

from typing import Any, Final

from .graphs import GraphRecorder, NPUGraph, RecordedCall, recorded_graphs

__all__ = [
    "CallGroup",
    "graph_task_group_begin",
    "graph_task_group_end",
    "graph_task_update_begin",
    "graph_task_update_end",
    "super_kernel_scope_begin",
    "super_kernel_scope_end",
]


class CallGroup:
    """The calls of a graph from one number on, up to another."""

    def __init__(self, graph: NPUGraph, start: int) -> None:
        self.graph, self.start, self.end = graph, start, -1

    def replace(self, calls: list[RecordedCall]) -> None:
        """Give the group's calls the arguments of others; ``RuntimeError`` where these call other operators."""
        before = self.graph.calls[self.start : self.end]
        old, new = ([func.name() for func, *_ in each] for each in (before, calls))
        if old != new:
            raise RuntimeError(
                f"the group of a graph has the calls {', '.join(old)}, and its update has {', '.join(new) or 'none'}\n"
                "Hint: an update makes the same calls, with other arguments"
            )
        self.graph.calls[self.start : self.end] = [
            (func, args, kwargs, results)
            for (func, _, _, results), (_, args, kwargs, _) in zip(before, calls, strict=True)
        ]


#: Stream → the group that is being recorded on it.
_begun: Final[dict[Any, CallGroup]] = {}
#: Stream → the group that is being updated on it, the recorder of the new calls, and these.
_updated: Final[dict[Any, tuple[CallGroup, GraphRecorder, list[RecordedCall]]]] = {}
#: The names of the scopes that are open.
_scopes: Final[list[str | None]] = []


def graph_task_group_begin(stream: Any) -> None:
    """Begin a group of a graph's calls, whose arguments can be changed later (source: ``torch_npu.npu``)."""
    _begun[stream] = CallGroup(_find_graph("graph_task_group_begin"), len(_find_graph("graph_task_group_begin").calls))


def graph_task_group_end(stream: Any) -> CallGroup:
    """End the group that was begun on a stream, and return it (source: ``torch_npu.npu``)."""
    group = _begun.pop(stream, None)
    if group is None:
        raise RuntimeError(
            "no group of calls was begun on this stream\nHint: graph_task_group_begin(stream) begins one"
        )
    group.end = len(group.graph.calls)
    return group


def graph_task_update_begin(stream: Any, handle: CallGroup) -> None:
    """Begin the calls whose arguments a group's are to have from now on; they run, too (source: ``torch_npu.npu``)."""
    if not isinstance(handle, CallGroup):
        raise TypeError(f"handle is what graph_task_group_end() returned, not {type(handle).__name__}")
    calls: list[RecordedCall] = []
    recorder = GraphRecorder(calls)
    recorder.__enter__()
    _updated[stream] = handle, recorder, calls


def graph_task_update_end(stream: Any) -> None:
    """End the update that was begun on a stream (source: ``torch_npu.npu``).

    Raises ``RuntimeError`` where the calls are not those of the group.
    """
    found = _updated.pop(stream, None)
    if found is None:
        raise RuntimeError(
            "no update was begun on this stream\nHint: graph_task_update_begin(stream, handle) begins one"
        )
    group, recorder, calls = found
    recorder.__exit__(None, None, None)
    group.replace(calls)


def super_kernel_scope_begin(scope_name: str | None = None) -> None:
    """Begin calls of a graph that may run as one kernel; here each runs by itself (source: ``torch_npu.npu``).

    Raises ``RuntimeError`` where no graph is being recorded, and for a name that is empty.
    """
    _find_graph("super_kernel_scope_begin")
    if scope_name is not None and not scope_name.strip():
        raise RuntimeError("scope_name should be None or a non-empty string.")
    _scopes.append(scope_name)


def super_kernel_scope_end(scope_name: str | None = None) -> None:
    """End the innermost of these scopes (source: ``torch_npu.npu``).

    Raises ``RuntimeError`` where none is open, or the innermost has another name.
    """
    if not _scopes or _scopes[-1] != scope_name:
        opened = f"the innermost is {_scopes[-1]!r}" if _scopes else "none is open"
        raise RuntimeError(
            f"super_kernel_scope_end({scope_name!r}): {opened}\nHint: end scopes in the order of their begins"
        )
    _scopes.pop()


def _find_graph(asked: str) -> NPUGraph:
    graphs = recorded_graphs()
    if not graphs:
        raise RuntimeError(f"{asked}() was called while no graph is recorded\nHint: with torch.npu.graph(g): ...")
    return graphs[-1]
