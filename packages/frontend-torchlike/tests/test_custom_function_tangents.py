"""The `jvp` of custom functions in transforms: it is what they differentiate along directions by, alone and nested."""

from __future__ import annotations

import gc
import weakref

import pytest

import torchlike
from torchlike import func
from torchlike.autograd import Function, forward_ad

X = torchlike.tensor([1.0, 2.0, -3.0])


def make_cube(**methods):
    """Make x³ as a function whose jvp is told from its backward: it is 100 times as large."""

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    body = {
        "forward": lambda x: x**3,
        "setup_context": setup_context,
        "backward": lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
        "jvp": lambda ctx, way: way * 300 * ctx.saved_tensors[0] ** 2,
        "generate_vmap_rule": True,
        **methods,
    }
    wrapped = {name: staticmethod(each) if callable(each) else each for name, each in body.items() if each is not None}
    return type("Cube", (Function,), wrapped).apply


def push(f, *args):
    return func.jvp(f, args, tuple(map(torchlike.ones_like, args)))[1].tolist()


DIRECT = {
    "jvp": lambda f: push(f, X),
    "without recording": lambda f: push(torchlike.no_grad()(f), X),
    "jacfwd": lambda f: func.jacfwd(f)(X).diag().tolist(),
    "linearize": lambda f: func.linearize(f, X)[1](torchlike.ones(3)).tolist(),
    "vmap of jvp": lambda f: func.vmap(lambda x: func.jvp(f, (x,), (torchlike.ones(()),))[1])(X).tolist(),
    "vmap of jacfwd": lambda f: func.vmap(func.jacfwd(f))(X).tolist(),
    "jvp of vmap": lambda f: push(func.vmap(f), X),
    "jvp of vmap of vmap": lambda f: push(func.vmap(func.vmap(f)), X[None])[0],
    "jacfwd of vmap": lambda f: func.jacfwd(func.vmap(f))(X).diag().tolist(),
    "dual numbers of vmap": lambda f: dual_tangent(func.vmap(f)),
    "between operators": lambda f: [each / 2 for each in push(lambda x: f(x * 2 / 2) * 2, X)],
}


def dual_tangent(f):
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(f(forward_ad.make_dual(X, torchlike.ones(3))))
    return found.tangent.tolist()


@pytest.mark.parametrize("name", DIRECT)
def test_transforms_along_directions_use_the_jvp(name):
    assert DIRECT[name](make_cube()) == pytest.approx([300.0, 1200.0, 2700.0])


SECOND = {
    "jvp of jvp": lambda f: push(lambda x: func.jvp(f, (x,), (torchlike.ones(3),))[1], X),
    "grad of jvp": lambda f: func.grad(lambda x: func.jvp(f, (x,), (torchlike.ones(3),))[1].sum())(X).tolist(),
    "jacfwd of jacfwd": lambda f: [func.jacfwd(func.jacfwd(f))(X)[i, i, i].item() for i in range(3)],
    "jacrev of jacfwd": lambda f: [func.jacrev(func.jacfwd(f))(X)[i, i, i].item() for i in range(3)],
}


@pytest.mark.parametrize("name", SECOND)
def test_a_jvp_is_differentiated_in_turn(name):
    assert SECOND[name](make_cube()) == pytest.approx([600.0, 1200.0, -1800.0])


def test_what_runs_backward_uses_backward():
    cube = make_cube()
    assert func.grad(lambda x: cube(x).sum())(X).tolist() == pytest.approx([3.0, 12.0, 27.0])
    # The outer transform goes along directions, of a gradient that backward has computed by operators.
    assert func.hessian(lambda x: cube(x).sum())(X).diag().tolist() == pytest.approx([6.0, 12.0, -18.0])
    assert func.grad(lambda x: func.vmap(func.vmap(cube))(x).sum())(X[None])[0].tolist() == [3.0, 12.0, 27.0]


def test_a_jvp_needs_no_backward_and_a_backward_no_jvp():
    assert push(make_cube(backward=None), X) == pytest.approx([300.0, 1200.0, 2700.0])
    assert push(make_cube(jvp=None), X) == pytest.approx([3.0, 12.0, 27.0])


def test_inputs_without_a_direction_have_zeros_or_none():
    seen, choices = [], [True]

    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs[:2])
        ctx.set_materialize_grads(choices[0])

    def pushed(ctx, x_way, y_way, n_way):
        x, y = ctx.saved_tensors
        seen.append((y_way if y_way is None else y_way.tolist(), n_way))
        return x_way * y * 3 if y_way is None else x_way * y * 3 + y_way * x * 3

    product = make_cube(forward=lambda x, y, n: x * y * n, setup_context=setup_context, backward=None, jvp=pushed)
    y = torchlike.tensor([10.0, 20.0, 30.0])
    assert push(lambda x: product(x, y, 3), X) == [30.0, 60.0, 90.0]
    choices[0] = False
    assert push(lambda x: product(x, y, 3), X) == [30.0, 60.0, 90.0]
    assert push(lambda x, y: product(x, y, 3), X, y) == [33.0, 66.0, 81.0]
    assert seen == [([0.0, 0.0, 0.0], None), (None, None), ([1.0, 1.0, 1.0], None)]


