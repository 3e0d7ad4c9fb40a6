"""The registry: names, registration in any order, questions, and calls by name."""

from __future__ import annotations

import pytest

import dispatch_core as dc
from dispatch_core import DispatchKey, FunctionSchema
from dispatch_core.operators.operator_index import parse_name


def test_a_bare_name_means_aten(registry):
    registry.register_schema("add", "add(int x) -> int")
    registry.register_kernel("add", "CompositeImplicitAutograd", lambda x: x + 1)
    assert registry.get("add") is registry.get("aten::add")
    assert registry.dispatch("add", 1) == registry.dispatch("aten::add", 1) == registry.ops.aten.add(1) == 2
    assert registry.has_kernel("aten::add", "CompositeImplicitAutograd")


@pytest.mark.parametrize(
    ("given", "full"),
    [
        ("add", "aten::add"),
        ("add.Tensor", "aten::add.Tensor"),
        ("t::f", "t::f"),
        ("t::f.default", "t::f"),
        ("f.default", "aten::f"),
    ],
)
def test_names_are_read(given, full):
    assert str(parse_name(given)) == full


@pytest.mark.parametrize("bad", ["", "a::b::c", "a b", "t::", "::f", "t::f.", "1f"])
def test_a_malformed_name_is_refused(registry, bad):
    with pytest.raises(dc.SchemaError, match="is not an operator's name"):
        registry.register_kernel(bad, "CPU", lambda: 0)
    assert not registry.entries


def test_a_schemas_text_may_leave_the_namespace_out_but_not_differ(registry):
    registry.register_schema("t::f.a", "f.a(int x) -> int")
    registry.register_schema("t::g", "t::g(int x) -> int")
    registry.register_schema("t::h", FunctionSchema.parse("h(int x) -> int"))
    assert [str(registry.get(name).schema.name) for name in ("t::f.a", "t::g", "t::h")] == ["t::f.a", "t::g", "t::h"]
    for name, text in [
        ("t::k", "u::k() -> ()"),
        ("t::k", "l() -> ()"),
        ("t::k", "k.a() -> ()"),
        ("t::k.a", "k() -> ()"),
    ]:
        with pytest.raises(dc.SchemaError, match=f"the schema registered for {name} is named"):
            registry.register_schema(name, text)
        assert "t::k" not in registry.packets
    with pytest.raises(dc.SchemaError):
        registry.register_schema("t::k", "k(")


def test_a_kernel_without_schema_is_called_unchecked(registry, toy):
    registry.register_kernel("t::f", "CompositeImplicitAutograd", lambda *args, **kwargs: (args, kwargs))
    assert registry.get("t::f").schema is None
    assert registry.dispatch("t::f", 1, "x", y=None) == ((1, "x"), {"y": None})
    registry.register_kernel("t::g", toy.key, lambda *args, **kwargs: (args, kwargs))
    array = toy.array([1])
    assert registry.dispatch("t::g", [array], y=1) == (([array],), {"y": 1})


def test_a_later_schema_attaches(registry):
    registry.register_kernel("t::f", "CompositeImplicitAutograd", lambda x, y: (x, y))
    op = registry.ops.t.f.default
    assert op("anything", y=1) == ("anything", 1)
    registry.register_schema("t::f", "f(int x, int y=5) -> Any")
    assert op(1) == (1, 5)
    with pytest.raises(dc.ArgumentError):
        op("anything")
    with pytest.raises(dc.RegistrationError, match="t::f is defined already"):
        registry.register_schema("t::f", "f(int x) -> Any")


def test_an_entry_has_name_schema_kernels_and_fallthrough(registry):
    kernel = lambda x: x
    registry.register_schema("t::f", "f(int x) -> int")
    registry.register_kernel("t::f", "CPU", kernel)
    registry.register_fallthrough("t::f", "Tracer")
    entry = registry.get("t::f")
    assert (entry.name, str(entry.schema)) == ("t::f", "t::f(int x) -> int")
    assert entry.kernels == {DispatchKey.CPU: kernel}
    assert entry.fallthrough == {DispatchKey.Tracer}
    assert repr(entry) == "<OperatorEntry t::f: Tracer, CPU>"
    assert isinstance(entry, dc.OperatorEntry)


