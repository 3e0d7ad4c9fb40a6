"""``torchlike.library``: operators as torch's programs define them, in the dispatcher's one registry."""

from __future__ import annotations

import gc
import inspect
import re

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from torchlike import Tensor
from torchlike.library import Library, custom_op, opcheck, register_fake
from torchlike.library.internals import dispatcher


@pytest.fixture
def library():
    with torchlike.library._scoped_library("test_library", "FRAGMENT") as made:
        yield made


@pytest.fixture
def op():
    """Make operators of functions that are gone after the test."""
    made = []

    def make(fn, **options):
        made.append(custom_op(f"test_library::{fn.__name__}", fn, **{"mutates_args": (), **options}))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_kernel_for_a_device_takes_the_tensors_of_the_call(library):
    seen = []
    library.define("sine(Tensor x) -> Tensor")
    library.impl("sine", lambda x: seen.append(x) or x.sin(), "CPU")
    x = torchlike.ones(2)
    assert torchlike.ops.test_library.sine(x).tolist() == x.sin().tolist()
    assert seen[0] is x
    assert dc.ops.test_library.sine.default is torchlike.ops.test_library.sine.default


def test_the_parts_of_a_kernel_are_differentiated_where_no_formula_is_registered(library):
    library.define("sine(Tensor x) -> Tensor")
    library.impl("sine", lambda x: x.sin(), "CPU")
    x = torchlike.ones(2, requires_grad=True)
    torchlike.ops.test_library.sine(x).sum().backward()
    assert x.grad.tolist() == x.detach().cos().tolist()


def test_a_formula_takes_the_place_of_the_parts_and_gives_it_back(library):
    library.define("sine(Tensor x) -> Tensor")
    library.impl("sine", lambda x: x.sin(), "CPU")
    x = torchlike.ones(2, requires_grad=True)
    with torchlike.library._scoped_library("test_library", "FRAGMENT") as other:
        torchlike.library.register_autograd("test_library::sine", lambda ctx, grad: 7 * grad, lib=other)
        torchlike.ops.test_library.sine(x).sum().backward()
        assert x.grad.tolist() == [7, 7]
    x.grad = None
    torchlike.ops.test_library.sine(x).sum().backward()
    assert x.grad.tolist() == x.detach().cos().tolist()


def test_a_custom_function_under_a_device_key_is_differentiated_and_found_by_opcheck(library):
    class Half(torchlike.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad / 2

    library.define("half(Tensor x) -> Tensor")
    library.impl("half", Half.apply, "CPU")
    library.impl("half", lambda x: x.clone(), "Meta")
    x = torchlike.ones(2, requires_grad=True)
    torchlike.ops.test_library.half(x).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5]
    with pytest.raises(dc.OpCheckError, match="does not have an autograd kernel"):
        opcheck(torchlike.ops.test_library.half.default, (x,))


def test_arguments_that_equal_their_defaults_are_left_out(library):
    library.define("scale(Tensor w, int x = 2, *, int y = 3, int z) -> Tensor")
    given = []
    library.impl("scale", lambda *args, **kwargs: given.append((args[1:], kwargs)) or args[0].clone(), "CPU")
    w = torchlike.ones(1)
    torchlike.ops.test_library.scale(w, z=4)
    torchlike.ops.test_library.scale(w, 5, y=6, z=4)
    assert given == [((), {"z": 4}), ((5,), {"y": 6, "z": 4})]


def test_a_kernel_without_a_default_gets_the_schema_s(library):
    library.define("scale(Tensor w, int x = 2) -> Tensor")
    library.impl("scale", lambda w, x: w * x, "CPU")
    assert torchlike.ops.test_library.scale(torchlike.ones(1)).tolist() == [2]


def test_a_second_kernel_warns_of_the_line_and_is_refused_on_demand(library):
    library.define("one(Tensor x) -> Tensor")
    library.impl("one", lambda x: x + 1, "CPU")
    with pytest.warns(dc.OverwriteWarning, match="test_library::one has a kernel for CPU") as caught:
        library.impl("one", lambda x: x + 2, "CPU")
    assert caught[0].filename == __file__
    with pytest.raises(RuntimeError, match="already a kernel registered from python overriding one's behavior for CPU"):
        library.impl("one", lambda x: x + 3, "CPU", allow_override=False)
    assert torchlike.ops.test_library.one(torchlike.zeros(1)).tolist() == [2]


