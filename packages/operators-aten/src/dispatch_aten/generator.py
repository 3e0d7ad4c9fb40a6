"""Random number generators: the seed is here, the stream of numbers belongs to the backend.

A backend keeps its source of numbers in ``Generator.engine``; it makes one from ``initial_seed()`` when it finds None there.
An engine has ``seed(number)``, ``get_state()`` and ``set_state(state)``. A device whose interface has the part ``generator``
makes its engines so (`hold_engine`); any other draws on the host, from an engine of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from dispatch_core import Device
from dispatch_core.forks import Order, forkable
from dispatch_core.frontends import on_devices

from .errors import ArgumentTypeError, OperatorError

__all__ = [
    "DEFAULT_SEED",
    "Generator",
    "HostStream",
    "RandomEngine",
    "default_generator",
    "find_source",
    "hold_engine",
    "host_stream",
    "manual_seed_all",
]

DEFAULT_SEED: Final = 67280421310721
"""The seed of a generator that has not been seeded; torch's own."""

_LOW, _HIGH = -(1 << 63), 1 << 64
#: The devices whose engines are made by their first draw, or by none.
_WITHOUT: Final = ("cpu", "meta")


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
    __slots__ = ("__weakref__", "_device", "_seed", "engine", "host", "lock")

    def __init__(self, device: str | Device = "cpu") -> None:
        place = Device.parse(device)
        # There is one cpu: its index does not matter.
        self._device = Device("cpu") if place.type == "cpu" else place
        self._seed = DEFAULT_SEED
        self.engine: Any = None
        #: What the host draws by for a device that has an engine of its own; None where it has drawn nothing.
        self.host: HostStream | None = None
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
            # The next draw of the host's begins from the seed.
            self.host = None
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
        """Return the state, in the form of a frontend's: the seed and, once numbers were drawn, the engine's own."""
        if _form is None:
            return self.read_state()
        _form.start(self)
        return _form.pack(self, self.read_state())

    def read_state(self) -> dict[str, Any]:
        """Return the state, whatever its form for users."""
        _draw_recorded_numbers()
        with self.lock:
            state = {"seed": self._seed, "engine": None if self.engine is None else self.engine.get_state()}
            return state if self.host is None else {**state, "host": self.host.get_state()}

    def set_state(self, new_state: Any) -> Generator:
        """Continue from a state that ``get_state`` returned, in a form or without one; return the generator itself.

        Raises ``ArgumentTypeError`` for anything else.
        """
        if _form is not None and not isinstance(new_state, dict):
            new_state = _form.unpack(self, new_state)
        if not isinstance(new_state, dict) or not isinstance(new_state.get("seed"), int) or "engine" not in new_state:
            raise ArgumentTypeError(
                "expected a state that get_state() returned", operator="set_state", argument="new_state"
            )
        _draw_recorded_numbers()
        with self.lock:
            self._seed = new_state["seed"]
            if new_state["engine"] is None:
                self.engine = None
            else:
                if self.engine is None and self._device.type not in _WITHOUT:
                    self.engine = _make_engine(self)
                if self.engine is None:
                    raise OperatorError(
                        "the generator has not drawn yet, so it has no engine to take the state",
                        operator="set_state",
                        hint="draw once on the device first",
                    )
                self.engine.set_state(new_state["engine"])
            host = new_state.get("host")
            self.host = None if host is None else HostStream(self._seed)
            if self.host is not None:
                self.host.set_state(host)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts of a pickled generator, its engine among them, which has to be one that can be pickled."""
        from copy import deepcopy  # few generators are copied

        _draw_recorded_numbers()
        with self.lock:
            return _rebuild, (str(self._device), self._seed, deepcopy(self.engine), deepcopy(self.host))

    def _forget_engine(self) -> None:
        """Start again from the seed: in a forked process, where another thread was drawing, or by another backend."""
        self.engine = self.host = None

    def __repr__(self) -> str:
        return f"<Generator on {self._device}, seed {self._seed}>"


def _rebuild(device: str, seed: int, engine: Any, host: HostStream | None = None) -> Generator:
    made = make_generator(device, seed)
    made.engine, made.host = engine, host
    return made


def _draw_recorded_numbers() -> None:
    """Run the recorded steps of a pipeline that draw numbers, before the generator is used."""
    from dispatch_core.frontends import run_random_steps  # most programs open none

    run_random_steps()


class HostStream:
    """The engine by which the host draws for another device: a generator of the cpu's."""

    def __init__(self, seed: int) -> None:
        self.stream = make_generator("cpu", seed)

    def seed(self, seed: int, /) -> None:
        """Start the stream again."""
        self.stream.manual_seed(seed)

    def get_state(self) -> Any:
        """Return the stream's state."""
        return self.stream.read_state()

    def set_state(self, state: Any, /) -> None:
        """Continue from a state that ``get_state`` returned."""
        self.start()
        self.stream.set_state(state)

    def start(self) -> None:
        """Make the engine of the cpu's generator, without drawing."""
        if self.stream.engine is None:
            import numpy as np  # the host's arrays

            from dispatch_core import DispatchKeySet, get_kernel, load_backend  # programs on the cpu alone do without

            load_backend("cpu")
            kernel = get_kernel("aten::uniform_", "CPU")
            kernel.call_boxed(DispatchKeySet(["CPU"]), np.empty(0), 0.0, 1.0, generator=self.stream)


