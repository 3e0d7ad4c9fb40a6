"""Train a Gaussian process of gpytorch, exact and with inducing points."""

import gpytorch
import torch
from job_values import report, train, weights


class Exact(gpytorch.models.ExactGP):
    """A process with a scaled kernel."""

    def __init__(self, inputs, targets, likelihood):
        super().__init__(inputs, targets, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel() + gpytorch.kernels.MaternKernel(2.5))

    def forward(self, inputs):
        return gpytorch.distributions.MultivariateNormal(self.mean(inputs), self.kernel(inputs))


class Sparse(gpytorch.models.ApproximateGP):
    """A process by a variational distribution on a few points."""

    def __init__(self, points):
        spread = gpytorch.variational.CholeskyVariationalDistribution(len(points))
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, spread))
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, inputs):
        return gpytorch.distributions.MultivariateNormal(self.mean(inputs), self.kernel(inputs))


torch.manual_seed(0)
inputs = torch.linspace(0, 1, 20)
targets = torch.sin(inputs * 6) + 0.1 * torch.randn(20)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Exact(inputs, targets, likelihood)
score = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
exact = train(lambda: -score(model(inputs), targets), model.parameters())
model.eval()
likelihood.eval()
with torch.no_grad():
    told = likelihood(model(torch.tensor([0.15, 0.55, 1.2])))
sparse = Sparse(inputs[::4].clone())
other = gpytorch.likelihoods.GaussianLikelihood()
bound = gpytorch.mlls.VariationalELBO(other, sparse, 20)
losses = train(lambda: -bound(sparse(inputs), targets), sparse.parameters(), lr=0.01)
report(exact=exact, mean=told.mean, variance=told.variance, weights=weights(model), losses=losses, last=weights(sparse))