def test_a_library_s_registrations_go_with_it():
    def define():
        kept = Library("test_library", "FRAGMENT")
        kept.define("passing() -> ()")
        assert hasattr(torchlike.ops.test_library, "passing")

    define()
    gc.collect()
    assert not hasattr(torchlike.ops.test_library, "passing")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda lib: Library("test_library", "BAD"), ValueError, "Unsupported kind: BAD"),
        (lambda lib: Library("prim", "DEF"), ValueError, "prim is a reserved namespace"),
        (lambda lib: lib.define("here(Tensor x) -> Tensor"), RuntimeError, "multiple times"),
        (lambda lib: lib.define("bad(asdf x) -> Tensor"), RuntimeError, "unknown type specifier"),
        (lambda lib: lib.define("bad(int64_t x) -> Tensor"), RuntimeError, "Use `SymInt` or `int`"),
        (lambda lib: lib.define("bad(double x) -> Tensor"), RuntimeError, "Use `float`"),
        (lambda lib: lib.define("bad(Tensor x) -> Tensor", tags="inplace"), ValueError, "first positional argument"),
        (lambda lib: lib.define("bad(Tensor x) -> Tensor", tags="out"), ValueError, "at least one mutable"),
        (lambda lib: lib.impl("here", 3, "CPU"), TypeError, "callable but found type <class 'int'>"),
        (lambda lib: lib.impl("here", abs, "NOPE"), RuntimeError, "could not parse dispatch key"),
        (lambda lib: lib.fallback(abs, "CPU"), RuntimeError, 'global namespace "_" but it is test_library'),
        (
            lambda lib: Library("test_library", "IMPL").define("bad() -> ()"),
            RuntimeError,
            "Cannot define an operator inside of a TORCH_LIBRARY_IMPL block",
        ),
        (lambda lib: torchlike.library.define("bad", "() -> ()"), ValueError, "namespace"),
        (lambda lib: torchlike.library.define("a::b", "b() -> ()"), ValueError, "expected schema to look like"),
        (lambda lib: torchlike.library.impl("a::b", "nowhere"), RuntimeError, "Expected one of cpu, cuda"),
        (lambda lib: torchlike.library.get_kernel("test_library::here", "CUDA"), RuntimeError, "no kernel for CUDA"),
        (lambda lib: torchlike.library.get_ctx(), RuntimeError, "outside of a fake"),
        (lambda lib: torchlike.library.triton_op("a::b", mutates_args=()), NotImplementedError, "Triton"),
        (lambda lib: opcheck(torchlike.sin, ()), ValueError, "OpOverload"),
        (
            lambda lib: opcheck(torchlike.ops.aten.sin.default, (), test_utils="blah"),
            ValueError,
            "test_utils to be subset of",
        ),
    ],
)
def test_errors_are_torch_s(library, call, error, text):
    library.define("here(Tensor x) -> Tensor")
    with pytest.raises(error, match=re.escape(text)):
        call(library)


def test_an_operator_of_a_function(op):
    def add(x: Tensor, y: float = 1.0) -> Tensor:
        return torchlike.from_numpy(x.numpy(force=True) + y)

    made = op(add)
    x = torchlike.ones(2, requires_grad=True)
    assert repr(made) == "<CustomOpDef(test_library::add)>"
    assert str(made.op.schema) == "test_library::add(Tensor x, float y=1.0) -> Tensor"
    assert "pt2_compliant_tag" in made.op.tags and torchlike.Tag.pt2_compliant_tag in made.op.tags
    y = made(x)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()
    made.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=_keep)
    made(x, 3.0).sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="There was no fake impl registered for <CustomOpDef"):
        made(torchlike.ones(2, device="meta"))
    register_fake(made, lambda x, y=1.0: torchlike.empty_like(x))
    assert made(torchlike.ones(2, device="meta")).shape == (2,)
    assert set(opcheck(made, (torchlike.ones(2),)).values()) == {"SUCCESS"}


