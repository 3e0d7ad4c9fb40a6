"""Kullback-Leibler divergences, by pairs of classes (source: ``torch.distributions.kl``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.kl import *
from torchlike_distributions.kl import _Match as _Match
