"""The boundary: how arguments and results are converted, as the schema says."""

from __future__ import annotations

import numpy as np
import pytest

import dispatch_core as dc
from dispatch_core import frontends


@pytest.fixture
def wrapped(toy, tensors):
    return lambda values: tensors.wrap(toy.array(values))


def test_a_fresh_result_is_a_new_tensor(registry, library, toy, tensors, wrapped):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: type(x)(x.a + 1), toy.key)
    x = wrapped([1])
    made = registry.ops.t.f(x)
    assert made is not x
    assert made._dispatch_mask == toy.key | tensors.marker
    assert made._dispatch_data == [2]
    assert type(registry.ops.t.f(toy.array([1]))) is toy.array


def test_an_in_place_result_is_the_argument_itself(registry, library, toy, wrapped):
    def add_(x, n):
        x.a += n
        return x

    library.define("f_(Tensor(a!) x, int n) -> Tensor(a!)")
    library.impl("f_", add_, toy.key)
    x = wrapped([1])
    data = x._dispatch_data
    assert registry.ops.t.f_(x, 2) is x
    assert x._dispatch_data is data
    assert data == [3]
    assert x.writes == 1
    raw = toy.array([1])
    assert registry.ops.t.f_(raw, 2) is raw


def test_an_in_place_kernel_that_returns_nothing_gives_the_argument(registry, library, toy, wrapped):
    library.define("f_(Tensor(a!) x) -> Tensor(a!)")
    library.impl("f_", lambda x: None, toy.key)
    x, raw = wrapped([1]), toy.array([1])
    assert registry.ops.t.f_(x) is x
    assert registry.ops.t.f_(raw) is raw


