"""Short ways with a gradient: one node instead of several, with the gradients and the graph of these."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref

import numpy as np
import pytest

import dispatch_core as dc
import torchlike
from dispatch_aten.testing.samples import op_samples
from dispatch_core.operators.candidates import ShortWay
from torchlike.autograd.rules.short_nodes import ShortNode

dc.device_key("cpu")  # loads the backend
OFFERS = {
    name: [each for each in offers if isinstance(each, ShortWay) and each.gradient]
    for name, offers in dc.registry.offers.items()
}
WAYS = sorted(name for name, ways in OFFERS.items() if ways)

pytestmark = pytest.mark.skipif("config.getoption('--pipeline', False)", reason="plain calls outside of pipelines")


def arguments(sample):
    """Return a sample's arguments, and those of them that require grad: results of an operator, so no leaves."""
    given, leaves = {}, []
    for key, value in sample.arguments.items():
        given[key] = value
        if isinstance(value, np.ndarray):
            given[key] = torchlike.from_numpy(value.copy(order="K"))
            if given[key].dtype.is_differentiable:
                leaves.append(given[key].requires_grad_())
    return given, leaves


def serve(name):
    """Return the operator, and the samples of which the short way makes a node."""
    op = dc.registry.get(name).op
    served = []
    for sample in op_samples(name.removeprefix("aten::")):
        try:
            result = call(op, sample)[0]
        except Exception:  # noqa: BLE001  # samples of errors
            continue
        if getattr(getattr(result, "_autograd", None), "op", None) is op:
            served.append(sample)
    return op, served


def settle(op):
    """Call until the calls that go the usual way, after a node was taken apart, are over."""
    for runner in op._entry.call_table.values():
        for debt in [runner.__globals__.get("_debt")] if hasattr(runner, "__globals__") else []:
            if debt:
                debt[0] = 0


def call(op, sample, wanted=None):
    settle(op)
    given, leaves = arguments(sample)
    for number, leaf in enumerate(leaves):
        leaf.requires_grad_(wanted is None or number == wanted % len(leaves))
    return op(**given), given, leaves


def graph(node):
    """Return the names of a graph's nodes, from the last."""
    return (node.name(), [None if each is None else graph(each) for each, _ in node.next_functions])


def gradients(result, leaves, **options):
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    found = torchlike.autograd.grad(result, wanted, slope(result), **options)
    return [(each.dtype, each.shape, each.stride(), repr(each.tolist())) for each in found]


def second_gradients(result, leaves):
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    found = torchlike.autograd.grad(result, wanted, slope(result), create_graph=True, allow_unused=True)
    total = result.sum() + sum(each.pow(2).sum() for each in found)
    found = torchlike.autograd.grad(total, wanted, allow_unused=True)
    return [None if each is None else each.tolist() for each in found]


def write(tensor):
    with torchlike.no_grad():
        tensor.zero_()


CHANGES = [write, lambda tensor: tensor.data.mul_(2)]


def slope(result):
    steps = np.arange(1, result.numel() + 1, dtype=np.float64).reshape(tuple(result.shape)) / 7
    return torchlike.tensor(steps.tolist(), dtype=result.dtype)


def usual():
    return dc.exclude_keys("Tracer")  # under masks there are no short ways


@pytest.mark.parametrize("name", WAYS)
def test_gradients_and_graphs_are_those_of_the_parts(name):
    op, served = serve(name)
    assert served, f"{name}: no sample takes the short way"
    for sample in served:
        for wanted in (None, 0, 1, 2):
            result, _, leaves = call(op, sample, wanted)
            with usual():
                expected, _, others = call(op, sample, wanted)
                known = gradients(expected, others, retain_graph=True)
            assert isinstance(result._autograd, ShortNode), (sample, wanted)
            assert (repr(result.tolist()), result.stride()) == (repr(expected.tolist()), expected.stride())
            assert gradients(result, leaves, retain_graph=True) == known
            assert isinstance(result._autograd, ShortNode), (sample, wanted)
            with dc.profile() as profile:
                assert gradients(result, leaves, retain_graph=True) == known
            with dc.profile() as parts, usual():
                gradients(expected, others, retain_graph=True)
            assert [each.name for each in profile.events] == [each.name for each in parts.events]
            assert not isinstance(result._autograd, ShortNode)
            assert graph(result.grad_fn) == graph(expected.grad_fn)
            result, _, leaves = call(op, sample, wanted)
            assert gradients(result, leaves, create_graph=True) == known
            result, _, leaves = call(op, sample, wanted)
            with torchlike.autograd.detect_anomaly(check_nan=False):
                assert gradients(result, leaves) == known


