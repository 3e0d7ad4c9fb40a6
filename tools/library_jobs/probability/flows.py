"""Train zuko's normalizing flows, and draw from one."""

import torch
import zuko
from job_values import report, train, weights

torch.manual_seed(0)
rows = torch.randn(32, 3) * torch.tensor([1.0, 0.5, 2.0])
context = torch.randn(32, 2)
values = {}
for make in (zuko.flows.NSF, zuko.flows.MAF, zuko.flows.GF):
    flow = make(3, 2, transforms=2, hidden_features=[8])
    first = weights(flow)
    losses = train(lambda: -flow(context).log_prob(rows).mean(), flow.parameters(), lr=0.01)
    with torch.no_grad():
        values[make.__name__] = [first, losses, flow(context[0]).sample((2,)) if make is not zuko.flows.GF else 0]
report(**values)
