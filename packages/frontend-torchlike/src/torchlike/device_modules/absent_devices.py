"""Devices that no backend here brings: questions are answered truthfully, and work is refused.

Each gets the functions of ``torch.cuda``; so programs take the branch that they have for a machine without the device.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import ModuleType
from typing import Any, Final, NoReturn

import dispatch_core as dc
from dispatch_core.lazy_text import repr_by_attributes

from ..names.spelling import spell
from .absent_names import ABSENT

__all__ = ["AbsentDeviceError", "cpu", "list_functions", "refuse_work"]

#: The answer → the functions that give it.
_ANSWERS: Final[tuple[tuple[Any, str], ...]] = (
    (False, "can_device_access_peer is_available is_bf16_supported is_current_stream_capturing is_initialized"),
    (False, "is_tf32_supported"),
    (0, "device_count max_memory_allocated max_memory_cached max_memory_reserved memory_allocated memory_cached"),
    (0, "memory_reserved"),
    (None, "empty_cache ipc_collect manual_seed manual_seed_all reset_accumulated_memory_stats seed seed_all"),
    (None, "reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats set_rng_state_all"),
)
_REFUSED: Final = (
    "cudart current_allocated_memory current_blas_handle current_device current_stream default_stream"
    " driver_allocated_memory get_device_capability get_device_name get_device_properties get_rng_state graph"
    " init initial_seed list_gpu_processes mem_get_info memory_summary set_device"
    " set_per_process_memory_fraction set_rng_state set_stream synchronize temperature utilization"
)
#: Classes of objects of a device.
_REFUSED_CLASSES: Final = "CUDAGraph Event ExternalStream Stream"


class AbsentDeviceError(AssertionError, RuntimeError):
    """Raised where work is asked of a device that this build cannot use (torch raises either class)."""

    __module__ = "torchlike.cuda"  # see Note [Public paths]


def _answer(name: str, value: Any) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return value

    function.__name__ = function.__qualname__ = name
    does = "Do nothing" if value is None else f"Return {value!r}"
    function.__doc__ = f"{does}: there is no such device."
    return function


def refuse_work(title: str) -> NoReturn:
    """Raise the error for work on a device that is not there; ``title`` is its name in torch's message."""
    raise AbsentDeviceError(
        f"Torch not compiled with {title} enabled\n"
        "Hint: a device is a package here, and `dispatch list` shows those that are installed"
    )


def _refuse(name: str, title: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        refuse_work(title)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raise ``AssertionError``: there is no such device."
    return function


def _refuse_class(name: str, title: str) -> type:
    """Return a class without instances: programs name it in annotations and ask for it."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> Any:
        refuse_work(title)

    documentation = "Raise ``AssertionError``: there is no such device."
    return type(name, (), {"__new__": refuse, "__doc__": documentation, "__repr__": repr_by_attributes()})


@cache
def list_functions(device: str) -> dict[str, Any]:
    """Return the functions of a device that is not there."""
    title = ABSENT[device]
    found: dict[str, Any] = {name: _answer(name, value) for value, names in _ANSWERS for name in names.split()}
    found |= {name: _refuse(name, title) for name in _REFUSED.split()}

    def stream(stream: Any = None) -> AbstractContextManager[None]:
        """Do nothing for None, and refuse any other stream."""
        if stream is not None:
            refuse_work(title)
        return nullcontext()

    class AbsentDevice:
        """Work with another device within a block: refused, but for a negative number, which changes nothing."""

        __repr__ = repr_by_attributes()

        def __init__(self, device: Any = None) -> None:
            self.idx = device if isinstance(device, int) else getattr(device, "index", 0) or 0

        def __enter__(self) -> None:
            if self.idx >= 0:
                raise AbsentDeviceError(f"PyTorch was compiled without {title} support")

        def __exit__(self, *_: object) -> None:
            pass

    def memory_stats(device: Any = None) -> dict[str, int]:
        """Return no statistics: there is no such device."""
        return {}

    def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
        """Return no statistics: there is no such device."""
        return {}

    def get_rng_state_all() -> list[Any]:
        """Return no states: there is no such device."""
        return []

    def availability() -> dc.Availability:
        """Return that there is no such device."""
        return dc.Availability(False, f"no backend provides the device {device!r}")

    def get_arch_list() -> list[str]:
        """Return no architectures: there is no such device."""
        return []

    own = (stream, availability, memory_stats, memory_stats_as_nested_dict, get_rng_state_all, get_arch_list)
    found |= {each.__name__: each for each in own} | {"device": AbsentDevice}
    found |= {name: _refuse_class(name, title) for name in _REFUSED_CLASSES.split()}
    for name, each in found.items():
        each.__module__, each.__qualname__ = spell(f"torchlike.{device}"), name
    return found


def _make_cpu() -> ModuleType:
    """Return the module of the cpu, which is there, and whose work is done when a call returns."""
    module = ModuleType(spell("torchlike.cpu"), "The cpu as a device (source: ``torch.cpu``).")
    answers = {"is_available": True, "device_count": 1, "current_device": "cpu", "is_initialized": True}
    vars(module).update({name: _answer(name, value) for name, value in answers.items()})
    vars(module).update({name: _answer(name, None) for name in ("synchronize", "set_device")})
    for name in (*answers, "synchronize", "set_device"):
        vars(module)[name].__module__ = module.__name__
    names = "Event Stream StreamContext current_stream stream"
    module.__all__ = sorted([*answers, "set_device", "synchronize", *names.split()])  # type: ignore[attr-defined]  # as above
    module.__getattr__ = _load_cpu_part  # type: ignore[method-assign]  # a module's hook, for names that are loaded late
    return module


def _load_cpu_part(name: str) -> Any:
    from . import cpu_amp, cpu_streams

    if name == "amp":
        return cpu_amp
    if name in cpu_streams.__all__:
        return getattr(cpu_streams, name)
    raise AttributeError(f"module 'torchlike.cpu' has no attribute {name!r}")


cpu: Final = _make_cpu()
