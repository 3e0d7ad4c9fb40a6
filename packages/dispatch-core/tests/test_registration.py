"""Kernels as they are registered: how each kind is called, made, and traced to its origin."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import dispatch_core as dc
from dispatch_core import DispatchKeySet


def test_a_kernel_gets_positional_arguments_in_order_and_keyword_only_ones_by_keyword(registry, library, toy):
    seen = []
    library.define("f(Tensor x, int n=2, *, float p=0.5, str? mode=None) -> ()")
    library.impl("f", lambda *args, **kwargs: seen.append((args, kwargs)), toy.key)
    array = toy.array([1])
    registry.ops.t.f(array)
    registry.ops.t.f(p=1, x=array, n=3, mode="m")
    assert seen[0] == ((array, 2), {"p": 0.5, "mode": None})
    assert seen[1] == ((array, 3), {"p": 1.0, "mode": "m"})
    assert isinstance(seen[1][1]["p"], float)


@pytest.mark.parametrize("key", ["Tracer", "CompositeImplicitAutograd", "CPU"])
def test_every_sort_of_kernel_gets_every_default(registry, library, key):
    library.define("f(int n=2, *, float p=0.5) -> str")
    library.impl("f", lambda *args, **kwargs: f"{args} {kwargs}", key)
    assert registry.redispatch("t::f", key) == "(2,) {'p': 0.5}"
    assert registry.call_direct("t::f", key, n=7) == "(7,) {'p': 0.5}"


def test_with_keyset_puts_the_effective_keyset_first(registry, library, toy):
    seen = []
    library.define("f(Tensor x, *, int n=1) -> ()")
    library.impl("f", lambda keyset, x, *, n: seen.append((keyset, x, n)), toy.key, with_keyset=True)
    library.impl("f", dc.fallthrough_kernel, "Tracer")
    array = toy.array([1])
    with dc.include_keys("Tracer", "Batched"):
        registry.ops.t.f(array, n=4)
    keyset, got, n = seen[0]
    assert (keyset, n) == (DispatchKeySet(toy.key), 4)
    assert got is array
    assert isinstance(keyset, DispatchKeySet)


def test_boxed_fallbacks_get_the_operator_and_all_arguments(registry, library, toy):
    seen = []

    def fallback(op, *args, **kwargs):
        seen.append((op, args, kwargs))
        return "fell back"

    registry.register_fallback("Tracer", fallback)
    library.define("f(Tensor x, int n=2, *, int k=3) -> str")
    array = toy.array([1])
    with dc.include_keys("Tracer"):
        assert registry.ops.t.f(array) == "fell back"
    assert seen == [(registry.ops.t.f.default, (array, 2), {"k": 3})]


def test_a_boxed_fallback_with_keyset_gets_keyset_then_operator(registry, library, toy):
    def fallback(keyset, op, *args, **kwargs):
        return op.redispatch(keyset - "Tracer", *args, **kwargs), keyset

    registry.register_fallback("Tracer", fallback, with_keyset=True)
    library.define("f(Tensor x, *, int k=3) -> int")
    library.impl("f", lambda x, *, k: k, toy.key)
    with dc.include_keys("Tracer"):
        assert registry.ops.t.f(toy.array([1]), k=5) == (5, DispatchKeySet(["Tracer", toy.key]))


def test_a_fallback_under_a_device_key_sees_arrays(registry, library, toy, tensors):
    """A vendor's declared fallback serves every operator without a kernel of the vendor's."""
    registry.register_fallback(toy.key, lambda op, x: type(x)(x.a * 10))
    library.define("f(Tensor x) -> Tensor")
    made = registry.ops.t.f(tensors.wrap(toy.array([2])))
    assert isinstance(made, tensors.tensor_type)
    assert made._dispatch_data == [20]


def test_a_factory_makes_the_kernel_on_first_use_for_each_keyset(registry, library, toy):
    made = []

    def make(op, keyset):
        made.append((op.name, keyset))
        return lambda x: len(made)

    library.define("f(Tensor x) -> int")
    library.impl("f", dc.kernel_factory(make), "Tracer")
    library.impl("f", lambda x: 0, toy.key)
    assert made == []
    op, array = registry.ops.t.f.default, toy.array([1])
    for _ in range(3):
        with dc.include_keys("Tracer"):
            assert op(array) == 1
    with dc.include_keys("Tracer"), dc.exclude_keys(toy.key):
        assert op(array) == 2
    assert made == [("t::f", DispatchKeySet(["Tracer", toy.key])), ("t::f", DispatchKeySet("Tracer"))]


def test_a_factory_that_fails_is_asked_again(registry, library):
    library.define("f() -> int")
    attempts = []

    def make(op, keyset):
        attempts.append(op)
        if len(attempts) == 1:
            raise OSError("not yet")
        return lambda: 7

    library.impl("f", dc.kernel_factory(make))
    with pytest.raises(OSError, match="not yet"):
        registry.ops.t.f()
    assert registry.ops.t.f() == 7


def test_a_kernel_that_names_every_argument_may_be_given_all_by_position(registry, library, toy):
    library.define("f(Tensor x, int n=2, *, float p=0.5, str? mode=None) -> str")

    def in_order(x, n, p, mode):
        return f"{n} {p} {mode}"

    def in_another_order(x, n, mode, p):
        return f"{n} {p} {mode} too"

    array = toy.array([1])
    for kernel, text in ((in_order, "3 1.0 m"), (in_another_order, "3 1.0 m too")):
        with dc.Library("t", "IMPL", registry=registry) as layer:
            layer.impl("f", kernel, "CompositeImplicitAutograd")
            assert registry.ops.t.f(array, 3, mode="m", p=1) == text


def test_below_runs_what_a_keyset_leads_to_with_arguments_as_they_are(registry, library, toy, tensors):
    library.define("f(Tensor x, *, int n=1) -> Tensor")
    library.impl("f", lambda x, *, n: type(x)(x.a * n), toy.key)
    kernels = []

    def make(op, keyset):
        down = dc.fast_redispatch(op, keyset - "Tracer", registry=registry)

        def kernel(x, n):
            return down(x, n + 1)

        kernels.append(kernel)
        return kernel

    library.impl("f", dc.kernel_factory(make), "Tracer")
    op = registry.ops.t.f.default
    with dc.include_keys("Tracer"):
        assert op(toy.array([1, 2])) == [2, 4]
        assert op(tensors.wrap(toy.array([1, 2])), n=2)._dispatch_data == [3, 6]
    assert len(kernels) == 2  # One for arrays, one for tensors.


def test_below_leaves_out_what_the_context_excludes_and_finds_later_kernels(registry, library, toy):
    library.define("f(Tensor x, *, int n=1) -> int")
    library.impl("f", lambda x, *, n: n, toy.key)
    library.impl("f", lambda x, *, n: -n, "Tracer")
    down, array = dc.fast_redispatch("t::f", ["Tracer", toy.key], registry=registry), toy.array([1])
    assert down(array, 5) == -5
    with dc.exclude_keys("Tracer"):
        assert down(array, 5) == 5
    with dc.Library("t", "IMPL", registry=registry) as layer:
        layer.impl("f", lambda x, *, n: 10 * n, "Tracer", allow_override=True)
        assert down(array, 5) == 50
    assert down(array, 5) == -5


def test_below_is_a_kernel_that_only_passes_on(registry, library, toy):
    library.define("f(Tensor x, int a, *, int b, int c=3) -> int")
    library.impl("f", lambda x, a, *, b, c: 100 * a + 10 * b + c, toy.key)
    library.impl("f", dc.kernel_factory(lambda op, keyset: dc.fast_redispatch(op, keyset - "Tracer")), "Tracer")
    with dc.include_keys("Tracer"):
        assert registry.ops.t.f(toy.array([1]), 1, c=4, b=2) == 124


def test_a_covered_kernel_serves_one_value_and_does_not_get_the_argument(registry, library, toy, tensors):
    library.define("f(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor")
    library.impl("f", lambda x, y, *, alpha: type(x)(-x.a), toy.key)
    library.impl("f", lambda x, y: type(x)(x.a + y.a), toy.key, when=("alpha", 1))
    a, b = toy.array([1, 2]), toy.array([3, 4])
    assert registry.ops.t.f(a, b) == [4, 6]
    # A value that equals 1 but is of another type may mean something else, and goes to the general kernel.
    assert registry.ops.t.f(a, b, alpha=1.0) == registry.ops.t.f(a, b, alpha=True) == [-1, -2]
    assert registry.ops.t.f(a, b, alpha=2) == [-1, -2]
    made = registry.ops.t.f(tensors.wrap(a), tensors.wrap(b))
    assert made._dispatch_data == [4, 6]


def test_a_covered_kernel_may_leave_out_a_positional_argument_and_take_the_keyset(registry, library, toy):
    library.define("f(Tensor x, int n, int k) -> str")
    library.impl("f", lambda x, n, k: "general", toy.key)
    library.impl("f", lambda x, k: f"zero {k}", toy.key, when=("n", 0))
    library.impl("f", lambda keyset, x, k: f"one {k} {keyset!r}", toy.key, when=("n", 1), with_keyset=True)
    array = toy.array([1])
    assert registry.ops.t.f(array, 0, 5) == "zero 5"
    assert registry.ops.t.f(array, 1, 5) == "one 5 DispatchKeySet(Toy)"
    assert registry.ops.t.f(array, 2, 5) == "general"


def test_a_covered_kernel_for_an_unknown_argument_is_refused(registry, library):
    library.define("f(int x) -> int")
    with pytest.raises(dc.RegistrationError, match="for argument 'beta', which the schema lacks") as caught:
        library.impl("f", lambda: 0, "CPU", when=("beta", 1))
    assert caught.value.hint == "its arguments are x"
    with pytest.raises(dc.RegistrationError, match="unknown, because it has no schema"):
        library.impl("unseen", lambda: 0, "CPU", when=("beta", 1))
    assert "t::unseen" not in registry.entries


def test_a_covered_kernel_outlives_its_schema_harmlessly(registry, toy):
    with dc.Library("t", "DEF", registry=registry) as library:
        library.define("f(Tensor x, int n) -> str")
        vendor = dc.Library("t", "IMPL", toy.key, registry=registry)
        vendor.impl("f", lambda x, n: "general")
        vendor.impl("f", lambda x: "covered", when=("n", 1))
        assert registry.ops.t.f(toy.array([1]), 1) == "covered"
    assert registry.dispatch("t::f", toy.array([1]), 1) == "general"
    again = dc.Library("t", "DEF", registry=registry)
    again.define("f(Tensor x, int m) -> str")
    assert registry.ops.t.f(toy.array([1]), 1) == "general"


def test_closing_takes_a_covered_kernel_back(registry, library, toy):
    library.define("f(Tensor x, int n) -> str")
    library.impl("f", lambda x, n: "general", toy.key)
    with dc.Library("t", "IMPL", registry=registry) as extra:
        extra.impl("f", lambda x: "covered", toy.key, when=("n", 1))
        with pytest.warns(dc.OverwriteWarning, match="for Toy with n=1"):
            extra.impl("f", lambda x: "covered again", toy.key, when=("n", 1))
        assert registry.ops.t.f(toy.array([1]), 1) == "covered again"
    assert registry.ops.t.f(toy.array([1]), 1) == "general"


def test_the_origin_is_the_line_that_registers(registry, library):
    library.define("f(int x) -> int")
    line = inspect.currentframe().f_lineno + 1
    library.impl("f", lambda x: x, "CPU")
    origin = registry.get("t::f").computed_table()[dc.DispatchKey.CPU].origin
    assert (Path(origin.file).name, origin.line) == ("test_registration.py", line)
    assert str(origin).endswith(f"test_registration.py:{line}")


def test_the_origin_names_the_transactions_distribution(registry):
    with registry.transaction(distribution=("acme-dispatch", "1.2")):
        registration = registry.register_kernel("t::f", "CPU", lambda: 0)
    assert (registration.origin.distribution, registration.origin.version) == ("acme-dispatch", "1.2")
    assert str(registration.origin).startswith("acme-dispatch 1.2 (")


def test_the_fallthrough_marker_cannot_be_called():
    with pytest.raises(NotImplementedError, match="fallthrough_kernel is a marker for registration"):
        dc.fallthrough_kernel()


@pytest.mark.parametrize("bad", [None, 3, "kernel"])
def test_what_cannot_be_called_is_no_kernel(registry, bad):
    with pytest.raises(dc.ArgumentError, match=f"the kernel for t::f is not callable: {type(bad).__name__}"):
        registry.register_kernel("t::f", "CPU", bad)
    with pytest.raises(dc.ArgumentError, match="the fallback for Tracer is not callable"):
        registry.register_fallback("Tracer", bad)
    assert not registry.entries
    assert not registry.fallbacks


@pytest.mark.parametrize("when", [{"k": 1}, ("k", 1, 2), "k", ("k",), (1, "k"), ["k", 1]])
def test_a_specialized_kernel_is_for_an_argument_and_its_value(registry, when):
    library = dc.Library("t", "DEF", registry=registry)
    library.define("f(Tensor x, *, int k=1) -> Tensor")
    with pytest.raises(
        dc.ArgumentError, match=r"when= of the kernel for .* takes an argument's name and its value, not"
    ) as caught:
        library.impl("f", lambda x, *, k=1: x, "CPU", when=when)
    assert 'Hint: write when=("alpha", 1)' in str(caught.value)
    assert registry.get("t::f").registrations("CPU") == ()


@pytest.mark.parametrize("parameter", ["parts", "uses"])
def test_the_parts_of_a_short_way_are_a_list(registry, parameter):
    library = dc.Library("t", "DEF", registry=registry)
    library.define("f(Tensor x) -> Tensor")
    with pytest.raises(
        dc.RegistrationError, match=f"{parameter}= of the short way for f takes names in a list, not the text 'g'"
    ):
        library.short_way("f", lambda x: x, "CPU", **{parameter: "g"})
