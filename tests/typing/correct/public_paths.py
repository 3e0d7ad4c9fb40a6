"""Modules by torch's paths, whose files lie elsewhere."""

from __future__ import annotations

import torchlike as torch
import torchlike.array_api as xp
import torchlike.nn.modules.padding
from torchlike import Tensor
from torchlike.autograd.functional import hessian, jacobian
from torchlike.distributions import Normal, transforms
from torchlike.distributions.constraints import positive
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.kl import kl_divergence, register_kl
from torchlike.distributions.normal import Normal as SameNormal
from torchlike.distributions.transforms.composition import ComposeTransform
from torchlike.nn.modules.flatten import Flatten
from torchlike.nn.modules.multihead import MultiheadAttention
from torchlike.utils.pytree import TreeSpec, tree_flatten


class Centred(Normal):
    def __init__(self, scale: Tensor) -> None:
        super().__init__(torch.zeros_like(scale), scale)


@register_kl(Centred, Centred)
def between(p: Centred, q: Centred) -> Tensor:
    ratio = p.scale / q.scale
    return ratio**2 / 2 - ratio.log() - 0.5


class Framed(torchlike.nn.modules.padding.ZeroPad2d):
    pass


same: type[Normal] = SameNormal
drawn: Distribution = Centred(torch.ones(2))
distance: Tensor = kl_divergence(Centred(torch.ones(2)), Centred(torch.ones(2)))
is_valid: Tensor = positive.check(torch.ones(2))
chain: transforms.Transform = ComposeTransform([transforms.ExpTransform()])
layers: list[torch.nn.Module] = [Framed(1), Flatten(), MultiheadAttention(4, 2)]
spec: TreeSpec = tree_flatten([1, 2])[1]
slopes = jacobian(torch.sin, torch.ones(2)), hessian(torch.sum, torch.ones(2))
total: Tensor = xp.sum(xp.astype(torch.ones(2), torch.int64), axis=0)
