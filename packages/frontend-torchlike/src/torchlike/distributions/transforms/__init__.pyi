"""Invertible functions of random values (source: ``torch.distributions.transforms``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.transforms import *
from torchlike_distributions.transforms import _InverseTransform as _InverseTransform
