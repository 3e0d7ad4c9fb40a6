"""Backward, ``grad``, hooks, versions and the errors around them."""

import gc
import random
import threading
import weakref

import pytest

import torchlike
from torchlike import Tensor, autograd, no_grad, tensor
from torchlike.autograd.graph import Node, saved_tensors_hooks
from torchlike.utils.checkpoint import checkpoint


@pytest.fixture
def x():
    return tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_gradients_reach_leaves_and_accumulate(x):
    for times in (1, 2):
        (x * x).sum().backward()
        assert x.grad.tolist() == [2.0 * times, 4.0 * times, 6.0 * times]


def test_accumulation_keeps_the_gradients_identity(x):
    x.sum().backward()
    first = x.grad
    x.sum().backward()
    assert x.grad is first


def test_leaves_do_not_share_a_gradient_with_each_other():
    a, b = tensor([1.0], requires_grad=True), tensor([1.0], requires_grad=True)
    (a + b).sum().backward()
    a.grad.zero_()
    assert b.grad.tolist() == [1.0]


def test_a_tensor_used_twice_gets_both_contributions(x):
    y = x * 2
    (y + y * y).sum().backward()
    assert x.grad.tolist() == [2 + 8.0 * v for v in (1, 2, 3)]


def test_grad_gives_gradients_and_leaves_dot_grad_alone(x):
    y = (x * x).sum()
    (gx,) = autograd.grad(y, x)
    assert gx.tolist() == [2.0, 4.0, 6.0]
    assert x.grad is None


def test_grad_by_an_inner_tensor_computes_only_what_it_needs(x):
    calls = []
    y = x * 2
    y.register_hook(lambda grad: calls.append("y"))
    x.register_hook(lambda grad: calls.append("x"))
    (gy,) = autograd.grad((y * y).sum(), y)
    assert gy.tolist() == [4.0, 8.0, 12.0]
    assert calls == ["y"]