def test_out_is_rebound_when_the_kernel_had_to_resize(registry, library, toy, wrapped):
    library.define("f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("f.out", lambda x, *, out: type(x)(np.repeat(x.a, 2)), toy.key)
    x, out = wrapped([1]), wrapped([])
    assert registry.ops.t.f.out(x, out=out) is out
    assert out._dispatch_data == [1, 1]
    assert (out.writes, getattr(x, "writes", 0)) == (1, 0)


def test_several_written_results_are_the_arguments(registry, library, toy, wrapped):
    library.define("f.out(Tensor x, *, Tensor(a!) low, Tensor(b!) high) -> (Tensor(a!), Tensor(b!))")
    library.impl("f.out", lambda x, *, low, high: (type(x)(x.a.min()), type(x)(x.a.max())), toy.key)
    low, high = wrapped([]), wrapped([])
    found = registry.ops.t.f.out(wrapped([3, 1, 2]), low=low, high=high)
    assert found[0] is low
    assert found[1] is high
    assert (low._dispatch_data, high._dispatch_data) == (1, 3)


@pytest.mark.parametrize("bad", ["no array", [1], None])
def test_a_call_with_a_bad_result_changes_no_argument(registry, library, toy, wrapped, bad):
    """Whichever result is the bad one, and whether or not it is one of the written ones."""
    library.define("f.out(Tensor x, *, Tensor(a!) low, Tensor(b!)[] rest) -> (Tensor(a!), Tensor(b!)[], Tensor)")
    for results in (
        lambda good: (good(1), [good(2), good(3)], bad),
        lambda good: (good(1), [good(2), "no array"], good(4)),
        lambda good: (good(1), [good(2)], good(4)),
        lambda good: ("no array", [good(2), good(3)], good(4)),
    ):
        with dc.Library("t", "IMPL", registry=registry) as vendor:
            vendor.impl("f.out", lambda x, *, low, rest, results=results: results(type(x)), toy.key)
            x, low, rest = wrapped([0]), wrapped([7]), [wrapped([8]), wrapped([9])]
            with pytest.raises(dc.KernelResultError, match=r"t::f\.out"):
                registry.ops.t.f.out(x, low=low, rest=rest)
        assert [tensor._dispatch_data for tensor in (low, *rest)] == [[7], [8], [9]]
        assert not any(getattr(tensor, "writes", 0) for tensor in (low, *rest))


def test_a_view_result_goes_through_the_frontends_hook(registry, library, toy, wrapped):
    library.define("f(Tensor(a) x, int start, *, int stop=2) -> Tensor(a)")
    library.impl("f", lambda x, start, *, stop: type(x)(x.a[start:stop]), toy.key)
    x = wrapped([1, 2, 3])
    view = registry.ops.t.f(x, 1)
    assert view.base is x
    assert view.made_by == ("t::f", (x, 1, 2))
    assert view._dispatch_data == [2]


def test_a_list_of_views_has_one_base(registry, library, toy, wrapped):
    library.define("f(Tensor(a -> *) x) -> Tensor(a)[]")
    library.impl("f", lambda x: [type(x)(row) for row in x.a], toy.key)
    x = wrapped([[1, 2], [3, 4]])
    views = registry.ops.t.f(x)
    assert type(views) is list
    assert all(view.base is x for view in views)
    assert [view._dispatch_data for view in views] == [[1, 2], [3, 4]]


def test_results_of_several_kinds(registry, library, toy, tensors, wrapped):
    library.define("f(Tensor x) -> (Tensor, Tensor[], int, Tensor?)")
    library.impl("f", lambda x: (x, (x, x), 7, None), toy.key)
    one, many, number, nothing = registry.ops.t.f(wrapped([1]))
    assert type(one) is tensors.tensor_type
    assert [type(item) for item in many] == [tensors.tensor_type] * 2
    assert (number, nothing) == (7, None)


def test_an_operator_without_results_gives_none(registry, library, toy, wrapped):
    library.define("f(Tensor(a!) x) -> ()")
    library.impl("f", lambda x: None, toy.key)
    x = wrapped([1])
    assert registry.ops.t.f(x) is None
    assert x.writes == 1


@pytest.mark.parametrize("returned", ["text", 0, False, (), []], ids=repr)
def test_a_kernel_of_an_operator_without_results_returns_nothing(registry, library, toy, wrapped, returned):
    library.define("f(Tensor(a!) x) -> ()")
    library.impl("f", lambda x: returned, toy.key)
    with pytest.raises(dc.KernelResultError, match="where the schema promises 0 results"):
        registry.ops.t.f(wrapped([1]))


def test_every_written_argument_is_reported_once(registry, library, toy, wrapped):
    library.define("f(Tensor(a!)[] xs, Tensor(b!)? y, Tensor z) -> ()")
    library.impl("f", lambda xs, y, z: None, toy.key)
    xs, y, z = [wrapped([1]), wrapped([2])], wrapped([3]), wrapped([4])
    registry.ops.t.f(xs, y, z)
    registry.ops.t.f(xs, None, z)
    assert [getattr(x, "writes", 0) for x in (*xs, y, z)] == [2, 2, 1, 0]


def test_a_failed_kernel_reports_no_write_and_rebinds_nothing(registry, library, toy, wrapped):
    library.define("f_(Tensor(a!) x) -> Tensor(a!)")

    def kernel(x):
        raise ValueError("no")

    library.impl("f_", kernel, toy.key)
    x = wrapped([1])
    data = x._dispatch_data
    with pytest.raises(ValueError, match="no"):
        registry.ops.t.f_(x)
    assert x._dispatch_data is data
    assert not hasattr(x, "writes")


@pytest.mark.parametrize("raw", [True, False])
def test_scalars_become_arrays_for_fresh_results_only(registry, library, toy, wrapped, raw):
    library.define("fresh(Tensor x) -> Tensor")
    library.define("view(Tensor(a) x) -> Tensor(a)")
    library.define("listed(Tensor x) -> Tensor[]")
    library.define("write(Tensor(a!) x) -> Tensor(a!)")
    for name in ("fresh", "view", "write"):
        library.impl(name, lambda x: np.float64(2), toy.key)
    library.impl("listed", lambda x: [np.float64(2)], toy.key)
    x = toy.array([1]) if raw else wrapped([1])
    assert dc.shape(registry.ops.t.fresh(x)) == ()
    assert dc.shape(registry.ops.t.listed(x)[0]) == ()
    for name in ("view", "write"):
        with pytest.raises(dc.KernelResultError) as caught:
            registry.dispatch(f"t::{name}", x)
        words = f"t::{name}: the kernel for Toy returned numpy.float64 where the schema promises a Tensor"
        assert words in str(caught.value)
    assert not hasattr(x, "writes")


@pytest.mark.parametrize("returned", [3, "text", [1], None, object()])
def test_what_is_no_array_is_refused(registry, library, toy, wrapped, returned):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: returned, toy.key)
    for x in (toy.array([1]), wrapped([1])):
        with pytest.raises(dc.KernelResultError, match="t::f: the kernel for Toy returned builtins"):
            registry.ops.t.f(x)


