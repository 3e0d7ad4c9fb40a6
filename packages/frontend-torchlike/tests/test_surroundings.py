"""What stands around training: recomputation, averages of weights, logs, and comparisons in tests."""

import pytest

import torchlike
from torchlike import nn
from torchlike.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn
from torchlike.utils.checkpoint import checkpoint, checkpoint_sequential


def gradients(run, net):
    net.zero_grad()
    torchlike.manual_seed(3)
    x = torchlike.arange(6.0).reshape(2, 3).requires_grad_()
    y = run(x)
    y.square().sum().backward()
    return [y.tolist(), x.grad.tolist(), *(p.grad.tolist() for p in net.parameters())]


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_part_computed_again_gives_the_same_gradients_and_random_numbers(reentrant):
    torchlike.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 4), nn.Tanh())
    expected = gradients(net, net)
    calls = []

    def part(x):
        calls.append(torchlike.is_grad_enabled())
        return net(x)

    assert gradients(lambda x: checkpoint(part, x, use_reentrant=reentrant), net) == expected
    assert calls == [not reentrant, True]
    found = gradients(lambda x: checkpoint_sequential(net, 2, x, use_reentrant=reentrant), net)
    assert found == expected


def test_without_reentrance_arguments_need_no_gradient_and_may_be_keywords():
    net = nn.Linear(2, 1)
    x = torchlike.ones(1, 2)
    checkpoint(lambda *, value: net(value).exp(), value=x, use_reentrant=False).sum().backward()
    expected = net.weight.grad.clone()
    net.zero_grad()
    net(x).exp().sum().backward()
    assert torchlike.equal(net.weight.grad, expected)
    with pytest.warns(UserWarning, match="the use_reentrant parameter should be passed explicitly"):
        checkpoint(net, x.clone().requires_grad_())
    with pytest.raises(ValueError, match="Unexpected keyword arguments: value"):
        checkpoint(net, x, use_reentrant=True, value=1)


def test_weights_are_averaged_and_rates_go_to_a_constant():
    net = nn.Linear(1, 1, bias=False)
    equal, exponential = AveragedModel(net), AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.5))
    for value in (1.0, 2.0, 6.0):
        net.weight.data.fill_(value)
        equal.update_parameters(net)
        exponential.update_parameters(net)
    assert equal.module.weight.item() == 3.0 and exponential.module.weight.item() == 3.75
    assert equal.n_averaged.item() == 3 and equal(torchlike.ones(1, 1)).item() == 3.0
    optimizer = torchlike.optim.SGD(net.parameters(), lr=1.0)
    schedule = SWALR(optimizer, 0.2, anneal_epochs=2, anneal_strategy="linear")
    rates = []
    for _ in range(3):
        optimizer.step()
        schedule.step()
        rates += schedule.get_last_lr()
    assert rates == pytest.approx([0.6, 0.2, 0.2])


def test_events_are_written_for_tensorboard(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard, an optional extra, is not installed")
    from torchlike.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", torchlike.tensor(1.5), 3)
        writer.add_scalars("both", {"a": 1, "b": 2}, 3)
        writer.add_histogram("weights", torchlike.arange(10.0), 3)
        writer.add_text("note", "hello", 3)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path))
    events.Reload()
    (scalar,) = events.Scalars("loss")
    assert (scalar.step, scalar.value) == (3, 1.5) and events.Histograms("weights")[0].histogram_value.num == 10
    assert {"both_a", "both_b"} < {path.name for path in tmp_path.iterdir()}


def test_values_are_compared_by_their_dtypes_tolerances():
    from torchlike.testing import assert_close

    assert_close({"a": [torchlike.ones(2)]}, {"a": [torchlike.ones(2) + 1e-6]})
    with pytest.raises(AssertionError, match="Mismatched elements: 2 / 2"):
        assert_close(torchlike.ones(2), torchlike.ones(2) + 1e-3)
    with pytest.raises(AssertionError, match="'dtype' do not match"):
        assert_close(torchlike.ones(2), torchlike.ones(2, dtype=torchlike.float64))
    assert_close(1.0, 1.0 + 1e-8)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: torchlike.nn.Buffer(3), TypeError, "must be Tensor, not int"),
        (
            lambda: torchlike.optim.Adam([torchlike.nn.Parameter(torchlike.ones(2))], betas={}),
            ValueError,
            "two numbers",
        ),
        (lambda: torchlike.optim.RAdam([torchlike.nn.Parameter(torchlike.ones(2))], betas=(0.9,)), ValueError, "two"),
        (
            lambda: torchlike.nn.utils.clip_grad_norm_(torchlike.nn.Parameter(torchlike.ones(2)), "x"),
            ValueError,
            "float",
        ),
        (lambda: torchlike.func.functional_call(nn.ReLU(), {"a": 1}, ()), TypeError, "is not an instance"),
        (lambda: torchlike.func.functional_call(nn.ReLU(), ["a"], ()), ValueError, "dictionaries"),
    ],
)
def test_what_is_no_tensor_pair_or_number_is_refused_at_once(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.no_pipeline(reason="the errors depend on values")
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.EmbeddingBag(5, 2)(torchlike.tensor([1, 2]), torchlike.tensor([1])), "has to be 0"),
        (lambda: torchlike.special.legendre_polynomial_p(torchlike.ones(1), 2**40), "degree may be"),
    ],
)
def test_values_that_cannot_be_computed_with_are_refused(make, text):
    with pytest.raises(RuntimeError, match=text):
        make()


def test_a_module_of_two_names_has_its_tensors_back_after_a_functional_call():
    layer = torchlike.nn.Linear(1, 1, bias=False)
    both, weight = torchlike.nn.Sequential(layer, layer), layer.weight
    found = torchlike.func.functional_call(both, {"0.weight": torchlike.tensor([[3.0]])}, torchlike.ones(1, 1))
    assert found.item() == 9
    assert layer.weight is weight
