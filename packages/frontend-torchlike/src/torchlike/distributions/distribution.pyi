"""The base of all distributions (source: ``torch.distributions.Distribution``).

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.distribution import *
