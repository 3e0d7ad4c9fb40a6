"""Custom autograd functions."""

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