def test_unused_inputs_are_refused_or_none(x):
    other = tensor(1.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        autograd.grad(x.sum(), [x, other])
    assert autograd.grad(x.sum(), [x, other], allow_unused=True)[1] is None
    assert autograd.grad(x.sum(), [x, other], materialize_grads=True)[1].item() == 0.0


def test_double_backward(x):
    (first,) = autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = autograd.grad(first.sum(), x, create_graph=True)
    (third,) = autograd.grad(second.sum(), x)
    assert first.tolist() == [3.0, 12.0, 27.0]
    assert second.tolist() == [6.0, 12.0, 18.0]
    assert third.tolist() == [6.0, 6.0, 6.0]


def test_backward_twice_needs_retain_graph(x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_a_graph_without_saved_tensors_may_run_again(x):
    y = (x + x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4.0] * 3


def test_backward_needs_a_gradient_for_more_than_one_element(x):
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    (x * 2).backward(tensor([1.0, 10.0, 100.0]))
    assert x.grad.tolist() == [2.0, 20.0, 200.0]
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of"):
        (x * 2).backward(tensor([1.0]))


def test_backward_of_what_needs_no_gradient_is_an_error():
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        tensor(1.0).backward()


def test_backward_by_chosen_inputs(x):
    other = tensor(2.0, requires_grad=True)
    (x * other).sum().backward(inputs=[other])
    assert other.grad.item() == 6.0
    assert x.grad is None


def test_broadcast_gradients_are_summed_to_the_inputs_shape():
    a = torchlike.ones(2, 1, 3, requires_grad=True)
    b = torchlike.ones(4, 1, requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.shape == (2, 1, 3) and a.grad.tolist()[0][0] == [4.0] * 3
    assert b.grad.shape == (4, 1) and b.grad.tolist()[0] == [6.0]


def test_gradients_have_the_inputs_dtype():
    a = torchlike.ones(2, requires_grad=True)
    b = torchlike.ones(2, dtype=torchlike.float64, requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.dtype == torchlike.float32
    assert b.grad.dtype == torchlike.float64


def test_no_grad_records_nothing(x):
    with no_grad():
        y = x * 2
    assert not y.requires_grad and y.is_leaf and y.grad_fn is None


def test_detach_shares_memory_and_versions_but_no_history(x):
    y = x * 1
    d = y.detach()
    assert not d.requires_grad and d.is_leaf
    d.zero_()
    assert y.tolist() == [0.0] * 3
    assert y._version == d._version == 1


def test_results_without_gradients_do_not_require_them(x):
    assert not (x > 1).requires_grad
    assert not x.argmax().requires_grad


# In-place changes.


def test_a_saved_tensor_that_was_changed_in_place_is_caught(x):
    y = (x * 1).exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        y.sum().backward()
    assert "torchlike.FloatTensor [3]" in str(caught.value)
    assert "output 0 of ExpBackward0, is at version 1; expected version 0" in str(caught.value)


def test_a_saved_input_changed_through_a_view_is_caught(x):
    a = tensor([1.0, 2.0, 3.0])
    y = (x * a).sum()
    a[0] = 5.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_an_in_place_operator_whose_formula_needs_its_input_keeps_a_copy(x):
    y = x * 1
    y.sin_()
    y.sum().backward()
    assert torchlike.allclose(x.grad, x.detach().cos())


def test_an_in_place_operator_becomes_the_tensors_history(x):
    y = x * 1
    y.mul_(3)
    assert y.grad_fn.name() == "MulBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [3.0] * 3


def test_leaves_that_require_grad_are_not_changed_in_place(x):
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with pytest.raises(
        RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place operation"
    ):
        x[0].add_(1)
    assert x.tolist() == [1.0, 2.0, 3.0] and x._version == 0
    with no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 3.0, 4.0] and x._version == 1


# Hooks.


def test_a_hook_sees_and_may_replace_the_gradient(x):
    seen = []
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.tolist()))
    handle = y.register_hook(lambda grad: grad * 10)
    y.sum().backward(retain_graph=True)
    assert seen == [[1.0] * 3]
    assert x.grad.tolist() == [20.0] * 3
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [22.0] * 3


@pytest.mark.parametrize(
    "scale", [lambda x: x * 2, lambda x: x / 2, lambda x: x.clone().mul_(2), lambda x: x.clone().div_(2)]
)
def test_a_product_with_a_number_goes_back_once(x, scale):
    total = scale(x).sum()
    node = total.grad_fn.next_functions[0][0]
    assert node._saved_other == 2
    total.backward()
    kept = x.grad.clone()
    for again in (total.backward, lambda: node._saved_other):
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            again()
    assert x.grad.equal(kept)


def test_leaf_hooks_see_the_sum_once(x):
    seen = []
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    (x + x * 2).sum().backward()
    assert seen == [[3.0] * 3] * 2


def test_node_hooks_run_before_and_after(x):
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: tuple(g if g is None else g + 1 for g in grad_inputs))
    y.sum().backward()
    assert x.grad.tolist() == [5.0] * 3


def test_hooks_need_a_gradient():
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        tensor(1.0).register_hook(lambda grad: None)


def test_retain_grad_keeps_the_gradient_of_an_inner_tensor(x):
    y = x * 2
    y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0, 8.0, 12.0]
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert (x * 2).grad is None


# The graph.


