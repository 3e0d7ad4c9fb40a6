"""``torch_npu.profiler``: torch's profiler under the names and with the arguments that programs for Ascend write.

Times of the device come from its timed events, and a trace is one file in Chrome's format. What CANN's own profiler measures
beside them (counters of the AI cores, caches, the system) is not measured: a configuration that asks for it warns.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final

import torchlike

from .refusals import refusing_function

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "analyse",
    "profile",
    "schedule",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]


ProfilerAction = torchlike.profiler.ProfilerAction
ProfilerActivity = torchlike.profiler.ProfilerActivity
supported_activities = torchlike.profiler.supported_activities


class ProfilerLevel:
    """How much CANN's profiler records (source: ``torch_npu.profiler``)."""

    Level0: Final = "Level0"
    Level1: Final = "Level1"
    Level2: Final = "Level2"
    Level_none: Final = "Level_none"


class AiCMetrics:
    """The counters of the AI cores (source: ``torch_npu.profiler``)."""

    PipeUtilization: Final = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization: Final = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory: Final = "ACL_AICORE_MEMORY_BANDWIDTH"
    MemoryL0: Final = "ACL_AICORE_L0B_AND_WIDTH"
    MemoryUB: Final = "ACL_AICORE_MEMORY_UB"
    ResourceConflictRatio: Final = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache: Final = "ACL_AICORE_L2_CACHE"
    MemoryAccess: Final = "ACL_AICORE_MEMORY_ACCESS"
    AiCoreNone: Final = "ACL_AICORE_NONE"


class ExportType:
    """The forms of a result (source: ``torch_npu.profiler``)."""

    Db: Final = "db"
    Text: Final = "text"


class HostSystem:
    """What of the host can be watched (source: ``torch_npu.profiler``)."""

    CPU: Final = "cpu"
    MEM: Final = "mem"
    DISK: Final = "disk"
    NETWORK: Final = "network"
    OSRT: Final = "osrt"
    NUMA: Final = "numa"


def _values(names: type) -> set[str]:
    return {value for name, value in vars(names).items() if name[:1] != "_"}


def supported_profiler_level() -> set[str]:
    """Return the levels that programs may ask for (source: ``torch_npu.profiler``)."""
    return _values(ProfilerLevel)


def supported_ai_core_metrics() -> set[str]:
    """Return the counters that programs may ask for (source: ``torch_npu.profiler``)."""
    return _values(AiCMetrics)


def supported_export_type() -> set[str]:
    """Return the forms that programs may ask for (source: ``torch_npu.profiler``)."""
    return _values(ExportType)


class _ExperimentalConfig:
    """The settings of CANN's profiler, of which none changes a profile here (source: ``torch_npu.profiler``)."""

    def __init__(
        self,
        profiler_level: str = ProfilerLevel.Level0,
        aic_metrics: str = AiCMetrics.AiCoreNone,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: float | None = None,
        export_type: str | list[str] = ExportType.Text,
        host_sys: list[str] | None = None,
        mstx_domain_include: list[str] | None = None,
        mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        forms = export_type if isinstance(export_type, list) else [export_type]
        for name, value, there in (
            ("profiler_level", profiler_level, supported_profiler_level()),
            ("aic_metrics", aic_metrics, supported_ai_core_metrics()),
            *(("export_type", each, supported_export_type()) for each in forms),
            *(("host_sys", each, _values(HostSystem)) for each in host_sys or ()),
        ):
            if value not in there:
                raise ValueError(f"_ExperimentalConfig: {name} is {value!r}; there are {', '.join(sorted(there))}")
        self.profiler_level, self.aic_metrics, self.export_type = profiler_level, aic_metrics, forms
        self.data_simplification = data_simplification
        asked = {
            "aic_metrics": aic_metrics != AiCMetrics.AiCoreNone,
            "l2_cache": l2_cache,
            "record_op_args": record_op_args,
            "op_attr": op_attr,
            "gc_detect_threshold": gc_detect_threshold is not None,
            "export_type='db'": ExportType.Db in forms,
            "host_sys": host_sys,
            "sys_io": sys_io,
            "sys_interconnection": sys_interconnection,
            "msprof_tx": msprof_tx,
            "mstx": mstx or mstx_domain_include or mstx_domain_exclude,
        }
        if left := [name for name, value in asked.items() if value]:
            warnings.warn(f"torch_npu.profiler: not measured here: {', '.join(left)}", stacklevel=2)


def schedule(
    wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Return a schedule, as torch's does; ``active`` stands second and ``warmup`` may be left out (source: ``torch_npu``).

    >>> [schedule(1, 2)(step).name for step in range(4)]
    ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    return torchlike.profiler.schedule(
        wait=wait,
        warmup=warmup,
        active=active,
        repeat=repeat,
        skip_first=skip_first,
        skip_first_wait=skip_first_wait,
    )


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> Callable[[torchlike.profiler.profile], None]:
    """Return an ``on_trace_ready`` that writes each trace into a folder, by default the current one (source: ``torch_npu``).

    A trace is complete when it is written, so that ``analyse_flag`` and ``async_mode`` change nothing.
    """
    return torchlike.profiler.tensorboard_trace_handler("." if dir_name is None else dir_name, worker_name)


class profile(torchlike.profiler.profile):  # noqa: N801  # torch's name
    """Profile the operators of a block, as torch's does (source: ``torch_npu.profiler.profile``).

    By default it looks at the host and at the device.

    >>> with profile(activities=[ProfilerActivity.CPU], with_stack=False) as prof:
    ...     x = torchlike.ones(2) + 1
    >>> [each.key for each in prof.key_averages()]
    ['aten::ones', 'aten::add']
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        use_cuda: bool | None = None,
    ) -> None:
        super().__init__(
            activities=supported_activities() if activities is None else activities,
            schedule=schedule,
            on_trace_ready=on_trace_ready,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
        )
        if experimental_config is not None and not isinstance(experimental_config, _ExperimentalConfig):
            kind = type(experimental_config).__name__
            raise TypeError(f"profile(): experimental_config is an _ExperimentalConfig, not {kind}")
        self.metadata: dict[str, Any] = {}

    def add_metadata(self, key: str, value: str) -> None:
        """Keep a text with the profile, in ``metadata``."""
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Keep a text in JSON with the profile, in ``metadata``; raises ``ValueError`` for another text."""
        self.metadata[key] = json.loads(value)

    export_stacks = refusing_function(
        "torch_npu.profiler.profile.export_stacks", "stacks are not recorded", "leave it out"
    )
    export_memory_timeline = refusing_function(
        "torch_npu.profiler.profile.export_memory_timeline",
        "a profile has the bytes of results, and no line of time of them",
        "profile_memory=True counts them; torch.npu.memory_stats() has peaks",
    )


analyse = refusing_function(
    "torch_npu.profiler.profiler.analyse",
    "there are no files of CANN's profiler to read",
    "open the trace, which is complete, in Perfetto",
)