def test_a_wrong_number_of_results_is_refused(registry, library, toy):
    library.define("f(Tensor x) -> (Tensor, Tensor)")
    array = toy.array([1, 2])
    for returned, got in [((array,), "1 results"), ([array] * 3, "3 results"), (array, "ToyArray"), (None, "NoneType")]:
        with dc.Library("t", "IMPL", registry=registry) as vendor:
            vendor.impl("f", lambda x, returned=returned: returned, toy.key)
            with pytest.raises(
                dc.KernelResultError, match=f"t::f: the kernel returned {got} where the schema promises 2"
            ):
                registry.ops.t.f(array)


def test_a_list_result_must_be_a_list_or_tuple(registry, library, toy, wrapped):
    library.define("f(Tensor x) -> Tensor[]")
    library.define("g(Tensor(a!)[] xs) -> Tensor(a!)[]")
    library.impl("f", lambda x: x, toy.key)
    library.impl("g", lambda xs: xs[:1], toy.key)
    for x in (toy.array([1, 2]), wrapped([1, 2])):
        with pytest.raises(dc.KernelResultError, match=r"returned .*ToyArray where the schema promises a list"):
            registry.ops.t.f(x)
        with pytest.raises(
            dc.KernelResultError, match="t::g: the kernel returned 1 results where the schema promises 2"
        ):
            registry.ops.t.g([x, x])


def test_optional_tensors_are_unwrapped_or_none(registry, library, toy, wrapped):
    seen = []
    library.define("f(Tensor? x, Tensor?[] ys, *, Tensor? z=None) -> ()")
    library.impl("f", lambda x, ys, *, z: seen.append((x, list(ys), z)), toy.key)
    a, b = wrapped([1]), wrapped([2])
    registry.ops.t.f(None, [a, None], z=b)
    registry.ops.t.f(a, [])
    assert seen == [(None, [a._dispatch_data, None], b._dispatch_data), (a._dispatch_data, [], None)]


def test_layers_and_composites_see_what_the_caller_passed(registry, library, toy, tensors, wrapped):
    seen = []
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: seen.append(x) or x, "Tracer")
    library.impl("f", lambda x: seen.append(x) or x, "CompositeImplicitAutograd")
    x, raw = wrapped([1]), toy.array([1])
    for value in (x, raw):
        assert registry.ops.t.f(value) is value
        with dc.include_keys("Tracer"):
            assert registry.ops.t.f(value) is value
    assert all(a is b for a, b in zip(seen, [x, x, raw, raw], strict=True))


@pytest.fixture
def frozen(make_backend):
    """A backend whose arrays cannot be written."""
    return make_backend("frozen", mutable=False)