def test_the_graph_can_be_walked(x):
    y = (x * 2 + 1).sum()
    names = []
    node = y.grad_fn
    while node is not None:
        names.append(node.name())
        last = node
        node = node.next_functions[0][0] if node.next_functions else None
    assert names == ["SumBackward0", "AddBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
    assert type(last).__name__ == "AccumulateGrad"
    assert last.variable is x


def test_deep_graphs_run_and_die_without_recursion():
    x = tensor(1.0, requires_grad=True)
    y = x
    for _ in range(10_000):
        y = y + 1
    y.backward()
    assert x.grad.item() == 1.0
    del y
    gc.collect()


def test_a_graph_dies_with_its_last_tensor(x):
    y = (x * x).exp()
    node = weakref.ref(y.grad_fn.next_functions[0][0])
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()


#: Blocks in which tensors are kept in ways of their own, or not kept.
KEEPING = {
    "plain": lambda function, x: function(x),
    "as they are": lambda function, x: run_under_hooks(lambda tensor: tensor, function, x),
    "in a tuple": lambda function, x: run_under_hooks(lambda tensor: (tensor,), function, x),
    "checkpoint": lambda function, x: checkpoint(function, x, use_reentrant=False),
    "reentrant checkpoint": lambda function, x: checkpoint(function, x, use_reentrant=True),
    "checkpoints in one": lambda function, x: checkpoint(
        lambda value: checkpoint(torchlike.exp, checkpoint(function, value, use_reentrant=False), use_reentrant=False),
        x,
        use_reentrant=False,
    ),
}


def run_under_hooks(pack, function, x):
    with saved_tensors_hooks(pack, lambda kept: kept[0] if isinstance(kept, tuple) else kept):
        return function(x)


@pytest.mark.parametrize("way", KEEPING)
def test_what_was_saved_goes_with_backward(way):
    functions = [
        torchlike.exp,
        torchlike.sigmoid,
        torchlike.sin,
        lambda x: x.softmax(0),
        lambda x: x * x,
        torchlike.sqrt,
    ]
    for seed in range(4):
        chain = random.Random(seed).choices(functions, k=4)

        def run(x, chain=chain):
            for function in chain:
                x = function(x)
            return x

        for create_graph in (False, way == "checkpoints in one"):
            x = tensor([0.5, 1.5], requires_grad=True)
            torchlike.autograd.grad(KEEPING[way](run, x).sum(), x)  # also fills what is kept for good
            gc.disable()
            gc.freeze()  # what there is already is not listed
            try:
                (grad,) = torchlike.autograd.grad(KEEPING[way](run, x).sum(), x, create_graph=create_graph)
                if create_graph:
                    torchlike.autograd.grad(grad.sum(), x)
                del grad
                assert not any(isinstance(each, Tensor | Node) for each in gc.get_objects()), (seed, create_graph)
            finally:
                gc.unfreeze()
                gc.enable()


def test_several_threads_may_run_backward():
    w = torchlike.ones(4, requires_grad=True)
    errors = []

    def work():
        try:
            for _ in range(20):
                (w * 2).sum().backward()
        except Exception as error:  # noqa: BLE001  # any error fails the test
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert w.grad.tolist() == [160.0] * 4


def test_backward_inside_a_hook(x):
    inner = tensor(2.0, requires_grad=True)

    def hook(grad):
        with torchlike.enable_grad():
            (inner * inner).backward()

    x.register_hook(hook)
    x.sum().backward()
    assert inner.grad.item() == 4.0


def test_requires_grad_is_for_floating_leaves(x):
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        tensor([1]).requires_grad_()
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        torchlike.ones(2, dtype=torchlike.int64, requires_grad=True)
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        (x * 2).requires_grad_(False)


def test_grad_must_fit_its_tensor(x):
    with pytest.raises(RuntimeError, match="assigned grad has data of a different size"):
        x.grad = torchlike.ones(2)
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor or None"):
        x.grad = 1.0
    x.grad = torchlike.ones(3)
    del x.grad
    assert x.grad is None


def test_an_operator_without_a_formula_fails_in_backward_and_names_itself(no_formula, x):
    y = no_formula(x)
    assert y.requires_grad
    with pytest.raises(NotImplementedError, match="not_differentiable::twice"):
        y.sum().backward()


@pytest.fixture(scope="module")
def no_formula():
    import dispatch_core as dc

    library = dc.Library("not_differentiable", "DEF")
    library.define("twice(Tensor self) -> Tensor")
    library.impl("twice", lambda self: self * 2, "CPU")
    yield dc.ops.not_differentiable.twice
    library.close()


def test_out_does_not_go_with_gradients(x):
    with pytest.raises(RuntimeError, match=r"out=\.\.\. arguments don't support automatic differentiation"):
        torchlike.add(x, x, out=torchlike.empty(3))


def test_copies_between_dtypes_are_differentiable(x):
    x.double().mul(2).sum().backward()
    assert x.grad.dtype == torchlike.float32 and x.grad.tolist() == [2.0] * 3


@pytest.mark.parametrize(
    ("make", "strides"),
    [
        (lambda: torchlike.ones(2, 3).t(), (1, 3)),
        (lambda: torchlike.ones(2, 3, 2).transpose(0, 2), (1, 2, 6)),
        (lambda: torchlike.ones(2, 6)[:, ::2], (3, 1)),
    ],
    ids=["transposed", "dimensions swapped", "with gaps"],
)
def test_a_gradient_lies_in_memory_as_its_leaf_does(make, strides):
    leaf = make().requires_grad_()
    leaf.sum().backward()
    assert leaf.grad.stride() == strides
    assert leaf.grad.tolist() == torchlike.ones(leaf.shape).tolist()


def test_detach_in_place_keeps_the_gradient():
    x = tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    assert x.detach_() is x and not x.requires_grad and x.grad.tolist() == [3.0, 3.0]
    y = tensor([1.0], requires_grad=True) * 2
    y.retain_grad()
    y.sum().backward()
    assert y.detach_().is_leaf and y.grad.tolist() == [1.0]


def test_a_graph_that_needs_what_was_detached_in_place_is_refused():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y.sin()
    y.detach_()
    with pytest.raises(RuntimeError, match="Trying to use a saved tensor that has been detached in-place"):
        z.sum().backward()


def test_a_leaf_that_has_become_a_result_takes_no_gradient():
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    x.requires_grad_(False).copy_(tensor([3.0, 4.0], requires_grad=True))
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        y.sum().backward()


def test_integers_take_values_that_require_grad_and_do_not_require_grad():
    x = tensor([1.5, 2.5], requires_grad=True)
    for write in (
        lambda t: t.copy_(x),
        lambda t: t.fill_(x[0]),
        lambda t: t[:].copy_(x),
        lambda t: t.__setitem__(0, x[1]),
        lambda t: t.masked_fill_(tensor([True, False]), x[0].long()),
    ):
        ints = torchlike.zeros(2, dtype=torchlike.int64)
        write(ints)
        assert not ints.requires_grad and ints.grad_fn is None and ints._version == 1


def test_the_data_of_what_requires_grad_has_a_type_that_gradients_have():
    w = tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="must be floating point or complex dtype"):
        w.data = tensor([1, 2])
    assert w.tolist() == [1.0, 2.0] and w.dtype == torchlike.float32
    w.data = tensor([3.0], dtype=torchlike.float64)
    assert w.tolist() == [3.0]
    plain = tensor([1.0])
    plain.data = tensor([1])
    assert plain.dtype == torchlike.int64


def test_older_arguments_of_the_gradient_functions_stand_where_torch_has_them(x):
    y = (x * x).sum()
    assert torchlike.autograd.grad(y, x, None, True, False, True, True)[0].tolist() == (2 * x).tolist()
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        torchlike.autograd.grad(y, x, only_inputs=False, retain_graph=True)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        torchlike.autograd.backward(y, grad_variables=torchlike.tensor(2.0))
    assert x.grad.tolist() == (4 * x).tolist()


def test_one_of_several_results_may_be_viewed_in_backward():
    root = torchlike.tensor([[2.0, 0.0], [1.0, 3.0]])
    square = (root @ root.mT).requires_grad_()
    torchlike.linalg.cholesky(square).sum().backward()
    assert square.grad.shape == (2, 2)
    assert torchlike.allclose(square.grad, square.grad.mT)
