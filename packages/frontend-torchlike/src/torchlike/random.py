"""Random numbers: seeds, states and generators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dispatch_aten.generator import Generator, manual_seed_all
from dispatch_aten.generator import default_generator as generator_of

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


def _start_engine() -> None:
    """Make the engine of the cpu's generator, without drawing."""
    from .creation.factories import FACTORIES  # it stands above this module

    FACTORIES["rand"](0)


def get_rng_state() -> Any:
    """Return the state of the cpu's generator as bytes, in torch's layout (source: ``torch.get_rng_state``)."""
    from .creation.random_state import pack_state
    from .tensors.arrays import put  # as above

    state = default_generator.get_state()
    if state["engine"] is None:
        _start_engine()
        state = default_generator.get_state()
    return put(pack_state(state), "cpu")


def set_rng_state(new_state: Any) -> None:
    """Restore a state of the cpu's generator, one that torch gave included."""
    from .creation.random_state import unpack_state
    from .tensors.arrays import read_elements  # as above

    if not isinstance(new_state, dict):
        if not hasattr(new_state, "_dispatch_data"):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        new_state = unpack_state(read_elements(new_state))
    _start_engine()
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Restore the cpu's generator after a block (source: ``torch.random.fork_rng``)."""
    if not enabled:
        yield
        return
    before = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(before)
