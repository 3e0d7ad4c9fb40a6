"""Train a flow of nflows, and draw from it."""

import torch
from job_values import report, train, weights
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
parts = [
    part
    for _ in range(2)
    for part in (ReversePermutation(3), MaskedAffineAutoregressiveTransform(features=3, hidden_features=8))
]
flow = Flow(CompositeTransform(parts), StandardNormal([3]))
first = weights(flow)
rows = torch.randn(32, 3) * torch.tensor([1.0, 0.5, 2.0])
losses = train(lambda: -flow.log_prob(inputs=rows).mean(), flow.parameters(), lr=0.01)
report(first=first, losses=losses, drawn=flow.sample(3), chance=flow.log_prob(rows[:3]))