def add_family(library, frozen):
    for text in (
        "add.Scalar(Tensor self, Scalar other, *, Scalar alpha=1) -> Tensor",
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
        "add_.Scalar(Tensor(a!) self, Scalar other, *, Scalar alpha=1) -> Tensor(a!)",
        "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    ):
        library.define(text)
    library.impl("add.Tensor", lambda x, y, *, alpha: type(x)(x.a + alpha * y.a), frozen.key)
    library.impl("add.Scalar", lambda x, y, *, alpha: type(x)(x.a + alpha * y), frozen.key)


def test_in_place_on_immutable_arrays_runs_the_functional_overload_of_the_same_types(
    registry, library, frozen, tensors
):
    add_family(library, frozen)
    x, y = tensors.wrap(frozen.array([1, 2])), tensors.wrap(frozen.array([10, 20]))
    before = x._dispatch_data
    assert registry.ops.t.add_(x, y, alpha=2) is x
    assert x._dispatch_data == [21, 42]
    assert before == [1, 2]
    assert registry.ops.t.add_(x, 1) is x
    assert x._dispatch_data == [22, 43]
    assert x.writes == 2


def test_out_on_immutable_arrays_is_rebound(registry, library, frozen, tensors):
    add_family(library, frozen)
    x, y, out = (tensors.wrap(frozen.array(values)) for values in ([1, 2], [10, 20], []))
    assert registry.ops.t.add.out(x, y, out=out) is out
    assert out._dispatch_data == [11, 22]
    assert (out.writes, x._dispatch_data) == (1, [1, 2])


def test_in_place_on_immutable_arrays_without_a_frontend_is_refused(registry, library, frozen):
    add_family(library, frozen)
    with pytest.raises(dc.RegistrationError, match="arrays of Frozen cannot be written to") as caught:
        registry.ops.t.add_(frozen.array([1]), frozen.array([1]))
    assert caught.value.hint == "call t::add.Tensor and use its result"


def test_in_place_on_immutable_arrays_goes_through_rebind(registry, library, frozen, make_frontend):
    rebound = []

    class Rebinding(frontends.Writes):
        def rebind(self, tensor, data):
            rebound.append(tensor)
            tensor._dispatch_data = data

    frontend = make_frontend("rebinding", writes=Rebinding())
    add_family(library, frozen)
    x = frontend.wrap(frozen.array([1]))
    registry.ops.t.add_(x, 1)
    assert rebound == [x]


def test_a_failed_functional_overload_changes_nothing(registry, library, frozen, tensors):
    library.define("f(Tensor self) -> Tensor")
    library.define("f_(Tensor(a!) self) -> Tensor(a!)")
    library.impl("f", lambda x: 1 / 0, frozen.key)
    x = tensors.wrap(frozen.array([1]))
    with pytest.raises(ZeroDivisionError):
        registry.ops.t.f_(x)
    assert x._dispatch_data == [1]
    assert not hasattr(x, "writes")


def test_an_operator_that_does_not_return_what_it_writes_has_no_functional_twin(registry, library, frozen, tensors):
    library.define("f(Tensor self) -> Tensor")
    library.define("f_(Tensor(a!) self) -> ()")
    library.impl("f", lambda x: type(x)(x.a + 1), frozen.key)
    with pytest.raises(dc.NoKernelError, match="t::f_: no kernel for Frozen"):
        registry.ops.t.f_(tensors.wrap(frozen.array([1])))


def test_an_immutable_backends_own_in_place_kernel_may_return_another_array(registry, library, frozen, tensors):
    library.define("fill_(Tensor(a!) self, Scalar value) -> Tensor(a!)")
    library.impl("fill_", lambda x, value: type(x)(np.full(x.a.shape, value)), frozen.key)
    x = tensors.wrap(frozen.array([1, 2]))
    assert registry.ops.t.fill_(x, 7) is x
    assert x._dispatch_data == [7, 7]


def test_an_operator_without_schema_is_unwrapped_and_wrapped_wherever_arrays_stand(registry, toy, tensors, wrapped):
    registry.register_kernel("t::bare", toy.key, lambda x, ys, *, z: [x, type(x)(ys[0].a + z.a), 5])
    x, y, z = wrapped([1]), wrapped([2]), wrapped([3])
    for found in (
        registry.dispatch("t::bare", x, [y], z=z),
        registry.redispatch("t::bare", toy.key, x, [y], z=z),
        registry.call_direct("t::bare", toy.key, x, [y], z=z),
    ):
        assert [type(found[0]), type(found[1]), found[2]] == [tensors.tensor_type] * 2 + [5]
        assert found[1]._dispatch_data == [5]
