"""An interrupt at any place leaves nothing on: no grad mode, no masks, no pipeline, and later calls are computed as ever."""

from __future__ import annotations

import _thread
import gc
import linecache
import os
import signal
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from timeit import repeat
from types import SimpleNamespace

import pytest

import dispatch_core as dc
import torchlike
from dispatch_core.interrupts import whole
from dispatch_core.keys import context
from dispatch_core.layers.mode_stack import current_entry
from torchlike.autograd.engine import is_running
from torchlike.levels import current_levels

ROOT = str(Path(__file__).parents[1] / "packages")
INSTALLED = tuple(str(Path(module.__file__).parent) for module in (dc, torchlike))


class Interrupt(KeyboardInterrupt):
    """The interrupt that the tests raise."""


class Trigger:
    """``trigger[signal.SIGINT]`` is as Ctrl-C, and no call: the interrupt falls at the next look for signals."""

    __getitem__ = staticmethod(_thread.interrupt_main)


trigger = Trigger()


# The programs that are interrupted. Their results are compared with those of an undisturbed run.


def use_guard(guard):
    def program(fall=None):
        with guard() as _:
            x = 1
            fall and fall[signal.SIGINT]
        return x

    program.__name__ = guard.__name__
    return program


@contextmanager
def suspend_pipeline():
    with torchlike.pipeline():
        yield


def enable_again():
    return torchlike.enable_grad()


def set_off():
    return torchlike.set_grad_enabled(False)


def include_key():
    return dc.include_keys("Profiler")


def exclude_key():
    return dc.exclude_keys("Autograd")


def autocast():
    return torchlike.autocast("cpu")


def enter_device():
    return torchlike.device("meta")


def pipeline(fall=None):
    with torchlike.pipeline():
        x = (SOURCE + 1) * 2
        WRITTEN.fill_(1.0)
        WRITTEN.add_(1.0)
        fall and fall[signal.SIGINT]
    return x.tolist(), WRITTEN.tolist()


def several(fall=None):
    with torchlike.no_grad(), torchlike.pipeline(), torchlike.enable_grad(), suspend_pipeline(), ExitStack() as stack:
        stack.enter_context(torchlike.pipeline())
        x = (SOURCE + 1).sum()
        # The stack's own exit is Python's code, which Ctrl-C can keep from beginning.
        with torchlike.no_grad():
            y = x.item()
            fall and fall[signal.SIGINT]
    return x.item(), y


def backward(fall=None):
    w = torchlike.ones(3, requires_grad=True)
    ((w * 2) + SOURCE).sum().backward()
    fall and fall[signal.SIGINT]
    return w.grad.tolist()


def decorator(fall=None):
    @torchlike.no_grad()
    def call():
        fall and fall[signal.SIGINT]
        return (SOURCE + 1).tolist()

    return call()


def layers(fall=None):
    with dc.trace() as trace, dc.profile() as profile:
        x = SOURCE + 1
        fall and fall[signal.SIGINT]
    return x.tolist(), len(trace.graph.steps), len(profile.events)


def transforms(fall=None):
    def square(x):
        fall and fall[signal.SIGINT]
        return x * x

    return torchlike.vmap(torchlike.func.grad(square))(SOURCE).tolist()


class PassOn(dc.DispatchMode):
    def __dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def modes(fall=None):
    with PassOn(), PassOn():
        x = SOURCE + 1
        fall and fall[signal.SIGINT]
    return x.tolist()


def functional_trace(fall=None):
    with dc.trace(functional=True) as trace:
        x = SOURCE.clone()[1:].add_(1)
        fall and fall[signal.SIGINT]
    return x.tolist(), len(trace.graph.steps)


def compute_values(fall=None):
    def write(x):
        x = x.clone().add_(1)
        fall and fall[signal.SIGINT]
        return x

    return torchlike.func.functionalize(write)(SOURCE).tolist()


def make_step():
    written = torchlike.ones(3)

    @torchlike.capture
    def step(x):
        written.copy_(x * 0 + 3)
        return x * 2 + written

    return step


