"""Torch's profiler on top of `dispatch_core.profile`: schedules, named regions, tables, Chrome traces.

Source: ``torch.profiler``. Times are those of operators on the host: a device that computes in the background shows them in
the call that waits for it, unless ``activities`` asks for the device's own. Begin and end a profile in the same function, as
a ``with`` block does.

>>> import torchlike as torch
>>> with torch.profiler.profile() as prof:
...     with torch.profiler.record_function("forward"):
...         y = torch.ones(2) + 1
>>> [(event.key, event.count) for event in prof.key_averages()]
[('forward', 1), ('aten::ones', 1), ('aten::add', 1)]
"""

from __future__ import annotations

import gzip
import os
import shutil
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ContextDecorator
from enum import Enum, EnumMeta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

import dispatch_core as dc
from dispatch_core import runtime
from dispatch_core.files import replace_file
from dispatch_core.lazy_text import repr_by_attributes

from .names.lazy_names import import_lazily

if TYPE_CHECKING:
    from .surface.profiler_events import EventList, FunctionEventAvg
else:
    EventList = import_lazily("torchlike.surface.profiler_events", "EventList")
    FunctionEventAvg = import_lazily("torchlike.surface.profiler_events", "FunctionEventAvg")

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class _Activities(EnumMeta):
    def __getattr__(cls, name: str) -> Any:
        # Torch names it by the device that was brought, too.
        if name.isupper() and runtime.has_interface(name.lower()):
            return cls["PrivateUse1"]
        raise AttributeError(name)


class ProfilerActivity(Enum, metaclass=_Activities):
    """The places that a profiler looks at (source: ``torch.profiler.ProfilerActivity``).

    ``PrivateUse1`` is a device with timed events, by the name of any such device, too.
    """

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """The action of a profiler at a step (source: ``torch.profiler.ProfilerAction``)."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """Return the activities that can be profiled: calls of operators, and times of accelerators with timed events."""
    found = runtime.list_accelerators(available=True)
    timed = any(runtime.find_interface(each).timed_event is not None for each in found)
    return {ProfilerActivity.CPU, *([ProfilerActivity.PrivateUse1] if timed else ())}


def kineto_available() -> bool:
    """Return False: torch's library for device traces is not used."""
    return False


