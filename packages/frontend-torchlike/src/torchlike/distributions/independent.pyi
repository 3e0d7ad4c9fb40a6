"""Distributions with batch dimensions taken as those of a value.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.independent import *
