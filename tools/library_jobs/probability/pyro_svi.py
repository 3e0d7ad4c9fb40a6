"""Fit pyro's model by variational inference, with a guide made of itself and with one by hand."""

import pyro
import pyro.distributions as dist
import torch
from job_values import report
from pyro.infer import SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoMultivariateNormal, AutoNormal
from pyro.optim import Adam, ClippedAdam

pyro.set_rng_seed(0)
inputs = torch.randn(20)
targets = 2 * inputs + 1 + 0.1 * torch.randn(20)


def line(inputs, targets=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 5.0))
    offset = pyro.sample("offset", dist.Normal(0.0, 5.0))
    noise = pyro.sample("noise", dist.LogNormal(0.0, 1.0))
    with pyro.plate("rows", len(inputs)):
        return pyro.sample("targets", dist.Normal(slope * inputs + offset, noise), obs=targets)


@config_enumerate
def mixture(rows):
    share = pyro.sample("share", dist.Dirichlet(torch.ones(2)))
    with pyro.plate("parts", 2):
        middle = pyro.sample("middle", dist.Normal(0.0, 3.0))
    with pyro.plate("rows", len(rows)):
        part = pyro.sample("part", dist.Categorical(share))
        pyro.sample("seen", dist.Normal(middle[part], 1.0), obs=rows)


values = {}
for make, optimizer in ((AutoNormal, Adam({"lr": 0.05})), (AutoMultivariateNormal, ClippedAdam({"lr": 0.05}))):
    pyro.clear_param_store()
    guide = make(line)
    inference = SVI(line, guide, optimizer, Trace_ELBO())
    losses = [inference.step(inputs, targets) for _ in range(5)]
    drawn = Predictive(line, guide=guide, num_samples=3)(inputs[:2])["targets"]
    values[make.__name__] = [losses, drawn, guide.median()]
pyro.clear_param_store()
hidden = pyro.poutine.block(mixture, hide=["part"])
inference = SVI(mixture, AutoNormal(hidden), Adam({"lr": 0.05}), TraceEnum_ELBO(max_plate_nesting=1))
report(parts=[inference.step(targets) for _ in range(4)], **values)
