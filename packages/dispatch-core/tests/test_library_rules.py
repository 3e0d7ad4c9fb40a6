"""The life of registrations, scenario by scenario, as torch's own tests tell it; and where ours are stricter."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import dispatch_core as dc
from dispatch_core.keys.table import DispatchKey

COMPOSITES = [key.name for key in DispatchKey if key.name.startswith("Composite")]


@pytest.fixture
def f(registry, library):
    """An operator of an int, which any explicit keyset can be tried on."""
    library.define("f(int x) -> str")
    return registry.ops.t.f.default


def kernel(answer):
    return lambda *args: answer


# Kinds and names of libraries.


@pytest.mark.parametrize("kind", ["DEF", "FRAGMENT"])
def test_a_reserved_namespace_is_refused(registry, kind):
    with pytest.raises(dc.RegistrationError, match="namespace 'prim' is reserved"):
        dc.Library("prim", kind, registry=registry)
    assert dc.Library("prim", "IMPL", registry=registry).ns == "prim"
    assert not registry.definitions


def test_fragments_stand_alone_and_beside_a_def(registry):
    first, second = (dc.Library("t", "FRAGMENT", registry=registry) for _ in range(2))
    first.define("f(int x) -> int")
    second.define("g(int x) -> int")
    with dc.Library("t", "DEF", registry=registry) as owner:
        owner.define("h(int x) -> int")
        assert [entry.name for entry in registry] == ["t::f", "t::g", "t::h"]
    first.close()
    assert [entry.name for entry in registry] == ["t::g"]


def test_a_second_def_names_both_places(registry):
    dc.Library("t", "DEF", registry=registry)
    with pytest.raises(dc.RegistrationError) as caught:
        dc.Library("t", "DEF", registry=registry)
    assert str(caught.value).count(f"{__file__}:") == 2


def test_a_library_with_a_key_registers_under_no_other(registry, f):
    library = dc.Library("t", "IMPL", "CPU", registry=registry)
    library.impl("f", kernel("cpu"))
    with pytest.raises(dc.RegistrationError, match="library 't' is for the key CPU and cannot register under Meta"):
        library.impl("f", kernel("meta"), "Meta")
    library.close()
    library = dc.Library("t", "IMPL", "CPU", registry=registry)
    library.impl("f", kernel("cpu"), "CPU")
    assert f.redispatch("CPU", 1) == "cpu"
    with pytest.raises(dc.RegistrationError, match="library '_' is for the key Tracer and cannot register under CPU"):
        dc.Library("_", "IMPL", "Tracer", registry=registry).fallback(kernel(0), "CPU")


def test_what_is_not_callable_is_refused_and_leaves_nothing(registry):
    library = dc.Library("t", "IMPL", registry=registry)
    for attempt in (
        lambda: library.impl("f", 3),
        lambda: dc.Library("_", "IMPL", registry=registry).fallback(3, "CPU"),
    ):
        with pytest.raises(dc.ArgumentError, match="is not callable: int"):
            attempt()
    assert not registry.entries
    assert not registry.fallbacks


# Definitions and kernels in any order.


def test_a_kernel_may_come_before_the_definition(registry):
    vendor = dc.Library("t", "IMPL", "CPU", registry=registry)
    vendor.impl("f", kernel("cpu"))
    assert registry.get("t::f").schema is None
    with dc.Library("t", "DEF", registry=registry) as library:
        library.define("f(int x) -> str")
        assert registry.ops.t.f.default.redispatch("CPU", 1) == "cpu"
        with pytest.raises(TypeError):
            registry.ops.t.f.default.redispatch("CPU", "no int")
    assert registry.get("t::f").schema is None
    vendor.close()
    assert not registry.entries


def test_defining_twice_changes_nothing(registry, library, f):
    library.impl("f", kernel("old"), "CPU")
    with pytest.raises(dc.RegistrationError, match="t::f is defined already"):
        library.define("f(str x) -> str", tags="other")
    assert (str(f.schema), f.tags, f.redispatch("CPU", 1)) == ("t::f(int x) -> str", frozenset(), "old")
    library.close()
    with pytest.raises(dc.ClosedOperatorError):
        f(1)


@pytest.mark.parametrize("text", ["g(int x", "g(int x) -> int, int", "u::g(int x) -> int", "g(int x=1, int y) -> int"])
def test_a_definition_that_fails_leaves_nothing_behind(registry, library, text):
    with pytest.raises(dc.SchemaError):
        library.define(text)
    assert not registry.entries
    assert not registry.packets
    library.close()
    assert not registry.definitions


def test_an_error_half_way_leaves_nothing_behind(registry):
    def register():
        library = dc.Library("t", "DEF", registry=registry)
        library.define("f(int x) -> str")
        library.impl("f", kernel("cpu"), "CPU")
        dc.Library("_", "IMPL", registry=registry).fallback(kernel("fallback"), "Tracer")
        library.impl("f", kernel("oops"), "NoSuchKey")

    with pytest.raises(dc.DispatchKeyError), registry.transaction():
        register()
    assert (registry.entries, registry.packets, registry.fallbacks, registry.definitions) == ({}, {}, {}, {})


# Stacks of kernels.


def test_taking_an_older_kernel_back_leaves_the_newest(registry, f):
    layers = []
    for name in "abc":
        layers.append(dc.Library("t", "IMPL", "CPU", registry=registry))
        layers[-1].impl("f", kernel(name), allow_override=True)
    assert f.redispatch("CPU", 1) == "c"
    layers[1].close()
    assert f.redispatch("CPU", 1) == "c"
    layers[2].close()
    assert f.redispatch("CPU", 1) == "a"
    layers[0].close()
    with pytest.raises(dc.NoKernelError):
        f.redispatch("CPU", 1)


def test_an_override_can_be_announced_or_forbidden(registry, f):
    first = dc.Library("t", "IMPL", "CPU", registry=registry)
    first.impl("f", kernel("first"), allow_override=False)
    second = dc.Library("t", "IMPL", "CPU", registry=registry)
    with pytest.raises(dc.RegistrationError, match=r"t::f has a kernel for CPU from .*; now comes one from"):
        second.impl("f", kernel("second"), allow_override=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second.impl("f", kernel("second"), allow_override=True)
    with pytest.warns(dc.OverwriteWarning):
        second.impl("f", kernel("third"))
    # The kernels that are there count, not those that were registered under that name once.
    second.close()
    with pytest.raises(dc.RegistrationError):
        second_again = dc.Library("t", "IMPL", "CPU", registry=registry)
        second_again.impl("f", kernel("second"), allow_override=False)
    first.close()
    second_again.impl("f", kernel("second"), allow_override=False)
    assert f.redispatch("CPU", 1) == "second"


def test_every_overwriting_warns_with_the_kernel_that_it_replaces(registry, f):
    library = dc.Library("t", "IMPL", "CPU", registry=registry)
    library.impl("f", kernel(1))
    for number in (2, 3):
        line = registry.get("t::f").newest(DispatchKey.CPU).origin.line
        with pytest.warns(dc.OverwriteWarning, match=f"has a kernel for CPU from .*:{line};"):
            library.impl("f", kernel(number))


def test_two_libraries_override_different_operators_and_keys(registry, library, f):
    library.define("g(int x) -> str")
    library.impl("f", kernel("f"), "CPU")
    library.impl("g", kernel("g"), "CPU")
    first, second = (dc.Library("t", "IMPL", registry=registry) for _ in range(2))
    first.impl("f", kernel("first"), "CPU", allow_override=True)
    second.impl("g", kernel("second"), "CPU", allow_override=True)
    second.impl("f", kernel("second"), "Meta")
    first.close()
    assert (f.redispatch("CPU", 1), f.redispatch("Meta", 1)) == ("f", "second")
    assert registry.ops.t.g.redispatch("CPU", 1) == "second"
    second.close()
    assert registry.ops.t.g.redispatch("CPU", 1) == "g"
    with pytest.raises(dc.NoKernelError):
        f.redispatch("Meta", 1)


# Alias keys.


@pytest.mark.parametrize("alias", COMPOSITES)
def test_alias_keys_serve_their_members(registry, library, f, alias):
    library.impl("f", kernel(alias), alias)
    entry = registry.get("t::f")
    served = {key.name for key, slot in entry.computed_table().items() if slot.kernel is not None}
    assert served
    for key in ("CPU", "Meta", "SparseCPU", "AutogradCPU", "NestedTensorCPU"):
        if key in served:
            assert f.redispatch(key, 1) == alias
    assert ("CPU" in served) == (alias != "CompositeImplicitAutogradNestedTensor")
    assert ("SparseCPU" in served) == (alias in ("CompositeImplicitAutograd", "CompositeExplicitAutograd"))
    assert ("AutogradCPU" in served) == (alias == "CompositeImplicitAutograd")


def test_the_order_among_the_aliases(registry, f):
    def layer(name):
        library = dc.Library("t", "IMPL", registry=registry)
        library.impl("f", kernel(name), name)
        return library

    held = {}
    for name in (
        "CompositeImplicitAutograd",
        "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional",
        "CPU",
    ):
        held[name] = layer(name)
        assert f.redispatch("CPU", 1) == name
    assert f.redispatch("SparseCPU", 1) == "CompositeExplicitAutograd"
    for name in reversed(held):
        assert f.redispatch("CPU", 1) == name
        held[name].close()


@pytest.mark.parametrize("alias", [*COMPOSITES, "Autograd", "FuncTorchBatchedDecomposition"])
def test_fallbacks_on_alias_keys_are_refused(registry, alias):
    with pytest.raises(dc.RegistrationError, match=f"cannot be registered for the alias key {alias}"):
        dc.Library("_", "IMPL", registry=registry).fallback(kernel(0), alias)
    assert not registry.fallbacks


# Fallbacks.


@pytest.fixture
def everything(registry):
    return dc.Library("_", "IMPL", registry=registry)


def test_a_fallback_gets_the_operator_and_every_argument(registry, library, everything):
    library.define("g(int x, str y='a', *, float z=0.5) -> Any")
    library.define("make(int n, *, Device? device=None) -> Any")
    everything.fallback(lambda op, *args, **kwargs: (op, args, kwargs), "Tracer")
    g, make = registry.ops.t.g.default, registry.ops.t.make.default
    with dc.include_keys("Tracer"):
        assert g(1) == (g, (1, "a"), {"z": 0.5})
        assert make(2, device="cpu") == (make, (2,), {"device": dc.Device("cpu")})
    everything.close()
    with dc.include_keys("Tracer"), pytest.raises(dc.NoKernelError):
        g(1)


def test_a_fallback_with_a_keyset_reaches_the_next_one(registry, f, everything):
    seen = []

    def layer(keyset, op, *args):
        seen.append(keyset.highest().name)
        return op.redispatch(keyset - keyset.highest(), *args)

    everything.fallback(layer, "Tracer", with_keyset=True)
    everything.fallback(layer, "Functionalize", with_keyset=True)
    everything.fallback(kernel("bottom"), "CPU")
    assert f.redispatch(["Tracer", "Functionalize", "CPU"], 1) == "bottom"
    assert seen == ["Tracer", "Functionalize"]


def test_a_fallthrough_fallback_is_passed_over(registry, f, everything):
    everything.fallback(dc.fallthrough_kernel, "Tracer")
    everything.fallback(kernel("next"), "Functionalize")
    assert f.redispatch(["Tracer", "Functionalize", "CPU"], 1) == "next"


def test_a_fallthrough_for_one_operator_turns_a_layer_off_for_it(registry, library, f, everything):
    library.define("g(int x) -> str")
    for name in "fg":
        library.impl(name, kernel("cpu"), "CPU")
    everything.fallback(kernel("autocast"), "AutocastCPU")
    keyset = ["AutocastCPU", "CPU"]
    with dc.Library("t", "IMPL", registry=registry) as patch:
        patch.impl("f", dc.fallthrough_kernel, "AutocastCPU")
        assert (f.redispatch(keyset, 1), registry.ops.t.g.redispatch(keyset, 1)) == ("cpu", "autocast")
    assert f.redispatch(keyset, 1) == "autocast"


def test_a_composite_comes_before_a_backends_fallback(library, f, everything):
    everything.fallback(kernel("fallback"), "CPU")
    assert f.redispatch("CPU", 1) == "fallback"
    library.impl("f", kernel("composite"))
    assert f.redispatch("CPU", 1) == "composite"


def test_a_fallback_serves_operators_that_come_later(registry, library, everything):
    everything.fallback(kernel("fallback"), "CPU")
    library.define("late(int x) -> str")
    assert registry.ops.t.late.redispatch("CPU", 1) == "fallback"


# Masks, keysets, results.


def test_an_included_meta_key_beats_a_device(registry, library, toy):
    library.define("g(Tensor x) -> str")
    library.impl("g", kernel("toy"), toy.key)
    library.impl("g", kernel("meta"), "Meta")
    with dc.include_keys("Meta"):
        assert registry.ops.t.g(toy.array([1])) == "meta"
        library.impl("g", dc.fallthrough_kernel, toy.key, allow_override=True)
        assert registry.ops.t.g(toy.array([1])) == "meta"


def test_keysets_are_equal_by_their_keys_and_travel():
    keyset = dc.DispatchKeySet(["CPU", "AutogradCPU"])
    assert pickle.loads(pickle.dumps(keyset)) == copy.deepcopy(keyset) == dc.DispatchKeySet("CPU") | "AutogradCPU"
    assert keyset != dc.DispatchKeySet("CPU")


def test_a_second_library_adds_a_kernel_for_a_functionality(registry, library, f):
    library.impl("f", kernel("cpu"), "CPU")
    second = dc.Library("t", "IMPL", "ZeroTensor", registry=registry)
    second.impl("f", kernel("zero"))
    assert f.redispatch(["ZeroTensor", "CPU"], 1) == "zero"
    second.close()
    assert f.redispatch(["ZeroTensor", "CPU"], 1) == "cpu"


def test_an_operator_may_return_a_symbolic_int(registry, library):
    library.define("size(SymInt x) -> SymInt")
    library.impl("size", lambda x: x + 1)
    assert registry.ops.t.size(2) == 3


# Handles of operators that are gone.


def test_every_handle_of_a_closed_operator_says_so(registry):
    library = dc.Library("t", "DEF", registry=registry)
    library.define("f.a(int x) -> int")
    library.define("f.b(str x) -> int")
    packet, op = registry.ops.t.f, registry.ops.t.f.a
    library.close()
    for call in (packet, op, lambda x: packet.redispatch("CPU", x), lambda x: op.redispatch("CPU", x)):
        with pytest.raises(dc.ClosedOperatorError, match="is gone: the library that defined it was closed"):
            call(1)
    for name in ("t::f", "t::f.a"):
        with pytest.raises(dc.OperatorNotFoundError):
            registry.dispatch(name, 1)
    with pytest.raises(AttributeError):
        packet.a  # noqa: B018  # the look-up is the test
    assert not hasattr(registry.ops.t, "f")


def test_a_packet_lives_on_with_the_overloads_that_are_left(registry):
    first, second = (dc.Library("t", "FRAGMENT", registry=registry) for _ in range(2))
    first.define("f.a(int x) -> str")
    second.define("f.b(str x) -> str")
    second.impl("f.b", kernel("b"))
    packet = registry.ops.t.f
    first.close()
    assert packet("x") == "b"
    with pytest.raises(TypeError):
        packet(1)
    second.close()
    with pytest.raises(dc.ClosedOperatorError):
        packet("x")
