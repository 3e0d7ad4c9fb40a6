"""Train a stochastic differential equation of torchsde."""

import torch
import torchsde
from job_values import report, train, weights


class Field(torch.nn.Module):
    """A drift by a network, and noise of a learned size."""

    noise_type = "diagonal"
    sde_type = "ito"

    def __init__(self) -> None:
        super().__init__()
        self.drift = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
        self.size = torch.nn.Parameter(torch.tensor([0.1, 0.2]))

    def f(self, time, point):
        return self.drift(point)

    def g(self, time, point):
        return self.size.expand_as(point)


torch.manual_seed(0)
field = Field()
first = weights(field)
begin, times = torch.randn(4, 2), torch.linspace(0, 1, 4)
values = {}
for solve, method in ((torchsde.sdeint, "euler"), (torchsde.sdeint, "milstein"), (torchsde.sdeint_adjoint, "euler")):

    def loss(solve=solve, method=method):
        noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 2), entropy=7)
        return (solve(field, begin, times, bm=noise, method=method, dt=0.1)[-1] - 1).square().mean()

    values[f"{solve.__name__} {method}"] = train(loss, field.parameters())
report(first=first, last=weights(field), **values)