class record_function(ContextDecorator):  # noqa: N801  # torch's name
    """Give a part of a program a name in the profile that is open (source: ``torch.profiler.record_function``)."""

    __repr__ = repr_by_attributes("name", "args")

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._open: list[AbstractContextManager[None]] = []

    def __enter__(self) -> Self:
        region = dc.profile.region(self.name)
        region.__enter__()
        self._open.append(region)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.pop().__exit__(kind, error, trace)


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return a schedule: skip, then wait, warm up and record in turn (source: ``torch.profiler.schedule``).

    ``repeat=0`` goes on for ever; ``skip_first_wait=1`` leaves the first wait out. Raises ``AssertionError`` for numbers
    that make no schedule.

    >>> each_third = schedule(wait=1, warmup=1, active=1)
    >>> [each_third(step).name for step in range(4)]
    ['NONE', 'WARMUP', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0),"
            f" active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    length = wait + warmup + active

    def choose(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step >= repeat * length:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return choose


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """Return an ``on_trace_ready`` that writes each trace into a folder (source: ``torch.profiler``)."""

    def write(profiler: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        profiler.export_chrome_trace(folder / f"{worker}.{time.time_ns()}{ending}")

    return write


#: The profiles that record now.
_open: Final[list[profile]] = []


def _profiler_enabled() -> bool:
    """Return whether a profile records (source: ``torch.autograd._profiler_enabled``)."""
    return bool(_open)


def _disable_profiler() -> None:
    """End the innermost profile that records (source: ``torch.autograd._disable_profiler``)."""
    if _open:
        _open[-1]._end()


class profile:  # noqa: N801  # torch's name
    """Profile the operators that this thread calls while the block runs (source: ``torch.profiler.profile``).

    ``schedule`` says at which calls of `step` it records, and ``on_trace_ready`` is called with the profile when a part that
    it has recorded is complete. ``record_shapes`` and ``profile_memory`` keep the shapes of arguments and the bytes of new
    results. Operators are profiled whatever the ``activities``; any but the CPU's asks for the times of devices with timed
    events, too, and so does ``use_device``, as ``torch.autograd.profiler.profile`` has it. Stacks, flops and modules are not
    recorded; asking for them warns.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        use_device: str | None = None,
    ) -> None:
        for name, is_asked in (("with_stack", with_stack), ("with_flops", with_flops), ("with_modules", with_modules)):
            if is_asked:
                warnings.warn(f"torch.profiler.profile: {name} is not recorded here", stacklevel=2)
        asked = tuple(activities or ())
        for activity in asked:
            if not isinstance(activity, ProfilerActivity):
                raise TypeError(f"profile(): activities are ProfilerActivity, not {type(activity).__name__}")
        self._times_devices = use_device is not None or any(each is not ProfilerActivity.CPU for each in asked)
        self._is_enabled = enabled
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.step_num = 0
        self.current_action = self._choose()
        self._profile: dc.profile | None = None
        self._is_recording = False
        self._step: AbstractContextManager[None] | None = None

    def _choose(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to profile, if the schedule says so."""
        if self.current_action in _RECORDING:
            self._record()
        self._begin_step()

    def stop(self) -> None:
        """End the profile, and give a part that was recorded to ``on_trace_ready``."""
        self._end_step()
        if self._is_recording:
            self._finish()

    def step(self) -> None:
        """Say that the next step of the program begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self._choose()
        if before is ProfilerAction.RECORD_AND_SAVE and self._is_recording:
            self._finish()
        if self.current_action in _RECORDING:
            if not self._is_recording:
                self._record()
        elif self._is_recording:
            self._end()
        self._begin_step()

    def _record(self) -> None:
        if not self._is_enabled:
            return
        self._profile = dc.profile(
            record_shapes=self.record_shapes, profile_memory=self.profile_memory, device=self._times_devices
        )
        self._profile.__enter__()
        self._is_recording = True
        _open.append(self)

    def _end(self) -> None:
        assert self._profile is not None
        self._is_recording = False
        if self in _open:
            _open.remove(self)
        self._profile.__exit__(None, None, None)

    def _finish(self) -> None:
        self._end()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _begin_step(self) -> None:
        if self.schedule is not None and self._is_recording:
            self._step = dc.profile.region(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _require_profile(self, purpose: str) -> dc.profile:
        if self._profile is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self._profile

    def events(self) -> EventList:
        """Return the single calls, regions and stages of pipelines, in the order in which they began."""
        from .surface.profiler_events import list_events

        return list_events(self._require_profile("accessing events"), self.profile_memory)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Return the sums over calls of the same operator, and of the same shapes or overload as asked."""
        from .surface.profiler_events import average_events

        found = self._require_profile("getting key averages")
        return average_events(
            found, self.profile_memory, by_shapes=group_by_input_shape, by_overloads=group_by_overload_name
        )

    @property
    def function_events(self) -> EventList:
        """Return the single calls, as `events` does (source: ``torch.autograd.profiler.profile``)."""
        return self.events()

    @property
    def self_cpu_time_total(self) -> float:
        """Return the time of all calls in microseconds, each moment counted once."""
        return self.events().self_cpu_time_total

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all calls."""
        return self.events().total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """Return the single calls as a table, with the arguments of ``key_averages().table``."""
        return self.events().table(*args, **kwargs)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the profile in Chrome's trace format, which Perfetto opens; compressed where the path ends in ``.gz``."""
        found = self._require_profile("exporting a trace")
        if not os.fspath(path).endswith(".gz"):
            found.export_chrome_trace(path)
            return
        with TemporaryDirectory() as folder:
            plain = Path(folder) / "trace.json"
            found.export_chrome_trace(plain)
            with (
                plain.open("rb") as source,
                replace_file(path) as file,
                gzip.GzipFile(Path(path).name, "wb", fileobj=file) as target,
            ):
                shutil.copyfileobj(source, target)

    def __str__(self) -> str:
        return str(self.key_averages()) if self._profile is not None else repr(self)

    def __repr__(self) -> str:
        return repr(self._profile) if self._profile is not None else "<profile: nothing recorded>"

    def _repr_html_(self) -> str | None:
        return None if self._profile is None else self._profile._repr_html_()
