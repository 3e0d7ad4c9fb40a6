"""Levels of registration: whose kernel wins, whatever the order of loading, registering, closing and failing."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatch_core as dc
from dispatch_core.bookkeeping.levels import Level
from dispatch_core.keys.table import DispatchKey

LEVELS = ["backend", "alternative", "program"]


@pytest.fixture
def f(registry, library):
    """An operator with an argument that specialized kernels may serve."""
    library.define("f(int x, *, int n=1) -> str")
    return registry.ops.t.f.default


@pytest.fixture
def g(registry, library, toy, f):
    """An operator on arrays with an overload for numbers, which its backend serves by itself."""
    library.define("g.Tensor(Tensor x, Tensor y) -> Tensor")
    library.define("g.Scalar(Tensor x, int y) -> Tensor")
    ops = registry.ops.t
    library.impl("g.Scalar", lambda x, y: ops.g.Tensor(x, toy.array(y)), "CompositeExplicitAutograd")
    library.give_way("g.Scalar", "g.Tensor", lambda x, y: ops.g.Tensor(x, toy.array(y)))
    with registry.transaction(level="backend"):
        backend = dc.Library("t", "IMPL", toy.key, registry=registry)
        backend.impl("g.Tensor", lambda x, y: toy.array([1]))
        backend.impl("g.Scalar", lambda x, y: toy.array([2]))
    return ops.g


def answering(answer):
    return lambda *args, **kwargs: answer


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["register", "close", "fail"]),
            st.sampled_from(LEVELS),
            st.sampled_from([None, 1, 2]),
            st.integers(0, 9),
        ),
        max_size=14,
    ),
    st.booleans(),
)
def test_the_highest_level_wins_and_within_it_the_newest(steps, interpreted):
    """A model of the rule: general kernels by level and time, and specialized ones that rank above the general winner."""
    registry = dc.Registry(interpreted=interpreted)
    library = dc.Library("t", "DEF", registry=registry)
    library.define("f(int x, *, int n=1) -> int")
    f = registry.ops.t.f.default
    held = []

    def register(level, only, number):
        with registry.transaction(level=level):
            made = dc.Library("t", "IMPL", "CPU", registry=registry)
            made.impl(f, answering(number), when=None if only is None else ("n", only))
        return made, Level.of(level), only, number

    with warnings.catch_warnings(action="ignore", category=dc.OverwriteWarning):
        for number, (what, level, only, which) in enumerate(steps):
            if what == "register":
                held.append(register(level, only, number))
            elif what == "close" and held:
                held.pop(which % len(held))[0].close()
            elif what == "fail":
                with pytest.raises(ZeroDivisionError), registry.transaction(level=level):
                    register(level, only, number)
                    1 / 0  # noqa: B018  # the block is to fail
            general = max(((lv, at) for _, lv, value, at in held if value is None), default=None)
            for n in (1, 2, 3):
                special = max(((lv, at) for _, lv, value, at in held if value == n), default=None)
                if general is None:
                    with pytest.raises(dc.NoKernelError):
                        f.redispatch("CPU", 0, n=n)
                    continue
                # A specialized kernel exists beside arrays only: an explicit keyset has a boundary, too.
                winner = max(found for found in (general, special) if found is not None)
                assert f.redispatch("CPU", 0, n=n) == winner[1]


def test_levels_move_no_kernel_between_slots(registry, f):
    """A program's composite takes nothing from a backend's own kernel."""
    registry.register_kernel("t::f", "CompositeExplicitAutograd", answering("program"))
    with registry.transaction(level="backend"):
        registry.register_kernel("t::f", "CPU", answering("backend"))
    assert f.redispatch("CPU", 0) == "backend"
    assert f.redispatch("CUDA", 0) == "program"


def test_a_library_keeps_the_level_at_which_it_was_opened(registry, f):
    with registry.transaction(level="backend"):
        backend = dc.Library("t", "IMPL", "CPU", registry=registry)
    registry.register_kernel("t::f", "CPU", answering("program"))
    backend.impl("f", answering("backend"), allow_override=True)
    assert f.redispatch("CPU", 0) == "program"
    with pytest.raises(KeyError), registry.transaction(level="user"):
        pass


@pytest.mark.parametrize("first", ["backend", "program"])
def test_the_warning_names_both_places_at_the_line_that_wins(registry, f, first):
    def backend():
        with registry.transaction(level="backend", distribution=("theirs", "1.0")):
            registry.register_kernel("t::f", "CPU", answering("backend"))

    def program():
        registry.register_kernel("t::f", "CPU", answering("program"))

    with warnings.catch_warnings(record=True, action="always") as caught:
        for each in (backend, program) if first == "backend" else (program, backend):
            each()
    (warning,) = caught
    assert warning.category is dc.OverwriteWarning
    places = [found.origin for found in registry.get("t::f").registrations(DispatchKey.CPU)]
    assert (warning.filename, warning.lineno) == (__file__, places[0].line)
    assert str(warning.message) == f"t::f has a kernel for CPU from {places[1]}; now comes one from {places[0]}"
    assert "theirs 1.0" in str(places[1])
    with warnings.catch_warnings(action="error"):
        registry.register_kernel("t::f", "CUDA", answering("program"), allow_override=True)
        with registry.transaction(level="backend"):
            registry.register_kernel("t::f", "CUDA", answering("backend"))


def test_a_general_kernel_that_hides_a_covered_one_says_so(registry, f):
    registry.register_kernel("t::f", "CPU", answering("covered"), when=("n", 1))
    with pytest.warns(dc.OverwriteWarning, match="t::f has a kernel for CPU from"):
        registry.register_kernel("t::f", "CPU", answering("general"))
    assert f.redispatch("CPU", 0) == "general"


def test_fallbacks_of_two_levels_stand_beside_each_other(registry, f):
    def fallback(answer):
        return lambda op, *args, **kwargs: answer

    own = registry.register_fallback("CUDA", fallback("program"))
    with registry.transaction(level="backend"):
        theirs = registry.register_fallback("CUDA", fallback("backend"))
        with pytest.raises(dc.RegistrationError, match="CUDA has a fallback already, registered at"):
            registry.register_fallback("CUDA", fallback("second"))
    assert f.redispatch("CUDA", 0) == "program"
    registry.remove_fallback(own)
    assert f.redispatch("CUDA", 0) == "backend"
    registry.remove_fallback(theirs)
    with pytest.raises(dc.NoKernelError):
        f.redispatch("CUDA", 0)


# A handle is the kernel of its time.


def test_a_handle_keeps_the_covered_kernels_of_its_time(registry, f):
    registry.register_kernel("t::f", "CPU", answering("general"))
    older = registry.register_kernel("t::f", "CPU", answering("covered"), when=("n", 1))
    before = dc.get_kernel(f, "CPU")
    patch = dc.Library("t", "IMPL", "CPU", registry=registry)
    patch.impl("f", lambda x, *, n: f"patched {before.call_boxed('CPU', x, n=n)}", allow_override=True)
    patch.impl("f", lambda x: f"patched {before.call_boxed('CPU', x, n=1)}", when=("n", 1), allow_override=True)
    assert [f.redispatch("CPU", 0, n=n) for n in (1, 2)] == ["patched covered", "patched general"]
    registry.remove_kernel(registry.get("t::f"), older)
    assert f.redispatch("CPU", 0, n=1) == "patched general"
    patch.close()
    assert [f.redispatch("CPU", 0, n=n) for n in (1, 2)] == ["general", "general"]


# Overloads with numbers give way.


def test_an_overload_with_a_number_gives_way_to_a_programs_kernel_for_tensors(registry, g, toy):
    x = toy.array([0])
    assert (g(x, x), g(x, 5)) == ([1], [2])
    with dc.Library("t", "IMPL", toy.key, registry=registry) as program:
        program.impl("g.Tensor", lambda x, y: toy.array([10 + y.a.size]), allow_override=True)
        assert (g(x, x), g(x, 5)) == ([11], [11])
        assert g.Scalar.redispatch(toy.key, x, 5) == [11]
        # Its own kernel of the same level stays.
        program.impl("g.Scalar", lambda x, y: toy.array([20]), allow_override=True)
        assert g(x, 5) == [20]
    assert (g(x, x), g(x, 5)) == ([1], [2])


@pytest.mark.parametrize("key", ["Autograd", None])
@pytest.mark.parametrize("autograd", [False, True])
def test_under_autograd_it_gives_way_where_that_is_said(registry, g, toy, key, autograd):
    way, entry = answering("way"), registry.get("t::g.Scalar")
    runtime = dc.DispatchKey[f"Autograd{toy.key.name}"]
    registry.give_way("t::g.Scalar", "t::g.Tensor", way, autograd=autograd)
    registry.register_kernel("t::g.Scalar", "Autograd", answering("formula"), level="backend")
    assert entry.computed_table()[runtime].kernel() == "formula"
    with dc.Library("t", "IMPL", key or runtime, registry=registry) as program:
        program.impl("g.Tensor", answering("theirs"))
        assert entry.computed_table()[runtime].kernel() == ("way" if autograd else "formula")
        program.impl("g.Scalar", answering("own"), allow_override=True)
        assert entry.computed_table()[runtime].kernel() == "own"
    assert entry.computed_table()[runtime].kernel() == "formula"


def test_giving_way_is_taken_back_with_its_library(registry, g, toy, library):
    x = toy.array([0])
    registry.register_kernel("t::g.Tensor", toy.key, lambda x, y: toy.array([3]), allow_override=True)
    assert g(x, 5) == [3]
    with dc.Library("t", "FRAGMENT", registry=registry) as other:
        other.give_way("g.Scalar", "g.Tensor", lambda x, y: toy.array([4]))
        assert g(x, 5) == [4]
    assert g(x, 5) == [3]  # the one before it is active again
    library.close()
    assert not registry.offers
