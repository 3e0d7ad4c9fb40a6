"""What programs reach of the graph: edges as inputs and outputs, saved tensors, callbacks, gradients that never come."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import torchlike as t
from dispatch_core.frontends import included_mask
from torchlike.autograd import Function, Variable, forward_ad, grad, gradcheck, gradgradcheck
from torchlike.autograd.graph import (
    GradientEdge,
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    get_gradient_edge,
    register_multi_grad_hook,
)
from torchlike.autograd.graph import saved_tensors_hooks as hooks
from torchlike.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


def leaf(*values: float) -> t.Tensor:
    return t.tensor(values, dtype=t.float64, requires_grad=True)


def test_an_edge_stands_for_its_tensor():
    x = leaf(1.0, 2.0)
    middle = (x * x).sum()
    edge = get_gradient_edge(middle)
    (first,) = grad(middle.exp(), edge, retain_graph=True)
    assert grad(edge, x, first)[0].tolist() == (2 * x * first).tolist()
    y = x.clone()
    old = GradientEdge(y.grad_fn, y.output_nr)
    y *= 2
    assert [each.tolist() for each in grad(y.sum(), (old, y))] == [[2.0, 2.0], [1.0, 1.0]]
    t.autograd.backward((3 * x).sum(), inputs=get_gradient_edge(x))
    assert x.grad.tolist() == [3.0, 3.0]
    unused = GradientEdge(leaf(1.0).clone().grad_fn, 0)
    assert grad((x * 1).sum(), (unused, x), allow_unused=True)[0] is None
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used"):
        grad((x * 1).sum(), (unused, x), materialize_grads=True)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        grad(get_gradient_edge(x * 2), x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        grad(get_gradient_edge(x * 2), x, t.ones(3, dtype=t.float64))


def test_a_node_shows_what_it_saved():
    x = leaf(1.0, 2.0)
    double = x * 2
    y = double * x
    assert y.grad_fn._saved_self.tolist() == [2.0, 4.0]
    assert y.grad_fn._saved_self.grad_fn is double.grad_fn
    assert y.grad_fn._saved_other.is_leaf
    result = x.exp()
    assert result.grad_fn._saved_result.grad_fn is result.grad_fn
    total = x.view(1, 2).sum(1).grad_fn
    assert (total._saved_dim, total._saved_self_sym_sizes) == ((1,), (1, 2))
    assert {"_saved_self", "_saved_other"} <= {*dir(y.grad_fn)}
    with pytest.raises(AttributeError, match="'MulBackward0' object has no attribute '_saved_result'"):
        _ = y.grad_fn._saved_result
    with hooks(lambda each: 2 * each, lambda each: each / 2):
        packed = x * x
    assert packed.grad_fn._saved_self.tolist() == [1.0, 2.0]
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn._saved_self


@pytest.mark.parametrize("view", [False, True])
def test_saved_tensors_may_change_within_the_block(view: bool):
    x = leaf(1.0, 2.0)
    with allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        z = (y**2 + y**2).sum()
        (y[:1] if view else y).mul_(5)
        assert len(context.cloned) == 1
        z.backward()
        assert len(context.cloned) == 0
        with pytest.raises(RuntimeError, match="cannot be nested"), allow_mutation_on_saved_tensors():
            pass
        again = (y.detach().requires_grad_() ** 2).sum()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        again.backward()


def test_callbacks_run_when_backward_is_over():
    seen = []

    def last() -> None:
        seen.append("last")

    def first() -> None:
        seen.append("first")
        Variable._execution_engine.queue_callback(last)

    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda gradient: Variable._execution_engine.queue_callback(first))
    x.register_hook(lambda gradient: seen.append("leaf"))
    y.backward()
    assert seen == ["leaf", "first", "last"]
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        Variable._execution_engine.queue_callback(last)


def test_hooks_see_that_no_gradient_came():
    x = t.ones(2, 3, requires_grad=True)
    one, other = x.unbind()
    seen = []
    one.register_hook(seen.append)
    other.sum().backward()
    assert seen == [None]

    class Nothing(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return None

    x.grad = None
    x.register_hook(seen.append)
    Nothing.apply(x * 1).sum().backward()
    assert seen == [None, None]
    assert x.grad is None


@pytest.mark.parametrize("dtype", [t.float64, t.complex128])
def test_fast_gradcheck_finds_what_the_slow_one_finds(dtype: t.dtype):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.factor, None

    x = t.arange(6).reshape(2, 3).to(dtype).requires_grad_()
    weight = t.ones(3, 4, dtype=t.complex128, requires_grad=True)
    for fast in (False, True):
        assert gradcheck(lambda x, w: (x.to(w.dtype) @ w, x * x), (x, weight), check_forward_ad=True, fast_mode=fast)
        assert gradgradcheck(lambda x: x * x * x, (x,), fast_mode=fast)
        assert gradcheck(Wrong.apply, (x, 2), fast_mode=fast)
        assert not gradcheck(Wrong.apply, (x, 2.01), fast_mode=fast, raise_exception=False)


def test_gradcheck_moves_the_inputs_themselves():
    state = leaf(2.0)

    def apply(x: t.Tensor) -> t.Tensor:
        assert x.requires_grad
        return x * state if x is given else x * 0

    given = leaf(1.0, 2.0)
    assert gradcheck(apply, (given, *[]))
    assert given.tolist() == [1.0, 2.0]
    with pytest.raises(AssertionError, match="same shape when inputs are perturbed"):
        gradcheck(lambda x: t.cat([x, x]) if bool((x >= 1).all()) else x, leaf(1.0))
    with pytest.raises(AssertionError, match="at least one of"):
        gradcheck(t.sin, given, check_backward_ad=False)
    wrong = t.ones(2, dtype=t.complex128, requires_grad=True)

    def shift(x: t.Tensor) -> t.Tensor:
        y = x.clone()
        y.register_hook(lambda gradient: gradient + 1e-2)
        return y

    with pytest.raises(RuntimeError, match="While considering the imaginary part of complex outputs only"):
        gradcheck(shift, wrong)


def test_gradcheck_tries_gradients_that_never_come():
    def refuse(gradient: t.Tensor | None) -> None:
        if gradient is None:
            raise RuntimeError("nothing came")

    def apply(x: t.Tensor) -> t.Tensor:
        y = x.clone()
        y.register_hook(refuse)
        return y

    with pytest.warns(UserWarning, match="undefined gradient support"), pytest.raises(RuntimeError, match="undefined"):
        gradcheck(apply, leaf(1.0))
    assert gradcheck(apply, leaf(1.0), check_undefined_grad=False)


def test_tangents_that_do_not_fit_are_refused_as_torch_refuses_them():
    x = t.ones(2)
    assert forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert forward_ad._current_level == 0
        dual = forward_ad.make_dual(x, x)
        for primal, tangent, text in [
            (x, t.ones(3), "has a different size than that of the original Tensor"),
            (x, dual, "itself has a forward gradient at the same level"),
            (dual, x, "already has a forward gradient at the same level"),
        ]:
            with pytest.raises(RuntimeError, match=text):
                forward_ad.make_dual(primal, tangent)
        with pytest.raises(ValueError, match="Expected primal to be floating point"):
            forward_ad.make_dual(t.ones(2, dtype=t.int64), x)


def test_hooks_of_all_optimizers():
    seen = []
    x = t.tensor([1.0], requires_grad=True)
    x.grad = t.ones(1)
    with (
        register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: seen.append("before")),
        register_optimizer_step_post_hook(lambda optimizer, args, kwargs: seen.append("after")),
    ):
        t.optim.SGD([x], 0.5).step()
    t.optim.SGD([x], 0.5).step()
    assert seen == ["before", "after"]
    assert np.allclose(x.detach().numpy(), 0.0)


def test_of_nested_hooks_the_innermost_see_a_tensor():
    x = leaf(1.0, 2.0)
    with hooks(lambda each: each * 3, lambda each: each * 3):
        with hooks(lambda each: each * 5, lambda each: each * 5):
            y = (x * x).sum()
        z = (x * x).sum()
        with pytest.raises(RuntimeError, match="not here"), disable_saved_tensors_hooks("not here"):
            pass
    assert [grad(each, x)[0].tolist() for each in (y, z)] == [[50.0, 100.0], [18.0, 36.0]]


@pytest.mark.parametrize("act", ["__enter__", "__exit__"])
def test_hooks_that_backward_enters_end_with_it(act: str):
    block = hooks(lambda each: each, lambda each: (getattr(block, act)(), each)[1])
    before = included_mask()
    with block:
        leaf(1.0).sin().backward()
    assert included_mask() == before
    with disable_saved_tensors_hooks("no hooks are left"):
        pass
    assert included_mask() == before


def test_a_node_can_be_called():
    x = leaf(3.0)
    y = x**2
    assert y.grad_fn(x.detach()).tolist() == [18.0]
    with pytest.raises(TypeError, match="expected 1 arguments, got 2 instead"):
        y.grad_fn(x.detach(), x.detach())


def test_materialized_gradients():
    x, a = leaf(0.5), leaf(1.0)
    first = grad(x * a, x, create_graph=True)
    second = grad(first, x, create_graph=True, materialize_grads=True)
    assert grad(second, x, materialize_grads=True)[0].tolist() == [0.0]

    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            other = x.clone()
            ctx.mark_non_differentiable(other)
            ctx._materialize_non_diff_grads = False
            return x.clone(), other

        @staticmethod
        def backward(ctx, one, other):
            assert other is None
            return one

    assert grad(Two.apply(x)[0], x)[0].tolist() == [1.0]


def test_forward_mode_of_a_function_of_the_users():
    class Product(Function):
        @staticmethod
        def forward(ctx, x, y, times):
            ctx.save_for_forward(x, y)
            ctx.times = times
            return x * y * times

        @staticmethod
        def jvp(ctx, x_tangent, y_tangent, times):
            assert times is None
            x, y = ctx.saved_tensors
            return (x * y_tangent + y * x_tangent) * ctx.times

    class Twice(Function):
        @staticmethod
        def forward(ctx, x, rightly):
            ctx.mark_dirty(x)
            ctx.rightly = rightly
            return x.mul_(2)

        @staticmethod
        def jvp(ctx, tangent, rightly):
            return tangent.mul_(2) if ctx.rightly else tangent * 2

    with forward_ad.dual_level():
        x = forward_ad.make_dual(t.tensor(2.0), t.tensor(1.0))
        assert forward_ad.unpack_dual(Product.apply(x, t.tensor(3.0), 2)).tangent == 6
        assert forward_ad.unpack_dual(Twice.apply(x.clone(), True)).tangent == 2
        with pytest.raises(RuntimeError, match="is not modifying the forward mode gradients inplace"):
            Twice.apply(x.clone(), False)


def test_objects_of_functions_are_refused():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Same()
    with pytest.raises(RuntimeError, match="non-static forward method is deprecated"):
        made(t.ones(1))


def test_a_decorated_generator_takes_errors_and_closes_in_its_mode():
    seen = []

    @t.no_grad()
    def count():
        for number in range(3):
            try:
                yield number
            except ValueError:
                seen.append(("error", t.is_grad_enabled()))
            except GeneratorExit:
                seen.append(("exit", t.is_grad_enabled()))
                raise

    steps = count()
    assert (next(steps), steps.throw(ValueError)) == (0, 1)
    assert t.is_grad_enabled()
    steps.close()
    assert seen == [("error", False), ("exit", False)]


def test_small_rules_of_leaves():
    x = leaf(1.0)
    with t.no_grad():
        assert x.numpy().tolist() == [1.0]
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\)"):
        x.numpy()
    x.register_post_accumulate_grad_hook(lambda tensor: tensor.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        (x * 2).backward()


def test_which_hooks_run_with_captured_gradients():
    log: list[str] = []

    def note(name):
        return lambda *given: log.append(name)

    a = leaf(1.0)
    b = a * 2
    c = b * 2
    a.register_hook(note("a"))
    b.register_hook(note("b"))
    accumulation = b.grad_fn.next_functions[0][0]
    for name, node in (("A", accumulation), ("B", b.grad_fn)):
        node.register_prehook(note(f"before {name}"))
        node.register_hook(note(f"after {name}"))
    all_of_b, all_of_a = ["b", "before B", "after B"], ["a", "before A", "after A"]
    for inputs, wanted in [((b,), ["b"]), ((a,), [*all_of_b, "a"])]:
        grad(c, inputs, retain_graph=True)
        assert log == wanted
        log.clear()
    for inputs, wanted in [((b,), all_of_b), ((a, b), [*all_of_b, *all_of_a]), (None, [*all_of_b, *all_of_a])]:
        c.backward(inputs=inputs, retain_graph=True)
        assert log == wanted
        log.clear()


def test_hooks_of_a_leaf_run_in_torchs_order():
    x = leaf(1.0)
    accumulation = (x * 1).grad_fn.next_functions[0][0]

    def add(tensor):
        tensor.grad.add_(0.5)

    x.register_hook(lambda gradient: gradient - 2)
    accumulation.register_prehook(lambda gradients: (gradients[0] / 5,))
    x.register_post_accumulate_grad_hook(add)

    def last(nothing, gradients):
        x.grad = gradients[0] * 10

    accumulation.register_hook(last)
    (x * 1).backward()
    assert x.grad.item() == pytest.approx(3)


def test_a_batch_of_gradients():
    x, unused = leaf(1.0, 2.0), leaf(1.0)
    y = x * x
    rows = t.eye(2, dtype=t.float64)
    found, nothing = grad(y, (x, unused), rows, is_grads_batched=True, allow_unused=True, retain_graph=True)
    assert (found.tolist(), nothing) == ([[2.0, 0.0], [0.0, 4.0]], None)
    with pytest.raises(RuntimeError, match="If `is_grads_batched=True`"):
        grad(y, x, t.ones(2, dtype=t.float64), is_grads_batched=True)
    assert grad(y, x, rows, is_grads_batched=True)[0].tolist() == found.tolist()
    with pytest.raises(RuntimeError, match="a second time"):
        grad(y, x, rows, is_grads_batched=True)


def test_a_hook_on_several_tensors_belongs_to_one_backward():
    first, second, third, unused = (leaf(float(number)) for number in range(1, 5))
    called, ways = [], []
    register_multi_grad_hook((first, second, third, unused), called.append)
    register_multi_grad_hook((first, second, third, unused), ways.append, mode="any")
    out = (second * third).sum()
    for _ in range(2):  # a backward that comes to two of them
        out.backward(inputs=(second, third), retain_graph=True)
        assert [None if each is None else each.item() for each in called.pop()] == [None, 3.0, 2.0, None]
    (first * second).sum().backward()
    assert [None if each is None else each.item() for each in called.pop()] == [2.0, 1.0, None, None]
    assert (called, len(ways)) == ([], 3)


def test_a_hook_on_several_tensors_takes_no_gradients_of_another_thread():
    x, y = leaf(2.0), leaf(3.0)
    called = []
    together = threading.Barrier(2)

    def wait(gradient):
        together.wait(timeout=30)  # both backwards have come to the tensor

    register_multi_grad_hook((x, y), called.append)
    for each in (x, y):
        each.register_hook(wait)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda factor: (x * y * factor).sum().backward(), (1.0, 10.0)))
    assert sorted([each.item() for each in found] for found in called) == [[3.0, 2.0], [30.0, 20.0]]


def draw_sparse(choose, is_coalesced):
    """Return a matrix of columns that are dense or numbers, some elements of which are not there."""
    rest = (2,) * int(choose.integers(2))
    indices = t.tensor([[0, 0, 1, 1], [2, 0, 1, 1 if choose.random() < 0.5 and not is_coalesced else 2]])
    values = t.tensor(choose.random((4, *rest)))
    made = t.sparse_coo_tensor(indices, values, (2, 3, *rest))
    return (made.coalesce() if is_coalesced else made).requires_grad_()


@pytest.mark.parametrize("masked", [True, False])
def test_gradients_of_sparse_tensors_are_checked(masked):
    choose = np.random.default_rng(0)
    functions = {
        "sum": t.sum,
        "mul": lambda x: x * 3,
        "dense": lambda x: x.to_dense(masked_grad=masked) ** 2,
        "coalesce": lambda x: x.coalesce(),
        "turned": lambda x: x.transpose(0, 1),
    }
    for name, function in functions.items():
        for is_coalesced in (True, False):
            x = draw_sparse(choose, is_coalesced)
            for fast in (False, True):
                assert gradcheck(function, x, masked=masked, fast_mode=fast), name
            if masked or name != "dense":  # a gradient of all places has its zeros left out, and so what they depend on
                assert gradgradcheck(function, x, masked=masked), name
    assert gradcheck(lambda x: x.to_sparse() * 2, leaf(1.0, 3.0, 2.0), masked=masked)


@pytest.mark.parametrize("masked", [True, False])
def test_a_wrong_gradient_of_a_sparse_tensor_is_found(masked):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x.to_dense()

        @staticmethod
        def backward(ctx, grad):
            return (grad * 2).to_sparse()

    x = draw_sparse(np.random.default_rng(1), True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(Wrong.apply, x, masked=masked)


def test_a_sparse_tensor_is_called_coalesced_or_not():
    x = t.sparse_coo_tensor(t.tensor([[0, 1]]), t.tensor([1.0, 2.0]), (3,))
    other = x.detach()
    assert x._coalesced_(True) is x
    assert (x.is_coalesced(), x.indices().tolist(), other.is_coalesced()) == (True, [[0, 1]], False)
    assert not x._coalesced_(False).is_coalesced()


def test_pack_hooks_get_the_tensors_themselves_in_order():
    """Arguments come by name, results behind them."""
    x, y, seen = t.ones(3, requires_grad=True), t.ones(3), []
    with hooks(lambda tensor: (seen.append(tensor), tensor)[1], lambda tensor: tensor):
        product = x * y
        power = product**x
        part = product.clone()[1:].exp_()
    exponent, base, result, written = seen[1:]
    assert seen[0] is y and exponent is x and base is product and result is power and written is part
    assert [each.requires_grad for each in seen] == [False, True, True, True, True]
    assert result.grad_fn is power.grad_fn and not result.is_leaf
    (power.sum() + part.sum()).backward()
    assert x.grad.tolist() == pytest.approx([1.0, 1.0 + np.e, 1.0 + np.e])