def record():
    """Make two recordings and a replay."""
    step = make_step()
    return [step(SOURCE).tolist() for _ in range(3)]


def replay(fall=None):
    x = STEP(SOURCE)
    fall and fall[signal.SIGINT]
    return x.tolist()


def loops(fall=None):
    """Be interrupted where a loop jumps back: inside the block, whose handler takes the mode back."""
    with torchlike.no_grad():
        doubled = [each * 2 for each in SIZES if not fall or fall[signal.SIGINT] is None]
    return doubled


SIZES = range(3)
SOURCE, WRITTEN = torchlike.ones(3), torchlike.ones(3)
STEP = make_step()
GUARDS = [
    PassOn,
    torchlike.no_grad,
    enable_again,
    set_off,
    torchlike.inference_mode,
    include_key,
    exclude_key,
    dc.profile,
    dc.trace,
    enter_device,
    autocast,
]
WITHOUT_WRITES = [functional_trace, compute_values]
PROGRAMS = [
    *map(use_guard, GUARDS),
    pipeline,
    several,
    backward,
    decorator,
    layers,
    transforms,
    modes,
    *WITHOUT_WRITES,
    loops,
    replay,
]


def name_of(program):
    return program.__name__


def sets_by_its_call(program):
    """Return whether the mode is set by a call, as torch does it: Ctrl-C after it cannot be told from a call alone."""
    return program.__name__ == "set_off"


def assert_nothing_is_on():
    assert torchlike.is_grad_enabled()
    assert not torchlike.is_inference_mode_enabled()
    assert dc.current_pipeline() is None
    assert not torchlike.is_autocast_enabled("cpu")
    assert torchlike.get_default_device().type == "cpu"
    # The steps that an interrupted pipeline has left run before these, and then its key is taken out.
    assert current_entry() is None
    later = SOURCE + WRITTEN
    assert not later._pending
    assert context.current() is None
    assert current_levels() == ()
    assert not is_running()


def interrupt(program, place):
    """Run a program with an interrupt before a line of the library's own code; return the number of its lines.

    Two places are left out. On the way back to a ``with`` statement as its block ends, CPython looks for no signals before
    the call of ``__exit__``. And where a loop jumps back within its line, as a comprehension inside its function does (no
    other place has two line events in one line), CPython 3.12 and 3.13 look for no handler of what a trace function raises:
    they lose the place (``INSTRUMENTED_JUMP`` computes it from a pointer that is null by then), and leave the function. What
    a signal raises there is handled.
    """
    seen = 0
    before = sys.gettrace()
    lines = {}

    def trace(frame, event, _):
        nonlocal seen
        file = frame.f_code.co_filename
        if event == "call":
            # An error that is raised where an object dies goes nowhere.
            inside = file.startswith((ROOT, *INSTALLED, "<dispatch", "<autograd"))
            return trace if inside and frame.f_code.co_name != "__del__" else None
        if event == "line":
            line, last = frame.f_lineno, lines.get(frame, 0)
            lines[frame] = line
            if line < last and linecache.getline(file, line).lstrip().startswith("with "):
                return trace
            if line == last:
                return trace
            seen += 1
            if seen == place:
                sys.settrace(before)
                raise Interrupt
        return trace

    sys.settrace(trace)
    try:
        program()
    except Interrupt:
        pass
    finally:
        sys.settrace(before)
    return seen


