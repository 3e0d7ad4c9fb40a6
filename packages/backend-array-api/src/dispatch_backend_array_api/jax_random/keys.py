"""The keys of random numbers, which seed and offset of a device's generator make.

Note [Keys of draws]
    A draw's key is made of 64 bits of the seed and 64 of the offset, and each draw takes the offset 4 further, however many
    numbers it has. So its numbers follow from the seed and from how many draws came before. An element's number follows from
    the key and its place in the array (JAX's "partitionable" Threefry): the parts of an array over several devices are drawn
    where they lie, and are those of one device.

Note [Draws of programs]
    Seed and offset of each generator are an argument of a compiled program, which returns those of the next draw. They stay
    on its devices: the next program takes them, unless the generator has been seeded or drawn from meanwhile. The generator
    counts by itself, because a program always draws as often.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import threefry_2x32

import dispatch_core as dc
from dispatch_aten.counter_engine import CounterEngine
from dispatch_aten.generator import Generator, default_generator, find_source, hold_engine

#: By how much a draw takes the offset further: states are then valid ones of torch's Philox generators.
_STEP: Final = 4
#: On how many placements a generator's state is kept.
_MOST: Final = 8

Source: TypeAlias = Generator | None


class KeyEngine(CounterEngine):
    """The place in a stream, and the arrays that hold it on devices."""

    __slots__ = ("held",)

    def __init__(self, index: int = 0) -> None:
        super().__init__(index)
        #: Where it lies → seed and offset, and the array of them.
        self.held: dict[Any, tuple[tuple[int, int], Any]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts of a copy, which has no arrays."""
        return _restore, (self.get_state(),)


def _restore(state: bytes) -> KeyEngine:
    made = KeyEngine()
    made.set_state(state)
    return made


def make_key(pair: Any) -> Any:
    """Return JAX's key for seed and offset; see Note [Keys of draws]."""
    words = (jnp.asarray(pair)[:, None] >> np.array([32, 0], np.uint64)).astype(jnp.uint32)
    # One hash of all 128 bits; that of `jax.random.fold_in` takes 32 of them.
    return jax.random.wrap_key_data(threefry_2x32(words[0], words[1]), impl="threefry2x32")


class TracedDraws:
    """The draws of a program while JAX follows it."""

    def __init__(self, index: int | None, keys: Mapping[Source, Iterator[Any]] | None) -> None:
        self._place, self._keys = dc.Device("jax", index), keys
        #: The generators of the draws so far, None for the device's own.
        self.taken: list[Source] = []

    def take(self, generator: Source) -> Any:
        """Return the key of the next draw."""
        if generator is not None and find_source(self._place, generator) is default_generator(self._place):
            generator = None
        self.taken.append(generator)
        return make_key(jnp.zeros(2, jnp.uint64)) if self._keys is None else next(self._keys[generator])


class _Tracing(threading.local):
    draws: TracedDraws | None = None


_following: Final = _Tracing()


@contextmanager
def following_draws(index: int | None, keys: Mapping[Source, Iterator[Any]] | None = None) -> Iterator[TracedDraws]:
    """Draw by the keys of a program, of which no numbers are known, while JAX follows it; by any in a planner's trial."""
    before, _following.draws = _following.draws, TracedDraws(index, keys)
    try:
        yield _following.draws
    finally:
        _following.draws = before


def restart_draws() -> None:
    """Collect the draws of another node in the planner's trial, where a program is followed."""
    if _following.draws is not None:
        _following.draws.taken = []


def take_key(generator: Source) -> Any:
    """Return the key of the next draw while a program is followed, None elsewhere.

    Raises ``OperatorError`` for the generator of another type of device.
    """
    return None if _following.draws is None else _following.draws.take(generator)


def take_pair(index: int | None, generator: Source) -> Any:
    """Return seed and offset of the next draw, and take the generator further; errors are those of `take_key`."""
    with hold_engine(dc.Device("jax", index), generator) as engine:
        return np.array(engine.take(_STEP), np.uint64)


class Taken(NamedTuple):
    """The state of a generator that a run of a program takes, and by how much it takes it further."""

    engine: KeyEngine
    steps: int
    pair: tuple[int, int]


class ProgramDraws:
    """The draws of a compiled program; see Note [Draws of programs]."""

    def __init__(self, taken: Iterable[Source], index: int | None) -> None:
        self._counts = Counter(taken)
        self._index = index

    def __bool__(self) -> bool:
        return bool(self._counts)

    @contextmanager
    def following(self, states: Sequence[Any]) -> Iterator[None]:
        """Draw by the program's argument within the block. The keys are made together: each hash is long to compile."""
        keys = {}
        for (generator, count), state in zip(self._counts.items(), states, strict=True):
            steps = np.stack([np.zeros(count, np.uint64), np.arange(count, dtype=np.uint64) * _STEP], -1)
            keys[generator] = iter(jax.vmap(make_key)(state + steps))
        with following_draws(self._index, keys):
            yield

    def advance(self, states: Sequence[Any]) -> list[Any]:
        """Return the states after the program's draws."""
        steps = [np.array([0, count * _STEP], np.uint64) for count in self._counts.values()]
        return [state + step for state, step in zip(states, steps, strict=True)]

    def take(self) -> list[Taken]:
        """Take the generators' states for a run."""
        found = []
        for generator, count in self._counts.items():
            with hold_engine(dc.Device("jax", self._index), generator) as engine:
                found.append(Taken(engine, count * _STEP, engine.take(count * _STEP)))
        return found

    @staticmethod
    def put(taken: Sequence[Taken], where: Any) -> list[Any]:
        """Return the arrays of states on a program's devices."""
        arrays = []
        for engine, _, pair in taken:
            held = engine.held.get(where)
            is_there = held is not None and held[0] == pair
            arrays.append(held[1] if held and is_there else jax.device_put(np.array(pair, np.uint64), where))
        return arrays

    @staticmethod
    def keep(taken: Sequence[Taken], where: Any, arrays: Sequence[Any]) -> None:
        """Keep the states that a run has returned."""
        for (engine, steps, (seed, offset)), array in zip(taken, arrays, strict=True):
            if len(engine.held) >= _MOST:
                engine.held.clear()
            engine.held[where] = (seed, (offset + steps) % (1 << 64)), array

    def give_back(self, taken: Sequence[Taken]) -> None:
        """Go back to the states before a run that has failed."""
        for generator, (engine, steps, pair) in zip(self._counts, taken, strict=True):
            with hold_engine(dc.Device("jax", self._index), generator) as present:
                if present is engine:
                    engine.give_back(steps, pair)
