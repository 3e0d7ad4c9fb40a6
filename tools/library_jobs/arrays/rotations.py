"""Train e3nn's layers, and turn their inputs and outputs."""

import torch
from e3nn import o3
from e3nn.nn import FullyConnectedNet, Gate
from job_values import report, train, weights

torch.manual_seed(0)
irreps = o3.Irreps("4x0e + 2x1o")
gate = Gate("4x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
product = o3.FullyConnectedTensorProduct(irreps, "1x0e + 1x1o", gate.irreps_in)
linear = o3.Linear(gate.irreps_out, irreps)
radial = FullyConnectedNet([3, 8, 4], torch.tanh)
layers = torch.nn.ModuleList([product, linear, radial])
first = weights(layers)
inputs, places = irreps.randn(5, -1), torch.randn(5, 3)


def run(inputs, places):
    around = o3.spherical_harmonics("1x0e + 1x1o", places, normalize=True, normalization="component")
    return linear(gate(product(inputs, around)))


losses = train(
    lambda: (run(inputs, places) - inputs).square().mean() + radial(places).square().mean(), layers.parameters()
)
turn = o3.rand_matrix()
before = run(inputs @ irreps.D_from_matrix(turn).T, places @ turn.T)
after = run(inputs, places) @ irreps.D_from_matrix(turn).T
report(first=first, losses=losses, same=torch.allclose(before, after, atol=1e-3), result=after[0], turn=turn)
