"""Fit botorch's model, and look for the next point to try."""

import torch
from botorch.acquisition import LogExpectedImprovement, qUpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from job_values import report

torch.manual_seed(0)
tried = torch.rand(8, 2, dtype=torch.double)
found = -(tried - 0.4).square().sum(-1, keepdim=True)
model = SingleTaskGP(tried, found)
score = ExactMarginalLogLikelihood(model.likelihood, model)
fit_gpytorch_mll(score)
bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)
point, gain = optimize_acqf(LogExpectedImprovement(model, found.max()), bounds, q=1, num_restarts=2, raw_samples=16)
several = qUpperConfidenceBound(model, 0.1, sampler=SobolQMCNormalSampler(torch.Size([16]), seed=1))
told = model.posterior(tried[:2] + 0.05)
report(point=point, gain=gain, several=several(tried[:3]), mean=told.mean, variance=told.variance)
