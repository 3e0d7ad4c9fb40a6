"""Draw from a posterior of pyro's by NUTS."""

import pyro
import pyro.distributions as dist
import torch
from job_values import report
from pyro.infer import MCMC, NUTS

pyro.set_rng_seed(0)
inputs = torch.randn(12)
targets = 2 * inputs + 1 + 0.1 * torch.randn(12)


def line(inputs, targets):
    slope = pyro.sample("slope", dist.Normal(0.0, 5.0))
    offset = pyro.sample("offset", dist.Normal(0.0, 5.0))
    noise = pyro.sample("noise", dist.HalfCauchy(1.0))
    with pyro.plate("rows", len(inputs)):
        pyro.sample("targets", dist.Normal(slope * inputs + offset, noise), obs=targets)


chain = MCMC(NUTS(line, max_tree_depth=4), num_samples=6, warmup_steps=6, disable_progbar=True)
chain.run(inputs, targets)
report(**chain.get_samples())
