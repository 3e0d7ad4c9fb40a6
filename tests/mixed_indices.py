"""Calls of two tensors for every family of operators, which are refused where the two lie on different devices."""

import torchlike
from torchlike.nn import functional as F

MIXTURES = {
    "binary": lambda x, y: x + y,
    "comparison": lambda x, y: x <= y,
    "composed": torchlike.atan2,
    "ternary": lambda x, y: torchlike.where(x > 0, x, y),
    "condition": lambda x, y: torchlike.where(y > 0, x, x),
    "matrices": lambda x, y: x @ y.t(),
    "batches": lambda x, y: torchlike.bmm(x[None], y[None].mT),
    "addmm": lambda x, y: torchlike.addmm(x[0], x, y.t() @ y),
    "list": lambda x, y: torchlike.cat([x, y]),
    "stack": lambda x, y: torchlike.stack([x, x, y]),
    "linear": F.linear,
    "loss": F.mse_loss,
    "labels": lambda x, y: F.cross_entropy(x, y[:, 0].long()),
    "embedding": lambda x, y: F.embedding(y.long(), x),
    "norm": lambda x, y: F.layer_norm(x, (3,), y[0], y[0]),
    "gather": lambda x, y: x.gather(0, y.long()),
    "index": lambda x, y: x[y[0].long()],
    "scatter": lambda x, y: torchlike.scatter(x, 0, y.long(), x),
    "einsum": lambda x, y: torchlike.einsum("ij,kj", x, y),
    "equal": torchlike.equal,
    "lerp": lambda x, y: torchlike.lerp(x, x, y),
    "attention": lambda x, y: F.scaled_dot_product_attention(x[None], y[None], y[None]),
    "conv": lambda x, y: F.conv1d(x[None], y[:, :2, None]),
}
#: Those that would write to the first one.
WRITES = {
    "add_": lambda x, y: x.add_(y),
    "mul_": lambda x, y: x.mul_(y),
    "addcmul_": lambda x, y: x.addcmul_(x, y),
    "lerp_": lambda x, y: x.lerp_(y, 0.5),
    "masked_fill_": lambda x, y: x.masked_fill_(y > 0, 5.0),
    "index_add_": lambda x, y: x.index_add_(0, torchlike.zeros(2, dtype=torchlike.int64, device=x.device), y),
    "add(out=)": lambda x, y: torchlike.add(y, y, out=x),
    "mm(out=)": lambda x, y: torchlike.mm(y, torchlike.ones(3, 3, device=y.device), out=x),
    "exp(out=)": lambda x, y: torchlike.exp(y, out=x),
    "cat(out=)": lambda x, y: torchlike.cat([y], out=x),
    "sum(out=)": lambda x, y: torchlike.sum(y, 0, out=x[0]),
}
#: The error.
WORDS = (
    r"Expected all tensors to be on the same device, but found at least two devices, twin:0 and twin:1! \(arguments '"
)


class Stop(KeyboardInterrupt):
    """Ctrl-C, told apart from the user's."""
