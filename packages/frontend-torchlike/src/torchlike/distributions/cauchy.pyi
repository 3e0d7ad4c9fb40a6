"""Cauchy distributions.

Made by ``python tools/generate_stubs.py``; the lint session compares it.
"""

from torchlike_distributions.continuous.cauchy import *
