"""Backward on devices with streams: a node runs on the stream of its forward call, and events order what crosses.

While a stream is current that a block or ``set_stream`` has chosen, new nodes keep the one that their call ran on; nodes
without one ran on the device's default stream. Of a process that never chooses a stream, nothing of this is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import dispatch_core as dc
from dispatch_core.frontends import (
    current_stream,
    default_stream,
    find_array_type,
    has_streams,
    note_use,
    set_masks,
    with_included,
    without_included,
)

from ..history.graph_settings import node_observers, write_observers
from ..history.node import Node
from ..names.lazy_names import Tensor
from .observer import KEY

Grads: TypeAlias = Iterable[Tensor | None]


class _StreamKeeper:
    """Keeps with each new node the stream that is current on its device."""

    #: A replay's nodes need not be shown to it.
    is_for_replays: Final = True

    def __call__(self, node: Node, results: Sequence[Any]) -> None:
        device = dc.device(results[0])
        if has_streams(device.type):
            node.stream = current_stream(device)


_keeper: Final = _StreamKeeper()


class KeepStreams:
    """Show the nodes of a block to the keeper of streams; the block may begin and end in different functions."""

    def __enter__(self) -> None:
        node_observers.set((*node_observers.get(), _keeper))
        _ = set_masks[with_included(KEY.value)]

    def __exit__(self, *exception: object) -> None:
        observers = list(node_observers.get())
        if _keeper in observers:
            observers.remove(_keeper)
            node_observers.set(tuple(observers))
        if not (observers or write_observers.get()):
            _ = set_masks[without_included(KEY.value)]


class StreamOrder:
    """The streams of one backward: those of the nodes, and the events that their gradients wait for.

    A backward that has met one stream only makes no events: the first that it needs is recorded where it is waited for.
    """

    def __init__(self) -> None:
        #: Device → the stream that was current when backward was called.
        self._callers: dict[dc.Device, dc.Stream] = {}
        #: Node → the streams that its gradients come from, with events after which they are there, or None.
        self._sources: dict[Node, dict[dc.Stream, dc.Event | None]] = {}
        #: The streams that were met.
        self._met: set[dc.Stream] = set()
        #: The stream of the node that runs, if its device has streams, and whether that was made current for it.
        self._current: dc.Stream | None = None
        self._is_entered = False

    def begin(self, node: Node, grad: Tensor) -> None:
        """Note that a gradient which the caller gives comes from the caller's stream."""
        device = dc.device(grad)
        if has_streams(device.type):
            self._note(node, self._find_caller(device))

    def enter(self, node: Node, grads: Grads, buffers: Mapping[Node, Grads]) -> None:
        """Make the stream of a node's forward call current, after the work on others that its gradients come from."""
        device = next((dc.device(grad) for grad in grads if grad is not None), None)
        if device is None or not has_streams(device.type):
            return
        stream = default_stream(device) if node.stream is None else node.stream
        self._met.add(stream)
        self._current = stream
        if stream != self._find_caller(device):
            # In this order: a stream that an interrupt has kept from being entered is left without effect.
            self._is_entered = True
            stream.__enter__()
        self._wait(node, stream, grads)
        for edge in node.next:
            # What others have brought to its inputs is added to here.
            if edge is not None and edge.node in buffers:
                self._wait(edge.node, stream, buffers[edge.node])

    def leave(self, node: Node | None = None) -> None:
        """Make the caller's stream current again, and note where the gradients of a node's inputs come from."""
        stream = self._current
        if stream is None:
            return
        if node is not None:
            for edge in node.next:
                if edge is not None:
                    self._note(edge.node, stream)
        if self._is_entered:
            stream.__exit__(None, None, None)
            self._is_entered = False
        self._current = None

    def come_to(self, node: Node, grads: Grads | None) -> None:
        """Make the caller's streams wait for a node's gradients: there a leaf takes them, and so does who asks for them."""
        for device, caller in self._callers.items():
            self._wait(node, caller, grads or (), device)

    def _note(self, node: Node, stream: dc.Stream) -> None:
        self._met.add(stream)
        event = stream.record_event() if len(self._met) > 1 else None
        self._sources.setdefault(node, {})[stream] = event

    def _wait(self, node: Node, stream: dc.Stream, grads: Grads, device: dc.Device | None = None) -> None:
        """Make a stream wait for a node's gradients that others have made; their memory is kept until it is done."""
        others = {
            other: event
            for other, event in self._sources.get(node, {}).items()
            if other != stream and (device is None or other.device == device)
        }
        for other, event in others.items():
            (event or other.record_event()).wait(stream)
        for grad in grads if others else ():
            # A pipeline notes the uses of what it records.
            if grad is not None and find_array_type(type(grad._dispatch_data)) is not None:
                note_use(stream.device, grad._dispatch_data, stream.native_handle)

    def _find_caller(self, device: dc.Device) -> dc.Stream:
        found = self._callers.get(device)
        if found is None:
            found = self._callers[device] = current_stream(device)
            self._met.add(found)
        return found
