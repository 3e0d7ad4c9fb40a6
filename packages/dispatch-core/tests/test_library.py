"""Libraries: kinds, namespaces, decorators, and the registrations that closing takes back."""

from __future__ import annotations

import gc

import pytest

import dispatch_core as dc


def test_define_returns_the_full_name_and_attaches_tags(registry, library):
    assert library.define("f.int(int x) -> int", tags=("pointwise", "view")) == "t::f.int"
    assert library.define("t::g(int x) -> int", tags="pointwise") == "t::g"
    assert registry.ops.t.f.int.tags == {"pointwise", "view"}
    assert registry.ops.t.g.default.tags == {"pointwise"}


def test_define_refuses_another_namespace_and_bad_text(registry, library):
    with pytest.raises(dc.SchemaError, match="u::f is in another namespace than its library, 't'"):
        library.define("u::f(int x) -> int")
    with pytest.raises(dc.SchemaError):
        library.define("f(int x")
    assert not registry.entries


@pytest.mark.parametrize("schema", [None, 3, b"f(Tensor x) -> Tensor"])
def test_define_refuses_what_is_no_schema(library, schema):
    with pytest.raises(dc.DispatchError, match="takes a schema as text or a FunctionSchema") as caught:
        library.define(schema)
    assert isinstance(caught.value, TypeError)


def test_an_operator_is_defined_once(registry, library):
    library.define("f(int x) -> int")
    with pytest.raises(dc.RegistrationError) as caught:
        dc.Library("t", "FRAGMENT", registry=registry).define("f(int x) -> int")
    text = str(caught.value)
    assert text.startswith(f"t::f is defined already, at {__file__}:")
    assert f"the second definition is at {__file__}:" in text


def test_a_namespace_has_one_def_library(registry):
    first = dc.Library("t", "DEF", registry=registry)
    with pytest.raises(dc.RegistrationError, match="namespace 't' has a DEF library already, opened at") as caught:
        dc.Library("t", "DEF", registry=registry)
    assert caught.value.hint == "open a FRAGMENT to define more operators in it"
    dc.Library("t", "FRAGMENT", registry=registry).define("f() -> ()")
    dc.Library("t", "DEF", registry=dc.Registry())
    first.close()
    dc.Library("t", "DEF", registry=registry)


def test_a_registry_that_is_gone_leaves_no_claim_behind():
    for _ in range(8):
        dc.Library("t", "DEF", registry=dc.Registry())
        gc.collect()


def test_an_impl_library_cannot_define(registry):
    library = dc.Library("t", "IMPL", registry=registry)
    with pytest.raises(dc.RegistrationError, match="library 't' is of kind IMPL and cannot define 'f'"):
        library.define("f(int x) -> int")


@pytest.mark.parametrize("namespace", ["", "a b", "1x", "a::b", "ä"])
def test_what_is_no_namespace_is_refused(namespace):
    with pytest.raises(dc.RegistrationError, match="is not a namespace"):
        dc.Library(namespace, "FRAGMENT", registry=dc.Registry())


def test_an_unknown_kind_is_refused():
    with pytest.raises(dc.RegistrationError, match="'BOTH' is no kind of library"):
        dc.Library("t", "BOTH", registry=dc.Registry())


def test_impl_is_a_decorator_too(registry, library):
    library.define("f(int x) -> int")

    @library.impl("f")
    def f(x):
        return x + 1

    assert f(1) == registry.ops.t.f(1) == 2


def test_the_key_is_the_librarys_or_composite(registry, library):
    library.define("f(int x) -> str")
    dc.Library("t", "IMPL", "CPU", registry=registry).impl("f", lambda x: "cpu")
    library.impl("f", lambda x: "composite")
    entry = registry.get("t::f")
    assert {key.name for key in entry.kernels} == {"CPU", "CompositeImplicitAutograd"}


