"""The older API for custom operators, and the names of ``torch._library`` and ``torch._C`` for them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import dispatch_core as dc
import torchlike
from torchlike import Tensor, library
from torchlike.library.internals import dispatcher, utilities
from torchlike.library.internals.registry import singleton
from torchlike.library.older import functions as custom_ops
from torchlike.library.older.registrations import CustomOp, custom_op, get_op, global_registry
from torchlike.utils._python_dispatch import TorchDispatchMode

NAME = "test_library_older::foo"


@pytest.fixture(autouse=True)
def _operators_are_taken_back():
    yield
    for each in list(global_registry.values()):
        each._destroy()


def define(hints=None, returns=Tensor):
    hints = {"x": Tensor} if hints is None else hints
    namespace: dict = {"hints": hints, "returns": returns}
    exec(f"def foo({', '.join(f'{each}: hints[{each!r}]' for each in hints)}) -> returns: ...", namespace)
    custom_ops.custom_op(NAME)(namespace["foo"])
    return get_op(NAME)


def test_kernels_and_what_is_said_of_missing_ones():
    op = define()
    for args, text in (
        ((torchlike.ones(1),), "there is no cpu impl registered"),
        ((torchlike.ones(1, device="meta"),), "there is no fake impl or Meta kernel registered"),
    ):
        with pytest.raises(NotImplementedError, match=text):
            op(*args)
    custom_ops.impl(NAME, device_types="cpu")(lambda x: x.sin())
    assert op(torchlike.ones(1)).tolist() == torchlike.ones(1).sin().tolist()
    with pytest.raises(
        RuntimeError, match=r"already has a cpu impl registered from Python at .*test_library_older\.py"
    ):
        custom_ops.impl(NAME, device_types="cpu")(abs)
    with pytest.raises(ValueError, match="we only support device_type"):
        custom_ops.impl(NAME, device_types=["cpu", "xla"])(abs)
    with pytest.raises(RuntimeError, match="Autograd has not been implemented"):
        op(torchlike.ones(1, requires_grad=True))
    custom_ops.impl_abstract(NAME)(lambda x: x.new_empty(3))
    assert op(torchlike.ones(1, device="meta")).shape == (3,)


def test_gradients_are_given_by_name():
    op = define({"xs": Sequence[Tensor], "y": Tensor | None, "n": int})
    custom_ops.impl(NAME)(lambda xs, y, n: (xs[0] * xs[1]) ** n)
    custom_ops.impl_backward(NAME)(lambda ctx, saved, grad: {"xs": [2 * grad * saved[1], None], "y": None})
    x, z = torchlike.ones(1, requires_grad=True), torchlike.full((1,), 3.0)
    with pytest.raises(RuntimeError, match="unable to find a 'save_for_backward' registration"):
        op([x, z], None, 1)
    custom_ops.impl_save_for_backward(NAME)(lambda inputs, output: [inputs.n, *inputs.xs[1:]])
    op([x, z], None, 1).sum().backward()
    assert x.grad.tolist() == [6]


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (lambda grad: grad, "to be a dict"),
        (lambda grad: {"x": grad}, r"to have keys \{.*'y'.*\}"),
        (lambda grad: {"x": (grad,), "y": None}, "either None or a Tensor"),
        (lambda grad: {"x": grad, "y": grad}, "expected None as the gradient because input 'y' was not a Tensor"),
    ],
)
def test_gradients_that_are_not_the_arguments_are_refused(found, text):
    op = define({"x": Tensor, "y": Tensor | None})
    custom_ops.impl(NAME)(lambda x, y: x.clone())
    custom_ops.impl_save_for_backward(NAME)(lambda inputs, output: None)
    custom_ops.impl_backward(NAME)(lambda ctx, saved, grad: found(grad))
    y = op(torchlike.ones(1, requires_grad=True), None)
    with pytest.raises(RuntimeError, match=text):
        y.sum().backward()


def test_results_may_have_no_gradient():
    op = define(returns=tuple[list[Tensor], Tensor])
    custom_ops.impl(NAME)(lambda x: ([x.clone()], x.clone()))
    custom_ops.impl_save_for_backward(NAME)(lambda inputs, output: [])
    with pytest.raises(RuntimeError, match="output_differentiability"):
        custom_ops.impl_backward(NAME, output_differentiability=[True])(lambda ctx, saved, grad: {})
    custom_ops.impl_backward(NAME, output_differentiability=[False, True])(
        lambda ctx, saved, grads, grad: {"x": 2 * grad}
    )
    x = torchlike.ones(1, requires_grad=True)
    (first,), second = op(x)
    assert not first.requires_grad
    second.sum().backward()
    assert x.grad.tolist() == [2]


def test_operators_of_libraries_take_such_registrations():
    with torchlike.library._scoped_library("test_library_older", "FRAGMENT") as library:
        library.define("foo(Tensor x) -> Tensor")
        library.impl("foo", abs, "CUDA")
        with pytest.raises(RuntimeError, match="already has an implementation"):
            custom_ops.impl(NAME)(abs)
        custom_ops.impl(NAME, device_types="cpu")(lambda x: x.sin())
        assert get_op(NAME)(torchlike.zeros(1)).tolist() == [0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: custom_ops.custom_op("foo", "() -> ()"), ValueError, "Expected there to be a namespace"),
        (lambda: custom_ops.custom_op("a::foo.b", "() -> ()"), ValueError, "overloads"),
        (lambda: custom_ops.custom_op("aten::foo", "(Tensor x) -> Tensor"), ValueError, "is a reserved namespace"),
        (lambda: custom_ops.custom_op("a::foo", "("), AssertionError, "Invalid function schema: foo"),
        (lambda: custom_ops.custom_op("a::foo", "(Tensor(a!) x) -> Tensor"), ValueError, "only supports functional"),
        (lambda: custom_ops.custom_op("a::foo", "(Tensor self) -> Tensor"), ValueError, "named 'self'"),
        (lambda: custom_ops.custom_op("a::foo")(len), ValueError, "to be a Python function"),
        (lambda: custom_op("a::define", "(Tensor y) -> Tensor")(define), ValueError, "signature to match"),
        (lambda: CustomOp(None, "a", None, "b", None), RuntimeError, "constructor is private"),
        (lambda: custom_ops._destroy("a::nowhere"), RuntimeError, "Could not find custom op"),
    ],
)
@pytest.mark.filterwarnings("ignore:torch._custom_op is deprecated")
def test_errors_are_torch_s(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_mode_s_rule_for_an_operator():
    class Plain(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with torchlike.library._scoped_library("test_library_older", "FRAGMENT") as library:
        library.define("add(Tensor x, float y) -> Tensor")
        library.impl("add", lambda x, y: x + y, "CPU")
        op = torchlike.ops.test_library_older.add.default
        torchlike.library.register_torch_dispatch(
            op, Plain, lambda mode, func, types, args, kwargs: -func(*args), lib=library
        )
        assert singleton.find("test_library_older::add").torch_dispatch_rules.find(Plain) is not None
        with Plain():
            assert op(torchlike.ones(1), 1.0).tolist() == [-2]
            assert (torchlike.ones(1) + 1).tolist() == [2]
        assert op(torchlike.ones(1), 1.0).tolist() == [2]
    assert singleton.find("test_library_older::add").torch_dispatch_rules.find(Plain) is None


def test_a_class_s_rule_for_an_operator():
    class Wrapped(torchlike.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise AssertionError(f"{func.name} has no rule")

    with torchlike.library._scoped_library("test_library_older", "FRAGMENT") as library:
        library.define("add(Tensor x, float y) -> Tensor")
        library.impl("add", lambda x, y: x + y, "CPU")
        op = torchlike.ops.test_library_older.add.default
        seen = []
        library._register_torch_dispatch_rule(
            "add",
            Wrapped,
            lambda cls, func, types, args, kwargs: (seen.append((cls, func, types)), torchlike.zeros(3))[1],
        )
        assert op(torchlike.ones(1).as_subclass(Wrapped), 1.0).tolist() == [0, 0, 0]
        assert seen == [(Wrapped, op, (Wrapped,))]
    assert op is not None


def test_guards_hold_until_they_go():
    x = torchlike.ones(1, requires_grad=True)
    guard = dispatcher._AutoDispatchBelowAutograd()
    assert not (2 * x).requires_grad
    del guard
    assert (2 * x).requires_grad
    with dispatcher._ExcludeDispatchKeyGuard(dc.DispatchKey.AutogradCPU):
        assert not (2 * x).requires_grad


def test_questions_about_operators():
    assert utilities.lookup_op("aten::add_.Tensor").overload_name == "Tensor"
    assert utilities.mutates_and_returns_first_arg(torchlike.ops.aten.add_.Tensor)
    assert utilities.is_functional_schema("f(Tensor(a) x) -> Tensor(a)", allow_valid_view=True)
    schema = dispatcher.parse_schema("f(Tensor x, int n=2, *, Tensor?[] ys, Device device) -> ()")
    assert [utilities.is_tensorlist_like_type(each.type) for each in schema.arguments] == [False, False, True, False]
    assert utilities.get_device_arg_index(schema) == 3
    assert utilities.fill_defaults(schema, (1,), {"ys": [], "device": "cpu"}) == ((1, 2), {"ys": [], "device": "cpu"})
    assert dispatcher._jit_resolve_packet("aten::sum", torchlike.ones(2), dim=0) == "dim_IntList"
    with pytest.raises(RuntimeError, match="failed to match any schema"):
        dispatcher._jit_resolve_packet("aten::sum", 1, 2, 3)
    assert dispatcher._dispatch_has_kernel_for_dispatch_key("aten::neg", "CPU")
    x = torchlike.ones(2, 2)
    assert dispatcher._any_output_is_alias_to_input_or_output(([[x]],), {}, (x.t(),))
    assert not dispatcher._any_output_is_alias_to_input_or_output((x,), None, (2 * x,))


def test_keys_of_every_call_are_told_and_forced():
    keys = dispatcher.DispatchKeySet("TESTING_ONLY_GenericMode")
    include, exclude = dispatcher._dispatch_tls_local_include_set(), dispatcher._dispatch_tls_local_exclude_set()
    assert not (include & keys)
    x = torchlike.ones(2, requires_grad=True)
    autograd = dispatcher.DispatchKeySet("AutogradCPU")
    with dispatcher._ForceDispatchKeyGuard(include, exclude | autograd):
        assert dispatcher._dispatch_tls_local_exclude_set() & autograd
        assert not (x * 2).requires_grad
    with dispatcher._ForceDispatchKeyGuard(), dispatcher._ExcludeDispatchKeyGuard(autograd):
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_a_fallback_may_call_operators_without_its_key():
    keys, called = dispatcher.DispatchKeySet("TESTING_ONLY_GenericMode"), []
    include, exclude = (
        dispatcher._dispatch_tls_local_include_set() | keys,
        dispatcher._dispatch_tls_local_exclude_set(),
    )

    def fallback(op, *args, **kwargs):
        called.append((op, args[1:], kwargs))
        with dispatcher._ForceDispatchKeyGuard(include, exclude | keys):
            return op(*args, **kwargs)

    x = torchlike.ones(2)
    with library._scoped_library("_", "IMPL") as opened:
        opened.fallback(fallback, "TESTING_ONLY_GenericMode")
        with dispatcher._ForceDispatchKeyGuard(include, exclude):
            assert (x + x).tolist() == [2, 2]
            assert torchlike.add(x, x, alpha=2).tolist() == [3, 3]
            assert torchlike.cumsum(x, 0, dtype=torchlike.float64).dtype == torchlike.float64
    # Arguments that equal their defaults are left out.
    add, cumsum = torchlike.ops.aten.add.Tensor, torchlike.ops.aten.cumsum.default
    assert [kwargs for op, _, kwargs in called if op is add] == [{}, {"alpha": 2}]
    assert (cumsum, (0,), {"dtype": torchlike.float64}) in called


def test_operators_are_found_and_called_by_their_handles():
    found = dispatcher._dispatch_find_schema_or_throw("aten::add", "Tensor")
    assert found is torchlike.ops.aten.add.Tensor
    assert dispatcher._dispatch_call_boxed(found, torchlike.ones(1), torchlike.ones(1)).tolist() == [2]
    with pytest.raises(RuntimeError, match="aten::no_such does not exist"):
        dispatcher._dispatch_find_schema_or_throw("aten::no_such", "")