class StateForm(Protocol):
    """How a frontend's users see the state of a generator."""

    def start(self, generator: Generator, /) -> None:
        """Make the generator's engine, without drawing, where the form needs one."""

    def pack(self, generator: Generator, state: dict[str, Any], /) -> Any:
        """Return a state in the form."""

    def unpack(self, generator: Generator, state: Any, /) -> Any:
        """Return the state that ``pack`` was given."""


_form: StateForm | None = None


def set_state_form(form: StateForm) -> None:
    """Set the form of states for the users of a frontend."""
    global _form
    _form = form


def _find_maker(device: Device) -> Callable[[int], Any] | None:
    """Return the part of a device's interface that makes engines, None where it has none."""
    from dispatch_core.runtime import find_interface, provides  # most programs draw on the cpu

    return find_interface(device.type).generator if provides(device.type) else None


def _make_engine(generator: Generator) -> RandomEngine:
    """Make the engine of another device's generator than the cpu's: the device's own, or one that draws on the host."""
    device = generator.device
    make = _find_maker(device)
    if make is None:
        return HostStream(generator.initial_seed())
    engine: RandomEngine = make(_index_of(device) or 0)
    engine.seed(generator.initial_seed())
    return engine


def find_source(device: str | Device, generator: Generator | None) -> Generator:
    """Return the generator that draws for a device, by default its own.

    Raises ``OperatorError`` for one of another type of device.

    >>> find_source("meta", None).device.type
    'meta'
    """
    if generator is None:
        return default_generator(device)
    wanted, found = Device.parse(device).type, generator.device.type
    if wanted != found:
        raise OperatorError(
            f"Expected a '{wanted}' device type for generator but found '{found}'",
            argument="generator",
            hint=f'make it for the device: Generator("{wanted}")',
        )
    return generator


@contextmanager
def hold_engine(device: str | Device, generator: Generator | None = None) -> Iterator[Any]:
    """Hold a generator, by default the device's, and yield its engine, which the device's interface makes at first use.

    A kernel of a vendor's draws within this block. Raises ``OperatorError`` for the generator of another type of device;
    one of another index draws too, as in torch.

    >>> with hold_engine("meta") as engine:
    ...     type(engine).__name__
    'HostStream'
    """
    source = find_source(device, generator)
    with source.lock:
        if source.engine is None:
            source.engine = _make_engine(source)
        yield source.engine


def host_stream(generator: Generator) -> Generator:
    """Return the host's generator that draws for a generator, which is held; the cpu's is its own.

    >>> generator = Generator("meta")
    >>> with generator.lock:
    ...     host_stream(generator).device
    device(type='cpu')
    """
    if generator.device.type == "cpu":
        return generator
    if generator.engine is None and _find_maker(generator.device) is None:
        generator.engine = HostStream(generator.initial_seed())
    if isinstance(generator.engine, HostStream):
        return generator.engine.stream
    if generator.host is None:
        generator.host = HostStream(generator.initial_seed())
    return generator.host.stream


_defaults: dict[tuple[str, int], Generator] = {}
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


def _index_of(device: Device) -> int | None:
    """Return a device's index: without one, the thread's; None for a type without indices."""
    if device.index is not None or device.type == "cpu":
        return device.index
    from dispatch_core.frontends import find_current, is_loaded  # as above

    current = find_current(device.type) if is_loaded(device.type) else None
    return None if current is None else current()


def default_generator(device: str | Device) -> Generator:
    """Return the generator that random operators on ``device`` use when no generator is given: each index has its own.

    Without an index it is that of the thread's current device.

    >>> default_generator("cpu") is default_generator("cpu:0")
    True
    """
    place = Device.parse(device)
    index = None if place.type == "cpu" else _index_of(place)
    key = place.type, index or 0
    found = _defaults.get(key)
    if found is None:
        with _lock:
            found = _defaults.get(key)
            if found is None:
                seed = DEFAULT_SEED if _seed_for_all is None else _seed_for_all
                found = _defaults[key] = make_generator(Device(place.type, index), seed)
    return found


def _forget_engines(names: Iterable[str]) -> None:
    """Start the default generators of devices again, whose backends have taken the place of others of the name."""
    for (device, _), generator in list(_defaults.items()):
        if device in names and device != "cpu":
            generator._forget_engine()


on_devices(_forget_engines)


def manual_seed_all(seed: int) -> None:
    """Seed the default generators of all devices, those of devices that are not in use yet included."""
    global _seed_for_all  # one seed for the process, as in torch.manual_seed
    Generator().manual_seed(seed)
    with _lock:
        _seed_for_all = seed
        generators = list(_defaults.values())
    for generator in generators:
        generator.manual_seed(seed)