def test_has_kernel_means_one_of_its_own(registry):
    registry.register_kernel("t::f", "CPU", lambda: 0)
    registry.register_kernel("t::f", "CompositeExplicitAutograd", lambda: 0)
    registry.register_fallthrough("t::f", "Tracer")
    asked = ("CPU", "CompositeExplicitAutograd", "Meta", "Tracer")
    assert [registry.has_kernel("t::f", key) for key in asked] == [True, True, False, False]
    assert not registry.has_kernel("t::unknown", "CPU")
    with pytest.raises(dc.DispatchKeyError):
        registry.has_kernel("t::unknown", "Nothing")


def test_a_name_without_overload_answers_for_the_union(registry):
    registry.register_schema("t::f.a", "f.a(int x) -> int")
    registry.register_kernel("t::f.a", "CPU", lambda x: x)
    registry.register_fallthrough("t::f.a", "Meta")
    registry.register_kernel("t::f.b", "Meta", lambda x: x)
    union = registry.get("t::f")
    assert {key.name for key in union.kernels} == {"CPU", "Meta"}
    assert registry.has_kernel("t::f", "CPU")
    assert registry.has_kernel("t::f", "Meta")
    assert not registry.has_kernel("t::f", "NPU")
    assert union.computed_table()[DispatchKey.CPU].rule == "kernel"
    for missing in ("t::f.c", "t::f.default"):
        with pytest.raises(dc.OperatorNotFoundError, match=f"operator t::f has no overload '{missing[5:]}'") as caught:
            registry.get(missing)
        assert caught.value.hint == "its overloads are a, b"


def test_kernel_count_counts_active_kernels(registry):
    assert registry.kernel_count() == 0
    registry.register_kernel("t::f", "CPU", lambda: 0)
    registry.register_kernel("t::f.a", "CPU", lambda: 0)
    registry.register_fallthrough("t::f", "Tracer")
    with pytest.warns(dc.OverwriteWarning):
        registry.register_kernel("t::f", "CPU", lambda: 1)
    assert registry.kernel_count() == 2
    assert [entry.name for entry in registry] == ["t::f", "t::f.a"]


def test_an_unknown_operator_is_told_with_the_nearest_ones(registry):
    registry.register_kernel("t::relu", "CPU", lambda: 0)
    for ask in (lambda: registry.get("t::rellu"), lambda: registry.dispatch("t::rellu"), lambda: registry.ops.t.rellu):
        with pytest.raises(dc.OperatorNotFoundError) as caught:
            ask()
        assert str(caught.value) == "no operator is named t::rellu\nHint: did you mean t::relu?"
        assert isinstance(caught.value, LookupError)
        assert isinstance(caught.value, AttributeError)
    with pytest.raises(dc.OperatorNotFoundError, match="namespaces with operators: t"):
        registry.get("unlike::anything")


def test_registries_are_apart(toy):
    first, second = dc.Registry(), dc.Registry()
    for number, each in enumerate((first, second)):
        each.register_kernel("t::f", toy.key, lambda x, number=number: number)
    array = toy.array([1])
    for number, each in enumerate((first, second)):
        assert each.dispatch("t::f", array) == number
        assert each.ops.t.f(array) == number
        assert each.dispatch_with_keyset("t::f", toy.key, array) == number
        assert each.redispatch("t::f", toy.key, array) == number
        assert each.call_direct("t::f", toy.key, array) == number
    assert "t::f" not in dc.registry.entries


def test_the_processs_functions_are_its_registrys():
    assert dc.ops is dc.registry.ops
    assert dc.dispatch == dc.registry.dispatch
    assert dc.dispatch_with_keyset == dc.registry.dispatch_with_keyset
    assert dc.redispatch == dc.registry.redispatch
    assert dc.call_direct == dc.registry.call_direct


