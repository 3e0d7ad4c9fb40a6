"""Threads: registering and calling at once; no resolution from an older state stays."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

import dispatch_core as dc
from dispatch_core.calls.emit import define, make_function
from dispatch_core.calls.lazy_function import LazyFunction
from dispatch_core.operators.registries import invalidate_everywhere

THREADS = 8
SECONDS = 0.5


@pytest.fixture(autouse=True)
def switch_often():
    """Make threads take turns a hundred times as often as usual."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(interval)


def together(*works):
    """Run functions in threads of their own until the time is up, which ``go_on`` tells them; raise their errors."""
    until = time.monotonic() + SECONDS
    barrier = threading.Barrier(len(works))

    def run(work):
        barrier.wait()
        return work(lambda: time.monotonic() < until)

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(timeout=30) for future in [pool.submit(run, work) for work in works]]


def test_eight_threads_register_and_call(registry, toy):
    """Each thread has operators of its own and one in common, and sees its own registrations at once."""
    registry.register_schema("t::common", "common(Tensor x) -> int")
    registry.register_kernel("t::common", "CompositeExplicitAutograd", lambda x: -1)

    def worker(number):
        def work(go_on):
            array, rounds = toy.array([number]), 0
            while go_on():
                with dc.Library(f"ns{number}", "DEF", registry=registry) as library:
                    for overload in ("a", "b"):
                        library.define(f"f.{overload}({'Tensor' if overload == 'a' else 'int'} x) -> int")
                        library.impl(f"f.{overload}", lambda x, rounds=rounds: rounds)
                    packet = getattr(registry.ops, f"ns{number}").f
                    assert packet(array) == packet(1) == packet.a(array) == rounds
                    library.impl("f.a", lambda x: -2, toy.key)
                    assert packet(array) == -2
                    assert registry.ops.t.common(array) == -1
                rounds += 1
            return rounds

        return work

    assert min(together(*map(worker, range(THREADS)))) > 0
    assert [name for name in registry.entries if name != "t::common"] == []


def test_a_slot_resolved_from_an_older_state_never_stays(registry, toy):
    """Callers race with one thread that registers and takes back; after each step the truth must be seen at once."""
    registry.register_schema("t::f", "f(Tensor x) -> int")
    registry.register_kernel("t::f", "CompositeExplicitAutograd", lambda x: 0)
    op, array = registry.ops.t.f.default, toy.array([1])

    def call(go_on):
        while go_on():
            assert op(array) in (0, 1)
            with dc.include_keys("Tracer"):
                assert op(array) in (0, 1)

    def register(go_on):
        entry, rounds = registry.get("t::f"), 0
        while go_on():
            made = registry.register_kernel("t::f", toy.key, lambda x: 1)
            assert op(array) == 1
            registry.remove_kernel(entry, made)
            assert op(array) == 0
            rounds += 1
        return rounds

    assert together(register, *[call] * (THREADS - 1))[0] > 0
    assert op(array) == 0


def test_a_schema_that_comes_and_goes_is_never_left_in_a_handle(registry):
    registry.register_kernel("t::f", "CompositeImplicitAutograd", lambda *args: len(args))
    op = registry.ops.t.f.default

    def call(go_on):
        while go_on():
            assert op(1) in (1, 2)

    def define(go_on):
        while go_on():
            with dc.Library("t", "DEF", registry=registry) as library:
                library.define("f(int x, int y=2) -> int")
                assert op(1) == 2
            assert op(1) == 1

    together(define, *[call] * (THREADS - 1))
    assert op(1) == 1


def test_a_packets_choice_is_never_left_from_an_older_state(registry):
    registry.register_schema("t::f.b", "f.b(float x) -> str")
    registry.register_schema("t::f.c", "f.c(str x) -> str")
    registry.register_kernel("t::f.b", "CompositeImplicitAutograd", lambda x: "b")
    packet = registry.ops.t.f

    def call(go_on):
        while go_on():
            # The overload may just have gone, or come without its kernel yet.
            with suppress(dc.ClosedOperatorError, dc.NoKernelError):
                assert packet(1) in ("a", "b")

    def define(go_on):
        registry.register_kernel("t::f.c", "CompositeImplicitAutograd", lambda x: "c")
        first = registry.get("t::f.b")
        while go_on():
            registry.remove_schema(first, first.schema)
            made = dc.Library("t", "FRAGMENT", registry=registry)
            made.define("f.a(int x) -> str")
            made.impl("f.a", lambda x: "a")
            assert packet(1) == "a"
            made.close()
            registry.register_schema("t::f.b", "f.b(float x) -> str")
            assert packet(1) == "b"

    together(define, *[call] * 3)


def test_a_call_that_was_bound_by_an_older_schema_is_answered_for_that_one(registry):
    """It asks the tables of that schema, whose kernels take the arguments as it bound them."""
    registry.register_kernel("t::f", "CompositeImplicitAutograd", lambda *args, **kwargs: (args, kwargs))
    registry.register_schema("t::f", "f(float x, *, int y=2) -> Any")
    entry = registry.get("t::f")
    tables = entry.tables
    registry.remove_schema(entry, entry.schema)
    unchecked = entry.tables
    for schema in ("f(int x) -> Any", "f(*, int z) -> Any"):
        registry.register_schema("t::f", schema)
        for older, bound in ((tables, ((1.0, 2), {})), (unchecked, ((7,), {"y": 8}))):
            args, kwargs = bound
            wanted = ((1.0,), {"y": 2}) if older is tables else bound
            for runner in (older.call[0], older.masked[0, (0, 0)], older.explicit[0]):
                assert runner(*args, **kwargs) == wanted
            assert not older.call
        registry.remove_schema(entry, entry.schema)
    entry.registry.remove_kernel(entry, entry.newest(dc.DispatchKey.CompositeImplicitAutograd))
    with pytest.raises(dc.ClosedOperatorError, match="t::f is gone"):
        tables.call[0]


