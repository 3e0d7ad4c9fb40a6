"""Random number generators: the seed is here, the stream of numbers belongs to the backend.

A backend keeps its source of numbers in ``Generator.engine``; it makes one from ``initial_seed()`` when it finds None there.
An engine has ``seed(number)``, ``get_state()`` and ``set_state(state)``.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from dispatch_core import Device
from dispatch_core.forks import Order, forkable

from .errors import ArgumentTypeError, OperatorError

__all__ = ["DEFAULT_SEED", "Generator", "RandomEngine", "default_generator", "manual_seed_all"]

DEFAULT_SEED: Final = 67280421310721
"""The seed of a generator that has not been seeded; torch's own."""

_LOW, _HIGH = -(1 << 63), 1 << 64


class RandomEngine(Protocol):
    """The interface of a generator's engine, which belongs to a backend."""

    def seed(self, seed: int, /) -> None:
        """Start the stream again."""

    def get_state(self) -> Any:
        """Return the state that decides all numbers to come."""

    def set_state(self, state: Any, /) -> None:
        """Continue from a state that ``get_state`` returned."""


class Generator:
    """A stream of random numbers on one device (source: ``torch.Generator``).

    Its methods may be called from any thread; ``lock`` guards the seed and the engine.

    >>> generator = Generator("cpu").manual_seed(7)
    >>> generator.initial_seed()
    7
    """

    #: The type of the schema for an argument of this class.
    __schema_type__ = "Generator"
    __slots__ = ("__weakref__", "_device", "_seed", "engine", "lock")

    def __init__(self, device: str | Device = "cpu") -> None:
        place = Device.parse(device)
        # There is one cpu: its index does not matter.
        self._device = Device("cpu") if place.type == "cpu" else place
        self._seed = DEFAULT_SEED
        self.engine: Any = None
        self.lock = forkable(Order.GENERATOR, self._forget_engine)

    @property
    def device(self) -> Device:
        """The device that the generator draws for."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream again from ``seed``; return the generator itself.

        Raises ``OperatorError`` for a number that does not fit 64 bits, ``ArgumentTypeError`` for any other object.
        """
        try:
            seed = int(seed)
        except Exception as error:  # the conversion is the caller's, and may raise anything
            raise ArgumentTypeError(
                f"a seed is an integer, not {type(seed).__name__}", operator="manual_seed", argument="seed"
            ) from error
        if not _LOW <= seed < _HIGH:
            raise OperatorError("Overflow when unpacking long long", operator="manual_seed", argument="seed")
        _draw_recorded_numbers()
        with self.lock:
            self._seed = seed % _HIGH
            if self.engine is not None:
                self.engine.seed(self._seed)
        return self

    def seed(self) -> int:
        """Start the stream again from an unpredictable number; return the number."""
        import secrets  # slow to import, with all that it builds on; few programs want an unpredictable seed

        chosen = secrets.randbits(53)
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """Return the number that the stream was started from."""
        return self._seed

    def get_state(self) -> Any:
        """Return the state: the seed and, once numbers were drawn, the engine's own."""
        _draw_recorded_numbers()
        with self.lock:
            return {"seed": self._seed, "engine": None if self.engine is None else self.engine.get_state()}

    def set_state(self, new_state: Any) -> Generator:
        """Continue from a state that ``get_state`` returned; return the generator itself.

        Raises ``ArgumentTypeError`` for anything else.
        """
        if not isinstance(new_state, dict) or not isinstance(new_state.get("seed"), int) or "engine" not in new_state:
            raise ArgumentTypeError(
                "expected a state that get_state() returned", operator="set_state", argument="new_state"
            )
        _draw_recorded_numbers()
        with self.lock:
            self._seed = new_state["seed"]
            if new_state["engine"] is None:
                self.engine = None
            elif self.engine is None:
                raise OperatorError(
                    "the generator has not drawn yet, so it has no engine to take the state",
                    operator="set_state",
                    hint="draw once on the device first",
                )
            else:
                self.engine.set_state(new_state["engine"])
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts of a pickled generator, its engine among them, which has to be one that can be pickled."""
        from copy import deepcopy  # few generators are copied

        _draw_recorded_numbers()
        with self.lock:
            return _rebuild, (str(self._device), self._seed, deepcopy(self.engine))

    def _forget_engine(self) -> None:
        """Start again from the seed in a forked process, where another thread was drawing at the fork."""
        self.engine = None

    def __repr__(self) -> str:
        return f"<Generator on {self._device}, seed {self._seed}>"


def _rebuild(device: str, seed: int, engine: Any) -> Generator:
    made = make_generator(device, seed)
    made.engine = engine
    return made


def _draw_recorded_numbers() -> None:
    """Run the recorded steps of a pipeline that draw numbers, before the generator is used."""
    from dispatch_core.frontends import run_random_steps  # most programs open none

    run_random_steps()


_defaults: dict[str, Generator] = {}
_lock: Final = forkable(Order.GENERATOR)
_seed_for_all: int | None = None


def make_generator(device: str | Device, seed: int) -> Generator:
    """Return a new generator that draws from ``seed``; no recorded step can have drawn from it.

    >>> make_generator("cpu", 7).initial_seed()
    7
    """
    made = Generator(device)
    made._seed = int(seed) % _HIGH
    return made


def default_generator(device: str | Device) -> Generator:
    """Return the generator that random operators on ``device`` use when no generator is given.

    >>> default_generator("cpu") is default_generator("cpu")
    True
    """
    name = str(device)
    found = _defaults.get(name)
    if found is None:
        with _lock:
            found = _defaults.get(name)
            if found is None:
                found = make_generator(device, DEFAULT_SEED if _seed_for_all is None else _seed_for_all)
                _defaults[name] = found
    return found


def manual_seed_all(seed: int) -> None:
    """Seed the default generators of all devices, those of devices that are not in use yet included."""
    global _seed_for_all  # one seed for the process, as in torch.manual_seed
    Generator().manual_seed(seed)
    with _lock:
        _seed_for_all = seed
        generators = list(_defaults.values())
    for generator in generators:
        generator.manual_seed(seed)
