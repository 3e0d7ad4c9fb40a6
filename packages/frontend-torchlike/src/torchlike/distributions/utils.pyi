"""Helpers of distributions (source: ``torch.distributions.utils``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.utils import *
