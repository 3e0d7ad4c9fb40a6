"""Custom operators: made of one function, and registrations for operators that exist."""

from __future__ import annotations

import gc
import warnings
import weakref

import pytest

import dispatch_core as dc
from dispatch_core import Tensor, devkit, frontends


@pytest.fixture
def custom_op(registry):
    """``custom_op`` in the test's own registry."""

    def custom_op(name, fn=None, **options):
        return dc.custom_op(name, fn, registry=registry, **{"mutates_args": (), **options})

    return custom_op


@pytest.fixture
def double(custom_op, toy, tensors):
    """An operator for every device, on tensors and raw arrays of the toy backend."""

    def double(x: Tensor, times: int = 2) -> Tensor:
        data = getattr(x, "_dispatch_data", x)
        return dc.wrap_like(x, type(data)(data.a * times))

    return custom_op("t::double", double)


def test_a_function_becomes_an_operator(double, registry, toy, tensors):
    assert str(registry.ops.t.double.default.schema) == "t::double(Tensor x, SymInt times=2) -> Tensor"
    assert double(toy.array([1, 2])) == registry.ops.t.double(toy.array([1, 2])) == [2, 4]
    wrapped = double(tensors.wrap(toy.array([1])), times=3)
    assert type(wrapped) is tensors.tensor_type
    assert wrapped._dispatch_data == [3]
    assert (double.name, repr(double)) == ("t::double", "<CustomOpDef t::double>")
    kernels = {key.name for key in registry.get("t::double").kernels}
    assert kernels == {"CompositeExplicitAutograd", "Autograd", "Meta"}
    assert double.op._entry.origin.file == __file__


def test_a_decorator_and_a_call_are_the_same(custom_op, registry):
    @custom_op("t::f", tags=("pointwise", "cheap"))
    def f(x: int) -> int:
        return x + 1

    g = custom_op("t::g", lambda x: x + 1, schema="(int x) -> int")
    assert (f(1), g(1), type(f)) == (2, 2, type(g))
    assert f.op.tags == {"pointwise", "cheap"}


def test_arguments_arrive_with_every_default_filled_in(custom_op, toy):
    class Kind(int):
        __schema_type__ = "ScalarType"

        def __str__(self):
            return "float32"

    kind = Kind(6)

    cpu = dc.Device("cpu")

    def f(x: Tensor, *, dtype: Kind = kind, device: dc.Device = cpu, dims: list[int] = (0,)) -> str:
        return f"{type(dtype).__name__} {device!r} {dims}"

    f.__annotations__["dtype"] = Kind
    assert custom_op("t::f", f)(toy.array([1])) == "Kind device(type='cpu') (0,)"


def test_the_schema_may_be_given_and_must_agree(custom_op, registry):
    def f(x, y):
        return None

    assert str(custom_op("t::f", f, schema="(int x, *, int y) -> ()").op.schema) == "t::f(int x, *, int y) -> ()"
    assert custom_op("t::g", f, schema="t::g(int x, int y) -> ()")(1, 2) is None
    assert custom_op("t::h", f, schema="h(int x, int y) -> ()")(1, 2) is None
    with pytest.raises(dc.SchemaError, match="custom operator t::i is named t::other"):
        custom_op("t::i", f, schema="t::other(int x) -> ()")
    with pytest.raises(
        dc.SchemaError, match=r"t::i: mutates_args names \['y'\], but the schema says that \['x'\] is written"
    ):
        custom_op("t::i", f, schema="(Tensor(a!) x, Tensor y) -> ()", mutates_args=["y"])
    assert custom_op("t::i", f, schema="(Tensor(a!) x, Tensor y) -> ()", mutates_args="unknown").op.schema.is_mutable


