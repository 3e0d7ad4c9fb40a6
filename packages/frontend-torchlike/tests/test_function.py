"""Custom autograd functions."""

import itertools

import pytest

import torchlike
from torchlike import tensor
from torchlike.autograd import Function


class Cube(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * x * scale

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x * ctx.scale, None


def test_forward_and_backward_share_a_context():
    x = tensor(2.0, requires_grad=True)
    y = Cube.apply(x, 10)
    assert y.grad_fn.name() == "CubeBackward"
    y.backward()
    assert x.grad.item() == 120.0


def test_backward_can_be_differentiated():
    x = tensor(2.0, requires_grad=True)
    (first,) = torchlike.autograd.grad(Cube.apply(x, 1), x, create_graph=True)
    (second,) = torchlike.autograd.grad(first, x)
    assert second.item() == 12.0


def test_saved_tensors_are_checked_and_freed():
    x = tensor(2.0, requires_grad=True) * 1
    y = Cube.apply(x, 1)
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    y = Cube.apply(x, 1)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_setup_context_takes_the_place_of_ctx_in_forward():
    class Square(Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = tensor(3.0, requires_grad=True)
    Square.apply(x).backward()
    assert x.grad.item() == 6.0


def test_several_results_and_missing_gradients():
    seen = []

    class Split(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append((a.tolist(), b.tolist()))
            return a * 2 + b * 3

    x = tensor([1.0, 1.0], requires_grad=True)
    _, b = Split.apply(x)
    b.sum().backward()
    assert seen == [([0.0, 0.0], [1.0, 1.0])]
    assert x.grad.tolist() == [3.0, 3.0]


def test_non_differentiable_results_and_needs_input_grad():
    class Where(Function):
        @staticmethod
        def forward(ctx, x, y):
            assert ctx.needs_input_grad == (True, False)
            mask = (x > y).to(torchlike.float32)
            ctx.mark_non_differentiable(mask)
            return x * 1, mask

        @staticmethod
        def backward(ctx, grad, _):
            return grad, None

    x = tensor([1.0, 3.0], requires_grad=True)
    out, mask = Where.apply(x, tensor([2.0, 2.0]))
    assert out.requires_grad and not mask.requires_grad


def test_a_wrong_number_of_gradients_is_an_error():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    with pytest.raises(RuntimeError, match=r"returned an incorrect number of gradients \(expected 1, got 2\)"):
        Wrong.apply(tensor(1.0, requires_grad=True)).backward()


def test_dirty_inputs_get_the_new_history():
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 5

    leaf = tensor([1.0], requires_grad=True)
    x = leaf * 1
    y = AddOne.apply(x)
    assert y is x
    y.sum().backward()
    assert leaf.grad.tolist() == [5.0]


def test_an_input_that_is_returned_stays_itself():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    x = tensor([1.0], requires_grad=True)
    y = Same.apply(x)
    assert y is not x and x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [7.0]


def make_scaling(place):
    """Return a function of two tensors that multiplies one of them by 3 in place, and adds the other."""

    class Scaling(Function):
        @staticmethod
        def forward(ctx, *given):
            written, other = given[place], given[1 - place]
            ctx.mark_dirty(written)
            return written.mul_(3).add_(other)

        @staticmethod
        def backward(ctx, grad):
            return (grad * 3, grad) if place == 0 else (grad, grad * 3)

    return Scaling


@pytest.mark.parametrize("device", ["cpu", "strict"])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(
    "views",
    [
        [],
        [lambda x: x[1:3]],
        [lambda x: x.view(2, 2), lambda x: x.t(), lambda x: x[0]],
        [lambda x: x.view(2, 2), lambda x: x.diagonal()],
    ],
)
@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True)])
def test_a_view_that_a_function_changes_in_place(views, place, needs, device):
    if device == "strict":
        pytest.importorskip("array_api_strict", reason="a device whose arrays have no strides needs array-api-strict")
    x = tensor([1.0, 2.0, 3.0, 4.0], requires_grad=needs[0]).to(device)
    base = x * 2
    written = base
    for view in views:
        written = view(written)
    other = torchlike.full(tuple(written.shape), 5.0, device=device, requires_grad=needs[1])
    expected = base.detach().clone()
    part = expected
    for view in views:
        part = view(part)
    part.mul_(3).add_(5)
    weights = torchlike.arange(1.0, 5.0, device=device)
    factors, share = weights * 2, weights.clone()
    part = factors
    for view in views:
        part, share = view(part), view(share)
    part.mul_(3)

    given = (written, other) if place == 0 else (other, written)
    result = make_scaling(place).apply(*given)
    assert result is written
    assert base.tolist() == expected.tolist()
    leaves = [each for each, needed in zip((x, other), needs, strict=True) if needed]
    found = torchlike.autograd.grad((base * weights).sum(), leaves)
    wanted = [each for each, needed in zip((factors, share), needs, strict=True) if needed]
    assert [each.tolist() for each in found] == [each.tolist() for each in wanted]


