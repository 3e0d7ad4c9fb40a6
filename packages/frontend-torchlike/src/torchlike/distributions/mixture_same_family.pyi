"""Mixtures of distributions of one family.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.mixture_same_family import *
