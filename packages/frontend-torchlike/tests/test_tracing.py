"""The core's tools on tensors with autograd: graphs that include backward, and explanations of calls."""

import pytest

import dispatch_core as dc
import torchlike


def step(x, w, b):
    hidden = (x @ w + b).relu() * torchlike.tensor([1.0, 2.0])
    loss = torchlike.nn.functional.cross_entropy(hidden, torchlike.tensor([0, 1, 1]))
    return torchlike.autograd.grad(loss, (w, b))


def inputs():
    torchlike.manual_seed(0)
    return torchlike.randn(3, 4), torchlike.randn(4, 2, requires_grad=True), torchlike.zeros(2, requires_grad=True)


def test_a_training_step_is_recorded_with_its_backward_and_replays_on_other_data():
    x, w, b = inputs()
    with dc.trace(decompose=True) as t:
        t.returns(*step(x, w, b))
    names = [call.op.name for call in t.graph.steps if hasattr(call, "op")]
    assert "aten::cross_entropy_loss" not in names
    assert {"aten::_log_softmax", "aten::_log_softmax_backward_data", "aten::threshold_backward"} <= set(names)
    assert len(t.graph.inputs) == 3
    fresh = torchlike.randn(3, 4)
    for found, expected in zip(t.replay(fresh, w, b), step(fresh, w, b), strict=True):
        assert torchlike.equal(found, expected)
    names = {}
    exec(t.code, names)
    for found, expected in zip(names["run"](fresh, w, b, constants=t.graph.constants), step(fresh, w, b), strict=True):
        assert torchlike.equal(found, expected)


def test_a_backward_through_a_composite_that_is_recorded_whole_wants_inputs_that_say_why():
    x, w, b = inputs()
    with dc.trace() as t:
        t.returns(*step(x, w, b))
    assert "aten::cross_entropy_loss" in str(t)
    with pytest.raises(dc.ArgumentError, match=r"record with trace\(decompose=True\)"):
        t.replay(x, w, b)


def test_in_place_views_replay():
    with dc.trace() as t:
        x = torchlike.zeros(2, 3)
        x[0].add_(1)
        x[:, 1] = 5
        t.returns(x)
    assert t.replay().tolist() == [[1, 5, 1], [0, 5, 0]]
    assert t.replay().tolist() == x.tolist()


@pytest.mark.no_pipeline(reason="the keys of a call include Pipeline")
def test_an_explanation_names_autograd_above_the_backend():
    _, w, _ = inputs()
    found = dc.explain("aten::add", w, w)
    assert (found.operator, found.winner.key, found.winner.registered_under) == (
        "aten::add.Tensor",
        "AutogradCPU",
        "Autograd",
    )
    assert [step.outcome for step in found.steps if step.key == "CPU"] == ["below"]
    with torchlike.no_grad():
        # Grad mode is the Autograd kernel's affair, not the dispatcher's.
        assert dc.explain("aten::add", w, w).winner is not None
    factory = dc.explain("aten::ones", [2], device="meta")
    assert (factory.winner.key, factory.then.winner.key) == ("BackendSelect", "Meta")