def _keep(ctx, inputs, output):
    ctx.factor = inputs[1]


def test_a_name_that_is_defined_again_is_replaced(op):
    def f(x: Tensor) -> Tensor:
        return x + 1

    first = op(f)
    held = torchlike.ops.test_library.f
    second = op(f, schema="(Tensor x, int y=0) -> Tensor")
    assert held(torchlike.zeros(1)).tolist() == [1]
    assert torchlike.ops.test_library.f.default is second.op is not first.op


@pytest.mark.parametrize("returned", [lambda x: x, lambda x: x.view(-1), lambda x: x[:1]])
def test_results_that_share_memory_with_an_argument_are_refused(op, returned):
    def f(x: Tensor) -> Tensor:
        return returned(x)

    with pytest.raises(RuntimeError, match="may not alias any inputs"):
        op(f)(torchlike.ones(2))


def test_writes_raise_versions_and_tagged_results_are_the_arguments(op):
    def sine_(x: Tensor) -> None:
        array = x.numpy()
        np.sin(array, out=array)

    def add_(x: Tensor, y: Tensor) -> Tensor:
        return x.add_(y)

    def into(x: Tensor, *, out: Tensor) -> Tensor:
        return out.copy_(x)

    x = torchlike.ones(2)
    version = x._version
    op(sine_, mutates_args={"x"}, device_types="cpu")(x)
    assert x.tolist() == torchlike.ones(2).sin().tolist() and x._version > version
    made = op(add_, mutates_args={"x"}, tags=torchlike.Tag.inplace)
    assert made(x, x) is x
    assert str(made.op.schema) == "test_library::add_(Tensor(a0!) x, Tensor y) -> Tensor(a0!)"
    out, meta = torchlike.zeros(2), torchlike.empty(2, device="meta")
    made = op(into, mutates_args={"out"}, tags=[torchlike.Tag.out])
    assert made(x, out=out) is out and out.tolist() == x.tolist()
    assert made(meta, out=meta) is meta
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        made(x.clone().requires_grad_(), out=out)
    with pytest.raises(RuntimeError, match="Out variants do not support autograd"):
        made.register_autograd(lambda ctx, grad: grad)
    with pytest.warns(UserWarning, match=re.escape("torch.Tag.out")):
        made.register_fake(lambda x, *, out: out)


def test_a_kernel_of_a_device_can_be_switched_off(op, caplog):
    def f(x: Tensor) -> Tensor:
        return x + 1

    made, x = op(f), torchlike.zeros(1)
    with made.set_kernel_enabled("gpu", enabled=False):
        assert made(x).tolist() == [1]
    assert "no kernel was registered for this device type" in caplog.text
    made.register_kernel("cpu", lambda x: x + 2)
    with made.set_kernel_enabled("cpu", enabled=False):
        assert made(x).tolist() == [1]
        with made.set_kernel_enabled("cpu", enabled=False):
            assert "already disabled" in caplog.text
    assert made(x).tolist() == [2]


def test_an_operator_without_tensors_goes_by_its_device(op):
    def ones(device: torchlike.device) -> Tensor:
        return torchlike.ones(2)

    made = op(ones, device_types="cpu")
    assert made("cpu").tolist() == made(device=torchlike.device("cpu")).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="ones does not have a kernel registered for meta"):
        made("meta")

    def nothing() -> Tensor:
        return torchlike.ones(2)

    def perhaps(device: torchlike.device | None = None) -> Tensor:
        return torchlike.ones(2)

    for each in (nothing, perhaps):
        with pytest.raises(ValueError, match="required to have a `device"):
            op(each, device_types="cpu")
        assert not hasattr(torchlike.ops.test_library, each.__name__)


