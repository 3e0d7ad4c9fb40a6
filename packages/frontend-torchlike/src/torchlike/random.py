"""Random numbers: seeds, states and generators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dispatch_aten.generator import Generator, HostStream, hold_engine, manual_seed_all, set_state_form
from dispatch_aten.generator import default_generator as generator_of
from dispatch_core import Device
from dispatch_core.devices import read_alias
from dispatch_core.tracebacks import warn_caller

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

default_generator = generator_of("cpu")


def manual_seed(seed: int) -> Generator:
    """Seed the generators of all devices (source: ``torch.manual_seed``); return the cpu's."""
    manual_seed_all(seed)
    return default_generator


def seed() -> int:
    """Seed the generators of all devices with a number that is not predictable, and return that number."""
    chosen = default_generator.seed()
    manual_seed_all(chosen)
    return chosen


def initial_seed() -> int:
    """Return the number that the cpu's generator was seeded with."""
    return default_generator.initial_seed()


class _Bytes:
    """States of generators as tensors of bytes (source: ``torch.Generator.get_state``)."""

    def start(self, generator: Generator) -> None:
        """Make the generator's engine, without drawing."""
        from .creation.factories import FACTORIES  # it stands above this module

        if generator.device.type == "cpu":
            if generator.engine is None:
                FACTORIES["rand"](0, generator=generator)
        elif generator.device.type != "meta":
            with hold_engine(generator.device, generator) as engine:
                pass
            if isinstance(engine, HostStream):
                engine.start()

    def pack(self, generator: Generator, state: dict[str, Any]) -> Any:
        """Return a state as bytes: the cpu's in torch's layout. One of an engine that has no bytes stays as it is."""
        from .creation.random_state import pack_any
        from .tensors.arrays import put  # as above

        packed = pack_any(state)
        return state if packed is None else put(packed, "cpu")

    def unpack(self, generator: Generator, state: Any) -> Any:
        """Return the state that bytes hold."""
        from .creation.random_state import unpack_any
        from .tensors.arrays import read_elements  # as above

        if not hasattr(state, "_dispatch_data"):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        self.start(generator)
        is_host = generator.device.type == "cpu"
        return unpack_any(read_elements(state), is_host, is_host or isinstance(generator.engine, HostStream))


set_state_form(_Bytes())


def get_rng_state() -> Any:
    """Return the state of the cpu's generator as bytes, in torch's layout (source: ``torch.get_rng_state``)."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Restore a state of the cpu's generator, one that torch gave included."""
    default_generator.set_state(new_state)


#: The types of devices of which `fork_rng` has warned that there are several.
_warned: set[str] = set()


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Restore the generators of the cpu and of a type of devices after a block (source: ``torch.random.fork_rng``).

    Args:
        devices: The devices of the type, all by default, which warns where there are several.
        enabled: Whether anything is restored.
        device_type: The type, by default the accelerator's; where no backend has it, the cpu's generator is restored alone.
    """
    if not enabled:
        yield
        return
    from dispatch_core.runtime import count_devices, current_accelerator, has_interface  # programs on the cpu need none

    if device_type is None:
        found = current_accelerator()
        device_type = "cuda" if found is None else found.type
    device_type = read_alias(device_type)
    there = has_interface(device_type)
    if there and devices is None and (count := count_devices(device_type)) > 1 and device_type not in _warned:
        _warned.add(device_type)
        warn_caller(
            f"{device_type.upper()} reports that you have {count} available devices, and you have used {_caller} without"
            f" saying which are used: the states of all are kept. Name them by '{_devices_kw}' to pass over this warning."
        )
    indices = devices if devices is not None else range(count_devices(device_type)) if there else ()
    others = [generator_of(each if isinstance(each, Device) else Device(device_type, each)) for each in indices]
    states = [(each, each.get_state()) for each in (default_generator, *(others if there else ()))]
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)