def test_impl_takes_a_name_with_or_without_namespace_or_an_overload(registry, library):
    library.define("f.a(int x) -> int")
    library.impl("f.a", lambda x: 1, "CPU")
    library.impl("t::f.a", lambda x: 2, "Meta")
    library.impl(registry.ops.t.f.a, lambda x: 3, "NPU")
    assert [registry.call_direct("t::f.a", key, 0) for key in ("CPU", "Meta", "NPU")] == [1, 2, 3]
    with pytest.raises(dc.RegistrationError, match="library 't' cannot register a kernel for u::f"):
        library.impl("u::f", lambda x: x)


def test_fallbacks_belong_to_the_namespace_of_all(registry, library):
    with pytest.raises(dc.RegistrationError, match="library 't' cannot register a fallback"):
        library.fallback(lambda op: 0, "Tracer")
    everything = dc.Library("_", "IMPL", "Tracer", registry=registry)
    everything.fallback(lambda op, *args: "fallback")
    with pytest.raises(dc.RegistrationError, match="Tracer has a fallback already, registered at") as caught:
        dc.Library("_", "IMPL", registry=registry).fallback(lambda op: 0, "Tracer")
    assert caught.value.hint == "close the library that registered the first"
    everything.close()
    dc.Library("_", "IMPL", registry=registry).fallback(lambda op: 0, "Tracer")
    with pytest.raises(dc.RegistrationError, match="a fallback needs a dispatch key"):
        dc.Library("_", "IMPL", registry=registry).fallback(lambda op: 0)
    with pytest.raises(dc.RegistrationError, match="a fallback cannot be registered for the alias key Autograd"):
        dc.Library("_", "IMPL", registry=registry).fallback(lambda op: 0, "Autograd")
    with pytest.raises(dc.RegistrationError, match="kind IMPL"):
        dc.Library("_", "FRAGMENT", registry=registry)


def test_closing_takes_everything_back(registry):
    with dc.Library("t", "DEF", registry=registry) as library:
        library.define("f(int x) -> int")
        library.impl("f", lambda x: x)
        with dc.Library("_", "IMPL", registry=registry) as everything:
            everything.fallback(lambda op, *args: 0, "Tracer")
        assert not registry.fallbacks
    assert not registry.entries
    assert not registry.packets
    library.close()
    with pytest.raises(dc.RegistrationError, match=r"library 't', opened at .* is closed"):
        library.define("g() -> ()")
    with pytest.raises(dc.RegistrationError, match="is closed"):
        library.impl("g", lambda: 0)


def test_an_error_in_the_block_closes_the_library(registry):
    with pytest.raises(ZeroDivisionError), dc.Library("t", "DEF", registry=registry) as library:
        library.define("f(int x) -> int")
        1 / 0  # noqa: B018  # the block is to fail
    assert not registry.entries


def test_kernels_are_a_stack_and_closing_restores_the_older(registry, library):
    library.define("f(int x) -> int")
    library.impl("f", lambda x: 1)
    op = registry.ops.t.f.default
    layers = []
    for number in (2, 3):
        layers.append(dc.Library("t", "IMPL", registry=registry))
        with pytest.warns(dc.OverwriteWarning):
            layers[-1].impl("f", lambda x, number=number: number)
        assert op(0) == number
    layers[0].close()
    assert op(0) == 3
    layers[1].close()
    assert op(0) == 1


def test_overwriting_warns_with_both_places_at_the_line_that_overwrites(registry, library):
    library.define("f(int x) -> int")
    library.impl("f", lambda x: 1, "CPU")
    with pytest.warns(dc.OverwriteWarning) as caught:
        library.impl("f", lambda x: 2, "CPU")
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith(f"t::f has a kernel for CPU from {__file__}:")
    assert text.count(__file__) == 2
    assert warning.filename == __file__
    assert text.endswith(f":{warning.lineno}")
    assert issubclass(dc.OverwriteWarning, UserWarning)


def test_a_warning_that_is_an_error_changes_nothing(registry, library):
    library.define("f(int x) -> int")
    library.impl("f", lambda x: 1, "CPU")
    with pytest.raises(dc.OverwriteWarning):
        library.impl("f", lambda x: 2, "CPU")
    assert registry.call_direct("t::f", "CPU", 0) == 1
    assert len(registry.get("t::f").registrations(dc.DispatchKey.CPU)) == 1