def test_vmap_and_autocast_rules(op):
    def times(x: Tensor, y: Tensor) -> Tensor:
        return x * y

    made, x = op(times), torchlike.arange(6.0).reshape(2, 3)
    made.register_vmap(lambda info, in_dims, x, y: (x * y + 1, 0))
    assert torchlike.vmap(made)(x, x).tolist() == (x * x + 1).tolist()
    torchlike.library.register_vmap("test_library::times", lambda info, in_dims, x, y: (x + y, 0))
    assert torchlike.vmap(made)(x, x).tolist() == (x + x).tolist()
    torchlike.library.register_autocast(made.op, "cpu", torchlike.bfloat16)
    with torchlike.autocast("cpu", dtype=torchlike.bfloat16):
        assert made(x, x).dtype is torchlike.bfloat16


def test_a_kernel_goes_on_to_the_one_that_it_replaces():
    before = torchlike.library.get_kernel("aten::neg", "CPU")
    x = torchlike.ones(2, requires_grad=True)
    with torchlike.library._scoped_library("aten", "IMPL") as library:
        with pytest.warns(dc.OverwriteWarning):
            library.impl("neg", lambda keyset, x: before.call_boxed(keyset, x) - 1, "CPU", with_keyset=True)
        y = -x
        kernel = torchlike.library.get_kernel("aten::neg", "CPU")
    assert y.tolist() == [-2, -2] and y.grad_fn.name() == "NegBackward0"
    assert (-x).tolist() == [-1, -1]
    with pytest.raises(RuntimeError, match="has been invalidated"):
        kernel.call_boxed("CPU", x)


def test_a_pipeline_keeps_the_history_of_a_kernel_of_tensors(library):
    library.define("sine(Tensor x) -> Tensor")
    library.impl("sine", lambda x: x.sin(), "CPU")
    x = torchlike.ones(2, requires_grad=True)
    with torchlike.pipeline():
        torchlike.ops.test_library.sine(x * 2).sum().backward()
    assert x.grad.tolist() == (2 * (2 * x.detach()).cos()).tolist()


def test_explicit_calls_take_values_that_are_still_to_be_computed():
    neg, kernel = dc.ops.aten.neg.default, torchlike.library.get_kernel("aten::neg", "CPU")
    with torchlike.pipeline():
        x = torchlike.ones(2) * 2
        found = neg.redispatch(dc.DispatchKeySet("CPU"), x), kernel.call_boxed("CPU", x * 2)
    assert [each.tolist() for each in found] == [[-2, -2], [-4, -4]]


def test_opcheck_finds_what_the_schema_does_not_say(library):
    library.define("write(Tensor x) -> Tensor")
    library.impl("write", lambda x: x.sin_().clone(), "CompositeExplicitAutograd")
    library.define("share(Tensor x) -> Tensor")
    library.impl("share", lambda x: x[:], "CompositeExplicitAutograd")
    library.define("shape(Tensor x) -> Tensor")
    library.impl("shape", lambda x: x.clone(), "CPU")
    register_fake("test_library::shape", lambda x: x.new_empty(1), lib=library)
    x = torchlike.ones(2)
    for name, text in {
        "write": "Argument x is not defined as mutable but was mutated",
        "share": "Argument x is not defined to alias output but was aliasing",
        "shape": "Shapes .* are not equal",
    }.items():
        with pytest.raises(dc.OpCheckError, match=text):
            opcheck(getattr(torchlike.ops.test_library, name), (x,))
    assert x.tolist() == [1, 1]
    found = opcheck(torchlike.ops.test_library.share.default, (x,), raise_exception=False)
    assert isinstance(found.pop("test_schema"), RuntimeError)
    assert set(found.values()) == {"SUCCESS"}


def test_opcheck_compares_a_functionalized_call(library):
    calls = []
    library.define("grow(Tensor x) -> Tensor")
    library.impl("grow", lambda x: calls.append(1) or x * len(calls))
    with pytest.raises(dc.OpCheckError, match="eager-mode PyTorch vs AOTDispatcher"):
        opcheck(torchlike.ops.test_library.grow, (torchlike.ones(2, requires_grad=True),))