def test_several_results_of_which_one_has_no_gradient():
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(output[0])
        ctx.mark_non_differentiable(output[1])

    both = make_cube(
        forward=lambda x: (x.exp(), x > 0, x * 2),
        setup_context=setup_context,
        jvp=lambda ctx, way: (way * ctx.saved_tensors[0], None, None),
    )
    for call in (both, func.vmap(both)):
        (first, second, third), ways = func.jvp(call, (X,), (torchlike.ones(3),))
        assert second.tolist() == [True, True, False]
        assert ways[0].tolist() == first.tolist()
        assert (ways[1].any().item(), ways[2].tolist(), third.tolist()) == (False, [0.0] * 3, [2.0, 4.0, -6.0])


def test_arguments_that_rows_share():
    product = make_cube(
        forward=lambda x, w: (x * w, w * 2),
        setup_context=lambda ctx, inputs, output: ctx.save_for_forward(*inputs),
        jvp=lambda ctx, x, w: (x * ctx.saved_tensors[1] + w * ctx.saved_tensors[0], w * 2),
    )
    x, w = torchlike.arange(6.0).reshape(3, 2), torchlike.tensor([10.0, 20.0])
    rows = func.vmap(product, in_dims=(0, None), out_dims=(0, None))
    (_, doubled), (ways, twos) = func.jvp(rows, (x, w), (torchlike.ones(3, 2), torchlike.ones(2)))
    assert ways.tolist() == [[10.0, 21.0], [12.0, 23.0], [14.0, 25.0]]
    assert (doubled.tolist(), twos.tolist()) == ([20.0, 40.0], [2.0, 2.0])


def test_an_input_that_is_changed_in_place():
    def make(pushed):
        def setup_context(ctx, inputs, output):
            ctx.mark_dirty(*inputs)

        return make_cube(forward=lambda x: x.mul_(2), setup_context=setup_context, jvp=pushed)

    right, wrong = make(lambda ctx, way: way.mul_(5)), make(lambda ctx, way: way * 5)
    way = torchlike.ones(3)
    assert func.jvp(lambda x: right(x.clone()) + x, (X,), (way,))[1].tolist() == [6.0, 6.0, 6.0]
    assert way.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="An inplace custom Function is not modifying the forward mode gradients"):
        push(lambda x: wrong(x.clone()), X)


WRONG = {
    "two tangents": (lambda ctx, way: (way, way), r"invalid number of forward gradients \(expected 1 but got 2\)"),
    "another shape": (lambda ctx, way: way.sum(), r"Tensor is of size \[3\] while the given .* is of size \[\]"),
    "a number": (lambda ctx, way: 3, r"expected Variable or None \(got int\) for grad output 0"),
}


@pytest.mark.parametrize("use", [push, lambda f, x: dual_tangent(f)])
@pytest.mark.parametrize("name", WRONG)
def test_tangents_that_do_not_fit_are_refused(name, use):
    pushed, text = WRONG[name]
    with pytest.raises(RuntimeError, match=text):
        use(make_cube(jvp=pushed), X)


@pytest.mark.parametrize("use", [push, lambda f, x: dual_tangent(f)])
def test_a_tangent_of_a_result_without_one_is_refused(use):
    whole = make_cube(
        forward=lambda x: (x * 2, x.to(torchlike.int64)),
        setup_context=lambda ctx, inputs, output: None,
        jvp=lambda ctx, way: (way * 2, way),
    )
    with pytest.raises(RuntimeError, match="returned a gradient at position 1"):
        use(lambda x: whole(x)[0], X)


def test_an_error_in_a_jvp_arrives():
    with pytest.raises(ZeroDivisionError):
        push(make_cube(jvp=lambda ctx, way: 1 / 0), X)


def test_a_saved_tensor_that_was_changed_since_is_found():
    cube = make_cube()

    def change(x):
        y = x * 1
        z = cube(y)
        y.mul_(2)
        return z

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        push(change, X)


def test_nothing_of_a_call_lives_on():
    kept = []

    def pushed(ctx, way):
        kept.append(weakref.ref(ctx.saved_tensors[0]._dispatch_data))
        return way

    cube = make_cube(jvp=pushed)
    gc.collect()
    gc.disable()
    try:
        push(lambda x: cube(x * 1), X)
        assert [each() for each in kept] == [None]
    finally:
        gc.enable()