@pytest.fixture(autouse=True)
def _nothing_of_other_tests_dies():
    """Keep the collector from ending objects of other tests where an interrupt is placed: what is raised there is lost."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    torchlike.set_grad_enabled(True)  # so that one failure here is not one of every test after it


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_an_interrupt_before_any_third_line_leaves_nothing_on(program):
    for _ in range(4):  # so that code is generated, plans are made and guards are written before
        expected = program()
    lines = interrupt(program, 0)
    assert lines
    step = int(os.environ.get("DISPATCH_TEST_EVERY", "3")) if lines > 100 else 1
    step *= 6 if program in (transforms, *WITHOUT_WRITES) else 1  # layers deep, and slow under a trace function
    for place in range(1, lines + 1, step):
        if sets_by_its_call(program) and place <= 4:
            continue
        interrupt(program, place)
        assert_nothing_is_on()
        assert program() == expected, place


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_ctrl_c_that_comes_as_the_block_ends_leaves_nothing_on(program):
    """The traceback is kept, as an interactive session keeps it: the guard's own frames are alive."""
    expected = program()
    with pytest.raises(KeyboardInterrupt) as caught:
        program(trigger)
    assert_nothing_is_on()
    assert program() == expected
    assert caught.tb


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer that interrupts")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # raised where an object dies
def test_ctrl_c_at_any_moment_leaves_nothing_on(tmp_path):
    path = tmp_path / "checkpoint.pt"

    def files():
        torchlike.save({"x": SOURCE}, path)
        return torchlike.load(path)["x"].tolist(), [each.name for each in tmp_path.iterdir()]

    random = Random(os.environ.get("DISPATCH_TEST_SEED", "moments"))
    programs = [*(each for each in PROGRAMS if not sets_by_its_call(each)), files, record]
    expected = {program: [program() for _ in range(4)][-1] for program in programs}
    seconds = {program: min(repeat(program, number=1, repeat=5)) for program in programs}
    armed = False

    def handle(*_):
        nonlocal armed
        if armed:
            armed = False
            raise Interrupt

    before = signal.signal(signal.SIGALRM, handle)
    try:
        for _ in range(int(os.environ.get("DISPATCH_TEST_INTERRUPTS", "1000"))):
            program = random.choice(programs)
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, max(1e-6, random.uniform(0, 1.2) * seconds[program]))
                program()
                armed = False
            except Interrupt:
                pass
            assert_nothing_is_on()
            assert program() == expected[program]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_function_stays_as_it_is_where_python_has_no_table_of_handlers():
    function = SimpleNamespace(__code__=SimpleNamespace(co_code=b""))
    code = function.__code__
    assert whole(function) is function
    assert function.__code__ is code


# Abandoned pipelines.


def test_a_pipeline_without_its_handle_has_ended():
    x = torchlike.ones(2)
    torchlike.pipeline().__enter__()
    assert dc.current_pipeline() is None
    assert not (x + 1)._pending
    assert context.current() is None


def test_what_an_abandoned_pipeline_has_recorded_runs_before_the_next_operator():
    x, y = torchlike.ones(2), torchlike.ones(2)
    pipe = torchlike.pipeline()
    pipe.__enter__()
    before = y + 1
    x.add_(1)
    del pipe
    y.add_(10)
    assert (x.tolist(), before.tolist(), y.tolist()) == ([2, 2], [2, 2], [11, 11])
    assert context.current() is None


def test_an_abandoned_inner_pipeline_leaves_the_outer_one_open():
    x = torchlike.ones(2)
    with torchlike.pipeline():
        outer = dc.current_pipeline()
        torchlike.pipeline().__enter__()
        assert dc.current_pipeline() is outer
        assert (x + 1)._pending
    assert_nothing_is_on()


def test_a_pipeline_that_a_name_keeps_alive_is_ended_by_close():
    x = torchlike.ones(2)
    pipe = torchlike.pipeline()
    pipe.__enter__()
    y = x + 1
    dc.current_pipeline().close()
    assert dc.current_pipeline() is None
    assert not (x + 1)._pending
    assert y.tolist() == [2, 2]
    pipe.__exit__(None, None, None)
    with pipe:
        assert (x + 1)._pending
    assert_nothing_is_on()


def test_close_inside_the_block_ends_it_early():
    x = torchlike.ones(2)
    with torchlike.pipeline():
        x.add_(1)
        dc.current_pipeline().close()
        assert not (x + 1)._pending
    assert x.tolist() == [2, 2]
    assert_nothing_is_on()


def test_a_pipeline_in_a_circle_ends_when_it_is_collected():
    x = torchlike.ones(2)

    def steps():
        with torchlike.pipeline():
            yield x.add_(1)

    circle = [steps()]
    circle.append(circle)
    next(circle[0])
    del circle
    gc.collect()
    assert x.tolist() == [2, 2]
    assert_nothing_is_on()