def test_kernels_of_another_library_keep_an_operator_without_schema(registry):
    vendor = dc.Library("t", "IMPL", "CPU", registry=registry)
    with dc.Library("t", "DEF", registry=registry) as library:
        library.define("f(int x) -> int", tags="pointwise")
        vendor.impl("f", lambda x: x + 1)
    entry = registry.get("t::f")
    assert entry.schema is None
    assert entry.tags == frozenset()
    assert registry.redispatch("t::f", "CPU", "unchecked" and 1) == 2
    vendor.close()
    with pytest.raises(dc.OperatorNotFoundError):
        registry.get("t::f")


def test_handles_of_a_closed_operator_say_so(registry):
    with dc.Library("t", "DEF", registry=registry) as library:
        library.define("f(Tensor? x=None) -> int")
        library.impl("f", lambda x: 1)
        packet, op = registry.ops.t.f, registry.ops.t.f.default
        assert packet() == op() == 1
    for call in (op, lambda: op.redispatch(0), lambda: op.redispatch("CPU"), lambda: op(None)):
        with pytest.raises(dc.ClosedOperatorError) as caught:
            call()
        assert str(caught.value).startswith(
            "t::f is gone: the library that defined it was closed\nHint: keep the Library"
        )
    for call in (packet, lambda: packet(None), lambda: packet.redispatch("CPU")):
        with pytest.raises(dc.ClosedOperatorError, match="t::f is gone: the library that defined it was closed"):
            call()
    with pytest.raises(AttributeError):
        registry.ops.t.f  # noqa: B018  # the look-up is the test


def test_packets_and_attributes_work_after_an_operator_is_defined_again(registry):
    library = dc.Library("t", "DEF", registry=registry)
    library.define("f.a(int x) -> str")
    library.define("f.b(str x) -> str")
    library.impl("f.a", lambda x: "old a")
    library.impl("f.b", lambda x: "old b")
    namespace, packet, op = registry.ops.t, registry.ops.t.f, registry.ops.t.f.a
    assert (packet(1), packet("x"), op(1)) == ("old a", "old b", "old a")
    library.close()
    again = dc.Library("t", "DEF", registry=registry)
    again.define("f.c(int x) -> str")
    again.define("f.d(float x) -> str")
    again.impl("f.c", lambda x: "new c")
    again.impl("f.d", lambda x: "new d")
    assert packet is registry.ops.t.f is namespace.f
    assert (packet(1), packet(1.5)) == ("new c", "new d")
    assert packet.overloads() == ["c", "d"]
    assert vars(packet) == {} and packet.c is packet.c is registry.get("t::f.c").op
    with pytest.raises(dc.OperatorNotFoundError):
        packet.overload = packet.a
    with pytest.raises(dc.ClosedOperatorError):
        op(1)


def test_a_handle_follows_a_schema_that_is_taken_back_and_given_again(registry):
    """A vendor's kernel keeps the operator alive, so the handle stays good for the next definition."""
    dc.Library("t", "IMPL", "CompositeImplicitAutograd", registry=registry).impl(
        "f", lambda *args, **kwargs: (args, kwargs)
    )
    first = dc.Library("t", "DEF", registry=registry)
    first.define("f(int x, int y=2) -> Any")
    op = registry.ops.t.f.default
    assert op(1) == ((1, 2), {})
    first.close()
    assert op("anything", z=1) == (("anything",), {"z": 1})
    assert op.schema is None
    second = dc.Library("t", "DEF", registry=registry)
    second.define("f(int x, *, str z='w') -> Any")
    assert op(1) == ((1,), {"z": "w"})
    with pytest.raises(TypeError):
        op("anything")
    first.close()
    assert str(op.schema).startswith("t::f(int x, *, str z=")


def test_a_library_says_what_it_is(library):
    library.define("f() -> ()")
    assert repr(library) == "<Library 't' DEF, 2 registrations>"