def test_a_function_that_changes_a_view_returns_it_alone():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2), x.sum()

        @staticmethod
        def backward(ctx, grad, other):
            return grad * 2 + other

    base = tensor([1.0, 2.0], requires_grad=True) * 1
    with pytest.raises(RuntimeError, match="cannot return more than one Tensor"):
        Two.apply(base[:1])


def test_a_view_that_forward_made_and_changed():
    class Part(Function):
        @staticmethod
        def forward(ctx, x, amount):
            part = x.clone()[:2]
            part += amount
            return part

        @staticmethod
        def backward(ctx, grad):
            return torchlike.cat([grad * 7, torchlike.zeros(1)]), None

    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    found = Part.apply(x, 2)
    assert type(found.grad_fn).__name__ == "PartBackward"
    found.sum().backward()
    assert (found.tolist(), x.grad.tolist()) == ([3.0, 4.0], [7.0, 7.0, 0.0])


@pytest.mark.parametrize("given", [((), {}), ((4,), {}), ((), {"n": 4}), ((), {"bias": 1.0}), ((4,), {"bias": 1.0})])
def test_setup_context_and_backward_see_the_defaults_of_forward(given):
    class Power(Function):
        @staticmethod
        def forward(x, n=3, bias=0.5):
            return x**n + bias

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n, ctx.bias = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.n * x ** (ctx.n - 1), None, None

    args, kwargs = given
    n, bias = (*args, kwargs.get("n", 3))[0], kwargs.get("bias", 0.5)
    x = tensor(2.0, requires_grad=True)
    y = Power.apply(x, *args, **kwargs)
    y.backward()
    assert (y.item(), x.grad.item()) == (2.0**n + bias, n * 2.0 ** (n - 1))
    assert torchlike.func.grad(lambda x: Power.apply(x, *args, **kwargs))(tensor(2.0)).item() == x.grad.item()


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("returned", [*itertools.product([True, False], repeat=2)])
@pytest.mark.parametrize("marked", [(0,), (1,), (0, 1), (1, 0)])
def test_marked_tensors_are_inputs_and_results(recorded, returned, marked):
    """Mark of an input (0) and of a tensor made inside (1) some, and return some."""

    class Write(torchlike.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            both = (x, x.clone())
            ctx.mark_dirty(*[both[each] for each in marked])
            return (*[each for each, is_returned in zip(both, returned, strict=True) if is_returned], y * 2)

        @staticmethod
        def backward(ctx, *grads):
            return grads[0], grads[-1]

    inputs = torchlike.ones(2), torchlike.ones(2, requires_grad=recorded)
    if not all(returned[each] for each in marked):
        with pytest.raises(RuntimeError, match="marked as dirty during the forward method were not returned"):
            Write.apply(*inputs)
    elif 1 in marked and recorded:
        with pytest.warns(UserWarning, match="received a tensor that was not an input"):
            Write.apply(*inputs)
    else:
        assert Write.apply(*inputs)[0].requires_grad == recorded


def test_contexts_are_of_the_class_that_annotations_name():
    from torchlike.autograd import function

    class Double(torchlike.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx)
            return grad * 2

    seen = []
    Double.apply(torchlike.ones(1, requires_grad=True)).backward()
    assert all(isinstance(ctx, function.FunctionCtx) and type(ctx) is Double._backward_cls for ctx in seen)
    assert issubclass(Double, function.FunctionCtx) and type(Double) is function.FunctionMeta
    assert issubclass(Double._backward_cls, function.BackwardCFunction)
    ctx = function.FunctionCtx()
    ctx.save_for_backward(1, 2)
    assert ctx.to_save == (1, 2)
    with pytest.warns(FutureWarning, match="automatically tracked"):
        ctx.mark_shared_storage()
    with pytest.raises(NotImplementedError, match="oldest style"):
        function.NestedIOFunction.apply(1)
