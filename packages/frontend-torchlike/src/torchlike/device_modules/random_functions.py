"""The generators of a device's indices, by torch's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dispatch_core as dc
from dispatch_aten.generator import Generator, default_generator
from dispatch_core import runtime

from .. import random as _random  # noqa: F401  # it says in which form users see states
from .module_parts import ModulePart, Place


class RandomFunctions(ModulePart):
    """The functions of a device's random numbers: each index has a generator, and with one seed they draw the same."""

    def _find(self, index: int) -> Generator:
        return default_generator(dc.Device(self.name, index))

    def _list(self) -> list[Generator]:
        return [self._find(index) for index in range(runtime.count_devices(self.name))]

    @property
    def default_generators(self) -> tuple[Generator, ...]:
        """The generators that draw where none is given, one for each index."""
        return tuple(self._list())

    def manual_seed(self, seed: int) -> None:
        """Seed the generator of the thread's device."""
        self._find(self.current_index()).manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed the generators of all devices of this type."""
        for each in self._list():
            each.manual_seed(seed)

    def seed(self) -> None:
        """Seed the generator of the thread's device with a number that is not predictable."""
        self._find(self.current_index()).seed()

    def seed_all(self) -> None:
        """Seed the generators of all devices of this type with one number that is not predictable."""
        first, *rest = self._list()
        chosen = first.seed()
        for each in rest:
            each.manual_seed(chosen)

    def initial_seed(self) -> int:
        """Return the number that the generator of the thread's device was seeded with."""
        return self._find(self.current_index()).initial_seed()

    def get_rng_state(self, device: Place = None) -> Any:
        """Return the state of a device's generator as a tensor of bytes; the thread's device by default."""
        return self._find(self.to_index(device)).get_state()

    def get_rng_state_all(self) -> list[Any]:
        """Return the states of the generators of all devices of this type."""
        return [each.get_state() for each in self._list()]

    def set_rng_state(self, new_state: Any, device: Place = None) -> None:
        """Restore a state of a device's generator; the thread's device by default."""
        self._find(self.to_index(device)).set_state(new_state)

    def set_rng_state_all(self, new_states: Iterable[Any]) -> None:
        """Restore the states of the generators of all devices of this type."""
        for each, state in zip(self._list(), new_states, strict=True):
            each.set_state(state)