def test_a_name_without_a_namespace_is_refused(registry):
    """It would be one of torch's own, ``aten::relu`` for instance."""
    with pytest.raises(
        dc.SchemaError, match=r"'relu' has no namespace\nHint: write mylib::relu, of a name of your own"
    ):
        dc.custom_op("relu", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor", registry=registry)
    assert not registry.has_kernel("aten::relu", "CPU") and registry.kernel_count() == 0


def test_what_fails_leaves_nothing_behind(custom_op, registry):
    dc.Library("t", "DEF", registry=registry).define("taken(int x) -> int")

    def f(x: int) -> int:
        return x

    def bad(x) -> int:
        return x

    for name, fn, options, error in (
        ("t::f", bad, {}, dc.SchemaError),
        ("t::f", f, {"schema": "(int x"}, dc.SchemaError),
        ("t::f", lambda x: x, {"device_types": "nowhere", "schema": "(Tensor x) -> Tensor"}, dc.BackendNotFoundError),
        ("t::f", f, {"device_types": "cpu"}, dc.RegistrationError),
        ("t::f", f, {"mutates_args": ["x"]}, dc.SchemaError),
        ("t::taken", f, {}, dc.RegistrationError),
        ("no_name", None, {"schema": "() -> ("}, dc.SchemaError),
    ):
        with pytest.raises(error):
            custom_op(name, fn or f, **options)
    assert [entry.name for entry in registry] == ["t::taken"]
    assert not registry.get("t::taken").kernels
    assert not registry.custom_ops


def test_a_transaction_takes_a_custom_operator_back(custom_op, registry):
    with pytest.raises(ZeroDivisionError), registry.transaction():
        f = custom_op("t::f", lambda x: x, schema="(int x) -> int")
        1 / 0  # noqa: B018  # the block is to fail
    with pytest.raises(dc.ClosedOperatorError):
        f(1)
    assert not registry.custom_ops
    assert custom_op("t::f", lambda x: x + 1, schema="(int x) -> int")(1) == 2


def test_defining_again_replaces_and_warns_only_across_files(custom_op, registry):
    first = custom_op("t::f", lambda x: 1, schema="(int x) -> int")
    packet = registry.ops.t.f
    second = custom_op("t::f", lambda x: 2, schema="(int x) -> int")
    assert (second(0), packet(0)) == (2, 2)
    with pytest.raises(dc.ClosedOperatorError, match="t::f is gone"):
        first(0)
    text = "made = custom_op('t::f', lambda x: 3, mutates_args=(), schema='(int x) -> int', registry=registry)"
    names = {"custom_op": dc.custom_op, "registry": registry}
    with pytest.warns(
        dc.OverwriteWarning, match="custom operator t::f from .* is replaced by the one from another_file.py:1"
    ):
        exec(compile(text, "another_file.py", "exec"), names)
    assert (packet(0), names["made"](0)) == (3, 3)


def test_closing_takes_everything_back(double, registry, toy):
    packet, op = registry.ops.t.double, double.op
    assert packet(toy.array([1])) == [2]
    double.close()
    double.close()
    for call in (double, packet, op):
        with pytest.raises(dc.ClosedOperatorError):
            call(toy.array([1]))
    assert not registry.entries
    assert not registry.custom_ops


def test_an_operator_that_was_closed_lets_its_function_go(custom_op, toy):
    def f(x: Tensor) -> None: ...

    made = custom_op("t::f", f)
    made(toy.array([1]))
    held = weakref.ref(f)
    made.close()
    del made, f
    gc.collect()
    assert held() is None


# Results.


def test_results_that_alias_are_refused_by_name(custom_op, toy, tensors):
    @custom_op("t::same")
    def same(x: Tensor) -> Tensor:
        return x

    @custom_op("t::part", device_types="toy")
    def part(n: int, x: Tensor) -> tuple[int, Tensor]:
        return n, type(x)(x.a[1:])

    @custom_op("t::twice", device_types="toy")
    def twice(xs: list[Tensor]) -> list[Tensor]:
        made = type(xs[0])(xs[0].a + 1)
        return [made, made]

    x = toy.array([1, 2])
    for value in (x, tensors.wrap(x)):
        with pytest.raises(
            dc.KernelResultError, match="t::same: result 0 is argument 'x', or shares its memory"
        ) as caught:
            same(value)
        assert caught.value.hint.startswith("return a copy")
        with pytest.raises(dc.KernelResultError, match="t::part: result 1 is argument 'x', or shares its memory"):
            part(1, value)
        with pytest.raises(dc.KernelResultError, match="t::twice: result 0 is result 0, or shares its memory"):
            twice([value])


def test_what_the_schema_declares_may_alias(custom_op, toy, tensors):
    tail = custom_op("t::tail", lambda x: type(x)(x.a[1:]), schema="(Tensor(a) x) -> Tensor(a)", device_types="toy")
    add_ = custom_op("t::add_", lambda x, n: x, schema="(Tensor(a!) x, int n) -> Tensor(a!)", mutates_args=["x"])
    x = toy.array([1, 2])
    assert tail(x) == [2]
    view = tail(tensors.wrap(x))
    assert view.made_by[0] == "t::tail"
    assert add_(x, 1) is x
    wrong = custom_op("t::wrong_", lambda x: toy.array([1]), schema="(Tensor(a!) x) -> Tensor(a!)", mutates_args=["x"])
    with pytest.raises(
        dc.KernelResultError, match="t::wrong_: result 0 is not argument 'x', which the schema promises"
    ):
        wrong(x)


@pytest.mark.parametrize(
    ("returned", "schema", "text"),
    [
        (None, "Tensor", "result 0 is builtins.NoneType where the schema promises a Tensor"),
        (1.5, "Tensor", "result 0 is builtins.float where the schema promises a Tensor"),
        (1.5, "int", "result 0 must be int, not float"),
        ((), "(Tensor, Tensor)", "returned 0 results where the schema promises 2"),
        (1, "()", "returned int where the schema promises 0 results"),
        (3, "Tensor[]", "returned builtins.int where the schema promises a list"),
    ],
)
def test_results_must_be_what_the_schema_promises(custom_op, toy, returned, schema, text):
    f = custom_op("t::f", lambda x: returned, schema=f"(Tensor x) -> {schema}")
    with pytest.raises(dc.KernelResultError, match=text):
        f(toy.array([1]))


def test_optional_results_may_be_none(custom_op, toy):
    f = custom_op("t::f", lambda x: (None, None, [None]), schema="(Tensor x) -> (Tensor?, int?, Tensor?[])")
    assert f(toy.array([1])) == (None, None, [None])


def test_a_raw_result_for_tensors_is_refused(custom_op, toy, tensors):
    f = custom_op("t::f", lambda x: toy.array([1]), schema="(Tensor x) -> Tensor")
    assert f(toy.array([2])) == [1]
    with pytest.raises(dc.KernelResultError, match="result 0 is ToyArray, but the arguments are BoxesTensor") as caught:
        f(tensors.wrap(toy.array([2])))
    assert "wrap_like" in caught.value.hint


# Written arguments.


def test_written_arguments_are_reported_to_the_frontend(custom_op, toy, tensors):
    def fill(x: Tensor, ys: list[Tensor], out: Tensor | None = None) -> None:
        for tensor in (x, *ys, *(() if out is None else (out,))):
            data = getattr(tensor, "_dispatch_data", tensor)
            data.a[:] = 7

    everywhere = custom_op("t::everywhere", fill, mutates_args=["x", "ys", "out"])
    on_toy = custom_op("t::on_toy", fill, mutates_args="unknown", device_types="toy")
    for op in (everywhere, on_toy):
        x, y, out = (tensors.wrap(toy.array([1, 2])) for _ in range(3))
        assert op(x, [y]) is None
        op(x, [y], out)
        assert (x._dispatch_data, y._dispatch_data, out._dispatch_data) == ([7, 7], [7, 7], [7, 7])
        assert (x.writes, y.writes, out.writes) == (2, 2, 1)
        raw = toy.array([1])
        op(raw, [])
        assert raw == [7]


# Kernels for devices.


def test_kernels_for_devices_see_their_arrays(double, make_backend, toy, tensors):
    other = make_backend("spare")

    @double.register_kernel("toy")
    def fast(x, times):
        assert type(x) is toy.array
        return type(x)(x.a * times + 0.5)

    assert double(toy.array([1])) == [2.5]
    assert double(tensors.wrap(toy.array([1])))._dispatch_data == [2.5]
    assert double(other.array([1])) == [2]
    assert fast(toy.array([1]), 1) == [1.5]


def test_device_types_leave_other_devices_without_a_kernel(custom_op, make_backend, toy):
    other, third = make_backend("spare"), make_backend("third")
    f = custom_op("t::f", lambda x: type(x)(x.a + 0), schema="(Tensor x) -> Tensor", device_types=("toy", "spare"))
    assert f(toy.array([1])) == f(other.array([1])) == [1]
    with pytest.raises(dc.NoKernelError, match="Third"):
        f(third.array([1]))


def test_a_factory_chooses_by_its_device_argument(custom_op, toy, meta):
    @custom_op("t::ones", device_types="toy")
    def ones(n: int, *, device: dc.Device) -> Tensor:
        return toy.array([1] * n)

    assert ones(2, device="toy") == [1, 1]
    ones.register_fake(lambda n, *, device: meta.array((n,)))
    assert ones(3, device="meta").shape == (3,)
    f = custom_op("t::f", lambda n: toy.array([n]), schema="(int n) -> Tensor")
    assert f(3) == [3]
    with pytest.raises(
        dc.RegistrationError, match="a kernel for device 'toy' would never run, because no argument says"
    ):
        f.register_kernel("toy", lambda n: n)


def test_a_kernel_can_be_switched_off_for_a_while(double, toy, make_backend):
    other = make_backend("spare")
    double.register_kernel(["toy", "spare"], lambda x, times: type(x)([-1]))
    x = toy.array([1])
    with double.set_kernel_enabled("toy", False):
        assert (double(x), double(other.array([1]))) == ([2], [-1])
        with double.set_kernel_enabled("toy", False), double.set_kernel_enabled("toy"):
            assert double(x) == [-1]
        assert double(x) == [2]
    assert double(x) == [-1]
    with pytest.raises(ZeroDivisionError), double.set_kernel_enabled("toy", False):
        1 / 0  # noqa: B018  # the block is to fail
    assert double(x) == [-1]


def test_a_kernel_that_is_registered_while_switched_off_waits(double, toy):
    with double.set_kernel_enabled("toy", False):
        double.register_kernel("toy", lambda x, times: type(x)([-1]))
        assert double(toy.array([1])) == [2]
    assert double(toy.array([1])) == [-1]


def test_the_function_itself_cannot_be_switched_off(custom_op, toy):
    f = custom_op("t::f", lambda x: type(x)([1]), schema="(Tensor x) -> Tensor", device_types="toy")
    with f.set_kernel_enabled("toy", False):
        assert f(toy.array([0])) == [1]
    with pytest.warns(dc.OverwriteWarning):
        f.register_kernel("toy", lambda x: type(x)([2]))
    assert f(toy.array([0])) == [2]
    with f.set_kernel_enabled("toy", False):
        assert f(toy.array([0])) == [1]


def test_closing_while_a_kernel_is_switched_off_brings_nothing_back(double, toy, registry):
    double.register_kernel("toy", lambda x, times: x)
    with double.set_kernel_enabled("toy", False):
        double.close()
    assert not registry.entries


def test_a_kernel_comes_back_to_its_place_below_an_override(double, toy, registry):
    double.register_kernel("toy", lambda x, times: type(x)([-1]))
    x = toy.array([1])
    with dc.Library("t", "IMPL", registry=registry) as patch:
        patch.impl("double", lambda x, times: type(x)([-2]), toy.key, allow_override=True)
        with double.set_kernel_enabled("toy", False):
            assert double(x) == [-2]
        assert double(x) == [-2]
    assert double(x) == [-1]


def test_a_kernel_that_was_rolled_back_does_not_come_back(double, toy, registry):
    def register(value):
        double.register_kernel("toy", lambda x, times: type(x)([value]))

    register(-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ZeroDivisionError), registry.transaction():
            register(-2)
            1 / 0  # noqa: B018  # the block is to fail
    for enabled, expected in ((False, [2]), (True, [-1])):
        with double.set_kernel_enabled("toy", enabled):
            assert double(toy.array([1])) == expected
    assert double(toy.array([1])) == [-1]


def test_a_kernel_for_meta_takes_the_place_of_the_fake(double, meta):
    double.register_kernel("meta", lambda x, times: meta.array((9,)))
    assert double(meta.array((1,))).shape == (9,)


# Fakes.


def test_a_fake_sees_what_the_caller_passed(double, meta, tensors):
    seen = []

    @double.register_fake
    def fake(x, times):
        seen.append(type(x))
        return dc.wrap_like(x, meta.array(dc.shape(x), dc.strides(x), dc.dtype(x)))

    raw = meta.array((2, 3))
    assert double(raw).shape == (2, 3)
    made = double(tensors.wrap(raw))
    assert type(made) is tensors.tensor_type
    assert dc.shape(made) == (2, 3)
    assert seen == [meta.array, tensors.tensor_type]


def test_a_fake_is_given_lists_and_keywords(custom_op, meta, tensors):
    @custom_op("t::cat")
    def cat(xs: list[Tensor], y: Tensor | None, *, z: Tensor | None = None, n: int = 1) -> tuple[Tensor, list[Tensor]]:
        raise NotImplementedError

    @cat.register_fake
    def fake(xs, y, *, z, n):
        kinds = {type(x) for x in (*xs, z)}
        assert kinds == {tensors.tensor_type}
        assert y is None
        return z, [dc.wrap_like(x, meta.array((n,))) for x in xs]

    box = tensors.wrap(meta.array((2,)))
    first, rest = cat([box, box], None, z=box, n=5)
    assert dc.shape(first) == (2,)
    assert [dc.shape(x) for x in rest] == [(5,), (5,)]
    assert {type(x) for x in (first, *rest)} == {tensors.tensor_type}


def test_without_a_fake_meta_says_so(double, meta):
    with pytest.raises(dc.NoKernelError, match="t::double: there is no fake") as caught:
        double(meta.array((1,)))
    assert caught.value.hint == "register one: @double.register_fake"


def test_an_operator_that_only_writes_needs_no_fake(custom_op, meta, tensors):
    fill = custom_op("t::fill", lambda x: None, schema="(Tensor(a!) x) -> ()", mutates_args=["x"])
    fill_ = custom_op("t::fill_", lambda x: x, schema="(Tensor(a!) x) -> Tensor(a!)", mutates_args=["x"])
    both_ = custom_op(
        "t::both_",
        lambda x, *, y: (x, y),
        schema="(Tensor(a!) x, *, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))",
        mutates_args=["x", "y"],
    )
    for x, y in (
        (meta.array((1,)), meta.array((2,))),
        (tensors.wrap(meta.array((1,))), tensors.wrap(meta.array((2,)))),
    ):
        assert fill(x) is None
        assert fill_(x) is x
        assert both_(x, y=y) == (x, y)


# Gradients: a frontend with the smallest of engines.


@pytest.fixture
def recorder(make_frontend):
    """A frontend whose hook notes each formula that it is given, and runs it."""
    made = []

    class Engine(frontends.Autograd):
        def autograd_kernel(self, op, keyset, formula):
            made.append((op.name, "AutogradToy" in keyset, formula))
            below = (keyset.mask | keyset.marker) & ~dc.DispatchKey.AutogradToy

            def kernel(*args, **kwargs):
                result = op.redispatch(below, *args, **kwargs)
                if formula.backward is not None:
                    result.history = formula
                return result

            return kernel

    frontend = make_frontend("recorder", autograd=Engine())
    frontend.tensor_type.made = made
    return frontend


def leaf(frontend, array, key="AutogradToy"):
    tensor = frontend.wrap(array)
    tensor._dispatch_mask |= dc.DispatchKey[key]
    return tensor


def test_the_frontend_runs_the_formula(double, toy, recorder):
    made = recorder.tensor_type.made
    x = leaf(recorder, toy.array([1]))
    assert not hasattr(double(x), "history")
    assert made[-1] == ("t::double", True, dc.AutogradFormula())

    def backward(ctx, grad): ...
    def setup_context(ctx, inputs, output): ...

    double.register_autograd(backward, setup_context=setup_context)
    result = double(x)
    assert result.history == dc.AutogradFormula(backward, setup_context)
    assert result._dispatch_data == [2]
    assert not hasattr(double(recorder.wrap(toy.array([1]))), "history")


def test_a_frontend_without_an_engine_passes_the_formula_over(double, toy, tensors):
    double.register_autograd(lambda ctx, grad: grad)
    assert double(leaf(tensors, toy.array([1])))._dispatch_data == [2]
    with dc.include_keys("AutogradToy"):
        assert double(toy.array([1])) == [2]


def test_formulas_are_for_functional_operators(custom_op, registry):
    write = custom_op("t::write", lambda x: None, schema="(Tensor(a!) x) -> ()", mutates_args=["x"])
    named = custom_op("t::named", lambda *, x: x, schema="(*, Tensor x) -> Tensor")
    for register in (write.register_autograd, lambda f: dc.register_autograd(write.op, f)):
        with pytest.raises(
            dc.RegistrationError, match="t::write: an autograd formula can be registered for a functional"
        ):
            register(lambda ctx, grad: grad)
    with pytest.raises(dc.RegistrationError, match="but x is a keyword-only Tensor"):
        named.register_autograd(lambda ctx, grad: grad)


# Rules of layers, which a frontend makes kernels of.


class Half:
    """A dtype."""

    __schema_type__ = "ScalarType"

    def __repr__(self):
        return "Half"


@pytest.fixture
def layered(make_frontend):
    """A frontend whose hooks make kernels that return their first argument; ``made`` lists the hooks' own arguments."""
    made = []

    class Made(frontends.Layers):
        def batching_kernel(self, op, keyset, given):
            made.append((op.name, [key.name for key in keyset], given))
            return lambda *args, **kwargs: args[0]

        autocast_kernel = batching_kernel

    frontend = make_frontend("layered", layers=Made())
    frontend.tensor_type.made = made
    return frontend


def rows(info, in_dims, x, times=2):
    return x, in_dims[0]


def test_the_frontend_makes_a_kernel_of_a_batching_rule(double, toy, layered, tensors):
    assert double.register_vmap(rows) is rows
    with dc.include_keys("FuncTorchBatched"):
        assert double(layered.wrap(toy.array([3])))._dispatch_data == [3]
        assert double(tensors.wrap(toy.array([3])))._dispatch_data == [6]
        assert double(toy.array([3])) == [6]
    assert layered.tensor_type.made == [("t::double", ["FuncTorchBatched", "Toy"], rows)]
    assert double(layered.wrap(toy.array([3])))._dispatch_data == [6]


def test_the_frontend_makes_a_kernel_of_casts(double, toy, layered, tensors):
    assert double.register_autocast("toy", Half()) is None
    with dc.include_keys("AutocastToy"):
        assert double(layered.wrap(toy.array([3])))._dispatch_data == [3]
        assert double(tensors.wrap(toy.array([3])))._dispatch_data == [6]
        assert double(toy.array([3])) == [6]
    with dc.include_keys("AutocastCPU"):
        assert double(layered.wrap(toy.array([3])))._dispatch_data == [6]
    ((name, keys, casts),) = layered.tensor_type.made
    assert (name, keys) == ("t::double", ["AutocastToy", "Toy"])
    assert (casts.device_type, type(casts.dtype), casts.key.name) == ("toy", Half, "AutocastToy")


def test_rules_of_layers_are_replaced_without_a_warning_and_go_with_the_operator(double, toy, layered, registry):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        double.register_vmap()(lambda info, in_dims, x, times: (x, 0))
        double.register_vmap(rows)
        double.register_autocast("toy", Half())
        double.register_autocast("toy", Half())
    with dc.include_keys("FuncTorchBatched"):
        double(layered.wrap(toy.array([3])))
    assert layered.tensor_type.made[-1][-1] is rows
    double.close()
    assert not registry.entries


def test_a_batching_rule_that_was_rolled_back_is_gone(double, registry):
    with pytest.raises(ZeroDivisionError), registry.transaction():
        double.register_vmap(rows)
        1 / 0  # noqa: B018  # fails
    assert not double.op.has_kernel_for_dispatch_key("FuncTorchBatched")


def test_rules_of_layers_are_for_operators_that_exist_too(half, registry, toy, layered):
    with dc.Library("t", "IMPL", registry=registry) as lib:
        assert dc.register_vmap(half, rows, lib=lib) is rows
        dc.register_autocast(half, "toy", Half(), lib=lib)
        with dc.include_keys("AutocastToy"):
            assert half(layered.wrap(toy.array([4])))._dispatch_data == [4]
        assert half.default.has_kernel_for_dispatch_key("FuncTorchBatched")
    for key in ("FuncTorchBatched", "AutocastToy"):
        assert not half.default.has_kernel_for_dispatch_key(key)

    @dc.register_vmap(half)
    def rule(info, in_dims, x):
        return x, 0

    assert callable(rule)
    assert half.default.has_kernel_for_dispatch_key("FuncTorchBatched")


def test_rules_of_layers_that_cannot_be_are_refused(custom_op, double, half, library):
    named = custom_op("t::named", lambda *, x: x, schema="(*, Tensor x) -> Tensor")
    library.impl("loose", lambda x: x, "CPU")
    with pytest.raises(
        dc.RegistrationError, match=r"t::named: a batching rule is told .* but x is a keyword-only Tensor"
    ):
        named.register_vmap(rows)
    with pytest.raises(dc.ArgumentError, match="t::double: a batching rule is a function, not 3"):
        dc.register_vmap(double, 3)
    for register in (
        lambda: dc.register_vmap("t::loose", rows, lib=library),
        lambda: dc.register_autocast("t::loose", "cpu", Half(), lib=library),
    ):
        with pytest.raises(dc.OperatorNotFoundError, match="t::loose has no schema"):
            register()
    for device, error in (("toaster", dc.BackendNotFoundError), ("cpu:0", dc.BackendNotFoundError), (3, TypeError)):
        with pytest.raises(error):
            double.register_autocast(device, Half())
    for dtype in ("float16", None, float):
        with pytest.raises(dc.ArgumentError, match="cast_inputs is the dtype to which tensors are cast, not"):
            dc.register_autocast(half, "toy", dtype, lib=library)


# Operators that exist.


@pytest.fixture
def half(registry, library):
    library.define("half(Tensor x) -> Tensor")
    library.define("many.a(int x) -> int")
    library.define("many.b(str x) -> int")
    return registry.ops.t.half


def test_kernels_are_registered_by_device(half, registry, toy, make_backend, tensors):
    other = make_backend("spare")

    @dc.register_kernel(half, "toy")
    def on_toy(x):
        return type(x)(x.a / 2)

    assert half(tensors.wrap(toy.array([4])))._dispatch_data == [2]
    with pytest.raises(dc.NoKernelError):
        half(other.array([4]))
    with dc.Library("t", "IMPL", registry=registry) as lib:
        dc.register_kernel("t::half", None, lambda x: type(x)([0]), lib=lib)
        assert half(other.array([4])) == [0]
    with pytest.raises(dc.NoKernelError):
        half(other.array([4]))
    with pytest.raises(dc.BackendNotFoundError, match="gpu"):
        dc.register_kernel(half, ["toy", "gpu"], on_toy)
    assert len(registry.get("t::half").registrations(toy.key)) == 1


def test_registering_for_several_devices_is_one_transaction(half, registry, toy, make_backend):
    make_backend("spare")
    dc.register_kernel(half, "spare", lambda x: x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dc.OverwriteWarning):
            dc.register_kernel(half, ["toy", "spare"], lambda x: x)
    assert not registry.has_kernel("t::half", toy.key)


def test_keys_of_devices_are_known_without_loading_them():
    from dispatch_core.arrays.owners import named_key

    assert [named_key(name).name for name in ("cpu", "meta", "npu")] == ["CPU", "Meta", "NPU"]
    assert named_key("cuda").name == "CUDA"
    assert named_key("privateuseone").name == "PrivateUse1"


def test_fakes_and_formulas_for_operators_that_exist(half, registry, toy, meta, recorder):
    dc.register_kernel(half, "toy", lambda x: type(x)(x.a / 2))
    dc.register_fake(half)(lambda x: dc.wrap_like(x, meta.array(dc.shape(x))))
    assert dc.shape(half(recorder.wrap(meta.array((3,))))) == (3,)
    with dc.Library("t", "IMPL", registry=registry) as lib:
        dc.register_autograd(half, lambda ctx, grad: grad, lib=lib)
        assert half(leaf(recorder, toy.array([4]))).history is not None
    assert not hasattr(half(leaf(recorder, toy.array([4]))), "history")


def test_a_composite_needs_no_fake(half, library, meta):
    library.impl("half", lambda x: x)
    with pytest.raises(dc.RegistrationError, match="t::half is a composite and needs no fake"):
        dc.register_fake(half, lambda x: x)


def test_custom_operators_take_what_is_registered_from_outside(double, toy, meta, recorder):
    dc.register_kernel(double, "toy", lambda x, times: type(x)([-1]))
    with double.set_kernel_enabled("toy", False):
        assert double(toy.array([1])) == [2]
    dc.register_fake(double.op, lambda x, times: x)
    assert double(meta.array((1,))).shape == (1,)
    dc.register_autograd(double, lambda ctx, grad: grad)
    assert double(leaf(recorder, toy.array([1]))).history is not None


def test_names_are_looked_up(half, registry):
    with pytest.raises(dc.OperatorNotFoundError, match="no operator is named t::gone"):
        dc.register_kernel("t::gone", "cpu", lambda x: x, lib=dc.Library("t", "IMPL", registry=registry))
    with pytest.raises(dc.OperatorNotFoundError, match="t::many has 2 overloads") as caught:
        dc.register_kernel(registry.ops.t.many, None, lambda x: x)
    assert caught.value.hint == "name one of a, b"
    with pytest.raises(dc.ArgumentError, match="expected an operator or its name, not int"):
        dc.register_fake(3, lambda x: x)


def test_define_and_impl_without_a_library_of_ones_own(registry):
    with dc.Library("u", "FRAGMENT", registry=registry) as lib:
        assert dc.define("u::f", "(Tensor? x=None) -> str", lib=lib, tags="cheap") == "u::f"
        assert registry.ops.u.f.default.tags == {"cheap"}
        dc.impl("u::f", "default", lambda x: "default", lib=lib)
        assert registry.ops.u.f() == "default"

        @dc.impl("u::f", ("cpu", "AutogradCPU"), lib=lib)
        def f(x):
            return "cpu"

        assert registry.redispatch("u::f", "CPU") == registry.redispatch("u::f", "AutogradCPU") == "cpu"
        with pytest.raises(dc.BackendNotFoundError):
            dc.impl("u::f", ("meta", "nowhere"), f, lib=lib)
        assert not registry.has_kernel("u::f", "Meta")
    assert not registry.entries
    with pytest.raises(dc.RegistrationError, match="'f' names no namespace"):
        dc.define("f", "() -> ()")


def test_without_a_library_a_registration_stays_in_the_process():
    dc.define("test_custom_stays::f", "(int x) -> int")
    dc.impl("test_custom_stays::f", "default", lambda x: x + 1)
    gc.collect()
    assert dc.ops.test_custom_stays.f(1) == 2


# Handles of kernels.


def test_a_kernel_can_go_on_to_the_one_it_replaces(half, registry, toy, tensors):
    dc.register_kernel(half, "toy", lambda x: type(x)(x.a / 2))
    before = dc.get_kernel(half, toy.key)
    with dc.Library("t", "IMPL", registry=registry) as patch:

        @patch.impl("half", key=toy.key, with_keyset=True, allow_override=True)
        def patched(keyset, x):
            return type(x)(before.call_boxed(keyset, x).a + 100)

        assert half(toy.array([4])) == [102]
        assert half(tensors.wrap(toy.array([4])))._dispatch_data == [102]
        assert before(toy.array([4])) == before(x=toy.array([4])) == [2]
        wrapped = before(tensors.wrap(toy.array([4])))
        assert (type(wrapped), wrapped._dispatch_data) == (tensors.tensor_type, [2])
    assert half(toy.array([4])) == [2]


def test_a_handle_is_of_the_computed_kernel(half, library, registry, toy):
    library.impl("half", lambda x: type(x)([1]), "CompositeExplicitAutograd")
    found = dc.get_kernel("t::half.default", "toy".capitalize(), registry=registry)
    assert (found.rule, found.key, found.origin.file) == ("default backend kernel", toy.key, __file__)
    assert repr(found).startswith("<KernelHandle t::half Toy: default backend kernel, ")
    assert found(toy.array([0])) == [1]
    with pytest.raises(TypeError):
        found("no tensor")
    with pytest.raises(dc.NoKernelError, match=r"t::half has no kernel for AutogradToy \(missing\)"):
        dc.get_kernel(half, "AutogradToy")
    library.impl("half", dc.fallthrough_kernel, "Tracer")
    with pytest.raises(dc.NoKernelError, match=r"has no kernel for Tracer \(fallthrough\)"):
        dc.get_kernel(half, "Tracer")


def test_a_handle_gives_the_keyset_on(half, library, registry, toy, tensors):
    seen = []

    def layer(keyset, x):
        seen.append([key.name for key in keyset])
        return half.redispatch(keyset - "AutogradToy", x)

    library.impl("half", layer, "AutogradToy", with_keyset=True)
    library.impl("half", lambda x: type(x)(x.a / 2), toy.key)
    found = dc.get_kernel(half, "AutogradToy")
    x = leaf(tensors, toy.array([4]))
    assert found(x)._dispatch_data == found.call_boxed(["Tracer", "AutogradToy", "Toy"], x)._dispatch_data == [2]
    assert seen == [["AutogradToy", "Toy"], ["Tracer", "AutogradToy", "Toy"]]


def test_a_handle_says_when_its_kernel_is_gone(half, registry, toy):
    library = dc.Library("t", "IMPL", registry=registry)
    library.impl("half", lambda x: x, toy.key)
    found = dc.get_kernel(half, toy.key)
    library.close()
    with pytest.raises(
        dc.ClosedOperatorError, match="the kernel of t::half for Toy was taken back; it was registered at"
    ):
        found(toy.array([1]))


def test_a_handle_of_a_fallback_and_of_an_operator_without_schema(registry, toy):
    everything = dc.Library("_", "IMPL", registry=registry)
    everything.fallback(lambda op, *args, **kwargs: (op.name, *args), toy.key)
    dc.Library("t", "IMPL", "CPU", registry=registry).impl("loose", lambda *args, **kwargs: kwargs)
    assert dc.get_kernel(registry.ops.t.loose, toy.key)(1, 2) == ("t::loose", 1, 2)
    loose = dc.get_kernel(registry.ops.t.loose, "CPU")
    assert loose.call_boxed("CPU", a=1) == {"a": 1}
    everything.close()


def test_everything_public_is_there():
    assert [name for name in {*dc.__all__} - {*devkit.__all__} if not hasattr(dc, name)] == []
    assert set(dc.__all__) <= set(dir(dc))
