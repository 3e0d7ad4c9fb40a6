"""Calls that the front records for backward: of lists, in place, of several results, and of short ways with a gradient."""

from __future__ import annotations

import os

import pytest

if "DISPATCH_TEST_NATIVE" not in os.environ:
    pytest.importorskip("dispatch_calls_native._front", reason="the extension is not built: run nox -s native")

import dispatch_core as dc
import torchlike as T
from dispatch_calls_native import find_front
from dispatch_core.calls import native

front = find_front()
pytestmark = pytest.mark.skipif(native.find_front() is None, reason="the compiled front is turned off")
F, aten = T.nn.functional, dc.ops.aten
#: More calls than those whose results are compared.
MANY = 80
RECORDED = 3


def _leaf(*shape):
    count = T.ones(shape).numel()
    return (T.arange(float(count)).reshape(shape) / 7 - 1).requires_grad_()


#: Operator, and a call of it with tensors of which some require gradients.
CALLS = {
    "lists": (aten.cat.default, lambda x, y: aten.cat.default([x, y.detach(), x])),
    "a list of ints": (aten.stack.default, lambda x, y: aten.stack.default((x.detach(), y), 1)),
    "several results": (aten.max.dim, lambda x, y: aten.max.dim(x, 1)),
    "several results, some kept": (
        aten.native_layer_norm.default,
        lambda x, y: aten.native_layer_norm(x, [3], None, y[0], 1e-5),
    ),
    "views": (aten.split.Tensor, lambda x, y: aten.split.Tensor(x, 2)),
    "views of each row": (aten.unbind.int, lambda x, y: aten.unbind.int(x)),
    "in place": (aten.add_.Tensor, lambda x, y: aten.add_.Tensor(x * 1, y)),
    "in place, with a copy": (aten.mul_.Tensor, lambda x, y: aten.mul_.Tensor(x + 0, y)),
    "in place, with the result": (aten.exp_.default, lambda x, y: aten.exp_.default(x + 0)),
    "in place, of a plain tensor": (aten.add_.Tensor, lambda x, y: aten.add_.Tensor(T.zeros(3, 3), y)),
    "in place, of a view": (aten.mul_.Tensor, lambda x, y: aten.mul_.Tensor((x + 0)[0], y[1])),
    "facts": (aten.mean.default, lambda x, y: aten.mean.default(x)),
    "a layer": (aten.linear.default, lambda x, y: aten.linear.default(x, y + 0)),
    "a layer with a bias": (aten.linear.default, lambda x, y: aten.linear.default(x.detach(), y, x[0])),
    "a product": (aten.matmul.default, lambda x, y: aten.matmul.default(x, y + 0)),
    "a product of a result": (aten.matmul.default, lambda x, y: aten.matmul.default(x + 0, y.detach())),
    "an optional tensor": (aten.addmm.default, lambda x, y: aten.addmm.default(x, y, x.detach())),
    "a result": (aten.tanh.default, lambda x, y: aten.tanh.default(x + 0)),
}


def _show(found, leaves):
    """Return everything about results that their history shows, and the gradients through them."""
    results = [each for each in (found if isinstance(found, (tuple, list)) else [found]) if each.requires_grad]
    shown = [
        (each.tolist(), each._version, each.output_nr, each.grad_fn.name(), each._is_view(), str(each.dtype))
        for each in results
    ]
    edges = [[(node and node.name(), number) for node, number in each.grad_fn.next_functions] for each in results]
    gradients = T.autograd.grad([(each * each).sum() for each in results], leaves, allow_unused=True)
    return shown, edges, [each is not None and each.tolist() for each in gradients]


@pytest.mark.parametrize("name", CALLS)
def test_a_recorded_call_has_the_history_of_python(name):
    op, call = CALLS[name]
    shown = {}
    for _ in range(MANY):
        call(_leaf(3, 3), _leaf(3, 3))
    assert RECORDED in front.list_ways(op)
    for on in (False, True):
        was = front.serve(on)
        x, y = _leaf(3, 3), _leaf(3, 3)
        shown[on] = [_show(call(x, y), [x, y]) for _ in range(3)]
        front.serve(was)
    assert shown[True] == shown[False]
    assert any(each is not False for each in shown[True][0][2])


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_recorded_without_grad_mode(name):
    _, call = CALLS[name]
    for _ in range(MANY):
        call(_leaf(3, 3), _leaf(3, 3))
    shown = {}
    for on in (False, True):
        was = front.serve(on)
        x, y = _leaf(3, 3), _leaf(3, 3)
        with T.no_grad():
            found = call(x, y)
        results = found if isinstance(found, (tuple, list)) else [found]
        # A view of a leaf requires a gradient there, too, as in torch.
        shown[on] = [(each.tolist(), each.requires_grad, each._is_view()) for each in results]
        assert all(each._is_view() or not each.requires_grad for each in results)
        front.serve(was)
    assert shown[True] == shown[False]


def test_a_leaf_is_not_written_to():
    x, y = _leaf(2, 2), _leaf(2, 2)
    for _ in range(MANY):
        (x * 1).add_(y)
    for on in (False, True):
        was = front.serve(on)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            x.add_(y)
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            x[0].add_(y[0])
        front.serve(was)
    assert x._version == 0


def test_integers_take_values_that_require_a_gradient_without_a_history():
    y = _leaf(2, 2)
    for _ in range(MANY):
        (y * 1).copy_(y)
    for on in (False, True):
        was = front.serve(on)
        whole = T.zeros(2, 2, dtype=T.int64)
        whole.copy_(y)
        assert not whole.requires_grad
        assert whole._version == 1
        front.serve(was)


def test_a_layer_that_is_looked_at_goes_the_usual_way_for_a_while():
    x, w = T.ones(2, 3), _leaf(2, 3)
    for _ in range(MANY):
        F.linear(x, w)
    found = {}
    for on in (False, True):
        was = front.serve(on)
        F.linear(x, w).grad_fn.name()
        found[on] = [type(F.linear(x, w)._state).__name__ for _ in range(MANY)]
        front.serve(was)
    assert found[True] == found[False]
    assert len(set(found[True])) == 2


@pytest.mark.parametrize("how", [ValueError("on purpose"), KeyboardInterrupt(), None])
def test_an_error_below_a_record_leaves_nothing_behind(how):
    calls = [0]
    with dc.Library("front_recorded", "DEF") as library:
        library.define("op(Tensor x, Tensor[] others) -> Tensor")

        def kernel(x, others):
            calls[0] += 1
            if calls[0] > MANY and how is not None:
                raise how
            return x * 2

        library.impl("op", kernel, "CPU")
        library.register_autograd(
            "op", lambda ctx, grad: (grad * 2, [None]), setup_context=lambda ctx, inputs, output: None
        ) if hasattr(library, "register_autograd") else None
        op, x = dc.ops.front_recorded.op.default, T.ones(2)
        for _ in range(MANY):
            op(x, [x])
        if how is None:
            assert op(x, [x]).tolist() == [2, 2]
            return
        with pytest.raises(type(how)):
            op(x, [x])


def test_records_of_other_specs_are_refused():
    layout = front.Layout(T.Tensor, None)
    for wrong in ({"way": RECORDED, "count": 1}, {"way": RECORDED, "count": 1, "layout": layout, "enabled": 1}):
        with pytest.raises((KeyError, TypeError, ValueError)):
            front.Target(wrong)
