"""Train a differential equation of torchdiffeq, through the solver and by its adjoint."""

import torch
from job_values import report, train, weights
from torchdiffeq import odeint, odeint_adjoint, odeint_event


class Field(torch.nn.Module):
    """The slope at a point, by a small network."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

    def forward(self, time, point):
        return self.layers(point)


torch.manual_seed(0)
begin, times = torch.randn(4, 2), torch.linspace(0, 1, 5)
values = {}
for solve, method in ((odeint, "rk4"), (odeint, "dopri5"), (odeint_adjoint, "dopri5"), (odeint, "implicit_adams")):
    field = Field()
    first = weights(field)
    losses = train(lambda: (solve(field, begin, times, method=method)[-1] - 1).square().mean(), field.parameters())
    values[f"{solve.__name__} {method}"] = [first, losses]
fall = odeint_event(
    lambda time, state: torch.stack([state[1], torch.tensor(-9.8)]),
    torch.tensor([2.0, 0.0]),
    torch.tensor(0.0),
    event_fn=lambda time, state: state[0],
)
report(ground=fall[0], **values)
