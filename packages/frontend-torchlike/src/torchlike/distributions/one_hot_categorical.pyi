"""Categorical distributions whose values are one-hot vectors.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.discrete.one_hot_categorical import *
