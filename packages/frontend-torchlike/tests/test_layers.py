"""Layers and losses of networks by algebra; their values are compared with torch's in the parity tests."""

import math
import pickle

import pytest

import torchlike
from torchlike import nn
from torchlike.nn import functional as F


@pytest.fixture(autouse=True)
def _seed():
    torchlike.manual_seed(0)


@pytest.mark.parametrize(
    ("layer", "dims"),
    [
        (nn.BatchNorm2d(4), (0, 2, 3)),
        (nn.InstanceNorm2d(4), (2, 3)),
        (nn.LayerNorm((4, 3, 5)), (1, 2, 3)),
        (nn.GroupNorm(1, 4), (1, 2, 3)),
    ],
)
def test_a_normalization_leaves_mean_0_and_variance_1(layer, dims):
    found = layer(torchlike.randn(6, 4, 3, 5) * 3 + 2)
    mean, variance = found.mean(dims), found.var(dims, correction=0)
    assert torchlike.allclose(mean, torchlike.zeros_like(mean), atol=1e-5)
    assert torchlike.allclose(variance, torchlike.ones_like(variance), atol=1e-3)


def test_running_statistics_are_used_in_evaluation_and_moved_in_training_alone():
    layer = nn.BatchNorm1d(2, momentum=0.5)
    layer(torchlike.tensor([[1.0, 10.0], [3.0, 30.0]]))
    assert layer.running_mean.tolist() == [1.0, 10.0]
    assert layer.running_var.tolist() == [1.5, 100.5]
    assert layer.num_batches_tracked == 1
    layer.eval()
    found = layer(torchlike.tensor([[1.0, 10.0]]))
    assert torchlike.allclose(found, torchlike.zeros(1, 2))
    assert layer.num_batches_tracked == 1


def test_a_state_without_a_count_of_batches_is_loaded():
    layer = nn.BatchNorm1d(2)
    state = {name: value for name, value in layer.state_dict().items() if name != "num_batches_tracked"}
    nn.BatchNorm1d(2).load_state_dict(state)


def test_a_lazy_normalization_becomes_a_usual_one():
    layer = nn.LazyBatchNorm1d()
    layer(torchlike.randn(4, 3))
    assert type(layer) is nn.BatchNorm1d
    assert layer.num_features == 3


def test_running_statistics_move_in_a_pipeline_too():
    layers = [nn.BatchNorm1d(3) for _ in range(2)]
    batch = torchlike.randn(5, 3)
    layers[0](batch)
    with torchlike.pipeline():
        layers[1](batch)
    assert torchlike.allclose(layers[0].running_var, layers[1].running_var)


def test_dropout_of_channels_keeps_or_drops_them_whole():
    found = F.dropout2d(torchlike.ones(8, 16, 3, 3), 0.5)
    sums = found.sum((2, 3))
    assert set(sums.flatten().tolist()) == {0.0, 18.0}
    row = torchlike.ones(16, 5)
    assert F.dropout1d(row, 0.5, inplace=True) is row
    assert set(row.sum(1).tolist()) == {0.0, 10.0}


def test_alpha_dropout_keeps_mean_and_variance():
    found = nn.AlphaDropout(0.3)(torchlike.randn(200_000))
    assert found.mean().item() == pytest.approx(0, abs=0.02)
    assert found.std().item() == pytest.approx(1, abs=0.02)


def test_orthogonal_values_are_a_rotation():
    made = nn.init.orthogonal_(torchlike.empty(5, 3))
    assert torchlike.allclose(made.T @ made, torchlike.eye(3), atol=1e-5)


def test_truncated_values_lie_within_the_bounds():
    made = nn.init.trunc_normal_(torchlike.empty(1000), 0.0, 1.0, 1.0, 2.0)
    assert made.min().item() >= 1
    assert made.max().item() <= 2


def test_adaptive_softmax_is_a_distribution():
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
    x, target = torchlike.randn(6, 8), torchlike.tensor([0, 4, 5, 9, 10, 19])
    logs = layer.log_prob(x)
    assert torchlike.allclose(logs.exp().sum(1), torchlike.ones(6), atol=1e-5)
    assert torchlike.allclose(layer(x, target).output, logs.gather(1, target[:, None])[:, 0], atol=1e-5)


def test_linear_cross_entropy_is_both_in_one():
    x, weight, target = torchlike.randn(4, 3), torchlike.randn(5, 3), torchlike.tensor([0, 1, 4, 2])
    assert torchlike.allclose(F.linear_cross_entropy(x, weight, target), F.cross_entropy(x @ weight.T, target))


def test_cross_entropy_of_even_scores_is_the_logarithm_of_the_count():
    assert F.cross_entropy(torchlike.zeros(2, 4), torchlike.tensor([1, 2])).item() == pytest.approx(math.log(4))


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(2), nn.PReLU(), nn.GroupNorm(1, 2), nn.Bilinear(1, 2, 3)])
def test_layers_survive_a_pickle(layer):
    assert repr(pickle.loads(pickle.dumps(layer))) == repr(layer)
