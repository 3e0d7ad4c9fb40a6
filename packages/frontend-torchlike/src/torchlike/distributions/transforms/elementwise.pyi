"""Transforms of numbers.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.transforms.elementwise import *
from torchlike_distributions.transforms.elementwise import _NumberTransform as _NumberTransform
