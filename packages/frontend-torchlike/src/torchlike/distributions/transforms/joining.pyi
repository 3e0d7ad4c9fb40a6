"""Transforms for the parts of a tensor.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.transforms.joining import *
from torchlike_distributions.transforms.joining import _PartsTransform as _PartsTransform
