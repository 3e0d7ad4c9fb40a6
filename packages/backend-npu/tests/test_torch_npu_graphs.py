"""``torch.npu.NPUGraph``: a block's calls run again on the same memory."""

import pytest

import torchlike
from dispatch_torch_npu import npu

pytestmark = [
    pytest.mark.usefixtures("npu"),
    pytest.mark.no_pipeline(reason="a replay opens one, and graphs keep what they record"),
]


def test_a_replay_reads_inputs_and_writes_outputs_in_place():
    given = torchlike.zeros(3, device="npu")
    graph = npu.NPUGraph()
    with npu.graph(graph) as recorded:
        part = given.relu()[1:] + 1
        shaped = part.view(2, 1)
        first, second = torchlike.ones(4, device="npu").mul(given.sum()).split(2)
    assert recorded is graph and part.tolist() == [1.0, 1.0]
    given.fill_(5)
    graph.replay()
    assert part.tolist() == [6.0, 6.0] and shaped.tolist() == [[6.0], [6.0]]
    assert first.tolist() == second.tolist() == [15.0, 15.0]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_training_step_is_replayed_with_its_gradients(momentum):
    x = torchlike.arange(12.0).view(4, 3).npu() / 12
    start = torchlike.ones(3, 2, device="npu")

    def make():
        weight = start.clone().requires_grad_()
        return weight, torchlike.optim.SGD([weight], lr=0.1, momentum=momentum)

    def step(weight, optimizer):
        loss = (x @ weight).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    weight, optimizer = make()
    step(weight, optimizer)  # the first step makes the momenta
    weight.grad = None
    graph = npu.NPUGraph()
    with npu.graph(graph):
        loss = step(weight, optimizer)
    plain, other = make()
    step(plain, other)
    for _ in range(3):
        other.zero_grad(set_to_none=False)
        wanted = step(plain, other)
        graph.replay()
        assert loss.item() == pytest.approx(wanted.item(), rel=1e-6)
        torchlike.testing.assert_close(weight, plain)
        torchlike.testing.assert_close(weight.grad, plain.grad)


def test_random_numbers_are_drawn_again():
    graph = npu.NPUGraph()
    with npu.graph(graph, pool=npu.graph_pool_handle()):
        drawn = torchlike.rand(8, device="npu")
    before = drawn.tolist()
    graph.replay()
    assert drawn.tolist() != before


def test_a_value_is_not_read_within_a_graph():
    x = torchlike.ones(2, device="npu")
    text = "reads a value to the host while a graph is recorded\nHint: read it after"
    with pytest.raises(RuntimeError, match=text), npu.graph(npu.NPUGraph()):
        (x * 2).sum().item()
    assert (x * 2).sum().item() == 4.0


def test_graphs_that_are_not_ready_say_so():
    graph = npu.NPUGraph()
    with pytest.raises(RuntimeError, match="this graph has no recorded calls\nHint: record them"):
        graph.replay()
    with pytest.raises(RuntimeError, match="is not being recorded"):
        graph.capture_end()
    with npu.graph(graph):
        torchlike.ones(1, device="npu")
    with pytest.raises(RuntimeError, match=r"has been recorded\nHint: reset\(\)"):
        graph.capture_begin()
    graph.reset()
    with npu.graph(graph, stream=torchlike.npu.Stream()):
        y = torchlike.ones(1, device="npu") + 1
    graph.replay()
    assert y.item() == 2.0 and graph.pool() == graph.pool()


def test_functions_and_modules_are_recorded_once():
    module = torchlike.nn.Linear(3, 2).npu()
    x = torchlike.ones(4, 3, device="npu")
    wanted = module(x)

    def double(value):
        return value * 2

    graphed, function = npu.make_graphed_callables((module, double), ((x,), (x,)))
    assert graphed is module
    torchlike.testing.assert_close(graphed(x), wanted)
    graphed(x).sum().backward()
    assert module.weight.grad.tolist() == [[4.0] * 3] * 2
    assert function(x).tolist() == [[2.0] * 3] * 4


def test_a_group_of_calls_gets_other_arguments():
    first, second = torchlike.ones(2, device="npu"), torchlike.full((2,), 5.0, device="npu")
    graph, stream = npu.NPUGraph(), torchlike.npu.current_stream()
    with npu.graph(graph):
        before = first * 1
        npu.graph_task_group_begin(stream)
        middle = torchlike.add(before, first)
        handle = npu.graph_task_group_end(stream)
        after = middle * 10
    npu.graph_task_update_begin(stream, handle)
    torchlike.add(before, second)
    npu.graph_task_update_end(stream)
    graph.replay()
    assert middle.tolist() == [6.0, 6.0] and after.tolist() == [60.0, 60.0] and before.tolist() == [1.0, 1.0]
    npu.graph_task_update_begin(stream, handle)
    torchlike.mul(before, second)
    with pytest.raises(
        RuntimeError, match=r"has the calls aten::add.*, and its update has aten::mul.*\nHint: an update"
    ):
        npu.graph_task_update_end(stream)
    graph.replay()
    assert after.tolist() == [60.0, 60.0]


def test_parts_of_a_graph_begin_before_they_end():
    stream = torchlike.npu.current_stream()
    for call in (npu.graph_task_group_begin, npu.super_kernel_scope_begin):
        with pytest.raises(RuntimeError, match=r"was called while no graph is recorded\nHint: with"):
            call(stream)
    for call, text in ((npu.graph_task_group_end, "no group"), (npu.graph_task_update_end, "no update")):
        with pytest.raises(RuntimeError, match=f"{text}.* was begun on this stream\nHint: "):
            call(stream)
    with pytest.raises(TypeError, match=r"handle is what graph_task_group_end\(\) returned, not int"):
        npu.graph_task_update_begin(stream, 1)
    with npu.graph(npu.NPUGraph()):
        npu.super_kernel_scope_begin("outer")
        npu.super_kernel_scope_begin()
        with pytest.raises(RuntimeError, match="the innermost is None\nHint: end scopes"):
            npu.super_kernel_scope_end("outer")
        npu.super_kernel_scope_end()
        npu.super_kernel_scope_end("outer")
        with pytest.raises(RuntimeError, match="non-empty"):
            npu.super_kernel_scope_begin(" ")
    with pytest.raises(RuntimeError, match="none is open"):
        npu.super_kernel_scope_end()


def test_a_block_that_is_recorded_changes_nothing_until_it_is_replayed():
    x, weight = torchlike.ones(2, 3, device="npu"), torchlike.nn.Parameter(torchlike.ones(3, device="npu"))
    optimizer = torchlike.optim.SGD([weight], lr=0.5)
    graph = npu.NPUGraph()
    with npu.graph(graph):
        x.add_(1)
        x[:, 1].mul_(2)
        x.t()[1:].add_(3)
        loss = (weight * x.sum(0)).sum()
        weight.grad = None
        loss.backward()
        optimizer.step()
    assert x.tolist() == [[1, 1, 1]] * 2 and weight.tolist() == [1, 1, 1]
    graph.replay()
    assert x.tolist() == [[2, 7, 5]] * 2 and weight.tolist() == [1 - 2, 1 - 7, 1 - 5]
    graph.replay()
    assert x.tolist() == [[3, 19, 9]] * 2


def test_an_error_in_a_block_leaves_no_calls():
    x, graph = torchlike.ones(2, device="npu"), npu.NPUGraph()
    with pytest.raises(ValueError, match="mine"), npu.graph(graph):
        x.add_(1)
        raise ValueError("mine")
    assert x.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="no recorded calls"):
        graph.replay()
