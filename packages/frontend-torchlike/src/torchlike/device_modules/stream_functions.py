"""Streams and events in a device's module; its classes are subclasses of ``torch.Stream`` and ``torch.Event``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import dispatch_core as dc
from dispatch_core import runtime
from dispatch_core.frontends import materialize, note_use, recording

from ..names.spelling import spell
from ..tensors.arguments import check_tensor
from .absent_names import PLAIN
from .module_parts import ModulePart, Place


class StreamFunctions(ModulePart):
    """The functions of a device's streams and events."""

    @property
    def path(self) -> str:
        """The path of the module."""
        return spell(f"torchlike.{self.name}")

    @cached_property
    def Stream(self) -> type[dc.Stream]:  # noqa: N802  # torch's own name
        """The class of the device's streams."""
        functions = self

        class Stream(dc.Stream):
            """A queue of work on this device, a new one on the thread's device by default."""

            __slots__ = ()

            def __init__(self, device: Place = None, priority: int = 0, **kwargs: Any) -> None:
                place = None if kwargs else dc.Device(functions.name, functions.to_index(device))
                super().__init__(place, priority=priority, **kwargs)

            def record_event(self, event: dc.Event | None = None) -> dc.Event:
                """Record an event, by default a new one, after the work that is queued here now, and return it."""
                return super().record_event(functions.Event() if event is None else event)

        Stream.__module__, Stream.__qualname__ = self.path, "Stream"
        return Stream

    @cached_property
    def Event(self) -> type[dc.Event]:  # noqa: N802  # torch's own name
        """The class of the device's events."""
        name = self.name

        class Event(dc.Event):
            """A mark in a stream of this device."""

            __slots__ = ()

            def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
                super().__init__(name, enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)

        Event.__module__, Event.__qualname__ = self.path, "Event"
        return Event

    def current_stream(self, device: Place = None) -> dc.Stream:
        """Return the stream that the thread works with on a device."""
        return runtime.current_stream(dc.Device(self.name, self.to_index(device)), self.Stream)

    def default_stream(self, device: Place = None) -> dc.Stream:
        """Return the stream of a device that threads work with until they choose another."""
        return runtime.default_stream(dc.Device(self.name, self.to_index(device)), self.Stream)

    def set_stream(self, stream: dc.Stream | None) -> None:
        """Make a stream the one that the thread works with on the stream's device; None changes nothing."""
        if stream is not None:
            runtime.set_stream(stream)

    def stream(self, stream: dc.Stream | None) -> AbstractContextManager[Any]:
        """Work with a stream within a block; None changes nothing."""
        return nullcontext() if stream is None else stream

    StreamContext = stream

    def is_current_stream_capturing(self) -> bool:
        """Return whether calls are recorded here for a captured function, instead of being queued."""
        return self.current_stream().is_capturing()

    def record_stream(self, tensor: Any, stream: dc.Stream) -> None:
        """Note that a stream works with a tensor, as its method ``record_stream`` does."""
        record_stream(tensor, stream)


def record_stream(tensor: Any, stream: dc.Stream) -> None:
    """Note that a stream works with a tensor that another one was current for when it was made.

    Its memory is then used again only when that stream has passed the point where the tensor went. Nothing is to be done on
    a device whose backend uses memory of deleted tensors for no other.
    Raises ``TypeError`` for other objects, ``ValueError`` for a stream of another type of devices, and on the cpu
    ``NotImplementedError``.
    """
    check_tensor(tensor, "record_stream", "tensor")
    if not isinstance(stream, dc.Stream):
        raise TypeError(f"record_stream(): argument 's' must be Stream, not {type(stream).__name__}")
    if tensor.device.type != stream.device_type:
        raise ValueError(f"Expected a tensor on {stream.device_type}, but got one on {tensor.device}")
    if stream.device_type in PLAIN:
        raise NotImplementedError(
            f"Could not run 'aten::record_stream' with arguments from the '{stream.device_type.upper()}' backend.\n"
            "Hint: its work is done when a call returns"
        )
    if recording() is None:
        # Replays tell the device themselves which arrays other streams use.
        note_use(stream.device, materialize(tensor), stream.native_handle)
