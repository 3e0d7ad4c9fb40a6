"""Distributions of transformed values.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.transformed_distribution import *
