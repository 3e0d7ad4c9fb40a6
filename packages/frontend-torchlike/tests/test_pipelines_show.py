"""The program of a pipeline that records tensors with autograd, and its counters."""

from xml.etree import ElementTree as ET

import dispatch_core as dc
import torchlike


def test_a_training_step_is_shown_with_its_backward_and_its_update():
    torchlike.manual_seed(0)
    x, w = torchlike.randn(3, 4), torchlike.randn(4, 2, requires_grad=True)
    optimizer = torchlike.optim.SGD([w], lr=0.1)
    with dc.pipeline() as pipe:
        loss = (x @ w).relu().sum()
        loss.backward()
        optimizer.step()
        graph = pipe.graph()
    names = [step.name for step in graph.steps]
    assert names.index("aten::relu") < names.index("aten::threshold_backward")
    assert names.count("aten::mm") == 2
    written = [value for step in graph.steps for value in step.written]
    assert [(value.shape, value.given) for value in written] == [((4, 2), True)]
    assert not graph.dropped & {*range(names.index("aten::threshold_backward"))}
    ET.fromstring(graph.svg())
    assert loss.item() > 0


def test_a_tensor_that_is_gone_is_shown_as_dropped_and_one_that_autograd_needs_is_not():
    w = torchlike.ones(3, requires_grad=True)
    with dc.pipeline() as pipe:
        kept = w.exp().sum()
        w.sin().cos()
        graph = pipe.graph()
    names = {index: step.name for index, step in enumerate(graph.steps)}
    assert [names[index] for index in sorted(graph.dropped)] == ["aten::sin", "aten::cos"]
    assert [names[index] for index in sorted({*names} - graph.dropped)] == ["aten::exp", "aten::sum"]
    assert kept.item() > 8


def test_host_reads_are_boundaries_and_what_depends_on_values_runs_at_once():
    with dc.pipeline() as pipe:
        a = torchlike.ones(3)
        assert a.sum().item() == 3
        assert a.tolist() == [1, 1, 1]
        assert bool((a > 0).all())
        assert a.nonzero().shape == (3, 1)
        assert "1." in repr(a)
    stats = pipe.stats()
    assert {operator for operator, _ in stats.eager} == {"aten::nonzero"}
    assert set(stats.boundaries) == {"aten::_local_scalar_dense", "prims::device_get"}
    assert stats.recorded_share == stats.recorded / (stats.recorded + 1)