def test_a_fake_waits_for_an_operator_of_a_namespace_without_any():
    taken_back = Library("test_library_later", "FRAGMENT")
    register_fake("test_library_later::foo", lambda x: x.new_empty(7), lib=taken_back)
    taken_back._destroy()
    register_fake("test_library_later::foo", lambda x: x.new_empty(3))
    assert not hasattr(torchlike.ops.test_library_later, "foo")
    with torchlike.library._scoped_library("test_library_later", "FRAGMENT") as library:
        library.define("foo(Tensor x) -> Tensor")
        assert torchlike.ops.test_library_later.foo(torchlike.ones(1, device="meta")).shape == (3,)
        with pytest.raises(RuntimeError, match="no operator is named test_library_later::bar"):
            register_fake("test_library_later::bar", abs)


def test_a_checkpoint_of_an_operator_with_a_formula(op):
    def sine(x: Tensor) -> Tensor:
        return x.sin()

    made, x = op(sine), torchlike.ones(2, requires_grad=True)
    made.register_autograd(
        lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    torchlike.utils.checkpoint.checkpoint(made, x, use_reentrant=False).sum().backward()
    assert x.grad.tolist() == x.detach().cos().tolist()


def test_a_written_result_says_that_its_gradient_is_lost(op):
    def add_(x: Tensor, y: Tensor) -> Tensor:
        return x.add_(y)

    made = op(add_, mutates_args={"x"}, tags="inplace")
    leaf, y = torchlike.ones(2, requires_grad=True), torchlike.ones(2)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        made(leaf, y)
    x = leaf * 2
    assert made(x, y) is x
    with pytest.raises(RuntimeError, match="derivative for test_library::add_ is not implemented"):
        x.sum().backward()


def test_pipelines_and_captures_take_the_parts_of_a_kernel(op):
    def twice_sine(x: Tensor) -> Tensor:
        return x.sin() * 2

    made = op(twice_sine)
    x = torchlike.linspace(0, 1, 4)
    expected = (x.sin() * 2 + 1).tolist()
    with torchlike.pipeline():
        y = made(x) + 1
    assert y.tolist() == expected
    captured = torchlike.capture(lambda x: made(x) + 1)
    assert [captured(x).tolist() for _ in range(4)] == [expected] * 4


@pytest.mark.no_pipeline(reason="the explanation names the recorder")
def test_an_operator_is_documented_and_explained_by_its_function(op):
    def shift(x: Tensor, by: float = 1.0) -> Tensor:
        """Add a number."""
        return x + by

    made = op(shift)
    assert torchlike.ops.test_library.shift.__doc__ == "Add a number."
    assert list(inspect.signature(made).parameters) == ["x", "by"]
    text = str(dc.explain(made.op, torchlike.ones(1)))
    assert f"runs: {__name__}.{shift.__qualname__} at {__file__}" in text


def test_a_library_s_kernel_asks_for_tensors(library):
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x.clone(), "CPU")
    with pytest.raises(TypeError, match="its kernels take the tensors of a frontend"):
        torchlike.ops.test_library.f(3)


def test_a_kernel_under_autograd_serves_tensors_that_require_no_grad(library):
    def kernel(x):
        with dispatcher._AutoDispatchBelowAutograd():
            return op(x) * 10

    library.define("f(Tensor x) -> Tensor")
    op = torchlike.ops.test_library.f
    library.impl("f", lambda x: x + 1, "CPU")
    library.impl("f", kernel, "Autograd")
    x = torchlike.zeros(1)
    assert op(x).tolist() == op(x.requires_grad_()).tolist() == [10]
    with torchlike.library._scoped_library("test_library", "FRAGMENT") as other:
        with pytest.warns(dc.OverwriteWarning):
            other.impl("f", lambda x: x + 7, "Autograd")
        assert op(x.detach()).tolist() == [7]
    assert op(x.detach()).tolist() == [10]
    library.define("alone(Tensor x) -> Tensor")
    library.impl("alone", lambda x: x + 3, "AutogradCPU")
    assert torchlike.ops.test_library.alone(x.detach()).tolist() == [3]
    with pytest.raises(NotImplementedError, match="no kernel"):
        torchlike.ops.test_library.alone(torchlike.zeros(1, device="meta"))
