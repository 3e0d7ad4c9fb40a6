"""Transforms of vectors and matrices.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.transforms.vectors import *
