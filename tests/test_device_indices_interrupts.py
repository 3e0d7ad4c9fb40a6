"""An interrupt at any place leaves the thread on its own device, and later calls are computed as ever."""

import gc
import signal
from random import Random
from timeit import repeat

import paired_devices as twins
import pytest
from test_interrupts import Interrupt, assert_nothing_is_on, interrupt

import torchlike


@pytest.fixture(scope="module")
def twin():
    """An array on each of the two devices."""
    with twins.register():
        yield torchlike.ones(2, 3, device="twin:0"), torchlike.ones(2, 3, device="twin:1")


@pytest.fixture(autouse=True)
def _nothing_of_other_tests_dies():
    """Keep the collector from ending objects of other tests where an interrupt is placed: what is raised there is lost."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def make_programs(first, second):
    """Return programs that work on the second device, while the thread's is the first."""
    target = torchlike.zeros(2, 3, device="twin:0")

    def eager():
        return (second * 2 + 1).exp().tolist(), torchlike.ones(2, device="twin:1").tolist()

    def copies():
        return target.copy_(second + 1).tolist(), (first * 3).to("twin:1").tolist()

    def pipeline():
        with torchlike.pipeline():
            x, y = (second * 2 + 1).exp(), first + 1
            z = torchlike.ones(3, device="twin:1") * 2
        return x.tolist(), y.tolist(), z.tolist()

    def backward():
        leaf = torchlike.ones(3, device="twin:1", requires_grad=True)
        (leaf.to("twin:0") * 2).sum().backward()
        return leaf.grad.tolist()

    step = torchlike.capture(lambda x: (x * 2 + 1).exp())

    def captured():
        return step(second).tolist()

    return [eager, copies, pipeline, backward, captured]


@pytest.mark.long
@pytest.mark.parametrize("number", range(5))
def test_an_interrupt_before_any_line_restores_the_threads_device(twin, number):
    program = make_programs(*twin)[number]
    for _ in range(4):
        expected = program()
    lines = interrupt(program, 0)
    for place in range(1, lines + 1, max(1, lines // 150)):
        interrupt(program, place)
        assert twins.current() == 0
        assert_nothing_is_on()
        assert program() == expected, place


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer that interrupts")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # raised where an object dies
def test_ctrl_c_at_any_moment_restores_the_threads_device(twin):
    random, armed = Random("devices"), False
    programs = make_programs(*twin)
    expected = [[program() for _ in range(4)][-1] for program in programs]
    seconds = [min(repeat(program, number=1, repeat=5)) for program in programs]

    def handle(*_):
        nonlocal armed
        if armed:
            armed = False
            raise Interrupt

    before = signal.signal(signal.SIGALRM, handle)
    try:
        for _ in range(500):
            number = random.randrange(len(programs))
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, max(1e-6, random.uniform(0, 1.2) * seconds[number]))
                programs[number]()
                armed = False
            except Interrupt:
                pass
            assert twins.current() == 0
            assert_nothing_is_on()
            assert programs[number]() == expected[number]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