def test_dispatch_chooses_the_overload_by_the_arguments(registry, toy):
    for text in ("f.Tensor(Tensor x) -> str", "f.int(int x) -> str", "f(str x) -> str"):
        name = text.partition("(")[0]
        registry.register_schema(f"t::{name}", text)
        registry.register_kernel(f"t::{name}", "CompositeImplicitAutograd", lambda x, name=name: name)
    for value, overload in [(toy.array([1]), "f.Tensor"), (1, "f.int"), ("x", "f")]:
        assert registry.dispatch("t::f", value) == overload
        assert registry.redispatch("t::f", 0, value) == overload
        assert registry.dispatch_with_keyset("t::f", 0, value) == overload
        assert registry.call_direct("t::f", "CompositeImplicitAutograd", value) == overload
    assert registry.dispatch("t::f.int", 1) == "f.int"
    assert registry.dispatch("t::f.default", "x") == "f"
    with pytest.raises(dc.ArgumentError):
        registry.dispatch("t::f.default", 1)
    with pytest.raises(dc.NoMatchingOverloadError):
        registry.dispatch("t::f", 1.5)


def test_call_direct_bypasses_priority(registry, library):
    library.define("f(int x, *, int y=1) -> str")
    for key in ("CPU", "Meta", "AutogradCPU"):
        library.impl("f", lambda x, *, y, key=key: f"{key} {x} {y}", key)
    with dc.exclude_keys("CPU"), dc.include_keys("Meta"):
        assert registry.call_direct("t::f", "CPU", 2) == "CPU 2 1"
    assert registry.call_direct("t::f", DispatchKey.AutogradCPU, x=2, y=3) == "AutogradCPU 2 3"


def test_call_direct_needs_a_kernel_of_that_key(registry, library):
    library.define("f(int x) -> int")
    library.impl("f", lambda x: x, "CPU")
    library.impl("f", dc.fallthrough_kernel, "Tracer")
    registry.register_fallback("Python", lambda op, *args: 0)
    for key in ("Meta", "Tracer", "Python"):
        with pytest.raises(dc.NoKernelError) as caught:
            registry.call_direct("t::f", key, 1)
        assert str(caught.value).startswith(
            f"t::f has no kernel registered under {key}\nHint: kernels are registered under CPU ("
        )
    with pytest.raises(dc.ArgumentError):
        registry.call_direct("t::f", "CPU", "x")
    with pytest.raises(dc.DispatchKeyError):
        registry.call_direct("t::f", "Nothing", 1)


def test_call_direct_with_keyset_gives_that_key(registry, toy, tensors):
    registry.register_schema("t::f", "f(Tensor x) -> Tensor")
    registry.register_kernel("t::f", toy.key, lambda keyset, x: (seen.append(keyset), x)[1], with_keyset=True)
    seen = []
    made = registry.call_direct("t::f", toy.key, tensors.wrap(toy.array([1])))
    assert isinstance(made, tensors.tensor_type)
    assert seen == [dc.DispatchKeySet(toy.key)]


def test_no_kernel_names_who_registered_what(registry):
    with registry.transaction(distribution=("acme-dispatch", "1.2")):
        registry.register_kernel("t::f", "CPU", lambda: 0)
    registry.register_kernel("t::f", "AutogradCPU", lambda: 0)
    with pytest.raises(dc.NoKernelError) as caught:
        registry.redispatch("t::f", "Meta")
    text = str(caught.value)
    assert "t::f: no kernel for Meta, the highest key of DispatchKeySet(Meta)" in text
    assert f"AutogradCPU ({__file__}:" in text
    assert f"CPU (acme-dispatch 1.2 ({__file__}:" in text
    registry.register_schema("t::empty", "empty() -> ()")
    with pytest.raises(dc.NoKernelError, match="Kernels are registered under no key at all"):
        registry.redispatch("t::empty", "CPU")


