"""Inner functions of multivariate normal distributions, which libraries import."""

import torchlike
from torchlike.distributions import lowrank_multivariate_normal as lowrank
from torchlike.distributions import multivariate_normal as normal


def test_inner_functions_of_multivariate_normals_broadcast_as_torchs():
    root = torchlike.tensor([[2.0, 0.0], [1.0, 3.0]], dtype=torchlike.float64)
    away = torchlike.tensor([[2.0, 4.0], [0.0, 3.0]], dtype=torchlike.float64)
    assert normal._batch_mv(root, away).tolist() == [[4.0, 14.0], [0.0, 9.0]]
    assert normal._batch_mahalanobis(root, away).tolist() == [2.0, 1.0]
    found = normal._precision_to_scale_tril(torchlike.linalg.inv(root @ root.mT))
    torchlike.testing.assert_close(found, root)
    diagonal = torchlike.tensor([1.0, 2.0], dtype=torchlike.float64)
    capacitance = lowrank._batch_capacitance_tril(root, diagonal)
    covariance = root @ root.mT + diagonal.diag()
    torchlike.testing.assert_close(
        lowrank._batch_lowrank_logdet(root, diagonal, capacitance), torchlike.logdet(covariance)
    )
    distance = (away @ torchlike.linalg.inv(covariance) * away).sum(-1)
    torchlike.testing.assert_close(lowrank._batch_lowrank_mahalanobis(root, diagonal, away, capacitance), distance)
