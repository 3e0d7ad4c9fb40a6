"""Transforms as such, and those that are made of others.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.transforms.composition import *
from torchlike_distributions.transforms.composition import _InverseTransform as _InverseTransform
