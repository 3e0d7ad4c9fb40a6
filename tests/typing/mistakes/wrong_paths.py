"""Mistakes with modules by torch's paths: every one must be found on its line."""

import torchlike as torch
import torchlike.distributions.normale  # error
from torchlike.autograd.functional import jacobean  # error
from torchlike.distributions.kl import kl_divergence, register_kullback  # error
from torchlike.distributions.transforms.elementwise import ExpTransform
from torchlike.nn.modules.padding import ZeroPad2d, ZeroPad4d  # error
from torchlike.utils.pytree import tree_map

kl_divergence(torch.ones(2))  # error
ExpTransform(scale=3, power=2)  # error
tree_map(torch.sin)  # error
missing = [torchlike.distributions.normale, jacobean, register_kullback, ZeroPad2d, ZeroPad4d]