def test_registration_is_seen_by_the_next_call(registry, toy):
    registry.register_schema("t::f", "f(Tensor x) -> int")
    op, array = registry.ops.t.f.default, toy.array([1])
    with pytest.raises(dc.NoKernelError):
        op(array)
    first = registry.register_kernel("t::f", "CompositeExplicitAutograd", lambda x: 1)
    assert op(array) == 1
    second = registry.register_kernel("t::f", toy.key, lambda x: 2)
    assert op(array) == 2
    fallback = registry.register_fallback("Tracer", lambda op, *args: 3)
    with dc.include_keys("Tracer"):
        assert op(array) == 3
        registry.remove_fallback(fallback)
        assert op(array) == 2
    registry.remove_kernel(registry.get("t::f"), second)
    assert op(array) == 1
    registry.remove_kernel(registry.get("t::f"), first)
    with pytest.raises(dc.NoKernelError):
        op(array)


def test_a_backend_that_comes_later_is_seen_by_the_next_call(registry, make_backend):
    registry.register_schema("t::f", "f(int x) -> str")
    registry.register_kernel("t::f", "CPU", lambda x: "cpu")
    assert registry.redispatch("t::f", ["PrivateUse2", "CPU"], 1) == "cpu"
    make_backend("claimant", "PrivateUse2")
    with pytest.raises(dc.NoKernelError, match="PrivateUse2"):
        registry.redispatch("t::f", ["PrivateUse2", "CPU"], 1)


def test_a_kernel_that_comes_before_its_operator_library_finds_the_schema(install, run_python):
    site = install(
        "vend-operators",
        operators={"vend": "vend_operators"},
        modules={
            "vend_operators": """
                import dispatch_core as dc
                dc.Library("vend", "DEF").define("f.a(int x, int y=5) -> Any")
            """
        },
    )
    code = """
import dispatch_core as dc
dc.Library("vend", "IMPL").impl("f.a", lambda x, y: (x, y))
print(dc.ops.vend.f(1), dc.ops.vend.f.a.schema)
"""
    done = run_python("-c", code, site=[site])
    assert (done.stdout, done.stderr) == ("(1, 5) vend::f.a(int x, int y=5) -> Any\n", "")


VEND_OPERATORS = """
import dispatch_core as dc
library = dc.Library("vend", "DEF")
for overload in ("f.a(int x) -> str", "f.b(float x) -> str"):
    library.define(overload)
    library.impl(overload.partition("(")[0], lambda x, overload=overload: overload[:3])
"""


def test_an_overload_that_comes_before_its_operator_library_hides_none_of_that_librarys(install, run_python):
    site = install("vend-operators", operators={"vend": "vend_operators"}, modules={"vend_operators": VEND_OPERATORS})
    code = """
import dispatch_core as dc
mine = dc.Library("vend", "FRAGMENT")
mine.define("f.mine(str x) -> str")
mine.impl("f.mine", lambda x: "mine")
print(dc.ops.vend.f, dc.ops.vend.f(1), dc.ops.vend.f(1.5), dc.ops.vend.f("x"))
mine.close()
print(dc.ops.vend.f)
"""
    done = run_python("-c", code, site=[site])
    assert done.stdout == ("<OpOverloadPacket vend::f: a, b, mine> f.a f.b mine\n<OpOverloadPacket vend::f: a, b>\n"), (
        done.stderr
    )


def test_an_overload_that_its_operator_library_has_is_refused_where_it_is_defined(install, run_python):
    site = install("vend-operators", operators={"vend": "vend_operators"}, modules={"vend_operators": VEND_OPERATORS})
    code = """
import dispatch_core as dc
try:
    dc.Library("vend", "FRAGMENT").define("f.a(int x) -> str")
except dc.RegistrationError as error:
    print(error)
print(dc.ops.vend.f)
"""
    done = run_python("-c", code, site=[site])
    assert done.stdout.startswith("vend::f.a is defined already, at vend-operators 1.0 ("), done.stderr
    assert done.stdout.endswith("<OpOverloadPacket vend::f: a, b>\n")