def test_code_that_runs_while_its_function_takes_over_other_code_keeps_its_constants():
    def make(number, value):
        return make_function(define("f(go_on)", ["go_on()", f"return {number}, constant"]), "f", {"constant": value})

    numbers = iter(range(1, 1000))
    lazy = LazyFunction(lambda: make(number := next(numbers), f"version {number}"), threading.RLock())
    outcomes = []

    def restart():
        lazy.invalidate()
        outcomes.append(lazy.function(lambda: None))

    def restart_often():
        # A thread may stand still here for as long as the others like.
        for _ in range(100):
            restart()

    outcomes += [lazy.function(restart), lazy.function(restart_often), lazy.function(lambda: None)]
    assert all(value == f"version {number}" for number, value in outcomes)
    assert max(number for number, _ in outcomes) == 102
    assert len([name for name in lazy.function.__globals__ if "constant" in name]) == 2  # the first ones, and the last


def test_a_schema_that_changes_often_does_not_pile_up(registry):
    registry.register_kernel("t::f", "CompositeImplicitAutograd", lambda x: x)
    op = registry.ops.t.f.default

    def change(times):
        for _ in range(times):
            with dc.Library("t", "DEF", registry=registry) as library:
                library.define("f(int x) -> int")
                assert op(1) == 1
        return len(op.__globals__)

    assert change(100) == change(100)


def test_a_resolution_during_which_something_changed_is_made_again(registry, monkeypatch):
    """It may have seen the upper key before the change and the lower one after it."""
    registry.register_kernel("t::f", "CPU", lambda: "old")
    entry = registry.get("t::f")
    slot, changes = type(entry).slot, []

    def slow(self, key):
        found = slot(self, key)
        if key is dc.DispatchKey.Tracer and not changes:
            changes.append(registry.register_kernel("t::f", "Tracer", lambda: "layer"))
            registry.register_kernel("t::f", "CPU", lambda: "new", allow_override=True)
        return found

    monkeypatch.setattr(type(entry), "slot", slow)
    assert registry.redispatch("t::f", ["Tracer", "CPU"]) == "layer"


def test_an_error_of_a_resolution_during_which_something_changed_is_not_raised(registry, monkeypatch):
    registry.register_kernel("t::f", "Meta", lambda: "meta")
    entry = registry.get("t::f")
    slot, changes = type(entry).slot, []

    def slow(self, key):
        found = slot(self, key)
        if not changes:
            changes.append(registry.register_kernel("t::f", "CPU", lambda: "cpu"))
        return found

    monkeypatch.setattr(type(entry), "slot", slow)
    assert registry.redispatch("t::f", "CPU") == "cpu"


def test_one_handle_is_made_for_an_operator(registry):
    for number in range(30):
        registry.register_kernel(f"t::f{number}", "CPU", lambda: 0)
        barrier = threading.Barrier(THREADS)

        def get(_, number=number, barrier=barrier):
            barrier.wait()
            return getattr(registry.ops.t, f"f{number}").default

        with ThreadPoolExecutor(THREADS) as pool:
            assert len(set(map(id, pool.map(get, range(THREADS))))) == 1


def test_masks_do_not_leak_between_threads(registry, library, toy):
    library.define("f(Tensor x) -> str")
    for key in ("Tracer", "Batched", toy.key):
        library.impl("f", lambda x, key=str(key): key, key)
    array = toy.array([1])

    def masked(name):
        def work(go_on):
            while go_on():
                with dc.include_keys(name):
                    assert registry.ops.t.f(array) == name
                assert registry.ops.t.f(array) == "Toy"

        return work

    together(masked("Tracer"), masked("Batched"), *[masked("Tracer")] * (THREADS - 2))


def test_questions_can_be_asked_while_others_register(registry):
    def ask(go_on):
        while go_on():
            registry.kernel_count()
            list(registry)
            dir(registry.ops)
            dir(registry.ops.u)
            assert not registry.has_kernel("u::nothing", "CPU")

    def register(number):
        def work(go_on):
            while go_on():
                with dc.Library("u", "FRAGMENT", registry=registry) as library:
                    for index in range(5):
                        library.define(f"f{number}_{index}() -> ()")
                        library.impl(f"f{number}_{index}", lambda: None, "CPU")

        return work

    together(ask, ask, *map(register, range(THREADS - 2)))


def test_keys_registered_at_once_get_bits_of_their_own():
    def register(number):
        def work(go_on):
            return [dc.DispatchKey.register_backend(f"Raced{index}") for index in range(8)]

        return work

    answers = together(*map(register, range(THREADS)))
    assert all(answer == answers[0] for answer in answers)
    assert len({key.bit for key in answers[0]}) == 8
    ordered = list(dc.DispatchKey)
    assert len(ordered) == len(set(ordered))


def test_registries_come_and_go_while_tables_are_emptied():
    def make(go_on):
        while go_on():
            dc.Registry().register_kernel("t::f", "CPU", lambda: 0)

    def forget(go_on):
        while go_on():
            invalidate_everywhere()

    together(forget, *[make] * (THREADS - 1))
