import copy
import pickle
import threading

import pytest

import dispatch_core as dc
from dispatch_aten.counter_engine import CounterEngine
from dispatch_aten.generator import DEFAULT_SEED, Generator, default_generator, hold_engine


class CountingEngine:
    def __init__(self):
        self.count = 0

    def seed(self, seed):
        self.count = seed

    def get_state(self):
        return self.count

    def set_state(self, state):
        self.count = state


def test_a_generator_starts_from_the_default_seed():
    assert Generator("cpu").initial_seed() == DEFAULT_SEED


def test_seeding_reaches_the_engine():
    generator = Generator("cpu")
    generator.engine = CountingEngine()
    assert generator.manual_seed(5) is generator
    assert (generator.initial_seed(), generator.engine.count) == (5, 5)


def test_a_seed_is_a_number_of_64_bits():
    assert Generator("cpu").manual_seed(-1).initial_seed() == 2**64 - 1
    with pytest.raises(RuntimeError, match="Overflow"):
        Generator("cpu").manual_seed(2**64)


def test_a_state_brings_the_engine_back():
    generator = Generator("cpu")
    generator.engine = CountingEngine()
    generator.manual_seed(1)
    state = generator.get_state()
    generator.engine.count = 9
    generator.set_state(state)
    assert generator.engine.count == 1


@pytest.mark.parametrize("again", [copy.deepcopy, lambda generator: pickle.loads(pickle.dumps(generator))])
@pytest.mark.parametrize("engine", [None, CountingEngine()])
def test_a_copy_has_its_own_stream_from_the_same_place(again, engine):
    generator = Generator("meta")
    generator.engine = engine
    generator.manual_seed(4)
    other = again(generator)
    assert (other.device, other.get_state()) == (generator.device, generator.get_state())
    other.manual_seed(5)
    assert generator.initial_seed() == 4 and (engine is None or engine.count == 4)


def test_two_unseeded_generators_differ_after_seed():
    assert Generator("cpu").seed() != Generator("cpu").seed()


def test_threads_share_one_default_generator():
    found = []
    threads = [threading.Thread(target=lambda: found.append(default_generator("meta"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


def test_a_backend_that_takes_another_s_name_makes_engines_of_its_own():
    class Engine:
        def seed(self, number): ...
        def get_state(self):
            return b""

        def set_state(self, state): ...

    for interface in (dc.DeviceInterface(generator=lambda index: Engine()), dc.DeviceInterface()):
        info = dc.BackendInfo("renamed")
        handle = dc.register_backend(info, {}, device_interface=lambda interface=interface: interface)
        with handle, hold_engine("renamed") as engine:
            assert isinstance(engine, Engine) is (interface.generator is not None)


def test_numbers_that_were_not_drawn_are_given_back():
    engine = CounterEngine()
    engine.seed(7)
    taken = engine.take(5)
    engine.give_back(5, taken)
    assert engine.take(5) == taken == (7, 0)
    engine.take(1)
    engine.give_back(5, taken)  # others were drawn since
    assert engine.take(1) == (7, 12)
