"""Train layers of einops, and rearrange, reduce and pack."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from job_values import report, train, weights

torch.manual_seed(0)
images = torch.randn(2, 3, 8, 8)
model = torch.nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
    EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=48, d=8),
    torch.nn.Tanh(),
    Reduce("b t d -> b d", "mean"),
)
first = weights(model)
losses = train(lambda: model(images).square().mean(), model.parameters())
joined, sizes = pack([images, images[:, 0]], "b *")
report(
    first=first,
    losses=losses,
    moved=rearrange(images, "b c h w -> (b h) (w c)").sum(1),
    least=reduce(images, "b c (h 2) (w 2) -> b c", "min"),
    often=repeat(images[0, 0, 0], "w -> w k", k=2),
    product=einsum(images, images, "b c h w, b d h w -> b c d"),
    joined=[*joined.shape, *(each.sum() for each in unpack(joined, sizes, "b *"))],
)