@pytest.mark.parametrize("name", WAYS)
def test_a_node_is_freed_checks_versions_and_goes_the_usual_way_where_it_must(name):
    op, served = serve(name)
    sample = served[0]
    result, _, leaves = call(op, sample)
    known = gradients(result, leaves)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        gradients(result, leaves)
    with usual():
        expected = call(op, sample)[0]
    assert graph(result.grad_fn) == graph(expected.grad_fn)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        gradients(result, leaves)
    given = call(op, sample)[1]
    names = [key for key, value in given.items() if isinstance(value, torchlike.Tensor)]
    for changed, change, read in itertools.product(names, CHANGES, (gradients, second_gradients)):
        outcomes = []
        for block in (torchlike.enable_grad(), usual()):
            with block:
                result, given, leaves = call(op, sample)
                change(given[changed])
                try:
                    outcomes.append(read(result, leaves))
                except RuntimeError as error:
                    outcomes.append(str(error).partition(" is at version")[2])
        assert outcomes[0] == outcomes[1], (changed, change, read)
    # A gradient that the device's formula does not take, and kernels of the program's, from after the call on.
    result, _, leaves = call(op, sample)
    short = result._autograd
    type(short).apply.__globals__["backward"], formula = (
        lambda *_: NotImplemented,
        type(short).apply.__globals__["backward"],
    )
    assert gradients(result, leaves) == known
    type(short).apply.__globals__["backward"] = formula
    part = dc.registry.get(next(each for way in OFFERS[name] for each in (*way.parts, name)))
    result, _, leaves = call(op, sample)
    with dc.Library("aten", "IMPL") as library:
        library.impl(part.name, lambda *args, **kwargs: 1 / 0, "CPU", allow_override=True)
        library.close()
        assert gradients(result, leaves) == known
    result, _, leaves = call(op, sample)
    with dc.pipeline():
        assert gradients(result, leaves) == known


def test_a_tensor_that_was_cut_off_or_changed_since_leads_where_it_did():
    weight, bias = torchlike.ones(3, 2, requires_grad=True), torchlike.zeros(3, requires_grad=True)
    settle(dc.ops.aten.linear.default)
    hidden = torchlike.ones(4, 2, requires_grad=True) * 2
    result = torchlike.nn.functional.linear(hidden, weight, bias)
    assert isinstance(result._autograd, ShortNode)
    bias.requires_grad_(False)
    assert result.grad_fn.next_functions[0][0].variable is bias
    assert result.grad_fn.next_functions[1][0].name() == "MulBackward0"
    settle(dc.ops.aten.linear.default)
    result = torchlike.nn.functional.linear(hidden, weight)
    hidden.detach_()
    with pytest.raises(RuntimeError, match="detached in-place"):
        result.sum().backward()


def test_hooks_and_retained_gradients_of_a_result_outlive_the_taking_apart():
    weight, seen = torchlike.ones(3, 2, requires_grad=True), []
    settle(dc.ops.aten.linear.default)
    result = torchlike.nn.functional.linear(torchlike.ones(4, 2), weight)
    result.retain_grad()
    result.register_hook(lambda grad: seen.append(grad.shape))
    result.grad_fn.register_prehook(lambda grads: seen.append(len(grads)))
    result.relu_().sum().backward()
    assert seen == [(4, 3), 1]
    assert result.grad is not None


def test_nothing_of_a_call_lives_longer_than_its_backward():
    weight = torchlike.ones(3, 2, requires_grad=True)
    settle(dc.ops.aten.linear.default)
    data = torchlike.ones(4, 2)
    array, result = weakref.ref(data), torchlike.nn.functional.linear(data, weight).sum()
    del data
    gc.collect()
    assert array() is not None
    result.backward()
    assert array() is None


@pytest.mark.parametrize("call", [torchlike.nn.functional.cross_entropy, torchlike.nn.functional.nll_loss])
def test_weights_of_classes_may_not_require_grad(call):
    x, y = torchlike.rand(3, 4, requires_grad=True), torchlike.tensor([0, 1, 3])
    weight = torchlike.rand(4, requires_grad=True)
    for scores in [x, x.detach()] * 20:
        with pytest.raises(RuntimeError, match=r"'nll_loss_forward' is not differentiable .* argument 'weight'"):
            call(scores, y, weight)
    call(x, y, weight.detach()).backward()
    assert x.grad is not None


def test_what_leads_to_an_input_is_freed_where_no_gradient_needs_it():
    weight = torchlike.ones(3, 2)
    settle(dc.ops.aten.linear.default)
    hidden = torchlike.ones(4, 2, requires_grad=True) * 2
    array, result = weakref.ref(hidden._dispatch_data), torchlike.nn.functional.linear(hidden, weight)
    del hidden
    gc.collect()
    assert array() is None
    result.sum().backward()


def test_threads_that_look_at_one_node_see_the_same_graph():
    for _ in range(20):
        settle(dc.ops.aten.linear.default)
        weight, x = torchlike.ones(3, 2, requires_grad=True), torchlike.ones(4, 2, requires_grad=True)
        result, names, faults = torchlike.nn.functional.linear(x, weight), [], []
        gate = threading.Barrier(4)

        def look(result=result, names=names, faults=faults, gate=gate):
            gate.wait()
            try:
                names.append(graph(result.grad_fn))
            except AttributeError as error:
                faults.append(error)

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults
        assert all(each == names[0] for each in names)


def test_an_input_may_be_one_of_several_results():
    for _ in range(20):
        settle(dc.ops.aten.mm.default)
        x = torchlike.rand(3, 3, dtype=torchlike.float64)
        leaf = x.requires_grad_()
        part = torchlike.linalg.qr(leaf)[0]
        (part @ torchlike.ones(3, 3, dtype=torchlike.float64)).sum().backward()
        assert leaf.grad is not None
