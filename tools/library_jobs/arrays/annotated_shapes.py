"""Train a network whose shapes jaxtyping checks, and hand it a wrong one."""

import torch
from beartype import beartype
from jaxtyping import Float, Int, jaxtyped
from job_values import report, train, weights


@jaxtyped(typechecker=beartype)
def score(
    rows: Float[torch.Tensor, "rows wide"], matrix: Float[torch.Tensor, "wide out"]
) -> Float[torch.Tensor, "rows out"]:
    """Return the products of rows with a matrix."""
    return rows @ matrix


torch.manual_seed(0)
layer = torch.nn.Linear(4, 3)
rows = torch.randn(5, 4)
losses = train(lambda: score(rows, layer.weight.T).square().mean(), layer.parameters())
try:
    score(rows, torch.randn(3, 4))
except Exception as error:  # noqa: BLE001  # the checker's own class
    refused = type(error).__name__
kinds = [isinstance(rows, Float[torch.Tensor, "5 4"]), isinstance(rows, Int[torch.Tensor, "5 4"])]
report(losses=losses, last=weights(layer), refused=refused, kinds=kinds)
